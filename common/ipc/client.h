/* client.h - send one request to the daemon, within a deadline
 *
 * An answer counts only if it is of root or SlurmUser (trust.h): on the Unix
 * socket the kernel says so, over TCP a credential (sealed.h).
 *
 *	struct egs_endpoint endpoint = { .address = "/run/egs/policyd.sock" };
 *
 *	rc = egs_client_call(&endpoint, request, &answer, 5000, &err);
 */
#ifndef EGS_IPC_CLIENT_H
#define EGS_IPC_CLIENT_H

#include "common/base/child.h"
#include "common/ipc/cred.h"
#include "common/ipc/msg.h"

/* Where the daemon is.  An 'address' with a '/' is the path of its Unix socket.
 * Any other address is HOST:PORT, or a list of them with commas between; each
 * host is asked until one gives an authentic answer.  Only HOST:PORT needs
 * 'cred'.
 */
struct egs_endpoint {
	const char *address;
	const char *slurm_user; /* NULL or "": unknown, only root is trusted */
	struct egs_cred_conf cred;
	uint32_t connect_ms; /* longest wait for a connection; 0: no limit */
	uint32_t hold_ms;    /* the daemon may hold its answer for this long */
};

enum {
	EGS_CLIENT_REFUSED = -1,     /* 'err' is the refusal of the daemon */
	EGS_CLIENT_UNREACHABLE = -2, /* 'err' says why there is no answer */
	EGS_CLIENT_RETRY = -3,	     /* refused; try again in a second */
	EGS_CLIENT_FORGED = -4,	     /* an answer came, not of the daemon */
};

/* Send 'request' and wait for the answer.  The whole call takes at most
 * 'timeout_ms', even if the network, munged or the daemon hangs.  Returns 0
 * with '*answer', which the caller frees, or one of the above.
 */
int egs_client_call(const struct egs_endpoint *endpoint,
		    const struct egs_msg *request, struct egs_msg **answer,
		    int timeout_ms, struct egs_err *err);

/* The same for a caller with an event loop, to HOST:PORT.  egs_client_start()
 * returns 0, or -1 with 'err' set.  Whenever 'child->fd' is ready, the caller
 * calls egs_client_receive(): it returns 1 while the answer is not complete,
 * else as egs_client_call(), and 0 with the uid of the daemon in '*uid'. munged
 * and name servers may exceed the deadline.  After the answer, or to give up,
 * the caller calls egs_child_stop().
 */
int egs_client_start(struct egs_child *child,
		     const struct egs_endpoint *endpoint,
		     const struct egs_msg *request, int timeout_ms,
		     struct egs_err *err);
int egs_client_receive(struct egs_child *child,
		       const struct egs_endpoint *endpoint,
		       struct egs_msg **answer, uid_t *uid,
		       struct egs_err *err);

#endif
