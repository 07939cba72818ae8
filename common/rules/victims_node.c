/* victims_node.c - the best set of victims on one node
 *
 * Sets are compared by their strongest member, then by what members of that
 * class cost, then by what all cost.  So a stronger job goes only when the
 * weaker ones do not suffice, and cost decides only among equals.
 */
#include "common/rules/victims_node.h"

struct victim_set {
	uint64_t bits;
	uint64_t top_cost, cost;
	uint32_t top_class;
};

/* Holds of one place whose jobs are not chosen yet, weakest class first. */
struct node_allocs {
	const struct egs_victim_search *search;
	const struct egs_allocation *first_alloc;
	uint8_t order[EGS_VICTIMS_NODE_MAX]; /* first + at[i] */
	uint32_t n;
	struct egs_victims_room room; /* free, and what the chosen leave */
};

void egs_victims_room_add(struct egs_victims_room *room,
			  const struct egs_allocation *hold)
{
	room->gpus += hold->gpus;
	room->cores += hold->cores;
	room->mem_mb += hold->mem_mb;
}

static void room_subtract(struct egs_victims_room *room,
			  const struct egs_allocation *hold)
{
	room->gpus -= hold->gpus;
	room->cores -= hold->cores;
	room->mem_mb -= hold->mem_mb;
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

/* Is candidate 'a' to go before 'b'? */
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

/* How many, from the bottom of the order, have to be looked at: all up to
 * the class with which P fits.  0 when it does not fit with all of them.
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

/* Weigh the set 'bits' over the first 'n' candidates. */
static struct victim_set make_set(const struct node_allocs *l, uint64_t bits,
				  uint32_t n)
{
	struct victim_set o = { 0 };

	for (uint32_t i = n; i-- > 0;) {
		const struct egs_candidate *c = candidate_at(l, i);

		if (!(bits >> i & 1))
			continue;
		o.bits |= UINT64_C(1) << l->order[i];
		if (c->class > o.top_class)
			o.top_class = c->class;
		o.cost += victim_price(c);
		if (c->class == o.top_class)
			o.top_cost += victim_price(c);
	}
	return o;
}

/* Every set of the first 'n', in an order where each differs from the one
 * before by one candidate.  All that fit have a member of the last class,
 * which is why count_needed() ends there, so only their costs differ.
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

/* All of the first 'n', less whom P can do without, strongest first. */
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
	struct victim_set o = { 0 };
	struct node_allocs l = { 0 };
	uint32_t n;

	collect_allocs(&l, s, p);
	if (!egs_victims_room_covers(&l.room, need)) {
		n = count_needed(&l, need);
		if (n && candidate_at(&l, n - 1)->class > top)
			return false;
		if (!n)
			o.top_class = EGS_VICTIMS_NO_SET;
		else if (n <= EGS_VICTIMS_EXACT_MAX)
			o = search_exact(&l, n, need);
		else
			o = search_greedy(&l, n, need);
	}
	p->victim_bits = o.bits;
	p->top_class = o.top_class;
	p->top_cost = o.top_cost;
	p->cost = o.cost;
	return true;
}
