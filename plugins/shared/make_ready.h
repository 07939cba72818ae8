/* make_ready.h - make a job ready for a preemption inside slurmctld
 *
 * job_submit/egs makes a job ready when it is submitted, but changes no job
 * while EGS only observes.  A job that was submitted then, and is preempted
 * after the mode has changed, is made ready at that moment.  Jobs that declared
 * no checkpoint stay as they are.
 */
#ifndef EGS_SHARED_MAKE_READY_H
#define EGS_SHARED_MAKE_READY_H

#include "plugins/compat/compat.h"

/* Slurm is about to signal the job: let it send the signal that the job
 * declared, or a harmless one if the job is told by other means.
 */
void egs_make_ready_signal(job_record_t *job);

/* The job is being requeued: let its next run append to its output, unless the
 * job chose --open-mode itself.
 */
void egs_make_ready_output(job_record_t *job);

#endif
