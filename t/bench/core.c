/* core.c - CPU time of the policy, compared with sorting as many records
 *
 * For 1,000 to 100,000 jobs on as many GPUs, prints the time of a full pass
 * (loans, limits, usage, site factors, and the row of every job) relative to
 * qsort() of as many 64-byte records in the same process.  Also prints the time
 * of one arrival (submit, start, update, its row) relative to that sort.  Exits
 * 1 when a ratio is over its limit.  The clock is the CPU time of this thread,
 * so a busy machine does not matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policyd/policy/policy.h"
#include "t/lib/unit/random.h"

#define TEAMS	      40
#define TIERS	      4
#define TYPES	      2
#define NODE_GPUS     8
#define ROUNDS	      5
#define ARRIVALS      200
#define PASS_LIMIT    3.0
#define ARRIVAL_LIMIT 0.05

struct record {
	uint64_t key;
	uint32_t id;
	char rest[52];
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_key(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static double sort_time(uint32_t n)
{
	struct record *r = calloc(n, sizeof(*r));
	double best = 1e9;
	uint64_t seed = n;

	for (int round = 0; r && round < ROUNDS; round++) {
		double start;

		for (uint32_t i = 0; i < n; i++) {
			r[i].key = random_below(&seed, UINT32_MAX);
			r[i].id = i;
		}
		start = seconds();
		qsort(r, n, sizeof(*r), by_key);
		start = seconds() - start;
		best = start < best ? start : best;
	}
	free(r);
	return best;
}

static struct egs_policy_conf *make_conf(uint32_t gpus)
{
	struct egs_policy_conf *c = egs_policy_conf_new();
	char name[16];

	for (int i = 0; i < TYPES; i++) {
		snprintf(name, sizeof(name), "type%d", i);
		egs_conf_add_type(c, name);
	}
	for (int i = 0; i < TIERS; i++) {
		snprintf(name, sizeof(name), "tier%d", i);
		egs_conf_add_tier(c, name);
	}
	for (int i = 0; i < TEAMS; i++) {
		struct egs_team *t;

		snprintf(name, sizeof(name), "team%d", i);
		t = egs_conf_add_team(c, name);
		t->max_gpu_hours = (struct egs_rate){ 1000000, 86400 };
		for (int k = 0; k < TYPES; k++)
			t->quota[k] = gpus / TYPES / TEAMS / 2;
	}
	return c;
}

static struct egs_event job(uint32_t id, uint64_t *seed)
{
	return (struct egs_event){
		.kind = EGS_EV_UPDATED,
		.job = { .nonce = id, .job_id = id, .uid = id % 100 },
		.facts = { .need = { .nodes = 1,
				     .gpus = 1 + random_below(seed, 2),
				     .type = (uint8_t)random_below(seed,
								   TYPES) },
			   .team = (int16_t)random_below(seed, TEAMS),
			   .tier = (int16_t)random_below(seed, TIERS),
			   .workload = -1,
			   .phase = 1,
			   .can_requeue = true,
			   .ckpt = true },
	};
}

static void start(struct egs_policy *p, struct egs_event *ev, uint32_t node,
		  egs_time_t now)
{
	struct egs_node_alloc part = { .node = node,
				       .gpus = ev->facts.need.gpus };

	ev->kind = EGS_EV_STARTED;
	ev->type = ev->facts.need.type;
	ev->alloc = &part;
	ev->nallocs = 1;
	egs_policy_apply(p, ev, now);
	ev->alloc = NULL;
	ev->nallocs = 0;
}

/* Half of the jobs run, on nearly all GPUs; the others are pending. */
static struct egs_policy *populate(const struct egs_policy_conf *c, uint32_t n)
{
	struct egs_policy *p = egs_policy_new(c);
	uint64_t seed = 1;

	for (uint32_t i = 0; i < n / NODE_GPUS; i++) {
		struct egs_event ev = { .kind = EGS_EV_NODE,
					.node = n / NODE_GPUS - 1 - i,
					.node_state = {
						.gpus = NODE_GPUS,
						.type = (uint8_t)(i % TYPES),
						.up = true } };

		egs_policy_apply(p, &ev, 0);
	}
	for (uint32_t i = 1; i <= n; i++) {
		struct egs_event ev = job(i, &seed);

		egs_policy_apply(p, &ev, i);
		if (i % 2)
			start(p, &ev, i % (n / NODE_GPUS), i);
	}
	egs_policy_update(p, n);
	egs_policy_clear_actions(p);
	return p;
}

