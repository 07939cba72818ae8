/* rate_limit.c - how often a job is listened to, and for how long it is awaited
 */
#include <stdlib.h>

#include "policyd/server/rate_limit.h"

enum {
	PLACES = 1024,
	ENOUGH_LOOKS = 2,
	/* A question so old was another one. */
	OLD_LOOKS = 10,
};

struct place {
	uint32_t key;
	uint32_t spent;
	egs_time_t at;
	uint64_t asked; /* the look at which it was asked first, + 1 */
};

struct egs_patience {
	struct place place[PLACES];
};

struct egs_patience *egs_patience_new(void)
{
	return calloc(1, sizeof(struct egs_patience));
}

void egs_patience_free(struct egs_patience *p)
{
	free(p);
}

static struct place *place_of(struct egs_patience *p, uint32_t key)
{
	struct place *at = &p->place[key * 2654435761U % PLACES];

	if (at->key != key)
		*at = (struct place){ .key = key };
	return at;
}

bool egs_patience_spend(struct egs_patience *p, uint32_t key, uint32_t cost,
			egs_time_t now)
{
	struct place *at = place_of(p, key);
	int64_t back = (now - at->at) * EGS_PATIENCE_PER_S;

	if (back > 0)
		at->spent -= back < at->spent ? (uint32_t)back : at->spent;
	at->at = now;
	if (at->spent + cost > EGS_PATIENCE_MAX)
		return false;
	at->spent += cost;
	return true;
}

bool egs_patience_waits(struct egs_patience *p, uint32_t key, uint64_t looks)
{
	struct place *at = place_of(p, key);

	if (!at->asked || looks + 1 > at->asked + OLD_LOOKS)
		at->asked = looks + 1;
	return looks + 1 < at->asked + ENOUGH_LOOKS;
}
