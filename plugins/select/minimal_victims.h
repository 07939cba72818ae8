/* minimal_victims.h - the jobs that have to go for another, and nobody else
 *
 * Stock Slurm preempts every candidate that overlaps a chosen node.  Here
 * core's choice comes first: cons_tres is asked whether the job fits when only
 * these go, and only if it agrees it is so.  Else the next two choices are
 * tried, and at last all candidates, as stock would; then those are spared that
 * the job can do without.
 */
#ifndef EGS_SELECT_MINIMAL_VICTIMS_H
#define EGS_SELECT_MINIMAL_VICTIMS_H

#include "plugins/compat/compat.h"

/* Tests of cons_tres in one call. */
#define EGS_MINIMAL_TESTS_MAX 8

/* job_test of cons_tres with 'test'.  What it returns, and what is left in
 * 'test', is of its last call.
 */
int egs_minimal_victims_test(const struct egs_job_test *test,
			     __typeof__(select_g_job_test) *cons_tres);

#endif
