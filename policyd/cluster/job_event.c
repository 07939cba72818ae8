/* job_event.c - a job's facts in the words of the policy */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/conf/values.h"
#include "common/hint/stamp.h"
#include "policyd/cluster/cluster_internal.h"

/* The type of GPU a job has or wants.  One that names none takes any; one that
 * mixes types counts by the first.
 */
static uint8_t find_gpu_type(const struct egs_cluster *w,
			     const struct egs_gpu_count *gpus)
{
	uint32_t i;

	for (i = 0; i < gpus->ntypes; i++)
		if (gpus->by_type[i].count && gpus->by_type[i].type[0])
			return (uint8_t)egs_conf_match_type(
				w->conf, gpus->by_type[i].type);
	return EGS_TYPE_ANY;
}

/* What it wants on each of its nodes, rounded up. */
static struct egs_need compute_need(const struct egs_cluster *w,
				    const struct egs_job_fact *f)
{
	uint32_t nodes = f->nnodes ? f->nnodes : 1;
	uint64_t mem = (f->mem_mb + nodes - 1) / nodes;

	return (struct egs_need){
		.nodes = nodes,
		.gpus = (egs_gpu_count_total(&f->gpus) + nodes - 1) / nodes,
		.cores = (f->cpus + nodes - 1) / nodes,
		.mem_mb = mem > UINT32_MAX ? UINT32_MAX : (uint32_t)mem,
		.type = find_gpu_type(w, &f->gpus),
	};
}

/* A running job of no named type has the type of its first node. */
static uint8_t find_held_type(const struct egs_cluster *w,
			      const struct egs_job_fact *f, uint32_t node)
{
	uint8_t type = find_gpu_type(w, &f->gpus);

	if (type == EGS_TYPE_ANY)
		type = (uint8_t)egs_conf_match_type(
			w->conf,
			node < w->nodes_cap ? w->nodes[node].type : "");
	return type;
}

static int put_alloc(struct egs_cluster *w, uint32_t i, const char *name,
		     const struct egs_fact_alloc *got, uint32_t mem_mb)
{
	int64_t node = egs_cluster_add_node(w, name);

	if (node < 0)
		return -1;
	if (egs_grow(&w->allocs, &w->allocs_cap, i + 1) < 0)
		return -1;
	w->allocs[i] = (struct egs_node_alloc){
		.node = (uint32_t)node,
		.gpus = got->gpus,
		.cores = got->cpus,
		.mem_mb = mem_mb,
	};
	return 0;
}

static int put_allocs(struct egs_cluster *w, const struct egs_job_fact *f,
		      struct egs_event *ev)
{
	struct egs_buf_reader in = f->allocs;
	struct egs_fact_alloc part;

	ev->nallocs = 0;
	while (egs_fact_get_alloc(&in, &part)) {
		if (put_alloc(w, ev->nallocs, part.node, &part,
			      ev->facts.need.mem_mb) < 0)
			return -1;
		ev->nallocs++;
	}
	ev->alloc = w->allocs;
	ev->type = find_held_type(w, f,
				  ev->nallocs ? w->allocs[0].node : UINT32_MAX);
	return 0;
}

/* One that runs again begins in the phase of its submission, unless it wants
 * to go on where it was, or runs again for the sake of that phase.
 */
static int find_phase(const struct egs_cluster *w, const struct egs_job_fact *f,
		      struct egs_last_fact *seen, const struct egs_stamp *stamp)
{
	if (f->restarts != seen->restarts &&
	    strcmp(stamp->hint.restart, "phase") != 0 && !stamp->next_gpus)
		seen->phase_override = -1;
	if (seen->phase_override >= 0)
		return seen->phase_override;
	return egs_conf_find_phase(w->conf, stamp->hint.phase);
}

/* A stage that is called like a phase stands for it where none was given. */
static int find_stage_phase(const struct egs_cluster *w, const char *stage)
{
	static const struct egs_hint_site any = { .any_phase = true };
	struct egs_hint hint = { .phase = "" };
	struct egs_err err;

	if (egs_hint_set(&hint, "phase", stage, &any, &err) < 0)
		return -1;
	return egs_conf_find_phase(w->conf, hint.phase);
}

int egs_cluster_find_workload(const struct egs_cluster *w, const char *workload,
			      int team, int phase)
{
	const char *slash = strchr(workload, '/');
	char name[EGS_NAME_SIZE];

	if (!*workload || team < 0)
		return -1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(workload, "/"),
		 workload);
	if (phase < 0 && slash)
		phase = find_stage_phase(w, slash + 1);
	return egs_conf_find_workload(w->conf, name, team, phase);
}

