/* resize_checks.h - which jobs can be resized, and by whom */
#ifndef EGS_JOB_SUBMIT_RESIZE_CHECKS_H
#define EGS_JOB_SUBMIT_RESIZE_CHECKS_H

#include "common/base/err.h"
#include "plugins/compat/compat.h"

/* May 'uid' resize the job by an update?  Operators, root and egs-policyd may.
 * slurmctld does not know which GPUs the processes of a batch script have open,
 * so the owner goes the way of 'egs phase'.  On 22.05 slurmctld calls
 * job_modify() before it checks permissions itself.
 */
int egs_resize_check_sender(const job_record_t *job, uint32_t uid,
			    struct egs_err *err);

/* Returned with 'err' set: this job's GPUs cannot change while it runs. */
#define EGS_RESIZE_CHECK_NOT_LIVE (-2)

/* Likewise: not now, because slurmdbd has not stored the job's record yet. */
#define EGS_RESIZE_CHECK_NOT_READY (-3)

/* Set 'err' to "job N <why> ..." and return EGS_RESIZE_CHECK_NOT_LIVE. */
int egs_resize_check_refuse(const job_record_t *job, const char *why,
			    struct egs_err *err);

/* Check that the job is a plain running job whose resources slurmctld knows.
 * Returns 0, EGS_RESIZE_CHECK_NOT_LIVE, or -1 with 'err' set if the cluster
 * cannot resize jobs.
 */
int egs_resize_check_job(const job_record_t *job, struct egs_err *err);

/* Check that slurmdbd can record another size of the job.  Returns 0 or
 * EGS_RESIZE_CHECK_NOT_READY with 'err' set.
 */
int egs_resize_check_record(const job_record_t *job, struct egs_err *err);

/* Check that 'helper' is a helper job of 'job', with the same user and account,
 * on some or all of its nodes.  Node m of the helper job is node at[m] of the
 * job.
 */
int egs_resize_check_helper(const job_record_t *helper, const job_record_t *job,
			    uint32_t *at, struct egs_err *err);

/* Check that both jobs together are within the limits for one job.  Slurm has
 * checked each of them alone.
 */
int egs_resize_check_limits(const job_record_t *job, const job_record_t *helper,
			    struct egs_err *err);

#endif
