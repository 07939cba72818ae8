/* resize_job.h - change the number of GPUs of a running job; for the worker
 * only
 *
 * A shrinking job gives GPUs back at once.  For a growing job a helper job is
 * submitted: a job of the same user and account on the same nodes, named
 * egs-grow:JOBID and with helper=JOBID in its stamp.  The helper job waits in
 * the queue like any other job.  When it runs, its GPUs are transferred, and it
 * ends.  The worker stores no state: Slurm shows the progress, and each call
 * takes one step.  A call after a crash does no harm.
 *
 * A job that cannot be resized live gets another size at its next run.  While
 * it runs, next= of its stamp has the number; when it is requeued, its request
 * is changed.
 */
#ifndef EGS_SLURM_RESIZE_JOB_H
#define EGS_SLURM_RESIZE_JOB_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"
#include "policyd/slurm/worker.h"

/* Room for the environment variables of a job. */
#define EGS_RESIZE_TEXT_MAX 2048

/* Take one step.  'text' becomes the reason of a refusal or of a wait.  With
 * EGS_RESIZE_DONE it becomes the variables that changed, "NAME=VALUE\n" each; a
 * '?' in front means: only if the variable is set in the job.
 */
enum egs_resize_outcome
egs_slurm_resize_job(const struct egs_resize_params *params,
		     char text[EGS_RESIZE_TEXT_MAX]);

#endif
