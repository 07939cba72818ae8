/* authenticate.c - who a client of another host is: munged tells, aside */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "common/ipc/packet.h"
#include "policyd/server/connection.h"

enum { ASIDES_MAX = 16 };

/* In the child: who asks, and behind that what. */
static int decode(const void *arg, char **bytes, size_t *len,
		  struct egs_err *err)
{
	const struct egs_conn *conn = arg;
	const struct egs_cred_way way = {
		.munged = conn->server->conf.munged,
		.audience = conn->server->conf.audience,
	};
	struct egs_cred cred;
	int rc = egs_cred_decode(&way, conn->in.bytes + EGS_PACKET_HEAD, &cred,
				 err);

	if (rc < 0)
		return rc;
	*len = sizeof(cred) + cred.len;
	*bytes = malloc(*len);
	if (!*bytes)
		return egs_errf(err, "out of memory");
	memcpy(*bytes, &cred, sizeof(cred));
	memcpy(*bytes + sizeof(cred), cred.payload, cred.len);
	egs_cred_clear(&cred);
	return 0;
}

static void on_news(void *arg, uint32_t events);

void egs_conn_ask(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;
	struct egs_err err;

	if (!*s->conf.audience) {
		egs_conn_refuse(conn, "the name of the cluster is not known "
				      "yet: slurmctld has not answered");
		return;
	}
	if (s->nasides == ASIDES_MAX)
		return;
	if (egs_aside_start(&conn->aside, decode, conn, &err) < 0) {
		egs_conn_refuse(conn, err.msg);
		return;
	}
	s->nasides++;
	conn->deadline_ms = egs_server_now_ms() + s->conf.patience_ms / 2;
	conn->news = egs_loop_fd(s->loop, conn->aside.fd, EPOLLIN, on_news,
				 conn, &err);
	if (!conn->news) {
		egs_conn_end_ask(conn);
		egs_conn_refuse(conn, err.msg);
	}
}

static struct egs_conn *first_waiting(struct egs_server *s)
{
	struct egs_conn *conn;

	for (conn = TAILQ_FIRST(&s->conns); conn; conn = TAILQ_NEXT(conn, link))
		if (conn->state == CONN_CRED && conn->aside.fd < 0)
			return conn;
	return NULL;
}

void egs_conn_ask_next(struct egs_server *server)
{
	struct egs_conn *conn = NULL;

	while (server->nasides < ASIDES_MAX && (conn = first_waiting(server)))
		egs_conn_ask(conn);
}

void egs_conn_end_ask(struct egs_conn *conn)
{
	if (conn->aside.fd < 0)
		return;
	egs_watch_free(conn->news);
	conn->news = NULL;
	egs_aside_end(&conn->aside);
	conn->server->nasides--;
}

static void munged_is(struct egs_server *s, bool down, const char *why)
{
	struct egs_err words;

	if (down == s->munged_down)
		return;
	s->munged_down = down;
	egs_errf(&words,
		 down ? "server: %s; requests from other hosts are refused"
		      : "server: %s",
		 why);
	if (s->conf.warn)
		s->conf.warn(s->conf.arg, words.msg);
}

/* munged has said who asks. */
static void answer_cred(struct egs_conn *conn, const char *bytes, size_t len)
{
	struct egs_server *s = conn->server;
	struct egs_cred cred;
	struct egs_err err;

	if (len < sizeof(cred)) {
		egs_conn_refuse(conn, "the credential was not read to its end");
		return;
	}
	memcpy(&cred, bytes, sizeof(cred));
	if (egs_cred_seen_add(s->seen, &cred, time(NULL), &err) < 0) {
		egs_conn_refuse(conn, err.msg);
		return;
	}
	conn->peer.uid = cred.uid;
	conn->peer.gid = cred.gid;
	conn->peer.origin = cred.origin;
	egs_conn_answer(conn, bytes + sizeof(cred), len - sizeof(cred));
}

static void on_news(void *arg, uint32_t events)
{
	struct egs_conn *conn = arg;
	struct egs_server *s = conn->server;
	struct egs_aside done;
	struct egs_err err;
	int rc = egs_aside_read(&conn->aside, &err);

	(void)events;
	if (rc > 0)
		return;
	done = conn->aside;
	conn->aside.bytes = NULL;
	egs_conn_end_ask(conn);
	if (rc != EGS_CRED_DOWN)
		munged_is(s, false, "munged answers again");
	else
		munged_is(s, true, err.msg);
	if (rc < 0)
		egs_conn_refuse(conn, err.msg);
	else
		answer_cred(conn, done.bytes, done.len);
	free(done.bytes);
	egs_conn_ask_next(s);
}

void egs_conn_ask_in_vain(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;

	if (conn->aside.fd < 0) {
		egs_conn_refuse(conn, "too many ask at once; ask again");
		return;
	}
	munged_is(s, true, "munged does not answer");
	egs_conn_end_ask(conn);
	egs_conn_refuse(conn, "munged does not answer");
	egs_conn_ask_next(s);
}
