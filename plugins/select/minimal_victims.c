/* minimal_victims.c - the jobs that have to go for another, and nobody else */
#include <pthread.h>

#include "plugins/select/candidates.h"
#include "plugins/select/minimal_victims.h"
#include "plugins/select/trial.h"

/* Choices of core's that are tried. */
enum { CHOICES_MAX = 3 };

/* Slurm calls with its job write lock held, so nobody waits for ours. */
static struct {
	pthread_mutex_t lock;
	struct egs_candidates stage;
	bitstr_t *nodes; /* as they came */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int test_chosen(struct egs_trial *a)
{
	egs_list copy = list_create(NULL);
	int rc;

	for (uint32_t i = 0; i < self.stage.search.ncandidates; i++)
		if (self.stage.search.candidate[i].chosen)
			list_append(copy, self.stage.job[i]);
	rc = egs_trial_run(a, a->nodes, copy, true);
	FREE_NULL_LIST(copy);
	return rc;
}

/* Core's choices, one after the other: true if cons_tres agrees to one. */
static bool try_choices(struct egs_trial *a, const struct egs_need *need,
			int *rc)
{
	int n = egs_victims_choose(&self.stage.search, need);

	for (int i = 0; i < CHOICES_MAX && n > 0; i++) {
		*rc = test_chosen(a);
		if (egs_trial_can_start(a, *rc))
			return true;
		n = egs_victims_choose_next(&self.stage.search, need);
	}
	return false;
}

/* Mark on the stage who is a victim now; how many are not on it. */
static int mark_victim(void *item, void *arg)
{
	int *others = arg;

	for (uint32_t i = 0; i < self.stage.search.ncandidates; i++) {
		if (self.stage.job[i] != item)
			continue;
		self.stage.search.candidate[i].chosen = true;
		return 0;
	}
	(*others)++;
	return 0;
}

static int mark_victims(const struct egs_trial *a)
{
	int others = 0;

	for (uint32_t i = 0; i < self.stage.search.ncandidates; i++)
		self.stage.search.candidate[i].chosen = false;
	if (a->test.victims && *a->test.victims)
		list_for_each(*a->test.victims, mark_victim, &others);
	return others;
}

static uint32_t count_chosen(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < self.stage.search.ncandidates; i++)
		n += self.stage.search.candidate[i].chosen;
	return n;
}

/* All candidates, in the order of preempt/egs.  Those of its victims whom the
 * job can do without stay, the strongest first; the last call is the one that
 * holds.
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
	       (c = egs_victims_costliest(&self.stage.search, c))) {
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

int egs_minimal_victims_test(const struct egs_job_test *test,
			     __typeof__(select_g_job_test) *cons_tres)
{
	struct egs_trial a;
	struct egs_job_need want;
	int rc;

	if (!test->candidates || EGS_JOB_TEST_IS_FUTURE(test) ||
	    !list_count(test->candidates) ||
	    !egs_slurm_records_need(test->job, test->nodes, test->min_nodes,
				    &want))
		return cons_tres(EGS_JOB_TEST_OF(test));
	pthread_mutex_lock(&self.lock);
	if (egs_candidates_fill(&self.stage, test->nodes, test->candidates,
				want.type_id) < 0) {
		rc = cons_tres(EGS_JOB_TEST_OF(test));
	} else {
		egs_trial_begin(&a, test, cons_tres, &self.nodes);
		rc = test_minimal(&a, test->candidates, &want.need);
	}
	pthread_mutex_unlock(&self.lock);
	return rc;
}
