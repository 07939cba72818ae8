/* restore.c - state of a job and usage of a team across a daemon restart */
#include "policyd/policy/policy_internal.h"

/* The entry that is overwritten next is the oldest. */
static void copy_save_times(const struct egs_job *job,
			    struct egs_job_history *past)
{
	int n = 0;

	for (int i = 0; i < EGS_SAVE_TIMES; i++) {
		uint16_t s = job->save_s[(job->next_save + i) % EGS_SAVE_TIMES];

		if (s)
			past->save_s[n++] = s;
	}
	while (n < EGS_SAVE_TIMES)
		past->save_s[n++] = 0;
}

void egs_policy_job_history(const struct egs_job *job,
			    struct egs_job_history *past)
{
	copy_save_times(job, past);
	past->first_submitted = job->first_submitted;
	past->queued_at = job->queued_at;
	past->started = job->running ? job->started : 0;
	past->loan_since = job->on_loan ? job->loan_since : 0;
	past->saved_at = job->saved_at;
	past->deadline = job->deadline;
	past->budget_from = job->budget_from;
	past->restarts = job->ident.restarts;
	past->waited_s = job->waited_s;
	past->requester = job->requester;
	past->request_no = job->request_no;
	past->preemptions = job->preemptions;
	past->preempting = job->preempting;
	past->requested_at = job->requested_at;
	past->departed_request = job->departed_request;
	past->departed_for = job->departed_for;
	past->finished = job->finished;
	past->enforced = job->enforced;
	past->release_due = job->release_due;
	past->wish = job->wish;
}

bool egs_restore_is_same_run(const struct egs_job *j,
			     const struct egs_job_history *past)
{
	return past && past->started && past->restarts == j->ident.restarts;
}

/* The job was requeued while no daemon ran. */
static void restore_departed(struct egs_policy *p, struct egs_job *j,
			     const struct egs_job_history *past)
{
	j->requested_at = past->requested_at;
	j->requester = past->requester;
	j->started = past->started;
	j->late = past->preempting && !past->deadline;
	j->preempting = past->preempting;
	egs_preempt_job_requeued(p, j);
}

/* A job that was being preempted, and whose run has ended since, counts as
 * preempted.
 */
void egs_restore_job(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past)
{
	if (past->first_submitted)
		j->first_submitted = past->first_submitted;
	j->waited_s = past->waited_s;
	j->request_no = past->request_no;
	j->preemptions = past->preemptions;
	j->budget_from = past->budget_from;
	j->saved_at = past->saved_at;
	j->reports_saves = past->saved_at != 0;
	for (int i = 0; i < EGS_SAVE_TIMES && past->save_s[i]; i++) {
		j->save_s[i] = past->save_s[i];
		j->next_save = (uint8_t)((i + 1) % EGS_SAVE_TIMES);
	}
	j->departed_request = past->departed_request;
	j->departed_for = past->departed_for;
	j->enforced = past->enforced;
	j->release_due = past->release_due;
	p->any_release_due |= past->release_due;
	egs_wish_restore(p, j, past->wish);
	if (!past->started || egs_restore_is_same_run(j, past)) {
		j->queued_at = past->queued_at;
	} else {
		restore_departed(p, j, past);
	}
}

/* The same run continues.  A preemption without a deadline has been answered
 * with a yield.
 */
void egs_restore_run(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past)
{
	if (past->preempting)
		egs_preempt_fix_fate(p, j);
	j->requester = past->requester;
	j->requested_at = past->requested_at;
	j->finished = past->finished;
	j->enforced = past->enforced;
	p->any_preempting |= past->preempting;
	j->yielded = past->preempting && !past->deadline;
	egs_preempt_set_deadline(p, j, past->deadline);
	if (j->on_loan && past->loan_since)
		j->loan_since = past->loan_since;
}

/* A time in the future comes from a clock that was wrong: use now. */
void egs_restore_usage(struct egs_policy *p, const struct egs_facts *of,
		       const struct egs_usage_snapshot *usage)
{
	egs_time_t at = usage->at < p->now ? usage->at : p->now;
	struct egs_meter meter = { .gpu_s = usage->gpu_s,
				   .at = at,
				   .counted_until = at };

	if (of->workload >= 0) {
		p->workload_meter[of->workload] = meter;
	} else if (of->team >= 0) {
		p->usage[of->team].units = usage->units;
		p->usage[of->team].at = at;
		p->team_meter[of->team] = meter;
	}
}

/* Seconds of the run between 'from' and 'end' that are not counted yet. */
static uint64_t uncounted_seconds(const struct egs_job *j,
				  const struct egs_meter *m, egs_time_t from,
				  egs_time_t end)
{
	if (from < m->counted_until)
		from = m->counted_until;
	if (from < j->started)
		from = j->started;
	return m->counted_until && end > from ? (uint64_t)(end - from) : 0;
}

/* Charge only what lies in the present period. */
static void charge_meter(const struct egs_policy *p, struct egs_meter *m,
			 const struct egs_job *j, egs_time_t end,
			 uint32_t per_s)
{
	egs_time_t from = per_s ? egs_period_start(p->now, per_s) : 0;

	m->gpu_s += uncounted_seconds(j, m, from, end) * j->gpus;
}

/* The usage of the run decays from its end on. */
static void charge_usage(struct egs_policy *p, const struct egs_job *j,
			 egs_time_t end)
{
	int team = j->facts.team;
	uint32_t half_life_s = p->conf->half_life_s;
	struct egs_usage used = { .units = 0 };

	egs_usage_charge(&used, j->usage_rate,
			 uncounted_seconds(j, &p->team_meter[team], 0, end),
			 half_life_s);
	p->usage[team].units += egs_usage_decay(
		used.units, (uint64_t)(p->now - end), half_life_s);
}

void egs_restore_charge_run(struct egs_policy *p, const struct egs_job *j,
			    egs_time_t end)
{
	int team = j->facts.team, w = j->facts.workload;

	if (team >= 0) {
		charge_usage(p, j, end);
		charge_meter(p, &p->team_meter[team], j, end,
			     p->conf->team[team].max_gpu_hours.per_s);
	}
	if (w >= 0)
		charge_meter(p, &p->workload_meter[w], j, end,
			     p->conf->workload[w].max_gpu_hours.per_s);
}

void egs_restore_ended_run(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_job j = { .facts = ev->facts,
			     .type = ev->type,
			     .started = ev->since };

	for (uint32_t i = 0; i < ev->nallocs; i++)
		j.gpus += ev->alloc[i].gpus;
	j.usage_rate = egs_job_usage_rate(p, &j);
	egs_rank_advance_usage(p, &j);
	egs_restore_charge_run(p, &j, ev->until < p->now ? ev->until : p->now);
}

struct egs_usage_snapshot egs_policy_workload_usage(const struct egs_policy *p,
						    int workload)
{
	struct egs_meter meter = p->workload_meter[workload];

	egs_meter_advance(&meter, p->now,
			  p->conf->workload[workload].max_gpu_hours.per_s);
	return (struct egs_usage_snapshot){ .at = p->now,
					    .gpu_s = meter.gpu_s };
}

struct egs_usage_snapshot egs_policy_team_usage(const struct egs_policy *p,
						int team)
{
	struct egs_usage usage = p->usage[team];
	struct egs_meter meter = p->team_meter[team];

	egs_usage_advance(&usage, p->now, p->conf->half_life_s);
	egs_meter_advance(&meter, p->now,
			  p->conf->team[team].max_gpu_hours.per_s);
	return (struct egs_usage_snapshot){ .at = p->now,
					    .units = usage.units,
					    .gpu_s = meter.gpu_s };
}
