/* jobs.c - the table of jobs, by Slurm's job id
 *
 * Open addressing with linear probing; a dropped job leaves no mark, those
 * after it move up.  Free slots are chained through 'nparts'.
 */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/jobs.h"

static uint32_t hash_job_id(const struct egs_jobs *t, uint32_t job_id)
{
	return (job_id * UINT32_C(2654435761)) & (t->index_size - 1);
}

/* Where in the index the id is, or the empty place where it would be. */
static uint32_t probe_index(const struct egs_jobs *t, uint32_t job_id)
{
	uint32_t i = hash_job_id(t, job_id);

	while (t->index[i] && t->job[t->index[i] - 1].ident.job_id != job_id)
		i = (i + 1) & (t->index_size - 1);
	return i;
}

uint32_t egs_jobs_find(const struct egs_jobs *t, uint32_t job_id)
{
	if (!t->index_size)
		return EGS_NO_SLOT;
	return t->index[probe_index(t, job_id)] - 1;
}

/* At most half full, so that probing stays short. */
static int grow_index(struct egs_jobs *t)
{
	uint32_t size = t->index_size ? t->index_size * 2 : 64;
	uint32_t *more;

	if ((t->njobs + 1) * 2 <= t->index_size)
		return 0;
	more = calloc(size, sizeof(*more));
	if (!more)
		return -1;
	free(t->index);
	t->index = more;
	t->index_size = size;
	for (uint32_t i = 0; i < t->nslots; i++)
		if (t->job[i].used)
			t->index[probe_index(t, t->job[i].ident.job_id)] =
				i + 1;
	return 0;
}

static int grow_jobs(struct egs_jobs *t)
{
	uint32_t room = t->room ? t->room + t->room / 2 : 64;
	struct egs_job *more;

	if (t->njobs < t->nslots || t->nslots < t->room)
		return 0;
	more = realloc(t->job, room * sizeof(*more));
	if (!more)
		return -1;
	t->job = more;
	t->room = room;
	return 0;
}

static uint32_t alloc_slot(struct egs_jobs *t)
{
	uint32_t slot = t->first_free;

	if (t->njobs == t->nslots)
		return t->nslots++;
	t->first_free = t->job[slot].nallocs;
	return slot;
}

uint32_t egs_jobs_add(struct egs_jobs *t, uint32_t job_id)
{
	uint32_t slot;

	if (grow_index(t) < 0 || grow_jobs(t) < 0)
		return EGS_NO_SLOT;
	slot = alloc_slot(t);
	memset(&t->job[slot], 0, sizeof(t->job[slot]));
	t->job[slot].ident.job_id = job_id;
	t->job[slot].used = true;
	t->index[probe_index(t, job_id)] = slot + 1;
	t->njobs++;
	return slot;
}

/* Close the gap at 'gap': whoever was pushed past it comes back. */
static void close_gap(struct egs_jobs *t, uint32_t gap)
{
	uint32_t mask = t->index_size - 1;

	for (uint32_t i = (gap + 1) & mask; t->index[i]; i = (i + 1) & mask) {
		uint32_t at =
			hash_job_id(t, t->job[t->index[i] - 1].ident.job_id);

		if (((i - at) & mask) < ((i - gap) & mask))
			continue;
		t->index[gap] = t->index[i];
		gap = i;
	}
	t->index[gap] = 0;
}

void egs_jobs_drop(struct egs_jobs *t, uint32_t slot)
{
	struct egs_job *j = &t->job[slot];

	close_gap(t, probe_index(t, j->ident.job_id));
	free(j->alloc);
	*j = (struct egs_job){ .nallocs = t->first_free };
	t->first_free = slot;
	t->njobs--;
}

void egs_jobs_clear(struct egs_jobs *t)
{
	for (uint32_t i = 0; i < t->nslots; i++)
		if (t->job[i].used)
			free(t->job[i].alloc);
	free(t->job);
	free(t->index);
	*t = (struct egs_jobs){ 0 };
}
