/* cred.h - requests from other hosts, authenticated by MUNGE
 *
 * The whole request is the payload of a credential, so MUNGE detects every
 * change.  Before the request are the audience, which names the daemon of one
 * cluster, and a random number.  So a request cannot be used at another daemon,
 * nor twice, nor after EGS_CRED_TTL_S.  The answer carries the same number, in
 * a credential of its own (sealed.h).
 *
 * Encoding and decoding call munged and may block for seconds: see child.h.
 */
#ifndef EGS_IPC_CRED_H
#define EGS_IPC_CRED_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/base/err.h"

#define EGS_CRED_TTL_S 60
#define EGS_CRED_AUDIENCE_PREFIX \
	"egs-policyd:" /* and the name of the cluster */
#define EGS_CRED_AUDIENCE_MAX 256

struct egs_cred_conf {
	const char *munge_socket; /* of munged; NULL: the default */
	const char *audience;
};

/* A decoded credential. */
struct egs_cred {
	uid_t uid;
	gid_t gid;
	uid_t only_for;		/* who can decode it; (uid_t)-1: anyone */
	struct in6_addr origin; /* of the host whose munged has encoded it */
	time_t encoded_at;
	uint64_t id;   /* the random number */
	char *payload; /* 'len' bytes and a NUL */
	size_t len;
};

enum {
	EGS_CRED_BAD = -1,
	EGS_CRED_NO_MUNGED = -2, /* munged does not answer */
};

/* Encode a request of 'len' bytes: '*text' is malloc'ed, '*id' is its random
 * number.  Returns 0, or one of the above with 'err' set.
 */
int egs_cred_encode(const struct egs_cred_conf *conf, const char *bytes,
		    size_t len, char **text, uint64_t *id, struct egs_err *err);

/* Decode the credential 'text'.  Returns 0, or one of the above with 'err' set:
 * the credential is invalid, too old, was decoded before, or has another
 * audience.
 */
int egs_cred_decode(const struct egs_cred_conf *conf, const char *text,
		    struct egs_cred *cred, struct egs_err *err);
void egs_cred_clear(struct egs_cred *cred);

/* Map an IPv4 address, in network byte order, into IPv6. */
void egs_cred_map_ipv4(in_addr_t ipv4, struct in6_addr *ipv6);

#endif
