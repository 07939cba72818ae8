/* account.c - every second of every job, from what Slurm shows */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/hint/stamp.h"
#include "common/rules/standing.h"
#include "policyd/accounting/account.h"
#include "policyd/accounting/account_internal.h"

static uint32_t intern_name(struct egs_account *a, const char *text)
{
	return egs_intern_add(&a->names, text);
}

/* If memory is out, only these seconds are lost. */
static void append_write(struct egs_account *a,
			 const struct egs_pending_write *due)
{
	if (egs_grow(&a->write, &a->write_room, a->nwrites + 1) < 0)
		return;
	a->write[a->nwrites++] = *due;
	a->unwritten = true;
}

/* Queue finished intervals of a job.  A run that is over ended with the last
 * interval, or at 'end' if there is none.
 */
static void append_intervals(struct egs_account *a, struct egs_running_job *job,
			     const struct egs_interval *over, int n,
			     egs_time_t end)
{
	bool ends = job->run_open && job->clock.finished;
	struct egs_pending_write due = { .run_ends = false };

	if (ends) {
		job->run_open = false;
		job->run.end = n ? over[n - 1].end : end;
		job->run.end_guessed = n && over[n - 1].end_guessed;
	}
	due.job = *job;
	for (int i = 0; i < n; i++) {
		due.interval = over[i];
		append_write(a, &due);
	}
	due.interval = (struct egs_interval){ 0 };
	due.run_ends = true;
	if (ends)
		append_write(a, &due);
	if (n || ends)
		job->dirty = a->unwritten = true;
}

static struct egs_tracked_job *find_job(const struct egs_account *a,
					uint32_t job_id)
{
	uint32_t slot = egs_idmap_find(&a->jobs, job_id);

	return slot == EGS_IDMAP_NONE || !a->job[slot].in_use ? NULL
							      : &a->job[slot];
}

