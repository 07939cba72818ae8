/* op_shrink.c - who can go on with fewer GPUs is asked before it has to go
 *
 * A job says so with shrink-to.  When a job that waits may take from it, and
 * would fit if it shrank, it is asked to: once in a run, unless it answers.
 * While it is asked the job it is asked for takes from nobody.  If there is no
 * answer until the deadline, or one that helps nobody, all goes on as with any
 * other victim.
 *
 * One job is asked for one that waits, never several: what the first of them
 * gave back could be gone before the last has answered.
 */
#include "policyd/policy/policy_internal.h"

enum {
	/* Slurm takes from a job in the second in which its protection ends,
	 * so it is asked before that.
	 */
	LEAD_S = 10,
	/* The first in the queue are looked at, as Slurm does. */
	QUEUE_HEADS_MAX = 16,
};

/* ---- a request is over ---- */

static void end_shrink_request(struct egs_policy *p, struct egs_job *v)
{
	uint32_t slot = egs_jobs_find(&p->jobs, v->shrink_for);
	struct egs_job *j = slot == EGS_NO_SLOT ? NULL : &p->jobs.job[slot];

	v->shrink_for = 0;
	if (!j || j->shrinking_job != v->ident.job_id)
		return;
	j->shrinking_job = 0;
	p->rows_changed = true;
}

void egs_shrink_answered(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *v = &p->jobs.job[slot];

	if (!v->shrink_for)
		return;
	v->shrink_refused = v->gpus > v->shrink_to_gpus;
	end_shrink_request(p, v);
}

static bool is_waiting_for_gpus(const struct egs_policy *p,
				const struct egs_job *j)
{
	return j && !j->running && !j->facts.not_schedulable &&
	       !j->facts.completing && j->facts.tier >= 0 &&
	       egs_job_needs_gpus(p, j) &&
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

/* Who was asked for 'j' may be gone altogether. */
static void check_shrinking_job(struct egs_policy *p, struct egs_job *j)
{
	const struct egs_job *v = egs_policy_job(p, j->shrinking_job);

	if (v && v->shrink_for == j->ident.job_id)
		return;
	j->shrinking_job = 0;
	p->rows_changed = true;
}

/* ---- a request is made ---- */

/* GPUs on each node; 0: not the same on all, or none. */
static uint32_t gpus_per_node(const struct egs_job *v)
{
	for (uint32_t i = 1; i < v->nallocs; i++)
		if (v->alloc[i].gpus != v->alloc[0].gpus)
			return 0;
	return v->nallocs ? v->alloc[0].gpus : 0;
}

/* Below how many on each node it does not go. */
static uint32_t min_gpus_per_node(const struct egs_job *v)
{
	return (v->facts.shrink_to + v->nallocs - 1) / v->nallocs;
}

static bool can_shrink(const struct egs_policy *p, const struct egs_job *v)
{
	return v->used && v->running && v->facts.shrink_to && v->ident.nonce &&
	       !v->preempting && !v->in_floor && !v->shrink_for &&
	       !v->shrink_refused && !v->facts.suspended &&
	       p->conf->live_resize && gpus_per_node(v) > min_gpus_per_node(v);
}

/* May 'v' be asked for 'j'?  Not where it could not be made to go either. */
static bool may_shrink_for(const struct egs_policy *p, const struct egs_job *j,
			   const struct egs_job *v, struct egs_take_view *row)
{
	struct egs_take_view taker;

	if (!can_shrink(p, v) || (egs_policy_is_enforced(p, v->facts.team) &&
				  !egs_policy_is_enforced(p, j->facts.team)))
		return false;
	egs_query_take_view(p, j, p->now, &taker);
	egs_query_take_view(p, v, p->now, row);
	return !taker.over_limit_pending &&
	       egs_may_take(&taker, row, p->now + LEAD_S) == EGS_TAKE_YES;
}

/* The most it can keep on each node so that 'j' fits; 0: that does not help. */
static uint32_t find_gpus_to_keep(struct egs_policy *p, const struct egs_job *j,
				  const struct egs_job *v)
{
	for (uint32_t keep = gpus_per_node(v) - 1; keep >= min_gpus_per_node(v);
	     keep--)
		if (egs_victims_fits_if_shrunk(p, j, v, keep))
			return keep;
	return 0;
}

static void request_shrink(struct egs_policy *p, struct egs_job *j,
			   struct egs_job *v, uint32_t keep)
{
	struct egs_action a = {
		.kind = EGS_ACT_SHRINK,
		.job = v->ident,
		.team = v->facts.team,
		.requester = j->ident.job_id,
	};

	v->shrink_for = j->ident.job_id;
	v->shrink_to_gpus = keep * v->nallocs;
	v->shrink_deadline = p->now + egs_preempt_grace_s(p, v);
	j->shrinking_job = v->ident.job_id;
	a.preempt.gpus = v->shrink_to_gpus;
	a.preempt.deadline = v->shrink_deadline;
	egs_policy_push_action(p, &a);
	p->rows_changed = true;
}

/* Victims come from the bottom of the order, and so does who shrinks. */
static void shrink_best_for(struct egs_policy *p, struct egs_job *j)
{
	struct egs_job *best = NULL;
	uint32_t best_class = 0, best_keep = 0;

	if (j->shrinking_job || egs_victims_fits_now(p, j))
		return;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *v = &p->jobs.job[i];
		struct egs_take_view row;
		uint32_t keep;

		if (!may_shrink_for(p, j, v, &row) ||
		    (best && egs_victim_class(&row) >= best_class) ||
		    !(keep = find_gpus_to_keep(p, j, v)))
			continue;
		best = v;
		best_class = egs_victim_class(&row);
		best_keep = keep;
	}
	if (best)
		request_shrink(p, j, best, best_keep);
}

/* The first in the queue, in its order; how many there are. */
static uint32_t find_queue_heads(struct egs_policy *p,
				 struct egs_job *head[QUEUE_HEADS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];
		uint32_t at = n;

		if (!j->used || !is_waiting_for_gpus(p, j))
			continue;
		while (at > 0 && egs_victims_queue_before(p, j, head[at - 1]))
			at--;
		if (at == QUEUE_HEADS_MAX)
			continue;
		n += n < QUEUE_HEADS_MAX;
		for (uint32_t k = n - 1; k > at; k--)
			head[k] = head[k - 1];
		head[at] = j;
	}
	return n;
}

void egs_shrink_update(struct egs_policy *p)
{
	struct egs_job *head[QUEUE_HEADS_MAX];
	bool able = false;
	uint32_t n;

	if (!p->any_can_shrink)
		return;
	p->any_can_shrink = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *v = &p->jobs.job[i];

		if (!v->used)
			continue;
		if (v->shrink_for)
			check_shrink_request(p, v);
		if (v->shrinking_job)
			check_shrinking_job(p, v);
		able |= can_shrink(p, v);
		p->any_can_shrink |=
			v->shrink_for || (v->running && v->facts.shrink_to > 0);
	}
	if (!able || egs_victims_snapshot(p) < 0)
		return;
	n = find_queue_heads(p, head);
	for (uint32_t i = 0; i < n; i++)
		shrink_best_for(p, head[i]);
}
