/* submitted_size.c - the size a resized job was submitted with */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/hint/admin_tag.h"
#include "common/hint/stamp.h"
#include "plugins/shared/submitted_size.h"

#define MARK "egs-size:"

static bool read_size(const char *word, struct egs_size *size)
{
	return word &&
	       sscanf(word, MARK "%" SCNu64 "/%" SCNu64 "/%" SCNu64,
		      &size->per_node, &size->per_job, &size->mem_mb) >= 2;
}

static void put(char **comment, const struct egs_size *size)
{
	xstrfmtcat(*comment, "%s" MARK "%" PRIu64 "/%" PRIu64 "/%" PRIu64,
		   *comment && **comment ? " " : "", size->per_node,
		   size->per_job, size->mem_mb);
}

void egs_submitted_note(job_record_t *job, const gres_state_t *asked)
{
	struct egs_size size = egs_asked_size(asked);

	if (!(job->details->pn_min_memory & MEM_PER_CPU))
		size.mem_mb = job->details->pn_min_memory;
	if (!egs_remark_find(job->admin_comment, MARK))
		put(&job->admin_comment, &size);
}

void egs_submitted_keep(const job_record_t *job, char **comment)
{
	struct egs_size size = { 0 };

	if (read_size(egs_remark_find(job->admin_comment, MARK), &size) &&
	    !egs_remark_find(*comment, MARK))
		put(comment, &size);
}

void egs_submitted_restore(job_record_t *job)
{
	gres_state_t *asked = egs_asked_find(job);
	struct egs_stamp stamp = { .nonce = 0 };
	struct egs_size size = { 0 };

	if (!asked ||
	    !read_size(egs_remark_find(job->admin_comment, MARK), &size))
		return;
	egs_stamp_find(job->admin_comment, &stamp);
	if (strcmp(stamp.hint.restart, "phase") != 0) {
		egs_asked_set(job, asked, &size);
		if (size.mem_mb)
			job->details->pn_min_memory =
				job->details->orig_pn_min_memory = size.mem_mb;
	}
	egs_remark_drop(job->admin_comment, MARK);
}
