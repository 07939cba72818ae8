/* dispatch.h - from the bytes of a request to the message that answers it */
#ifndef EGS_SERVER_DISPATCH_H
#define EGS_SERVER_DISPATCH_H

#include "policyd/server/server.h"

/* Find the verb and call it, if 'peer' may.  0 with the answer, which is the
 * caller's to free, NULL without memory; or EGS_REPLY_DEFERRED.
 */
int egs_dispatch_request(const struct egs_server_conf *conf,
			 const struct egs_peer *peer, const char *bytes,
			 size_t len, struct egs_msg **answer);

/* An answer that only says no. */
struct egs_msg *egs_dispatch_refusal(const char *why);

#endif
