/* rate_limit.c - how many messages of a job are served, and how often it is
 * polled again
 */
#include <stdlib.h>

#include "policyd/server/rate_limit.h"

enum {
	BUCKETS = 1024,
	RETRY_POLLS = 2,
	/* The count restarts after this many polls. */
	EXPIRE_POLLS = 10,
};

struct bucket {
	uint32_t key;
	uint32_t spent;
	egs_time_t updated_at;
	uint64_t first_poll; /* number of the first poll, + 1 */
};

struct egs_rate_limit {
	struct bucket bucket[BUCKETS];
};

struct egs_rate_limit *egs_rate_limit_new(void)
{
	return calloc(1, sizeof(struct egs_rate_limit));
}

void egs_rate_limit_free(struct egs_rate_limit *p)
{
	free(p);
}

static struct bucket *find_bucket(struct egs_rate_limit *p, uint32_t key)
{
	struct bucket *at = &p->bucket[key * 2654435761U % BUCKETS];

	if (at->key != key)
		*at = (struct bucket){ .key = key };
	return at;
}

bool egs_rate_limit_take(struct egs_rate_limit *p, uint32_t key, uint32_t cost,
			 egs_time_t now)
{
	struct bucket *at = find_bucket(p, key);
	int64_t regained = (now - at->updated_at) * EGS_RATE_LIMIT_PER_S;

	if (regained > 0)
		at->spent -=
			regained < at->spent ? (uint32_t)regained : at->spent;
	at->updated_at = now;
	if (at->spent + cost > EGS_RATE_LIMIT_MAX)
		return false;
	at->spent += cost;
	return true;
}

bool egs_rate_limit_may_retry(struct egs_rate_limit *p, uint32_t key,
			      uint64_t polls)
{
	struct bucket *at = find_bucket(p, key);

	if (!at->first_poll || polls + 1 > at->first_poll + EXPIRE_POLLS)
		at->first_poll = polls + 1;
	return polls + 1 < at->first_poll + RETRY_POLLS;
}
