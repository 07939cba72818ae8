/* seal_answer.c - put answers to TCP clients into credentials, in children
 *
 * Answers share the limit of children with requests (authenticate.c).
 */
#include <stdlib.h>

#include "policyd/server/connection.h"

/* Without munged the client gets a refusal that it cannot check. */
static void refuse_unsealed(struct egs_conn *conn, const char *why)
{
	conn->is_known = false;
	egs_conn_drop_answer(conn);
	egs_conn_refuse(conn, why);
}

static void on_sealed(void *arg, uint32_t events)
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
	if (rc < 0) {
		free(bytes);
		refuse_unsealed(conn, err.msg);
	} else {
		egs_conn_write_sealed(conn, bytes, len);
	}
	egs_conn_auth_next(s);
}

void egs_conn_seal_start(struct egs_conn *conn)
{
	struct egs_munge_question question = {
		.task = EGS_MUNGE_SEAL,
		.request = { conn->peer.uid, conn->request_id },
		.bytes = conn->out.bytes,
		.len = conn->out.used,
	};
	struct egs_err err;

	if (egs_conn_ask_munged(conn, &question, on_sealed, &err) < 0)
		refuse_unsealed(conn, err.msg);
}

void egs_conn_seal_timeout(struct egs_conn *conn)
{
	struct egs_server *s = conn->server;
	struct egs_err err = { "munged does not answer" };

	if (conn->child.fd >= 0)
		egs_server_note_munged(s, EGS_CRED_NO_MUNGED, &err);
	egs_conn_auth_stop(conn);
	refuse_unsealed(conn, err.msg);
	egs_conn_auth_next(s);
}
