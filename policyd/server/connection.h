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
enum conn_state { CONN_READ, CONN_CRED, CONN_HELD, CONN_WRITE, CONN_DRAIN };

struct egs_conn {
	struct egs_server *server;
	int fd;
	struct egs_watch *watch;
	struct egs_peer peer;
	enum conn_state state;
	bool last; /* nothing is read after this answer */
	uint64_t deadline_ms;
	struct egs_buf in, out; /* 'out' up to 'sent' is gone */
	size_t sent;
	struct egs_aside aside; /* asks munged */
	struct egs_watch *news; /* of it */
	struct egs_buf held;	/* the request, while it is */
	uint64_t key;
	TAILQ_ENTRY(egs_conn) link;
};

TAILQ_HEAD(egs_conns, egs_conn);

struct egs_server {
	struct egs_loop *loop;
	struct egs_server_conf conf;
	int unix_fd, tcp_fd;
	struct egs_watch *unix_watch, *tcp_watch;
	struct egs_watch *sweep;
	struct egs_conns conns; /* who did nothing for longest is first */
	struct egs_conns held;	/* the others, CONN_HELD */
	size_t nconns, nheld;	/* all, and the latter */
	uint64_t hold_key;	/* of the request that is being answered */
	uint32_t hold_ms;
	bool last; /* its time is over */
	size_t nasides;
	size_t unsent; /* bytes of all answers */
	struct egs_cred_seen *seen;
	bool munged_down; /* and that was said */
};

uint64_t egs_server_now_ms(void);

/* Serve a client on 'fd', which is the server's from now on. */
void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer);
void egs_conn_free(struct egs_conn *conn);

/* Its time is over. */
void egs_conn_expire(struct egs_conn *conn);

/* Send 'answer', which is taken over, and forget the request.  A refusal is
 * the last a client hears.  Both may free 'conn'.
 */
void egs_conn_say(struct egs_conn *conn, struct egs_msg *answer);
void egs_conn_refuse(struct egs_conn *conn, const char *why);

/* Answer a request, or hold it.  May free 'conn'. */
void egs_conn_answer(struct egs_conn *conn, const char *bytes, size_t len);

/* Ask for the answer of a held request again.  May free 'conn'. */
void egs_conn_again(struct egs_conn *conn, bool last);

/* Ask munged who sent the request and answer it; only so many do that at a
 * time, the others wait for egs_conn_ask_next().  May free 'conn'.
 */
void egs_conn_ask(struct egs_conn *conn);
void egs_conn_ask_next(struct egs_server *server);

/* Stop asking; and say that it was in vain. */
void egs_conn_end_ask(struct egs_conn *conn);
void egs_conn_ask_in_vain(struct egs_conn *conn);

#endif
