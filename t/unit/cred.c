/* cred.c - credentials: who asks is known, for whom, and once
 *
 * With a munged of its own: nothing of the host's MUNGE is touched.
 */
#include <munge.h>
#include <string.h>

#include "common/base/array.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/tap.h"

#define AUDIENCE EGS_CRED_AUDIENCE_PREFIX "test"

static void test_way(const struct egs_cred_conf *way)
{
	static const char text[] = "{\"verb\":\"ping\"}\n and more";
	struct egs_cred cred = { .payload = NULL }, again;
	char *made = NULL, *other = NULL;
	struct egs_err err = { "" };

	is_int(egs_cred_encode(way, text, strlen(text), &made, &err), 0,
	       "a request becomes a credential %s", err.msg);
	if (!ok(egs_cred_decode(way, made, &cred, &err) == 0,
		"and that a request: %s", err.msg))
		return;
	is_str(cred.payload, text, "the same");
	is_int((intmax_t)cred.len, (intmax_t)strlen(text), "to its last byte");
	ok(cred.uid == geteuid() && cred.gid == getegid(),
	   "it is known who asks");
	ok(cred.encoded_at > time(NULL) - EGS_CRED_TTL_S, "and when");

	is_int(egs_cred_decode(way, made, &again, &err), EGS_CRED_BAD,
	       "a second time it is refused");
	is_str(err.msg, "Replayed credential", "as such");
	is_int(egs_cred_encode(way, text, strlen(text), &other, &err), 0,
	       "the same request may be made again");
	ok(strcmp(made, other) != 0, "as another credential");
	other[strlen(other) / 2] ^= 1;
	is_int(egs_cred_decode(way, other, &again, &err), EGS_CRED_BAD,
	       "one that was changed is refused: %s", err.msg);
	is_int(egs_cred_decode(way, "MUNGE:xyz:", &again, &err), EGS_CRED_BAD,
	       "and what is none: %s", err.msg);
	egs_cred_clear(&cred);
	free(made);
	free(other);
}

static void test_audience(const struct egs_cred_conf *way)
{
	static const char *const others[] = { EGS_CRED_AUDIENCE_PREFIX "tes",
					      EGS_CRED_AUDIENCE_PREFIX "test2",
					      "egs-report:test", "" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct egs_cred_conf other = { way->munge_socket,
						     others[i] };
		struct egs_cred cred;
		struct egs_err err = { "" };
		char *made = NULL;

		egs_cred_encode(&other, "x", 1, &made, &err);
		is_int(egs_cred_decode(way, made, &cred, &err), EGS_CRED_BAD,
		       "a request for '%s' is refused", others[i]);
		is_str(err.msg,
		       "the request is meant for another daemon than " AUDIENCE,
		       "as such");
		free(made);
	}
}

/* A credential of any payload. */
static char *make(const struct egs_cred_conf *way, const char *payload, int ttl)
{
	munge_ctx_t ctx = munge_ctx_create();
	char *made = NULL;

	munge_ctx_set(ctx, MUNGE_OPT_SOCKET, way->munge_socket);
	munge_ctx_set(ctx, MUNGE_OPT_TTL, ttl);
	if (munge_encode(&made, ctx, payload, (int)strlen(payload)) !=
	    EMUNGE_SUCCESS)
		note("%s", munge_ctx_strerror(ctx));
	munge_ctx_destroy(ctx);
	return made;
}

static void test_payloads(const struct egs_cred_conf *way)
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
		made = make(way, bad[i], 60);
		is_int(egs_cred_decode(way, made, &cred, &err), EGS_CRED_BAD,
		       "payload %zu is no request: %s", i, err.msg);
		free(made);
	}
	made = make(way, "egs1 " AUDIENCE " 0123456789abcdef\n{}", 60);
	is_int(egs_cred_decode(way, made, &cred, &err), 0, "but this is one");
	ok(cred.id == 0x0123456789abcdefU, "with its number");
	egs_cred_clear(&cred);
	free(made);
}

static void test_age(const struct egs_cred_conf *way)
{
	char *made = make(way, "egs1 " AUDIENCE " 0123456789abcdef\n{}", 1);
	struct egs_cred cred;
	struct egs_err err;

	sleep(3);
	is_int(egs_cred_decode(way, made, &cred, &err), EGS_CRED_BAD,
	       "an old credential is refused");
	is_str(err.msg, "Expired credential", "as such");
	free(made);
}

static void test_seen(void)
{
	struct egs_cred_seen *seen = egs_cred_seen_new();
	struct egs_cred cred = { .encoded_at = 1000, .id = 7 };
	struct egs_err err = { "" };
	int rc = 0;

	is_int(egs_cred_seen_add(seen, &cred, 1000, &err), 0,
	       "a request is noted");
	is_int(egs_cred_seen_add(seen, &cred, 1060, &err), -1,
	       "and known for a minute");
	is_str(err.msg, "the request was sent before", "whatever munged says");
	for (cred.id = 100; rc == 0 && cred.id < 20000; cred.id++)
		rc = egs_cred_seen_add(seen, &cred, 1060, &err);
	is_str(err.msg, "more than 16384 requests in a minute",
	       "their number is bounded");
	cred.id = 7;
	cred.encoded_at = 1061;
	is_int(egs_cred_seen_add(seen, &cred, 1061, &err), 0,
	       "later none of them is kept");
	egs_cred_seen_free(seen);
}

static void test_down(struct test_munged *m, const struct egs_cred_conf *way)
{
	struct egs_cred cred;
	struct egs_err err = { "" };
	char *made = NULL, *other = NULL;

	egs_cred_encode(way, "x", 1, &made, &err);
	test_munged_stop(m);
	is_int(egs_cred_encode(way, "x", 1, &other, &err), EGS_CRED_NO_MUNGED,
	       "without munged there are no credentials");
	ok(strncmp(err.msg, "munged does not answer: ", 24) == 0, "%s",
	   err.msg);
	is_int(egs_cred_decode(way, made, &cred, &err), EGS_CRED_NO_MUNGED,
	       "and none can be read");
	ok(strncmp(err.msg, "munged does not answer: ", 24) == 0, "%s",
	   err.msg);
	if (!ok(test_munged_run(m), "it comes back"))
		return;
	is_int(egs_cred_decode(way, made, &cred, &err), 0,
	       "and all is well again");
	egs_cred_clear(&cred);
	free(made);
}

int main(void)
{
	struct test_munged m = { .pid = -1 };
	const struct egs_cred_conf way = { .munge_socket = m.socket,
					   .audience = AUDIENCE };

	plan_none();
	test_seen();
	if (!ok(test_munged_start(&m), "munged runs"))
		return done_testing();
	test_way(&way);
	test_audience(&way);
	test_payloads(&way);
	test_age(&way);
	test_down(&m, &way);
	test_munged_end(&m);
	ok(access(m.dir, F_OK) < 0, "nothing is left");
	return done_testing();
}
