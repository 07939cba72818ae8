/* wastage.c - idle resources while earning jobs are blocked, and the cause */
#include <string.h>

#include "common/rules/victims.h"
#include "policyd/accounting/wastage.h"

const char *egs_wastage_cause_name(enum egs_wastage_cause cause)
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

/* After all idle resources are charged, only the first jobs, up to this number,
 * are tested for a fit.
 */
enum { FIT_JOBS = 1000 };

/* A computation in progress, and what it found for the current job. */
struct wastage_state {
	struct egs_wastage_compute *out;
	enum egs_resource what;
	struct egs_idle_node *node;
	uint32_t nnodes;
	uint64_t left; /* not charged yet, on all nodes */
	uint64_t left_by_cause[EGS_CAUSES];
	uint64_t usable_idle;	/* idle on nodes that the job may use */
	uint64_t fitting_nodes; /* nodes that the job fits on */
};

static bool type_fits(const struct egs_idle_node *n,
		      const struct egs_blocked_job *job)
{
	return job->type == EGS_TYPE_ANY || !job->want[EGS_GPUS] ||
	       n->type == job->type;
}

static uint32_t ready_amount(const struct egs_idle_node *n,
			     enum egs_resource what)
{
	return n->idle[what] > n->cleaning[what]
		       ? n->idle[what] - n->cleaning[what]
		       : 0;
}

/* The job may use the node's partition and does not exclude the node. */
static bool may_use_node(const struct wastage_state *r,
			 const struct egs_idle_node *n,
			 const struct egs_blocked_job *job)
{
	uint32_t i = (uint32_t)(n - r->node);

	return n->partitions & job->partitions &&
	       (!job->wanted_nodes ||
		job->wanted_nodes[i / 64] >> (i % 64) & 1);
}

static bool is_usable(const struct wastage_state *r,
		      const struct egs_idle_node *n,
		      const struct egs_blocked_job *job)
{
	return n->up && !n->reserved && may_use_node(r, n, job) &&
	       type_fits(n, job);
}

static bool fits_on_node(const struct egs_idle_node *n,
			 const struct egs_blocked_job *job)
{
	return ready_amount(n, EGS_GPUS) >= job->want[EGS_GPUS] &&
	       ready_amount(n, EGS_CORES) >= job->want[EGS_CORES] &&
	       n->mem_mb >= job->mem_mb;
}

static uint32_t first_partition(uint64_t partitions)
{
	uint32_t bit = 0;

	while (bit < EGS_PARTITIONS_MAX - 1 && !(partitions >> bit & 1))
		bit++;
	return bit;
}

/* Mark what is available in the cluster, and count what the job may use. */
static void count_usable(struct wastage_state *r,
			 const struct egs_blocked_job *job)
{
	struct egs_wastage_compute *out = r->out;

	r->usable_idle = r->fitting_nodes = 0;
	for (uint32_t i = 0; i < r->nnodes; i++) {
		const struct egs_idle_node *n = &r->node[i];

		if (!n->idle[r->what] || !n->up || n->reserved ||
		    !type_fits(n, job))
			continue;
		out->total.available = true;
		out->type[n->type].available = true;
		out->partition[first_partition(job->partitions)].available =
			true;
		if (!may_use_node(r, n, job))
			continue;
		r->usable_idle += n->idle[r->what];
		r->fitting_nodes += fits_on_node(n, job);
	}
}

static enum egs_wastage_cause find_cause(const struct wastage_state *r,
					 const struct egs_idle_node *n,
					 const struct egs_blocked_job *job)
{
	uint32_t want = job->want[r->what];

	if (!n->up)
		return EGS_CAUSE_UNHEALTHY;
	if (n->reserved)
		return EGS_CAUSE_RESERVATION;
	if (!may_use_node(r, n, job))
		return EGS_CAUSE_CONSTRAINT;
	if (job->limited)
		return EGS_CAUSE_QUOTA;
	if (r->usable_idle < (uint64_t)want * job->nodes)
		return EGS_CAUSE_GANG;
	if (ready_amount(n, r->what) < want && n->idle[r->what] >= want)
		return EGS_CAUSE_TEARDOWN;
	if (ready_amount(n, r->what) >= want && !fits_on_node(n, job))
		return EGS_CAUSE_STRANDED;
	return r->fitting_nodes >= job->nodes ? EGS_CAUSE_LATENCY
					      : EGS_CAUSE_FRAGMENTATION;
}

