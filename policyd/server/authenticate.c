/* authenticate.c - identify TCP clients by MUNGE, in child processes */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/ipc/packet.h"
#include "policyd/server/connection.h"

enum { CHILDREN_MAX = 16 };

/* Runs in the child: return the credential, followed by the request. */
static int decode_cred(const void *arg, char **bytes, size_t *len,
		       struct egs_err *err)
{
	const struct egs_conn *conn = arg;
	const struct egs_cred_conf conf = {
		.munge_socket = conn->server->conf.munge_socket,
		.audience = conn->server->conf.audience,
	};
	struct egs_cred cred;
	int rc = egs_cred_decode(&conf, conn->in.bytes + EGS_PACKET_HEAD_SIZE,
				 &cred, err);

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

static void on_child_ready(void *arg, uint32_t events);

void egs_conn_auth_start(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;
	struct egs_err err;

	if (!*s->conf.audience) {
		egs_conn_refuse(conn, "the name of the cluster is unknown: "
				      "slurmctld has not answered yet");
		return;
	}
	if (s->nchildren == CHILDREN_MAX)
		return;
	if (egs_child_start(&conn->child, decode_cred, conn, &err) < 0) {
		egs_conn_refuse(conn, err.msg);
		return;
	}
	s->nchildren++;
	conn->deadline_ms = egs_now_ms() + s->conf.timeout_ms / 2;
	conn->child_watch = egs_loop_add_fd(s->loop, conn->child.fd, EPOLLIN,
					    on_child_ready, conn, &err);
	if (!conn->child_watch) {
		egs_conn_auth_stop(conn);
		egs_conn_refuse(conn, err.msg);
	}
}

static struct egs_conn *find_waiting(struct egs_server *s)
{
	struct egs_conn *conn;

	for (conn = TAILQ_FIRST(&s->conns); conn; conn = TAILQ_NEXT(conn, link))
		if (conn->state == CONN_AUTH && conn->child.fd < 0)
			return conn;
	return NULL;
}

void egs_conn_auth_next(struct egs_server *server)
{
	struct egs_conn *conn = NULL;

	while (server->nchildren < CHILDREN_MAX &&
	       (conn = find_waiting(server)))
		egs_conn_auth_start(conn);
}

void egs_conn_auth_stop(struct egs_conn *conn)
{
	if (conn->child.fd < 0)
		return;
	egs_watch_free(conn->child_watch);
	conn->child_watch = NULL;
	egs_child_stop(&conn->child);
	conn->server->nchildren--;
}

static void set_munged_down(struct egs_server *s, bool down, const char *why)
{
	struct egs_text message;

	if (down == s->munged_down)
		return;
	s->munged_down = down;
	egs_textf(&message,
		  down ? "server: %s; requests from other hosts are refused"
		       : "server: %s",
		  why);
	if (s->conf.warn)
		s->conf.warn(s->conf.arg, message.text);
}

/* munged has decoded the credential. */
static void accept_cred(struct egs_conn *conn, const char *bytes, size_t len)
{
	struct egs_server *s = conn->server;
	struct egs_cred cred;
	struct egs_err err;

	if (len < sizeof(cred)) {
		egs_conn_refuse(conn, "the credential was not read completely");
		return;
	}
	memcpy(&cred, bytes, sizeof(cred));
	if (egs_cred_seen_add(s->seen_creds, &cred, time(NULL), &err) < 0) {
		egs_conn_refuse(conn, err.msg);
		return;
	}
	conn->peer.uid = cred.uid;
	conn->peer.gid = cred.gid;
	conn->peer.cred_origin = cred.origin;
	egs_conn_dispatch(conn, bytes + sizeof(cred), len - sizeof(cred));
}

static void on_child_ready(void *arg, uint32_t events)
{
	struct egs_conn *conn = arg;
	struct egs_server *s = conn->server;
	struct egs_child done;
	struct egs_err err;
	int rc = egs_child_read(&conn->child, &err);

	(void)events;
	if (rc > 0)
		return;
	done = conn->child;
	conn->child.bytes = NULL;
	egs_conn_auth_stop(conn);
	if (rc != EGS_CRED_NO_MUNGED)
		set_munged_down(s, false, "munged answers again");
	else
		set_munged_down(s, true, err.msg);
	if (rc < 0)
		egs_conn_refuse(conn, err.msg);
	else
		accept_cred(conn, done.bytes, done.len);
	free(done.bytes);
	egs_conn_auth_next(s);
}

void egs_conn_auth_timeout(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;

	if (conn->child.fd < 0) {
		egs_conn_refuse(conn, "too many requests at once; try again");
		return;
	}
	set_munged_down(s, true, "munged does not answer");
	egs_conn_auth_stop(conn);
	egs_conn_refuse(conn, "munged does not answer");
	egs_conn_auth_next(s);
}
