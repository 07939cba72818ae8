/* idle.c - GPUs that a job holds and does not use go to a job that waits
 *
 * EGS_EV_IDLE tells how long each GPU of a running job has been idle, and which
 * pending jobs may use its nodes.  It lives until the next update, so that old
 * measurements decide nothing.  A GPU counts as idle after IdleWarn= or
 * IdleYield= of the job's phase, but not within the job's own idle-ok.
 *
 * Nothing happens unless a pending job gains: it fits if the job keeps its busy
 * GPUs, and it neither fits now nor finds victims by the usual rules.  Then the
 * job is warned, and later asked to shrink, or else to yield.  A job yields
 * only if it could not take the GPUs back at once.
 *
 *	idle for IdleWarn         idle for IdleYield, and some time to react
 *	busy -----------> warned -----------------> SHRINK or IDLE_RECLAIM
 *	     <-----------
 *	        busy again
 *
 * A job that comes back begins anew: its GPUs are idle since its start at most.
 */
#include "common/base/grow.h"
#include "policyd/policy/policy_internal.h"

enum {
	/* Time to react to a warning, if IdleYield= leaves that much. */
	REACT_S = 60,
	/* Ask again if the daemon could not carry the action out. */
	RETRY_S = 60,
};

/* ---- an event ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Count the GPUs of 'j' that are idle for at least 'limit_s'.  Both lists are
 * in the order of its nodes.
 */
static struct egs_idle_level measure_level(const struct egs_job *j,
					   const struct egs_event *ev,
					   uint32_t limit_s)
{
	struct egs_idle_level level = { .idle_s = UINT32_MAX };
	uint32_t k = 0;

	for (uint32_t i = 0; i < j->nallocs; i++) {
		const struct egs_node_alloc *alloc = &j->alloc[i];
		uint32_t n = 0;

		for (; k < ev->nidle && ev->idle[k].node == alloc->node; k++) {
			if (ev->idle[k].idle_s < limit_s)
				continue;
			n++;
			if (ev->idle[k].idle_s < level.idle_s)
				level.idle_s = ev->idle[k].idle_s;
		}
		level.gpus += n;
		level.busy = max_u32(level.busy, egs_sub(alloc->gpus, n));
	}
	return level;
}

static void push_idle_action(struct egs_policy *p, enum egs_action_kind kind,
			     const struct egs_job *v, uint32_t requester,
			     const struct egs_idle_level *level)
{
	struct egs_action a = {
		.kind = kind,
		.job = v->ident,
		.team = v->facts.team,
		.requester = requester,
		.idle = { .gpus = level->gpus, .idle_s = level->idle_s },
	};

	egs_policy_push_action(p, &a);
}

/* Has the job reported nothing for 'limit_s'? */
static bool is_silent_for(const struct egs_policy *p, const struct egs_job *j,
			  uint32_t limit_s)
{
	egs_time_t last = j->started;

	if (j->progress_at > last)
		last = j->progress_at;
	if (j->saved_at > last)
		last = j->saved_at;
	return p->now - last >= (egs_time_t)limit_s;
}

/* One note for each time that the job stalls. */
static void check_stalled(struct egs_policy *p, struct egs_job *j,
			  const struct egs_event *ev)
{
	uint32_t limit_s = p->conf->phase[j->facts.phase].stall_after_s;
	struct egs_idle_level level;
	bool stalled;

	if (limit_s == EGS_UNLIMITED)
		return;
	limit_s = max_u32(limit_s, j->facts.idle_ok_s);
	level = measure_level(j, ev, limit_s);
	stalled = j->gpus && level.gpus == j->gpus && !j->preempting &&
		  !j->facts.suspended && is_silent_for(p, j, limit_s);
	if (stalled && !j->stalled)
		push_idle_action(p, EGS_ACT_STALLED, j, 0, &level);
	j->stalled = stalled;
}

static int keep_until_update(struct egs_policy *p, const struct egs_event *ev,
			     const struct egs_idle_level *warn,
			     const struct egs_idle_level *yield)
{
	struct egs_idle_job *e;

	if (egs_grow(&p->idle, &p->idle_room, p->nidle + 1) < 0)
		return -1;
	e = &p->idle[p->nidle++];
	*e = (struct egs_idle_job){ .job_id = ev->job.job_id,
				    .warn = *warn,
				    .yield = *yield };
	while (e->nwaiting < ev->nwaiting &&
	       e->nwaiting < EGS_QUEUE_HEADS_MAX) {
		e->waiting[e->nwaiting] = ev->waiting[e->nwaiting];
		e->nwaiting++;
	}
	return 0;
}

