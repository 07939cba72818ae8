/* rate_limit.h - how many messages of a job are served, and how often it is
 * polled again
 *
 * Each job that sends messages has a bucket, in a table of fixed size.  Two
 * jobs may share a bucket: a message of the other job then resets it.
 */
#ifndef EGS_SERVER_RATE_LIMIT_H
#define EGS_SERVER_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

/* The size of a bucket, and what is added to it each second. */
#define EGS_RATE_LIMIT_MAX   1000
#define EGS_RATE_LIMIT_PER_S 20

struct egs_rate_limit;

/* NULL: out of memory. */
struct egs_rate_limit *egs_rate_limit_new(void);
void egs_rate_limit_free(struct egs_rate_limit *p);

/* Take 'cost' from the bucket of 'key', a job id or another number.  False if
 * the bucket has less: then nothing is taken.
 */
bool egs_rate_limit_take(struct egs_rate_limit *p, uint32_t key, uint32_t cost,
			 egs_time_t now);

/* Slurm does not show a job as its message describes it.  May the caller poll
 * and try again?  Yes, until two polls after the first call; 'polls' is the
 * number of polls so far.
 */
bool egs_rate_limit_may_retry(struct egs_rate_limit *p, uint32_t key,
			      uint64_t polls);

#endif
