/* trial.h - one call of job_test that asks cons_tres more than once
 *
 * A test changes what it is handed: the nodes, the victims, the job's memory.
 * Before each question all of it is as it was at first; after the last one it
 * is as cons_tres left it.
 */
#ifndef EGS_SELECT_TRIAL_H
#define EGS_SELECT_TRIAL_H

#include "plugins/compat/compat.h"

struct egs_trial {
	struct egs_job_test test;
	__typeof__(select_g_job_test) *cons_tres;
	bitstr_t *nodes; /* as they came, borrowed from the caller's scratch */
	uint64_t pn_min_memory, bit_flags;
	int test_count;
};

/* '*scratch' is a bitmap to be kept between calls, NULL at first. */
void egs_trial_begin(struct egs_trial *a, const struct egs_job_test *test,
		     __typeof__(select_g_job_test) *cons_tres,
		     bitstr_t **scratch);

/* Ask with these nodes and candidates.  'now': and nothing about later. */
int egs_trial_run(struct egs_trial *a, bitstr_t *nodes, egs_list candidates,
		  bool now);

/* Would the job start, given what was asked? */
bool egs_trial_can_start(const struct egs_trial *a, int rc);

/* As if nothing had been asked. */
void egs_trial_undo(struct egs_trial *a);

/* Copy 'from' into the scratch, whatever size that had. */
void egs_trial_copy_bits(bitstr_t **scratch, bitstr_t *from);

#endif
