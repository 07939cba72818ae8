/* find_victims.c - whom a pending job would take from
 *
 * select/egs asks victims.c with what Slurm offers.  This asks it with what
 * the policy knows, for observe mode, `egs why` and the simulator.
 */
#include <stdlib.h>

#include "policyd/policy/policy_internal.h"

static int grow(void **array, uint32_t *room, uint32_t want, size_t size)
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
	return j->used && j->running && j->nparts;
}

static int make_scene(struct egs_policy *p)
{
	struct egs_scene *s = &p->scene;
	uint32_t parts = 0, jobs = 0;
	void *place = s->place, *cand = s->cand, *hold = s->hold;
	int rc;

	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		if (!holds_gpus(&p->jobs.job[i]))
			continue;
		jobs++;
		parts += p->jobs.job[i].nparts;
	}
	rc = grow(&place, &p->place_room, p->nnodes, sizeof(*s->place));
	rc |= grow(&cand, &p->cand_room, jobs, sizeof(*s->cand));
	rc |= grow(&hold, &p->hold_room, parts, sizeof(*s->hold));
	s->place = place;
	s->cand = cand;
	s->hold = hold;
	s->nplaces = p->nnodes;
	s->ncands = s->nholds = 0;
	return rc;
}

static void empty_nodes(struct egs_policy *p)
{
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct egs_node *n = &p->node[i];

		p->scene.place[i] = (struct egs_place){
			.gpus = n->gpus,
			.cores = n->cores,
			.mem_mb = n->mem_mb,
			.type = n->type,
			.closed = !n->up,
		};
	}
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

/* What a running job holds is not free. */
static void occupy(struct egs_policy *p, const struct egs_job *j)
{
	for (uint32_t i = 0; i < j->nparts; i++) {
		const struct egs_part *part = &j->part[i];
		struct egs_place *place;

		if (part->node >= p->nnodes)
			continue;
		place = &p->scene.place[part->node];
		place->gpus = less(place->gpus, part->gpus);
		place->cores = less(place->cores, part->cores);
		place->mem_mb = less(place->mem_mb, part->mem_mb);
	}
}

int egs_take_look(struct egs_policy *p)
{
	if (make_scene(p) < 0)
		return -1;
	empty_nodes(p);
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (holds_gpus(&p->jobs.job[i]))
			occupy(p, &p->jobs.job[i]);
	return 0;
}

static void add_cand(struct egs_policy *p, const struct egs_job *j,
		     const struct egs_row *row)
{
	struct egs_scene *s = &p->scene;
	uint32_t cand = s->ncands++;

	s->cand[cand] = (struct egs_cand){ .cost = egs_rank_cost(p, j),
					   .job_id = j->ident.job_id,
					   .class = egs_victim_class(row),
					   .asked = j->asked };
	for (uint32_t i = 0; i < j->nparts; i++) {
		const struct egs_part *part = &j->part[i];

		if (part->node >= p->nnodes)
			continue;
		s->hold[s->nholds++] = (struct egs_hold){
			.place = part->node,
			.cand = cand,
			.gpus = part->gpus,
			.cores = part->cores,
			.mem_mb = part->mem_mb,
		};
	}
}

static int by_place(const void *a, const void *b)
{
	const struct egs_hold *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->cand < y->cand ? -1 : x->cand > y->cand;
}

static void fill_scene(struct egs_policy *p, const struct egs_row *taker,
		       egs_time_t now)
{
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *j = &p->jobs.job[i];
		struct egs_row row;

		if (!holds_gpus(j) || j->facts.suspended)
			continue;
		egs_view_row(p, j, now, &row);
		if (egs_may_take(taker, &row, now) == EGS_TAKE_YES)
			add_cand(p, j, &row);
	}
	if (p->scene.nholds)
		qsort(p->scene.hold, p->scene.nholds, sizeof(*p->scene.hold),
		      by_place);
}

bool egs_take_fits(struct egs_policy *p, const struct egs_job *j)
{
	p->scene.ncands = p->scene.nholds = 0;
	return egs_victims(&p->scene, &j->facts.need) == 0;
}

