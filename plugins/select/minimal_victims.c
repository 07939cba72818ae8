/* minimal_victims.c - preempt as few jobs as necessary */
#include <pthread.h>

#include "plugins/select/candidates.h"
#include "plugins/select/minimal_victims.h"
#include "plugins/select/team_use.h"
#include "plugins/select/trial.h"

/* Choices of common/rules/victims.h that are tried. */
enum { CHOICES_MAX = 3 };

/* slurmctld holds its job write lock, so no thread waits for this lock. */
static struct {
	pthread_mutex_t lock;
	struct egs_candidates candidates;
	bitstr_t *nodes; /* before the first trial */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int test_chosen(struct egs_trial *a)
{
	egs_list copy = list_create(NULL);
	int rc;

	for (uint32_t i = 0; i < self.candidates.search.ncandidates; i++)
		if (self.candidates.search.candidate[i].chosen)
			list_append(copy, self.candidates.job[i]);
	rc = egs_trial_run(a, a->nodes, copy, true);
	FREE_NULL_LIST(copy);
	return rc;
}

/* Try one choice after the other; true if cons_tres accepts one. */
static bool try_choices(struct egs_trial *a, const struct egs_need *need,
			int *rc)
{
	int n = egs_victims_choose(&self.candidates.search, need);

	for (int i = 0; i < CHOICES_MAX && n > 0; i++) {
		*rc = test_chosen(a);
		if (egs_trial_can_start(a, *rc))
			return true;
		n = egs_victims_choose_next(&self.candidates.search, need);
	}
	return false;
}

/* Mark a victim of cons_tres as chosen, or count it as unknown. */
static int mark_victim(void *item, void *arg)
{
	int *unknown = arg;

	for (uint32_t i = 0; i < self.candidates.search.ncandidates; i++) {
		if (self.candidates.job[i] != item)
			continue;
		self.candidates.search.candidate[i].chosen = true;
		return 0;
	}
	(*unknown)++;
	return 0;
}

static int mark_victims(const struct egs_trial *a)
{
	int unknown = 0;

	for (uint32_t i = 0; i < self.candidates.search.ncandidates; i++)
		self.candidates.search.candidate[i].chosen = false;
	if (a->test.victims && *a->test.victims)
		list_for_each(*a->test.victims, mark_victim, &unknown);
	return unknown;
}

static uint32_t count_chosen(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < self.candidates.search.ncandidates; i++)
		n += self.candidates.search.candidate[i].chosen;
	return n;
}

/* Test with all candidates, in the order of preempt/egs.  Then try to remove
 * single victims, the costliest first.  Return the result of the last test.
 */
static int test_all_and_reduce(struct egs_trial *a, egs_list candidates)
{
	int rc = egs_trial_run(a, a->nodes, candidates, false);
	struct egs_candidate *c = NULL;
	bool holds = true;

	if (rc != SLURM_SUCCESS || a->test.mode != SELECT_MODE_RUN_NOW ||
	    mark_victims(a) > 0)
		return rc;
	while (a->test_count + 2 <= EGS_MINIMAL_TESTS_MAX &&
	       count_chosen() > 1 &&
	       (c = egs_victims_costliest(&self.candidates.search, c))) {
		c->chosen = false;
		holds = test_chosen(a) == SLURM_SUCCESS;
		if (holds)
			mark_victims(a);
		else
			c->chosen = true;
	}
	return holds ? rc : test_chosen(a);
}

static int test_minimal(struct egs_trial *a, egs_list candidates,
			const struct egs_need *need)
{
	int rc = SLURM_ERROR;

	if (try_choices(a, need, &rc))
		return rc;
	return test_all_and_reduce(a, candidates);
}

/* The requester as others of its team see it when it starts: with the GPUs that
 * the table does not show yet.
 */
static struct egs_take_view make_requester(const struct egs_job_test *test,
					   const struct egs_table_job *row)
{
	struct egs_take_view view = egs_table_take_view(row);

	if (view.displaces)
		view.gpus += egs_team_use_unpublished(test->job, row);
	return view;
}

int egs_minimal_victims_test(const struct egs_job_test *test,
			     const struct egs_table_job *row,
			     __typeof__(select_g_job_test) *cons_tres)
{
	struct egs_trial a;
	struct egs_job_need want;
	struct egs_take_view requester;
	int rc;

	if (!test->candidates || EGS_JOB_TEST_IS_FUTURE(test) ||
	    !list_count(test->candidates) ||
	    !egs_slurm_records_need(test->job, test->nodes, test->min_nodes,
				    &want))
		return cons_tres(EGS_JOB_TEST_OF(test));
	requester = make_requester(test, row);
	pthread_mutex_lock(&self.lock);
	if (egs_candidates_fill(&self.candidates, test->nodes, test->candidates,
				&requester, want.type_id) < 0) {
		rc = cons_tres(EGS_JOB_TEST_OF(test));
	} else {
		egs_trial_begin(&a, test, cons_tres, &self.nodes);
		rc = test_minimal(&a, test->candidates, &want.need);
	}
	pthread_mutex_unlock(&self.lock);
	return rc;
}
