/* touch_jobs.c - Slurm asks again for the site factor of a job that changed
 *
 * Slurm asks site_factor/egs for all jobs once in a PriorityCalcPeriod, which
 * is soon enough for shares, and for one job when it is submitted, which is
 * before we know it, or updated.  So whoever is new, was requeued or has
 * another tier or phase is updated without a change, a few in a second.  For
 * job_submit/egs that is also the moment to have the queue looked at: what the
 * job may take from others is in the table now.  Jobs that wait already when
 * the daemon starts may have come while nobody was there: they follow as there
 * is time.  Jobs beyond a limit are kept out of the
 * queue by such updates, too, as long as they go on (job_submit/bar.h).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/daemon/daemon.h"

enum {
	UPDATES = 5,   /* in a second */
	BAR_TICKS = 5, /* a part of EGS_BARRED_S */
	UNTOLD = 2     /* of one that waited before us; sums are odd */
};

static bool is_barred(const struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_row row;

	return egs_policy_row(d->policy, j->ident.job_id, egs_daemon_now(),
			      &row) == 0 &&
	       row.barred;
}

/* FNV-1a over what a rank hangs on; never 0. */
static uint32_t sum_of(const struct egs_daemon *d, const struct egs_job *j)
{
	const uint32_t words[] = {
		j->ident.job_id,	 j->ident.restarts,
		(uint16_t)j->facts.tier, (uint16_t)j->facts.phase,
		j->facts.dependents,	 is_barred(d, j)
	};
	uint32_t sum = UINT32_C(2166136261);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		sum = (sum ^ words[i]) * UINT32_C(16777619);
	return sum | 1;
}

static int room_for(struct egs_daemon *d, uint32_t slots)
{
	uint32_t room = slots + slots / 4 + 64;
	uint32_t *more;

	if (slots <= d->nranks)
		return 0;
	more = realloc(d->rank, room * sizeof(*more));
	if (!more)
		return -1;
	memset(more + d->nranks, 0, (room - d->nranks) * sizeof(*more));
	d->rank = more;
	d->nranks = room;
	return 0;
}

static bool waits(const struct egs_daemon *d, const struct egs_job *j)
{
	return j && !j->running && j->facts.tier >= 0 &&
	       egs_daemon_enforces(d, j->facts.team);
}

static void update(struct egs_daemon *d, const struct egs_job *j)
{
	char text[EGS_JOB_TEXT];

	egs_daemon_job_text(d, &j->ident, text);
	egs_worker_act(d->worker, EGS_NO_INTENT, EGS_DO_RANK, text, NULL);
}

/* Tell Slurm, while it may still be told something, of those that changed, or
 * of those that waited before us.
 */
static void tell_of(struct egs_daemon *d, bool before)
{
	uint32_t slots = egs_policy_slots(d->policy);

	for (uint32_t i = 0; i < slots && d->ranks_left; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);
		uint32_t sum = waits(d, j) ? sum_of(d, j) : 0;

		if (!sum)
			d->rank[i] = 0;
		if (!sum || d->rank[i] == sum ||
		    (d->rank[i] == UNTOLD) != before)
			continue;
		d->rank[i] = sum;
		update(d, j);
		d->ranks_left--;
	}
}

static void note_untold(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_slots(d->policy);

	for (uint32_t i = 0; i < slots; i++)
		if (waits(d, egs_policy_slot(d->policy, i)))
			d->rank[i] = UNTOLD;
}

/* One stands for all of them. */
static void keep_barred(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_slots(d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!waits(d, j) || !is_barred(d, j))
			continue;
		update(d, j);
		d->ranks_left--;
		return;
	}
}

static bool ready(struct egs_daemon *d)
{
	bool first = !d->rank;

	if (d->stale || d->paused || !d->published ||
	    room_for(d, egs_policy_slots(d->policy)) < 0 || !d->rank)
		return false;
	if (first)
		note_untold(d);
	return true;
}

void egs_daemon_rank(struct egs_daemon *d)
{
	if (ready(d))
		tell_of(d, false);
}

void egs_daemon_tick_rank(struct egs_daemon *d)
{
	d->ranks_left = UPDATES;
	if (!ready(d))
		return;
	if (d->ticks % BAR_TICKS == 0)
		keep_barred(d);
	tell_of(d, false);
	tell_of(d, true);
}
