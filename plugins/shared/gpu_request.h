/* gpu_request.h - the GPU request in a job record
 *
 * Slurm stores the request twice, as text and as numbers.
 */
#ifndef EGS_SHARED_GPU_REQUEST_H
#define EGS_SHARED_GPU_REQUEST_H

#include "common/hint/stamp.h"
#include "plugins/compat/gres.h"

/* The record of the GPU request; NULL if the job has none or several. */
gres_state_t *egs_gpu_request_find(const job_record_t *job);

/* The size that the job requests. */
struct egs_job_size egs_gpu_request_size(const gres_state_t *request);

/* The size that the job would request for its current GPUs.  If the request is
 * per node, all nodes have the same number.
 */
struct egs_job_size egs_gpu_request_from_held(const gres_state_t *request);

/* Change the request to 'size', in the same form. */
void egs_gpu_request_set(job_record_t *job, gres_state_t *request,
			 const struct egs_job_size *size);

#endif
