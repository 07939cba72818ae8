/* touch_jobs.c - touch pending jobs, so that slurmctld reads their rows again
 *
 * A touch is an update of a job that changes nothing, except that a requeued
 * job gets its resume info.  Slurm then calls site_factor/egs for the job's
 * site factor.  Without a touch Slurm calls it once in a PriorityCalcPeriod,
 * which is soon enough for shares.  Slurm also calls it when a job is
 * submitted, but then the daemon does not know the job.  So the daemon touches
 * new and requeued jobs, and jobs whose tier or phase has changed, a few in a
 * second.
 *
 * At a touch job_submit/egs also wakes the scheduler, because the table now
 * shows which GPUs the job may take.  Jobs that were pending before the daemon
 * started are touched last.  While the daemon touches a deferred job from time
 * to time, job_submit/egs defers all jobs over a limit
 * (plugins/job_submit).
 */
#include "common/base/array.h"
#include "common/base/hash.h"
#include "policyd/daemon/daemon.h"

enum {
	TOUCHES_PER_S = 5,
	DEFER_TICKS = 5, /* less than EGS_DEFER_S */
	NOT_TOUCHED =
		2 /* was pending before the daemon started; checksums are odd */
};

static bool is_deferred(const struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_take_view row;

	return egs_policy_take_view(d->policy, j->ident.job_id,
				    egs_daemon_now(), &row) == 0 &&
	       row.over_limit_pending;
}

/* Returns a checksum of all inputs of the site factor; odd, so never 0. */
static uint32_t checksum_job(const struct egs_daemon *d,
			     const struct egs_job *j)
{
	const uint32_t words[] = {
		j->ident.job_id,	 j->ident.restarts,
		(uint16_t)j->facts.tier, (uint16_t)j->facts.phase,
		j->facts.dependents,	 is_deferred(d, j)
	};

	return (uint32_t)egs_hash(EGS_HASH_START, words, sizeof(words)) | 1;
}

/* Does slurmctld wait for a row of the pending job?  Of an unmanaged job only
 * if its stamp says so; then the touch wakes the scheduler.
 */
static bool is_waiting(const struct egs_daemon *d, const struct egs_job *j)
{
	return j && !j->running &&
	       (j->facts.tier < 0 ? j->facts.awaits_decision
				  : egs_daemon_is_enforcing(d, j->facts.team));
}

static void touch_job(struct egs_daemon *d, const struct egs_job *j)
{
	char text[EGS_JOB_TEXT_SIZE], variable[EGS_RESUME_INFO_MAX];
	bool has_info =
		j->ident.restarts &&
		egs_daemon_format_resume_info(d, &j->ident, variable) == 0;

	egs_daemon_format_job_id(d, &j->ident, text);
	egs_worker_act(d->worker, EGS_NO_INTENT, EGS_DO_TOUCH, text,
		       has_info ? variable : NULL);
}

/* Touch changed jobs, or the jobs that were pending before the daemon started,
 * while any touches are left.
 */
static void touch_changed(struct egs_daemon *d, bool before)
{
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots && d->touches.left; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);
		uint32_t sum = is_waiting(d, j) ? checksum_job(d, j) : 0;

		if (!sum)
			d->touches.sum[i] = 0;
		if (!sum || d->touches.sum[i] == sum ||
		    (d->touches.sum[i] == NOT_TOUCHED) != before)
			continue;
		d->touches.sum[i] = sum;
		touch_job(d, j);
		d->touches.left--;
	}
}

static void mark_untouched(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots; i++)
		if (is_waiting(d, egs_policy_slot(d->policy, i)))
			d->touches.sum[i] = NOT_TOUCHED;
}

/* Touch one deferred job; job_submit/egs then defers all of them again. */
static void touch_deferred(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!is_waiting(d, j) || !is_deferred(d, j))
			continue;
		touch_job(d, j);
		d->touches.left--;
		return;
	}
}

static bool is_ready(struct egs_daemon *d)
{
	bool first = !d->touches.sum;

	if (d->changed & EGS_CHANGED_TABLE || d->paused || !d->publish_count ||
	    egs_grow(&d->touches.sum, &d->touches.nsums,
		     egs_policy_nslots(d->policy)) < 0 ||
	    !d->touches.sum)
		return false;
	if (first)
		mark_untouched(d);
	return true;
}

void egs_daemon_touch_jobs(struct egs_daemon *d)
{
	if (is_ready(d))
		touch_changed(d, false);
}

void egs_daemon_touch_tick(struct egs_daemon *d)
{
	d->touches.left = TOUCHES_PER_S;
	if (!is_ready(d))
		return;
	if (d->ticks % DEFER_TICKS == 0)
		touch_deferred(d);
	touch_changed(d, false);
	touch_changed(d, true);
}
