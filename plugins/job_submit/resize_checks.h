/* resize_checks.h - whose GPUs may change hands, and at whose word */
#ifndef EGS_JOB_SUBMIT_RESIZE_CHECKS_H
#define EGS_JOB_SUBMIT_RESIZE_CHECKS_H

#include "common/base/err.h"
#include "plugins/compat/compat.h"

/* Its owner and operators; only 22.05 to 22.05's job_modify are called before
 * Slurm has looked at that itself.
 */
bool egs_resize_check_is_allowed(const job_record_t *job, uint32_t uid);

/* Returned with 'err' set: this job's GPUs cannot change while it runs. */
#define EGS_RESIZE_CHECK_NOT_LIVE (-2)

/* Set 'err' to "job N <why>, ..." and return EGS_RESIZE_CHECK_NOT_LIVE. */
int egs_resize_check_refuse(const job_record_t *job, const char *why,
			    struct egs_err *err);

/* Is it a plain running job, all of whose resources slurmctld knows?  If not,
 * EGS_RESIZE_CHECK_NOT_LIVE; -1 with 'err' set if the cluster cannot resize.
 */
int egs_resize_check_job(const job_record_t *job, struct egs_err *err);

/* Is 'helper' there for 'job', of the same user and account, on some or all of
 * its nodes?  'at' gets, for each node of the helper, which of the job it is.
 */
int egs_resize_check_helper(const job_record_t *helper, const job_record_t *job,
			    uint32_t *at, struct egs_err *err);

/* Would both together be over a limit for one job?  Slurm has looked at each
 * of them alone.
 */
int egs_resize_check_limits(const job_record_t *job, const job_record_t *helper,
			    struct egs_err *err);

#endif
