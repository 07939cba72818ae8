/* resize_records.h - GPUs of a running job in slurmctld's records
 *
 * A job has two lists: requested and allocated GRES.  Both have the bits of its
 * GPUs, and both must change.  A restart of slurmctld rebuilds the nodes from
 * the first list.  The end of the job releases the GPUs in the second list.  If
 * only one list changes, two jobs end up on one GPU.
 *
 * "n" is the index of a node among the nodes of the job, from 0.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_RECORDS_H
#define EGS_JOB_SUBMIT_RESIZE_RECORDS_H

#include "common/base/err.h"
#include "plugins/shared/gpu_request.h"

#define EGS_RESIZE_TYPES_MAX 16

/* slurmctld owns all pointers. */
struct egs_resize_records {
	job_record_t *job;
	gres_state_t *requested; /* the one request for GPUs */
	gres_state_t *allocated[EGS_RESIZE_TYPES_MAX]; /* one for each type */
	uint32_t nallocated;
	uint32_t nnodes;
};

/* Find the records.  EGS_RESIZE_CHECK_NOT_LIVE with 'err' set if the job's GPUs
 * cannot change one by one: the job has none, requests several types, shares
 * GPUs, or requests them neither per node nor per job.
 */
int egs_resize_records_find(struct egs_resize_records *r, job_record_t *job,
			    struct egs_err *err);

/* Check that all GPUs of the job have this type. */
int egs_resize_records_check_type(const struct egs_resize_records *r,
				  const char *type, struct egs_err *err);

/* The node, and the job's GPUs there: a new bitmap with a bit for each GPU of
 * the node, which the caller frees.
 */
node_record_t *egs_resize_records_node(const struct egs_resize_records *r,
				       uint32_t n);
bitstr_t *egs_resize_records_held(const struct egs_resize_records *r,
				  uint32_t n);

/* Likewise the job's GPUs that steps use, overlapping steps included. */
bitstr_t *egs_resize_records_in_steps(const struct egs_resize_records *r,
				      uint32_t n);

/* Release 'gpus', some of the job's GPUs on the node.  Nothing can fail. */
void egs_resize_records_release(struct egs_resize_records *r, uint32_t n,
				bitstr_t *gpus);

/* Check that 'to' has a record for each type of 'from'. */
int egs_resize_records_match(const struct egs_resize_records *to,
			     const struct egs_resize_records *from,
			     struct egs_err *err);

/* Move all GPUs of node 'm' of 'from' to node 'n' of 'to', which is the same
 * node; the record of the node does not change.
 */
void egs_resize_records_move(struct egs_resize_records *to, uint32_t n,
			     struct egs_resize_records *from, uint32_t m);

#endif
