/* rate_limit.h - how much of the daemon's work each user may cause
 *
 * Each uid has tokens of its own, of several kinds.  No user can spend, reset
 * or push out the tokens of another, whatever the user's requests contain.
 * Root has no limit: nodes send as root.
 */
#ifndef EGS_SERVER_RATE_LIMIT_H
#define EGS_SERVER_RATE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/clock.h"

enum egs_rate_kind {
	EGS_RATE_MESSAGE, /* messages of jobs, except: */
	EGS_RATE_PHASE,	  /* changes of phase: each is a span of the history */
	EGS_RATE_YIELD,	  /* answers to a notice */
	EGS_RATE_STRAY,	  /* answers without a notice */
	EGS_RATE_READ,	  /* reads of single jobs, which slurmctld answers */
	EGS_RATE_REFUSAL, /* records of refused updates of jobs */
	EGS_RATE_UNCLEAN, /* reports of processes on GPUs of others */
	EGS_RATE_CRED,	  /* MUNGE credentials */
	EGS_RATE_KINDS
};

/* Tokens of a user after a quiet time, and tokens added in each minute. */
struct egs_token_rate {
	uint32_t max, per_min;
};
extern const struct egs_token_rate egs_token_rates[EGS_RATE_KINDS];

/* Limit of users with missing tokens at one time. */
#define EGS_RATE_UIDS_MAX 16384

struct egs_rate_limit;

/* NULL: out of memory. */
struct egs_rate_limit *egs_rate_limit_new(void);
void egs_rate_limit_free(struct egs_rate_limit *limit);

/* Take 'cost' tokens of a kind from 'uid'.  False if the user has less: then
 * nothing is taken.  Users beyond EGS_RATE_UIDS_MAX have none.
 */
bool egs_rate_limit_take(struct egs_rate_limit *limit, uid_t uid,
			 enum egs_rate_kind kind, uint32_t cost,
			 egs_time_t now);

/* Slurm does not show a job as the message of 'uid' describes it.  May the user
 * send the message again?  Yes, until two polls after the first call with this
 * 'key', a job id or another number; 'polls' is the number of polls so far.
 * The last few keys of each user are remembered.
 */
bool egs_rate_limit_may_retry(struct egs_rate_limit *limit, uid_t uid,
			      uint32_t key, uint64_t polls, egs_time_t now);

#endif
