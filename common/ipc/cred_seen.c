/* cred_seen.c - the requests of the last minutes
 *
 * A credential may be used for one minute before and one minute after the time
 * of its host.  Two generations of ids are remembered.  When the younger one is
 * that old, it becomes the older one, and the older one is forgotten.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/ipc/cred_seen.h"

enum { GENERATION_S = 2 * EGS_CRED_TTL_S + 1, SIZE_MIN = 256 };

/* A hash table of ids; 0 is an empty place. */
struct id_set {
	uint64_t *id;
	uint32_t count, size; /* 'size' is 0 or a power of two */
};

struct egs_cred_seen {
	uint64_t secret; /* of mix_id() */
	time_t begun;	 /* the younger generation */
	struct id_set root[2], users[2];
};

struct egs_cred_seen *egs_cred_seen_new(void)
{
	struct egs_cred_seen *seen = calloc(1, sizeof(*seen));

	if (seen && getrandom(&seen->secret, sizeof(seen->secret), 0) !=
			    sizeof(seen->secret)) {
		free(seen);
		return NULL;
	}
	return seen;
}

void egs_cred_seen_free(struct egs_cred_seen *seen)
{
	for (int i = 0; seen && i < 2; i++) {
		free(seen->root[i].id);
		free(seen->users[i].id);
	}
	free(seen);
}

/* Each bit of the id and of the secret counts for each bit of the result.  So
 * clients, who choose ids and do not know the secret, can choose none that
 * collide.
 */
static uint32_t mix_id(uint64_t id, uint64_t secret)
{
	uint64_t x = id ^ secret;

	x = (x ^ x >> 32) * (secret | 1);
	x = (x ^ x >> 29) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(x >> 32);
}

/* The place of 'id', or the empty place where it belongs. */
static uint32_t find_place(const struct id_set *set, uint64_t id,
			   uint64_t secret)
{
	uint32_t at = mix_id(id, secret) & (set->size - 1);

	while (set->id[at] && set->id[at] != id)
		at = (at + 1) & (set->size - 1);
	return at;
}

static bool has_id(const struct id_set *set, uint64_t id, uint64_t secret)
{
	return set->size && set->id[find_place(set, id, secret)];
}

/* At least half of the places is empty. */
static int grow_set(struct id_set *set, uint64_t secret)
{
	struct id_set new = { .count = set->count,
			      .size = set->size ? 2 * set->size : SIZE_MIN };

	if (2 * (set->count + 1) <= set->size)
		return 0;
	new.id = calloc(new.size, sizeof(*new.id));
	if (!new.id)
		return -1;
	for (uint32_t i = 0; i < set->size; i++)
		if (set->id[i])
			new.id[find_place(&new, set->id[i], secret)] =
				set->id[i];
	free(set->id);
	*set = new;
	return 0;
}

static void age_sets(struct id_set sets[2])
{
	free(sets[1].id);
	sets[1] = sets[0];
	sets[0] = (struct id_set){ .size = 0 };
}

static void age_generations(struct egs_cred_seen *seen, time_t now)
{
	if (now >= seen->begun && now - seen->begun < GENERATION_S)
		return;
	if (now > seen->begun) {
		age_sets(seen->root);
		age_sets(seen->users);
	}
	seen->begun = now;
}

int egs_cred_seen_add(struct egs_cred_seen *seen, const struct egs_cred *cred,
		      time_t now, struct egs_err *err)
{
	uint32_t max =
		cred->uid ? EGS_CRED_SEEN_USERS_MAX : EGS_CRED_SEEN_ROOT_MAX;
	struct id_set *sets = cred->uid ? seen->users : seen->root;
	uint64_t id = cred->id ? cred->id : 1;

	age_generations(seen, now);
	if (has_id(&sets[0], id, seen->secret) ||
	    has_id(&sets[1], id, seen->secret))
		return egs_errf(err, "the request was sent before");
	if (sets[0].count >= max)
		return egs_errf(err, "more than %u requests in two minutes",
				max);
	if (grow_set(&sets[0], seen->secret) < 0)
		return egs_errf(err, "out of memory");
	sets[0].id[find_place(&sets[0], id, seen->secret)] = id;
	sets[0].count++;
	return 0;
}
