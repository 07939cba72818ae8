/* victims_node.c - the best set of victims on one node
 *
 * Sets are compared by their strongest class, then by the cost of its members,
 * then by the cost of all members.  So a stronger job is chosen only if the
 * weaker jobs do not suffice, and cost decides only within a class.
 */
#include "common/rules/victims_node.h"

struct victim_set {
	uint64_t bits;
	uint64_t top_cost, cost;
	uint32_t top_class;
};

/* Allocations on one node of jobs not chosen yet, weakest class first. */
struct node_allocs {
	const struct egs_victim_search *search;
	const struct egs_allocation *first_alloc;
	uint8_t order[EGS_VICTIMS_NODE_MAX]; /* indices from first_alloc */
	uint32_t n;
	struct egs_victims_room room; /* free, and of the chosen jobs */
};

void egs_victims_room_add(struct egs_victims_room *room,
			  const struct egs_allocation *held)
{
	room->gpus += held->gpus;
	room->cores += held->cores;
	room->mem_mb += held->mem_mb;
}

static void room_subtract(struct egs_victims_room *room,
			  const struct egs_allocation *held)
{
	room->gpus -= held->gpus;
	room->cores -= held->cores;
	room->mem_mb -= held->mem_mb;
}

bool egs_victims_room_covers(const struct egs_victims_room *room,
			     const struct egs_need *need)
{
	return room->gpus >= need->gpus && room->cores >= need->cores &&
	       room->mem_mb >= need->mem_mb;
}

static const struct egs_allocation *alloc_at(const struct node_allocs *l,
					     uint32_t i)
{
	return l->first_alloc + l->order[i];
}

static const struct egs_candidate *candidate_at(const struct node_allocs *l,
						uint32_t i)
{
	return &l->search->candidate[alloc_at(l, i)->candidate];
}

static uint64_t victim_price(const struct egs_candidate *c)
{
	return c->preempting ? 0 : c->cost + EGS_VICTIM_CHARGE;
}

/* Is candidate 'a' preempted before 'b'? */
static bool goes_before(const struct egs_candidate *a,
			const struct egs_candidate *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->preempting != b->preempting)
		return a->preempting;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	return a->job_id < b->job_id;
}

static void insert_sorted(struct node_allocs *l, uint8_t h)
{
	const struct egs_candidate *c =
		&l->search->candidate[l->first_alloc[h].candidate];
	uint32_t i = l->n++;

	for (; i > 0 && goes_before(c, candidate_at(l, i - 1)); i--)
		l->order[i] = l->order[i - 1];
	l->order[i] = h;
}

static void collect_allocs(struct node_allocs *l,
			   const struct egs_victim_search *s,
			   const struct egs_search_node *p)
{
	*l = (struct node_allocs){
		.search = s,
		.first_alloc = s->alloc + p->first_alloc,
		.room = { p->gpus, p->cores, p->mem_mb },
	};
	for (uint32_t h = 0; h < p->nallocs; h++) {
		if (s->candidate[l->first_alloc[h].candidate].chosen)
			egs_victims_room_add(&l->room, &l->first_alloc[h]);
		else if (h < EGS_VICTIMS_NODE_MAX)
			insert_sorted(l, (uint8_t)h);
	}
}

/* Candidates to consider, in order: all up to the class with which P fits.  0:
 * P does not fit even with all of them.
 */
static uint32_t count_needed(const struct node_allocs *l,
			     const struct egs_need *need)
{
	struct egs_victims_room room = l->room;
	uint32_t i = 0;

	while (i < l->n && !egs_victims_room_covers(&room, need))
		egs_victims_room_add(&room, alloc_at(l, i++));
	if (!egs_victims_room_covers(&room, need))
		return 0;
	while (i < l->n &&
	       candidate_at(l, i)->class == candidate_at(l, i - 1)->class)
		i++;
	return i;
}

/* Class and cost of the set 'bits' of the first 'n' candidates. */
static struct victim_set make_set(const struct node_allocs *l, uint64_t bits,
				  uint32_t n)
{
	struct victim_set set = { 0 };

	for (uint32_t i = n; i-- > 0;) {
		const struct egs_candidate *c = candidate_at(l, i);

		if (!(bits >> i & 1))
			continue;
		set.bits |= UINT64_C(1) << l->order[i];
		if (c->class > set.top_class)
			set.top_class = c->class;
		set.cost += victim_price(c);
		if (c->class == set.top_class)
			set.top_cost += victim_price(c);
	}
	return set;
}

/* Try every set of the first 'n' in Gray code order: each differs from the one
 * before by one candidate.  All sets that fit have a member of the last class,
 * because count_needed() ends there, so only their costs differ.
 */
static struct victim_set search_exact(const struct node_allocs *l, uint32_t n,
				      const struct egs_need *need)
{
	uint32_t top = candidate_at(l, n - 1)->class;
	uint64_t best_top = UINT64_MAX, best_cost = UINT64_MAX, best = 0;
	uint64_t bits = 0, top_cost = 0, cost = 0;
	struct egs_victims_room room = l->room;

	for (uint64_t k = 1; k < UINT64_C(1) << n; k++) {
		uint32_t i = (uint32_t)__builtin_ctzll(k);
		bool in = !(bits >> i & 1);
		uint64_t more = victim_price(candidate_at(l, i));

		bits ^= UINT64_C(1) << i;
		(in ? egs_victims_room_add : room_subtract)(&room,
							    alloc_at(l, i));
		cost += in ? more : 0 - more;
		if (candidate_at(l, i)->class == top)
			top_cost += in ? more : 0 - more;
		if (!egs_victims_room_covers(&room, need) ||
		    top_cost > best_top ||
		    (top_cost == best_top && cost >= best_cost))
			continue;
		best = bits;
		best_top = top_cost;
		best_cost = cost;
	}
	return make_set(l, best, n);
}

/* Start with all of the first 'n'.  Drop those that P does not need, the
 * strongest first.
 */
static struct victim_set search_greedy(const struct node_allocs *l, uint32_t n,
				       const struct egs_need *need)
{
	struct egs_victims_room room = l->room;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++) {
		egs_victims_room_add(&room, alloc_at(l, i));
		bits |= UINT64_C(1) << i;
	}
	for (uint32_t i = n; i-- > 0;) {
		room_subtract(&room, alloc_at(l, i));
		if (egs_victims_room_covers(&room, need))
			bits &= ~(UINT64_C(1) << i);
		else
			egs_victims_room_add(&room, alloc_at(l, i));
	}
	return make_set(l, bits, n);
}

bool egs_victims_node_search(const struct egs_victim_search *s,
			     struct egs_search_node *p,
			     const struct egs_need *need, uint32_t top)
{
	struct victim_set set = { 0 };
	struct node_allocs l = { 0 };
	uint32_t n;

	collect_allocs(&l, s, p);
	if (!egs_victims_room_covers(&l.room, need)) {
		n = count_needed(&l, need);
		if (n && candidate_at(&l, n - 1)->class > top)
			return false;
		if (!n)
			set.top_class = EGS_VICTIMS_NO_SET;
		else if (n <= EGS_VICTIMS_EXACT_MAX)
			set = search_exact(&l, n, need);
		else
			set = search_greedy(&l, n, need);
	}
	p->victim_bits = set.bits;
	p->top_class = set.top_class;
	p->top_cost = set.top_cost;
	p->cost = set.cost;
	return true;
}
