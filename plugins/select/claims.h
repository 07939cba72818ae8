/* claims.h - reserve freed GPUs for the job they are freed for
 *
 * A claim is made when victims are chosen.  slurmctld has it in memory and
 * sends it to the daemon, which publishes it for slurmctld's next restart.
 * Another job may use a claimed node only if enough is left for the claims of
 * jobs ahead of it.  common/rules/claim.h defines the order.  For a job that
 * the daemon has not decided about, only Slurm's priorities are compared.
 *
 * A claim ends when its job starts, ends, is held or changed, when its node is
 * lost, and some time after the last victim should have exited.  Without the
 * daemon no new claim is made; older claims end as above.
 */
#ifndef EGS_PLUGINS_SELECT_CLAIMS_H
#define EGS_PLUGINS_SELECT_CLAIMS_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Remove nodes that are claimed for other jobs from the test.  The job has
 * details, and the test is not TEST_ONLY.
 */
void egs_select_claims_filter(const struct egs_job_test *test);

/* If a test for a start now chose victims, claim their nodes for the job. */
void egs_select_claims_make(const struct egs_job_test *test);

/* An operator has preempted 'job', which is requeued: claim its nodes for
 * itself.  Else weaker jobs would start there before the daemon has released
 * the job.  Jobs ahead of it ignore the claim.
 */
void egs_select_claims_keep(const job_record_t *job);

/* GPUs that jobs of the team of 'row' claim ahead of 'job', which has that row.
 * 'unpublished': only claims within quota that the table does not show.
 */
uint32_t egs_select_claims_of_team(const job_record_t *job,
				   const struct egs_table_job *row,
				   bool unpublished);

/* End the claims of a job that begins. */
void egs_select_claims_end(const job_record_t *job);

#endif