int egs_idle_measured(struct egs_policy *p, struct egs_job *j,
		      const struct egs_event *ev)
{
	struct egs_idle_level warn, yield;
	const struct egs_phase *phase;

	if (!j->running || j->facts.tier < 0 || j->facts.phase < 0)
		return 0;
	phase = &p->conf->phase[j->facts.phase];
	warn = measure_level(j, ev,
			     max_u32(phase->idle_warn_s, j->facts.idle_ok_s));
	yield = measure_level(j, ev,
			      max_u32(phase->idle_yield_s, j->facts.idle_ok_s));
	check_stalled(p, j, ev);
	j->idle_wanted_by = 0;
	j->idle_gpus = warn.gpus;
	j->idle_s = warn.gpus ? warn.idle_s : 0;
	if (!warn.gpus)
		j->idle_warned_at = 0;
	if (!warn.gpus || !ev->nwaiting)
		return 0;
	return keep_until_update(p, ev, &warn, &yield);
}

/* ---- the pending job ---- */

static bool is_asked_for(const struct egs_policy *p, const struct egs_job *v,
			 uint32_t requester)
{
	return (v->preempting && v->requester == requester) ||
	       (v->reclaim_for == requester &&
		p->now < v->reclaimed_at + RETRY_S);
}

/* Does another job give up GPUs for this one already? */
static bool is_being_served(const struct egs_policy *p, const struct egs_job *j)
{
	if (j->shrinking_job)
		return true;
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));)
		if (v->running && is_asked_for(p, v, j->ident.job_id))
			return true;
	return false;
}

/* Would the job wait on, by the usual rules? */
static bool is_stuck(struct egs_policy *p, const struct egs_job *j,
		     struct egs_take_view *row)
{
	egs_query_take_view(p, j, p->now, row);
	return !row->over_limit_pending && egs_take_needs_victims(row) &&
	       egs_policy_find_victims(p, j->ident.job_id, p->now, NULL, 0) ==
		       -1;
}

/* ---- the idle job ---- */

/* An idle job that could give up GPUs. */
struct candidate {
	struct egs_job *job;
	const struct egs_idle_job *idle;
	uint32_t keep; /* GPUs on each node if it shrinks, 0: it must yield */
	uint32_t class;
	bool due; /* idle for IdleYield= */
};

static bool has_waiting(const struct egs_idle_job *e, uint32_t job_id)
{
	for (uint32_t i = 0; i < e->nwaiting; i++)
		if (e->waiting[i] == job_id)
			return true;
	return false;
}

/* What protects a job from preemption protects its idle GPUs, too. */
static bool may_reclaim(const struct egs_policy *p, const struct egs_job *v,
			const struct egs_job *j,
			const struct egs_take_view *row)
{
	if (!v->running || v->preempting || v->deadline || v->shrink_for ||
	    v->facts.suspended || v->facts.no_preempt || v->in_floor ||
	    v->facts.het_job ||
	    (v->observed_for && v->observed_for != j->ident.job_id) ||
	    p->now < v->reclaimed_at + RETRY_S)
		return false;
	/* While EGS observes, no job answers a request to shrink. */
	if (egs_policy_is_team_observed(p, v->facts.team)
		    ? v->shrink_refused
		    : egs_policy_is_team_observed(p, j->facts.team))
		return false;
	return (!row->not_preemptible || row->on_loan) &&
	       p->now >= row->protected_until;
}

/* May the job be requeued for 'j'?  If it came before 'j' in the order, it
 * would take the GPUs back, and nobody had gained.
 */
static bool may_yield(const struct egs_policy *p, const struct egs_job *v,
		      const struct egs_take_view *row,
		      const struct egs_take_view *requester)
{
	return egs_preempt_fate(p, v) == EGS_FATE_REQUEUE &&
	       !egs_takes_before(row, requester);
}

static bool judge_candidate(struct egs_policy *p, const struct egs_job *j,
			    const struct egs_take_view *requester,
			    const struct egs_idle_job *e, struct candidate *to)
{
	struct egs_job *v = egs_jobs_find(&p->jobs, e->job_id);
	struct egs_take_view row;

	if (!v || !has_waiting(e, j->ident.job_id))
		return false;
	egs_query_take_view(p, v, p->now, &row);
	if (!may_reclaim(p, v, j, &row) ||
	    !egs_victims_fits_if_shrunk(p, j, v, e->warn.busy))
		return false;
	*to = (struct candidate){
		.job = v,
		.idle = e,
		.keep = egs_shrink_find_keep(p, j, v, e->warn.busy),
		.class = egs_victim_class(&row),
		.due = e->yield.gpus &&
		       egs_victims_fits_if_shrunk(p, j, v, e->yield.busy),
	};
	return to->keep || may_yield(p, v, &row, requester);
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->due != b->due)
		return a->due;
	if (!a->keep != !b->keep)
		return a->keep;
	if (a->class != b->class)
		return a->class < b->class;
	if (a->idle->warn.idle_s != b->idle->warn.idle_s)
		return a->idle->warn.idle_s > b->idle->warn.idle_s;
	return a->job->ident.job_id < b->job->ident.job_id;
}

