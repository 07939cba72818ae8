/* submitted.c - the size a resized job was submitted with */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugins/resize/submitted.h"
#include "policyd/wire/stamp.h"

#define MARK "egs-size:"

/* The word, or NULL; borrowed. */
static const char *find(const char *comment)
{
	const char *word = comment ? strstr(comment, MARK) : NULL;

	return word && (word == comment || word[-1] == ' ') ? word : NULL;
}

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
	if (!find(job->admin_comment))
		put(&job->admin_comment, &size);
}

void egs_submitted_keep(const job_record_t *job, char **comment)
{
	struct egs_size size = { 0 };

	if (read_size(find(job->admin_comment), &size) && !find(*comment))
		put(comment, &size);
}

static void take_out(char *comment)
{
	char *word = strstr(comment, MARK);
	size_t len = strcspn(word, " ");

	if (word > comment) {
		word--;
		len++;
	} else if (word[len] == ' ') {
		len++;
	}
	memmove(word, word + len, strlen(word + len) + 1);
}

void egs_submitted_restore(job_record_t *job)
{
	gres_state_t *asked = egs_asked_find(job);
	struct egs_stamp stamp = { .nonce = 0 };
	struct egs_size size = { 0 };

	if (!asked || !read_size(find(job->admin_comment), &size))
		return;
	egs_stamp_find(job->admin_comment, &stamp);
	if (strcmp(stamp.hint.restart, "phase") != 0) {
		egs_asked_set(job, asked, &size);
		if (size.mem_mb)
			job->details->pn_min_memory =
				job->details->orig_pn_min_memory = size.mem_mb;
	}
	take_out(job->admin_comment);
}
