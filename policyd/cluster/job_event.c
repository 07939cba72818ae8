/* job_event.c - a job's facts in the words of the policy */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/values.h"
#include "common/hint/admin_tag.h"
#include "common/hint/stamp.h"
#include "policyd/cluster/cluster_internal.h"

/* The type of GPU a job has or wants.  One that names none takes any; one that
 * mixes types counts by the first.
 */
static uint8_t gpu_type(const struct egs_world *w, const struct egs_gpus *gpus)
{
	uint32_t i;

	for (i = 0; i < gpus->n; i++)
		if (gpus->row[i].count && gpus->row[i].type[0])
			return (uint8_t)egs_conf_type(w->conf,
						      gpus->row[i].type);
	return EGS_TYPE_ANY;
}

/* What it wants on each of its nodes, rounded up. */
static struct egs_need need(const struct egs_world *w,
			    const struct egs_job_fact *f)
{
	uint32_t nodes = f->nnodes ? f->nnodes : 1;
	uint64_t mem = (f->mem_mb + nodes - 1) / nodes;

	return (struct egs_need){
		.nodes = nodes,
		.gpus = (egs_gres_total(&f->gpus) + nodes - 1) / nodes,
		.cores = (f->cpus + nodes - 1) / nodes,
		.mem_mb = mem > UINT32_MAX ? UINT32_MAX : (uint32_t)mem,
		.type = gpu_type(w, &f->gpus),
	};
}

/* A running job of no named type has the type of its first node. */
static uint8_t held_type(const struct egs_world *w,
			 const struct egs_job_fact *f, uint32_t node)
{
	uint8_t type = gpu_type(w, &f->gpus);

	if (type == EGS_TYPE_ANY)
		type = (uint8_t)egs_conf_type(
			w->conf, node < w->nnodes ? w->node[node].type : "");
	return type;
}

static int put_part(struct egs_world *w, uint32_t i, const char *name,
		    const struct egs_fact_part *got, uint32_t mem_mb)
{
	int64_t node = egs_world_node_number(w, name);

	if (node < 0)
		return -1;
	if (i == w->nparts) {
		uint32_t room = 2 * w->nparts + 16;
		struct egs_part *more = realloc(w->part, room * sizeof(*more));

		if (!more)
			return -1;
		w->part = more;
		w->nparts = room;
	}
	w->part[i] = (struct egs_part){
		.node = (uint32_t)node,
		.gpus = got->gpus,
		.cores = got->cpus,
		.mem_mb = mem_mb,
	};
	return 0;
}

static int parts(struct egs_world *w, const struct egs_job_fact *f,
		 struct egs_event *ev)
{
	struct egs_read in = f->parts;
	struct egs_fact_part part;

	ev->nparts = 0;
	while (egs_fact_part_get(&in, &part)) {
		if (put_part(w, ev->nparts, part.node, &part,
			     ev->facts.need.mem_mb) < 0)
			return -1;
		ev->nparts++;
	}
	ev->part = w->part;
	ev->type = held_type(w, f, ev->nparts ? w->part[0].node : UINT32_MAX);
	return 0;
}

/* One that runs again begins in the phase of its submission, unless it wants
 * to go on where it was, or runs again for the sake of that phase.
 */
static int phase_of(const struct egs_world *w, const struct egs_job_fact *f,
		    struct egs_seen *seen, const struct egs_stamp *stamp)
{
	if (f->restarts != seen->restarts &&
	    strcmp(stamp->hint.restart, "phase") != 0 &&
	    !(f->admin_comment && strstr(f->admin_comment, EGS_NEXT_MARK)))
		seen->phase = -1;
	if (seen->phase >= 0)
		return seen->phase;
	return egs_conf_phase(w->conf, stamp->hint.phase);
}

/* A stage that is called like a phase stands for it where none was given. */
static int phase_of_stage(const struct egs_world *w, const char *stage)
{
	static const struct egs_hint_site any = { .any_phase = true };
	struct egs_hint hint = { .phase = "" };
	struct egs_err err;

	if (egs_hint_set(&hint, "phase", stage, &any, &err) < 0)
		return -1;
	return egs_conf_phase(w->conf, hint.phase);
}

int egs_world_workload(const struct egs_world *w, const char *workload,
		       int team, int phase)
{
	const char *slash = strchr(workload, '/');
	char name[EGS_NAME_SIZE];

	if (!*workload || team < 0)
		return -1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(workload, "/"),
		 workload);
	if (phase < 0 && slash)
		phase = phase_of_stage(w, slash + 1);
	return egs_conf_workload(w->conf, name, team, phase);
}

