/* authenticate.c - identify TCP clients by MUNGE, in child processes */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/ipc/packet.h"
#include "policyd/server/connection.h"

enum { CHILDREN_MAX = 16, STRANGERS_MAX = CHILDREN_MAX / 2 };

static void on_child_ready(void *arg, uint32_t events);

/* Nodes and operators, as far as they are known before their credential is
 * decoded.
 */
static bool is_first(const struct egs_conn *conn)
{
	return conn->share->kind == EGS_SHARE_NODES ||
	       conn->share->kind == EGS_SHARE_TRUSTED;
}

/* Half of the children is for them. */
static bool has_child_left(const struct egs_conn *conn)
{
	return conn->server->nchildren <
	       (is_first(conn) ? CHILDREN_MAX : STRANGERS_MAX);
}

static int start_child(struct egs_conn *conn,
		       const struct egs_munge_question *question,
		       struct egs_err *err)
{
	conn->helper = egs_munge_helper_ask(conn->server->helper,
					    EGS_MUNGE_HELPERS, question);
	if (!conn->helper)
		return egs_child_start(&conn->child, egs_munge_answer, question,
				       err);
	conn->child.fd = conn->helper->fd;
	return 0;
}

int egs_conn_ask_munged(struct egs_conn *conn,
			struct egs_munge_question *question,
			egs_watch_fn *ready, struct egs_err *err)
{
	struct egs_server *s = conn->server;

	if (!has_child_left(conn))
		return 0;
	question->conf = (struct egs_cred_conf){
		.munge_socket = s->conf.munge_socket,
		.audience = s->conf.audience,
	};
	if (start_child(conn, question, err) < 0)
		return -1;
	s->nchildren++;
	conn->share->ndecoding++;
	conn->deadline_ms = egs_now_ms() + s->conf.timeout_ms / 2;
	conn->child_watch = egs_loop_add_fd(s->loop, conn->child.fd, EPOLLIN,
					    ready, conn, err);
	if (conn->child_watch)
		return 0;
	egs_conn_auth_stop(conn);
	return -1;
}

void egs_conn_auth_start(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;
	struct egs_munge_question question = {
		.task = EGS_MUNGE_DECODE,
		.bytes = conn->in.bytes + EGS_PACKET_HEAD_SIZE,
	};
	struct egs_err err;

	if (!*s->conf.audience) {
		egs_conn_refuse(conn, "the name of the cluster is unknown: "
				      "slurmctld has not answered yet");
		return;
	}
	question.len = strlen(question.bytes);
	if (egs_conn_ask_munged(conn, &question, on_child_ready, &err) < 0)
		egs_conn_refuse(conn, err.msg);
}

/* A share with few credentials at munged comes before one with many. */
static bool goes_before(const struct egs_conn *a, const struct egs_conn *b)
{
	if (!b || is_first(a) != is_first(b))
		return !b || is_first(a);
	return a->share->ndecoding < b->share->ndecoding;
}

/* The client whose credential is decoded next; of equal ones the first. */
static struct egs_conn *find_waiting(struct egs_server *s)
{
	struct egs_conn *conn, *next = NULL;

	TAILQ_FOREACH(conn, &s->conns, link)
	if ((conn->state == CONN_AUTH || conn->state == CONN_SEAL) &&
	    conn->child.fd < 0 && has_child_left(conn) &&
	    goes_before(conn, next))
		next = conn;
	return next;
}

void egs_conn_auth_next(struct egs_server *server)
{
	struct egs_conn *conn = NULL;

	while ((conn = find_waiting(server))) {
		if (conn->state == CONN_AUTH)
			egs_conn_auth_start(conn);
		else
			egs_conn_seal_start(conn);
	}
}

void egs_conn_auth_stop(struct egs_conn *conn)
{
	if (conn->child.fd < 0)
		return;
	egs_watch_free(conn->child_watch);
	conn->child_watch = NULL;
	if (conn->helper)
		egs_munge_helper_release(conn->helper);
	else
		egs_child_stop(&conn->child);
	conn->helper = NULL;
	conn->child.fd = -1;
	conn->server->nchildren--;
	conn->share->ndecoding--;
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

void egs_server_note_munged(struct egs_server *server, int rc,
			    const struct egs_err *err)
{
	if (rc != EGS_CRED_NO_MUNGED)
		set_munged_down(server, false, "munged answers again");
	else
		set_munged_down(server, true, err->msg);
}

/* The client is known now and has the limits of its user. */
static int join_user(struct egs_conn *conn, uid_t uid, struct egs_err *err)
{
	struct egs_server *s = conn->server;
	struct egs_share *share = egs_server_get_share(s, uid);

	if (egs_conn_set_share(conn, share) < 0)
		return egs_errf(err,
				"user %u has too many connections; try again "
				"later",
				uid);
	if (egs_share_must_pause(share, egs_now_ms()))
		return egs_errf(err,
				"the requests of user %u take too much time; "
				"try again later",
				uid);
	return 0;
}

/* A user beyond the limit causes no further work: the refusal is not sealed. */
static bool has_cred_left(struct egs_conn *conn)
{
	struct egs_err err;

	if (egs_rate_limit_take(conn->server->cred_rates, conn->peer.uid,
				EGS_RATE_CRED, 1, time(NULL)))
		return true;
	egs_errf(&err,
		 "user %u sends more than %u requests in a minute; try again "
		 "later",
		 conn->peer.uid, egs_token_rates[EGS_RATE_CRED].per_min);
	egs_conn_refuse_busy(conn, err.msg);
	return false;
}

/* munged has decoded the credential.  From here on answers are sealed. */
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
	conn->peer.uid = cred.uid;
	conn->peer.gid = cred.gid;
	conn->peer.cred_origin = cred.origin;
	conn->request_id = cred.id;
	if (!has_cred_left(conn))
		return;
	conn->is_known = true;
	if (egs_cred_seen_add(s->seen_creds, &cred, time(NULL), &err) < 0)
		egs_conn_refuse(conn, err.msg);
	else if (join_user(conn, cred.uid, &err) < 0)
		egs_conn_refuse_busy(conn, err.msg);
	else
		egs_conn_dispatch(conn, bytes + sizeof(cred),
				  len - sizeof(cred));
}

static int read_child(struct egs_conn *conn, char **bytes, size_t *len,
		      struct egs_err *err)
{
	int rc;

	if (conn->helper)
		return egs_munge_helper_read(conn->helper, bytes, len, err);
	rc = egs_child_read(&conn->child, err);
	if (rc > 0)
		return rc;
	*bytes = conn->child.bytes;
	*len = conn->child.len;
	conn->child.bytes = NULL;
	return rc;
}

int egs_conn_end_child(struct egs_conn *conn, char **bytes, size_t *len,
		       struct egs_err *err)
{
	int rc = read_child(conn, bytes, len, err);

	if (rc > 0)
		return rc;
	egs_conn_auth_stop(conn);
	egs_server_note_munged(conn->server, rc, err);
	return rc;
}

static void on_child_ready(void *arg, uint32_t events)
{
	struct egs_conn *conn = arg;
	struct egs_server *s = conn->server;
	struct egs_err err;
	char *bytes;
	size_t len;
	int rc = egs_conn_end_child(conn, &bytes, &len, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc < 0)
		egs_conn_refuse(conn, err.msg);
	else
		accept_cred(conn, bytes, len);
	free(bytes);
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
