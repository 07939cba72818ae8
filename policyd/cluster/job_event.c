/* job_event.c - the event of the policy for a fact of a job */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/text.h"
#include "common/conf/names.h"
#include "common/conf/values.h"
#include "common/hint/comment_json.h"
#include "common/hint/stamp.h"
#include "policyd/cluster/cluster_internal.h"

/* The first GPU type of a job.  A job without a type may use any. */
static uint8_t find_gpu_type(const struct egs_cluster *c,
			     const struct egs_gpu_count *gpus)
{
	for (uint32_t i = 0; i < gpus->ntypes; i++)
		if (gpus->by_type[i].count && gpus->by_type[i].type[0])
			return (uint8_t)egs_conf_match_type(
				c->conf, gpus->by_type[i].type);
	return EGS_TYPE_ANY;
}

static uint16_t cap_gpus(uint64_t n)
{
	return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* Count the named types of a job.  Returns how many they are. */
static int count_types(const struct egs_cluster *c,
		       const struct egs_gpu_count *gpus,
		       uint16_t by_type[EGS_TYPE_ROWS])
{
	int ntypes = 0;

	memset(by_type, 0, EGS_TYPE_ROWS * sizeof(*by_type));
	for (uint32_t i = 0; i < gpus->ntypes; i++) {
		int t = egs_conf_match_type(c->conf, gpus->by_type[i].type);

		if (!gpus->by_type[i].count || !gpus->by_type[i].type[0])
			continue;
		ntypes += !by_type[t];
		by_type[t] =
			cap_gpus((uint64_t)by_type[t] + gpus->by_type[i].count);
	}
	return ntypes;
}

/* An exclusive job gets at least the GPUs of the smallest nodes.  A component
 * of a heterogeneous job counts with the largest: if it got more GPUs than
 * counted, Slurm would start and kill the components before it again and again.
 */
static void add_whole_nodes(struct egs_cluster *c, const struct egs_job_fact *f,
			    uint16_t by_type[EGS_TYPE_ROWS])
{
	const struct egs_gpus_of_nodes *of =
		egs_cluster_gpus_of_nodes(c, f->partition);
	const uint32_t *gpus = f->het_job ? of->most : of->fewest;
	uint32_t nodes = f->nnodes ? f->nnodes : 1;

	for (int t = 0; t < EGS_TYPE_ROWS; t++)
		if ((uint64_t)gpus[t] * nodes > by_type[t])
			by_type[t] = cap_gpus((uint64_t)gpus[t] * nodes);
}

/* Fill in the GPUs by type, if the job has several types or whole nodes. */
static void fill_types(struct egs_cluster *c, const struct egs_job_fact *f,
		       struct egs_facts *facts)
{
	bool whole =
		f->state == EGS_JOB_PENDING && f->flags & EGS_FACT_EXCLUSIVE;
	int ntypes = count_types(c, &f->gpus, facts->by_type);

	if (f->state == EGS_JOB_PENDING && ntypes > 1)
		facts->need.type = EGS_TYPE_ANY;
	if (whole)
		add_whole_nodes(c, f, facts->by_type);
	else if (ntypes < 2)
		memset(facts->by_type, 0, sizeof(facts->by_type));
}

/* What the job needs on each node, rounded up. */
static struct egs_need compute_need(const struct egs_cluster *c,
				    const struct egs_job_fact *f)
{
	uint32_t nodes = f->nnodes ? f->nnodes : 1;
	uint64_t mem = (f->mem_mb + nodes - 1) / nodes;

	return (struct egs_need){
		.nodes = nodes,
		.gpus = (egs_gpu_count_total(&f->gpus) + nodes - 1) / nodes,
		.cores = (f->cpus + nodes - 1) / nodes,
		.mem_mb = mem > UINT32_MAX ? UINT32_MAX : (uint32_t)mem,
		.type = find_gpu_type(c, &f->gpus),
	};
}

/* A running job without a type has the type of its first node. */
static uint8_t find_held_type(const struct egs_cluster *c,
			      const struct egs_job_fact *f, uint32_t node)
{
	uint8_t type = find_gpu_type(c, &f->gpus);

	if (type == EGS_TYPE_ANY)
		type = (uint8_t)egs_conf_match_type(
			c->conf,
			node < c->nodes_cap ? c->nodes[node].type : "");
	return type;
}

/* All GPUs of the job, if compute_need() rounds them up; else 0. */
static uint32_t count_if_uneven(const struct egs_job_fact *f)
{
	uint32_t total = egs_gpu_count_total(&f->gpus);

	return f->nnodes && total % f->nnodes ? total : 0;
}

static int put_alloc(struct egs_cluster *c, uint32_t i, const char *name,
		     const struct egs_fact_alloc *alloc, uint32_t mem_mb)
{
	int64_t node = egs_cluster_add_node(c, name);

	if (node < 0 || egs_grow(&c->allocs, &c->allocs_cap, i + 1) < 0)
		return -1;
	c->allocs[i] = (struct egs_node_alloc){
		.node = (uint32_t)node,
		.gpus = alloc->gpus,
		.cores = alloc->cpus,
		.mem_mb = mem_mb,
		.gpu_set = alloc->gpu_set,
	};
	return 0;
}

static int put_allocs(struct egs_cluster *c, const struct egs_job_fact *f,
		      struct egs_event *ev)
{
	struct egs_buf_reader in = f->allocs;
	struct egs_fact_alloc alloc;

	ev->nallocs = 0;
	while (egs_fact_get_alloc(&in, &alloc)) {
		if (put_alloc(c, ev->nallocs, alloc.node, &alloc,
			      ev->facts.need.mem_mb) < 0)
			return -1;
		ev->nallocs++;
	}
	ev->alloc = c->allocs;
	ev->type = find_held_type(c, f,
				  ev->nallocs ? c->allocs[0].node : UINT32_MAX);
	return 0;
}

/* A restarted job begins in the phase of its submission, unless its hint has
 * restart=phase, or it was requeued to change its size for a phase.
 */
static int find_phase(const struct egs_cluster *c, const struct egs_job_fact *f,
		      struct egs_last_fact *last, const struct egs_stamp *stamp)
{
	if (f->restarts != last->restarts &&
	    strcmp(stamp->hint.restart, "phase") != 0 && !stamp->next_gpus)
		last->phase_override = -1;
	if (last->phase_override >= 0)
		return last->phase_override;
	return egs_conf_find_phase(c->conf, stamp->hint.phase);
}

int egs_cluster_find_workload(const struct egs_cluster *c, const char *workload,
			      int team, int phase)
{
	const char *slash = strchr(workload, '/');
	char name[EGS_NAME_SIZE];

	if (!*workload || team < 0)
		return -1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(workload, "/"),
		 workload);
	if (phase < 0 && slash)
		phase = egs_conf_find_typed_phase(c->conf, slash + 1);
	return egs_conf_find_workload(c->conf, name, team, phase);
}

