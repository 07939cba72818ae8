/* rate_limit.c - how much of the daemon's work each user may cause */
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/idmap.h"
#include "policyd/server/rate_limit.h"

enum {
	RETRIES_MAX = 16,
	RETRY_POLLS = 2,
	/* The count restarts after this many polls. */
	EXPIRE_POLLS = 10,
};

const struct egs_token_rate egs_token_rates[EGS_RATE_KINDS] = {
	[EGS_RATE_MESSAGE] = { 1000, 20 * 60 },
	[EGS_RATE_PHASE] = { 600, 2 * 60 },
	[EGS_RATE_YIELD] = { 4000, 20 * 60 },
	[EGS_RATE_STRAY] = { 20, 24 },
	[EGS_RATE_READ] = { 32, 2 * 60 },
	[EGS_RATE_REFUSAL] = { 20, 12 },
	[EGS_RATE_UNCLEAN] = { 10, 6 },
	[EGS_RATE_CRED] = { 2000, 50 * 60 },
};

struct tokens {
	uint32_t spent;
	egs_time_t updated_at;
};

struct retry {
	uint32_t key;
	uint64_t first_poll; /* number of the first poll, + 1; 0: not used */
};

struct user {
	struct tokens tokens[EGS_RATE_KINDS];
	struct retry retry[RETRIES_MAX]; /* a ring */
	uint32_t next_retry;
};

struct egs_rate_limit {
	struct egs_idmap uids;
	struct user *user; /* by slot of 'uids' */
	uint32_t room;
	egs_time_t forgot_at; /* the last call of forget_idle() */
	struct user root;     /* a map has no key 0 */
};

struct egs_rate_limit *egs_rate_limit_new(void)
{
	return calloc(1, sizeof(struct egs_rate_limit));
}

void egs_rate_limit_free(struct egs_rate_limit *limit)
{
	if (!limit)
		return;
	egs_idmap_clear(&limit->uids);
	free(limit->user);
	free(limit);
}

/* Return tokens for the time since the last call.  A part of a token is not
 * lost: its time counts at the next call.
 */
static void regain_tokens(struct tokens *t, const struct egs_token_rate *rate,
			  egs_time_t now)
{
	int64_t regained = (now - t->updated_at) * rate->per_min / 60;

	if (now < t->updated_at || regained >= t->spent) {
		t->spent = now < t->updated_at ? t->spent : 0;
		t->updated_at = now;
	} else if (regained > 0) {
		t->spent -= (uint32_t)regained;
		t->updated_at += regained * 60 / rate->per_min;
	}
}

static bool is_idle(struct user *user, egs_time_t now)
{
	bool idle = true;

	for (int i = 0; i < EGS_RATE_KINDS; i++) {
		regain_tokens(&user->tokens[i], &egs_token_rates[i], now);
		idle &= user->tokens[i].spent == 0;
	}
	return idle;
}

/* A user with all tokens is as good as unknown. */
static void forget_idle(struct egs_rate_limit *limit, egs_time_t now)
{
	if (limit->forgot_at == now)
		return;
	limit->forgot_at = now;
	for (uint32_t i = 0; i < limit->uids.nslots; i++)
		if (limit->uids.id[i] && is_idle(&limit->user[i], now))
			egs_idmap_drop(&limit->uids, limit->uids.id[i]);
}

/* The tokens of a user; NULL if too many users are known. */
static struct user *find_user(struct egs_rate_limit *limit, uid_t uid,
			      egs_time_t now)
{
	uint32_t slot;

	if (uid == 0)
		return &limit->root;
	slot = egs_idmap_find(&limit->uids, uid);
	if (slot != EGS_IDMAP_NONE)
		return &limit->user[slot];
	if (limit->uids.used >= EGS_RATE_UIDS_MAX)
		forget_idle(limit, now);
	if (limit->uids.used >= EGS_RATE_UIDS_MAX)
		return NULL;
	slot = egs_idmap_add(&limit->uids, uid);
	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (egs_grow(&limit->user, &limit->room, slot + 1) < 0) {
		egs_idmap_drop(&limit->uids, uid);
		return NULL;
	}
	limit->user[slot] = (struct user){ .next_retry = 0 };
	return &limit->user[slot];
}

bool egs_rate_limit_take(struct egs_rate_limit *limit, uid_t uid,
			 enum egs_rate_kind kind, uint32_t cost, egs_time_t now)
{
	struct user *user = find_user(limit, uid, now);
	struct tokens *t;

	if (!user || uid == 0)
		return uid == 0;
	t = &user->tokens[kind];
	regain_tokens(t, &egs_token_rates[kind], now);
	if (t->spent + cost > egs_token_rates[kind].max)
		return false;
	t->spent += cost;
	return true;
}

static struct retry *find_retry(struct user *user, uint32_t key)
{
	struct retry *retry;

	for (size_t i = 0; i < RETRIES_MAX; i++)
		if (user->retry[i].first_poll && user->retry[i].key == key)
			return &user->retry[i];
	retry = &user->retry[user->next_retry++ % RETRIES_MAX];
	*retry = (struct retry){ .key = key };
	return retry;
}

bool egs_rate_limit_may_retry(struct egs_rate_limit *limit, uid_t uid,
			      uint32_t key, uint64_t polls, egs_time_t now)
{
	struct user *user = find_user(limit, uid, now);
	struct retry *retry = user ? find_retry(user, key) : NULL;

	if (!retry)
		return false;
	if (!retry->first_poll || polls + 1 > retry->first_poll + EXPIRE_POLLS)
		retry->first_poll = polls + 1;
	return polls + 1 < retry->first_poll + RETRY_POLLS;
}
