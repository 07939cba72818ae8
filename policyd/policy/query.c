/* query.c - answers about one job: its row, its fate, why it waits or runs */
#include "policyd/policy/policy_internal.h"

const struct egs_job *egs_policy_job(const struct egs_policy *p,
				     uint32_t job_id)
{
	return egs_jobs_find(&p->jobs, job_id);
}

uint32_t egs_policy_njobs(const struct egs_policy *p)
{
	return p->jobs.ids.used;
}

uint32_t egs_policy_nslots(const struct egs_policy *p)
{
	return p->jobs.ids.nslots;
}

const struct egs_job *egs_policy_slot(const struct egs_policy *p, uint32_t slot)
{
	if (slot >= p->jobs.ids.nslots || !p->jobs.job[slot].used)
		return NULL;
	return &p->jobs.job[slot];
}

uint32_t egs_policy_answer_time(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_preempt_answer_s(p, j) : 0;
}

uint32_t egs_policy_grace(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_preempt_grace_s(p, j) : 0;
}

uint32_t egs_policy_slack(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_deadline_slack_s(p, j) : 0;
}

enum egs_fate egs_policy_fate(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? egs_preempt_fate(p, j) : EGS_FATE_NONE;
}

bool egs_policy_exit_requeues(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j && egs_preempt_exit_requeues(j);
}

static const struct egs_job *find_victim(const struct egs_policy *p,
					 uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j && j->running && j->facts.tier >= 0 ? j : NULL;
}

static uint32_t cap_cost(uint64_t cost)
{
	return cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
}

uint32_t egs_policy_lost_gpu_s(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = find_victim(p, job_id);

	return j ? cap_cost(egs_rank_lost_work(p, j)) : 0;
}

uint32_t egs_policy_victim_cost(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = find_victim(p, job_id);

	return j ? cap_cost(egs_rank_victim_cost(p, j)) : 0;
}

struct egs_quota_use egs_policy_quota_use(const struct egs_policy *p, int team,
					  int type)
{
	const struct egs_loan_book *l = egs_loans_book(p, team, type);
	uint32_t used = l->owned + l->unmanaged;

	return (struct egs_quota_use){
		.quota = p->conf->team[team].quota[type],
		.in_force = l->quota,
		.owned = l->owned,
		.on_loan = l->on_loan,
		.unmanaged = l->unmanaged,
		.idle = used < l->quota ? l->quota - used : 0,
		.max_gpus = l->max_gpus,
	};
}

static uint32_t min_gpus(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t egs_policy_lent(const struct egs_policy *p, int team, int type,
			 uint32_t capacity)
{
	uint64_t owned = 0, loans = 0, idle = 0, before = 0, upto = 0;

	for (int i = 0; i < p->conf->nteams; i++) {
		struct egs_quota_use h = egs_policy_quota_use(p, i, type);
		uint32_t own = min_gpus(h.idle, h.on_loan);

		owned += h.in_force;
		loans += h.on_loan - own;
		if (i == team)
			before = idle;
		idle += h.idle - own;
		if (i == team)
			upto = idle;
	}
	if (capacity > owned)
		loans -= loans < capacity - owned ? loans : capacity - owned;
	if (loans > idle)
		loans = idle;
	return idle ? (uint32_t)(loans * upto / idle - loans * before / idle)
		    : 0;
}

static bool is_budget_used(const struct egs_tier *t, const struct egs_job *j,
			   egs_time_t now)
{
	return t->max_preemptions.count != EGS_UNLIMITED && j->preemptions &&
	       j->preemptions >= t->max_preemptions.count &&
	       now - j->budget_from < t->max_preemptions.per_s;
}

static bool is_loan_overdue(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t now)
{
	return j->on_loan && p->conf->loan_time_s != EGS_UNLIMITED &&
	       now - j->loan_since >= p->conf->loan_time_s;
}

static void fill_running_view(const struct egs_policy *p,
			      const struct egs_job *j, egs_time_t now,
			      struct egs_take_view *row)
{
	const struct egs_tier *t = &p->conf->tier[j->facts.tier];
	uint32_t delay = p->conf->recall_delay_s < t->min_runtime_s
				 ? p->conf->recall_delay_s
				 : t->min_runtime_s;

	row->on_loan = j->on_loan;
	row->type = j->type;
	row->gpus = j->gpus;
	row->slack = j->slack_gpus;
	row->span = j->span_gpus;
	row->protected_until = j->started + t->min_runtime_s;
	row->recall_from = j->started + delay;
	row->over_limit = j->over_limit || is_loan_overdue(p, j, now);
	row->not_preemptible = !t->yields || j->in_floor ||
			       egs_preempt_fate(p, j) == EGS_FATE_NONE;
	if (j->preempting && !j->withdrawing) {
		row->on_loan |= j->preempt_on_loan;
		row->protected_until = row->recall_from = j->started;
		row->not_preemptible = false;
	}
	if (now < j->protected_until)
		row->protected_until = row->recall_from = j->protected_until;
}

void egs_query_take_view(const struct egs_policy *p, const struct egs_job *j,
			 egs_time_t now, struct egs_take_view *row)
{
	struct egs_pending_result r;

	*row = (struct egs_take_view){ .managed = j->facts.tier >= 0 };
	if (!row->managed)
		return;
	row->tier = (uint8_t)j->facts.tier;
	row->team = j->facts.team < 0 ? EGS_NO_TEAM : (uint16_t)j->facts.team;
	row->needs_gpus = egs_job_needs_gpus(p, j);
	row->dependents = egs_rank_dependents(p, j) == EGS_DEPENDENTS_PREEMPT;
	row->preempt_budget_used =
		is_budget_used(&p->conf->tier[row->tier], j, now);
	if (j->running) {
		fill_running_view(p, j, now, row);
		return;
	}
	row->waiting_for_shrink = j->shrinking_job != 0;
	row->het = j->facts.het_job;
	r = egs_pending_evaluate(p, j);
	row->on_loan = r.on_loan;
	row->type = (uint8_t)r.type;
	row->gpus = egs_job_gpus_counted(j);
	row->displaces = r.displaces;
	row->room = r.room;
	row->over_limit_pending = r.held_by != EGS_RULE_FITS;
}

int egs_policy_take_view(const struct egs_policy *p, uint32_t job_id,
			 egs_time_t now, struct egs_take_view *row)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	if (!j)
		return -1;
	egs_query_take_view(p, j, now, row);
	return 0;
}

