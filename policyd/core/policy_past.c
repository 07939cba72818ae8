/* policy_past.c - what an earlier policy knew, given and taken over */
#include "policyd/core/policy_impl.h"

void egs_policy_past(const struct egs_job *job, struct egs_past *past)
{
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
}

bool egs_past_same_run(const struct egs_job *j, const struct egs_past *past)
{
	return past && past->started && past->restarts == j->ident.restarts;
}

/* A job we now know.  One that was asked to go and has gone since was
 * preempted, though nobody saw it.
 */
void egs_past_job(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past)
{
	j->age_s = past->age_s;
	j->request = past->request;
	j->preemptions = past->preemptions;
	j->budget_from = past->budget_from;
	j->saved_at = past->saved_at;
	j->reports = past->saved_at != 0;
	if (!past->started || egs_past_same_run(j, past)) {
		j->queued_at = past->queued_at;
	} else if (past->asked) {
		egs_job_spend(p, j);
		egs_policy_act(p, EGS_ACT_RELEASE, j);
	}
}

/* It still runs as it did then.  A request without a deadline is answered. */
void egs_past_run(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past)
{
	j->asked = past->asked;
	j->asked_by = past->asked_by;
	j->yielded = past->asked && !past->deadline;
	egs_job_deadline(p, j, past->deadline);
	if (j->on_loan && past->loan_since)
		j->loan_since = past->loan_since;
}

/* A time to come is that of a clock that was wrong. */
void egs_past_usage(struct egs_policy *p, int team,
		    const struct egs_tally *tally)
{
	egs_time_t at = tally->at < p->now ? tally->at : p->now;

	if (team < 0 || team >= p->conf->nteams)
		return;
	p->usage[team].units = tally->units;
	p->usage[team].at = at;
	p->team_meter[team].gpu_s = tally->gpu_s;
	p->team_meter[team].at = at;
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
