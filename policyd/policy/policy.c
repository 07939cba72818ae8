/* policy.c - dispatch each event to the part of the policy that handles it */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/policy/policy_internal.h"

struct egs_policy *egs_policy_new(const struct egs_policy_conf *conf)
{
	struct egs_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->conf = conf;
	p->next_deadline = INT64_MAX;
	if (egs_loans_new(p) < 0) {
		egs_policy_free(p);
		return NULL;
	}
	return p;
}

void egs_policy_free(struct egs_policy *p)
{
	if (!p)
		return;
	egs_loans_free(p->loan_book, p->conf->nteams, egs_policy_ntypes(p));
	egs_jobs_clear(&p->jobs);
	egs_claim_clear(&p->claims);
	free(p->node);
	free(p->action);
	free(p->idle);
	free(p->search.node);
	free(p->search.candidate);
	free(p->search.alloc);
	free(p);
}

/* Without memory the action is lost; Slurm still enforces its own deadline. */
void egs_policy_push_action(struct egs_policy *p, const struct egs_action *a)
{
	p->rows_changed = true;
	if (egs_grow(&p->action, &p->action_room, p->nactions + 1) == 0)
		p->action[p->nactions++] = *a;
}

void egs_policy_act_job(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j)
{
	struct egs_action a = {
		.kind = kind,
		.job = j->ident,
		.team = j->facts.team,
		.requester = j->requester,
	};

	egs_policy_push_action(p, &a);
}

static void forget_job(struct egs_policy *p, struct egs_job *j)
{
	egs_policy_claim_end(p, j->ident.job_id);
	egs_preempt_job_departed(p, j, true);
	egs_job_stop(p, j);
	egs_jobs_drop(&p->jobs, j);
}

static bool has_facts(const struct egs_event *ev)
{
	return ev->kind == EGS_EV_UPDATED || ev->kind == EGS_EV_STARTED;
}

static struct egs_job *add_job(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_job *j = egs_jobs_add(&p->jobs, ev->job.job_id);

	if (!j)
		return NULL;
	j->ident = ev->job;
	j->facts = ev->facts;
	j->first_submitted = ev->job.submit;
	j->queued_at = ev->since ? ev->since : p->now;
	if (ev->history)
		egs_restore_job(p, j, ev->history);
	egs_wish_inherit(p, j);
	j->site_factor = egs_rank_site_factor(p, j);
	p->rows_changed = true;
	return j;
}

/* Find the job of the event, or add it if the event has facts.  A higher
 * restart count than before means that we missed a requeue.  NULL with 0: the
 * event is ignored.
 */
static int find_or_add_job(struct egs_policy *p, const struct egs_event *ev,
			   struct egs_job **found)
{
	struct egs_job *j = egs_jobs_find(&p->jobs, ev->job.job_id);
	bool missed;

	*found = j;
	if (j && egs_identity_is_same(&j->ident, &ev->job)) {
		missed = ev->job.restarts > j->ident.restarts && j->running;
		j->ident = ev->job; /* actions are about this attempt */
		if (missed)
			egs_preempt_to_queue(p, j);
		return 0;
	}
	*found = NULL;
	if (!has_facts(ev))
		return 0;
	if (j) {
		egs_policy_act_job(p, EGS_ACT_ID_REUSED, j);
		forget_job(p, j);
	}
	*found = add_job(p, ev);
	return *found ? 0 : -1;
}

