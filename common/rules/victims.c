/* victims.c - the set of jobs that has to go so that P fits
 *
 * For each node the best set of its own candidates is found (victims_node.c),
 * the best nodes are picked one by one, and what the picked nodes free
 * elsewhere counts for the rest.  At the end each victim that can be dropped is
 * dropped, the strongest first.
 */
#include "common/rules/victims.h"
#include "common/rules/victims_node.h"

uint64_t egs_lost(uint32_t gpus, uint32_t since_save_s, uint32_t restart_s)
{
	return (uint64_t)gpus * ((uint64_t)since_save_s + restart_s);
}

static bool usable(const struct egs_place *p, const struct egs_need *need)
{
	return !p->closed && (need->type == EGS_TYPE_ANY || !need->gpus ||
			      p->type == need->type);
}

/* Does P fit on place 'i' when the chosen are gone? */
static bool fits_on(const struct egs_scene *s, uint32_t i,
		    const struct egs_need *need)
{
	const struct egs_place *p = &s->place[i];
	struct egs_room room = { p->gpus, p->cores, p->mem_mb };

	if (!usable(p, need))
		return false;
	for (uint32_t h = p->first; h < p->first + p->holds; h++)
		if (s->cand[s->hold[h].cand].chosen)
			egs_room_add(&room, &s->hold[h]);
	return egs_room_covers(&room, need);
}

bool egs_victims_fit(const struct egs_scene *s, const struct egs_need *need)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < s->nplaces && found < need->nodes; i++)
		found += fits_on(s, i, need);
	return found >= need->nodes;
}

/* Tell each place where its holds are, and forget an earlier call. */
static void prepare(struct egs_scene *s)
{
	for (uint32_t i = 0; i < s->ncands; i++)
		s->cand[i].chosen = false;
	for (uint32_t i = 0; i < s->nplaces; i++) {
		s->place[i].first = s->place[i].holds = 0;
		s->place[i].picked = false;
		s->place[i].stale = true;
	}
	for (uint32_t h = 0; h < s->nholds; h++) {
		struct egs_place *p = &s->place[s->hold[h].place];

		if (!p->holds++)
			p->first = h;
	}
}

static bool cheaper(const struct egs_place *a, const struct egs_place *b)
{
	if (a->top != b->top)
		return a->top < b->top;
	if (a->top_cost != b->top_cost)
		return a->top_cost < b->top_cost;
	return a->cost < b->cost;
}

/* The place where P costs least, or NULL. */
static struct egs_place *best_place(struct egs_scene *s,
				    const struct egs_need *need)
{
	struct egs_place *best = NULL;

	for (uint32_t i = 0; i < s->nplaces; i++) {
		struct egs_place *p = &s->place[i];

		if (p->picked || !usable(p, need))
			continue;
		if (p->stale &&
		    !egs_node_search(s, p, need, best ? best->top : EGS_NO_SET))
			continue;
		p->stale = false;
		if (p->top != EGS_NO_SET && (!best || cheaper(p, best)))
			best = p;
	}
	return best;
}

/* Places that share a victim with 'p' are to be searched again. */
static void pick(struct egs_scene *s, struct egs_place *p)
{
	p->picked = true;
	if (!p->option)
		return;
	for (uint32_t h = 0; h < p->holds; h++)
		if (h < EGS_NODE_HOLDS && p->option >> h & 1)
			s->cand[s->hold[p->first + h].cand].chosen = true;
	for (uint32_t h = 0; h < s->nholds; h++)
		if (s->cand[s->hold[h].cand].chosen)
			s->place[s->hold[h].place].stale = true;
}

/* Is victim 'a' to be spared before 'b'? */
static bool dearer(const struct egs_cand *a, const struct egs_cand *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	if (a->asked != b->asked)
		return b->asked;
	if (a->cost != b->cost)
		return a->cost > b->cost;
	return a->job_id > b->job_id;
}

struct egs_cand *egs_victims_dearest(struct egs_scene *s,
				     const struct egs_cand *last)
{
	struct egs_cand *found = NULL;

	for (uint32_t i = 0; i < s->ncands; i++) {
		struct egs_cand *c = &s->cand[i];

		if (c->chosen && (!last || dearer(last, c)) &&
		    (!found || dearer(c, found)))
			found = c;
	}
	return found;
}

/* Whoever is not needed stays: the strongest and costliest are tried first. */
static void spare(struct egs_scene *s, const struct egs_need *need)
{
	struct egs_cand *c = NULL;

	while ((c = egs_victims_dearest(s, c))) {
		c->chosen = false;
		c->chosen = !egs_victims_fit(s, need);
	}
}

static int count_chosen(const struct egs_scene *s)
{
	int n = 0;

	for (uint32_t i = 0; i < s->ncands; i++)
		n += s->cand[i].chosen;
	return n;
}

int egs_victims(struct egs_scene *s, const struct egs_need *need)
{
	prepare(s);
	if (egs_victims_fit(s, need))
		return 0;
	for (uint32_t n = 0; n < need->nodes; n++) {
		struct egs_place *p = best_place(s, need);

		if (!p) {
			prepare(s);
			return -1;
		}
		pick(s, p);
	}
	spare(s, need);
	return count_chosen(s);
}

int egs_victims_next(struct egs_scene *s, const struct egs_need *need)
{
	for (uint32_t i = 0; i < s->nplaces; i++)
		s->place[i].closed |= s->place[i].picked && s->place[i].option;
	return egs_victims(s, need);
}
