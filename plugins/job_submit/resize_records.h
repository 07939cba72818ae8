/* resize_records.h - the GPUs of a running job as slurmctld's records have them
 *
 * A job has two lists: what it asked for and what it got.  Both hold the bits
 * of its GPUs, and both have to be changed: a restart builds the nodes anew
 * from the one, the end of the job gives back what is in the other.  With one
 * of them forgotten two jobs end up on one GPU.
 *
 * "n" is the number of a node among those of the job, from 0.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_RECORDS_H
#define EGS_JOB_SUBMIT_RESIZE_RECORDS_H

#include "common/base/err.h"
#include "plugins/shared/gpu_request.h"

#define EGS_RESIZE_TYPES_MAX 16

/* All pointers are slurmctld's. */
struct egs_resize_records {
	job_record_t *job;
	gres_state_t *requested; /* its one request for GPUs */
	gres_state_t *allocated[EGS_RESIZE_TYPES_MAX]; /* one for each type */
	uint32_t nallocated;
	uint32_t nnodes;
};

/* Find them.  EGS_RESIZE_CHECK_NOT_LIVE with 'err' set if this job's GPUs
 * cannot be changed one by one: it has none, asks for several types, shares
 * them, or asks for them in other words than so many for each node or for the
 * job.
 */
int egs_resize_records_find(struct egs_resize_records *r, job_record_t *job,
			    struct egs_err *err);

/* Are all GPUs it holds of this type? */
int egs_resize_records_check_type(const struct egs_resize_records *r,
				  const char *type, struct egs_err *err);

/* The node itself, and the GPUs the job holds there: a new bitmap as long as
 * the node has GPUs, which the caller frees.
 */
node_record_t *egs_resize_records_node(const struct egs_resize_records *r,
				       uint32_t n);
bitstr_t *egs_resize_records_held(const struct egs_resize_records *r,
				  uint32_t n);

/* Of these, the ones a step has, also one that shares them with another. */
bitstr_t *egs_resize_records_in_steps(const struct egs_resize_records *r,
				      uint32_t n);

/* Give 'gpus', some of those it holds, back to the node.  Nothing can fail. */
void egs_resize_records_release(struct egs_resize_records *r, uint32_t n,
				bitstr_t *gpus);

/* Is there a record for each type that 'from' brings? */
int egs_resize_records_match(const struct egs_resize_records *to,
			     const struct egs_resize_records *from,
			     struct egs_err *err);

/* All GPUs of node 'm' of 'from' are those of node 'n' of 'to', which is the
 * same node; the node itself sees no change.
 */
void egs_resize_records_move(struct egs_resize_records *to, uint32_t n,
			     struct egs_resize_records *from, uint32_t m);

#endif