static uint32_t all_rows(const struct egs_policy *p, egs_time_t now)
{
	uint32_t loans = 0;

	for (uint32_t i = 0; i < egs_policy_nslots(p); i++) {
		const struct egs_job *j = egs_policy_slot(p, i);
		struct egs_take_view row;

		if (j &&
		    egs_policy_take_view(p, j->ident.job_id, now, &row) == 0)
			loans += row.on_loan;
	}
	return loans;
}

static double pass_time(struct egs_policy *p, uint32_t n, uint32_t *loans)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		egs_time_t now = (egs_time_t)n + 600 * (round + INT64_C(1));
		double begin = seconds();

		egs_policy_recompute_all(p, now);
		*loans = all_rows(p, now);
		begin = seconds() - begin;
		best = begin < best ? begin : best;
		egs_policy_clear_actions(p);
	}
	return best;
}

static double arrival_time(struct egs_policy *p, uint32_t n)
{
	egs_time_t now = (egs_time_t)n + 6000;
	uint64_t seed = 2;
	double begin = seconds();

	for (uint32_t i = 1; i <= ARRIVALS; i++) {
		struct egs_event ev = job(n + i, &seed);
		struct egs_take_view row;

		egs_policy_apply(p, &ev, now);
		egs_policy_update(p, now);
		egs_policy_take_view(p, n + i, now, &row);
		start(p, &ev, 0, now);
		egs_policy_update(p, now);
		egs_policy_take_view(p, n + i, now, &row);
		egs_policy_clear_actions(p);
	}
	return (seconds() - begin) / ARRIVALS;
}

static bool measure(uint32_t n)
{
	struct egs_policy_conf *c = make_conf(n);
	struct egs_policy *p = populate(c, n);
	double sort = sort_time(n);
	uint32_t loans;
	double pass = pass_time(p, n, &loans) / sort;
	double arrival = arrival_time(p, n) / sort;

	printf("%7u jobs  sort %8.3f ms  pass %5.2fx (limit %.0fx)  "
	       "arrival %7.4fx (limit %.2fx at 100000)  %u on loan\n",
	       n, 1e3 * sort, pass, PASS_LIMIT, arrival, ARRIVAL_LIMIT, loans);
	egs_policy_free(p);
	egs_policy_conf_free(c);
	return pass <= PASS_LIMIT && (n < 100000 || arrival <= ARRIVAL_LIMIT);
}

#define SCENE_NODES 300

/* A full cluster of jobs with one GPU each, and a job of 'nodes' nodes. */
static void measure_victims(uint32_t nodes)
{
	static struct egs_search_node place[SCENE_NODES];
	static struct egs_candidate cand[SCENE_NODES * NODE_GPUS];
	static struct egs_allocation hold[SCENE_NODES * NODE_GPUS];
	struct egs_victim_search s = { place,
				       cand,
				       hold,
				       SCENE_NODES,
				       SCENE_NODES * NODE_GPUS,
				       SCENE_NODES * NODE_GPUS };
	struct egs_need need = { .nodes = nodes, .gpus = NODE_GPUS / 2 };
	uint64_t seed = 3;
	double begin;
	int n = 0;

	for (uint32_t i = 0; i < s.ncandidates; i++) {
		cand[i] =
			(struct egs_candidate){ .job_id = i,
						.class = random_below(&seed, 3),
						.cost = random_below(&seed,
								     9999) };
		hold[i] = (struct egs_allocation){ .node = i / NODE_GPUS,
						   .candidate = i,
						   .gpus = 1 };
	}
	begin = seconds();
	for (int round = 0; round < ROUNDS; round++)
		n = egs_victims_choose(&s, &need);
	printf("%7u nodes x %u GPUs among %d busy nodes: %d victims in %.0f "
	       "us\n",
	       nodes, need.gpus, SCENE_NODES, n,
	       1e6 * (seconds() - begin) / ROUNDS);
}

int main(void)
{
	bool good = true;

	for (uint32_t n = 1000; n <= 100000; n *= 10)
		good &= measure(n);
	measure_victims(1);
	measure_victims(8);
	if (!good)
		printf("over the limit\n");
	return good ? 0 : 1;
}
