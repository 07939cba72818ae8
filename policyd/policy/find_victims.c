/* find_victims.c - whom a pending job would take from
 *
 * select/egs asks victims.c with what Slurm offers.  This asks it with what
 * the policy knows, for observe mode, `egs why` and the simulator.
 */
#include <stdlib.h>

#include "policyd/policy/policy_internal.h"

static int grow_array(void **array, uint32_t *room, uint32_t want, size_t size)
{
	void *more;

	if (want <= *room)
		return 0;
	more = realloc(*array, want * size);
	if (!more)
		return -1;
	*array = more;
	*room = want;
	return 0;
}

static bool holds_gpus(const struct egs_job *j)
{
	return j->used && j->running && j->nallocs;
}

static int resize_search(struct egs_policy *p)
{
	struct egs_victim_search *s = &p->search;
	uint32_t parts = 0, jobs = 0;
	void *place = s->node, *cand = s->candidate, *hold = s->alloc;
	int rc;

	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		if (!holds_gpus(&p->jobs.job[i]))
			continue;
		jobs++;
		parts += p->jobs.job[i].nallocs;
	}
	rc = grow_array(&place, &p->search_node_room, p->nnodes,
			sizeof(*s->node));
	rc |= grow_array(&cand, &p->candidate_room, jobs,
			 sizeof(*s->candidate));
	rc |= grow_array(&hold, &p->alloc_room, parts, sizeof(*s->alloc));
	s->node = place;
	s->candidate = cand;
	s->alloc = hold;
	s->nnodes = p->nnodes;
	s->ncandidates = s->nallocs = 0;
	return rc;
}

static void reset_nodes(struct egs_policy *p)
{
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct egs_node *n = &p->node[i];

		p->search.node[i] = (struct egs_search_node){
			.gpus = n->gpus,
			.cores = n->cores,
			.mem_mb = n->mem_mb,
			.type = n->type,
			.closed = !n->up,
		};
	}
}

static uint32_t sub_or_zero(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

/* What a running job holds is not free. */
static void subtract_job(struct egs_policy *p, const struct egs_job *j)
{
	for (uint32_t i = 0; i < j->nallocs; i++) {
		const struct egs_node_alloc *part = &j->alloc[i];
		struct egs_search_node *place;

		if (part->node >= p->nnodes)
			continue;
		place = &p->search.node[part->node];
		place->gpus = sub_or_zero(place->gpus, part->gpus);
		place->cores = sub_or_zero(place->cores, part->cores);
		place->mem_mb = sub_or_zero(place->mem_mb, part->mem_mb);
	}
}

int egs_victims_snapshot(struct egs_policy *p)
{
	if (resize_search(p) < 0)
		return -1;
	reset_nodes(p);
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (holds_gpus(&p->jobs.job[i]))
			subtract_job(p, &p->jobs.job[i]);
	return 0;
}

static void add_candidate(struct egs_policy *p, const struct egs_job *j,
			  const struct egs_take_view *row)
{
	struct egs_victim_search *s = &p->search;
	uint32_t cand = s->ncandidates++;

	s->candidate[cand] =
		(struct egs_candidate){ .cost = egs_rank_victim_cost(p, j),
					.job_id = j->ident.job_id,
					.class = egs_victim_class(row),
					.preempting = j->preempting };
	for (uint32_t i = 0; i < j->nallocs; i++) {
		const struct egs_node_alloc *part = &j->alloc[i];

		if (part->node >= p->nnodes)
			continue;
		s->alloc[s->nallocs++] = (struct egs_allocation){
			.node = part->node,
			.candidate = cand,
			.gpus = part->gpus,
			.cores = part->cores,
			.mem_mb = part->mem_mb,
		};
	}
}

static int compare_allocs(const void *a, const void *b)
{
	const struct egs_allocation *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static void add_candidates(struct egs_policy *p,
			   const struct egs_take_view *taker, egs_time_t now)
{
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *j = &p->jobs.job[i];
		struct egs_take_view row;

		if (!holds_gpus(j) || j->facts.suspended)
			continue;
		egs_query_take_view(p, j, now, &row);
		if (egs_may_take(taker, &row, now) == EGS_TAKE_YES)
			add_candidate(p, j, &row);
	}
	if (p->search.nallocs)
		qsort(p->search.alloc, p->search.nallocs,
		      sizeof(*p->search.alloc), compare_allocs);
}

bool egs_victims_fits_now(struct egs_policy *p, const struct egs_job *j)
{
	p->search.ncandidates = p->search.nallocs = 0;
	return egs_victims_choose(&p->search, &j->facts.need) == 0;
}

/* Cores and memory go with the GPUs; what a step has stays, so this may be too
 * much, and nobody knows before it is tried.
 */
bool egs_victims_fits_if_shrunk(struct egs_policy *p, const struct egs_job *j,
				const struct egs_job *v, uint32_t keep)
{
	struct egs_victim_search *s = &p->search;

	s->candidate[0] = (struct egs_candidate){ .job_id = v->ident.job_id };
	s->ncandidates = 1;
	s->nallocs = 0;
	for (uint32_t i = 0; i < v->nallocs; i++) {
		const struct egs_node_alloc *part = &v->alloc[i];
		uint32_t go = sub_or_zero(part->gpus, keep);

		if (part->node >= p->nnodes || !go)
			continue;
		s->alloc[s->nallocs++] = (struct egs_allocation){
			.node = part->node,
			.gpus = go,
			.cores = part->cores * go / part->gpus,
			.mem_mb = (uint32_t)((uint64_t)part->mem_mb * go /
					     part->gpus),
		};
	}
	if (s->nallocs)
		qsort(s->alloc, s->nallocs, sizeof(*s->alloc), compare_allocs);
	return egs_victims_choose(s, &j->facts.need) > 0;
}

int egs_policy_find_victims(struct egs_policy *p, uint32_t job_id,
			    egs_time_t now, uint32_t *victim, uint32_t max)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	struct egs_take_view row;
	uint32_t out = 0;
	int n;

	if (!j || egs_victims_snapshot(p) < 0)
		return -2;
	egs_query_take_view(p, j, now, &row);
	add_candidates(p, &row, now);
	n = egs_victims_choose(&p->search, &j->facts.need);
	for (uint32_t i = 0; i < p->search.ncandidates && out < max; i++)
		if (p->search.candidate[i].chosen)
			victim[out++] = p->search.candidate[i].job_id;
	return n;
}

