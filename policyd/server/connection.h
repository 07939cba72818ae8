/* connection.h - the clients of the server; for the files of server/ only */
#ifndef EGS_SERVER_CONNECTION_H
#define EGS_SERVER_CONNECTION_H

#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/base/child.h"
#include "common/ipc/cred_seen.h"
#include "policyd/server/munge_helper.h"
#include "policyd/server/rate_limit.h"
#include "policyd/server/server.h"
#include "policyd/server/share.h"

/* READ -> AUTH (TCP only) -> [DEFERRED ->] SEAL (TCP only) -> WRITE -> READ, or
 * DRAIN after a refusal.
 */
enum egs_conn_state {
	CONN_READ,     /* waits for a request */
	CONN_AUTH,     /* waits for munged */
	CONN_DEFERRED, /* the verb has no answer yet */
	CONN_SEAL,     /* the answer waits for munged */
	CONN_WRITE,    /* the client reads its answer */
	CONN_DRAIN     /* input is ignored until the client closes */
};

struct egs_conn {
	struct egs_server *server;
	int fd;
	struct egs_watch *watch;
	struct egs_peer peer;
	struct egs_share *share;
	TAILQ_ENTRY(egs_conn) share_link;
	size_t bytes; /* of 'in' and 'deferred', as counted in the share */
	bool paused;  /* its user has used too much time; in CONN_READ */
	enum egs_conn_state state;
	bool close_after;    /* read no request after this answer */
	bool is_known;	     /* TCP: munged has vouched for the request */
	uint64_t request_id; /* of its credential */
	uint64_t deadline_ms;
	struct egs_buf in, out; /* 'sent' bytes of 'out' are sent; in SEAL,
				 * 'out' is the text of the answer
				 */
	size_t sent;
	struct egs_child child; /* asks munged; 'fd' may be of 'helper' */
	struct egs_munge_helper *helper; /* NULL: the child does it */
	struct egs_watch *child_watch;
	struct egs_buf deferred; /* the deferred request */
	uint64_t wake_key;
	uint64_t wake_round; /* the last that served it */
	TAILQ_ENTRY(egs_conn) link;
};

TAILQ_HEAD(egs_conns, egs_conn);

/* Each takes as much memory as the daemon has when it starts. */
#define EGS_MUNGE_HELPERS 4

struct egs_server {
	struct egs_loop *loop;
	struct egs_server_conf conf;
	int unix_fd, tcp_fd;
	struct egs_watch *unix_watch, *tcp_watch;
	struct egs_watch *sweep_timer;
	struct egs_conns conns;	   /* longest inactive first */
	struct egs_conns deferred; /* in CONN_DEFERRED, not in 'conns' */
	size_t nconns;		   /* in both lists */
	struct egs_shares *shares;
	struct egs_rate_limit *cred_rates;
	struct egs_watch *pause_timer;
	bool pausing;	    /* 'pause_timer' runs */
	uint64_t defer_key; /* of the request that is being served */
	uint32_t defer_ms;
	uint64_t wake_round; /* number of the last egs_server_wake() */
	bool timed_out;	  /* the request that is served must be answered now */
	size_t nchildren; /* and busy helpers */
	struct egs_munge_helper helper[EGS_MUNGE_HELPERS];
	struct egs_cred_seen *seen_creds;
	bool munged_down; /* and the warning was given */
};

/* The share of a user; NULL: out of memory. */
struct egs_share *egs_server_get_share(struct egs_server *server, uid_t uid);

/* Serve a client on 'fd', which the server closes. */
void egs_conn_new(struct egs_server *server, int fd,
		  const struct egs_peer *peer, struct egs_share *share);
void egs_conn_free(struct egs_conn *conn);

/* The client belongs to another share now.  Returns 0, or -1 if that share has
 * no room.
 */
int egs_conn_set_share(struct egs_conn *conn, struct egs_share *share);

/* Make room for one more client in a share, or among all shares of its kind: by
 * dropping the client that has not sent a whole request for longest.
 * Returns 0, or -1 if there is none.
 */
int egs_conn_make_room(struct egs_share *share);

/* Read requests of users again who have paused long enough. */
void egs_conn_resume_paused(struct egs_server *server);

/* The deadline of the client has passed.  May free 'conn'. */
void egs_conn_expire(struct egs_conn *conn);

/* Send 'answer', sealed if the client is known from MUNGE, free it, and forget
 * the request.  After a refusal the connection is closed.  Both may free
 * 'conn'.
 */
void egs_conn_send(struct egs_conn *conn, struct egs_msg *answer);
void egs_conn_refuse(struct egs_conn *conn, const char *why);

/* Refuse the request for now: the client may send it again in a second. */
void egs_conn_refuse_busy(struct egs_conn *conn, const char *why);

/* Answer a request, or defer it.  May free 'conn'. */
void egs_conn_dispatch(struct egs_conn *conn, const char *bytes, size_t len);

/* Serve a deferred request again; 'last': it must be answered now.  May free
 * 'conn'.
 */
void egs_conn_retry(struct egs_conn *conn, bool last);

/* Forget the answer in 'out'; write the packets of a sealed one, which the
 * second call owns.  The second may free 'conn'.
 */
void egs_conn_drop_answer(struct egs_conn *conn);
void egs_conn_write_sealed(struct egs_conn *conn, char *bytes, size_t len);

/* Decode the credential of a request and serve it, or seal an answer.  The
 * number of children is limited; others wait for egs_conn_auth_next().  May
 * free 'conn'.
 */
void egs_conn_auth_start(struct egs_conn *conn);
void egs_conn_seal_start(struct egs_conn *conn);
void egs_conn_auth_next(struct egs_server *server);

/* Let a helper or a child answer 'question', unless all are busy, and call
 * 'ready' when it has written.  Sets 'conf' of the question.  Returns 0, or -1
 * with 'err' set.
 */
int egs_conn_ask_munged(struct egs_conn *conn,
			struct egs_munge_question *question,
			egs_watch_fn *ready, struct egs_err *err);

/* Read what the child has written, without waiting.  Returns 1 if the child has
 * not finished.  Otherwise ends it, notes whether munged answers, and returns
 * the child's value, with '*bytes' that the caller frees, or with 'err' set.
 */
int egs_conn_end_child(struct egs_conn *conn, char **bytes, size_t *len,
		       struct egs_err *err);

/* Warn when munged stops to answer, and when it answers again: 'rc' and 'err'
 * are those of a call of munged.
 */
void egs_server_note_munged(struct egs_server *server, int rc,
			    const struct egs_err *err);

/* End the child.  The others also refuse the request. */
void egs_conn_auth_stop(struct egs_conn *conn);
void egs_conn_auth_timeout(struct egs_conn *conn);
void egs_conn_seal_timeout(struct egs_conn *conn);

#endif
