/* defer.h - a job beyond a limit of its team waits outside of the queue
 *
 * One that select/egs only refuses a start would block the queue behind it:
 * Slurm leaves its partition alone from there on.  So the daemon updates such
 * jobs, with nothing at all, and this plugin lets them begin a little later;
 * Slurm passes them by until then (Reason=BeginTime).  It is renewed while it
 * is so, and over by itself where the daemon is not there any more.
 */
#ifndef EGS_JOB_SUBMIT_DEFER_H
#define EGS_JOB_SUBMIT_DEFER_H

#include "plugins/compat/compat.h"

/* Do so with 'job', whose row says what is to be, and now and then with all
 * others whose rows say so.  Under slurmctld's job write lock.
 */
void egs_defer_job(job_record_t *job);

#endif
