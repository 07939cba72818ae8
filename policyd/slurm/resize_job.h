/* resize_job.h - a running job gets another number of GPUs; for the worker only
 *
 * Fewer are given back at once.  More are asked for by a helper, a job of the
 * same user and account on the same nodes, named egs-grow:JOBID and with
 * helper=JOBID in its stamp, which queues like any other; when it runs, what it
 * holds is transferred and it ends.
 * Nothing is remembered: Slurm shows how far it is, each call goes one step,
 * and calling again after a crash does no harm.
 *
 * Where that cannot be, a job gets another number when it runs again: while it
 * still runs, next= of its stamp says which, and back in the queue it asks for
 * that.
 */
#ifndef EGS_SLURM_RESIZE_JOB_H
#define EGS_SLURM_RESIZE_JOB_H

#include "common/base/err.h"
#include "policyd/slurm/compat.h"
#include "policyd/slurm/worker.h"

/* Room for the variables of a job. */
#define EGS_RESIZE_TEXT_MAX 2048

/* Go one step.  'text' is the sentence of a refusal or of what it waits for;
 * when it is done, the variables that changed, "NAME=VALUE\n" each, with a '?'
 * in front of those that count only where they are set.
 */
enum egs_resize_outcome
egs_slurm_resize_job(const struct egs_resize_params *ask,
		     char text[EGS_RESIZE_TEXT_MAX]);

#endif
