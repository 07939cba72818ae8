/* connection.h - the clients of the server, and what they share */
#ifndef EGS_SERVER_CONNECTION_H
#define EGS_SERVER_CONNECTION_H

#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/base/child.h"
#include "common/ipc/cred.h"
#include "policyd/server/server.h"

/* What is waited for: a request, munged, something to answer it with, the
 * client to take its answer, or the client to see the end of it.
 */
enum egs_conn_state {
	CONN_READ,
	CONN_AUTH,
	CONN_DEFERRED,
	CONN_WRITE,
	CONN_DRAIN
};

struct egs_conn {
	struct egs_server *server;
	int fd;
	struct egs_watch *watch;
	struct egs_peer peer;
	enum egs_conn_state state;
	bool close_after; /* nothing is read after this answer */
	uint64_t deadline_ms;
	struct egs_buf in, out; /* 'out' up to 'sent' is gone */
	size_t sent;
	struct egs_child child;	       /* asks munged */
	struct egs_watch *child_watch; /* of it */
	struct egs_buf deferred;       /* the request, while it is */
	uint64_t wake_key;
	TAILQ_ENTRY(egs_conn) link;
};

TAILQ_HEAD(egs_conns, egs_conn);

struct egs_server {
	struct egs_loop *loop;
	struct egs_server_conf conf;
	int unix_fd, tcp_fd;
	struct egs_watch *unix_watch, *tcp_watch;
	struct egs_watch *sweep_timer;
	struct egs_conns conns;	   /* who did nothing for longest is first */
	struct egs_conns deferred; /* the others, CONN_HELD */
	size_t nconns, ndeferred;  /* all, and the latter */
	uint64_t defer_key;	   /* of the request that is being answered */
	uint32_t defer_ms;
	bool timed_out; /* its time is over */
	size_t nchildren;
	size_t unsent_bytes; /* bytes of all answers */
	struct egs_cred_seen *seen_creds;
	bool munged_down; /* and that was said */
};

/* Serve a client on 'fd', which is the server's from now on. */
void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer);
void egs_conn_free(struct egs_conn *conn);

/* Its time is over. */
void egs_conn_expire(struct egs_conn *conn);

/* Send 'answer', which is taken over, and forget the request.  A refusal is
 * the last a client hears.  Both may free 'conn'.
 */
void egs_conn_send(struct egs_conn *conn, struct egs_msg *answer);
void egs_conn_refuse(struct egs_conn *conn, const char *why);

/* Answer a request, or hold it.  May free 'conn'. */
void egs_conn_dispatch(struct egs_conn *conn, const char *bytes, size_t len);

/* Ask for the answer of a held request again.  May free 'conn'. */
void egs_conn_retry(struct egs_conn *conn, bool last);

/* Ask munged who sent the request and answer it; only so many do that at a
 * time, the others wait for egs_conn_auth_next().  May free 'conn'.
 */
void egs_conn_auth_start(struct egs_conn *conn);
void egs_conn_auth_next(struct egs_server *server);

/* Stop asking; and say that it was in vain. */
void egs_conn_auth_stop(struct egs_conn *conn);
void egs_conn_auth_timeout(struct egs_conn *conn);

#endif
