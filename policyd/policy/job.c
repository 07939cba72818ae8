/* job.c - a job starts, stops, changes */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "policyd/policy/policy_internal.h"

uint32_t egs_job_gpus_wanted(const struct egs_job *j)
{
	return j->facts.total_gpus ? j->facts.total_gpus
				   : j->facts.need.nodes * j->facts.need.gpus;
}

uint32_t egs_job_gpus_counted(const struct egs_job *j)
{
	uint32_t sum = 0;

	for (int t = 0; t < EGS_TYPE_ROWS; t++)
		sum += j->facts.by_type[t];
	return sum ? sum : egs_job_gpus_wanted(j);
}

uint32_t egs_job_gpus_of_first_type(const struct egs_job *j)
{
	uint32_t gpus = j->gpus;

	for (int t = 0; t < EGS_TYPE_ROWS; t++)
		if (t != j->type)
			gpus = egs_sub(gpus, j->facts.by_type[t]);
	return gpus;
}

bool egs_job_is_on_node(const struct egs_job *j, uint32_t node)
{
	for (uint32_t i = 0; i < j->nallocs; i++)
		if (j->alloc[i].node == node)
			return true;
	return false;
}

bool egs_job_needs_gpus(const struct egs_policy *p, const struct egs_job *j)
{
	int phase = j->facts.phase;

	if (phase >= 0 && p->conf->phase[phase].gpus.max == 0)
		return false;
	return j->gpus || egs_job_gpus_wanted(j);
}

static uint64_t type_usage_rate(const struct egs_policy *p,
				const struct egs_job *j, int type,
				uint32_t gpus)
{
	const struct egs_policy_conf *c = p->conf;
	uint32_t rating =
		type < c->ntypes ? c->type[type].rating : EGS_MILLI_ONE;
	uint32_t weight = j->facts.phase < 0 ? EGS_MILLI_ONE
					     : c->phase[j->facts.phase].weight;

	return egs_usage_rate(gpus, rating, weight);
}

uint64_t egs_job_usage_rate(const struct egs_policy *p, const struct egs_job *j)
{
	uint64_t rate =
		type_usage_rate(p, j, j->type, egs_job_gpus_of_first_type(j));

	for (int t = 0; t < egs_policy_ntypes(p); t++)
		if (t != j->type)
			rate += type_usage_rate(p, j, t, j->facts.by_type[t]);
	return rate;
}

/* Start ('on') or stop counting the job's GPUs for its team and workload. */
static void count_usage(struct egs_policy *p, struct egs_job *j, bool on)
{
	int team = j->facts.team, workload = j->facts.workload;

	egs_rank_advance_usage(p, j);
	if (team >= 0)
		p->team_meter[team].gpus += on ? j->gpus : 0 - j->gpus;
	if (workload >= 0)
		p->workload_meter[workload].gpus += on ? j->gpus : 0 - j->gpus;
	if (team >= 0 && !on)
		egs_usage_drop_rate(&p->usage[team], j->usage_rate);
	j->usage_rate = on ? egs_job_usage_rate(p, j) : 0;
	if (team >= 0)
		egs_usage_add_rate(&p->usage[team], j->usage_rate);
}

void egs_job_leave_books(struct egs_policy *p, struct egs_job *j)
{
	count_usage(p, j, false);
	egs_loans_remove_job(p, j);
}

void egs_job_enter_books(struct egs_policy *p, struct egs_job *j, bool owned)
{
	egs_loans_add_job(p, j, owned);
	count_usage(p, j, true);
}

static struct egs_node_alloc *copy_allocs(const struct egs_event *ev)
{
	struct egs_node_alloc *copy =
		calloc(ev->nallocs ? ev->nallocs : 1, sizeof(*copy));

	if (copy && ev->nallocs)
		memcpy(copy, ev->alloc, ev->nallocs * sizeof(*copy));
	return copy;
}

static void set_allocs(struct egs_job *j, const struct egs_event *ev,
		       struct egs_node_alloc *alloc)
{
	free(j->alloc);
	j->alloc = alloc;
	j->nallocs = ev->nallocs;
	j->type = ev->type;
	j->gpus = 0;
	for (uint32_t i = 0; i < ev->nallocs; i++)
		j->gpus += alloc[i].gpus;
}

/* If an earlier daemon saw this start, it has counted the wait already. */
static void begin_run(struct egs_policy *p, struct egs_job *j,
		      const struct egs_event *ev)
{
	egs_wish_job_moved(j);
	j->running = true;
	j->started = ev->since ? ev->since : p->now;
	j->finished = j->late = j->yielded = false;
	j->withdrawing = j->unannounced = j->enforced = false;
	j->yielded_at = j->deadline = 0;
	j->named_requester = 0;
	j->shrink_refused = j->unreachable = j->stalled = false;
	j->idle_warned_at = j->reclaimed_at = 0;
	j->reclaim_for = j->idle_gpus = j->idle_s = 0;
	j->idle_wanted_by = 0;
	if (j->started > j->queued_at &&
	    !egs_restore_is_same_run(j, ev->history))
		j->waited_s += (uint32_t)(j->started - j->queued_at);
}

