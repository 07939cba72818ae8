/* connection.c - one client of the server
 *
 * A request is read to its last byte and no further, so that the next one,
 * should it be there already, waits its turn in the socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/ipc/packet.h"
#include "policyd/server/connection.h"
#include "policyd/server/dispatch.h"

enum {
	READ_SIZE = 16 << 10,
	/* A credential is base64 and has some of its own. */
	CRED_MAX = 2 * EGS_REQUEST_MAX,
	UNSENT_MAX = 64 << 20,
	HELD_MAX = 4096,
	/* So much longer a request waits for its turn with munged: thousands
	 * may come at once.
	 */
	TURN = 6,
};

/* Whose list it is in. */
static struct egs_conns *list_of(struct egs_conn *conn)
{
	return conn->state == CONN_HELD ? &conn->server->held
					: &conn->server->conns;
}

static void leave_list(struct egs_conn *conn)
{
	TAILQ_REMOVE(list_of(conn), conn, link);
	conn->server->nheld -= conn->state == CONN_HELD;
}

static uint32_t patience(const struct egs_conn *conn)
{
	uint32_t ms = conn->server->conf.patience_ms;

	if (conn->state == CONN_HELD)
		return conn->server->hold_ms;
	return conn->state == CONN_CRED ? TURN * ms : ms;
}

static void go_on(struct egs_conn *conn, enum conn_state state)
{
	static const uint32_t events[] = {
		[CONN_READ] = EPOLLIN,	  [CONN_CRED] = 0,
		[CONN_HELD] = EPOLLRDHUP, [CONN_WRITE] = EPOLLOUT,
		[CONN_DRAIN] = EPOLLIN,
	};

	leave_list(conn);
	conn->state = state;
	TAILQ_INSERT_TAIL(list_of(conn), conn, link);
	conn->server->nheld += state == CONN_HELD;
	conn->deadline_ms = egs_server_now_ms() + patience(conn);
	egs_watch_events(conn->watch, events[state]);
}

/* ---- answers ---- */

/* The client has its answer. */
static void answered(struct egs_conn *conn)
{
	conn->server->unsent -= conn->out.used;
	egs_buf_clear(&conn->out);
	if (conn->last)
		shutdown(conn->fd, SHUT_WR);
	go_on(conn, conn->last ? CONN_DRAIN : CONN_READ);
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
	answered(conn);
}

static int put_packet(struct egs_buf *out, const char *text, size_t len)
{
	char *to = egs_buf_room(out, EGS_PACKET_HEAD + len);

	if (!to)
		return -1;
	egs_packet_put_head(to, len);
	memcpy(to + EGS_PACKET_HEAD, text, len);
	out->used += EGS_PACKET_HEAD + len;
	return 0;
}

void egs_conn_say(struct egs_conn *conn, struct egs_msg *answer)
{
	struct egs_server *s = conn->server;
	size_t len = 0;
	const char *text = answer ? egs_msg_text(answer, &len) : NULL;

	if (text && (len > EGS_ANSWER_MAX || s->unsent + len > UNSENT_MAX)) {
		egs_msg_free(answer);
		answer = egs_server_refusal("too much is being answered at "
					    "once; ask again");
		text = answer ? egs_msg_text(answer, &len) : NULL;
	}
	if (!text || put_packet(&conn->out, text, len) < 0) {
		egs_msg_free(answer);
		egs_conn_free(conn);
		return;
	}
	egs_msg_free(answer);
	egs_buf_clear(&conn->in);
	s->unsent += conn->out.used;
	conn->sent = 0;
	go_on(conn, CONN_WRITE);
	write_some(conn);
}

void egs_conn_refuse(struct egs_conn *conn, const char *why)
{
	conn->last = true;
	egs_conn_say(conn, egs_server_refusal(why));
}

/* ---- held requests ---- */

static int keep(struct egs_conn *conn, const char *bytes, size_t len)
{
	char *to = egs_buf_room(&conn->held, len);

	if (!to)
		return -1;
	memcpy(to, bytes, len);
	conn->held.used = len;
	return 0;
}

