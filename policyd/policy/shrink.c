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
	HEADS_MAX = 16,
};

/* ---- a request is over ---- */

static void end_request(struct egs_policy *p, struct egs_job *v)
{
	uint32_t slot = egs_jobs_find(&p->jobs, v->shrink_for);
	struct egs_job *j = slot == EGS_NO_SLOT ? NULL : &p->jobs.job[slot];

	v->shrink_for = 0;
	if (!j || j->shrinker != v->ident.job_id)
		return;
	j->shrinker = 0;
	egs_policy_act(p, EGS_ACT_ROW, j);
}

void egs_fewer_answered(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *v = &p->jobs.job[slot];

	if (!v->shrink_for)
		return;
	v->shrink_no = v->gpus > v->shrink_keep;
	end_request(p, v);
}

static bool waits(const struct egs_policy *p, const struct egs_job *j)
{
	return j && !j->running && !j->facts.blocked && !j->facts.completing &&
	       j->facts.tier >= 0 && egs_job_needs_gpus(p, j) &&
	       !egs_claims_has(&p->claims, j->ident.job_id);
}

static void look_at(struct egs_policy *p, struct egs_job *v)
{
	const struct egs_job *j = egs_policy_job(p, v->shrink_for);

	if (v->running && !v->asked && p->now >= v->shrink_until)
		v->shrink_no = true;
	else if (v->running && !v->asked && waits(p, j) &&
		 j->shrinker == v->ident.job_id)
		return;
	end_request(p, v);
}

/* Who was asked for 'j' may be gone altogether. */
static void look_back(struct egs_policy *p, struct egs_job *j)
{
	const struct egs_job *v = egs_policy_job(p, j->shrinker);

	if (v && v->shrink_for == j->ident.job_id)
		return;
	j->shrinker = 0;
	egs_policy_act(p, EGS_ACT_ROW, j);
}

/* ---- a request is made ---- */

/* GPUs on each node; 0: not the same on all, or none. */
static uint32_t per_node(const struct egs_job *v)
{
	for (uint32_t i = 1; i < v->nparts; i++)
		if (v->part[i].gpus != v->part[0].gpus)
			return 0;
	return v->nparts ? v->part[0].gpus : 0;
}

/* Below how many on each node it does not go. */
static uint32_t least(const struct egs_job *v)
{
	return (v->facts.shrink_to + v->nparts - 1) / v->nparts;
}

static bool can_shrink(const struct egs_policy *p, const struct egs_job *v)
{
	return v->used && v->running && v->facts.shrink_to && v->ident.nonce &&
	       !v->asked && !v->floor && !v->shrink_for && !v->shrink_no &&
	       !v->facts.suspended && p->conf->live_resize &&
	       per_node(v) > least(v);
}

/* May 'v' be asked for 'j'?  Not where it could not be made to go either. */
static bool may_ask(const struct egs_policy *p, const struct egs_job *j,
		    const struct egs_job *v, struct egs_row *row)
{
	struct egs_row taker;

	if (!can_shrink(p, v) || (egs_policy_enforces(p, v->facts.team) &&
				  !egs_policy_enforces(p, j->facts.team)))
		return false;
	egs_view_row(p, j, p->now, &taker);
	egs_view_row(p, v, p->now, row);
	return !taker.barred &&
	       egs_may_take(&taker, row, p->now + LEAD_S) == EGS_TAKE_YES;
}

/* The most it can keep on each node so that 'j' fits; 0: that does not help. */
static uint32_t find_keep(struct egs_policy *p, const struct egs_job *j,
			  const struct egs_job *v)
{
	for (uint32_t keep = per_node(v) - 1; keep >= least(v); keep--)
		if (egs_take_shrunk(p, j, v, keep))
			return keep;
	return 0;
}

static void ask(struct egs_policy *p, struct egs_job *j, struct egs_job *v,
		uint32_t keep)
{
	struct egs_action a = {
		.kind = EGS_ACT_SHRINK,
		.observe = !egs_policy_enforces(p, v->facts.team),
		.job = v->ident,
		.team = v->facts.team,
		.type = v->type,
		.by = j->ident.job_id,
	};

	v->shrink_for = j->ident.job_id;
	v->shrink_keep = keep * v->nparts;
	v->shrink_until = p->now + egs_job_grace(p, v);
	j->shrinker = v->ident.job_id;
	a.notice.gpus = v->shrink_keep;
	a.notice.deadline = v->shrink_until;
	egs_policy_push(p, &a);
	egs_policy_act(p, EGS_ACT_ROW, j);
}

/* Victims come from the bottom of the order, and so does who shrinks. */
static void ask_for(struct egs_policy *p, struct egs_job *j)
{
	struct egs_job *best = NULL;
	uint32_t best_class = 0, best_keep = 0;

	if (j->shrinker || egs_take_fits(p, j))
		return;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *v = &p->jobs.job[i];
		struct egs_row row;
		uint32_t keep;

		if (!may_ask(p, j, v, &row) ||
		    (best && egs_victim_class(&row) >= best_class) ||
		    !(keep = find_keep(p, j, v)))
			continue;
		best = v;
		best_class = egs_victim_class(&row);
		best_keep = keep;
	}
	if (best)
		ask(p, j, best, best_keep);
}

/* The first in the queue, in its order; how many there are. */
static uint32_t find_heads(struct egs_policy *p,
			   struct egs_job *head[HEADS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];
		uint32_t at = n;

		if (!j->used || !waits(p, j))
			continue;
		while (at > 0 && egs_take_before(p, j, head[at - 1]))
			at--;
		if (at == HEADS_MAX)
			continue;
		n += n < HEADS_MAX;
		for (uint32_t k = n - 1; k > at; k--)
			head[k] = head[k - 1];
		head[at] = j;
	}
	return n;
}

void egs_fewer_settle(struct egs_policy *p)
{
	struct egs_job *head[HEADS_MAX];
	bool able = false;
	uint32_t n;

	if (!p->fewer)
		return;
	p->fewer = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *v = &p->jobs.job[i];

		if (!v->used)
			continue;
		if (v->shrink_for)
			look_at(p, v);
		if (v->shrinker)
			look_back(p, v);
		able |= can_shrink(p, v);
		p->fewer |=
			v->shrink_for || (v->running && v->facts.shrink_to > 0);
	}
	if (!able || egs_take_look(p) < 0)
		return;
	n = find_heads(p, head);
	for (uint32_t i = 0; i < n; i++)
		ask_for(p, head[i]);
}
