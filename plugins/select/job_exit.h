/* job_exit.h - a job that was asked to go ends */
#ifndef EGS_SELECT_JOB_EXIT_H
#define EGS_SELECT_JOB_EXIT_H

#include "plugins/compat/compat.h"

/* It gives its nodes back.  One that declared a checkpoint, was asked to go and
 * ends by itself before its time is up has saved and yields: it goes back into
 * the queue as if it had exited with a code of RequeueExit=.  Its exit code
 * does not matter; a job that was cancelled, timed out or said that its work
 * is done has ended.  One that is requeued while it is suspended gets the
 * priority back that Slurm took from it.  A preempted job that is requeued has
 * "departed" in its stamp from then on.  Call with slurmctld's write lock on
 * jobs.
 */
void egs_job_exit_handle(job_record_t *job);

#endif