/* Set team and tier, by the rules or by an operator. */
static void assign_team(struct egs_cluster *c, const struct egs_job_fact *f,
			const struct egs_hint *hint, struct egs_last_fact *last,
			struct egs_facts *facts)
{
	struct egs_standing_input input = {
		.account = f->account,
		.user = f->user,
		.groups = f->groups,
		.qos = f->qos,
		.partitions = f->partition,
		.tier = hint->tier,
	};
	struct egs_standing s = egs_standing_get(c->conf, &input);

	last->managed_by = (uint8_t)s.rule;
	facts->team = (int16_t)s.team;
	facts->tier = (int16_t)(last->tier_override >= 0 ? last->tier_override
							 : s.tier);
}

/* Read how the job checkpoints, and what its exit means. */
static void read_ckpt(const struct egs_stamp *stamp, struct egs_facts *facts)
{
	const struct egs_hint *hint = &stamp->hint;
	struct egs_save_signal signal = { 0 };

	facts->ckpt = egs_hint_can_save(hint, &stamp->own_signal);
	facts->no_save = strcmp(hint->ckpt, "none") == 0;
	facts->exit_is_final = strcmp(hint->exit, "finish") == 0;
	if (facts->ckpt && !egs_hint_get_signal(hint, &signal))
		signal = stamp->own_signal;
	/* A job that declares nothing gets what Slurm would send. */
	if (!facts->ckpt && !facts->no_save)
		signal.number = SIGTERM;
	facts->signal = (uint8_t)signal.number;
	facts->signal_batch = signal.to_batch_shell;
	if (*hint->save_time)
		egs_conf_read_seconds(hint->save_time, &facts->save_time_s,
				      NULL);
}

/* Does the job wait for the begin time that Slurm sets at a requeue?  A job
 * that is deferred over a limit has another begin time.
 */
static bool is_requeue_delayed(const struct egs_job_fact *f,
			       const struct egs_stamp *stamp)
{
	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       !(f->flags & EGS_FACT_LIMITED) && stamp->departed;
}

/* Only stamped jobs can be resized. */
static uint32_t read_shrink_to(const struct egs_stamp *stamp)
{
	return stamp->nonce ? (uint32_t)strtoul(stamp->hint.shrink_to, NULL, 10)
			    : 0;
}

/* The ranks that must yield: "all" tasks, or a number.  A save program runs on
 * each node.
 */
static uint32_t count_acks(const struct egs_job_fact *f,
			   const struct egs_hint *hint)
{
	if (*egs_hint_get_program(hint))
		return f->nnodes ? f->nnodes : 1;
	if (strcmp(hint->acks, "all") == 0)
		return f->ntasks ? f->ntasks : 1;
	return (uint32_t)strtoul(hint->acks, NULL, 10);
}

/* "afterok:12(unfulfilled),afterany:13_4(unfulfilled)" becomes "job 12
 * (afterok) and 1 more".  "singleton" has no job id.
 */
