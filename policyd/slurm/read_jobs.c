/* read_jobs.c - facts from Slurm's structs */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/rules/identity.h"
#include "policyd/slurm/node_filter.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/user_cache.h"

static struct {
	const partition_info_msg_t *partitions;
} self;

void egs_slurm_set_partitions(const partition_info_msg_t *partitions)
{
	self.partitions = partitions;
}

/* NULL: no such partition; 'name' may be a list while a job is pending. */
static const partition_info_t *find_partition(const char *name)
{
	uint32_t n = self.partitions ? self.partitions->record_count : 0;

	for (uint32_t i = 0; name && i < n; i++) {
		const partition_info_t *p =
			&self.partitions->partition_array[i];

		if (p->name && strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

static uint32_t map_job_state(uint32_t state)
{
	switch (state & JOB_STATE_BASE) {
	case JOB_PENDING:
		return EGS_JOB_PENDING;
	case JOB_RUNNING:
		return EGS_JOB_RUNNING;
	case JOB_SUSPENDED:
		return EGS_JOB_SUSPENDED;
	default:
		return EGS_JOB_ENDED;
	}
}

/* Reasons of pending jobs.  Without EGS_FACT_BLOCKED the job would not start if
 * GPUs were free.  All other reasons are limits of an association, a QOS or a
 * partition.
 */
static const struct {
	uint32_t reason, flags;
} reasons[] = {
	{ WAIT_DEPENDENCY, EGS_FACT_DEPENDENT },
	{ WAIT_DEP_INVALID, EGS_FACT_DEPENDENT },
	{ WAIT_TIME, 0 },
	{ WAIT_HELD, EGS_FACT_HELD },
	{ WAIT_HELD_USER, EGS_FACT_HELD },
	{ WAIT_RESOURCES, EGS_FACT_BLOCKED },
	{ WAIT_PRIORITY, EGS_FACT_BLOCKED },
	{ WAIT_NO_REASON, EGS_FACT_BLOCKED },
	{ WAIT_NODE_NOT_AVAIL, EGS_FACT_BLOCKED },
	{ WAIT_RESERVATION, EGS_FACT_BLOCKED },
	{ WAIT_CLEANING, EGS_FACT_BLOCKED },
	{ FAIL_BAD_CONSTRAINTS, EGS_FACT_BLOCKED },
};

static uint32_t get_reason_flags(const slurm_job_info_t *job)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].reason == job->state_reason)
			return reasons[i].flags;
	return EGS_FACT_BLOCKED | EGS_FACT_LIMITED;
}

void egs_slurm_format_job_id(const slurm_job_info_t *job,
			     char text[EGS_SLURM_JOB_ID_SIZE])
{
	if (job->array_task_id == NO_VAL)
		snprintf(text, EGS_SLURM_JOB_ID_SIZE, "%u", job->job_id);
	else
		snprintf(text, EGS_SLURM_JOB_ID_SIZE, "%u_%u",
			 job->array_job_id, job->array_task_id);
}

const char *egs_slurm_limit_reason(const slurm_job_info_t *job)
{
	return get_reason_flags(job) & EGS_FACT_LIMITED
		       ? compat_reason_text(job)
		       : NULL;
}

/* slurmctld lets the owner release these (22.05 job_mgr.c:13514). */
bool egs_slurm_is_held_by_user(const slurm_job_info_t *job)
{
	return job->state_reason == WAIT_HELD_USER ||
	       job->state_reason == WAIT_RESV_DELETED;
}

static uint32_t get_held_flags(const slurm_job_info_t *job)
{
	return egs_slurm_is_held_by_user(job)
		       ? EGS_FACT_HELD
		       : EGS_FACT_HELD | EGS_FACT_HELD_BY_ADMIN;
}

static void set_reason(struct egs_job_fact *f, const slurm_job_info_t *job)
{
	f->reason = compat_reason_text(job);
	if (f->state == EGS_JOB_PENDING)
		f->flags |= job->priority ? get_reason_flags(job)
					  : get_held_flags(job);
}

/* The state of an ended job in sacct's words; NULL: not ended. */
static const char *get_end_state(uint32_t state)
{
	static const struct {
		uint32_t state;
		const char *text;
	} ends[] = {
		{ JOB_COMPLETE, "COMPLETED" },	{ JOB_CANCELLED, "CANCELLED" },
		{ JOB_FAILED, "FAILED" },	{ JOB_TIMEOUT, "TIMEOUT" },
		{ JOB_NODE_FAIL, "NODE_FAIL" }, { JOB_PREEMPTED, "PREEMPTED" },
		{ JOB_BOOT_FAIL, "BOOT_FAIL" }, { JOB_DEADLINE, "DEADLINE" },
		{ JOB_OOM, "OUT_OF_MEMORY" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i].state == (state & JOB_STATE_BASE))
			return ends[i].text;
	return NULL;
}

