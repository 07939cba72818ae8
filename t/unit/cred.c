/* cred.c - credentials name their user and are accepted once
 *
 * It runs a munged of its own, and leaves that of the host alone.
 */
#include <munge.h>
#include <string.h>

#include "common/base/array.h"
#include "common/ipc/cred_seen.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/tap.h"

#define AUDIENCE EGS_CRED_AUDIENCE_PREFIX "test"

static void test_round_trip(const struct egs_cred_conf *conf)
{
	static const char text[] = "{\"verb\":\"ping\"}\n and more";
	struct egs_cred cred = { .payload = NULL }, again;
	char *made = NULL, *other = NULL;
	uint64_t id;
	struct egs_err err = { "" };

	is_int(egs_cred_encode(conf, text, strlen(text), &made, &id, &err), 0,
	       "a request is encoded %s", err.msg);
	if (!ok(egs_cred_decode(conf, made, &cred, &err) == 0,
		"a credential is decoded: %s", err.msg))
		return;
	is_str(cred.payload, text, "the decoded request is the same");
	is_int((intmax_t)cred.len, (intmax_t)strlen(text),
	       "the decoded request has the same length");
	ok(cred.uid == geteuid() && cred.gid == getegid(),
	   "a credential has user and group");
	ok(cred.encoded_at > time(NULL) - EGS_CRED_TTL_S,
	   "a credential has its time");

	is_int(egs_cred_decode(conf, made, &again, &err), EGS_CRED_BAD,
	       "a credential is refused the second time");
	is_str(err.msg, "Replayed credential", "the refusal names the reason");
	is_int(egs_cred_encode(conf, text, strlen(text), &other, &id, &err), 0,
	       "a request can be encoded a second time");
	ok(strcmp(made, other) != 0,
	   "a second encoding gives another credential");
	other[strlen(other) / 2] ^= 1;
	is_int(egs_cred_decode(conf, other, &again, &err), EGS_CRED_BAD,
	       "a changed credential is refused: %s", err.msg);
	is_int(egs_cred_decode(conf, "MUNGE:xyz:", &again, &err), EGS_CRED_BAD,
	       "a text that is not a credential is refused: %s", err.msg);
	egs_cred_clear(&cred);
	free(made);
	free(other);
}

static void test_audience(const struct egs_cred_conf *conf)
{
	static const char *const others[] = { EGS_CRED_AUDIENCE_PREFIX "tes",
					      EGS_CRED_AUDIENCE_PREFIX "test2",
					      "egs-report:test", "" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct egs_cred_conf other = { conf->munge_socket,
						     others[i] };
		struct egs_cred cred;
		uint64_t id;
		struct egs_err err = { "" };
		char *made = NULL;

		egs_cred_encode(&other, "x", 1, &made, &id, &err);
		is_int(egs_cred_decode(conf, made, &cred, &err), EGS_CRED_BAD,
		       "a request for '%s' is refused", others[i]);
		is_str(err.msg,
		       "the request is meant for another daemon than " AUDIENCE,
		       "the refusal names the reason");
		free(made);
	}
}

/* A credential of any payload. */
static char *make(const struct egs_cred_conf *conf, const char *payload,
		  int ttl)
{
	munge_ctx_t ctx = munge_ctx_create();
	char *made = NULL;

	munge_ctx_set(ctx, MUNGE_OPT_SOCKET, conf->munge_socket);
	munge_ctx_set(ctx, MUNGE_OPT_TTL, ttl);
	if (munge_encode(&made, ctx, payload, (int)strlen(payload)) !=
	    EMUNGE_SUCCESS)
		note("%s", munge_ctx_strerror(ctx));
	munge_ctx_destroy(ctx);
	return made;
}

static void test_payloads(const struct egs_cred_conf *conf)
{
	static const char *const bad[] = {
		"",
		"\n",
		"egs2 \n",
		"egs2 " AUDIENCE "\n{}",
		"egs2 " AUDIENCE " 0123456789abcdeg\n{}",
		"egs2 " AUDIENCE " 0123456789abcdef",
		"egs1 " AUDIENCE " 0123456789abcdef\n{}",
		"{\"verb\":\"ping\"}",
	};
	struct egs_cred cred;
	struct egs_err err;
	char *made;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		made = make(conf, bad[i], 60);
		is_int(egs_cred_decode(conf, made, &cred, &err), EGS_CRED_BAD,
		       "payload %zu is refused: %s", i, err.msg);
		free(made);
	}
	made = make(conf, "egs2 " AUDIENCE " 0123456789abcdef\n{}", 60);
	is_int(egs_cred_decode(conf, made, &cred, &err), 0,
	       "a valid payload is accepted");
	ok(cred.id == 0x0123456789abcdefU, "a valid payload has its number");
	egs_cred_clear(&cred);
	free(made);
}

static void test_age(const struct egs_cred_conf *conf)
{
	char *made = make(conf, "egs2 " AUDIENCE " 0123456789abcdef\n{}", 1);
	struct egs_cred cred;
	struct egs_err err;

	sleep(3);
	is_int(egs_cred_decode(conf, made, &cred, &err), EGS_CRED_BAD,
	       "an old credential is refused");
	is_str(err.msg, "Expired credential", "the refusal names the reason");
	free(made);
}