/* Its team and tier, by the rules or by an operator. */
static void stand(struct egs_world *w, const struct egs_job_fact *f,
		  const struct egs_hint *hint, struct egs_seen *seen,
		  struct egs_facts *facts)
{
	struct egs_claimant who = {
		.account = f->account,
		.user = f->user,
		.groups = f->groups,
		.qos = f->qos,
		.partitions = f->partition,
		.tier = hint->tier,
	};
	struct egs_standing s = egs_managed(w->conf, &who);

	seen->by = (uint8_t)s.by;
	facts->team = (int16_t)s.team;
	facts->tier = (int16_t)(seen->tier >= 0 ? seen->tier : s.tier);
}

/* How it saves, and what its exit means. */
static void read_ckpt(const struct egs_stamp *stamp, struct egs_facts *facts)
{
	const struct egs_hint *hint = &stamp->hint;
	struct egs_signal told = { 0 };

	facts->ckpt = egs_hint_saves(hint, &stamp->signal);
	facts->finish = strcmp(hint->exit, "finish") == 0;
	if (facts->ckpt && !egs_hint_signal(hint, &told))
		told = stamp->signal;
	facts->signal = (uint8_t)told.number;
	facts->signal_batch = told.batch;
	if (*hint->save_time)
		egs_conf_read_seconds(hint->save_time, &facts->save_time_s,
				      NULL);
}

/* It waits for the begin time that Slurm gave it when it was requeued.  One
 * beyond a limit has another one.
 */
static bool is_left(const struct egs_job_fact *f)
{
	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       !(f->flags & EGS_FACT_LIMITED) &&
	       egs_remark_find(f->admin_comment, EGS_REMARK_LEFT);
}

/* Only what slurmctld has stamped can be resized. */
static uint32_t shrinks_to(const struct egs_stamp *stamp)
{
	return stamp->nonce ? (uint32_t)strtoul(stamp->hint.shrink_to, NULL, 10)
			    : 0;
}

/* "all" are its tasks; a number is one.  A program runs on each node. */
static uint32_t acks_of(const struct egs_job_fact *f,
			const struct egs_hint *hint)
{
	if (*egs_hint_program(hint))
		return f->nnodes ? f->nnodes : 1;
	if (strcmp(hint->acks, "all") == 0)
		return f->ntasks ? f->ntasks : 1;
	return (uint32_t)strtoul(hint->acks, NULL, 10);
}

int egs_world_event(struct egs_world *w, const struct egs_job_fact *f,
		    struct egs_seen *seen, struct egs_event *ev)
{
	struct egs_stamp stamp = { .nonce = 0 };

	egs_stamp_find(f->admin_comment, &stamp);
	*ev = (struct egs_event){
		.job = { .nonce = stamp.nonce,
			 .submit = (egs_time_t)f->submit,
			 .job_id = f->job_id,
			 .uid = f->uid,
			 .task = f->task,
			 .het = f->het,
			 .restarts = f->restarts },
		.facts = { .need = need(w, f),
			   .phase = (int16_t)phase_of(w, f, seen, &stamp),
			   .shrink_to = shrinks_to(&stamp),
			   /* Only the first of a het job has the script. */
			   .requeue = (f->flags & EGS_FACT_BATCH || f->het) &&
				      (f->flags & EGS_FACT_REQUEUE),
			   .dependents =
				   seen->waited + 1 >= w->look && seen->waited,
			   .blocked = f->state == EGS_JOB_PENDING &&
				      !(f->flags & EGS_FACT_BLOCKED),
			   .completing = f->flags & EGS_FACT_COMPLETING,
			   .suspended = f->state == EGS_JOB_SUSPENDED,
			   .left = is_left(f) },
	};
	read_ckpt(&stamp, &ev->facts);
	stand(w, f, &stamp.hint, seen, &ev->facts);
	ev->facts.workload = (int16_t)egs_world_workload(
		w, stamp.hint.workload, ev->facts.team, ev->facts.phase);
	seen->acks = acks_of(f, &stamp.hint);
	seen->workload = egs_names_add(&w->people, stamp.hint.workload);
	seen->program =
		egs_names_add(&w->people, egs_hint_program(&stamp.hint));
	seen->phase_gpus = egs_names_add(&w->people, stamp.hint.phase_gpus);
	return parts(w, f, ev);
}

/* "afterok:12(unfulfilled),afterany:13_4(unfulfilled)": the numbers behind a
 * colon are job ids.  "singleton" has none.
 */
void egs_world_wait_on(struct egs_world *w, const char *text)
{
	const char *at = text ? strchr(text, ':') : NULL;

	for (; at; at = strchr(at + 1, ':')) {
		uint32_t slot = EGS_IDMAP_NONE;

		if (isdigit((unsigned char)at[1]))
			slot = egs_idmap_find(
				&w->jobs, (uint32_t)strtoul(at + 1, NULL, 10));
		if (slot != EGS_IDMAP_NONE)
			w->seen[slot].waited = w->look;
	}
}