static void set_node_causes(struct wastage_state *r,
			    const struct egs_blocked_job *job)
{
	memset(r->left_by_cause, 0, sizeof(r->left_by_cause));
	for (uint32_t i = 0; i < r->nnodes; i++) {
		struct egs_idle_node *n = &r->node[i];

		n->cause = EGS_CAUSES;
		if (!n->left || !type_fits(n, job))
			continue;
		n->cause = (uint8_t)find_cause(r, n, job);
		r->left_by_cause[n->cause] += n->left;
	}
}

static void charge_node(struct wastage_state *r, struct egs_idle_node *n,
			uint32_t partition, uint32_t amount)
{
	struct egs_wastage_compute *out = r->out;

	out->total.by_cause[n->cause] += amount;
	out->type[n->type].by_cause[n->cause] += amount;
	out->partition[partition].by_cause[n->cause] += amount;
	n->left -= amount;
	r->left -= amount;
}

/* Charge the last cause first: the job would get those nodes next. */
static void charge_job(struct wastage_state *r,
		       const struct egs_blocked_job *job)
{
	uint64_t want = (uint64_t)job->want[r->what] * job->nodes;
	uint32_t partition = first_partition(job->partitions), i;
	int cause;

	for (cause = EGS_CAUSES - 1; cause >= 0 && want; cause--)
		for (i = 0; i < r->nnodes && want && r->left_by_cause[cause];
		     i++) {
			struct egs_idle_node *n = &r->node[i];
			uint32_t amount =
				n->left < want ? n->left : (uint32_t)want;

			if (n->cause != cause)
				continue;
			charge_node(r, n, partition, amount);
			want -= amount;
		}
}

static void mark_fit(struct wastage_state *r, const struct egs_blocked_job *job)
{
	if (r->fitting_nodes < job->nodes)
		return;
	r->out->total.would_fit = true;
	r->out->partition[first_partition(job->partitions)].would_fit = true;
	for (uint32_t i = 0; i < r->nnodes; i++)
		if (is_usable(r, &r->node[i], job) &&
		    fits_on_node(&r->node[i], job))
			r->out->type[r->node[i].type].would_fit = true;
}

static void count_nodes(struct wastage_state *r)
{
	struct egs_wastage_compute *out = r->out;

	for (uint32_t i = 0; i < r->nnodes; i++) {
		struct egs_idle_node *n = &r->node[i];
		uint32_t all = n->all[r->what], idle = n->idle[r->what];

		out->total.all += all;
		out->total.idle += idle;
		out->type[n->type].all += all;
		out->type[n->type].idle += idle;
		for (uint32_t bit = 0; bit < EGS_PARTITIONS_MAX; bit++)
			if (n->partitions >> bit & 1) {
				out->partition[bit].all += all;
				out->partition[bit].idle += idle;
			}
		n->left = idle;
		r->left += idle;
	}
}

static bool is_same_shape(const struct egs_blocked_job *a,
			  const struct egs_blocked_job *b)
{
	return a->nodes == b->nodes && a->type == b->type &&
	       a->mem_mb == b->mem_mb && a->partitions == b->partitions &&
	       a->wanted_nodes == b->wanted_nodes &&
	       a->want[EGS_GPUS] == b->want[EGS_GPUS] &&
	       a->want[EGS_CORES] == b->want[EGS_CORES];
}

void egs_wastage_compute(struct egs_wastage_compute *out,
			 enum egs_resource what, struct egs_idle_node *node,
			 uint32_t nnodes, const struct egs_blocked_job *job,
			 uint32_t njobs)
{
	struct wastage_state r = {
		.out = out, .what = what, .node = node, .nnodes = nnodes
	};
	const struct egs_blocked_job *last = NULL;

	memset(out, 0, sizeof(*out));
	count_nodes(&r);
	for (uint32_t i = 0; i < njobs && (r.left || i < FIT_JOBS); i++) {
		if (!job[i].want[what])
			continue;
		if (!last || !is_same_shape(last, &job[i])) {
			count_usable(&r, &job[i]);
			mark_fit(&r, &job[i]);
		}
		last = &job[i];
		if (!r.left)
			continue;
		set_node_causes(&r, &job[i]);
		charge_job(&r, &job[i]);
	}
}

uint64_t egs_wastage_sum(const struct egs_wastage_counts *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < EGS_CAUSES; i++)
		sum += w->by_cause[i];
	return sum;
}
