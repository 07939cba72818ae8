/* dependency.c - the jobs that a pending job depends on, as Slurm writes them
 */
#include "policyd/cluster/dependency.h"
#include "common/base/array.h"
#include "common/rules/identity.h"
#include "t/lib/unit/tap.h"

static const struct {
	const char *text, *title;
	int n; /* dependencies on jobs */
	struct egs_dependency first, last;
} rows[] = {
	{ "afterok:12(unfulfilled)",
	  "afterok needs the success of its job",
	  1,
	  { 12, EGS_NO_TASK, true, false, false },
	  { 12, EGS_NO_TASK, true, false, false } },
	{ "afterany:7(unfulfilled),aftercorr:12_*(unfulfilled)",
	  "afterany needs no success, and aftercorr is by task",
	  2,
	  { 7, EGS_NO_TASK, false, false, false },
	  { 12, EGS_NO_TASK, true, true, false } },
	{ "afterok:12_3(unfulfilled)",
	  "12_3 is a task",
	  1,
	  { 12, 3, true, false, false },
	  { 12, 3, true, false, false } },
	{ "afterok:1(unfulfilled)?afterok:2(unfulfilled)",
	  "a ? makes both dependencies alternatives",
	  2,
	  { 1, EGS_NO_TASK, true, false, true },
	  { 2, EGS_NO_TASK, true, false, true } },
	{ "singleton(unfulfilled),afternotok:9(unfulfilled)",
	  "a dependency without a job is skipped",
	  1,
	  { 9, EGS_NO_TASK, false, false, false },
	  { 9, EGS_NO_TASK, false, false, false } },
	{ "after:5+10(unfulfilled)",
	  "the minutes of after are no task",
	  1,
	  { 5, EGS_NO_TASK, false, false, false },
	  { 5, EGS_NO_TASK, false, false, false } },
	{ "", "an empty text has no dependency", 0, { 0 }, { 0 } },
	{ "afterok:,:,?,afterok:99999999999999999999,afterok:0,x",
	  "what is no job id is skipped",
	  0,
	  { 0 },
	  { 0 } },
};

static bool is_equal(const struct egs_dependency *a,
		     const struct egs_dependency *b)
{
	return a->job_id == b->job_id && a->task == b->task &&
	       a->needs_success == b->needs_success &&
	       a->is_by_task == b->is_by_task &&
	       a->is_alternative == b->is_alternative;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_dependency next, first = { 0 }, last = { 0 };
		const char *text = rows[i].text;
		int n = 0;

		while (egs_dependency_next(&text, &next)) {
			if (!n++)
				first = next;
			last = next;
		}
		ok(n == rows[i].n && (!n || (is_equal(&first, &rows[i].first) &&
					     is_equal(&last, &rows[i].last))),
		   "%s", rows[i].title);
	}
	return done_testing();
}
