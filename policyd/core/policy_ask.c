/* policy_ask.c - a job is asked to go, saves, yields, goes */
#include "policyd/core/policy_impl.h"

/* A preemption counts in the period that began with the first of them. */
void egs_job_spend(const struct egs_policy *p, struct egs_job *j)
{
	uint32_t per_s;

	if (j->facts.tier < 0)
		return;
	per_s = p->conf->tier[j->facts.tier].max_preemptions.per_s;
	if (!j->preemptions || p->now - j->budget_from >= per_s) {
		j->budget_from = p->now;
		j->preemptions = 0;
	}
	j->preemptions++;
}

void egs_job_requeue(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	egs_job_stop(p, slot);
	j->queued_at = p->now;
	if (j->asked) {
		egs_job_spend(p, j);
		egs_policy_act(p, EGS_ACT_RELEASE, j);
	}
	j->asked = false;
	j->deadline = 0;
	j->asked_by = 0;
	j->yielded = false;
	j->site_factor = egs_rank_factor(p, j);
	egs_policy_act(p, EGS_ACT_ROW, j);
}

enum egs_fate egs_job_fate(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_tier *t;

	if (j->facts.tier < 0)
		return EGS_FATE_SPARE;
	t = &p->conf->tier[j->facts.tier];
	if (!j->facts.requeue && t->no_requeue == EGS_FATE_SPARE)
		return j->on_loan ? EGS_FATE_CANCEL : EGS_FATE_SPARE;
	if (!j->facts.requeue)
		return EGS_FATE_CANCEL;
	return j->facts.ckpt ? EGS_FATE_REQUEUE : t->no_checkpoint;
}

uint32_t egs_job_grace(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_tier *t;
	uint32_t longest = 0, grace;

	if (j->facts.tier < 0)
		return 0;
	t = &p->conf->tier[j->facts.tier];
	for (int i = 0; i < EGS_SAVES; i++)
		if (j->save_s[i] > longest)
			longest = j->save_s[i];
	if (!longest)
		longest = j->facts.save_time_s;
	grace = longest ? longest + longest / 2 : t->grace_noack_s;
	if (grace < t->grace_min_s)
		grace = t->grace_min_s;
	return grace > t->grace_max_s ? t->grace_max_s : grace;
}

void egs_job_deadline(struct egs_policy *p, struct egs_job *j,
		      egs_time_t deadline)
{
	j->deadline = deadline;
	if (deadline && deadline < p->next_deadline)
		p->next_deadline = deadline;
}

void egs_job_asked(struct egs_policy *p, uint32_t slot, uint32_t by)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running || j->asked)
		return;
	j->asked = true;
	j->asked_by = by;
	j->request++;
	egs_job_deadline(p, j, p->now + egs_job_grace(p, j));
	egs_policy_act(p, EGS_ACT_ROW, j);
}

void egs_job_saved(struct egs_policy *p, uint32_t slot, uint32_t took_s)
{
	struct egs_job *j = &p->jobs.job[slot];

	j->saved_at = p->now;
	j->reports = true;
	if (!took_s)
		return;
	j->save_s[j->nsaves] =
		took_s > UINT16_MAX ? UINT16_MAX : (uint16_t)took_s;
	j->nsaves = (uint8_t)((j->nsaves + 1) % EGS_SAVES);
}

static void go(struct egs_policy *p, const struct egs_job *j,
	       enum egs_fate fate)
{
	if (fate == EGS_FATE_REQUEUE)
		egs_policy_act(p, EGS_ACT_REQUEUE, j);
	else if (fate == EGS_FATE_CANCEL)
		egs_policy_act(p, EGS_ACT_CANCEL, j);
}

/* Valid once, and only for the request the job has seen. */
void egs_job_yielded(struct egs_policy *p, uint32_t slot, uint32_t request)
{
	struct egs_job *j = &p->jobs.job[slot];
	enum egs_fate fate = egs_job_fate(p, j);

	if (!j->asked || j->yielded || request != j->request)
		return;
	j->yielded = true;
	j->deadline = 0;
	j->saved_at = p->now;
	j->reports = true;
	go(p, j, fate == EGS_FATE_CANCEL ? fate : EGS_FATE_REQUEUE);
}

static void deadline_of(struct egs_policy *p, struct egs_job *j)
{
	enum egs_fate fate = egs_job_fate(p, j);

	if (!j->deadline)
		return;
	if (j->deadline > p->now) {
		if (j->deadline < p->next_deadline)
			p->next_deadline = j->deadline;
		return;
	}
	j->deadline = 0;
	if (fate == EGS_FATE_REQUEUE)
		fate = p->conf->tier[j->facts.tier].at_deadline;
	go(p, j, fate);
}

void egs_job_deadlines(struct egs_policy *p)
{
	if (p->now < p->next_deadline)
		return;
	p->next_deadline = INT64_MAX;
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			deadline_of(p, &p->jobs.job[i]);
}
