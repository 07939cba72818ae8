/* job_exit.h - a job exits after a preemption notice */
#ifndef EGS_SELECT_JOB_EXIT_H
#define EGS_SELECT_JOB_EXIT_H

#include "plugins/compat/compat.h"

/* Handle the end of a job, under slurmctld's job write lock.
 *
 * A job that declared a checkpoint and exits by itself in the grace period has
 * saved and yields: it is requeued, with any exit code.  A job that declared
 * nothing is requeued if SIGTERM has ended it.  A job that was cancelled, timed
 * out or reported that its work is done is not requeued.
 *
 * A job that is requeued while suspended gets its priority back.  A preempted
 * job that is requeued gets "departed" in its stamp.
 *
 * Returns true if an operator preempted the job for no other one, and it is
 * requeued.
 */
bool egs_job_exit_handle(job_record_t *job);

#endif
