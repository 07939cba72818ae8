/* resize_request.h - read a resize request from an update of a running job
 *
 * A user or an operator sends `scontrol update JobId=N Gres=gpu:K`: the job
 * keeps K GPUs on each node.  egs-policyd, as SlurmUser or root, sends a resize
 * command in AdminComment (common/hint/stamp.h), which slurmctld accepts from
 * operators only and which is not stored.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_REQUEST_H
#define EGS_JOB_SUBMIT_RESIZE_REQUEST_H

#include "common/base/err.h"
#include "common/hint/stamp.h"
#include "plugins/compat/compat.h"

struct egs_resize_request {
	struct egs_resize_command command;
	char type[65]; /* of the GPUs; "": the type the job has */
};

/* Does the update request a resize?  Slurm itself refuses such updates. */
bool egs_resize_request_is_set(const job_desc_msg_t *desc,
			       const job_record_t *job);

/* Read the request about 'job'.  -1 with 'err' set if it is invalid, if it
 * names several tasks of an array, or if the update changes anything else:
 * Slurm might refuse the rest after the GPUs have changed.
 */
int egs_resize_request_read(struct egs_resize_request *request,
			    const job_desc_msg_t *desc, const job_record_t *job,
			    struct egs_err *err);

/* The GPUs of 'node' that processes have open, bit 0 the first. */
uint64_t egs_resize_request_open_gpus(const struct egs_resize_request *request,
				      const char *node);

/* The memory in MB that processes of the job's user have on 'node'; UINT64_MAX:
 * unknown.
 */
uint64_t egs_resize_request_used_mem(const struct egs_resize_request *request,
				     const char *node);

/* Remove the request from 'desc', so that Slurm has nothing to do. */
void egs_resize_request_remove(job_desc_msg_t *desc);

#endif
