/* grace.h - a job was asked to go, and the daemon knows better by now
 *
 * Nothing of this is in Slurm's API: the daemon updates the job with nothing at
 * all, as SlurmUser, and what is to be done is in the decision table.  Without
 * this plugin such an update does no harm.
 */
#ifndef EGS_JOB_SUBMIT_GRACE_H
#define EGS_JOB_SUBMIT_GRACE_H

#include "plugins/compat/compat.h"

/* Do what the row of 'job' says of its grace, under slurmctld's job write
 * lock: its exit is an end, or it need not go any more and has the time limit
 * back that it had.  The daemon then looks at the job.
 */
void egs_grace_apply(job_record_t *job);

#endif
