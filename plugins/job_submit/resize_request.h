/* resize_request.h - what an update of a running job asks of us
 *
 * A user or an operator says `scontrol update JobId=N Gres=gpu:K`: K GPUs stay
 * on each node.  egs-policyd, as slurm or root, says in AdminComment, which
 * nobody below may set and which is not kept:
 *
 *	egs:resize gpus=K [keep-cores] [open=NODE:BITS,...]
 *					the same, with cores and memory kept,
 *					and without those GPUs of a node, in
 *					hexadecimal, that processes have open
 *	egs:resize take=HELPER		all that job HELPER holds
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_REQUEST_H
#define EGS_JOB_SUBMIT_RESIZE_REQUEST_H

#include "common/base/err.h"
#include "plugins/compat/compat.h"

struct egs_resize_request {
	uint32_t gpus_per_node; /* that stay on each node; 0: none go */
	char type[65]; /* of which type they are; "": whatever it has */
	uint32_t helper_job_id; /* the job that gives; 0: none */
	bool keep_cores;
	char open_gpus[1024]; /* "n1:c,n2:1" */
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
