/* classes.c - the table of classes: find, add, forget */
#include <string.h>

#include "common/base/hash.h"
#include "policyd/predict/classes.h"

/* ---- keys ---- */

/* The end of the string counts, as in egs_hash_text(). */
static uint64_t hash_name(uint64_t sum, const char *name)
{
	for (; name && *name; name++)
		if (*name < '0' || *name > '9')
			sum = egs_hash(sum, name, 1);
	return egs_hash_text(sum, "");
}

static uint64_t hash_first_word(uint64_t sum, const char *list)
{
	size_t len = list ? strcspn(list, ",") : 0;

	return egs_hash_text(egs_hash(sum, list, len), "");
}

static bool is_given(const char *text)
{
	return text && *text;
}

/* An owner is a user, an account or a partition, not only a name. */
static uint64_t hash_owner(const struct egs_predict_job *job,
			   enum egs_predict_source level)
{
	if (level == EGS_PREDICT_PARTITION)
		return hash_first_word(egs_hash_u64(EGS_HASH_START, 1),
				       job->partition);
	if (level == EGS_PREDICT_PHASE)
		return egs_hash_text(egs_hash_u64(EGS_HASH_START, 2),
				     job->account);
	return egs_hash_text(egs_hash_u64(EGS_HASH_START, 3), job->user);
}

bool egs_classes_make_key(const struct egs_predict_job *job,
			  enum egs_predict_source level,
			  struct egs_class_key *key)
{
	const bool by_user = level <= EGS_PREDICT_USER;
	uint64_t sum;

	if ((by_user && !is_given(job->user)) ||
	    (level == EGS_PREDICT_STAGE && !is_given(job->workload)) ||
	    (level == EGS_PREDICT_PHASE && !is_given(job->account)))
		return false;
	key->owner = hash_owner(job, level);
	sum = egs_hash_u64(key->owner, (uint64_t)level);
	if (level == EGS_PREDICT_STAGE)
		sum = egs_hash_text(sum, job->workload);
	else
		sum = egs_hash_u64(sum, job->gpus);
	if (level == EGS_PREDICT_NAME)
		sum = hash_name(sum, job->name);
	if (level == EGS_PREDICT_PHASE)
		sum = egs_hash_text(sum, job->phase);
	key->key = sum;
	return true;
}

/* ---- table ---- */

static uint32_t *find_chain(struct egs_classes *c, uint64_t key)
{
	return &c->chain[(key ^ key >> 32) % EGS_PREDICT_CLASSES];
}

/* The slot of a key, EGS_PREDICT_CLASSES: none.  The owner is compared too: a
 * user can look for names with the key of another class, but only for his own.
 */
static uint32_t find_slot(const struct egs_classes *c,
			  const struct egs_class_key *key)
{
	uint32_t at =
		c->chain[(key->key ^ key->key >> 32) % EGS_PREDICT_CLASSES];

	while (at && (c->slot[at - 1].key != key->key ||
		      c->owner[at - 1] != key->owner))
		at = c->slot[at - 1].next;
	return at ? at - 1 : EGS_PREDICT_CLASSES;
}

const struct egs_class *egs_classes_find(const struct egs_classes *c,
					 const struct egs_class_key *key)
{
	uint32_t slot = find_slot(c, key);

	return slot < EGS_PREDICT_CLASSES ? &c->slot[slot] : NULL;
}

/* The slot for a new class: the oldest of an owner that has enough, else a free
 * one, else the oldest of all.  A free slot was used at 0.
 */
static uint32_t choose_slot(const struct egs_classes *c, uint64_t owner)
{
	uint32_t oldest = 0, own_oldest = EGS_PREDICT_CLASSES, own = 0;

	for (uint32_t i = 0; i < EGS_PREDICT_CLASSES; i++) {
		if (c->used_at[i] < c->used_at[oldest])
			oldest = i;
		if (c->owner[i] != owner || !c->used_at[i])
			continue;
		own++;
		if (own_oldest == EGS_PREDICT_CLASSES ||
		    c->used_at[i] < c->used_at[own_oldest])
			own_oldest = i;
	}
	return own >= EGS_PREDICT_OWNER_MAX ? own_oldest : oldest;
}

static void forget_class(struct egs_classes *c, uint32_t slot)
{
	uint32_t *link = find_chain(c, c->slot[slot].key);

	while (*link != slot + 1)
		link = &c->slot[*link - 1].next;
	*link = c->slot[slot].next;
}

/* The clock begins again after 2^32 uses: then all classes are as old. */
static void mark_used(struct egs_classes *c, uint32_t slot)
{
	if (++c->clock == 0) {
		for (uint32_t i = 0; i < EGS_PREDICT_CLASSES; i++)
			c->used_at[i] = c->used_at[i] != 0;
		c->clock = 2;
	}
	c->used_at[slot] = c->clock;
}

struct egs_class *egs_classes_use(struct egs_classes *c,
				  const struct egs_class_key *key)
{
	uint32_t slot = find_slot(c, key), *chain;

	if (slot == EGS_PREDICT_CLASSES) {
		slot = choose_slot(c, key->owner);
		if (c->used_at[slot])
			forget_class(c, slot);
		chain = find_chain(c, key->key);
		c->slot[slot] =
			(struct egs_class){ .key = key->key, .next = *chain };
		c->owner[slot] = key->owner;
		*chain = slot + 1;
	}
	mark_used(c, slot);
	return &c->slot[slot];
}
