/* node_choice.c - nodes a job may have, and those it had better have */
#include <pthread.h>

#include "plugins/select/free_gpus.h"
#include "plugins/select/node_choice.h"
#include "plugins/select/node_marks.h"
#include "plugins/select/slurm_records.h"
#include "plugins/select/trial.h"
#include "plugins/shared/decisions.h"

static struct {
	pthread_mutex_t lock;
	bitstr_t *nodes, *better, *required;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool has(uint32_t set, uint32_t which)
{
	return which < 32 && set & UINT32_C(1) << which;
}

/* Take out what is not of a tier or a phase that does not spill. */
static void stay_home(bitstr_t *nodes, const struct egs_homes *homes,
		      uint32_t which)
{
	if (!has(homes->sets.bound & ~homes->sets.spill, which))
		return;
	if (homes->nodes[which])
		bit_and(nodes, homes->nodes[which]);
	else
		bit_clear_all(nodes);
}

/* Without a row only what is fenced goes. */
static void narrow(const struct egs_job_test *t, const struct egs_marks *marks,
		   const struct egs_table_job *row)
{
	bitstr_t *required = t->job->details->req_node_bitmap;

	if (required) {
		egs_copy_bits(&self.required, t->nodes);
		bit_and(self.required, required);
	}
	if (marks->fenced)
		bit_and_not(t->nodes, marks->fenced);
	if (row) {
		stay_home(t->nodes, &marks->tiers, row->tier);
		stay_home(t->nodes, &marks->phases, row->phase);
	}
	if (required)
		bit_or(t->nodes, self.required);
}

void egs_where_narrow(const struct egs_job_test *test,
		      const struct egs_table_job *row)
{
	const struct egs_marks *marks;

	pthread_mutex_lock(&self.lock);
	marks = egs_marks_now();
	if (marks)
		narrow(test, marks, row);
	pthread_mutex_unlock(&self.lock);
}

void egs_where_narrow_new(const struct egs_job_test *test)
{
	const struct egs_marks *marks;

	pthread_mutex_lock(&self.lock);
	marks = egs_marks_now();
	if (marks && marks->fenced && egs_decide_is_due(test->job))
		narrow(test, marks, NULL);
	pthread_mutex_unlock(&self.lock);
}

/* Keep the nodes of a tier or a phase that spills; false if that is none or
 * all of them.
 */
static bool keep_home(const struct egs_homes *homes, uint32_t which)
{
	int left, before;

	if (!has(homes->sets.bound & homes->sets.spill, which) ||
	    !homes->nodes[which])
		return false;
	before = bit_set_count(self.better);
	left = bit_overlap(self.better, homes->nodes[which]);
	if (!left || left == before)
		return false;
	bit_and(self.better, homes->nodes[which]);
	return true;
}

/* Set the nodes it had better have; false if there are none such. */
static bool find_better(const struct egs_job_test *t,
			const struct egs_table_job *row)
{
	const struct egs_marks *marks = egs_marks_now();
	struct egs_want want;
	bool found = false;

	egs_copy_bits(&self.better, t->nodes);
	if (marks) {
		found = keep_home(&marks->tiers, row->tier);
		found |= keep_home(&marks->phases, row->phase);
	}
	if (egs_record_gpus(t->job, t->min_nodes, &want) && want.need.gpus &&
	    want.need.nodes == 1)
		found |= egs_idle_keep_fullest(self.better, want.type_id,
					       want.need.gpus);
	return found;
}

bool egs_where_prefer(const struct egs_job_test *test,
		      const struct egs_table_job *row,
		      __typeof__(select_g_job_test) *cons_tres, int *rc)
{
	struct egs_attempt a;
	bool done = false;

	if (EGS_JOB_TEST_LATER(test) || test->job->details->req_node_bitmap)
		return false;
	pthread_mutex_lock(&self.lock);
	if (find_better(test, row)) {
		egs_attempt_begin(&a, test, cons_tres, &self.nodes);
		*rc = egs_attempt_ask(&a, self.better, NULL, true);
		done = egs_attempt_agreed(&a, *rc);
		if (!done)
			egs_attempt_undo(&a);
	}
	pthread_mutex_unlock(&self.lock);
	return done;
}