void egs_conn_answer(struct egs_conn *conn, const char *bytes, size_t len)
{
	struct egs_server *s = conn->server;
	struct egs_msg *answer = NULL;

	s->last = false;
	if (egs_server_answer(&s->conf, &conn->peer, bytes, len, &answer) !=
	    EGS_VERB_LATER) {
		egs_conn_say(conn, answer);
		return;
	}
	if (s->nheld >= HELD_MAX || keep(conn, bytes, len) < 0) {
		egs_conn_refuse(conn, "too many wait for an answer already");
		return;
	}
	egs_buf_clear(&conn->in);
	conn->key = s->hold_key;
	go_on(conn, CONN_HELD);
}

void egs_conn_again(struct egs_conn *conn, bool last)
{
	struct egs_server *s = conn->server;
	struct egs_msg *answer = NULL;
	int rc;

	s->last = last;
	rc = egs_server_answer(&s->conf, &conn->peer, conn->held.bytes,
			       conn->held.used, &answer);
	s->last = false;
	if (rc == EGS_VERB_LATER && !last)
		return;
	egs_buf_clear(&conn->held);
	egs_conn_say(conn, answer);
}

/* ---- requests ---- */

/* All of a request is there. */
static void serve(struct egs_conn *conn)
{
	if (conn->peer.local) {
		egs_conn_answer(conn, conn->in.bytes + EGS_PACKET_HEAD,
				conn->in.used - EGS_PACKET_HEAD);
		return;
	}
	/* munge wants a string. */
	if (!egs_buf_room(&conn->in, 1)) {
		egs_conn_free(conn);
		return;
	}
	conn->in.bytes[conn->in.used] = '\0';
	go_on(conn, CONN_CRED);
	egs_conn_ask(conn);
}

/* How long the packet is, as far as is known. */
static size_t packet_len(const struct egs_conn *conn)
{
	if (conn->in.used < EGS_PACKET_HEAD)
		return EGS_PACKET_HEAD;
	return EGS_PACKET_HEAD + egs_packet_get_head(conn->in.bytes);
}

static void read_some(struct egs_conn *conn)
{
	size_t max = conn->peer.local ? EGS_REQUEST_MAX : CRED_MAX;
	size_t want = packet_len(conn) - conn->in.used;
	size_t size = want < READ_SIZE ? want : READ_SIZE;
	char *to = egs_buf_room(&conn->in, size);
	ssize_t n = to ? recv(conn->fd, to, size, MSG_DONTWAIT) : 0;
	struct egs_err err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		egs_conn_free(conn);
		return;
	}
	conn->in.used += (size_t)n;
	if (conn->in.used < EGS_PACKET_HEAD)
		return;
	if (packet_len(conn) - EGS_PACKET_HEAD > max) {
		egs_errf(&err, "the request has %zu bytes, at most are %zu",
			 packet_len(conn) - EGS_PACKET_HEAD, max);
		egs_conn_refuse(conn, err.msg);
	} else if (conn->in.used == packet_len(conn)) {
		serve(conn);
	}
}

/* Read what nobody wants, so that the client gets its answer before an error
 * of its own writing.
 */
static void drain(struct egs_conn *conn)
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
		drain(conn);
		break;
	case CONN_HELD:
	case CONN_CRED: /* nothing is waited for but its end */
		egs_conn_free(conn);
		break;
	}
}

/* ---- life ---- */

void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer)
{
	struct egs_conn *conn = calloc(1, sizeof(*conn));

	if (conn)
		conn->watch = egs_loop_fd(server->loop, fd, EPOLLIN, on_ready,
					  conn, NULL);
	if (!conn || !conn->watch) {
		close(fd);
		free(conn);
		return;
	}
	conn->server = server;
	conn->fd = fd;
	conn->peer = *peer;
	conn->aside.fd = -1;
	TAILQ_INSERT_TAIL(&server->conns, conn, link);
	server->nconns++;
	go_on(conn, CONN_READ);
}

void egs_conn_free(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;

	egs_conn_end_ask(conn);
	egs_watch_free(conn->watch);
	/* A child that asks munged for another may hold the file, too. */
	shutdown(conn->fd, SHUT_RDWR);
	close(conn->fd);
	s->unsent -= conn->out.used;
	egs_buf_clear(&conn->in);
	egs_buf_clear(&conn->out);
	egs_buf_clear(&conn->held);
	leave_list(conn);
	s->nconns--;
	free(conn);
}

void egs_conn_expire(struct egs_conn *conn)
{
	if (conn->state == CONN_CRED)
		egs_conn_ask_in_vain(conn);
	else if (conn->state == CONN_HELD)
		egs_conn_again(conn, true);
	else
		egs_conn_free(conn);
}
