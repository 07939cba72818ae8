/* shrink.c - ask a job to continue with fewer GPUs before it is preempted
 *
 * A job declares with shrink-to how many GPUs it can continue with.  If a
 * pending job may take its GPUs, and would fit after the shrink, the running
 * job is asked to shrink.  Until the answer the pending job preempts no job.  A
 * job that has not shrunk by the deadline is not asked again in this run; it
 * can then be preempted like any other.
 *
 * For one pending job only one job is asked to shrink.  If several were
 * asked, a third job could take what the first gave back before the last
 * answered.
 */
#include "policyd/policy/policy_internal.h"

/* Slurm preempts a job in the second in which its protection ends, so ask
 * before that.
 */
#define LEAD_S 10

/* ---- end of a request ---- */

static void end_shrink_request(struct egs_policy *p, struct egs_job *v)
{
	struct egs_job *j = egs_jobs_find(&p->jobs, v->shrink_for);

	v->shrink_for = 0;
	if (!j || j->shrinking_job != v->ident.job_id)
		return;
	j->shrinking_job = 0;
	p->rows_changed = true;
}

void egs_shrink_answered(struct egs_policy *p, struct egs_job *v)
{
	if (!v->shrink_for)
		return;
	v->shrink_refused = v->gpus > v->shrink_to_gpus;
	end_shrink_request(p, v);
}

static bool is_waiting_for_gpus(const struct egs_policy *p,
				const struct egs_job *j)
{
	return egs_job_is_waiting(j) && !j->facts.completing &&
	       j->facts.tier >= 0 && egs_job_needs_gpus(p, j) &&
	       !egs_claim_has_job(&p->claims, j->ident.job_id);
}

static void check_shrink_request(struct egs_policy *p, struct egs_job *v)
{
	const struct egs_job *j = egs_policy_job(p, v->shrink_for);

	if (v->running && !v->preempting && p->now >= v->shrink_deadline)
		v->shrink_refused = true;
	else if (v->running && !v->preempting && is_waiting_for_gpus(p, j) &&
		 j->shrinking_job == v->ident.job_id)
		return;
	end_shrink_request(p, v);
}

/* The job that was asked to shrink for 'j' may have ended. */
static void check_shrinking_job(struct egs_policy *p, struct egs_job *j)
{
	const struct egs_job *v = egs_policy_job(p, j->shrinking_job);

	if (v && v->shrink_for == j->ident.job_id)
		return;
	j->shrinking_job = 0;
	p->rows_changed = true;
}

/* ---- a new request ---- */

/* GPUs on each node; 0: none, or not the same number on all nodes. */
static uint32_t gpus_per_node(const struct egs_job *v)
{
	for (uint32_t i = 1; i < v->nallocs; i++)
		if (v->alloc[i].gpus != v->alloc[0].gpus)
			return 0;
	return v->nallocs ? v->alloc[0].gpus : 0;
}

static uint32_t min_gpus_per_node(const struct egs_job *v)
{
	return (v->facts.shrink_to + v->nallocs - 1) / v->nallocs;
}

static bool can_shrink(const struct egs_policy *p, const struct egs_job *v)
{
	return v->running && v->facts.shrink_to && v->ident.nonce &&
	       !v->preempting && !v->in_floor && !v->shrink_for &&
	       !v->shrink_refused && !v->facts.suspended &&
	       p->conf->live_resize && gpus_per_node(v) > min_gpus_per_node(v);
}

/* Is Mode=enforce for this team (-1: for jobs without a team)? */
static bool is_enforced(const struct egs_policy *p, int team)
{
	enum egs_mode mode =
		team < 0 ? EGS_MODE_INHERIT : p->conf->team[team].mode;

	return (mode ? mode : p->conf->mode) == EGS_MODE_ENFORCE;
}

