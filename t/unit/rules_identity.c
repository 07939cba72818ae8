/* rules_identity.c - a requeued job is the same, a reused id is another job */
#include "common/base/array.h"
#include "common/rules/identity.h"
#include "t/lib/unit/tap.h"

#define ID(at, ...)                                                   \
	{                                                             \
		.job_id = 7, .uid = 1000, .submit = (at), __VA_ARGS__ \
	}

static const struct {
	const char *title;
	struct egs_identity known, seen;
	bool same;
} cases[] = {
	{ "a job that did not change is the same job", ID(500, .nonce = 9),
	  ID(500, .nonce = 9), true },
	{ "a stamped job with a new submit time is the same job",
	  ID(500, .nonce = 9), ID(600, .nonce = 9, .restarts = 1), true },
	{ "a job with another stamp is another job", ID(500, .nonce = 9),
	  ID(500, .nonce = 8), false },
	{ "another task of an array with the same stamp is another job",
	  ID(500, .nonce = 9, .array_task = 1),
	  ID(500, .nonce = 9, .array_task = 2), false },
	{ "another component of a het job with the same stamp is another job",
	  ID(500, .nonce = 9), ID(500, .nonce = 9, .het_offset = 1), false },
	{ "a job of another user with a copied stamp is another job",
	  ID(500, .nonce = 9),
	  { .nonce = 9, .job_id = 7, .uid = 1001 },
	  false },
	{ "an unstamped job with the same id and user is the same job",
	  ID(500, .nonce = 0), ID(500, .nonce = 0), true },
	{ "an unstamped job with a higher restart count is the same job",
	  ID(500, .nonce = 0), ID(600, .restarts = 1), true },
	{ "a new submit time with the same restart count is a reused id",
	  ID(500, .nonce = 0), ID(600, .nonce = 0), false },
	{ "a lower restart count is a reused id", ID(500, .restarts = 2),
	  ID(600, .nonce = 0), false },
	{ "an unstamped job of another user is a reused id",
	  ID(500, .nonce = 0),
	  { .job_id = 7, .uid = 1001, .submit = 500 },
	  false },
	{ "a job that lost its stamp is the same job", ID(500, .nonce = 9),
	  ID(500, .nonce = 0), true },
	{ "a job without stamp and with a new submit time is a reused id",
	  ID(500, .nonce = 9), ID(600, .nonce = 0), false },
};

int main(void)
{
	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(egs_identity_is_same(&cases[i].known, &cases[i].seen),
		       cases[i].same, "%s", cases[i].title);
	return done_testing();
}