static struct egs_tracked_job *find_or_add_job(struct egs_account *a,
					       uint32_t job_id)
{
	uint32_t slot = egs_idmap_add(&a->jobs, job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (egs_grow(&a->job, &a->njobs, slot + 1) < 0) {
		egs_idmap_drop(&a->jobs, job_id);
		return NULL;
	}
	return &a->job[slot];
}

/* The full record of a job.  For a job without an allocation it is derived
 * from the few fields in the slot; compact_job() does the reverse.
 */
static struct egs_running_job expand_job(const struct egs_tracked_job *tracked)
{
	if (tracked->running)
		return *tracked->running;
	return (struct egs_running_job){
		.run = { .uid = tracked->uid,
			 .restarts = tracked->restarts,
			 .nonce = tracked->nonce },
		.wait_reason = tracked->wait_reason,
		.clock = { .restarts = tracked->restarts,
			   .finished = tracked->run_ended },
	};
}

/* 'running' is allocated if the job holds something: see prepare_slot(). */
static void compact_job(struct egs_tracked_job *tracked,
			const struct egs_running_job *job)
{
	const struct egs_run_clock *m = &job->clock;

	tracked->run_ended =
		!m->since && m->finished && m->restarts >= job->run.restarts;
	tracked->restarts =
		tracked->run_ended ? m->restarts : job->run.restarts;
	tracked->uid = job->run.uid;
	tracked->nonce = job->run.nonce;
	tracked->wait_reason = job->wait_reason;
	tracked->partition = job->alloc.partition;
	tracked->in_use = true;
	if (m->since) {
		*tracked->running = *job;
	} else {
		free(tracked->running);
		tracked->running = NULL;
	}
}

static void restore_open_span(void *arg, const struct egs_open_span *o)
{
	struct egs_account *a = arg;
	struct egs_tracked_job *tracked = find_or_add_job(a, o->run.job_id);
	struct egs_running_job *job = tracked ? tracked->running : NULL;
	struct egs_account_alloc *as;

	if (tracked && !job)
		job = tracked->running = calloc(1, sizeof(*job));
	if (!job)
		return;
	as = &job->alloc;
	if (!tracked->in_use) {
		*job = (struct egs_running_job){
			.run = o->run,
			.name = intern_name(a, o->run.name),
			.wait_reason = intern_name(a, o->run.wait_reason),
			.clock = { .since = o->span.start,
				   .started = o->run.start,
				   .suspended_s = o->suspended_s,
				   .restarts = o->run.restarts,
				   .suspended = o->span.suspended },
			.run_open = true,
		};
		*as = (struct egs_account_alloc){
			.user = intern_name(a, o->kind.user),
			.account = intern_name(a, o->kind.account),
			.workload = intern_name(a, o->kind.workload),
			.partition = intern_name(a, o->kind.partition),
			.qos = intern_name(a, o->kind.qos),
			.team = intern_name(a, o->kind.team),
			.tier = intern_name(a, o->kind.tier),
			.phase = intern_name(a, o->kind.phase),
			.loan = intern_name(a, o->kind.loan),
			.cpus = o->span.cpus,
			.nodes = o->span.nodes,
			.mem_mb = o->span.mem_mb,
		};
	}
	if (o->span.gpus && as->ntypes < EGS_GPU_COUNT_TYPES_MAX) {
		as->type[as->ntypes].type = intern_name(a, o->kind.type);
		as->type[as->ntypes++].gpus = o->span.gpus;
	}
	compact_job(tracked, job);
}

struct egs_account *egs_account_new(struct egs_store *store,
				    const struct egs_policy_conf *conf,
				    egs_time_t polled_at, struct egs_err *err)
{
	struct egs_account *a = calloc(1, sizeof(*a));

	if (!a) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	a->store = store;
	a->conf = conf;
	a->polled_at = polled_at;
	if (egs_history_open_each(store, restore_open_span, a, err) == 0)
		return a;
	egs_account_free(a);
	return NULL;
}

void egs_account_free(struct egs_account *a)
{
	if (!a)
		return;
	for (uint32_t slot = 0; slot < a->njobs; slot++)
		free(a->job[slot].running);
	egs_intern_clear(&a->names);
	egs_idmap_clear(&a->jobs);
	free(a->job);
	free(a->write);
	free(a);
}

void egs_account_set_conf(struct egs_account *a,
			  const struct egs_policy_conf *conf)
{
	a->conf = conf;
}

/* ---- what Slurm shows ---- */

static struct egs_run_reading make_reading(const struct egs_job_fact *f,
					   egs_time_t now)
{
	static const enum egs_run_state states[] = {
		[EGS_JOB_PENDING] = EGS_RUN_PENDING,
		[EGS_JOB_RUNNING] = EGS_RUN_RUNNING,
		[EGS_JOB_SUSPENDED] = EGS_RUN_SUSPENDED,
		[EGS_JOB_ENDED] = EGS_RUN_ENDED,
	};
	/* Slurm shows a start for a job that was cancelled while pending. */
	bool ran = f->state != EGS_JOB_ENDED || f->nodes;

	return (struct egs_run_reading){
		.state = states[f->state],
		.restarts = f->restarts,
		.start = ran ? (egs_time_t)f->start : 0,
		.end = (egs_time_t)f->end,
		.submit = (egs_time_t)f->submit,
		.suspend_time = (egs_time_t)f->suspend_time,
		.ran_before_s = (egs_time_t)f->ran_before_s,
		.now = now,
	};
}

static void set_gpu_types(struct egs_account *a, struct egs_account_alloc *as,
			  const struct egs_gpu_count *gpus)
{
	as->ntypes = 0;
	memset(as->type, 0, sizeof(as->type));
	for (uint32_t i = 0; i < gpus->ntypes; i++) {
		if (!gpus->by_type[i].count)
			continue;
		as->type[as->ntypes].type =
			intern_name(a, gpus->by_type[i].type);
		as->type[as->ntypes++].gpus = gpus->by_type[i].count;
	}
}

/* What a job holds, and as what kind of use.  Team and tier follow from
 * egs.conf until egs_account_assign() sets them.
 */
static struct egs_account_alloc make_alloc(struct egs_account *a,
					   const struct egs_job_fact *f,
					   const struct egs_stamp *stamp)
{
	const struct egs_standing_input input = {
		.account = f->account,
		.user = f->user,
		.groups = f->groups,
		.qos = f->qos,
		.partitions = f->partition,
		.tier = stamp->hint.tier,
	};
	struct egs_standing s = egs_standing_get(a->conf, &input);
	struct egs_account_alloc as;

	memset(&as, 0, sizeof(as)); /* padding too: memcmp() */
	as.user = intern_name(a, f->user);
	as.account = intern_name(a, f->account);
	as.workload = intern_name(a, stamp->hint.workload);
	as.partition = intern_name(a, f->partition);
	as.qos = intern_name(a, f->qos);
	as.phase = intern_name(a, stamp->hint.phase);
	as.team = intern_name(a, s.team < 0 ? "" : a->conf->team[s.team].name);
	as.tier = intern_name(a, s.tier < 0 ? "" : a->conf->tier[s.tier].name);
	as.loan = intern_name(
		a, s.tier < 0 || !egs_gpu_count_total(&f->gpus)	   ? "-"
		   : a->conf->tier[s.tier].loan == EGS_LOAN_ALWAYS ? "loan"
								   : "owned");
	as.cpus = f->cpus;
	as.nodes = f->nnodes;
	as.mem_mb = f->mem_mb;
	set_gpu_types(a, &as, &f->gpus);
	return as;
}

/* A helper job has the workload and phase of the job that it queues for. */
static void copy_helped_workload(const struct egs_account *a,
				 struct egs_running_job *job)
{
	const struct egs_tracked_job *helped =
		job->run.helper_for ? find_job(a, job->run.helper_for) : NULL;

	if (!helped || !helped->running)
		return;
	job->alloc.workload = helped->running->alloc.workload;
	job->alloc.phase = helped->running->alloc.phase;
}

/* Describe the first or the next run of a job. */
static void describe_run(struct egs_account *a, struct egs_running_job *job,
			 const struct egs_job_fact *f,
			 const struct egs_stamp *stamp)
{
	job->run = (struct egs_job_run){
		.job_id = f->job_id,
		.restarts = f->restarts,
		.start = (egs_time_t)f->start,
		.array_job_id = f->array_job_id,
		.task = f->task,
		.uid = f->uid,
		.gpus = egs_gpu_count_total(&f->gpus),
		.helper_for = stamp->helper_for,
		.nonce = stamp->nonce,
		.submit = (egs_time_t)f->submit,
		.eligible = (egs_time_t)f->eligible,
	};
	job->alloc = make_alloc(a, f, stamp);
	copy_helped_workload(a, job);
	job->name = intern_name(a, f->name);
	job->end_state = intern_name(a, f->end_state);
	if (f->state == EGS_JOB_PENDING)
		job->wait_reason = intern_name(a, f->reason);
	job->unassigned = true;
}

/* Follow a resize, or another change of what the job holds.  What the policy
 * assigned stays.
 */
static void update_alloc(struct egs_account *a, struct egs_running_job *job,
			 const struct egs_job_fact *f,
			 const struct egs_stamp *stamp, egs_time_t now)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	struct egs_account_alloc as = make_alloc(a, f, stamp);
	egs_time_t at = (egs_time_t)f->resize_time;

	as.team = job->alloc.team;
	as.tier = job->alloc.tier;
	as.phase = job->alloc.phase;
	as.loan = job->alloc.loan;
	if (job->run.helper_for)
		as.workload = job->alloc.workload;
	if (memcmp(&as, &job->alloc, sizeof(as)) == 0)
		return;
	if (at <= job->clock.since || at > now)
		at = now;
	append_intervals(a, job, over,
			 egs_interval_split(&job->clock, at, over), at);
	job->alloc = as;
	job->dirty = a->unwritten = true;
}

