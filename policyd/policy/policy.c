/* policy.c - the policy: which event goes where */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

enum { ACTIONS_KEPT = 256 };

struct egs_policy *egs_policy_new(const struct egs_policy_conf *conf)
{
	struct egs_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->conf = conf;
	p->next_deadline = INT64_MAX;
	if (egs_loan_new(p) < 0) {
		egs_policy_free(p);
		return NULL;
	}
	return p;
}

void egs_policy_free(struct egs_policy *p)
{
	if (!p)
		return;
	egs_loan_free(p->ledger, p->conf->nteams, egs_policy_types(p));
	egs_jobs_clear(&p->jobs);
	egs_claims_clear(&p->claims);
	free(p->node);
	free(p->action);
	free(p->scene.place);
	free(p->scene.cand);
	free(p->scene.hold);
	free(p);
}

void egs_policy_push(struct egs_policy *p, const struct egs_action *a)
{
	size_t room = p->action_room ? p->action_room * 2 : 64;
	struct egs_action *more;

	if (p->nactions == p->action_room) {
		more = realloc(p->action, room * sizeof(*more));
		if (!more) {
			p->lost = true;
			return;
		}
		p->action = more;
		p->action_room = room;
	}
	p->action[p->nactions++] = *a;
}

bool egs_policy_enforces(const struct egs_policy *p, int team)
{
	enum egs_mode mode =
		team < 0 ? EGS_MODE_INHERIT : p->conf->team[team].mode;

	return (mode ? mode : p->conf->mode) == EGS_MODE_ENFORCE;
}

void egs_policy_act(struct egs_policy *p, enum egs_action_kind kind,
		    const struct egs_job *j)
{
	struct egs_action a = {
		.kind = kind,
		.observe = !egs_policy_enforces(p, j->facts.team),
		.job = j->ident,
		.team = j->facts.team,
		.type = j->type,
		.by = j->asked_by,
	};

	egs_policy_push(p, &a);
}

void egs_policy_act_team(struct egs_policy *p, int team, int type)
{
	struct egs_action a = {
		.kind = EGS_ACT_TEAM,
		.observe = !egs_policy_enforces(p, team),
		.team = team,
		.type = type,
	};

	egs_policy_push(p, &a);
}

static void forget(struct egs_policy *p, uint32_t slot)
{
	egs_claim_end(p, p->jobs.job[slot].ident.job_id);
	egs_job_gone(p, &p->jobs.job[slot], true);
	egs_job_stop(p, slot);
	egs_jobs_drop(&p->jobs, slot);
}

static bool brings_facts(const struct egs_event *ev)
{
	return ev->kind == EGS_EV_JOB || ev->kind == EGS_EV_STARTED;
}

static uint32_t adopt(struct egs_policy *p, const struct egs_event *ev)
{
	uint32_t slot = egs_jobs_add(&p->jobs, ev->job.job_id);
	struct egs_job *j;

	if (slot == EGS_NO_SLOT)
		return slot;
	j = &p->jobs.job[slot];
	j->ident = ev->job;
	j->facts = ev->facts;
	j->born = ev->job.submit;
	j->queued_at = ev->since ? ev->since : p->now;
	if (ev->past)
		egs_past_job(p, j, ev->past);
	j->site_factor = egs_rank_factor(p, j);
	egs_policy_act(p, EGS_ACT_ROW, j);
	return slot;
}

/* The job of the event, made known if need be.  A higher restart count than
 * we know means that a requeue was missed.
 */
static int find(struct egs_policy *p, const struct egs_event *ev,
		uint32_t *slot)
{
	uint32_t old = egs_jobs_find(&p->jobs, ev->job.job_id);
	struct egs_job *j = old == EGS_NO_SLOT ? NULL : &p->jobs.job[old];
	bool missed;

	*slot = old;
	if (j && egs_ident_same(&j->ident, &ev->job)) {
		missed = ev->job.restarts > j->ident.restarts && j->running;
		j->ident = ev->job; /* actions are about this attempt */
		if (missed)
			egs_job_requeue(p, old);
		return 0;
	}
	*slot = EGS_NO_SLOT;
	if (!brings_facts(ev))
		return 0;
	if (j) {
		egs_policy_act(p, EGS_ACT_CLOSED, j);
		forget(p, old);
	}
	*slot = adopt(p, ev);
	return *slot == EGS_NO_SLOT ? -1 : 0;
}

