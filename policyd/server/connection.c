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
	READ_SIZE = 16 << 10,
	/* A credential is base64 and has fields of its own. */
	CRED_MAX = 2 * EGS_MSG_REQUEST_MAX,
	UNSENT_MAX = 64 << 20,
	DEFERRED_MAX = 4096,
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

static void remove_from_list(struct egs_conn *conn)
{
	TAILQ_REMOVE(get_list(conn), conn, link);
	conn->server->ndeferred -= conn->state == CONN_DEFERRED;
}

static uint32_t get_timeout_ms(const struct egs_conn *conn)
{
	uint32_t ms = conn->server->conf.timeout_ms;

	if (conn->state == CONN_DEFERRED)
		return conn->server->defer_ms;
	return conn->state == CONN_AUTH ? AUTH_WAIT_FACTOR * ms : ms;
}

static void set_state(struct egs_conn *conn, enum egs_conn_state state)
{
	static const uint32_t events[] = {
		[CONN_READ] = EPOLLIN,	      [CONN_AUTH] = 0,
		[CONN_DEFERRED] = EPOLLRDHUP, [CONN_WRITE] = EPOLLOUT,
		[CONN_DRAIN] = EPOLLIN,
	};

	remove_from_list(conn);
	conn->state = state;
	TAILQ_INSERT_TAIL(get_list(conn), conn, link);
	conn->server->ndeferred += state == CONN_DEFERRED;
	conn->deadline_ms = egs_now_ms() + get_timeout_ms(conn);
	egs_watch_set_events(conn->watch, events[state]);
}

/* ---- answers ---- */

static void finish_answer(struct egs_conn *conn)
{
	conn->server->unsent_bytes -= conn->out.used;
	egs_buf_clear(&conn->out);
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

static int put_packet(struct egs_buf *out, const char *text, size_t len)
{
	char *to = egs_buf_reserve(out, EGS_PACKET_HEAD_SIZE + len);

	if (!to)
		return -1;
	egs_packet_put_head(to, len);
	memcpy(to + EGS_PACKET_HEAD_SIZE, text, len);
	out->used += EGS_PACKET_HEAD_SIZE + len;
	return 0;
}

void egs_conn_send(struct egs_conn *conn, struct egs_msg *answer)
{
	struct egs_server *s = conn->server;
	size_t len = 0;
	const char *text = answer ? egs_msg_to_text(answer, &len) : NULL;

	if (text &&
	    (len > EGS_MSG_ANSWER_MAX || s->unsent_bytes + len > UNSENT_MAX)) {
		egs_msg_free(answer);
		answer = egs_dispatch_refusal("too many answers at once; "
					      "try again");
		text = answer ? egs_msg_to_text(answer, &len) : NULL;
	}
	if (!text || put_packet(&conn->out, text, len) < 0) {
		egs_msg_free(answer);
		egs_conn_free(conn);
		return;
	}
	egs_msg_free(answer);
	egs_buf_clear(&conn->in);
	s->unsent_bytes += conn->out.used;
	conn->sent = 0;
	set_state(conn, CONN_WRITE);
	write_some(conn);
}

void egs_conn_refuse(struct egs_conn *conn, const char *why)
{
	conn->close_after = true;
	egs_conn_send(conn, egs_dispatch_refusal(why));
}

/* ---- deferred requests ---- */

static int copy_request(struct egs_conn *conn, const char *bytes, size_t len)
{
	char *to = egs_buf_reserve(&conn->deferred, len);

	if (!to)
		return -1;
	memcpy(to, bytes, len);
	conn->deferred.used = len;
	return 0;
}

void egs_conn_dispatch(struct egs_conn *conn, const char *bytes, size_t len)
{
	struct egs_server *s = conn->server;
	struct egs_msg *answer = NULL;

	s->timed_out = false;
	if (egs_dispatch_request(&s->conf, &conn->peer, bytes, len, &answer) !=
	    EGS_REPLY_DEFERRED) {
		egs_conn_send(conn, answer);
		return;
	}
	if (s->ndeferred >= DEFERRED_MAX ||
	    copy_request(conn, bytes, len) < 0) {
		egs_conn_refuse(conn, "too many requests wait for an answer");
		return;
	}
	egs_buf_clear(&conn->in);
	conn->wake_key = s->defer_key;
	set_state(conn, CONN_DEFERRED);
}

void egs_conn_retry(struct egs_conn *conn, bool last)
{
	struct egs_server *s = conn->server;
	struct egs_msg *answer = NULL;
	int rc;

	s->timed_out = last;
	rc = egs_dispatch_request(&s->conf, &conn->peer, conn->deferred.bytes,
				  conn->deferred.used, &answer);
	s->timed_out = false;
	if (rc == EGS_REPLY_DEFERRED && !last)
		return;
	egs_buf_clear(&conn->deferred);
	egs_conn_send(conn, answer);
}

/* ---- requests ---- */

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

static void read_some(struct egs_conn *conn)
{
	size_t max = conn->peer.local ? EGS_MSG_REQUEST_MAX : CRED_MAX;
	size_t want = get_packet_len(conn) - conn->in.used;
	size_t size = want < READ_SIZE ? want : READ_SIZE;
	char *to = egs_buf_reserve(&conn->in, size);
	ssize_t n = to ? recv(conn->fd, to, size, MSG_DONTWAIT) : 0;
	struct egs_err err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		egs_conn_free(conn);
		return;
	}
	conn->in.used += (size_t)n;
	if (conn->in.used < EGS_PACKET_HEAD_SIZE)
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
		read_some(conn);
		break;
	case CONN_WRITE:
		write_some(conn);
		break;
	case CONN_DRAIN:
		drain_input(conn);
		break;
	case CONN_DEFERRED:
	case CONN_AUTH: /* the client hung up */
		egs_conn_free(conn);
		break;
	}
}

/* ---- new, free, expire ---- */

void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer)
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
	TAILQ_INSERT_TAIL(&server->conns, conn, link);
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
	s->unsent_bytes -= conn->out.used;
	egs_buf_clear(&conn->in);
	egs_buf_clear(&conn->out);
	egs_buf_clear(&conn->deferred);
	remove_from_list(conn);
	s->nconns--;
	free(conn);
}

void egs_conn_expire(struct egs_conn *conn)
{
	if (conn->state == CONN_AUTH)
		egs_conn_auth_timeout(conn);
	else if (conn->state == CONN_DEFERRED)
		egs_conn_retry(conn, true);
	else
		egs_conn_free(conn);
}