/* The job was resized and has ended since the last poll.  GPUs of a helper job
 * went to the job it helped, although Slurm still shows them.
 */
static void update_ended_alloc(struct egs_account *a,
			       struct egs_running_job *job,
			       const struct egs_job_fact *f)
{
	static const struct egs_gpu_count none;
	struct egs_interval over[EGS_INTERVALS_MAX];
	egs_time_t at = (egs_time_t)f->resize_time;

	if (at <= job->clock.since || at >= (egs_time_t)f->end)
		return;
	append_intervals(a, job, over,
			 egs_interval_split(&job->clock, at, over), at);
	set_gpu_types(a, &job->alloc, job->run.helper_for ? &none : &f->gpus);
	job->alloc.cpus = f->cpus;
}

/* Slurm reuses job ids. */
static bool is_other_job(const struct egs_tracked_job *tracked,
			 const struct egs_job_fact *f,
			 const struct egs_stamp *stamp)
{
	return tracked->in_use &&
	       (tracked->uid != f->uid || tracked->restarts > f->restarts ||
		(tracked->nonce && stamp->nonce &&
		 tracked->nonce != stamp->nonce));
}

static void read_clock(struct egs_account *a, struct egs_running_job *job,
		       const struct egs_run_reading *r)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	const struct egs_run_clock was = job->clock;
	int n = egs_interval_update(&job->clock, r, over);
	bool began = !was.since &&
		     (job->clock.since ||
		      (job->clock.finished &&
		       (!was.finished || was.restarts != job->clock.restarts)));

	if (began) {
		const struct egs_pending_write due = { .job = *job,
						       .run_begins = true };

		append_write(a, &due);
		job->begin_write = a->nwrites;
		job->dirty = job->run_open = true;
	}
	append_intervals(a, job, over, n,
			 r->state == EGS_RUN_ENDED ? r->end : r->now);
}

