/* minimal_victims.c - the jobs that have to go for another, and nobody else */
#include <pthread.h>

#include "plugins/select/candidates.h"
#include "plugins/select/minimal_victims.h"
#include "plugins/select/trial.h"

/* Choices of core's that are tried. */
enum { CHOICES = 3 };

/* Slurm calls with its job write lock held, so nobody waits for ours. */
static struct {
	pthread_mutex_t lock;
	struct egs_stage stage;
	bitstr_t *nodes; /* as they came */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int ask_chosen(struct egs_attempt *a)
{
	egs_list copy = list_create(NULL);
	int rc;

	for (uint32_t i = 0; i < self.stage.scene.ncands; i++)
		if (self.stage.scene.cand[i].chosen)
			list_append(copy, self.stage.job[i]);
	rc = egs_attempt_ask(a, a->nodes, copy, true);
	FREE_NULL_LIST(copy);
	return rc;
}

/* Core's choices, one after the other: true if cons_tres agrees to one. */
static bool choose(struct egs_attempt *a, const struct egs_need *need, int *rc)
{
	int n = egs_victims(&self.stage.scene, need);

	for (int i = 0; i < CHOICES && n > 0; i++) {
		*rc = ask_chosen(a);
		if (egs_attempt_agreed(a, *rc))
			return true;
		n = egs_victims_next(&self.stage.scene, need);
	}
	return false;
}

/* Mark on the stage who is a victim now; how many are not on it. */
static int mark(void *item, void *arg)
{
	int *others = arg;

	for (uint32_t i = 0; i < self.stage.scene.ncands; i++) {
		if (self.stage.job[i] != item)
			continue;
		self.stage.scene.cand[i].chosen = true;
		return 0;
	}
	(*others)++;
	return 0;
}

static int mark_victims(const struct egs_attempt *a)
{
	int others = 0;

	for (uint32_t i = 0; i < self.stage.scene.ncands; i++)
		self.stage.scene.cand[i].chosen = false;
	if (a->test.victims && *a->test.victims)
		list_for_each(*a->test.victims, mark, &others);
	return others;
}

static uint32_t count_chosen(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < self.stage.scene.ncands; i++)
		n += self.stage.scene.cand[i].chosen;
	return n;
}

/* All candidates, in the order of preempt/egs.  Those of its victims whom the
 * job can do without stay, the strongest first; the last call is the one that
 * holds.
 */
static int ask_all(struct egs_attempt *a, egs_list candidates)
{
	int rc = egs_attempt_ask(a, a->nodes, candidates, false);
	struct egs_cand *c = NULL;
	bool holds = true;

	if (rc != SLURM_SUCCESS || a->test.mode != SELECT_MODE_RUN_NOW ||
	    mark_victims(a) > 0)
		return rc;
	while (a->tests + 2 <= EGS_EXACT_TESTS && count_chosen() > 1 &&
	       (c = egs_victims_dearest(&self.stage.scene, c))) {
		c->chosen = false;
		holds = ask_chosen(a) == SLURM_SUCCESS;
		if (holds)
			mark_victims(a);
		else
			c->chosen = true;
	}
	return holds ? rc : ask_chosen(a);
}

static int test_exactly(struct egs_attempt *a, egs_list candidates,
			const struct egs_need *need)
{
	int rc = SLURM_ERROR;

	if (choose(a, need, &rc))
		return rc;
	return ask_all(a, candidates);
}

int egs_exact_test(const struct egs_job_test *test,
		   __typeof__(select_g_job_test) *cons_tres)
{
	struct egs_attempt a;
	struct egs_want want;
	int rc;

	if (!test->candidates || EGS_JOB_TEST_LATER(test) ||
	    !list_count(test->candidates) ||
	    !egs_record_want(test->job, test->nodes, test->min_nodes, &want))
		return cons_tres(EGS_JOB_TEST_OF(test));
	pthread_mutex_lock(&self.lock);
	if (egs_stage_set(&self.stage, test->nodes, test->candidates,
			  want.type_id) < 0) {
		rc = cons_tres(EGS_JOB_TEST_OF(test));
	} else {
		egs_attempt_begin(&a, test, cons_tres, &self.nodes);
		rc = test_exactly(&a, test->candidates, &want.need);
	}
	pthread_mutex_unlock(&self.lock);
	return rc;
}
