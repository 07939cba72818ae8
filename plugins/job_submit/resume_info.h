/* resume_info.h - what a job is told when it runs again, on its way through
 * Slurm */
#ifndef EGS_JOB_SUBMIT_RESUME_INFO_H
#define EGS_JOB_SUBMIT_RESUME_INFO_H

#include "plugins/compat/compat.h"

/* Take the variable of common/hint/resume_info.h from an update into the
 * environment that Slurm adds to the job's own when it starts; one that is
 * there already is replaced.  Whoever calls has made sure that the update is
 * the daemon's.
 */
void egs_update_resume_info(const job_desc_msg_t *desc, job_record_t *job);

#endif