/* Cores and memory go with the GPUs; what a step has stays, so this may be too
 * much, and nobody knows before it is tried.
 */
bool egs_take_shrunk(struct egs_policy *p, const struct egs_job *j,
		     const struct egs_job *v, uint32_t keep)
{
	struct egs_scene *s = &p->scene;

	s->cand[0] = (struct egs_cand){ .job_id = v->ident.job_id };
	s->ncands = 1;
	s->nholds = 0;
	for (uint32_t i = 0; i < v->nparts; i++) {
		const struct egs_part *part = &v->part[i];
		uint32_t go = less(part->gpus, keep);

		if (part->node >= p->nnodes || !go)
			continue;
		s->hold[s->nholds++] = (struct egs_hold){
			.place = part->node,
			.gpus = go,
			.cores = part->cores * go / part->gpus,
			.mem_mb = (uint32_t)((uint64_t)part->mem_mb * go /
					     part->gpus),
		};
	}
	if (s->nholds)
		qsort(s->hold, s->nholds, sizeof(*s->hold), by_place);
	return egs_victims(s, &j->facts.need) > 0;
}

int egs_policy_victims(struct egs_policy *p, uint32_t job_id, egs_time_t now,
		       uint32_t *victim, uint32_t max)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	struct egs_row row;
	uint32_t out = 0;
	int n;

	if (!j || egs_take_look(p) < 0)
		return -2;
	egs_view_row(p, j, now, &row);
	fill_scene(p, &row, now);
	n = egs_victims(&p->scene, &j->facts.need);
	for (uint32_t i = 0; i < p->scene.ncands && out < max; i++)
		if (p->scene.cand[i].chosen)
			victim[out++] = p->scene.cand[i].job_id;
	return n;
}

/* GPUs as 'need' wants them, in the scene that was filled last. */
void egs_take_count(const struct egs_policy *p, const struct egs_need *need,
		    uint32_t *free, uint32_t *up)
{
	*free = *up = 0;
	for (uint32_t i = 0; i < p->scene.nplaces; i++) {
		const struct egs_node *n = &p->node[i];

		if (!n->up ||
		    (need->type != EGS_TYPE_ANY && need->type != n->type))
			continue;
		*free += p->scene.place[i].gpus;
		*up += n->gpus;
	}
}

/* A claim was made, the rest is rank. */
bool egs_take_before(const struct egs_policy *p, const struct egs_job *a,
		     const struct egs_job *b)
{
	bool x = egs_claims_has(&p->claims, a->ident.job_id);
	bool y = egs_claims_has(&p->claims, b->ident.job_id);

	if (x != y)
		return x;
	if (a->site_factor != b->site_factor)
		return a->site_factor > b->site_factor;
	return a->ident.job_id < b->ident.job_id;
}

/* Who has a claim has it where its victims are. */
static bool claims_elsewhere(const struct egs_policy *p,
			     const struct egs_job *j,
			     const struct egs_job *victim)
{
	bool any = false;

	for (uint32_t i = 0; i < p->claims.n; i++) {
		if (p->claims.claim[i].turn.job_id != j->ident.job_id)
			continue;
		if (egs_job_is_on(victim, p->claims.claim[i].node))
			return false;
		any = true;
	}
	return any;
}

/* Slurm does not say for whom it chose a victim: the first in the queue that
 * may take from it, 0 if nobody may.
 */
uint32_t egs_take_guess(struct egs_policy *p, const struct egs_job *victim)
{
	const struct egs_job *best = NULL;
	struct egs_row v, row;

	egs_view_row(p, victim, p->now, &v);
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		const struct egs_job *j = &p->jobs.job[i];

		if (!j->used || j->running || j->facts.blocked ||
		    j->facts.completing || j->facts.tier < 0)
			continue;
		if ((best && !egs_take_before(p, j, best)) ||
		    claims_elsewhere(p, j, victim))
			continue;
		egs_view_row(p, j, p->now, &row);
		if (!row.barred &&
		    egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			best = j;
	}
	return best ? best->ident.job_id : 0;
}