/* PreemptMode=OFF of a partition protects its jobs.  Jobs of a partition with
 * OverSubscribe=EXCLUSIVE get whole nodes.
 */
static void set_partition_flags(struct egs_job_fact *f,
				const slurm_job_info_t *job)
{
	const partition_info_t *p = find_partition(job->partition);

	if (p && p->max_share == 0)
		f->flags |= EGS_FACT_EXCLUSIVE;
	if (p && p->preempt_mode == PREEMPT_MODE_OFF &&
	    f->state == EGS_JOB_RUNNING)
		f->flags |= EGS_FACT_NO_PREEMPT;
}

static void set_flags(struct egs_job_fact *f, const slurm_job_info_t *job)
{
	if (job->job_state & JOB_COMPLETING)
		f->flags |= EGS_FACT_COMPLETING;
	if (job->batch_flag)
		f->flags |= EGS_FACT_BATCH;
	if (job->requeue)
		f->flags |= EGS_FACT_REQUEUE;
	if (job->shared == JOB_SHARED_NONE)
		f->flags |= EGS_FACT_EXCLUSIVE;
	set_partition_flags(f, job);
}

/* "gres/gpu=3,gres/gpu:a100=2": the first is the sum of all types. */
static void add_allocated_gpus(struct egs_gpu_count *g, const char *tres)
{
	uint32_t named = 0;

	egs_gpu_count_add(g, tres, 1);
	for (uint32_t i = 0; i < g->ntypes; i++)
		named += g->by_type[i].type[0] ? g->by_type[i].count : 0;
	for (uint32_t i = 0; i < g->ntypes; i++)
		if (!g->by_type[i].type[0])
			g->by_type[i].count -= named < g->by_type[i].count
						       ? named
						       : g->by_type[i].count;
}

/* Slurm shows the GPUs of a running job by node, of an ended job as one sum
 * (with gres/gpu in AccountingStorageTRES), of a pending job in one of four
 * fields.
 */
static void set_gpus(struct egs_job_fact *f, const slurm_job_info_t *job)
{
	if (f->state == EGS_JOB_RUNNING || f->state == EGS_JOB_SUSPENDED ||
	    f->flags & EGS_FACT_COMPLETING) {
		for (uint32_t i = 0; i < job->gres_detail_cnt; i++)
			egs_gpu_count_add(&f->gpus, job->gres_detail_str[i], 1);
		return;
	}
	if (f->state == EGS_JOB_ENDED) {
		add_allocated_gpus(&f->gpus, job->tres_alloc_str);
		if (f->gpus.ntypes)
			return;
	}
	egs_gpu_count_add(&f->gpus, job->tres_per_job, 1);
	egs_gpu_count_add(&f->gpus, job->tres_per_node, job->num_nodes);
	egs_gpu_count_add(&f->gpus, job->tres_per_socket, job->num_nodes);
	egs_gpu_count_add(&f->gpus, job->tres_per_task, job->num_tasks);
}

/* Node by node, in the order of the host list. */
static void put_allocs(struct egs_buf *buf, const slurm_job_info_t *job)
{
	struct hostlist *hosts =
		slurm_hostlist_create(job->nodes ? job->nodes : "");
	char *name;

	for (int i = 0; hosts && (name = slurm_hostlist_shift(hosts)); i++) {
		struct egs_fact_alloc alloc = { .node = name };
		struct egs_gpu_count gpus = { .ntypes = 0 };

		if ((uint32_t)i < job->gres_detail_cnt) {
			egs_gpu_count_add(&gpus, job->gres_detail_str[i], 1);
			alloc.gpu_set =
				egs_gpu_count_read_set(job->gres_detail_str[i]);
		}
		alloc.gpus = egs_gpu_count_total(&gpus);
		alloc.cpus = compat_cpus_on_node(job, i);
		egs_fact_put_alloc(buf, &alloc);
		free(name);
	}
	if (hosts)
		slurm_hostlist_destroy(hosts);
}

static uint64_t get_memory_mb(const slurm_job_info_t *job)
{
	if (job->pn_min_memory & MEM_PER_CPU)
		return (job->pn_min_memory & ~MEM_PER_CPU) * job->num_cpus;
	return job->pn_min_memory * job->num_nodes;
}

