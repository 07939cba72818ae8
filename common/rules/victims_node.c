/* victims_node.c - the best set of victims on one node
 *
 * Sets are compared by their strongest member, then by what members of that
 * class cost, then by what all cost.  So a stronger job goes only when the
 * weaker ones do not suffice, and cost decides only among equals.
 */
#include "common/rules/victims_node.h"

struct option {
	uint64_t bits;
	uint64_t top_cost, cost;
	uint32_t top;
};

/* Holds of one place whose jobs are not chosen yet, weakest class first. */
struct local {
	const struct egs_scene *s;
	const struct egs_hold *first;
	uint8_t at[EGS_NODE_HOLDS]; /* first + at[i] */
	uint32_t n;
	struct egs_room room; /* free, and what the chosen leave */
};

void egs_room_add(struct egs_room *room, const struct egs_hold *hold)
{
	room->gpus += hold->gpus;
	room->cores += hold->cores;
	room->mem_mb += hold->mem_mb;
}

static void room_take(struct egs_room *room, const struct egs_hold *hold)
{
	room->gpus -= hold->gpus;
	room->cores -= hold->cores;
	room->mem_mb -= hold->mem_mb;
}

bool egs_room_covers(const struct egs_room *room, const struct egs_need *need)
{
	return room->gpus >= need->gpus && room->cores >= need->cores &&
	       room->mem_mb >= need->mem_mb;
}

static const struct egs_hold *hold_of(const struct local *l, uint32_t i)
{
	return l->first + l->at[i];
}

static const struct egs_cand *cand_of(const struct local *l, uint32_t i)
{
	return &l->s->cand[hold_of(l, i)->cand];
}

static uint64_t price(const struct egs_cand *c)
{
	return c->asked ? 0 : c->cost + EGS_VICTIM_CHARGE;
}

/* Is candidate 'a' to go before 'b'? */
static bool before(const struct egs_cand *a, const struct egs_cand *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->asked != b->asked)
		return a->asked;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	return a->job_id < b->job_id;
}

static void insert(struct local *l, uint8_t h)
{
	const struct egs_cand *c = &l->s->cand[l->first[h].cand];
	uint32_t i = l->n++;

	for (; i > 0 && before(c, cand_of(l, i - 1)); i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = h;
}

static void gather(struct local *l, const struct egs_scene *s,
		   const struct egs_place *p)
{
	*l = (struct local){
		.s = s,
		.first = s->hold + p->first,
		.room = { p->gpus, p->cores, p->mem_mb },
	};
	for (uint32_t h = 0; h < p->holds; h++) {
		if (s->cand[l->first[h].cand].chosen)
			egs_room_add(&l->room, &l->first[h]);
		else if (h < EGS_NODE_HOLDS)
			insert(l, (uint8_t)h);
	}
}

/* How many, from the bottom of the order, have to be looked at: all up to
 * the class with which P fits.  0 when it does not fit with all of them.
 */
static uint32_t reach(const struct local *l, const struct egs_need *need)
{
	struct egs_room room = l->room;
	uint32_t i = 0;

	while (i < l->n && !egs_room_covers(&room, need))
		egs_room_add(&room, hold_of(l, i++));
	if (!egs_room_covers(&room, need))
		return 0;
	while (i < l->n && cand_of(l, i)->class == cand_of(l, i - 1)->class)
		i++;
	return i;
}

/* Weigh the set 'bits' over the first 'n' candidates. */
static struct option weigh(const struct local *l, uint64_t bits, uint32_t n)
{
	struct option o = { 0 };

	for (uint32_t i = n; i-- > 0;) {
		const struct egs_cand *c = cand_of(l, i);

		if (!(bits >> i & 1))
			continue;
		o.bits |= UINT64_C(1) << l->at[i];
		if (c->class > o.top)
			o.top = c->class;
		o.cost += price(c);
		if (c->class == o.top)
			o.top_cost += price(c);
	}
	return o;
}

/* Every set of the first 'n', in an order where each differs from the one
 * before by one candidate.  All that fit have a member of the last class,
 * which is why reach() ends there, so only their costs differ.
 */
static struct option exact(const struct local *l, uint32_t n,
			   const struct egs_need *need)
{
	uint32_t top = cand_of(l, n - 1)->class;
	uint64_t best_top = UINT64_MAX, best_cost = UINT64_MAX, best = 0;
	uint64_t bits = 0, top_cost = 0, cost = 0;
	struct egs_room room = l->room;

	for (uint64_t k = 1; k < UINT64_C(1) << n; k++) {
		uint32_t i = (uint32_t)__builtin_ctzll(k);
		bool in = !(bits >> i & 1);
		uint64_t more = price(cand_of(l, i));

		bits ^= UINT64_C(1) << i;
		(in ? egs_room_add : room_take)(&room, hold_of(l, i));
		cost += in ? more : 0 - more;
		if (cand_of(l, i)->class == top)
			top_cost += in ? more : 0 - more;
		if (!egs_room_covers(&room, need) || top_cost > best_top ||
		    (top_cost == best_top && cost >= best_cost))
			continue;
		best = bits;
		best_top = top_cost;
		best_cost = cost;
	}
	return weigh(l, best, n);
}

/* All of the first 'n', less whom P can do without, strongest first. */
static struct option greedy(const struct local *l, uint32_t n,
			    const struct egs_need *need)
{
	struct egs_room room = l->room;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++) {
		egs_room_add(&room, hold_of(l, i));
		bits |= UINT64_C(1) << i;
	}
	for (uint32_t i = n; i-- > 0;) {
		room_take(&room, hold_of(l, i));
		if (egs_room_covers(&room, need))
			bits &= ~(UINT64_C(1) << i);
		else
			egs_room_add(&room, hold_of(l, i));
	}
	return weigh(l, bits, n);
}

bool egs_node_search(const struct egs_scene *s, struct egs_place *p,
		     const struct egs_need *need, uint32_t top)
{
	struct option o = { 0 };
	struct local l = { 0 };
	uint32_t n;

	gather(&l, s, p);
	if (!egs_room_covers(&l.room, need)) {
		n = reach(&l, need);
		if (n && cand_of(&l, n - 1)->class > top)
			return false;
		if (!n)
			o.top = EGS_NO_SET;
		else if (n <= EGS_NODE_EXACT)
			o = exact(&l, n, need);
		else
			o = greedy(&l, n, need);
	}
	p->option = o.bits;
	p->top = o.top;
	p->top_cost = o.top_cost;
	p->cost = o.cost;
	return true;
}
