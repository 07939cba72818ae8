/* resize_request.h - what an update of a running job asks of us
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

/* Is it a request at all?  Slurm refuses such an update of a running job. */
bool egs_resize_request_is_set(const job_desc_msg_t *desc,
			       const job_record_t *job);

/* Read it.  -1 with 'err' set for nonsense, and for one that changes anything
 * else: Slurm might refuse that when the GPUs are gone already.
 */
int egs_resize_request_read(struct egs_resize_request *request,
			    const job_desc_msg_t *desc, struct egs_err *err);

/* The GPUs of 'node' that are open, bit 0 the first. */
uint64_t egs_resize_request_open_gpus(const struct egs_resize_request *request,
				      const char *node);

/* Take it out of 'desc', so that nothing is left for Slurm to do. */
void egs_resize_request_remove(job_desc_msg_t *desc);

#endif
