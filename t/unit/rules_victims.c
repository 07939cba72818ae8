/* rules_victims.c - who has to go: enough, nobody more, the least lost */
#include "common/rules/victims.h"
#include "t/lib/unit/random.h"
#include "t/lib/unit/tap.h"

#define NODES 6
#define JOBS  24
#define H100  0
#define A100  1

enum { WEAK = 10, STRONG = 20 };

/* A small cluster that a story fills in. */
static struct {
	struct egs_search_node place[NODES];
	struct egs_candidate cand[JOBS];
	struct egs_allocation hold[NODES * JOBS];
	struct egs_victim_search s;
} c;

static void cluster(uint32_t nodes, uint32_t free_gpus)
{
	c.s = (struct egs_victim_search){ .node = c.place,
					  .candidate = c.cand,
					  .alloc = c.hold,
					  .nnodes = nodes };
	for (uint32_t i = 0; i < nodes; i++)
		c.place[i] = (struct egs_search_node){ .gpus = free_gpus,
						       .cores = 0,
						       .mem_mb = 100000,
						       .type = H100 };
}

static uint32_t job(uint32_t class, uint64_t cost)
{
	uint32_t i = c.s.ncandidates++;

	c.cand[i] = (struct egs_candidate){ .job_id = 100 + i,
					    .class = class,
					    .cost = cost };
	return i;
}

/* Job 'cand' holds GPUs on 'place', and four cores with each of them. */
static void holds(uint32_t cand, uint32_t place, uint32_t gpus)
{
	uint32_t at = c.s.nallocs++;

	for (; at > 0 && c.hold[at - 1].node > place; at--)
		c.hold[at] = c.hold[at - 1];
	c.hold[at] = (struct egs_allocation){ .node = place,
					      .candidate = cand,
					      .gpus = gpus,
					      .cores = 4 * gpus };
}

static uint32_t job_on(uint32_t place, uint32_t class, uint64_t cost,
		       uint32_t gpus)
{
	uint32_t i = job(class, cost);

	holds(i, place, gpus);
	return i;
}

static int take(uint32_t nodes, uint32_t gpus)
{
	struct egs_need need = { .nodes = nodes, .gpus = gpus, .type = H100 };

	return egs_victims_choose(&c.s, &need);
}

static void one_node(void)
{
	uint32_t a, b, d;

	cluster(1, 1);
	a = job_on(0, WEAK, 500, 1);
	b = job_on(0, WEAK, 100, 1);
	d = job_on(0, STRONG, 0, 4);
	is_int(take(1, 1), 0, "one GPU is free: nobody goes");
	is_int(take(1, 2), 1,
	       "one more GPU needed, one GPU's worth of victims");
	ok(c.cand[b].chosen, "the one that loses least");
	is_int(take(1, 3), 2, "two more: both weak ones");
	ok(!c.cand[d].chosen, "though the strong one alone would do for less");
	is_int(take(1, 5), 1, "five: the strong one");
	ok(c.cand[d].chosen && !c.cand[a].chosen && !c.cand[b].chosen,
	   "and with it nobody else");
	is_int(take(1, 8), -1, "eight do not fit at all");
	ok(!c.cand[d].chosen, "so nobody goes for nothing");
	c.cand[a].preempting = true;
	take(1, 2);
	ok(c.cand[a].chosen && !c.cand[b].chosen,
	   "a job that was asked already goes first");
}

static void no_crowd(void)
{
	uint32_t old;

	cluster(1, 0);
	for (int i = 0; i < 4; i++)
		job_on(0, WEAK, 0, 1);
	old = job_on(0, WEAK, 2 * EGS_VICTIM_CHARGE, 4);
	is_int(take(1, 4), 1, "one old job goes, not a crowd of new ones");
	ok(c.cand[old].chosen, "it is the old one");
	c.cand[old].cost = 4 * EGS_VICTIM_CHARGE;
	is_int(take(1, 4), 4, "unless it has much more to lose");
}

static void many_nodes(void)
{
	uint32_t wide, narrow;

	cluster(3, 0);
	wide = job(WEAK, 9000);
	holds(wide, 0, 4);
	holds(wide, 1, 4);
	narrow = job_on(2, WEAK, 100, 4);
	is_int(take(1, 4), 1, "one node needed: one victim");
	ok(c.cand[narrow].chosen, "the cheap one");
	is_int(take(2, 4), 1, "two nodes: one victim that holds both");
	ok(c.cand[wide].chosen && !c.cand[narrow].chosen,
	   "the cheap one is spared, it is not needed any more");
	is_int(take(3, 4), 2, "three nodes: both");
	is_int(take(4, 4), -1, "four nodes there are not");
}

/* Slurm may know a reason against the best set: cores that lie badly. */
static void the_next(void)
{
	struct egs_need need = { .nodes = 1, .gpus = 2, .type = H100 };
	uint32_t a, b;

	cluster(3, 0);
	a = job_on(0, WEAK, 100, 2);
	b = job_on(1, WEAK, 200, 2);
	job_on(2, WEAK, 300, 1);
	take(1, 2);
	ok(c.cand[a].chosen, "the best set is on the first node");
	is_int(egs_victims_choose_next(&c.s, &need), 1,
	       "the next one is elsewhere");
	ok(c.cand[b].chosen && !c.cand[a].chosen, "on the second");
	is_int(egs_victims_choose_next(&c.s, &need), -1,
	       "and a third there is not");
	ok(!c.cand[a].chosen && !c.cand[b].chosen, "so nobody is chosen");
}

