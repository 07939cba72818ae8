/* egs.h - what a program says to EGS while it runs in a job of Slurm
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
 * Link with -legs.  Nothing here needs a network, munge or Slurm: all of it
 *goes through files in EGS_RUNDIR, also in a container that has this directory.
 * Where there is no EGS, egs_should_yield() is 0 and the others return -1: a
 * program need not look.
 *
 * What returns an int returns 0, or -1 with the reason in egs_last_error().  A
 * call that says something waits for its answer, 10 seconds at most, and may be
 * made by one thread at a time.
 */
#ifndef EGS_H
#define EGS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Is the job asked to save and go?  Costs a look into memory, so call it in
 * every step; any thread may.
 */
int egs_should_yield(void);

/* What is asked: the number of the request, 0 if there is none.  'kind' is
 * EGS_YIELD or EGS_SHRINK, 'gpus' how many are to be kept, 'deadline' in
 * seconds since the epoch; each may be NULL.
 */
#define EGS_YIELD  1
#define EGS_SHRINK 2
uint32_t egs_request(int *kind, uint32_t *gpus, int64_t *deadline);

/* Wait until there is a request, 'timeout_s' at most, forever if that is below
 * 0.  1: there is one; 0: the time is over; -1: there is no EGS.
 */
int egs_wait_request(int timeout_s);

/* A checkpoint is complete.  'path' may be NULL; a 'step' below 0 is none.
 * This is a report and never ends anything.
 */
int egs_saved(const char *path, int64_t step);

/* All of the job has saved: take its GPUs now.  With --egs=acks=N it is said
 * by N ranks, each for itself.  Refused if nothing was asked.
 */
int egs_yield(const char *path);

/* The work is done: an exit is the end, also after a request. */
int egs_finished(void);

/* How much is done, from 0 to 1. */
int egs_progress(double done);

/* The job enters another phase: train, infer, ... */
int egs_phase(const char *phase);

/* Why the last call failed, one sentence. */
const char *egs_last_error(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
