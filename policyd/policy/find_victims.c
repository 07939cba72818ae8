/* find_victims.c - which jobs a pending job would preempt
 *
 * select/egs calls common/rules/victims.c with the nodes that Slurm offers.
 * This file calls it with what the policy knows: for observe mode, `egs why`.
 */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/policy/policy_internal.h"

static bool holds_gpus(const struct egs_job *j)
{
	return j->running && j->nallocs;
}

static int resize_search(struct egs_policy *p)
{
	struct egs_victim_search *s = &p->search;
	uint32_t allocs = 0, jobs = 0;

	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		if (!holds_gpus(j))
			continue;
		jobs++;
		allocs += j->nallocs;
	}
	s->nnodes = s->ncandidates = s->nallocs = 0;
	if (egs_grow(&s->node, &p->search_node_room, p->nnodes) < 0 ||
	    egs_grow(&s->candidate, &p->candidate_room, jobs) < 0 ||
	    egs_grow(&s->alloc, &p->alloc_room, allocs) < 0)
		return -1;
	s->nnodes = p->nnodes;
	return 0;
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

static void subtract_job(struct egs_policy *p, const struct egs_job *j)
{
	for (uint32_t i = 0; i < j->nallocs; i++) {
		const struct egs_node_alloc *held = &j->alloc[i];
		struct egs_search_node *node;

		if (held->node >= p->nnodes)
			continue;
		node = &p->search.node[held->node];
		node->gpus = egs_sub(node->gpus, held->gpus);
		node->cores = egs_sub(node->cores, held->cores);
		node->mem_mb = egs_sub(node->mem_mb, held->mem_mb);
	}
}

int egs_victims_snapshot(struct egs_policy *p)
{
	if (resize_search(p) < 0)
		return -1;
	reset_nodes(p);
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		if (holds_gpus(j))
			subtract_job(p, j);
	return 0;
}

/* Is the row not bound, or is the node in its bits? */
static bool is_within(const char *nodes, bool spill, uint32_t bits, int row)
{
	return !nodes || spill || bits & UINT32_C(1) << row;
}

bool egs_victims_may_use(const struct egs_policy *p, const struct egs_job *j,
			 const struct egs_node *n)
{
	int tier = j->facts.tier, phase = j->facts.phase;

	return (tier < 0 ||
		is_within(p->conf->tier[tier].nodes, p->conf->tier[tier].spill,
			  n->tiers, tier)) &&
	       (phase < 0 ||
		is_within(p->conf->phase[phase].nodes,
			  p->conf->phase[phase].spill, n->phases, phase));
}

/* Does the allocation of 'v' on a node have GPUs of the type that 'j' needs?
 * On a node with several types, a job has GPUs of its own type only.
 */
static bool has_needed_type(const struct egs_policy *p, const struct egs_job *j,
			    const struct egs_job *v, uint32_t node)
{
	return !p->node[node].mixed || j->facts.need.type == EGS_TYPE_ANY ||
	       v->type == j->facts.need.type;
}

/* Only the GPUs of the type that 'j' needs count on a node with several. */
static void count_free_of_type(struct egs_policy *p, const struct egs_job *j)
{
	const uint8_t type = j->facts.need.type;

	for (uint32_t i = 0; i < p->nnodes; i++)
		if (p->node[i].mixed) {
			p->search.node[i].type =
				type == EGS_TYPE_ANY ? p->node[i].type : type;
			p->search.node[i].gpus =
				egs_loans_node_gpus(&p->node[i], type);
		}
	for (struct egs_job *v = NULL; (v = egs_jobs_next(&p->jobs, v));)
		for (uint32_t i = 0; holds_gpus(v) && i < v->nallocs; i++) {
			uint32_t at = v->alloc[i].node;

			if (at < p->nnodes && p->node[at].mixed &&
			    has_needed_type(p, j, v, at))
				p->search.node[at].gpus =
					egs_sub(p->search.node[at].gpus,
						v->alloc[i].gpus);
		}
}

static bool is_searched(const struct egs_policy *p, uint32_t node)
{
	const struct egs_usable_nodes *u = p->searched;

	return !u || node >= u->n || u->bits[node / 64] >> node % 64 & 1;
}

/* Close the nodes of the snapshot where 'j' may not run. */
static void close_nodes(struct egs_policy *p, const struct egs_job *j)
{
	bool mixed = false;

	for (uint32_t i = 0; i < p->nnodes; i++) {
		p->search.node[i].closed =
			!p->node[i].up || !is_searched(p, i) ||
			!egs_victims_may_use(p, j, &p->node[i]);
		mixed |= p->node[i].mixed;
	}
	if (mixed)
		count_free_of_type(p, j);
}

static int choose_victims(struct egs_policy *p, const struct egs_job *j)
{
	close_nodes(p, j);
	return egs_victims_choose(&p->search, &j->facts.need);
}

