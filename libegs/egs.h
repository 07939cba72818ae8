/* egs.h - messages of a program to EGS, while it runs in a job of Slurm
 *
 *	for (step = first; step < last; step++) {
 *		train(step);
 *		if (step % 1000 == 0 && save(path) == 0)
 *			egs_saved(path, step);
 *		if (egs_should_yield() && save(path) == 0)
 *			return egs_yield(path);
 *	}
 *	egs_finished();
 *
 * Link with -legs.  No function needs a network, munge or Slurm: they use files
 * in EGS_RUNDIR, also in a container that has this directory.  On a cluster
 * without EGS, egs_should_yield() and egs_request() return 0.  The functions
 * that wait or send a message return -1.  So a program runs there unchanged.
 *
 * Functions that send a message return 0, or -1 with the reason in
 * egs_last_error().  They wait up to 10 seconds for the answer.  Only one
 * thread at a time may call them.
 */
#ifndef EGS_H
#define EGS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Is the job preempted, so that it should save and yield?  The call only reads
 * memory, so a program can call it in every training step, from any thread.
 */
int egs_should_yield(void);

/* The number of the preemption notice, 0: none.  'kind' is EGS_YIELD or
 * EGS_SHRINK, 'gpus' the number of GPUs to keep, 'deadline' in seconds since
 * the epoch; each may be NULL.
 */
#define EGS_YIELD  1
#define EGS_SHRINK 2
uint32_t egs_request(int *kind, uint32_t *gpus, int64_t *deadline);

/* Wait for a preemption notice, 'timeout_s' at most; below 0: forever.  Returns
 * 1: there is a notice; 0: the time is over; -1: there is no EGS.
 */
int egs_wait_request(int timeout_s);

/* Report that a checkpoint is complete.  'path' may be NULL, 'step' below 0.
 * The job keeps its GPUs.
 */
int egs_saved(const char *path, int64_t step);

/* Yield: the whole job has saved, and its GPUs can be taken now.  With
 * --egs=acks=N each of N ranks calls it.  EGS refuses the call without a
 * preemption notice.
 */
int egs_yield(const char *path);

/* Report that the work is done.  The job is not requeued when it exits, even
 * after a preemption notice.
 */
int egs_finished(void);

/* Report how much of the work is done, from 0 to 1. */
int egs_progress(double done);

/* Enter another phase: train, infer, ...  This does not wait for GPUs. */
int egs_phase(const char *phase);

/* Why the last call failed, as one sentence. */
const char *egs_last_error(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