/* With -w a job may use only those nodes, unless it needs more nodes. */
static char *format_node_filter(const slurm_job_info_t *job)
{
	struct hostlist *hosts =
		slurm_hostlist_create(job->req_nodes ? job->req_nodes : "");
	bool only = hosts &&
		    (uint32_t)slurm_hostlist_count(hosts) >= job->num_nodes;

	if (hosts)
		slurm_hostlist_destroy(hosts);
	return egs_node_filter_format(only ? job->req_nodes : NULL,
				      job->exc_nodes, job->features);
}

void egs_slurm_put_job(struct egs_buf *out, const slurm_job_info_t *job)
{
	const char *user = job->user_name;
	struct egs_job_fact f = {
		.job_id = job->job_id,
		.array_job_id = job->array_job_id,
		.task = job->array_job_id && job->array_task_id != NO_VAL
				? job->array_task_id
				: EGS_NO_TASK,
		.het = job->het_job_id ? job->het_job_offset : 0,
		.het_job = job->het_job_id,
		.uid = job->user_id,
		.restarts = job->restart_cnt,
		.state = map_job_state(job->job_state),
		.priority = job->priority,
		.time_limit_s = job->time_limit >= INFINITE - 1
					? 0
					: job->time_limit * 60,
		.nnodes = job->num_nodes,
		.ntasks = job->num_tasks,
		.cpus = job->num_cpus,
		.mem_mb = get_memory_mb(job),
		.submit = (uint64_t)job->submit_time,
		.eligible = (uint64_t)job->eligible_time,
		.start = (uint64_t)job->start_time,
		.end = (uint64_t)job->end_time,
		.preempt_time = (uint64_t)job->preempt_time,
		.resize_time = (uint64_t)job->resize_time,
		.suspend_time = (uint64_t)job->suspend_time,
		.ran_before_s = (uint64_t)job->pre_sus_time,
		.account = job->account,
		.partition = job->partition,
		.qos = job->qos,
		.name = job->name,
		.admin_comment = job->admin_comment,
		.comment = job->comment,
		.dependency = job->dependency,
		.nodes = job->nodes,
		.end_state = get_end_state(job->job_state),
	};
	struct egs_buf allocs = { .used = 0 };
	char *filter =
		f.state == EGS_JOB_PENDING ? format_node_filter(job) : NULL;

	f.node_filter = filter;
	if (!user || !*user)
		user = egs_user_cache_name(job->user_id, time(NULL));
	f.user = user;
	f.groups = egs_user_cache_groups(user, time(NULL));
	set_flags(&f, job);
	set_reason(&f, job);
	set_gpus(&f, job);
	if (f.state == EGS_JOB_RUNNING || f.state == EGS_JOB_SUSPENDED)
		put_allocs(&allocs, job);
	f.allocs = (struct egs_buf_reader){ .at = allocs.bytes,
					    .left = allocs.used };
	egs_fact_put_job(out, &f);
	egs_buf_clear(&allocs);
	free(filter);
}

bool egs_slurm_is_node_lost(uint32_t node_state)
{
	const uint32_t power = NODE_STATE_POWERED_DOWN |
			       NODE_STATE_POWERING_DOWN |
			       NODE_STATE_POWERING_UP | NODE_STATE_POWER_UP;
	const uint32_t base = node_state & NODE_STATE_BASE;

	if (node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL) ||
	    base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN)
		return true;
	return node_state & NODE_STATE_NO_RESPOND && !(node_state & power);
}

void egs_slurm_put_node(struct egs_buf *out, node_info_t *node)
{
	struct egs_node_fact f = {
		.name = node->name,
		.partitions = node->partitions,
		.address = node->node_addr,
		.features = node->features_act ? node->features_act
					       : node->features,
		.cpus = node->cpus,
		.mem_mb = node->real_memory,
	};

	if (egs_slurm_is_node_lost(node->node_state))
		f.flags |= EGS_NODE_DOWN;
	if (node->node_state & (NODE_STATE_RES | NODE_STATE_MAINT))
		f.flags |= EGS_NODE_RESERVED;
	compat_node_used(node, &f.cpus_used, &f.mem_used_mb);
	egs_gpu_count_add(&f.gpus, node->gres, 1);
	egs_gpu_count_add(&f.gpus_used, node->gres_used, 1);
	egs_fact_put_node(out, &f);
}
