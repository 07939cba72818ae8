/* jobs.c - the table of jobs, by Slurm's job id */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/policy/jobs.h"

struct egs_job *egs_jobs_add(struct egs_jobs *t, uint32_t job_id)
{
	uint32_t slot;

	if (!t->ids.nfree && egs_grow(&t->job, &t->room, t->ids.nslots + 1) < 0)
		return NULL;
	slot = egs_idmap_add(&t->ids, job_id);
	if (slot == EGS_IDMAP_NONE)
		return NULL;
	t->job[slot].ident.job_id = job_id;
	t->job[slot].used = true;
	return &t->job[slot];
}

void egs_jobs_drop(struct egs_jobs *t, struct egs_job *j)
{
	egs_idmap_drop(&t->ids, j->ident.job_id);
	free(j->alloc);
	memset(j, 0, sizeof(*j));
}

void egs_jobs_clear(struct egs_jobs *t)
{
	for (struct egs_job *j = NULL; (j = egs_jobs_next(t, j));)
		free(j->alloc);
	free(t->job);
	egs_idmap_clear(&t->ids);
	*t = (struct egs_jobs){ 0 };
}
