/* gpu_request.h - the one request for GPUs of a job
 *
 * Slurm keeps it twice, as text and as numbers.
 */
#ifndef EGS_SHARED_GPU_REQUEST_H
#define EGS_SHARED_GPU_REQUEST_H

#include "common/hint/stamp.h"
#include "plugins/compat/gres.h"

/* The record in which a job asks for GPUs; NULL if it has none or several. */
gres_state_t *egs_gpu_request_find(const job_record_t *job);

/* What it asks for. */
struct egs_job_size egs_gpu_request_size(const gres_state_t *asked);

/* What it would ask for with the GPUs it holds now.  Where it asks per node,
 * all its nodes hold the same number.
 */
struct egs_job_size egs_gpu_request_from_held(const gres_state_t *asked);

/* Let job ask for 'size' instead, in the same words. */
void egs_gpu_request_set(job_record_t *job, gres_state_t *asked,
			 const struct egs_job_size *size);

#endif
