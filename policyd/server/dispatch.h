/* dispatch.h - find the verb of a request and call it */
#ifndef EGS_SERVER_DISPATCH_H
#define EGS_SERVER_DISPATCH_H

#include "policyd/server/server.h"

/* Call the verb that 'bytes' name, if 'peer' has its role.  0 with the answer,
 * which the caller frees (NULL: out of memory), or EGS_REPLY_DEFERRED.
 */
int egs_dispatch_request(const struct egs_server_conf *conf,
			 const struct egs_peer *peer, const char *bytes,
			 size_t len, struct egs_msg **answer);

/* An answer with an error; NULL: out of memory. */
struct egs_msg *egs_dispatch_refusal(const char *why);

#endif
