/* connection.c - one client of the server
 *
 * A request is read to its last byte and no further.  The next request of the
 * client waits in the socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/ipc/packet.h"
#include "policyd/server/connection.h"
#include "policyd/server/dispatch.h"

enum {
	READ_SIZE = 8 << 10,
	/* A stranger's first bytes: enough for the credential of a command. */
	FIRST_SIZE = 2 << 10,
	/* A credential is base64 and has fields of its own. */
	CRED_MAX = 2 * EGS_MSG_REQUEST_MAX,
	PAUSE_MS = 50,
	READ_COST_US = 20, /* of reading some bytes, and of each kB */
	READ_COST_KB_US = 1,
	/* A request may wait this many timeouts for munged, because thousands
	 * may arrive at once.
	 */
	AUTH_WAIT_FACTOR = 6,
};

/* The list that the client is in. */
static struct egs_conns *get_list(struct egs_conn *conn)
{
	return conn->state == CONN_DEFERRED ? &conn->server->deferred
					    : &conn->server->conns;
}

static void remove_from_lists(struct egs_conn *conn)
{
	TAILQ_REMOVE(get_list(conn), conn, link);
	TAILQ_REMOVE(&conn->share->conns, conn, share_link);
	conn->share->nheld -= conn->state == CONN_DEFERRED;
	conn->share->nwaiting -= conn->state == CONN_AUTH;
}

static void add_to_lists(struct egs_conn *conn)
{
	TAILQ_INSERT_TAIL(get_list(conn), conn, link);
	TAILQ_INSERT_TAIL(&conn->share->conns, conn, share_link);
	conn->share->nheld += conn->state == CONN_DEFERRED;
	conn->share->nwaiting += conn->state == CONN_AUTH;
}

static uint32_t get_timeout_ms(const struct egs_conn *conn)
{
	uint32_t ms = conn->server->conf.timeout_ms;

	if (conn->state == CONN_DEFERRED)
		return conn->server->defer_ms;
	return conn->state == CONN_AUTH || conn->state == CONN_SEAL
		       ? AUTH_WAIT_FACTOR * ms
		       : ms;
}

static void set_state(struct egs_conn *conn, enum egs_conn_state state)
{
	static const uint32_t events[] = {
		[CONN_READ] = EPOLLIN,	      [CONN_AUTH] = 0,
		[CONN_DEFERRED] = EPOLLRDHUP, [CONN_SEAL] = 0,
		[CONN_WRITE] = EPOLLOUT,      [CONN_DRAIN] = EPOLLIN,
	};

	remove_from_lists(conn);
	conn->state = state;
	add_to_lists(conn);
	conn->deadline_ms = egs_now_ms() + get_timeout_ms(conn);
	egs_watch_set_events(conn->watch, events[state]);
}

/* ---- shares ---- */

/* Count the memory of the client's requests. */
static void count_bytes(struct egs_conn *conn)
{
	size_t bytes = conn->in.room + conn->deferred.room;

	egs_share_add_bytes(conn->share, (ssize_t)bytes - (ssize_t)conn->bytes);
	conn->bytes = bytes;
}

static void clear_request(struct egs_conn *conn, struct egs_buf *request)
{
	egs_buf_clear(request);
	count_bytes(conn);
}

static void leave_share(struct egs_conn *conn)
{
	egs_share_add_bytes(conn->share, -(ssize_t)conn->bytes);
	egs_share_add_conn(conn->share, -1);
}

static void join_share(struct egs_conn *conn, struct egs_share *share)
{
	conn->share = share;
	egs_share_add_conn(share, 1);
	egs_share_add_bytes(share, (ssize_t)conn->bytes);
}

int egs_conn_set_share(struct egs_conn *conn, struct egs_share *share)
{
	if (share == conn->share)
		return 0;
	if (!share || egs_conn_make_room(share) < 0)
		return -1;
	remove_from_lists(conn);
	leave_share(conn);
	join_share(conn, share);
	add_to_lists(conn);
	return 0;
}

/* The client that has not sent a whole request for longest, or has its last
 * answer and does not close.  Of strangers, first one that has sent a part of
 * its credential: the others may send theirs in the next moment.
 */
static struct egs_conn *find_unfinished(const struct egs_share *share)
{
	struct egs_conn *conn = NULL, *silent = NULL;

	TAILQ_FOREACH(conn, &share->conns, share_link)
	{
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) it is linked */
		if (conn->state != CONN_READ && conn->state != CONN_DRAIN)
			continue;
		if (share->kind != EGS_SHARE_STRANGER || conn->in.used ||
		    conn->state == CONN_DRAIN)
			return conn;
		if (!silent)
			silent = conn;
	}
	return silent;
}