/* Close what an earlier run of the job has left open. */
static void end_old_run(struct egs_account *a, struct egs_running_job *job,
			const struct egs_run_reading *r)
{
	struct egs_run_reading pending = *r;

	if (!job->clock.since ||
	    (r->state != EGS_RUN_PENDING && r->restarts == job->clock.restarts))
		return;
	pending.state = EGS_RUN_PENDING;
	job->end_state = intern_name(a, "REQUEUED");
	read_clock(a, job, &pending);
}

/* A job that ended before this daemon started may be in the history. */
static bool is_in_history(struct egs_account *a,
			  const struct egs_tracked_job *tracked,
			  const struct egs_job_fact *f)
{
	struct egs_job_run run = { .job_id = f->job_id,
				   .restarts = f->restarts,
				   .start = (egs_time_t)f->start };
	struct egs_err err;

	return !tracked->in_use && f->state == EGS_JOB_ENDED &&
	       egs_history_run_has_ended(a->store, &run, &err) != 0;
}

/* Slot of a job, with 'running' allocated if it holds something.  NULL without
 * memory.
 */
static struct egs_tracked_job *prepare_slot(struct egs_account *a,
					    const struct egs_job_fact *f,
					    const struct egs_stamp *stamp)
{
	struct egs_tracked_job *tracked = find_or_add_job(a, f->job_id);
	struct egs_running_job *running;

	if (tracked && is_other_job(tracked, f, stamp)) {
		egs_account_remove_job(a, f->job_id);
		tracked = find_or_add_job(a, f->job_id);
	}
	if (!tracked || tracked->running || f->state == EGS_JOB_PENDING ||
	    f->state == EGS_JOB_ENDED)
		return tracked;
	running = malloc(sizeof(*running));
	if (!running)
		return NULL;
	*running = expand_job(tracked);
	tracked->running = running;
	return tracked;
}

void egs_account_update_job(struct egs_account *a, const struct egs_job_fact *f,
			    egs_time_t now)
{
	struct egs_stamp stamp = { .nonce = 0 };
	struct egs_run_reading r = make_reading(f, now);
	struct egs_tracked_job *tracked;
	struct egs_running_job job;

	egs_stamp_find(f->admin_comment, &stamp);
	tracked = prepare_slot(a, f, &stamp);
	if (!tracked)
		return;
	job = expand_job(tracked);
	end_old_run(a, &job, &r);
	if (is_in_history(a, tracked, f)) {
		job.run.uid = f->uid;
		job.run.nonce = stamp.nonce;
		job.clock = (struct egs_run_clock){ .restarts = f->restarts,
						    .finished = true };
	}
	if (!job.clock.since &&
	    (!job.clock.finished || job.clock.restarts != f->restarts)) {
		describe_run(a, &job, f, &stamp);
		tracked->priority = f->priority;
		tracked->limited = f->flags & EGS_FACT_LIMITED;
		tracked->node_filter = intern_name(a, f->node_filter);
	} else if (job.clock.since && f->state != EGS_JOB_ENDED) {
		update_alloc(a, &job, f, &stamp, now);
	} else if (job.clock.since) {
		update_ended_alloc(a, &job, f);
	}
	if (f->end_state)
		job.end_state = intern_name(a, f->end_state);
	job.limit_s = f->time_limit_s;
	tracked->seen = true;
	read_clock(a, &job, &r);
	compact_job(tracked, &job);
}

