/* minimal_victims.h - preempt as few jobs as necessary
 *
 * Stock Slurm preempts every candidate that overlaps a chosen node.  EGS first
 * chooses victims by common/rules/victims.h and tests whether the job fits in
 * cons_tres if only these are preempted.  If not, EGS tries the next two
 * choices, and at last all candidates, like stock Slurm.  Then it removes
 * victims that are not needed.
 */
#ifndef EGS_SELECT_MINIMAL_VICTIMS_H
#define EGS_SELECT_MINIMAL_VICTIMS_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Most tests of cons_tres in one call. */
#define EGS_MINIMAL_TESTS_MAX 8

/* Run 'test' with minimal victims for the job, which has 'row'.  The return
 * value and the changes in 'test' are those of the last call of cons_tres.
 */
int egs_minimal_victims_test(const struct egs_job_test *test,
			     const struct egs_table_job *row,
			     __typeof__(select_g_job_test) *cons_tres);

#endif