static int apply_job_event(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_facts facts;
	struct egs_job *j;

	if (find_or_add_job(p, ev, &j) < 0)
		return -1;
	if (!j && ev->kind == EGS_EV_ENDED && ev->started_unseen)
		egs_restore_ended_run(p, ev);
	if (!j)
		return 0;
	switch (ev->kind) {
	case EGS_EV_UPDATED:
		if (egs_job_update_facts(p, j, &ev->facts) < 0)
			return -1;
		egs_preempt_check_departed(p, j);
		return 0;
	case EGS_EV_STARTED:
		return egs_job_start(p, j, ev);
	case EGS_EV_REQUEUED:
		egs_preempt_to_queue(p, j);
		return 0;
	case EGS_EV_ENDED:
		forget_job(p, j);
		return 0;
	case EGS_EV_PHASE:
		facts = j->facts;
		facts.phase = ev->facts.phase;
		facts.workload = ev->facts.workload;
		return egs_job_update_facts(p, j, &facts);
	case EGS_EV_PREEMPTING:
		egs_preempt_begin(p, j, ev);
		return 0;
	case EGS_EV_CHOSEN_VICTIM:
		egs_requester_named(p, j, ev->requester);
		return 0;
	case EGS_EV_WITHDRAWN:
		egs_withdraw_confirmed(p, j);
		return 0;
	case EGS_EV_WISH:
		egs_wish_set(p, j, ev);
		return 0;
	case EGS_EV_SHRINK_ANSWERED:
		egs_shrink_answered(p, j);
		return 0;
	case EGS_EV_SAVED:
		egs_preempt_job_saved(p, j, ev->took_s);
		return 0;
	case EGS_EV_PROGRESS:
		j->progress_at = p->now;
		return 0;
	case EGS_EV_IDLE:
		return egs_idle_measured(p, j, ev);
	case EGS_EV_YIELDED:
		egs_preempt_job_yielded(p, j, ev->request_no);
		return 0;
	case EGS_EV_FINISHED:
		egs_preempt_job_finished(p, j);
		return 0;
	case EGS_EV_REVOKED:
		egs_preempt_revoke(p, j, ev->request_no);
		return 0;
	case EGS_EV_UNREACHABLE:
		j->unreachable = j->running;
		return 0;
	case EGS_EV_CLAIMED:
		return egs_policy_claim_make(p, j, ev);
	default:
		return 0;
	}
}

/* Nodes with smaller numbers that were not reported yet have no GPUs. */
static int apply_node_event(struct egs_policy *p, const struct egs_event *ev)
{
	if (egs_grow(&p->node, &p->node_room, ev->node + 1) < 0)
		return -1;
	if (ev->node >= p->nnodes)
		p->nnodes = ev->node + 1;
	p->node[ev->node] = ev->node_state;
	if (!ev->node_state.up)
		egs_policy_claim_end_node(p, ev->node);
	egs_loans_set_quotas(p);
	return 0;
}

static void advance_clock(struct egs_policy *p, egs_time_t now)
{
	if (now > p->now)
		p->now = now;
}

int egs_policy_apply(struct egs_policy *p, const struct egs_event *ev,
		     egs_time_t now)
{
	advance_clock(p, now);
	switch (ev->kind) {
	case EGS_EV_TICK:
		return 0;
	case EGS_EV_USAGE:
		egs_restore_usage(p, &ev->facts, ev->usage);
		return 0;
	case EGS_EV_NODE:
		return apply_node_event(p, ev);
	case EGS_EV_CONF:
		return egs_policy_reload(p, ev->conf);
	default:
		return apply_job_event(p, ev);
	}
}

void egs_policy_update(struct egs_policy *p, egs_time_t now)
{
	advance_clock(p, now);
	egs_loans_update(p);
	egs_requester_confirm_all(p);
	egs_deadline_check_all(p);
	egs_policy_claim_expire(p);
	egs_withdraw_unneeded(p);
	egs_wish_update(p);
	egs_preempt_release_jobs(p);
	egs_shrink_update(p);
	egs_idle_update(p);
}

void egs_policy_recompute_all(struct egs_policy *p, egs_time_t now)
{
	advance_clock(p, now);
	egs_loans_mark_dirty(p);
	egs_policy_update(p, now);
	egs_rank_recompute(p);
}

const struct egs_action *egs_policy_actions(const struct egs_policy *p,
					    size_t *n)
{
	*n = p->nactions;
	return p->action;
}

bool egs_policy_rows_changed(const struct egs_policy *p)
{
	return p->rows_changed;
}

bool egs_policy_claims_changed(const struct egs_policy *p)
{
	return p->claims_changed;
}

void egs_policy_clear_actions(struct egs_policy *p)
{
	p->nactions = 0;
	p->rows_changed = p->claims_changed = false;
	p->wish_reason = p->wish_by = NULL;
}
