/* resize_cores.h - the cores and the memory that go with the GPUs of a running
 * job
 *
 * cons_tres keeps pointers to what a job holds in its own tables, so the job is
 * taken out of them before its cores are changed and put back afterwards, with
 * the two calls that suspend and resume a job.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_CORES_H
#define EGS_JOB_SUBMIT_RESIZE_CORES_H

#include "plugins/job_submit/resize_records.h"

/* What a job gives back on its nodes beside GPUs: cores as a bitmap like that
 * of the job, CPUs and memory (MB) by node.
 */
struct egs_resize_cores {
	bitstr_t *cores;
	uint16_t *cpus;
	uint64_t *mem_mb;
};

/* An empty share of the job's shape; egs_resize_cores_free() frees it. */
struct egs_resize_cores egs_resize_cores_new(const job_record_t *job);
void egs_resize_cores_free(struct egs_resize_cores *share);

/* Add what node 'n' can spare when of its 'held' GPUs only 'keep' stay, by the
 * job's own ratio: whole cores that no step has, first those near 'gone', the
 * GPUs it gives back, at least one core stays; and no memory a step has.
 */
void egs_resize_cores_add(struct egs_resize_cores *share,
			  const struct egs_resize_records *r, uint32_t n,
			  uint32_t keep, uint32_t held, bitstr_t *gone);

/* Give it back.  Nothing can fail. */
void egs_resize_cores_release(struct egs_resize_cores *share,
			      job_record_t *job);

/* All cores and all memory of 'from' are those of 'to', and it holds nothing
 * on its nodes any more; 'at' says for each of them which of 'to' that is.
 */
void egs_resize_cores_move(job_record_t *to, job_record_t *from,
			   const uint32_t *at);

#endif