static uint32_t intern_dependency(struct egs_cluster *c, const char *text)
{
	struct egs_text first = { "" };
	uint32_t more = 0;

	for (; text && *text; text += strcspn(text, ",?")) {
		int kind, id;

		text += strspn(text, ",?");
		kind = (int)strcspn(text, ":(,?");
		id = (int)strspn(text + kind, ":0123456789_");
		if (*first.text)
			more++;
		else if (id > 1)
			egs_textf(&first, "job %.*s (%.*s)", id - 1,
				  text + kind + 1, kind, text);
		else
			egs_textf(&first, "other jobs (%.*s)", kind, text);
	}
	if (more)
		egs_text_append(&first, " and %u more", more);
	return egs_intern_add(&c->strings, first.text);
}

/* The longer of the job's own times. */
static uint32_t read_idle_ok(const struct egs_job_fact *f,
			     const struct egs_hint *hint)
{
	uint32_t own = egs_hint_get_idle_ok_s(hint);
	uint32_t comment = egs_comment_json_get_idle_ok_s(f->comment);

	return own > comment ? own : comment;
}

int egs_cluster_make_event(struct egs_cluster *c, const struct egs_job_fact *f,
			   struct egs_last_fact *last, struct egs_event *ev)
{
	struct egs_stamp stamp = egs_stamp_read(f->admin_comment);

	*ev = (struct egs_event){
		.job = { .nonce = stamp.nonce,
			 .submit = (egs_time_t)f->submit,
			 .job_id = f->job_id,
			 .uid = f->uid,
			 .array_task = f->task,
			 .het_offset = f->het,
			 .restarts = f->restarts },
		.facts = { .need = compute_need(c, f),
			   .total_gpus = count_if_uneven(f),
			   .phase = (int16_t)find_phase(c, f, last, &stamp),
			   .shrink_to = read_shrink_to(&stamp),
			   .idle_ok_s = read_idle_ok(f, &stamp.hint),
			   .update_no = (uint32_t)stamp.changed_us,
			   /* Only the first component of a het job has the
			    * script.
			    */
			   .can_requeue =
				   (f->flags & EGS_FACT_BATCH || f->het) &&
				   (f->flags & EGS_FACT_REQUEUE),
			   .dependents = last->awaited_poll + 1 >= c->poll &&
					 last->awaited_poll,
			   .not_schedulable = f->state == EGS_JOB_PENDING &&
					      !(f->flags & EGS_FACT_BLOCKED),
			   .completing = f->flags & EGS_FACT_COMPLETING,
			   .suspended = f->state == EGS_JOB_SUSPENDED,
			   .awaits_decision = stamp.limited,
			   .het_job = f->het_job,
			   .no_preempt = f->flags & EGS_FACT_NO_PREEMPT,
			   .departed = is_requeue_delayed(f, &stamp),
			   .held = f->flags & EGS_FACT_HELD,
			   .held_by_admin = f->flags & EGS_FACT_HELD_BY_ADMIN,
			   .array_rest =
				   f->array_job_id && f->task == EGS_NO_TASK },
	};
	fill_types(c, f, &ev->facts);
	read_ckpt(&stamp, &ev->facts);
	assign_team(c, f, &stamp.hint, last, &ev->facts);
	ev->facts.workload = (int16_t)egs_cluster_find_workload(
		c, stamp.hint.workload, ev->facts.team, ev->facts.phase);
	last->acks = count_acks(f, &stamp.hint);
	last->workload = egs_intern_add(&c->strings, stamp.hint.workload);
	last->partition = egs_intern_add(&c->strings, f->partition);
	last->save_program =
		egs_intern_add(&c->strings, egs_hint_get_program(&stamp.hint));
	last->dependency = f->flags & EGS_FACT_DEPENDENT
				   ? intern_dependency(c, f->dependency)
				   : 0;
	last->depends_on = f->state == EGS_JOB_PENDING
				   ? egs_intern_add(&c->strings, f->dependency)
				   : 0;
	last->phase_gpus = egs_intern_add(&c->strings, stamp.hint.phase_gpus);
	return put_allocs(c, f, ev);
}

static bool counts_as_dependent(const struct egs_job_fact *f, uint32_t user,
				const struct egs_last_fact *awaited)
{
	return egs_gpu_count_total(&f->gpus) ||
	       (awaited->user && awaited->user != user);
}

/* In a dependency the numbers behind a colon are job ids. */
void egs_cluster_mark_awaited(struct egs_cluster *c,
			      const struct egs_job_fact *f)
{
	const char *at = f->dependency ? strchr(f->dependency, ':') : NULL;
	uint32_t user = at ? egs_intern_add(&c->strings, f->user) : 0;

	for (; at; at = strchr(at + 1, ':')) {
		uint32_t slot = EGS_IDMAP_NONE;

		if (isdigit((unsigned char)at[1]))
			slot = egs_idmap_find(
				&c->jobs, (uint32_t)strtoul(at + 1, NULL, 10));
		if (slot != EGS_IDMAP_NONE &&
		    counts_as_dependent(f, user, &c->last_facts[slot]))
			c->last_facts[slot].awaited_poll = c->poll;
	}
}
