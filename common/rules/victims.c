/* victims.c - the set of jobs to preempt so that a requester P fits
 *
 * victims_node.c finds the best set of candidates for each node.  The best
 * nodes are picked one by one; victims of picked nodes also free other nodes.
 * At the end each victim that P does not need is dropped, the strongest first.
 */
#include "common/rules/victims.h"
#include "common/rules/victims_node.h"

uint64_t egs_victims_lost_work(uint32_t gpus, uint32_t since_save_s,
			       uint32_t restart_s)
{
	return (uint64_t)gpus * ((uint64_t)since_save_s + restart_s);
}

static bool is_usable(const struct egs_search_node *p,
		      const struct egs_need *need)
{
	return !p->closed && (need->type == EGS_TYPE_ANY || !need->gpus ||
			      p->type == need->type);
}

/* Does P fit on node 'i' if the chosen jobs are preempted? */
static bool fits_on_node(const struct egs_victim_search *s, uint32_t i,
			 const struct egs_need *need)
{
	const struct egs_search_node *p = &s->node[i];
	struct egs_victims_room room = { p->gpus, p->cores, p->mem_mb };

	if (!is_usable(p, need))
		return false;
	for (uint32_t h = p->first_alloc; h < p->first_alloc + p->nallocs; h++)
		if (s->candidate[s->alloc[h].candidate].chosen)
			egs_victims_room_add(&room, &s->alloc[h]);
	return egs_victims_room_covers(&room, need);
}

bool egs_victims_suffice(const struct egs_victim_search *s,
			 const struct egs_need *need)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < s->nnodes && found < need->nodes; i++)
		found += fits_on_node(s, i, need);
	return found >= need->nodes;
}

/* Index the allocations of each node, and forget an earlier search. */
static void reset_search(struct egs_victim_search *s)
{
	for (uint32_t i = 0; i < s->ncandidates; i++)
		s->candidate[i].chosen = false;
	for (uint32_t i = 0; i < s->nnodes; i++) {
		s->node[i].first_alloc = s->node[i].nallocs = 0;
		s->node[i].picked = false;
		s->node[i].needs_search = true;
	}
	for (uint32_t h = 0; h < s->nallocs; h++) {
		struct egs_search_node *p = &s->node[s->alloc[h].node];

		if (!p->nallocs++)
			p->first_alloc = h;
	}
}

static bool is_cheaper(const struct egs_search_node *a,
		       const struct egs_search_node *b)
{
	if (a->top_class != b->top_class)
		return a->top_class < b->top_class;
	if (a->top_cost != b->top_cost)
		return a->top_cost < b->top_cost;
	return a->cost < b->cost;
}

/* The node where P costs least, or NULL. */
static struct egs_search_node *find_best_node(struct egs_victim_search *s,
					      const struct egs_need *need)
{
	struct egs_search_node *best = NULL;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct egs_search_node *p = &s->node[i];

		if (p->picked || !is_usable(p, need))
			continue;
		if (p->needs_search &&
		    !egs_victims_node_search(s, p, need,
					     best ? best->top_class
						  : EGS_VICTIMS_NO_SET))
			continue;
		p->needs_search = false;
		if (p->top_class != EGS_VICTIMS_NO_SET &&
		    (!best || is_cheaper(p, best)))
			best = p;
	}
	return best;
}

/* Nodes that share a victim with 'p' must be searched again. */
static void pick_node(struct egs_victim_search *s, struct egs_search_node *p)
{
	p->picked = true;
	if (!p->victim_bits)
		return;
	for (uint32_t h = 0; h < p->nallocs; h++)
		if (h < EGS_VICTIMS_NODE_MAX && p->victim_bits >> h & 1)
			s->candidate[s->alloc[p->first_alloc + h].candidate]
				.chosen = true;
	for (uint32_t h = 0; h < s->nallocs; h++)
		if (s->candidate[s->alloc[h].candidate].chosen)
			s->node[s->alloc[h].node].needs_search = true;
}

/* Is victim 'a' dropped from the set before 'b'? */
static bool is_costlier(const struct egs_candidate *a,
			const struct egs_candidate *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	if (a->preempting != b->preempting)
		return b->preempting;
	if (a->cost != b->cost)
		return a->cost > b->cost;
	return a->job_id > b->job_id;
}

struct egs_candidate *egs_victims_costliest(struct egs_victim_search *s,
					    const struct egs_candidate *last)
{
	struct egs_candidate *found = NULL;

	for (uint32_t i = 0; i < s->ncandidates; i++) {
		struct egs_candidate *c = &s->candidate[i];

		if (c->chosen && (!last || is_costlier(last, c)) &&
		    (!found || is_costlier(c, found)))
			found = c;
	}
	return found;
}

/* Drop victims that P does not need, the strongest and costliest first. */
static void drop_unneeded(struct egs_victim_search *s,
			  const struct egs_need *need)
{
	struct egs_candidate *c = NULL;

	while ((c = egs_victims_costliest(s, c))) {
		c->chosen = false;
		c->chosen = !egs_victims_suffice(s, need);
	}
}

static int count_chosen(const struct egs_victim_search *s)
{
	int n = 0;

	for (uint32_t i = 0; i < s->ncandidates; i++)
		n += s->candidate[i].chosen;
	return n;
}

int egs_victims_choose(struct egs_victim_search *s, const struct egs_need *need)
{
	reset_search(s);
	if (egs_victims_suffice(s, need))
		return 0;
	for (uint32_t n = 0; n < need->nodes; n++) {
		struct egs_search_node *p = find_best_node(s, need);

		if (!p) {
			reset_search(s);
			return -1;
		}
		pick_node(s, p);
	}
	drop_unneeded(s, need);
	return count_chosen(s);
}

int egs_victims_choose_next(struct egs_victim_search *s,
			    const struct egs_need *need)
{
	for (uint32_t i = 0; i < s->nnodes; i++)
		s->node[i].closed |=
			s->node[i].picked && s->node[i].victim_bits;
	return egs_victims_choose(s, need);
}
