/* team_use.h - GPUs of a team that the decision table does not show yet
 *
 * Slurm starts many jobs between two publications: all tasks of an array in one
 * pass, for example.  The row of a pending job has the room that limits of its
 * team leave.  Here the GPUs are counted that jobs of the team have got since,
 * and those that Slurm is about to give this job: its row may be older than its
 * last update, and a job may get more than it requests (-N1-4, --exclusive).
 * The count is made from Slurm's own records, so it is exact after a restart of
 * slurmctld, too.
 */
#ifndef EGS_SELECT_TEAM_USE_H
#define EGS_SELECT_TEAM_USE_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* A job got or released GPUs: count again. */
void egs_team_use_invalidate(void);

/* Do the limits of its team leave room for the pending job now?  Claims of jobs
 * of the team that are ahead of it count as used.
 */
bool egs_team_use_has_room(const job_record_t *job,
			   const struct egs_table_job *row);

/* Do they leave room for the GPUs that the test has selected?  True if it has
 * selected none yet.
 */
bool egs_team_use_allows(const struct egs_job_test *test,
			 const struct egs_table_job *row);

/* GPUs that jobs of the team use or claim within quota ahead of the pending
 * job, and that the table does not show.
 */
uint32_t egs_team_use_unpublished(const job_record_t *job,
				  const struct egs_table_job *row);

#endif