/* A job that was preempted does not pay for its restart. */
static void charge_start(struct egs_policy *p, struct egs_job *j, bool unseen)
{
	j->start_charged = false;
	if (unseen) {
		egs_restore_charge_run(p, j, p->now);
	} else if (j->facts.team >= 0 && !j->departed_request) {
		egs_usage_charge_start(&p->usage[j->facts.team], j->usage_rate);
		j->start_charged = true;
	}
}

/* A start, or a resize of the same run.  A job that grew must fit in the quota
 * again; a job that shrank stays within quota.
 */
int egs_job_start(struct egs_policy *p, struct egs_job *j,
		  const struct egs_event *ev)
{
	bool fresh = !j->running;
	uint32_t gpus_before = j->gpus;
	struct egs_node_alloc *alloc;
	bool owned, claimed;

	if (egs_loans_reserve(p, j->facts.team, ev->type) < 0)
		return -1;
	alloc = copy_allocs(ev);
	if (!alloc)
		return -1;
	claimed = egs_policy_claim_has_quota(p, j) && j->claim_type == ev->type;
	egs_policy_claim_end(p, j->ident.job_id);
	j->has_owner_claim = false;
	if (!fresh)
		egs_job_leave_books(p, j);
	set_allocs(j, ev, alloc);
	if (fresh)
		begin_run(p, j, ev);
	p->any_can_shrink |= j->facts.shrink_to > 0;
	owned = fresh ? ev->owned || claimed
		      : !j->on_loan && j->gpus <= gpus_before;
	egs_job_enter_books(p, j, owned);
	if (fresh && egs_restore_is_same_run(j, ev->history))
		egs_restore_run(p, j, ev->history);
	if (fresh)
		charge_start(p, j, ev->started_unseen);
	if (fresh)
		egs_preempt_job_restarted(p, j);
	p->rows_changed = true;
	return 0;
}

void egs_job_stop(struct egs_policy *p, struct egs_job *j)
{
	if (!j->running)
		return;
	egs_job_leave_books(p, j);
	free(j->alloc);
	j->alloc = NULL;
	j->nallocs = 0;
	j->gpus = 0;
	j->running = false;
	egs_wish_job_moved(j);
	j->on_loan = j->in_floor = j->over_limit = false;
}

static bool is_same_need(const struct egs_need *a, const struct egs_need *b)
{
	return a->nodes == b->nodes && a->gpus == b->gpus &&
	       a->cores == b->cores && a->mem_mb == b->mem_mb &&
	       a->type == b->type;
}

static bool has_same_facts(const struct egs_facts *a, const struct egs_facts *b)
{
	return is_same_need(&a->need, &b->need) && a->team == b->team &&
	       a->workload == b->workload && a->tier == b->tier &&
	       a->phase == b->phase && a->save_time_s == b->save_time_s &&
	       a->shrink_to == b->shrink_to && a->idle_ok_s == b->idle_ok_s &&
	       a->update_no == b->update_no &&
	       a->can_requeue == b->can_requeue && a->ckpt == b->ckpt &&
	       a->exit_is_final == b->exit_is_final && a->signal == b->signal &&
	       a->signal_batch == b->signal_batch &&
	       a->dependents == b->dependents &&
	       a->not_schedulable == b->not_schedulable &&
	       a->completing == b->completing && a->suspended == b->suspended &&
	       a->departed == b->departed && a->no_preempt == b->no_preempt &&
	       a->awaits_decision == b->awaits_decision &&
	       a->het_job == b->het_job && a->total_gpus == b->total_gpus &&
	       a->held == b->held && a->held_by_admin == b->held_by_admin &&
	       memcmp(a->by_type, b->by_type, sizeof(a->by_type)) == 0;
}

int egs_job_update_facts(struct egs_policy *p, struct egs_job *j,
			 const struct egs_facts *facts)
{
	bool owned = !j->on_loan;

	if (has_same_facts(&j->facts, facts))
		return 0;
	if (egs_loans_reserve(p, facts->team, j->type) < 0)
		return -1;
	if (facts->not_schedulable ||
	    !is_same_need(&j->facts.need, &facts->need))
		egs_policy_claim_end(p, j->ident.job_id);
	if (j->running)
		egs_job_leave_books(p, j);
	j->facts = *facts;
	p->any_can_shrink |= j->facts.shrink_to > 0;
	if (j->running)
		egs_job_enter_books(p, j, owned);
	j->site_factor = egs_rank_site_factor(p, j);
	p->rows_changed = true;
	return 0;
}
