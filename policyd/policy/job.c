/* step_env.c - a job starts, stops, changes */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

/* GPUs it asks for in all. */
uint32_t egs_job_wants(const struct egs_job *j)
{
	return j->facts.need.nodes * j->facts.need.gpus;
}

bool egs_job_is_on(const struct egs_job *j, uint32_t node)
{
	for (uint32_t i = 0; i < j->nparts; i++)
		if (j->part[i].node == node)
			return true;
	return false;
}

bool egs_job_needs_gpus(const struct egs_policy *p, const struct egs_job *j)
{
	int phase = j->facts.phase;

	if (phase >= 0 && p->conf->phase[phase].gpus.max == 0)
		return false;
	return j->gpus || egs_job_wants(j);
}

uint64_t egs_job_rate(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_policy_conf *c = p->conf;
	uint32_t rating =
		j->type < c->ntypes ? c->type[j->type].rating : EGS_ONE;
	uint32_t weight =
		j->facts.phase < 0 ? EGS_ONE : c->phase[j->facts.phase].weight;

	return egs_usage_rate(j->gpus, rating, weight);
}

/* What it holds counts for, or no longer counts for, its team and workload. */
static void meters(struct egs_policy *p, struct egs_job *j, bool on)
{
	int team = j->facts.team, workload = j->facts.workload;

	egs_rank_clock(p, j);
	if (team >= 0)
		p->team_meter[team].gpus += on ? j->gpus : 0 - j->gpus;
	if (workload >= 0)
		p->workload_meter[workload].gpus += on ? j->gpus : 0 - j->gpus;
	if (team >= 0 && !on)
		egs_usage_end(&p->usage[team], j->rate);
	j->rate = on ? egs_job_rate(p, j) : 0;
	if (team >= 0)
		egs_usage_start(&p->usage[team], j->rate);
}

void egs_job_leave(struct egs_policy *p, uint32_t slot)
{
	meters(p, &p->jobs.job[slot], false);
	egs_loan_leave(p, slot);
}

void egs_job_enter(struct egs_policy *p, uint32_t slot, bool owned)
{
	egs_loan_enter(p, slot, owned);
	meters(p, &p->jobs.job[slot], true);
}

static struct egs_part *copy_parts(const struct egs_event *ev)
{
	struct egs_part *part =
		calloc(ev->nparts ? ev->nparts : 1, sizeof(*part));

	if (part && ev->nparts)
		memcpy(part, ev->part, ev->nparts * sizeof(*part));
	return part;
}

static void set_parts(struct egs_job *j, const struct egs_event *ev,
		      struct egs_part *part)
{
	free(j->part);
	j->part = part;
	j->nparts = ev->nparts;
	j->type = ev->type;
	j->gpus = 0;
	for (uint32_t i = 0; i < ev->nparts; i++)
		j->gpus += part[i].gpus;
}

/* A run begins, unless an earlier policy has seen that. */
static void begin(struct egs_policy *p, struct egs_job *j,
		  const struct egs_event *ev)
{
	j->running = true;
	j->started = ev->since ? ev->since : p->now;
	j->finished = j->late = j->yielded = false;
	j->sparing = j->untold = false;
	j->yielded_at = j->deadline = 0;
	j->wanted_by = 0;
	j->shrink_no = false;
	if (j->started > j->queued_at && !egs_past_same_run(j, ev->past))
		j->age_s += (uint32_t)(j->started - j->queued_at);
}

/* A start, or the same run with another size.  A job that grew has to fit
 * in the quota again; one that shrank keeps what it had.
 */
int egs_job_start(struct egs_policy *p, uint32_t slot,
		  const struct egs_event *ev)
{
	struct egs_job *j = &p->jobs.job[slot];
	bool fresh = !j->running;
	uint32_t before = j->gpus;
	struct egs_part *part;
	bool owned, kept;

	if (egs_loan_reserve(p, j->facts.team, ev->type) < 0)
		return -1;
	part = copy_parts(ev);
	if (!part)
		return -1;
	kept = egs_claim_keeps(p, j) && j->claim_type == ev->type;
	egs_claim_end(p, j->ident.job_id);
	j->claims = false;
	if (!fresh)
		egs_job_leave(p, slot);
	set_parts(j, ev, part);
	if (fresh)
		begin(p, j, ev);
	p->fewer |= j->facts.shrink_to > 0;
	owned = fresh ? ev->owned || kept : !j->on_loan && j->gpus <= before;
	egs_job_enter(p, slot, owned);
	if (fresh && egs_past_same_run(j, ev->past))
		egs_past_run(p, j, ev->past);
	if (fresh)
		egs_job_back(p, j);
	if (fresh && ev->adopted)
		egs_past_charge(p, j, p->now);
	else if (fresh && j->facts.team >= 0)
		egs_usage_enter(&p->usage[j->facts.team], j->rate);
	egs_policy_act(p, EGS_ACT_ROW, j);
	return 0;
}

void egs_job_stop(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running)
		return;
	egs_job_leave(p, slot);
	free(j->part);
	j->part = NULL;
	j->nparts = 0;
	j->gpus = 0;
	j->running = false;
	j->on_loan = j->floor = j->over = false;
}

static bool same_need(const struct egs_need *a, const struct egs_need *b)
{
	return a->nodes == b->nodes && a->gpus == b->gpus &&
	       a->cores == b->cores && a->mem_mb == b->mem_mb &&
	       a->type == b->type;
}

static bool same_facts(const struct egs_facts *a, const struct egs_facts *b)
{
	return same_need(&a->need, &b->need) && a->team == b->team &&
	       a->workload == b->workload && a->tier == b->tier &&
	       a->phase == b->phase && a->save_time_s == b->save_time_s &&
	       a->shrink_to == b->shrink_to && a->requeue == b->requeue &&
	       a->ckpt == b->ckpt && a->finish == b->finish &&
	       a->signal == b->signal && a->signal_batch == b->signal_batch &&
	       a->dependents == b->dependents && a->blocked == b->blocked &&
	       a->completing == b->completing && a->suspended == b->suspended &&
	       a->left == b->left;
}

int egs_job_change(struct egs_policy *p, uint32_t slot,
		   const struct egs_facts *facts)
{
	struct egs_job *j = &p->jobs.job[slot];
	bool owned = !j->on_loan;

	if (same_facts(&j->facts, facts))
		return 0;
	if (egs_loan_reserve(p, facts->team, j->type) < 0)
		return -1;
	if (facts->blocked || !same_need(&j->facts.need, &facts->need))
		egs_claim_end(p, j->ident.job_id);
	if (j->running)
		egs_job_leave(p, slot);
	j->facts = *facts;
	p->fewer |= j->facts.shrink_to > 0;
	if (j->running)
		egs_job_enter(p, slot, owned);
	j->site_factor = egs_rank_factor(p, j);
	egs_policy_act(p, EGS_ACT_ROW, j);
	return 0;
}
