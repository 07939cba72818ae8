/* asks_for.c - who may ask the daemon what it would show another user */
#include "t/lib/unit/server_fixture.h"
#include "t/lib/unit/tap.h"

enum { NOBODY = 65533, OTHER = 4711, ITSELF = -2 };

/* Ask 'verb' with 'other' in 'key' as user 'uid'.  Returns the uid that the
 * answer is for, or -1 if the server refuses.
 */
static int64_t ask_as(uid_t uid, const struct egs_endpoint *where,
		      const char *verb, const char *key, int64_t other,
		      struct egs_err *err)
{
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	int64_t seen = -1;

	egs_msg_set_str(request, "verb", verb);
	if (other != ITSELF)
		egs_msg_set_int(request, key, other);
	if (seteuid(uid) < 0)
		note("seteuid %d", (int)uid);
	if (egs_client_call(where, request, &answer, PATIENCE, err) == 0)
		egs_msg_get_int(answer, "uid", &seen);
	if (seteuid(getuid()) < 0)
		exit(1);
	egs_msg_free(request);
	egs_msg_free(answer);
	return seen;
}

static const struct {
	uid_t uid;
	const char *verb, *key;
	int64_t other, seen;
	const char *title;
} rows[] = {
	{ TEST_WEB_USER, "ping", "viewer", OTHER, OTHER,
	  "a client that may ask for others gets the answer of another" },
	{ TEST_WEB_USER, "ping", "viewer", ITSELF, TEST_WEB_USER,
	  "a client that may ask for others is itself otherwise" },
	{ NOBODY, "ping", "viewer", OTHER, -1,
	  "no other client may ask for another" },
	{ 0, "ping", "viewer", OTHER, -1,
	  "root may not ask for another user either" },
	{ TEST_WEB_USER, "ping", "viewer", 0, -1, "nobody may ask for root" },
	{ TEST_WEB_USER, "ping", "viewer", -1, -1,
	  "nobody may ask for a uid below 0" },
	{ TEST_WEB_USER, "ping", "viewer", (int64_t)UINT32_MAX + OTHER, -1,
	  "nobody may ask for a uid that is none" },
	{ NOBODY, "mark", "for", OTHER, NOBODY,
	  "a verb may name a job that it is for" },
	{ TEST_WEB_USER, "mark", "viewer", OTHER, -1,
	  "a verb that is not only for viewers is for the client alone" },
};

int main(void)
{
	struct test_server t = { .pid = -1 };
	struct egs_endpoint where = { .address = t.path };
	struct egs_err err = { "" };

	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can be several users # skip");
		return done_testing();
	}
	test_server_start(&t, 0, PATIENCE, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(ask_as(rows[i].uid, &where, rows[i].verb, rows[i].key,
			      rows[i].other, &err),
		       rows[i].seen, "%s", rows[i].title);
	is_str(err.msg, "you may not ask 'mark' for another user",
	       "the refusal names the verb");
	is_int(test_server_stop(&t), 0, "the server exits with 0");
	return done_testing();
}
