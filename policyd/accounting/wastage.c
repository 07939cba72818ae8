/* wastage.c - what stands idle while earning jobs are blocked, and why */
#include "policyd/accounting/wastage.h"
#include <string.h>

#include "common/rules/victims.h"

const char *egs_cause_name(enum egs_cause cause)
{
	static const char *const names[] = {
		[EGS_CAUSE_UNHEALTHY] = "unhealthy",
		[EGS_CAUSE_RESERVATION] = "reservation",
		[EGS_CAUSE_CONSTRAINT] = "constraint",
		[EGS_CAUSE_QUOTA] = "quota",
		[EGS_CAUSE_GANG] = "gang",
		[EGS_CAUSE_TEARDOWN] = "teardown",
		[EGS_CAUSE_STRANDED] = "stranded",
		[EGS_CAUSE_FRAGMENTATION] = "fragmentation",
		[EGS_CAUSE_LATENCY] = "latency",
	};

	return names[cause];
}

/* When everything idle is charged, so many more are asked whether they fit. */
enum { FIT_JOBS = 1000 };

/* Reckoning under way: of one job the nodes by cause, and what could be its. */
struct reckoning {
	struct egs_wastage *out;
	enum egs_resource what;
	struct egs_idle_node *node;
	uint32_t nnodes;
	uint64_t left; /* of all nodes */
	uint64_t at[EGS_CAUSES];
	uint64_t together; /* idle where the job may go */
	uint64_t fitting;  /* nodes it fits on */
};

static bool type_fits(const struct egs_idle_node *n,
		      const struct egs_blocked *job)
{
	return job->type == EGS_TYPE_ANY || !job->want[EGS_GPUS] ||
	       n->type == job->type;
}

static uint32_t clean(const struct egs_idle_node *n, enum egs_resource what)
{
	return n->idle[what] > n->leaving[what]
		       ? n->idle[what] - n->leaving[what]
		       : 0;
}

/* Neither its partition nor what the job asks for is in the way. */
static bool admits(const struct reckoning *r, const struct egs_idle_node *n,
		   const struct egs_blocked *job)
{
	uint32_t i = (uint32_t)(n - r->node);

	return n->partitions & job->partitions &&
	       (!job->among || job->among[i / 64] >> (i % 64) & 1);
}

static bool usable(const struct reckoning *r, const struct egs_idle_node *n,
		   const struct egs_blocked *job)
{
	return n->up && !n->reserved && admits(r, n, job) && type_fits(n, job);
}

static bool fits_on(const struct egs_idle_node *n,
		    const struct egs_blocked *job)
{
	return clean(n, EGS_GPUS) >= job->want[EGS_GPUS] &&
	       clean(n, EGS_CORES) >= job->want[EGS_CORES] &&
	       n->mem_mb >= job->mem_mb;
}

static uint32_t first_of(uint64_t partitions)
{
	uint32_t bit = 0;

	while (bit < EGS_PARTITIONS_MAX - 1 && !(partitions >> bit & 1))
		bit++;
	return bit;
}

/* All of the cluster that is available, and that the job may use, first. */
static void look_around(struct reckoning *r, const struct egs_blocked *job)
{
	struct egs_wastage *out = r->out;
	uint32_t i;

	r->together = r->fitting = 0;
	for (i = 0; i < r->nnodes; i++) {
		const struct egs_idle_node *n = &r->node[i];

		if (!n->idle[r->what] || !n->up || n->reserved ||
		    !type_fits(n, job))
			continue;
		out->total.available = true;
		out->type[n->type].available = true;
		out->partition[first_of(job->partitions)].available = true;
		if (!admits(r, n, job))
			continue;
		r->together += n->idle[r->what];
		r->fitting += fits_on(n, job);
	}
}

static enum egs_cause cause_on(const struct reckoning *r,
			       const struct egs_idle_node *n,
			       const struct egs_blocked *job)
{
	uint32_t want = job->want[r->what];

	if (!n->up)
		return EGS_CAUSE_UNHEALTHY;
	if (n->reserved)
		return EGS_CAUSE_RESERVATION;
	if (!admits(r, n, job))
		return EGS_CAUSE_CONSTRAINT;
	if (job->limited)
		return EGS_CAUSE_QUOTA;
	if (r->together < (uint64_t)want * job->nodes)
		return EGS_CAUSE_GANG;
	if (clean(n, r->what) < want && n->idle[r->what] >= want)
		return EGS_CAUSE_TEARDOWN;
	if (clean(n, r->what) >= want && !fits_on(n, job))
		return EGS_CAUSE_STRANDED;
	return r->fitting >= job->nodes ? EGS_CAUSE_LATENCY
					: EGS_CAUSE_FRAGMENTATION;
}

