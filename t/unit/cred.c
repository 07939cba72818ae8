/* cred.c - credentials name their user and are accepted once
 *
 * It runs a munged of its own, and leaves that of the host alone.
 */
#include <munge.h>
#include <string.h>

#include "common/base/array.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/tap.h"

#define AUDIENCE EGS_CRED_AUDIENCE_PREFIX "test"

static void test_round_trip(const struct egs_cred_conf *conf)
{
	static const char text[] = "{\"verb\":\"ping\"}\n and more";
	struct egs_cred cred = { .payload = NULL }, again;
	char *made = NULL, *other = NULL;
	struct egs_err err = { "" };

	is_int(egs_cred_encode(conf, text, strlen(text), &made, &err), 0,
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
	is_int(egs_cred_encode(conf, text, strlen(text), &other, &err), 0,
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
		struct egs_err err = { "" };
		char *made = NULL;

		egs_cred_encode(&other, "x", 1, &made, &err);
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
		"egs1 \n",
		"egs1 " AUDIENCE "\n{}",
		"egs1 " AUDIENCE " 0123456789abcdeg\n{}",
		"egs1 " AUDIENCE " 0123456789abcdef",
		"egs2 " AUDIENCE " 0123456789abcdef\n{}",
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
	made = make(conf, "egs1 " AUDIENCE " 0123456789abcdef\n{}", 60);
	is_int(egs_cred_decode(conf, made, &cred, &err), 0,
	       "a valid payload is accepted");
	ok(cred.id == 0x0123456789abcdefU, "a valid payload has its number");
	egs_cred_clear(&cred);
	free(made);
}

static void test_age(const struct egs_cred_conf *conf)
{
	char *made = make(conf, "egs1 " AUDIENCE " 0123456789abcdef\n{}", 1);
	struct egs_cred cred;
	struct egs_err err;

	sleep(3);
	is_int(egs_cred_decode(conf, made, &cred, &err), EGS_CRED_BAD,
	       "an old credential is refused");
	is_str(err.msg, "Expired credential", "the refusal names the reason");
	free(made);
}

static void test_seen(void)
{
	struct egs_cred_seen *seen = egs_cred_seen_new();
	struct egs_cred cred = { .encoded_at = 1000, .id = 7 };
	struct egs_err err = { "" };
	int rc = 0;

	is_int(egs_cred_seen_add(seen, &cred, 1000, &err), 0,
	       "a new request is accepted");
	is_int(egs_cred_seen_add(seen, &cred, 1060, &err), -1,
	       "a request is refused again within a minute");
	is_str(err.msg, "the request was sent before",
	       "the refusal says that the request was sent before");
	for (cred.id = 100; rc == 0 && cred.id < 20000; cred.id++)
		rc = egs_cred_seen_add(seen, &cred, 1060, &err);
	is_str(err.msg, "more than 16384 requests in a minute",
	       "the number of remembered requests is bounded");
	cred.id = 7;
	cred.encoded_at = 1061;
	is_int(egs_cred_seen_add(seen, &cred, 1061, &err), 0,
	       "requests of the last minutes are forgotten later");
	egs_cred_seen_free(seen);
}

static void test_down(struct test_munged *m, const struct egs_cred_conf *conf)
{
	struct egs_cred cred;
	struct egs_err err = { "" };
	char *made = NULL, *other = NULL;

	egs_cred_encode(conf, "x", 1, &made, &err);
	test_munged_stop(m);
	is_int(egs_cred_encode(conf, "x", 1, &other, &err), EGS_CRED_NO_MUNGED,
	       "without munged encoding fails");
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