/* May 'v' be asked to shrink for 'j'?  Only if 'j' could also preempt it. */
static bool may_shrink_for(const struct egs_policy *p, const struct egs_job *j,
			   const struct egs_job *v, struct egs_take_view *row)
{
	struct egs_take_view requester;

	if (!can_shrink(p, v) ||
	    (is_enforced(p, v->facts.team) && !is_enforced(p, j->facts.team)))
		return false;
	egs_query_take_view(p, j, p->now, &requester);
	egs_query_take_view(p, v, p->now, row);
	return !requester.over_limit_pending &&
	       egs_may_take(&requester, row, p->now + LEAD_S) == EGS_TAKE_YES;
}

uint32_t egs_shrink_find_keep(struct egs_policy *p, const struct egs_job *j,
			      const struct egs_job *v, uint32_t least)
{
	if (!can_shrink(p, v))
		return 0;
	if (least < min_gpus_per_node(v))
		least = min_gpus_per_node(v);
	for (uint32_t keep = gpus_per_node(v) - 1; keep >= least; keep--)
		if (egs_victims_fits_if_shrunk(p, j, v, keep))
			return keep;
	return 0;
}

void egs_shrink_request(struct egs_policy *p, struct egs_job *j,
			struct egs_job *v, uint32_t keep,
			const struct egs_idle_info *idle)
{
	struct egs_action a = {
		.kind = EGS_ACT_SHRINK,
		.job = v->ident,
		.team = v->facts.team,
		.requester = j->ident.job_id,
	};

	v->shrink_for = j->ident.job_id;
	v->shrink_to_gpus = keep * v->nallocs;
	v->shrink_deadline = p->now + egs_preempt_answer_s(p, v);
	j->shrinking_job = v->ident.job_id;
	a.preempt.gpus = v->shrink_to_gpus;
	a.preempt.deadline = v->shrink_deadline;
	if (idle)
		a.idle = *idle;
	egs_policy_push_action(p, &a);
	p->rows_changed = true;
}

/* The job of the lowest victim class shrinks, as it would be preempted first.
 */
static void shrink_best_for(struct egs_policy *p, struct egs_job *j)
{
	struct egs_job *best = NULL;
	uint32_t best_class = 0, best_keep = 0;

	if (j->shrinking_job || egs_victims_fits_now(p, j))
		return;
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));) {
		struct egs_take_view row;
		uint32_t keep;

		if (!may_shrink_for(p, j, v, &row) ||
		    (best && egs_victim_class(&row) >= best_class) ||
		    !(keep = egs_shrink_find_keep(p, j, v, 1)))
			continue;
		best = v;
		best_class = egs_victim_class(&row);
		best_keep = keep;
	}
	if (best)
		egs_shrink_request(p, j, best, best_keep, NULL);
}

uint32_t egs_shrink_find_queue_heads(const struct egs_policy *p,
				     struct egs_job *head[EGS_QUEUE_HEADS_MAX])
{
	uint32_t n = 0;

	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		uint32_t at = n;

		if (!is_waiting_for_gpus(p, j))
			continue;
		while (at > 0 && egs_victims_queue_before(p, j, head[at - 1]))
			at--;
		if (at == EGS_QUEUE_HEADS_MAX)
			continue;
		n += n < EGS_QUEUE_HEADS_MAX;
		for (uint32_t k = n - 1; k > at; k--)
			head[k] = head[k - 1];
		head[at] = j;
	}
	return n;
}

void egs_shrink_update(struct egs_policy *p)
{
	struct egs_job *head[EGS_QUEUE_HEADS_MAX];
	bool any = false;
	uint32_t n;

	if (!p->any_can_shrink)
		return;
	p->any_can_shrink = false;
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));) {
		if (v->shrink_for)
			check_shrink_request(p, v);
		if (v->shrinking_job)
			check_shrinking_job(p, v);
		any |= can_shrink(p, v);
		p->any_can_shrink |=
			v->shrink_for || (v->running && v->facts.shrink_to > 0);
	}
	if (!any || egs_victims_snapshot(p) < 0)
		return;
	n = egs_shrink_find_queue_heads(p, head);
	for (uint32_t i = 0; i < n; i++)
		shrink_best_for(p, head[i]);
}
