/* claims.h - what is freed for a job stays for that job
 *
 * A claim is made when victims are chosen, and kept in slurmctld's memory; the
 * daemon is told, so that slurmctld has it again after a restart.  Another job
 * may use a claimed node only if what is left there covers the claims of jobs
 * ahead of it.  The order is that of core/claim.h; a job the daemon decided
 * nothing about is ahead if Slurm's priority says so.
 *
 * A claim ends when its job starts, ends, is held or changed, when its node is
 * no longer there, and some time after the last victim should have left.  While
 * the daemon is away there are none: the cluster is stock Slurm.
 */
#ifndef EGS_PLUGINS_SELECT_CLAIMS_H
#define EGS_PLUGINS_SELECT_CLAIMS_H

#include "plugins/compat/compat.h"

/* Take the nodes out of the test that are kept for others; the job has details,
 * and it is no test of whether it could ever run.
 */
void egs_select_claims_filter(const struct egs_job_test *test);

/* A test of whether it starts now may have found victims: keep what they leave
 * on its nodes.
 */
void egs_select_claims_make(const struct egs_job_test *test);

/* The job begins. */
void egs_select_claims_end(const job_record_t *job);

#endif
