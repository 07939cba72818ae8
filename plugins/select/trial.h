/* trial.h - test a job several times within one call of job_test
 *
 * cons_tres changes its arguments: the nodes, the victims, the job's memory.
 * Each test restores them first.  After the last test they have the values that
 * cons_tres set.
 */
#ifndef EGS_SELECT_TRIAL_H
#define EGS_SELECT_TRIAL_H

#include "plugins/compat/compat.h"

struct egs_trial {
	struct egs_job_test test;
	__typeof__(select_g_job_test) *cons_tres;
	bitstr_t *nodes; /* before the first test, in the caller's scratch */
	uint64_t pn_min_memory, bit_flags;
	int test_count;
};

/* Begin a trial.  The caller stores '*scratch', a bitmap, between calls; it is
 * NULL at first.
 */
void egs_trial_begin(struct egs_trial *a, const struct egs_job_test *test,
		     __typeof__(select_g_job_test) *cons_tres,
		     bitstr_t **scratch);

/* Test with these nodes and candidates.  'now': only for a start now. */
int egs_trial_run(struct egs_trial *a, bitstr_t *nodes, egs_list candidates,
		  bool now);

/* Would the job start now, after a test that returned 'rc'? */
bool egs_trial_can_start(const struct egs_trial *a, int rc);

/* Restore everything as before the first test. */
void egs_trial_undo(struct egs_trial *a);

/* Copy 'from' into the scratch, whatever its size. */
void egs_trial_copy_bits(bitstr_t **scratch, bitstr_t *from);

#endif