/* Add requests with new ids until one is refused; at most 'most'. */
static uint32_t add_many(struct egs_cred_seen *seen, struct egs_cred *cred,
			 time_t now, uint32_t most, struct egs_err *err)
{
	uint32_t n = 0;

	for (; n < most; n++, cred->id++)
		if (egs_cred_seen_add(seen, cred, now, err) < 0)
			break;
	return n;
}

static void test_seen(void)
{
	struct egs_cred_seen *seen = egs_cred_seen_new();
	struct egs_cred cred = { .uid = 2004, .id = 7 };
	struct egs_err err = { "" };

	is_int(egs_cred_seen_add(seen, &cred, 1000, &err), 0,
	       "a new request is accepted");
	is_int(egs_cred_seen_add(seen, &cred, 1120, &err), -1,
	       "a request is refused again within two minutes");
	is_str(err.msg, "the request was sent before",
	       "the refusal says that the request was sent before");
	is_int(egs_cred_seen_add(seen, &cred, 1125, &err), -1,
	       "a request of an older generation is refused");
	cred.id = 1000;
	is_int(add_many(seen, &cred, 1125, 10 * EGS_CRED_SEEN_USERS_MAX, &err),
	       EGS_CRED_SEEN_USERS_MAX,
	       "the number of remembered requests is bounded");
	is_str(err.msg, "more than 131072 requests in two minutes",
	       "the refusal names the limit");
	cred.uid = 0;
	is_int(add_many(seen, &cred, 1125, 40000, &err), 40000,
	       "requests of root are accepted while users have no room");
	cred.uid = 2004;
	cred.id = 7;
	is_int(egs_cred_seen_add(seen, &cred, 1000, &err), -1,
	       "a clock that runs backwards forgets no request");
	is_int(egs_cred_seen_add(seen, &cred, 1500, &err), 0,
	       "requests are forgotten later");
	cred.id = 0;
	egs_cred_seen_add(seen, &cred, 1500, &err);
	is_int(egs_cred_seen_add(seen, &cred, 1500, &err), -1,
	       "a request with number 0 is refused the second time");
	egs_cred_seen_free(seen);
}

enum { CHOSEN = 60000 };

/* Add requests with ids that count from bit 'shift' on.  Returns the time of
 * the processor.
 */
static clock_t add_chosen(struct egs_cred_seen *seen, int shift)
{
	struct egs_cred cred = { .uid = 2004 };
	struct egs_err err = { "" };
	clock_t begin = clock();
	int fine = 0;

	for (uint64_t i = 1; i <= CHOSEN; i++) {
		cred.id = i << shift;
		fine += egs_cred_seen_add(seen, &cred, 1000, &err) == 0;
	}
	is_int(fine, CHOSEN, "ids from bit %d on are remembered", shift);
	return clock() - begin;
}

/* Ids that differ only in their high bits, as a client could choose them. */
static void test_chosen_ids(void)
{
	struct egs_cred_seen *seen = egs_cred_seen_new();
	struct egs_cred_seen *other = egs_cred_seen_new();
	struct egs_cred cred = { .uid = 2004 };
	struct egs_err err = { "" };
	clock_t usual = add_chosen(other, 0), chosen = add_chosen(seen, 48);

	ok(chosen < 20 * usual + CLOCKS_PER_SEC / 20,
	   "chosen ids take no more time than others: %ld and %ld",
	   (long)chosen, (long)usual);
	egs_cred_seen_free(other);
	cred.id = UINT64_C(7) << 48;
	is_int(egs_cred_seen_add(seen, &cred, 1000, &err), -1,
	       "a chosen id is refused the second time");
	egs_cred_seen_free(seen);
}

static void test_down(struct test_munged *m, const struct egs_cred_conf *conf)
{
	struct egs_cred cred;
	uint64_t id;
	struct egs_err err = { "" };
	char *made = NULL, *other = NULL;

	egs_cred_encode(conf, "x", 1, &made, &id, &err);
	test_munged_stop(m);
	is_int(egs_cred_encode(conf, "x", 1, &other, &id, &err),
	       EGS_CRED_NO_MUNGED, "without munged encoding fails");
	ok(strncmp(err.msg, "munged does not answer: ", 24) == 0, "%s",
	   err.msg);
	is_int(egs_cred_decode(conf, made, &cred, &err), EGS_CRED_NO_MUNGED,
	       "without munged decoding fails");
	ok(strncmp(err.msg, "munged does not answer: ", 24) == 0, "%s",
	   err.msg);
	if (!ok(test_munged_run(m), "munged runs again"))
		return;
	is_int(egs_cred_decode(conf, made, &cred, &err), 0,
	       "decoding succeeds after a restart of munged");
	egs_cred_clear(&cred);
	free(made);
}

int main(void)
{
	struct test_munged m = { .pid = -1 };
	const struct egs_cred_conf conf = { .munge_socket = m.socket,
					    .audience = AUDIENCE };

	plan_none();
	test_seen();
	test_chosen_ids();
	if (!ok(test_munged_start(&m), "munged runs"))
		return done_testing();
	test_round_trip(&conf);
	test_audience(&conf);
	test_payloads(&conf);
	test_age(&conf);
	test_down(&m, &conf);
	test_munged_end(&m);
	ok(access(m.dir, F_OK) < 0, "the files of munged are removed");
	return done_testing();
}
