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

static bool has_bit(uint32_t set, uint32_t which)
{
	return which < 32 && set & UINT32_C(1) << which;
}

/* Take out what is not of a tier or a phase that does not spill. */
static void restrict_to_set(bitstr_t *nodes, const struct egs_node_sets *homes,
			    uint32_t which)
{
	if (!has_bit(homes->sets.has_nodes & ~homes->sets.may_spill, which))
		return;
	if (homes->nodes[which])
		bit_and(nodes, homes->nodes[which]);
	else
		bit_clear_all(nodes);
}

/* Without a row only what is fenced goes. */
static void filter_nodes(const struct egs_job_test *t,
			 const struct egs_node_marks *marks,
			 const struct egs_table_job *row)
{
	bitstr_t *required = t->job->details->req_node_bitmap;

	if (required) {
		egs_trial_copy_bits(&self.required, t->nodes);
		bit_and(self.required, required);
	}
	if (marks->fenced)
		bit_and_not(t->nodes, marks->fenced);
	if (row) {
		restrict_to_set(t->nodes, &marks->tiers, row->tier);
		restrict_to_set(t->nodes, &marks->phases, row->phase);
	}
	if (required)
		bit_or(t->nodes, self.required);
}

void egs_node_choice_filter(const struct egs_job_test *test,
			    const struct egs_table_job *row)
{
	const struct egs_node_marks *marks;

	pthread_mutex_lock(&self.lock);
	marks = egs_node_marks_get();
	if (marks)
		filter_nodes(test, marks, row);
	pthread_mutex_unlock(&self.lock);
}

void egs_node_choice_filter_new(const struct egs_job_test *test)
{
	const struct egs_node_marks *marks;

	pthread_mutex_lock(&self.lock);
	marks = egs_node_marks_get();
	if (marks && marks->fenced && egs_decision_is_pending(test->job))
		filter_nodes(test, marks, NULL);
	pthread_mutex_unlock(&self.lock);
}

/* Keep the nodes of a tier or a phase that spills; false if that is none or
 * all of them.
 */
static bool prefer_set(const struct egs_node_sets *homes, uint32_t which)
{
	int left, before;

	if (!has_bit(homes->sets.has_nodes & homes->sets.may_spill, which) ||
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
static bool find_preferred(const struct egs_job_test *t,
			   const struct egs_table_job *row)
{
	const struct egs_node_marks *marks = egs_node_marks_get();
	struct egs_job_need want;
	bool found = false;

	egs_trial_copy_bits(&self.better, t->nodes);
	if (marks) {
		found = prefer_set(&marks->tiers, row->tier);
		found |= prefer_set(&marks->phases, row->phase);
	}
	if (egs_slurm_records_gpu_need(t->job, t->min_nodes, &want) &&
	    want.need.gpus && want.need.nodes == 1)
		found |= egs_free_gpus_best_fit(self.better, want.type_id,
						want.need.gpus);
	return found;
}

bool egs_node_choice_prefer(const struct egs_job_test *test,
			    const struct egs_table_job *row,
			    __typeof__(select_g_job_test) *cons_tres, int *rc)
{
	struct egs_trial a;
	bool done = false;

	if (EGS_JOB_TEST_IS_FUTURE(test) || test->job->details->req_node_bitmap)
		return false;
	pthread_mutex_lock(&self.lock);
	if (find_preferred(test, row)) {
		egs_trial_begin(&a, test, cons_tres, &self.nodes);
		*rc = egs_trial_run(&a, self.better, NULL, true);
		done = egs_trial_can_start(&a, *rc);
		if (!done)
			egs_trial_undo(&a);
	}
	pthread_mutex_unlock(&self.lock);
	return done;
}