/* ---- warn, then ask ---- */

static uint32_t get_react_s(const struct egs_policy *p, const struct egs_job *v)
{
	const struct egs_phase *phase = &p->conf->phase[v->facts.phase];
	uint32_t between = egs_sub(phase->idle_yield_s, phase->idle_warn_s);

	return between < REACT_S ? between : REACT_S;
}

static void ask_candidate(struct egs_policy *p, struct egs_job *j,
			  const struct candidate *c)
{
	const struct egs_idle_level *level = &c->idle->yield;
	struct egs_job *v = c->job;
	uint32_t keep = egs_shrink_find_keep(p, j, v, level->busy);

	if (keep) {
		egs_shrink_request(
			p, j, v, keep,
			&(struct egs_idle_info){ level->gpus, level->idle_s });
		return;
	}
	v->reclaim_for = j->ident.job_id;
	v->reclaimed_at = p->now;
	push_idle_action(p, EGS_ACT_IDLE_RECLAIM, v, j->ident.job_id, level);
}

/* A warning that was only recorded has reached nobody. */
static bool is_warned(const struct egs_job *v, bool observed)
{
	return v->idle_warned_at && (observed || !v->warn_observed);
}

static void act_on_candidate(struct egs_policy *p, struct egs_job *j,
			     const struct candidate *c)
{
	struct egs_job *v = c->job;
	bool observed = egs_policy_is_team_observed(p, v->facts.team);

	v->idle_wanted_by = j->ident.job_id;
	if (!is_warned(v, observed)) {
		v->idle_warned_at = p->now;
		v->warn_observed = observed;
		push_idle_action(p, EGS_ACT_IDLE_WARN, v, j->ident.job_id,
				 &c->idle->warn);
	} else if (c->due && p->now >= v->idle_warned_at + get_react_s(p, v)) {
		ask_candidate(p, j, c);
	}
}

void egs_policy_set_usable(struct egs_policy *p, uint32_t job_id,
			   const uint64_t *bits, uint32_t n)
{
	if (p->nusable < EGS_QUEUE_HEADS_MAX)
		p->usable[p->nusable++] = (struct egs_usable_nodes){
			.job_id = job_id, .n = n, .bits = bits
		};
}

static const struct egs_usable_nodes *find_usable(const struct egs_policy *p,
						  const struct egs_job *j)
{
	for (uint32_t i = 0; i < p->nusable; i++)
		if (p->usable[i].job_id == j->ident.job_id)
			return &p->usable[i];
	return NULL;
}

static void reclaim_for(struct egs_policy *p, struct egs_job *j)
{
	struct candidate best = { .job = NULL }, c;
	struct egs_take_view row;

	if (is_being_served(p, j) || !is_stuck(p, j, &row))
		return;
	for (uint32_t i = 0; i < p->nidle; i++)
		if (judge_candidate(p, j, &row, &p->idle[i], &c) &&
		    (!best.job || is_better(&c, &best)))
			best = c;
	if (best.job)
		act_on_candidate(p, j, &best);
}

void egs_idle_update(struct egs_policy *p)
{
	struct egs_job *head[EGS_QUEUE_HEADS_MAX];
	uint32_t n = p->nidle ? egs_shrink_find_queue_heads(p, head) : 0;

	for (uint32_t i = 0; i < n; i++) {
		p->searched = find_usable(p, head[i]);
		reclaim_for(p, head[i]);
	}
	p->searched = NULL;
	p->nidle = p->nusable = 0;
}

uint32_t egs_policy_list_waiting(const struct egs_policy *p,
				 uint32_t job_id[EGS_QUEUE_HEADS_MAX])
{
	struct egs_job *head[EGS_QUEUE_HEADS_MAX];
	uint32_t n = egs_shrink_find_queue_heads(p, head);

	for (uint32_t i = 0; i < n; i++)
		job_id[i] = head[i]->ident.job_id;
	return n;
}
