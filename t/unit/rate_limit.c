/* rate_limit.c - the tokens of each user, and what others cannot do to them */
#include "policyd/server/rate_limit.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, DAVE = 2004, NOW = 1000000 };

static struct egs_rate_limit *limit;

/* Take tokens until none is left; at most 'most'. */
static uint32_t take_all(uid_t uid, enum egs_rate_kind kind, egs_time_t now,
			 uint32_t most)
{
	uint32_t n = 0;

	while (n < most && egs_rate_limit_take(limit, uid, kind, 1, now))
		n++;
	return n;
}

static void test_tokens(void)
{
	const struct egs_token_rate *rate = &egs_token_rates[EGS_RATE_MESSAGE];

	is_int(take_all(DAVE, EGS_RATE_MESSAGE, NOW, 100000), rate->max,
	       "a user has %u messages after a quiet time", rate->max);
	is_int(take_all(DAVE, EGS_RATE_MESSAGE, NOW + 1, 100000),
	       rate->per_min / 60, "a user has %u messages in each second",
	       rate->per_min / 60);
	is_int(take_all(DAVE, EGS_RATE_MESSAGE, NOW + 86400, 100000), rate->max,
	       "tokens do not grow beyond their limit in a day");
	ok(!egs_rate_limit_take(limit, DAVE, EGS_RATE_MESSAGE, 1, NOW),
	   "a clock that runs backwards returns no tokens");
	ok(egs_rate_limit_take(limit, DAVE, EGS_RATE_READ, 1, NOW),
	   "tokens of another kind are not spent");
	ok(!egs_rate_limit_take(limit, ALICE, EGS_RATE_READ,
				egs_token_rates[EGS_RATE_READ].max + 1, NOW),
	   "a cost above all tokens of a user is refused");
	is_int(take_all(ALICE, EGS_RATE_READ, NOW, 100000),
	       egs_token_rates[EGS_RATE_READ].max,
	       "a refused cost takes no token");
}

/* Less than one token in a second. */
static void test_slow_rate(void)
{
	const struct egs_token_rate *rate = &egs_token_rates[EGS_RATE_REFUSAL];
	uint32_t n = 0;

	take_all(DAVE, EGS_RATE_REFUSAL, NOW, 100000);
	for (int s = 1; s <= 60; s++)
		n += egs_rate_limit_take(limit, DAVE, EGS_RATE_REFUSAL, 1,
					 NOW + s);
	is_int(n, rate->per_min,
	       "a user who asks every second gets all tokens of a minute");
}

static void test_root(void)
{
	is_int(take_all(0, EGS_RATE_MESSAGE, NOW, 100000), 100000,
	       "root has no limit");
	ok(egs_rate_limit_may_retry(limit, 0, 7, 1, NOW),
	   "root may send a message again");
}

/* In the old table a user chose the place of a key. */
static void test_chosen_keys(void)
{
	take_all(DAVE, EGS_RATE_MESSAGE, NOW, 100000);
	for (uint32_t key = 0; key < 100000; key++)
		egs_rate_limit_may_retry(limit, DAVE, key, 5, NOW);
	ok(!egs_rate_limit_take(limit, DAVE, EGS_RATE_MESSAGE, 1, NOW),
	   "a hundred thousand keys of a user return no token");
	egs_rate_limit_may_retry(limit, ALICE, 7, 5, NOW);
	for (uint32_t key = 0; key < 100000; key++)
		egs_rate_limit_may_retry(limit, DAVE, key, 7, NOW);
	ok(!egs_rate_limit_may_retry(limit, ALICE, 7, 7, NOW),
	   "the keys of one user do not replace those of another");
}

static void test_retries(void)
{
	ok(egs_rate_limit_may_retry(limit, ALICE, 99, 10, NOW),
	   "a message may be sent again before a poll");
	ok(egs_rate_limit_may_retry(limit, ALICE, 99, 11, NOW),
	   "a message may be sent again after one poll");
	ok(!egs_rate_limit_may_retry(limit, ALICE, 99, 12, NOW),
	   "a message is final after two polls");
	ok(egs_rate_limit_may_retry(limit, ALICE, 100, 12, NOW),
	   "a message about another job may be sent again");
	ok(egs_rate_limit_may_retry(limit, ALICE, 99, 40, NOW),
	   "a message about the job may be sent again much later");
}

static void test_many_users(void)
{
	uint32_t served = 0;

	egs_rate_limit_free(limit);
	limit = egs_rate_limit_new();
	take_all(DAVE, EGS_RATE_MESSAGE, NOW, 100000);
	for (uid_t uid = 100000; uid < 100000 + 2 * EGS_RATE_UIDS_MAX; uid++)
		served += egs_rate_limit_take(limit, uid, EGS_RATE_MESSAGE, 1,
					      NOW);
	is_int(served, EGS_RATE_UIDS_MAX - 1,
	       "the number of users with missing tokens is bounded");
	ok(!egs_rate_limit_take(limit, DAVE, EGS_RATE_MESSAGE, 1, NOW),
	   "other users do not push out a user without tokens");
	ok(egs_rate_limit_take(limit, 0, EGS_RATE_MESSAGE, 1, NOW),
	   "root is served while the map is full");
	ok(egs_rate_limit_take(limit, ALICE, EGS_RATE_MESSAGE, 1, NOW + 60),
	   "a new user gets the place of one who has all tokens again");
}

int main(void)
{
	plan_none();
	limit = egs_rate_limit_new();
	test_tokens();
	test_slow_rate();
	test_root();
	test_chosen_keys();
	test_retries();
	test_many_users();
	egs_rate_limit_free(limit);
	return done_testing();
}