/* GPUs as 'need' wants them, in the scene that was filled last. */
void egs_victims_count_gpus(const struct egs_policy *p,
			    const struct egs_need *need, uint32_t *free,
			    uint32_t *up)
{
	*free = *up = 0;
	for (uint32_t i = 0; i < p->search.nnodes; i++) {
		const struct egs_node *n = &p->node[i];

		if (!n->up ||
		    (need->type != EGS_TYPE_ANY && need->type != n->type))
			continue;
		*free += p->search.node[i].gpus;
		*up += n->gpus;
	}
}

/* A claim was made, the rest is rank. */
bool egs_victims_queue_before(const struct egs_policy *p,
			      const struct egs_job *a, const struct egs_job *b)
{
	bool x = egs_claim_has_job(&p->claims, a->ident.job_id);
	bool y = egs_claim_has_job(&p->claims, b->ident.job_id);

	if (x != y)
		return x;
	if (a->site_factor != b->site_factor)
		return a->site_factor > b->site_factor;
	return a->ident.job_id < b->ident.job_id;
}

/* Who has a claim has it where its victims are. */
static bool has_claim_elsewhere(const struct egs_policy *p,
				const struct egs_job *j,
				const struct egs_job *victim)
{
	bool any = false;

	for (uint32_t i = 0; i < p->claims.n; i++) {
		if (p->claims.claim[i].position.job_id != j->ident.job_id)
			continue;
		if (egs_job_is_on_node(victim, p->claims.claim[i].node))
			return false;
		any = true;
	}
	return any;
}

/* Slurm does not say for whom it chose a victim: the first in the queue that
 * may take from it, 0 if nobody may.
 */
uint32_t egs_victims_guess_requester(struct egs_policy *p,
				     const struct egs_job *victim)
{
	const struct egs_job *best = NULL;
	struct egs_take_view v, row;

	egs_query_take_view(p, victim, p->now, &v);
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *j = &p->jobs.job[i];

		if (!j->used || j->running || j->facts.not_schedulable ||
		    j->facts.completing || j->facts.tier < 0)
			continue;
		if ((best && !egs_victims_queue_before(p, j, best)) ||
		    has_claim_elsewhere(p, j, victim))
			continue;
		egs_query_take_view(p, j, p->now, &row);
		if (!row.over_limit_pending &&
		    egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			best = j;
	}
	return best ? best->ident.job_id : 0;
}