int egs_conn_make_room(struct egs_share *share)
{
	struct egs_share *from = share;
	struct egs_conn *conn;

	if (!egs_share_is_full(share))
		return 0;
	if (share->nconns < egs_share_limits[share->kind].conns)
		from = egs_shares_find_largest(share->all, share->kind);
	conn = find_unfinished(from);
	if (!conn)
		return -1;
	egs_conn_free(conn);
	return 0;
}

/* Has the user, or the key, too many requests that wait? */
static bool is_held_full(const struct egs_conn *conn, uint64_t key)
{
	const struct egs_share_limits *limits =
		&egs_share_limits[conn->share->kind];
	const struct egs_conn *other;
	uint32_t n = 0;

	if (!limits->held_key)
		return conn->share->nheld >= limits->held;
	TAILQ_FOREACH(other, &conn->share->conns, share_link)
	n += other->state == CONN_DEFERRED && other->wake_key == key;
	return conn->share->nheld >= limits->held || n >= limits->held_key;
}

/* The socket keeps what the client sends meanwhile. */
static void pause_reading(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;

	conn->paused = true;
	egs_watch_set_events(conn->watch, 0);
	if (!s->pausing)
		egs_timer_start(s->pause_timer, PAUSE_MS);
	s->pausing = true;
}

static bool is_stranger(const struct egs_conn *conn)
{
	return conn->share->kind == EGS_SHARE_STRANGER;
}

/* A stranger's first bytes are read at once. */
static bool must_pause(const struct egs_conn *conn)
{
	return !(is_stranger(conn) && !conn->in.used) &&
	       egs_share_must_pause(conn->share, egs_now_ms());
}

void egs_conn_resume_paused(struct egs_server *server)
{
	uint64_t now = egs_now_ms();
	struct egs_conn *conn;

	server->pausing = false;
	TAILQ_FOREACH(conn, &server->conns, link)
	if (conn->paused && egs_share_must_pause(conn->share, now)) {
		server->pausing = true;
	} else if (conn->paused) {
		conn->paused = false;
		egs_watch_set_events(conn->watch, EPOLLIN);
	}
	if (server->pausing)
		egs_timer_start(server->pause_timer, PAUSE_MS);
}

/* ---- answers ---- */

void egs_conn_drop_answer(struct egs_conn *conn)
{
	conn->share->unsent -= conn->out.used;
	egs_buf_clear(&conn->out);
}

static void finish_answer(struct egs_conn *conn)
{
	egs_conn_drop_answer(conn);
	if (conn->close_after)
		shutdown(conn->fd, SHUT_WR);
	set_state(conn, conn->close_after ? CONN_DRAIN : CONN_READ);
}

static void write_some(struct egs_conn *conn)
{
	ssize_t n;

	while (conn->sent < conn->out.used) {
		n = send(conn->fd, conn->out.bytes + conn->sent,
			 conn->out.used - conn->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			conn->sent += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			egs_conn_free(conn);
			return;
		}
	}
	finish_answer(conn);
}

/* Put the answer into 'out'.  A sealed packet gets its head when it is made. */
static int put_answer(struct egs_conn *conn, const char *text, size_t len)
{
	size_t head = conn->is_known ? 0 : EGS_PACKET_HEAD_SIZE;
	char *to = egs_buf_reserve(&conn->out, head + len);

	if (!to)
		return -1;
	if (head)
		egs_packet_put_head(to, len);
	memcpy(to + head, text, len);
	conn->out.used += head + len;
	conn->share->unsent += conn->out.used;
	conn->sent = 0;
	return 0;
}

void egs_conn_write_sealed(struct egs_conn *conn, char *bytes, size_t len)
{
	egs_conn_drop_answer(conn);
	conn->out =
		(struct egs_buf){ .bytes = bytes, .used = len, .room = len };
	conn->share->unsent += len;
	set_state(conn, CONN_WRITE);
	write_some(conn);
}

void egs_conn_send(struct egs_conn *conn, struct egs_msg *answer)
{
	struct egs_share *share = conn->share;
	size_t len = 0;
	const char *text = answer ? egs_msg_to_text(answer, &len) : NULL;

	if (text &&
	    (len > EGS_MSG_ANSWER_MAX ||
	     share->unsent + len > egs_share_limits[share->kind].unsent)) {
		egs_msg_free(answer);
		answer = egs_dispatch_refusal("too many answers at once; "
					      "try again");
		text = answer ? egs_msg_to_text(answer, &len) : NULL;
	}
	if (!text || put_answer(conn, text, len) < 0) {
		egs_msg_free(answer);
		egs_conn_free(conn);
		return;
	}
	egs_msg_free(answer);
	clear_request(conn, &conn->in);
	set_state(conn, conn->is_known ? CONN_SEAL : CONN_WRITE);
	if (conn->is_known)
		egs_conn_seal_start(conn);
	else
		write_some(conn);
}

