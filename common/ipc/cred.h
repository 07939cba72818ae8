/* cred.h - requests from other hosts: MUNGE says who asks
 *
 * The whole request is the payload of a credential, so nobody can change it.
 * In front of it stand for whom it is meant (the audience, which names the
 * daemon of one cluster) and a random number: a request cannot be used at
 * another daemon, nor twice, nor after EGS_CRED_TTL_S.
 *
 * Both calls talk to munged and may block for seconds: see child.h.
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

/* Whose munged, and for whom; 'munged' NULL is the one of the host. */
struct egs_cred_conf {
	const char *munge_socket; /* path of its socket */
	const char *audience;
};

/* Who asked, when, and what.  'id' is the random number. */
struct egs_cred {
	uid_t uid;
	gid_t gid;
	struct in6_addr origin; /* of the host whose munged has made it */
	time_t encoded_at;
	uint64_t id;
	char *payload; /* with a NUL behind its 'len' bytes */
	size_t len;
};

enum {
	EGS_CRED_BAD = -1,
	EGS_CRED_NO_MUNGED = -2, /* munged does not answer */
};

/* Make a credential of 'len' bytes: malloc'ed text in '*text'.  0, or one of
 * the above with 'err' set.
 */
int egs_cred_encode(const struct egs_cred_conf *way, const char *bytes,
		    size_t len, char **text, struct egs_err *err);

/* Who made the credential 'text', and its payload.  0, or one of the above with
 * 'err' set: it is none, too old, was decoded before, or meant for another.
 */
int egs_cred_decode(const struct egs_cred_conf *way, const char *text,
		    struct egs_cred *cred, struct egs_err *err);
void egs_cred_clear(struct egs_cred *cred);

/* An address of IPv4, in the order of the network, as one of IPv6. */
void egs_cred_map_ipv4(in_addr_t four, struct in6_addr *six);

/* The requests of the last minutes.  munged knows them too, until it is
 * started again.
 */
struct egs_cred_seen;
struct egs_cred_seen *egs_cred_seen_new(void);
void egs_cred_seen_free(struct egs_cred_seen *seen);

/* Note a request.  0, or -1 with 'err' set if it was noted before or there are
 * too many to note another.
 */
int egs_cred_seen_add(struct egs_cred_seen *seen, const struct egs_cred *cred,
		      time_t now, struct egs_err *err);

#endif
