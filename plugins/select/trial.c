/* trial.c - test a job several times within one call of job_test */
#include "plugins/select/trial.h"

void egs_trial_copy_bits(bitstr_t **scratch, bitstr_t *from)
{
	if (*scratch && bit_size(*scratch) == bit_size(from)) {
		bit_copybits(*scratch, from);
		return;
	}
	FREE_NULL_BITMAP(*scratch);
	*scratch = bit_copy(from);
}

void egs_trial_begin(struct egs_trial *a, const struct egs_job_test *test,
		     __typeof__(select_g_job_test) *cons_tres,
		     bitstr_t **scratch)
{
	egs_trial_copy_bits(scratch, test->nodes);
	*a = (struct egs_trial){
		.test = *test,
		.cons_tres = cons_tres,
		.nodes = *scratch,
		.pn_min_memory = test->job->details->pn_min_memory,
		.bit_flags = test->job->bit_flags,
	};
}

void egs_trial_undo(struct egs_trial *a)
{
	bit_copybits(a->test.nodes, a->nodes);
	if (a->test.victims && *a->test.victims)
		FREE_NULL_LIST(*a->test.victims);
	a->test.job->details->pn_min_memory = a->pn_min_memory;
}

int egs_trial_run(struct egs_trial *a, bitstr_t *nodes, egs_list candidates,
		  bool now)
{
	job_record_t *job = a->test.job;
	int rc;

	egs_trial_undo(a);
	if (nodes != a->nodes)
		bit_copybits(a->test.nodes, nodes);
	a->test.candidates = candidates;
	if (now)
		job->bit_flags |= TEST_NOW_ONLY;
	a->test_count++;
	rc = a->cons_tres(EGS_JOB_TEST_OF(&a->test));
	job->bit_flags = (job->bit_flags & ~(uint64_t)TEST_NOW_ONLY) |
			 (a->bit_flags & TEST_NOW_ONLY);
	return rc;
}

bool egs_trial_can_start(const struct egs_trial *a, int rc)
{
	return rc == SLURM_SUCCESS && (a->test.mode == SELECT_MODE_RUN_NOW ||
				       a->test.job->start_time <= time(NULL));
}
