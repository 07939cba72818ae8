/* job_stamp.c - change the stamp of a job inside slurmctld */
#include <stdlib.h>
#include <string.h>

#include "plugins/shared/job_stamp.h"

int egs_job_stamp_put(char **comment, const struct egs_stamp *stamp)
{
	char *text = egs_stamp_insert(*comment, stamp);

	if (!text)
		return -1;
	xfree(*comment);
	*comment = xstrdup(text);
	free(text);
	return 0;
}

void egs_job_stamp_set_departed(job_record_t *job, bool departed)
{
	struct egs_stamp stamp = egs_stamp_read(job->admin_comment);

	if (stamp.departed == departed)
		return;
	stamp.departed = departed;
	egs_job_stamp_put(&job->admin_comment, &stamp);
}

void egs_job_stamp_save_size(job_record_t *job, const gres_state_t *requested)
{
	struct egs_stamp stamp = egs_stamp_read(job->admin_comment);

	if (egs_job_size_is_set(&stamp.submitted))
		return;
	stamp.submitted = egs_gpu_request_size(requested);
	if (!(job->details->pn_min_memory & MEM_PER_CPU))
		stamp.submitted.mem_mb = job->details->pn_min_memory;
	egs_job_stamp_put(&job->admin_comment, &stamp);
}

void egs_job_stamp_restore_size(job_record_t *job)
{
	gres_state_t *requested = egs_gpu_request_find(job);
	struct egs_stamp stamp;

	if (!requested)
		return;
	stamp = egs_stamp_read(job->admin_comment);
	if (!egs_job_size_is_set(&stamp.submitted))
		return;
	if (strcmp(stamp.hint.restart, "phase") != 0) {
		egs_gpu_request_set(job, requested, &stamp.submitted);
		if (stamp.submitted.mem_mb)
			job->details->pn_min_memory =
				job->details->orig_pn_min_memory =
					stamp.submitted.mem_mb;
	}
	stamp.submitted = (struct egs_job_size){ 0 };
	egs_job_stamp_put(&job->admin_comment, &stamp);
}
