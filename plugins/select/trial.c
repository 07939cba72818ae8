/* trial.c - one call of job_test that asks cons_tres more than once */
#include "plugins/select/trial.h"

void egs_copy_bits(bitstr_t **scratch, bitstr_t *from)
{
	if (*scratch && bit_size(*scratch) == bit_size(from)) {
		bit_copybits(*scratch, from);
		return;
	}
	FREE_NULL_BITMAP(*scratch);
	*scratch = bit_copy(from);
}

void egs_attempt_begin(struct egs_attempt *a, const struct egs_job_test *test,
		       __typeof__(select_g_job_test) *cons_tres,
		       bitstr_t **scratch)
{
	egs_copy_bits(scratch, test->nodes);
	*a = (struct egs_attempt){
		.test = *test,
		.cons_tres = cons_tres,
		.nodes = *scratch,
		.memory = test->job->details->pn_min_memory,
		.flags = test->job->bit_flags,
	};
}

void egs_attempt_undo(struct egs_attempt *a)
{
	bit_copybits(a->test.nodes, a->nodes);
	if (a->test.victims && *a->test.victims)
		FREE_NULL_LIST(*a->test.victims);
	a->test.job->details->pn_min_memory = a->memory;
}

int egs_attempt_ask(struct egs_attempt *a, bitstr_t *nodes, egs_list candidates,
		    bool now)
{
	job_record_t *job = a->test.job;
	int rc;

	egs_attempt_undo(a);
	if (nodes != a->nodes)
		bit_copybits(a->test.nodes, nodes);
	a->test.candidates = candidates;
	if (now)
		job->bit_flags |= TEST_NOW_ONLY;
	a->tests++;
	rc = a->cons_tres(EGS_JOB_TEST_OF(&a->test));
	job->bit_flags = (job->bit_flags & ~(uint64_t)TEST_NOW_ONLY) |
			 (a->flags & TEST_NOW_ONLY);
	return rc;
}

bool egs_attempt_agreed(const struct egs_attempt *a, int rc)
{
	return rc == SLURM_SUCCESS && (a->test.mode == SELECT_MODE_RUN_NOW ||
				       a->test.job->start_time <= time(NULL));
}