void egs_conn_refuse(struct egs_conn *conn, const char *why)
{
	conn->close_after = true;
	egs_conn_send(conn, egs_dispatch_refusal(why));
}

void egs_conn_refuse_busy(struct egs_conn *conn, const char *why)
{
	struct egs_msg *answer = egs_dispatch_refusal(why);

	if (answer)
		egs_msg_set_bool(answer, "again", true);
	conn->close_after = true;
	egs_conn_send(conn, answer);
}

/* ---- deferred requests ---- */

static int copy_request(struct egs_conn *conn, const char *bytes, size_t len)
{
	char *to = egs_buf_reserve(&conn->deferred, len);

	if (!to)
		return -1;
	memcpy(to, bytes, len);
	conn->deferred.used = len;
	count_bytes(conn);
	return 0;
}

/* Call the verb.  Its time is the user's. */
static int call_verb(struct egs_conn *conn, const char *bytes, size_t len,
		     bool last, struct egs_msg **answer)
{
	struct egs_server *s = conn->server;
	uint64_t begun = egs_now_us();
	int rc;

	s->timed_out = last;
	rc = egs_dispatch_request(&s->conf, &conn->peer, bytes, len, answer);
	s->timed_out = false;
	egs_share_charge(conn->share, egs_now_us() - begun, egs_now_ms());
	return rc;
}

void egs_conn_dispatch(struct egs_conn *conn, const char *bytes, size_t len)
{
	struct egs_server *s = conn->server;
	struct egs_msg *answer = NULL;

	if (call_verb(conn, bytes, len, false, &answer) != EGS_REPLY_DEFERRED) {
		egs_conn_send(conn, answer);
		return;
	}
	if (is_held_full(conn, s->defer_key) ||
	    copy_request(conn, bytes, len) < 0) {
		egs_conn_refuse_busy(conn, "too many requests of this user "
					   "wait for an answer");
		return;
	}
	clear_request(conn, &conn->in);
	conn->wake_key = s->defer_key;
	set_state(conn, CONN_DEFERRED);
}

void egs_conn_retry(struct egs_conn *conn, bool last)
{
	struct egs_msg *answer = NULL;
	int rc = call_verb(conn, conn->deferred.bytes, conn->deferred.used,
			   last, &answer);

	if (rc == EGS_REPLY_DEFERRED && !last)
		return;
	clear_request(conn, &conn->deferred);
	egs_conn_send(conn, answer);
}

/* ---- requests ---- */

static bool has_too_many_waiting(const struct egs_share *share)
{
	uint32_t limit = egs_share_limits[share->kind].waiting;

	return limit && share->nwaiting >= limit;
}

static void serve_request(struct egs_conn *conn)
{
	if (conn->peer.local) {
		egs_conn_dispatch(conn, conn->in.bytes + EGS_PACKET_HEAD_SIZE,
				  conn->in.used - EGS_PACKET_HEAD_SIZE);
		return;
	}
	/* munge_decode() takes a string. */
	if (!egs_buf_reserve(&conn->in, 1)) {
		egs_conn_free(conn);
		return;
	}
	conn->in.bytes[conn->in.used] = '\0';
	conn->is_known = false;
	if (has_too_many_waiting(conn->share)) {
		egs_conn_refuse_busy(conn, "too many requests of this host at "
					   "once; try again");
		return;
	}
	set_state(conn, CONN_AUTH);
	egs_conn_auth_start(conn);
}

/* Length of the packet, or of its head until that is read. */
static size_t get_packet_len(const struct egs_conn *conn)
{
	if (conn->in.used < EGS_PACKET_HEAD_SIZE)
		return EGS_PACKET_HEAD_SIZE;
	return EGS_PACKET_HEAD_SIZE + egs_packet_get_head(conn->in.bytes);
}

/* Make room for 'size' bytes of a request: drop clients that are at theirs for
 * longer.  Returns false if there is none.
 */
static bool make_byte_room(const struct egs_conn *conn, size_t size)
{
	struct egs_share *share = conn->share;

	if (is_stranger(conn) && conn->in.used + size <= FIRST_SIZE)
		return true;
	while (!egs_share_has_room(share, size)) {
		struct egs_conn *other = find_unfinished(share);

		if (!other || other == conn)
			return false;
		egs_conn_free(other);
	}
	return true;
}