static int job_event(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_facts facts;
	uint32_t slot;

	if (find(p, ev, &slot) < 0)
		return -1;
	if (slot == EGS_NO_SLOT && ev->kind == EGS_EV_ENDED && ev->adopted)
		egs_past_ended(p, ev);
	if (slot == EGS_NO_SLOT)
		return 0;
	switch (ev->kind) {
	case EGS_EV_JOB:
		if (egs_job_change(p, slot, &ev->facts) < 0)
			return -1;
		egs_job_left_unseen(p, slot);
		return 0;
	case EGS_EV_STARTED:
		return egs_job_start(p, slot, ev);
	case EGS_EV_REQUEUED:
		egs_job_requeue(p, slot);
		return 0;
	case EGS_EV_ENDED:
		forget(p, slot);
		return 0;
	case EGS_EV_PHASE:
		facts = p->jobs.job[slot].facts;
		facts.phase = ev->facts.phase;
		facts.workload = ev->facts.workload;
		return egs_job_change(p, slot, &facts);
	case EGS_EV_ASKED:
		egs_job_asked(p, slot, ev);
		return 0;
	case EGS_EV_WANTED:
		egs_job_wanted(p, slot, ev->by);
		return 0;
	case EGS_EV_SPARED:
		egs_job_spared(p, slot);
		return 0;
	case EGS_EV_SHRUNK:
		egs_fewer_answered(p, slot);
		return 0;
	case EGS_EV_SAVED:
		egs_job_saved(p, slot, ev->took_s);
		return 0;
	case EGS_EV_YIELDED:
		egs_job_yielded(p, slot, ev->request);
		return 0;
	case EGS_EV_FINISHED:
		egs_job_finished(p, slot);
		return 0;
	case EGS_EV_UNSAID:
		egs_job_unsaid(p, slot, ev->request);
		return 0;
	case EGS_EV_CLAIMED:
		return egs_claim_make(p, ev);
	default:
		return 0;
	}
}

/* Nodes between the known ones and this one are there, and have nothing. */
static int node_event(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_node *more;

	if (ev->node >= p->nnodes) {
		more = realloc(p->node, (ev->node + 1) * sizeof(*more));
		if (!more)
			return -1;
		memset(more + p->nnodes, 0,
		       (ev->node + 1 - p->nnodes) * sizeof(*more));
		p->node = more;
		p->nnodes = ev->node + 1;
	}
	p->node[ev->node] = ev->nodes;
	if (!ev->nodes.up)
		egs_claim_node(p, ev->node);
	egs_loan_quotas(p);
	return 0;
}

static void set_clock(struct egs_policy *p, egs_time_t now)
{
	if (now > p->now)
		p->now = now;
}

int egs_policy_apply(struct egs_policy *p, const struct egs_event *ev,
		     egs_time_t now)
{
	set_clock(p, now);
	switch (ev->kind) {
	case EGS_EV_TICK:
		return 0;
	case EGS_EV_USAGE:
		egs_past_usage(p, &ev->facts, ev->tally);
		return 0;
	case EGS_EV_NODE:
		return node_event(p, ev);
	case EGS_EV_CONF:
		return egs_policy_reload(p, ev->conf);
	default:
		return job_event(p, ev);
	}
}

void egs_policy_settle(struct egs_policy *p, egs_time_t now)
{
	set_clock(p, now);
	egs_loan_settle(p);
	egs_job_takers(p);
	egs_job_deadlines(p);
	egs_claim_settle(p);
	egs_job_spares(p);
	egs_job_releases(p);
	egs_fewer_settle(p);
}

void egs_policy_pass(struct egs_policy *p, egs_time_t now)
{
	set_clock(p, now);
	egs_loan_dirty(p);
	egs_policy_settle(p, now);
	egs_rank_pass(p);
}

const struct egs_action *egs_policy_actions(const struct egs_policy *p,
					    size_t *n)
{
	*n = p->nactions;
	return p->action;
}

bool egs_policy_lost(const struct egs_policy *p)
{
	return p->lost;
}

/* After a flood of them, as at a start, the room is given back. */
void egs_policy_drain(struct egs_policy *p)
{
	if (p->action_room > ACTIONS_KEPT) {
		free(p->action);
		p->action = NULL;
		p->action_room = 0;
	}
	p->nactions = 0;
	p->lost = false;
}