static void add_candidate(struct egs_policy *p, const struct egs_job *requester,
			  const struct egs_job *j, uint32_t class)
{
	struct egs_victim_search *s = &p->search;
	uint32_t candidate = s->ncandidates++;

	s->candidate[candidate] =
		(struct egs_candidate){ .cost = egs_rank_victim_cost(p, j),
					.job_id = j->ident.job_id,
					.class = class,
					.preempting = j->preempting };
	for (uint32_t i = 0; i < j->nallocs; i++) {
		const struct egs_node_alloc *held = &j->alloc[i];

		if (held->node >= p->nnodes ||
		    !has_needed_type(p, requester, j, held->node))
			continue;
		s->alloc[s->nallocs++] = (struct egs_allocation){
			.node = held->node,
			.candidate = candidate,
			.gpus = held->gpus,
			.cores = held->cores,
			.mem_mb = held->mem_mb,
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

void egs_policy_set_observed(struct egs_policy *p, uint32_t job_id,
			     uint32_t requester)
{
	struct egs_job *j = egs_jobs_find(&p->jobs, job_id);

	if (j)
		j->observed_for = requester;
}

/* Would the job be gone already, if EGS did not only observe? */
static bool is_observed_for_other(const struct egs_job *j, uint32_t requester)
{
	return j->observed_for && j->observed_for != requester;
}

static bool is_never_preempted(const struct egs_job *v)
{
	return v->facts.suspended || v->facts.no_preempt;
}

bool egs_victims_is_exempt(const struct egs_policy *p, const struct egs_job *by,
			   const struct egs_job *v)
{
	return is_never_preempted(v) ||
	       (egs_policy_is_team_observed(p, v->facts.team) &&
		!egs_policy_is_team_observed(p, by->facts.team));
}

void egs_policy_set_team_observed(struct egs_policy *p, int team, bool observed)
{
	p->team_observed[team + 1] = observed;
}

bool egs_policy_is_team_observed(const struct egs_policy *p, int team)
{
	return p->team_observed[team + 1];
}

static void add_candidates(struct egs_policy *p, const struct egs_job *by,
			   const struct egs_take_view *requester,
			   bool all_teams, egs_time_t now)
{
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		struct egs_take_view row;

		if (!holds_gpus(j) ||
		    (all_teams ? is_never_preempted(j)
			       : egs_victims_is_exempt(p, by, j)) ||
		    is_observed_for_other(j, by->ident.job_id))
			continue;
		egs_query_take_view(p, j, now, &row);
		if (egs_may_take(requester, &row, now) == EGS_TAKE_YES)
			add_candidate(p, by, j,
				      egs_victim_class_for(requester, &row,
							   j->preempting));
	}
	if (p->search.nallocs)
		qsort(p->search.alloc, p->search.nallocs,
		      sizeof(*p->search.alloc), compare_allocs);
}

bool egs_victims_fits_now(struct egs_policy *p, const struct egs_job *j)
{
	p->search.ncandidates = p->search.nallocs = 0;
	return choose_victims(p, j) == 0;
}

/* Assume that cores and memory shrink with the GPUs.  What a running step uses
 * is not given back, so the job may free less than this.
 */
bool egs_victims_fits_if_shrunk(struct egs_policy *p, const struct egs_job *j,
				const struct egs_job *v, uint32_t keep)
{
	struct egs_victim_search *s = &p->search;

	s->candidate[0] = (struct egs_candidate){ .job_id = v->ident.job_id };
	s->ncandidates = 1;
	s->nallocs = 0;
	for (uint32_t i = 0; i < v->nallocs; i++) {
		const struct egs_node_alloc *held = &v->alloc[i];
		uint32_t freed = egs_sub(held->gpus, keep);

		if (held->node >= p->nnodes || !freed ||
		    !has_needed_type(p, j, v, held->node))
			continue;
		s->alloc[s->nallocs++] = (struct egs_allocation){
			.node = held->node,
			.gpus = freed,
			.cores = held->cores * freed / held->gpus,
			.mem_mb = (uint32_t)((uint64_t)held->mem_mb * freed /
					     held->gpus),
		};
	}
	if (s->nallocs)
		qsort(s->alloc, s->nallocs, sizeof(*s->alloc), compare_allocs);
	return choose_victims(p, j) > 0;
}

/* 'all_teams': as if EGS enforced for the teams that it only observes. */
static int find_victims(struct egs_policy *p, const struct egs_job *j,
			bool all_teams, egs_time_t now, uint32_t *victim,
			uint32_t max)
{
	struct egs_take_view row;
	uint32_t out = 0;
	int n;

	if (egs_victims_snapshot(p) < 0)
		return -2;
	egs_query_take_view(p, j, now, &row);
	add_candidates(p, j, &row, all_teams, now);
	n = choose_victims(p, j);
	for (uint32_t i = 0; i < p->search.ncandidates && out < max; i++)
		if (p->search.candidate[i].chosen)
			victim[out++] = p->search.candidate[i].job_id;
	return n;
}

int egs_policy_find_victims(struct egs_policy *p, uint32_t job_id,
			    egs_time_t now, uint32_t *victim, uint32_t max)
{
	const struct egs_job *j = egs_policy_job(p, job_id);

	return j ? find_victims(p, j, true, now, victim, max) : -2;
}

int egs_victims_find(struct egs_policy *p, const struct egs_job *j,
		     egs_time_t now, uint32_t *first)
{
	return find_victims(p, j, false, now, first, 1);
}

void egs_victims_count_gpus(const struct egs_policy *p, const struct egs_job *j,
			    uint32_t *free, uint32_t *up)
{
	const uint8_t type = j->facts.need.type;

	*free = *up = 0;
	for (uint32_t i = 0; i < p->search.nnodes; i++) {
		uint32_t gpus = egs_loans_node_gpus(&p->node[i], type);

		if (p->search.node[i].closed || !gpus)
			continue;
		*free += p->search.node[i].gpus;
		*up += gpus;
	}
}

/* Jobs with a claim come first, the others by their site factor. */
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