/* Read the next bytes of the packet.  Returns whether there were any; may free
 * 'conn' if not.
 */
static bool read_bytes(struct egs_conn *conn)
{
	size_t want = get_packet_len(conn) - conn->in.used;
	size_t most = is_stranger(conn) && conn->in.used < FIRST_SIZE
			      ? FIRST_SIZE - conn->in.used
			      : READ_SIZE;
	size_t size = want < most ? want : most;
	char *to = make_byte_room(conn, size) ? egs_buf_reserve(&conn->in, size)
					      : NULL;
	ssize_t n = to ? recv(conn->fd, to, size, MSG_DONTWAIT) : 0;

	count_bytes(conn);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		egs_conn_free(conn);
		return false;
	}
	conn->in.used += (size_t)n;
	egs_share_charge(conn->share,
			 READ_COST_US + READ_COST_KB_US * (uint64_t)n / 1024,
			 egs_now_ms());
	return true;
}

static void read_some(struct egs_conn *conn)
{
	size_t max = conn->peer.local ? EGS_MSG_REQUEST_MAX : CRED_MAX;
	bool has_head = conn->in.used >= EGS_PACKET_HEAD_SIZE;
	struct egs_err err;

	if (!read_bytes(conn) || conn->in.used < EGS_PACKET_HEAD_SIZE)
		return;
	/* Most packets are complete with the second call. */
	if (!has_head && get_packet_len(conn) > conn->in.used &&
	    get_packet_len(conn) - EGS_PACKET_HEAD_SIZE <= max &&
	    !read_bytes(conn))
		return;
	if (get_packet_len(conn) - EGS_PACKET_HEAD_SIZE > max) {
		egs_errf(&err, "the request has %zu bytes, the limit is %zu",
			 get_packet_len(conn) - EGS_PACKET_HEAD_SIZE, max);
		egs_conn_refuse(conn, err.msg);
	} else if (conn->in.used == get_packet_len(conn)) {
		serve_request(conn);
	}
}

/* Read and ignore input, so that the client gets its answer before an error of
 * its own write().
 */
static void drain_input(struct egs_conn *conn)
{
	char bytes[READ_SIZE];
	ssize_t n = recv(conn->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		egs_conn_free(conn);
}

static void on_ready(void *arg, uint32_t events)
{
	struct egs_conn *conn = arg;

	(void)events;
	switch (conn->state) {
	case CONN_READ:
		if (conn->paused) /* the client hung up */
			egs_conn_free(conn);
		else if (must_pause(conn))
			pause_reading(conn);
		else
			read_some(conn);
		break;
	case CONN_WRITE:
		write_some(conn);
		break;
	case CONN_DRAIN:
		drain_input(conn);
		break;
	case CONN_DEFERRED:
	case CONN_SEAL:
	case CONN_AUTH: /* the client hung up */
		egs_conn_free(conn);
		break;
	}
}

/* ---- new, free, expire ---- */

void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer, struct egs_share *share)
{
	struct egs_conn *conn = calloc(1, sizeof(*conn));

	if (conn)
		conn->watch = egs_loop_add_fd(server->loop, fd, EPOLLIN,
					      on_ready, conn, NULL);
	if (!conn || !conn->watch) {
		close(fd);
		free(conn);
		return;
	}
	conn->server = server;
	conn->fd = fd;
	conn->peer = *peer;
	conn->child.fd = -1;
	join_share(conn, share);
	add_to_lists(conn);
	server->nconns++;
	set_state(conn, CONN_READ);
}

void egs_conn_free(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;

	egs_conn_auth_stop(conn);
	egs_watch_free(conn->watch);
	/* The child of another client may have inherited the file. */
	shutdown(conn->fd, SHUT_RDWR);
	close(conn->fd);
	conn->share->unsent -= conn->out.used;
	egs_buf_clear(&conn->in);
	egs_buf_clear(&conn->out);
	egs_buf_clear(&conn->deferred);
	remove_from_lists(conn);
	leave_share(conn);
	s->nconns--;
	free(conn);
}

void egs_conn_expire(struct egs_conn *conn)
{
	if (conn->state == CONN_AUTH)
		egs_conn_auth_timeout(conn);
	else if (conn->state == CONN_SEAL)
		egs_conn_seal_timeout(conn);
	else if (conn->state == CONN_DEFERRED)
		egs_conn_retry(conn, true);
	else
		egs_conn_free(conn);
}
