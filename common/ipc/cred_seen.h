/* cred_seen.h - the requests of the last minutes
 *
 * munged rejects replays, but forgets old requests when it restarts.  So the
 * daemon remembers their numbers, too.  Root's requests are remembered apart:
 * nodes send as root, and users cannot use up their room.
 */
#ifndef EGS_IPC_CRED_SEEN_H
#define EGS_IPC_CRED_SEEN_H

#include <time.h>

#include "common/ipc/cred.h"

/* Limits within two minutes, of root and of all users together. */
#define EGS_CRED_SEEN_ROOT_MAX	(1U << 18)
#define EGS_CRED_SEEN_USERS_MAX (1U << 17)

struct egs_cred_seen;

/* NULL: out of memory. */
struct egs_cred_seen *egs_cred_seen_new(void);
void egs_cred_seen_free(struct egs_cred_seen *seen);

/* Remember a request.  Returns 0, or -1 with 'err' set if the request is known
 * already or there are too many requests.
 */
int egs_cred_seen_add(struct egs_cred_seen *seen, const struct egs_cred *cred,
		      time_t now, struct egs_err *err);

#endif
