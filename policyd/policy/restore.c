/* restore.c - what an earlier policy knew, given and taken over */
#include "policyd/policy/policy_internal.h"

/* The next one to be written over is the oldest. */
static void save_times(const struct egs_job *job, struct egs_past *past)
{
	int n = 0;

	for (int i = 0; i < EGS_SAVES; i++) {
		uint16_t s = job->save_s[(job->nsaves + i) % EGS_SAVES];

		if (s)
			past->save_s[n++] = s;
	}
	while (n < EGS_SAVES)
		past->save_s[n++] = 0;
}

void egs_policy_past(const struct egs_job *job, struct egs_past *past)
{
	save_times(job, past);
	past->born = job->born;
	past->queued_at = job->queued_at;
	past->started = job->running ? job->started : 0;
	past->loan_since = job->on_loan ? job->loan_since : 0;
	past->saved_at = job->saved_at;
	past->deadline = job->deadline;
	past->budget_from = job->budget_from;
	past->restarts = job->ident.restarts;
	past->age_s = job->age_s;
	past->asked_by = job->asked_by;
	past->request = job->request;
	past->preemptions = job->preemptions;
	past->asked = job->asked;
	past->asked_at = job->asked_at;
	past->left = job->left;
	past->left_by = job->left_by;
	past->finished = job->finished;
	past->release = job->release;
}

bool egs_past_same_run(const struct egs_job *j, const struct egs_past *past)
{
	return past && past->started && past->restarts == j->ident.restarts;
}

/* It went while nobody looked. */
static void left_unseen(struct egs_policy *p, struct egs_job *j,
			const struct egs_past *past)
{
	j->asked_at = past->asked_at;
	j->asked_by = past->asked_by;
	j->started = past->started;
	j->late = past->asked && !past->deadline;
	j->asked = past->asked;
	egs_job_left(p, j);
}

/* A job we now know.  One that was asked to go and has gone since was
 * preempted, though nobody saw it.
 */
void egs_past_job(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past)
{
	if (past->born)
		j->born = past->born;
	j->age_s = past->age_s;
	j->request = past->request;
	j->preemptions = past->preemptions;
	j->budget_from = past->budget_from;
	j->saved_at = past->saved_at;
	j->reports = past->saved_at != 0;
	for (int i = 0; i < EGS_SAVES && past->save_s[i]; i++) {
		j->save_s[i] = past->save_s[i];
		j->nsaves = (uint8_t)((i + 1) % EGS_SAVES);
	}
	j->left = past->left;
	j->left_by = past->left_by;
	j->release = past->release;
	p->releasing |= past->release;
	if (!past->started || egs_past_same_run(j, past)) {
		j->queued_at = past->queued_at;
	} else {
		left_unseen(p, j, past);
	}
}

/* It still runs as it did then.  A request without a deadline is answered. */
void egs_past_run(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past)
{
	if (past->asked)
		egs_ask_freeze(p, j);
	j->asked_by = past->asked_by;
	j->asked_at = past->asked_at;
	j->finished = past->finished;
	p->sparing |= past->asked;
	j->yielded = past->asked && !past->deadline;
	egs_job_deadline(p, j, past->deadline);
	if (j->on_loan && past->loan_since)
		j->loan_since = past->loan_since;
}

/* A time to come is that of a clock that was wrong. */
void egs_past_usage(struct egs_policy *p, const struct egs_facts *of,
		    const struct egs_tally *tally)
{
	egs_time_t at = tally->at < p->now ? tally->at : p->now;
	struct egs_meter meter = { .gpu_s = tally->gpu_s,
				   .at = at,
				   .kept_at = at };

	if (of->workload >= 0) {
		p->workload_meter[of->workload] = meter;
	} else if (of->team >= 0) {
		p->usage[of->team].units = tally->units;
		p->usage[of->team].at = at;
		p->team_meter[of->team] = meter;
	}
}

/* Seconds of a job's run until 'end' that nobody has counted, not before
 * 'from'.
 */
static uint64_t unseen(const struct egs_job *j, const struct egs_meter *m,
		       egs_time_t from, egs_time_t end)
{
	if (from < m->kept_at)
		from = m->kept_at;
	if (from < j->started)
		from = j->started;
	return m->kept_at && end > from ? (uint64_t)(end - from) : 0;
}

/* In the period that is now. */
static void charge(const struct egs_policy *p, struct egs_meter *m,
		   const struct egs_job *j, egs_time_t end, uint32_t per_s)
{
	egs_time_t from = per_s ? egs_period_start(p->now, per_s) : 0;

	m->gpu_s += unseen(j, m, from, end) * j->gpus;
}

/* What it used decays from its end on. */
static void charge_usage(struct egs_policy *p, const struct egs_job *j,
			 egs_time_t end)
{
	int team = j->facts.team;
	uint32_t half_life_s = p->conf->half_life_s;
	struct egs_usage used = { .units = 0 };

	egs_usage_charge(&used, j->rate,
			 unseen(j, &p->team_meter[team], 0, end), half_life_s);
	p->usage[team].units +=
		egs_decay(used.units, (uint64_t)(p->now - end), half_life_s);
}

/* A job that ran while nobody watched, until 'end': that time counts, too.
 * The clocks of its team and workload are at the present.
 */
void egs_past_charge(struct egs_policy *p, const struct egs_job *j,
		     egs_time_t end)
{
	int team = j->facts.team, w = j->facts.workload;

	if (team >= 0) {
		charge_usage(p, j, end);
		charge(p, &p->team_meter[team], j, end,
		       p->conf->team[team].max_gpu_hours.per_s);
	}
	if (w >= 0)
		charge(p, &p->workload_meter[w], j, end,
		       p->conf->workload[w].max_gpu_hours.per_s);
}

/* A run that began and ended as nobody knows it any more: only what an earlier
 * policy has not counted of it.
 */
void egs_past_ended(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_job j = { .facts = ev->facts,
			     .type = ev->type,
			     .started = ev->since };

	for (uint32_t i = 0; i < ev->nparts; i++)
		j.gpus += ev->part[i].gpus;
	j.rate = egs_job_rate(p, &j);
	egs_rank_clock(p, &j);
	egs_past_charge(p, &j, ev->until < p->now ? ev->until : p->now);
}

struct egs_tally egs_policy_workload_tally(const struct egs_policy *p,
					   int workload)
{
	struct egs_meter meter = p->workload_meter[workload];

	egs_meter_advance(&meter, p->now,
			  p->conf->workload[workload].max_gpu_hours.per_s);
	return (struct egs_tally){ .at = p->now, .gpu_s = meter.gpu_s };
}

struct egs_tally egs_policy_tally(const struct egs_policy *p, int team)
{
	struct egs_usage usage = p->usage[team];
	struct egs_meter meter = p->team_meter[team];

	egs_usage_advance(&usage, p->now, p->conf->half_life_s);
	egs_meter_advance(&meter, p->now,
			  p->conf->team[team].max_gpu_hours.per_s);
	return (struct egs_tally){ .at = p->now,
				   .units = usage.units,
				   .gpu_s = meter.gpu_s };
}
