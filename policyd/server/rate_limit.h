/* rate_limit.h - how often a job is listened to, and for how long it is awaited
 *
 * Two small accounts for each job that speaks, in a table of fixed size: a job
 * whose place another one takes begins anew.
 */
#ifndef EGS_SERVER_RATE_LIMIT_H
#define EGS_SERVER_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

/* So much may be spent at once, and comes back each second. */
#define EGS_RATE_LIMIT_MAX   1000
#define EGS_RATE_LIMIT_PER_S 20

struct egs_rate_limit;

/* NULL: out of memory. */
struct egs_rate_limit *egs_rate_limit_new(void);
void egs_rate_limit_free(struct egs_rate_limit *p);

/* Spend 'cost' of the patience with 'key', a job or anything else with a
 * number.  False if so much is not left: then nothing is spent.
 */
bool egs_rate_limit_take(struct egs_rate_limit *p, uint32_t key, uint32_t cost,
			 egs_time_t now);

/* Slurm does not show this job as it says it is.  Is that worth waiting for?
 * Until two of our 'looks' at Slurm, which are counted, were had since it was
 * asked first.
 */
bool egs_rate_limit_may_retry(struct egs_rate_limit *p, uint32_t key,
			      uint64_t looks);

#endif
