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
	is_int(take(1, 1), 0, "a job that fits needs no victim");
	is_int(take(1, 2), 1, "one more GPU needs one victim with one GPU");
	ok(c.cand[b].chosen, "the victim is the job that loses the least work");
	is_int(take(1, 3), 2, "two more GPUs need both weak jobs as victims");
	ok(!c.cand[d].chosen,
	   "the strong job is spared even if it alone would cost less");
	is_int(take(1, 5), 1, "five GPUs need one strong victim");
	ok(c.cand[d].chosen && !c.cand[a].chosen && !c.cand[b].chosen,
	   "weak jobs that are not needed beside the strong victim are spared");
	is_int(take(1, 8), -1, "eight GPUs are not available with any victims");
	ok(!c.cand[d].chosen, "no victim is chosen when no set suffices");
	c.cand[a].preempting = true;
	take(1, 2);
	ok(c.cand[a].chosen && !c.cand[b].chosen,
	   "a job that is already being preempted is chosen first");
}

static void one_old_or_many_new(void)
{
	uint32_t old;

	cluster(1, 0);
	for (int i = 0; i < 4; i++)
		job_on(0, WEAK, 0, 1);
	old = job_on(0, WEAK, 2 * EGS_VICTIM_CHARGE, 4);
	is_int(take(1, 4), 1, "one old job is chosen instead of many new ones");
	ok(c.cand[old].chosen,
	   "the old job with little work to lose is the victim");
	c.cand[old].cost = 4 * EGS_VICTIM_CHARGE;
	is_int(take(1, 4), 4,
	       "many new jobs are chosen if the old one has much more to lose");
}

static void many_nodes(void)
{
	uint32_t wide, narrow;

	cluster(3, 0);
	wide = job(WEAK, 9000);
	holds(wide, 0, 4);
	holds(wide, 1, 4);
	narrow = job_on(2, WEAK, 100, 4);
	is_int(take(1, 4), 1, "one node needs one victim");
	ok(c.cand[narrow].chosen, "the cheaper job is the victim for one node");
	is_int(take(2, 4), 1, "two nodes need the one job that holds both");
	ok(c.cand[wide].chosen && !c.cand[narrow].chosen,
	   "the cheaper job is spared when it is not needed");
	is_int(take(3, 4), 2, "three nodes need both jobs as victims");
	is_int(take(4, 4), -1, "four nodes are not available with any victims");
}

/* Slurm may refuse the best set, for example because of its cores. */
static void next_best(void)
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
	       "the next best set has one victim");
	ok(c.cand[b].chosen && !c.cand[a].chosen,
	   "the next best set is on the second node");
	is_int(egs_victims_choose_next(&c.s, &need), -1,
	       "a third set is not available");
	ok(!c.cand[a].chosen && !c.cand[b].chosen,
	   "no victim is chosen when there is no next set");
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
	       "free GPUs without free cores need a victim");
	ok(c.cand[1].chosen,
	   "the victim for cores is the job that holds enough cores");
	need.mem_mb = 200000;
	is_int(egs_victims_choose(&c.s, &need), -1,
	       "memory that no job holds is not available with any victims");
	need = (struct egs_need){ .nodes = 1, .gpus = 1, .type = A100 };
	is_int(egs_victims_choose(&c.s, &need), -1,
	       "victims of another GPU type do not help");
	need.type = EGS_TYPE_ANY;
	is_int(egs_victims_choose(&c.s, &need), 0,
	       "a job that accepts any GPU type fits on free GPUs");
	is_int((intmax_t)egs_victims_lost_work(8, 600, 60), 5280,
	       "a job with 8 GPUs loses 5280 GPU-seconds 10 minutes after a "
	       "save");
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

/* P fits, and does not fit with any one of the victims left in place. */
static bool is_minimal(const struct egs_need *need)
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
			bad += !is_minimal(&need);
		} else if (n < 0) {
			for (uint32_t k = 0; k < c.s.ncandidates; k++)
				c.cand[k].chosen = true;
			lost += egs_victims_suffice(&c.s, &need);
		}
	}
	ok(sets > 5000, "%d random requests needed victims", sets);
	is_int(bad, 0,
	       "every random set makes P fit and has no member to drop");
	is_int(lost, 0,
	       "no random set is missed where all candidates together suffice");
}

/* The best set of one node by trying all: strongest class, its cost, cost. */
static bool is_beaten(const struct egs_need *need, uint64_t *got)
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
		bad += is_beaten(&need, got);
	}
	is_int(bad, 0, "on one node no other set of up to eight is better");
}

int main(void)
{
	plan_none();
	one_node();
	one_old_or_many_new();
	many_nodes();
	next_best();
	more_than_gpus();
	every_member_counts();
	least_is_lost();
	return done_testing();
}
