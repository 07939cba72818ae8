/* client.h - ask the daemon, once, and keep the deadline
 *
 *	struct egs_where where = { .at = "/run/egs/policyd.sock" };
 *
 *	rc = egs_client_call(&where, request, &answer, 5000, &err);
 */
#ifndef EGS_IPC_CLIENT_H
#define EGS_IPC_CLIENT_H

#include "common/base/child.h"
#include "common/ipc/cred.h"
#include "common/ipc/msg.h"

/* Where the daemon is: 'at' is the path of its Unix socket if there is a '/'
 * in it, or else HOST:PORT, or several of them with commas between: the first
 * that can be reached is asked.  Only these need 'cred'.
 */
struct egs_endpoint {
	const char *address;
	struct egs_cred_conf cred;
};

enum {
	EGS_CLIENT_REFUSED = -1,     /* 'err' is what the daemon said */
	EGS_CLIENT_UNREACHABLE = -2, /* 'err' says why there is no answer */
	EGS_CLIENT_RETRY = -3, /* refused, and worth another try in a second */
};

/* Send 'request' and wait for the answer, no longer than 'timeout_ms' in all,
 * whatever the network, munged and the daemon do.  0 with '*answer', which is
 * the caller's to free, or one of the above.
 */
int egs_client_call(const struct egs_endpoint *where,
		    const struct egs_msg *request, struct egs_msg **answer,
		    int timeout_ms, struct egs_err *err);

/* The same for who has a loop, at HOST:PORT.  0, or -1 with 'err' set; then
 * egs_client_receive() whenever 'aside->fd' is ready: 1 while there is more to
 * come, else what egs_client_call() returns.  The deadline holds but for munged
 * and name servers.  When there is an answer, or the caller has waited long
 * enough, it calls egs_child_stop().
 */
int egs_client_start(struct egs_child *aside, const struct egs_endpoint *where,
		     const struct egs_msg *request, int timeout_ms,
		     struct egs_err *err);
int egs_client_receive(struct egs_child *aside,
		       const struct egs_endpoint *where,
		       struct egs_msg **answer, struct egs_err *err);

#endif