/* A job stays owned for its MinRuntime, also if a reload or a node that is down
 * makes the quota smaller than what the team uses of it.
 */
static bool is_beyond_quota(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_loan_book *l;

	if (j->facts.team < 0)
		return false;
	l = egs_loans_book(p, j->facts.team, j->type);
	return !j->on_loan && l->owned > l->quota;
}

static void explain_running(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t now, struct egs_why *why)
{
	why->on_loan = j->on_loan;
	why->rule = !j->on_loan	    ? EGS_RULE_OWNED
		    : j->over_limit ? EGS_RULE_OVER_LIMIT
				    : EGS_RULE_ON_LOAN;
	if (is_beyond_quota(p, j)) {
		why->until =
			j->started + p->conf->tier[j->facts.tier].min_runtime_s;
		if (why->until > now)
			why->rule = EGS_RULE_OWNED_FOR_NOW;
	}
	if (!j->preempting)
		return;
	why->rule = j->requester ? EGS_RULE_PREEMPTED_FOR : EGS_RULE_PREEMPTED;
	why->other_job = j->requester;
	why->until = j->deadline;
}

/* Is the job on a node that the last search for victims has not closed? */
static bool is_on_open_node(const struct egs_policy *p, const struct egs_job *v)
{
	for (uint32_t i = 0; i < v->nallocs; i++)
		if (v->alloc[i].node < p->search.nnodes &&
		    !p->search.node[v->alloc[i].node].closed)
			return true;
	return false;
}

/* Among the jobs from which the job could take GPUs: the protection that ends
 * first.
 */
static void find_protection_end(const struct egs_policy *p,
				const struct egs_job *j,
				const struct egs_take_view *row, egs_time_t now,
				struct egs_why *why)
{
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));) {
		struct egs_take_view other;
		egs_time_t until;

		if (!v->running || !v->gpus || v->type != why->type ||
		    !is_on_open_node(p, v) || egs_victims_is_exempt(p, j, v))
			continue;
		egs_query_take_view(p, v, now, &other);
		if (egs_may_take(row, &other, now) != EGS_TAKE_PROTECTED)
			continue;
		until = egs_take_is_recall(row, &other) ? other.recall_from
							: other.protected_until;
		if (why->other_job && until >= why->until)
			continue;
		why->rule = EGS_RULE_PROTECTED;
		why->other_job = v->ident.job_id;
		why->until = until;
	}
}

/* Is the job bound to the nodes of its phase or its tier? */
static bool find_own_nodes(const struct egs_policy *p, const struct egs_job *j,
			   struct egs_why *why)
{
	const struct egs_phase *phase =
		j->facts.phase < 0 ? NULL : &p->conf->phase[j->facts.phase];
	const struct egs_tier *tier = &p->conf->tier[j->facts.tier];

	if (phase && phase->nodes && !phase->spill) {
		why->nodes = phase->nodes;
		why->phase = j->facts.phase;
	} else if (tier->nodes && !tier->spill) {
		why->nodes = tier->nodes;
	}
	return why->nodes != NULL;
}

static bool has_own_node(const struct egs_policy *p, const struct egs_job *j)
{
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (egs_victims_may_use(p, j, &p->node[i]))
			return true;
	return false;
}

/* No running job may be preempted: name the one with the most GPUs. */
static void find_holder(const struct egs_policy *p, const struct egs_job *j,
			struct egs_why *why)
{
	const struct egs_need *need = &j->facts.need;

