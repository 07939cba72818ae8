/* submitted_size.c - the size a resized job was submitted with */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/hint/admin_tag.h"
#include "common/hint/stamp.h"
#include "plugins/shared/submitted_size.h"

#define SIZE_TAG "egs-size:"

static bool read_size(const char *word, struct egs_job_size *size)
{
	return word && sscanf(word, SIZE_TAG "%" SCNu64 "/%" SCNu64 "/%" SCNu64,
			      &size->gpus_per_node, &size->gpus_per_job,
			      &size->mem_mb) >= 2;
}

static void append_size(char **comment, const struct egs_job_size *size)
{
	xstrfmtcat(*comment, "%s" SIZE_TAG "%" PRIu64 "/%" PRIu64 "/%" PRIu64,
		   *comment && **comment ? " " : "", size->gpus_per_node,
		   size->gpus_per_job, size->mem_mb);
}

void egs_submitted_size_save(job_record_t *job, const gres_state_t *asked)
{
	struct egs_job_size size = egs_gpu_request_size(asked);

	if (!(job->details->pn_min_memory & MEM_PER_CPU))
		size.mem_mb = job->details->pn_min_memory;
	if (!egs_admin_tag_find(job->admin_comment, SIZE_TAG))
		append_size(&job->admin_comment, &size);
}

void egs_submitted_size_copy(const job_record_t *job, char **comment)
{
	struct egs_job_size size = { 0 };

	if (read_size(egs_admin_tag_find(job->admin_comment, SIZE_TAG),
		      &size) &&
	    !egs_admin_tag_find(*comment, SIZE_TAG))
		append_size(comment, &size);
}

void egs_submitted_size_restore(job_record_t *job)
{
	gres_state_t *asked = egs_gpu_request_find(job);
	struct egs_stamp stamp = { .nonce = 0 };
	struct egs_job_size size = { 0 };

	if (!asked ||
	    !read_size(egs_admin_tag_find(job->admin_comment, SIZE_TAG), &size))
		return;
	egs_stamp_find(job->admin_comment, &stamp);
	if (strcmp(stamp.hint.restart, "phase") != 0) {
		egs_gpu_request_set(job, asked, &size);
		if (size.mem_mb)
			job->details->pn_min_memory =
				job->details->orig_pn_min_memory = size.mem_mb;
	}
	egs_admin_tag_remove(job->admin_comment, SIZE_TAG);
}
