/* rules_identity.c - a requeued job stays itself, a reused id is another job */
#include "common/base/array.h"
#include "common/rules/identity.h"
#include "t/lib/unit/tap.h"

#define ID(at, ...)                                                   \
	{                                                             \
		.job_id = 7, .uid = 1000, .submit = (at), __VA_ARGS__ \
	}

static const struct {
	const char *says;
	struct egs_identity known, seen;
	bool same;
} cases[] = {
	{ "nothing changed", ID(500, .nonce = 9), ID(500, .nonce = 9), true },
	{ "a requeue rewrites the submit time", ID(500, .nonce = 9),
	  ID(600, .nonce = 9, .restarts = 1), true },
	{ "another stamp is another job", ID(500, .nonce = 9),
	  ID(500, .nonce = 8), false },
	{ "the tasks of an array share a stamp",
	  ID(500, .nonce = 9, .array_task = 1),
	  ID(500, .nonce = 9, .array_task = 2), false },
	{ "so do the parts of a het job", ID(500, .nonce = 9),
	  ID(500, .nonce = 9, .het_offset = 1), false },
	{ "a copied stamp does not make a job somebody's",
	  ID(500, .nonce = 9),
	  { .nonce = 9, .job_id = 7, .uid = 1001 },
	  false },
	{ "without a stamp the id and the user count", ID(500, .nonce = 0),
	  ID(500, .nonce = 0), true },
	{ "a requeued one has a higher count", ID(500, .nonce = 0),
	  ID(600, .restarts = 1), true },
	{ "a new submit time at the same count is a reused id",
	  ID(500, .nonce = 0), ID(600, .nonce = 0), false },
	{ "a count that falls is a reused id", ID(500, .restarts = 2),
	  ID(600, .nonce = 0), false },
	{ "another user's is a reused id",
	  ID(500, .nonce = 0),
	  { .job_id = 7, .uid = 1001, .submit = 500 },
	  false },
	{ "a stamp an admin wiped off does not end a job", ID(500, .nonce = 9),
	  ID(500, .nonce = 0), true },
	{ "but hides no reused id", ID(500, .nonce = 9), ID(600, .nonce = 0),
	  false },
};

int main(void)
{
	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(egs_identity_is_same(&cases[i].known, &cases[i].seen),
		       cases[i].same, "%s", cases[i].says);
	return done_testing();
}