	egs_victims_count_gpus(p, j, &why->free_gpus, &why->up_gpus);
	if (find_own_nodes(p, j, why)) {
		why->rule = has_own_node(p, j) ? EGS_RULE_OWN_NODES
					       : EGS_RULE_NO_OWN_NODES;
		return;
	}
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));) {
		if (!v->running || v->gpus < why->other_gpus || !v->gpus ||
		    !is_on_open_node(p, v) ||
		    (need->type != EGS_TYPE_ANY && v->type != need->type) ||
		    (v->gpus == why->other_gpus &&
		     v->ident.job_id > why->other_job))
			continue;
		why->other_job = v->ident.job_id;
		why->other_gpus = v->gpus;
	}
	if (why->free_gpus >= why->gpus)
		why->rule = EGS_RULE_FRAGMENTED;
	else if (!why->other_job)
		why->rule = EGS_RULE_TOO_FEW_UP;
	else
		why->rule =
			j->facts.het_job ? EGS_RULE_HET : EGS_RULE_NO_VICTIMS;
}

static bool explain_shrink(const struct egs_policy *p, const struct egs_job *j,
			   struct egs_why *why)
{
	const struct egs_job *v =
		j->shrinking_job ? egs_policy_job(p, j->shrinking_job) : NULL;

	if (!v)
		return false;
	why->rule = EGS_RULE_WAITS_FOR_SHRINK;
	why->other_job = j->shrinking_job;
	why->limit = v->shrink_to_gpus;
	why->until = v->shrink_deadline;
	return true;
}

static void explain_pending(struct egs_policy *p, const struct egs_job *j,
			    egs_time_t now, struct egs_why *why)
{
	struct egs_pending_result r = egs_pending_evaluate(p, j);
	struct egs_take_view row;
	int n;

	why->on_loan = r.on_loan;
	why->type = r.type;
	why->rule = r.held_by;
	why->limit = r.limit;
	if (r.held_by == EGS_RULE_GPU_HOURS)
		why->until = egs_period_end(now, r.per_s);
	if (r.held_by == EGS_RULE_MAX_GPUS)
		why->gpus = r.gpus;
	if (r.held_by == EGS_RULE_MAX_GPUS && j->facts.het_job)
		why->rule = EGS_RULE_HET_MAX_GPUS;
	if (r.held_by != EGS_RULE_FITS || explain_shrink(p, j, why))
		return;
	n = egs_victims_find(p, j, now, &why->other_job);
	why->rule = n > 0 ? EGS_RULE_NEEDS_VICTIMS : EGS_RULE_FITS;
	why->nvictims = n > 0 ? (uint32_t)n : 0;
	if (n != -1)
		return;
	egs_query_take_view(p, j, now, &row);
	find_protection_end(p, j, &row, now, why);
	if (!why->other_job)
		find_holder(p, j, why);
}

/* A job that requests no GPU may get those of whole nodes. */
static bool is_deferred(const struct egs_policy *p, const struct egs_job *j)
{
	return egs_pending_evaluate(p, j).held_by != EGS_RULE_FITS;
}

/* A job that EGS preempted waits until it is released, a job whose processes
 * are still ending waits for them, and other jobs wait for Slurm.
 */
static void explain_not_schedulable(const struct egs_job *j,
				    struct egs_why *why)
{
	why->other_job = j->departed_for;
	if (j->facts.completing)
		why->rule = EGS_RULE_COMPLETING;
	else if (!j->facts.departed)
		why->rule = EGS_RULE_NOT_SCHEDULABLE;
	else
		why->rule = j->departed_for ? EGS_RULE_REQUEUED_FOR
					    : EGS_RULE_REQUEUED;
}

static void fill_team_numbers(const struct egs_policy *p, struct egs_why *why)
{
	const struct egs_loan_book *l;

	if (why->team < 0 || why->type < 0 || why->type >= egs_policy_ntypes(p))
		return;
	l = egs_loans_book(p, why->team, why->type);
	why->quota = l->quota;
	why->owned = l->owned;
	why->team_on_loan = l->on_loan;
}

int egs_policy_why(struct egs_policy *p, uint32_t job_id, egs_time_t now,
		   struct egs_why *why)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	if (!j)
		return -1;
	*why = (struct egs_why){
		.job_id = job_id,
		.team = j->facts.team,
		.tier = j->facts.tier,
		.phase = -1,
		.type = j->running ? j->type : j->facts.need.type,
		.gpus = j->running ? j->gpus : egs_job_gpus_wanted(j)
	};
	if (j->facts.tier < 0)
		why->rule = EGS_RULE_UNMANAGED;
	else if (j->running)
		explain_running(p, j, now, why);
	else if (j->facts.not_schedulable || j->facts.completing)
		explain_not_schedulable(j, why);
	else if (!egs_job_needs_gpus(p, j) && !is_deferred(p, j))
		why->rule = EGS_RULE_NO_GPUS;
	else
		explain_pending(p, j, now, why);
	fill_team_numbers(p, why);
	return 0;
}