static void more_than_gpus(void)
{
	struct egs_need need = {
		.nodes = 1, .gpus = 1, .cores = 8, .type = H100
	};

	cluster(1, 4);
	job_on(0, WEAK, 10, 1);
	job_on(0, WEAK, 20, 2);
	is_int(egs_victims_choose(&c.s, &need), 1,
	       "GPUs are free but no cores");
	ok(c.cand[1].chosen, "so the one that holds enough of them goes");
	need.mem_mb = 200000;
	is_int(egs_victims_choose(&c.s, &need), -1, "memory that nobody holds");
	need = (struct egs_need){ .nodes = 1, .gpus = 1, .type = A100 };
	is_int(egs_victims_choose(&c.s, &need), -1, "another type is no help");
	need.type = EGS_TYPE_ANY;
	is_int(egs_victims_choose(&c.s, &need), 0, "unless any will do");
	is_int((intmax_t)egs_victims_lost_work(8, 600, 60), 5280,
	       "8 GPUs, 10 minutes after a save: 5280 GPU-seconds with "
	       "restart");
}

static void random_cluster(uint64_t *seed, uint32_t nodes, uint32_t jobs)
{
	cluster(nodes, random_below(seed, 2));
	for (uint32_t i = 0; i < jobs; i++) {
		uint32_t n = random_below(seed, nodes);
		uint32_t cand = job(10 + random_below(seed, 3),
				    random_below(seed, 20000));

		c.cand[cand].preempting = !random_below(seed, 8);
		holds(cand, n, 1 + random_below(seed, 3));
		if (random_below(seed, 3) == 0 && n + 1 < nodes)
			holds(cand, n + 1, 1 + random_below(seed, 3));
	}
}

/* P fits, and with any one of the victims left in place it does not. */
static bool minimal(const struct egs_need *need)
{
	if (!egs_victims_suffice(&c.s, need))
		return false;
	for (uint32_t i = 0; i < c.s.ncandidates; i++) {
		bool fits;

		if (!c.cand[i].chosen)
			continue;
		c.cand[i].chosen = false;
		fits = egs_victims_suffice(&c.s, need);
		c.cand[i].chosen = true;
		if (fits)
			return false;
	}
	return true;
}

static void every_member_counts(void)
{
	uint64_t seed = 11;
	int sets = 0, bad = 0, lost = 0;

	for (int i = 0; i < 20000; i++) {
		struct egs_need need = { .nodes = 1 + random_below(&seed, 3),
					 .gpus = 1 + random_below(&seed, 6),
					 .cores = random_below(&seed, 16),
					 .type = H100 };
		int n;

		random_cluster(&seed, NODES, 1 + random_below(&seed, JOBS));
		n = egs_victims_choose(&c.s, &need);
		if (n > 0) {
			sets++;
			bad += !minimal(&need);
		} else if (n < 0) {
			for (uint32_t k = 0; k < c.s.ncandidates; k++)
				c.cand[k].chosen = true;
			lost += egs_victims_suffice(&c.s, &need);
		}
	}
	ok(sets > 5000, "%d random sets were needed", sets);
	is_int(bad, 0, "each made P fit and none had a member to drop");
	is_int(lost, 0, "and none was missed where all together would do");
}

/* The best set of one node by trying all: strongest class, its cost, cost. */
static bool beaten(const struct egs_need *need, uint64_t *got)
{
	bool beat = false;

	for (uint32_t bits = 1; bits < 1u << c.s.ncandidates; bits++) {
		uint64_t sum[3] = { 0 };

		for (uint32_t i = 0; i < c.s.ncandidates; i++) {
			c.cand[i].chosen = bits >> i & 1;
			if (c.cand[i].chosen && c.cand[i].class > sum[0])
				sum[0] = c.cand[i].class;
		}
		if (!egs_victims_suffice(&c.s, need))
			continue;
		for (uint32_t i = 0; i < c.s.ncandidates; i++) {
			uint64_t p =
				c.cand[i].preempting
					? 0
					: c.cand[i].cost + EGS_VICTIM_CHARGE;

			if (!c.cand[i].chosen)
				continue;
			sum[2] += p;
			sum[1] += c.cand[i].class == sum[0] ? p : 0;
		}
		if (got[0] != sum[0]   ? sum[0] < got[0]
		    : got[1] != sum[1] ? sum[1] < got[1]
				       : sum[2] < got[2])
			beat = true;
	}
	return beat;
}

static void least_is_lost(void)
{
	uint64_t seed = 5;
	int bad = 0;

	for (int i = 0; i < 1000; i++) {
		struct egs_need need = { .nodes = 1,
					 .gpus = 1 + random_below(&seed, 6),
					 .type = H100 };
		uint64_t got[3] = { 0 };

		random_cluster(&seed, 1, 1 + random_below(&seed, 8));
		if (egs_victims_choose(&c.s, &need) <= 0)
			continue;
		got[0] = c.place[0].top_class;
		got[1] = c.place[0].top_cost;
		got[2] = c.place[0].cost;
		bad += beaten(&need, got);
	}
	is_int(bad, 0, "on one node no other set of up to eight is better");
}

int main(void)
{
	plan_none();
	one_node();
	no_crowd();
	many_nodes();
	the_next();
	more_than_gpus();
	every_member_counts();
	least_is_lost();
	return done_testing();
}
