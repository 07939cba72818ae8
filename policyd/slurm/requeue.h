/* requeue.h - a job that has saved goes back to the queue */
#ifndef EGS_SLURM_REQUEUE_H
#define EGS_SLURM_REQUEUE_H

#include "policyd/slurm/compat.h"

/* Requeue a running job, written as Slurm takes it (12, 12_3); anything else is
 * left alone.  A job in its grace of a Slurm that would then run it once more
 * than it should has SIGTERM sent to all of its processes instead: when it
 * exits Slurm requeues it.  As slurm_requeue2().
 */
int egs_slurm_requeue(char *job, job_array_resp_msg_t **resp);

#endif
