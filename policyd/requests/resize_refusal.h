/* resize_refusal.h - why a job was not resized */
#ifndef EGS_REQUESTS_RESIZE_REFUSAL_H
#define EGS_REQUESTS_RESIZE_REFUSAL_H

#include "policyd/requests/resize.h"

/* Add the plugin's reason to the answer of a resize, because Slurm before 23.02
 * does not return it to the worker.
 */
void egs_resize_refusal_record(struct egs_daemon *d, uint32_t job_id,
			       const char *reason);

/* Explain to the owner of the job why the resize is refused. */
struct egs_err egs_resize_refusal_format(const struct egs_resize *r);

#endif