static void sort_nodes(struct reckoning *r, const struct egs_blocked *job)
{
	uint32_t i;

	memset(r->at, 0, sizeof(r->at));
	for (i = 0; i < r->nnodes; i++) {
		struct egs_idle_node *n = &r->node[i];

		n->cause = EGS_CAUSES;
		if (!n->left || !type_fits(n, job))
			continue;
		n->cause = (uint8_t)cause_on(r, n, job);
		r->at[n->cause] += n->left;
	}
}

static void charge(struct reckoning *r, struct egs_idle_node *n,
		   uint32_t partition, uint32_t amount)
{
	struct egs_wastage *out = r->out;

	out->total.by[n->cause] += amount;
	out->type[n->type].by[n->cause] += amount;
	out->partition[partition].by[n->cause] += amount;
	n->left -= amount;
	r->left -= amount;
}

/* From where it would get them next. */
static void charge_job(struct reckoning *r, const struct egs_blocked *job)
{
	uint64_t want = (uint64_t)job->want[r->what] * job->nodes;
	uint32_t partition = first_of(job->partitions), i;
	int cause;

	for (cause = EGS_CAUSES - 1; cause >= 0 && want; cause--)
		for (i = 0; i < r->nnodes && want && r->at[cause]; i++) {
			struct egs_idle_node *n = &r->node[i];
			uint32_t amount =
				n->left < want ? n->left : (uint32_t)want;

			if (n->cause != cause)
				continue;
			charge(r, n, partition, amount);
			want -= amount;
		}
}

static void note_fit(struct reckoning *r, const struct egs_blocked *job)
{
	uint32_t i;

	if (r->fitting < job->nodes)
		return;
	r->out->total.fit = true;
	r->out->partition[first_of(job->partitions)].fit = true;
	for (i = 0; i < r->nnodes; i++)
		if (usable(r, &r->node[i], job) && fits_on(&r->node[i], job))
			r->out->type[r->node[i].type].fit = true;
}

static void count_nodes(struct reckoning *r)
{
	struct egs_wastage *out = r->out;
	uint32_t i, bit;

	for (i = 0; i < r->nnodes; i++) {
		struct egs_idle_node *n = &r->node[i];
		uint32_t all = n->all[r->what], idle = n->idle[r->what];

		out->total.all += all;
		out->total.idle += idle;
		out->type[n->type].all += all;
		out->type[n->type].idle += idle;
		for (bit = 0; bit < EGS_PARTITIONS_MAX; bit++)
			if (n->partitions >> bit & 1) {
				out->partition[bit].all += all;
				out->partition[bit].idle += idle;
			}
		n->left = idle;
		r->left += idle;
	}
}

static bool alike(const struct egs_blocked *a, const struct egs_blocked *b)
{
	return a->nodes == b->nodes && a->type == b->type &&
	       a->mem_mb == b->mem_mb && a->partitions == b->partitions &&
	       a->among == b->among && a->want[EGS_GPUS] == b->want[EGS_GPUS] &&
	       a->want[EGS_CORES] == b->want[EGS_CORES];
}

void egs_wastage(struct egs_wastage *out, enum egs_resource what,
		 struct egs_idle_node *node, uint32_t nnodes,
		 const struct egs_blocked *job, uint32_t njobs)
{
	struct reckoning r = {
		.out = out, .what = what, .node = node, .nnodes = nnodes
	};
	const struct egs_blocked *last = NULL;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	count_nodes(&r);
	for (i = 0; i < njobs && (r.left || i < FIT_JOBS); i++) {
		if (!job[i].want[what])
			continue;
		if (!last || !alike(last, &job[i])) {
			look_around(&r, &job[i]);
			note_fit(&r, &job[i]);
		}
		last = &job[i];
		if (!r.left)
			continue;
		sort_nodes(&r, &job[i]);
		charge_job(&r, &job[i]);
	}
}

uint64_t egs_wasted_sum(const struct egs_wasted *w)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < EGS_CAUSES; i++)
		sum += w->by[i];
	return sum;
}