/* Its team and tier, by the rules or by an operator. */
static void assign_team(struct egs_cluster *w, const struct egs_job_fact *f,
			const struct egs_hint *hint, struct egs_last_fact *seen,
			struct egs_facts *facts)
{
	struct egs_standing_input who = {
		.account = f->account,
		.user = f->user,
		.groups = f->groups,
		.qos = f->qos,
		.partitions = f->partition,
		.tier = hint->tier,
	};
	struct egs_standing s = egs_standing_get(w->conf, &who);

	seen->managed_by = (uint8_t)s.rule;
	facts->team = (int16_t)s.team;
	facts->tier = (int16_t)(seen->tier_override >= 0 ? seen->tier_override
							 : s.tier);
}

/* How it saves, and what its exit means. */
static void read_ckpt(const struct egs_stamp *stamp, struct egs_facts *facts)
{
	const struct egs_hint *hint = &stamp->hint;
	struct egs_save_signal told = { 0 };

	facts->ckpt = egs_hint_can_save(hint, &stamp->own_signal);
	facts->exit_is_final = strcmp(hint->exit, "finish") == 0;
	if (facts->ckpt && !egs_hint_get_signal(hint, &told))
		told = stamp->own_signal;
	facts->signal = (uint8_t)told.number;
	facts->signal_batch = told.to_batch_shell;
	if (*hint->save_time)
		egs_conf_read_seconds(hint->save_time, &facts->save_time_s,
				      NULL);
}

/* It waits for the begin time that Slurm gave it when it was requeued.  One
 * beyond a limit has another one.
 */
static bool is_requeue_delayed(const struct egs_job_fact *f,
			       const struct egs_stamp *stamp)
{
	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       !(f->flags & EGS_FACT_LIMITED) && stamp->departed;
}

/* Only what slurmctld has stamped can be resized. */
static uint32_t read_shrink_to(const struct egs_stamp *stamp)
{
	return stamp->nonce ? (uint32_t)strtoul(stamp->hint.shrink_to, NULL, 10)
			    : 0;
}

/* "all" are its tasks; a number is one.  A program runs on each node. */
static uint32_t count_acks(const struct egs_job_fact *f,
			   const struct egs_hint *hint)
{
	if (*egs_hint_get_program(hint))
		return f->nnodes ? f->nnodes : 1;
	if (strcmp(hint->acks, "all") == 0)
		return f->ntasks ? f->ntasks : 1;
	return (uint32_t)strtoul(hint->acks, NULL, 10);
}

int egs_cluster_make_event(struct egs_cluster *w, const struct egs_job_fact *f,
			   struct egs_last_fact *seen, struct egs_event *ev)
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
		.facts = { .need = compute_need(w, f),
			   .phase = (int16_t)find_phase(w, f, seen, &stamp),
			   .shrink_to = read_shrink_to(&stamp),
			   /* Only the first of a het job has the script. */
			   .can_requeue =
				   (f->flags & EGS_FACT_BATCH || f->het) &&
				   (f->flags & EGS_FACT_REQUEUE),
			   .dependents = seen->awaited_poll + 1 >= w->poll &&
					 seen->awaited_poll,
			   .not_schedulable = f->state == EGS_JOB_PENDING &&
					      !(f->flags & EGS_FACT_BLOCKED),
			   .completing = f->flags & EGS_FACT_COMPLETING,
			   .suspended = f->state == EGS_JOB_SUSPENDED,
			   .departed = is_requeue_delayed(f, &stamp) },
	};
	read_ckpt(&stamp, &ev->facts);
	assign_team(w, f, &stamp.hint, seen, &ev->facts);
	ev->facts.workload = (int16_t)egs_cluster_find_workload(
		w, stamp.hint.workload, ev->facts.team, ev->facts.phase);
	seen->acks = count_acks(f, &stamp.hint);
	seen->workload = egs_intern_add(&w->strings, stamp.hint.workload);
	seen->save_program =
		egs_intern_add(&w->strings, egs_hint_get_program(&stamp.hint));
	seen->phase_gpus = egs_intern_add(&w->strings, stamp.hint.phase_gpus);
	return put_allocs(w, f, ev);
}

/* "afterok:12(unfulfilled),afterany:13_4(unfulfilled)": the numbers behind a
 * colon are job ids.  "singleton" has none.
 */
void egs_cluster_mark_awaited(struct egs_cluster *w, const char *text)
{
	const char *at = text ? strchr(text, ':') : NULL;

	for (; at; at = strchr(at + 1, ':')) {
		uint32_t slot = EGS_IDMAP_NONE;

		if (isdigit((unsigned char)at[1]))
			slot = egs_idmap_find(
				&w->jobs, (uint32_t)strtoul(at + 1, NULL, 10));
		if (slot != EGS_IDMAP_NONE)
			w->last_facts[slot].awaited_poll = w->poll;
	}
}