void egs_account_remove_job(struct egs_account *a, uint32_t job_id)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	struct egs_tracked_job *tracked = find_job(a, job_id);

	if (!tracked)
		return;
	if (tracked->running) {
		tracked->running->end_state = intern_name(a, "VANISHED");
		append_intervals(a, tracked->running, over,
				 egs_interval_close(&tracked->running->clock,
						    a->polled_at, over),
				 a->polled_at);
	}
	free(tracked->running);
	*tracked = (struct egs_tracked_job){ .in_use = false };
	egs_idmap_drop(&a->jobs, job_id);
}

void egs_account_set_run_end(struct egs_account *a, uint32_t job_id,
			     egs_time_t start, egs_time_t end)
{
	struct egs_tracked_job *tracked = find_job(a, job_id);

	if (tracked && tracked->running &&
	    tracked->running->clock.started == start)
		tracked->running->clock.reported_end = end;
}

void egs_account_end_poll(struct egs_account *a, egs_time_t now)
{
	for (uint32_t slot = 0; !a->synced && slot < a->jobs.nslots; slot++)
		if (a->jobs.id[slot] && !a->job[slot].seen)
			egs_account_remove_job(a, a->jobs.id[slot]);
	a->synced = true;
	a->polled_at = now;
	egs_account_sweep_names(a);
}

int egs_account_get_blocked(const struct egs_account *a, uint32_t job_id,
			    struct egs_account_get_blocked *blocked)
{
	const struct egs_tracked_job *tracked = find_job(a, job_id);

	if (!tracked)
		return -1;
	*blocked = (struct egs_account_get_blocked){
		.partitions = egs_intern_get(&a->names, tracked->partition),
		.node_filter = egs_intern_get(&a->names, tracked->node_filter),
		.priority = tracked->priority,
		.limited = tracked->limited,
	};
	return 0;
}

/* Each change of phase is a span that is kept for Retention.  A job may change
 * its phase twice a second, so later changes of a run are rolled up: the phase
 * of the job at the end of that time counts.
 */
static bool is_phase_rolled_up(const struct egs_running_job *job,
			       egs_time_t now)
{
	return job->nphases >= EGS_ACCOUNT_PHASES_MAX &&
	       now - job->clock.since < EGS_ACCOUNT_ROLL_UP_S;
}

static uint32_t find_phase(struct egs_account *a, struct egs_running_job *job,
			   const char *name, egs_time_t now)
{
	uint32_t phase = intern_name(a, name);

	if (job->run.helper_for || phase == job->alloc.phase)
		return job->alloc.phase;
	if (!job->unassigned && is_phase_rolled_up(job, now))
		return job->alloc.phase;
	job->nphases++;
	return phase;
}

void egs_account_assign(struct egs_account *a, uint32_t job_id,
			const struct egs_account_assignment *use,
			egs_time_t now)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	const struct egs_tracked_job *tracked = find_job(a, job_id);
	struct egs_running_job *job = tracked ? tracked->running : NULL;
	struct egs_account_alloc as;

	if (!job)
		return;
	as = job->alloc;
	as.team = intern_name(a, use->team);
	as.tier = intern_name(a, use->tier);
	as.phase = find_phase(a, job, use->phase, now);
	as.loan = intern_name(a, use->loan);
	if (memcmp(&as, &job->alloc, sizeof(as)) != 0) {
		if (!job->unassigned)
			append_intervals(
				a, job, over,
				egs_interval_split(&job->clock, now, over),
				now);
		else if (job->begin_write)
			a->write[job->begin_write - 1].job.alloc = as;
		job->alloc = as;
		job->dirty = a->unwritten = true;
	}
	job->unassigned = false;
}
