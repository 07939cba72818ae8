/* account.c - every second of every job, from what Slurm shows */
#include "policyd/accounting/account.h"
#include <stdlib.h>
#include <string.h>

#include "common/hint/stamp.h"
#include "common/rules/standing.h"
#include "policyd/accounting/account_internal.h"

static uint32_t name(struct egs_account *a, const char *text)
{
	return egs_names_add(&a->names, text);
}

/* Without memory the seconds are lost, and nothing else. */
static void put_due(struct egs_account *a, const struct egs_due *due)
{
	if (a->ndue == a->due_room) {
		size_t room = 2 * a->due_room + 64;
		struct egs_due *more = realloc(a->due, room * sizeof(*more));

		if (!more)
			return;
		a->due = more;
		a->due_room = room;
	}
	a->due[a->ndue++] = *due;
	a->pending = true;
}

/* What is over of a job; with the last of it the run may be over, at 'end'. */
static void put_over(struct egs_account *a, struct egs_counted *job,
		     const struct egs_interval *over, int n, egs_time_t end)
{
	bool ends = job->under_way && job->meter.over;
	struct egs_due due = { .ends = false };
	int i;

	if (ends) {
		job->under_way = false;
		job->run.end = n ? over[n - 1].end : end;
		job->run.guess = n && over[n - 1].guess;
	}
	due.job = *job;
	for (i = 0; i < n; i++) {
		due.interval = over[i];
		put_due(a, &due);
	}
	due.interval = (struct egs_interval){ 0 };
	due.ends = true;
	if (ends)
		put_due(a, &due);
	if (n || ends)
		job->dirty = a->pending = true;
}

static struct egs_present *find(const struct egs_account *a, uint32_t job_id)
{
	uint32_t slot = egs_idmap_find(&a->jobs, job_id);

	return slot == EGS_IDMAP_NONE || !a->job[slot].known ? NULL
							     : &a->job[slot];
}

static struct egs_present *find_or_add(struct egs_account *a, uint32_t job_id)
{
	uint32_t slot = egs_idmap_add(&a->jobs, job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (slot >= a->njobs) {
		uint32_t room = a->njobs + a->njobs / 8 + 64;
		struct egs_present *more =
			realloc(a->job, room * sizeof(*more));

		if (!more) {
			egs_idmap_drop(&a->jobs, job_id);
			return NULL;
		}
		memset(more + a->njobs, 0, (room - a->njobs) * sizeof(*more));
		a->job = more;
		a->njobs = room;
	}
	return &a->job[slot];
}

/* All there is to know of a job, and back: only what it holds is kept. */
static struct egs_counted unfold(const struct egs_present *shown)
{
	if (shown->holds)
		return *shown->holds;
	return (struct egs_counted){
		.run = { .uid = shown->uid,
			 .restarts = shown->restarts,
			 .nonce = shown->nonce },
		.cause = shown->cause,
		.meter = { .restarts = shown->restarts, .over = shown->over },
	};
}

/* There is room if it holds something: see egs_account_job(). */
static void fold(struct egs_present *shown, const struct egs_counted *job)
{
	const struct egs_meter *m = &job->meter;

	shown->over = !m->since && m->over && m->restarts >= job->run.restarts;
	shown->restarts = shown->over ? m->restarts : job->run.restarts;
	shown->uid = job->run.uid;
	shown->nonce = job->run.nonce;
	shown->cause = job->cause;
	shown->partition = job->as.partition;
	shown->known = true;
	if (m->since) {
		*shown->holds = *job;
	} else {
		free(shown->holds);
		shown->holds = NULL;
	}
}

static void recall(void *arg, const struct egs_open *o)
{
	struct egs_account *a = arg;
	struct egs_present *shown = find_or_add(a, o->run.job_id);
	struct egs_counted *job = shown ? shown->holds : NULL;
	struct egs_holding_as *as;

	if (shown && !job)
		job = shown->holds = calloc(1, sizeof(*job));
	if (!job)
		return;
	as = &job->as;
	if (!shown->known) {
		*job = (struct egs_counted){
			.run = o->run,
			.name = name(a, o->run.name),
			.cause = name(a, o->run.cause),
			.meter = { .since = o->span.start,
				   .started = o->run.start,
				   .idle_s = o->idle_s,
				   .restarts = o->run.restarts,
				   .suspended = o->span.suspended },
			.under_way = true,
		};
		*as = (struct egs_holding_as){
			.user = name(a, o->kind.user),
			.account = name(a, o->kind.account),
			.workload = name(a, o->kind.workload),
			.partition = name(a, o->kind.partition),
			.qos = name(a, o->kind.qos),
			.team = name(a, o->kind.team),
			.tier = name(a, o->kind.tier),
			.phase = name(a, o->kind.phase),
			.loan = name(a, o->kind.loan),
			.cpus = o->span.cpus,
			.nodes = o->span.nodes,
			.mem_mb = o->span.mem_mb,
		};
	}
	if (o->span.gpus && as->ntypes < EGS_GPUS_MAX) {
		as->type[as->ntypes].type = name(a, o->kind.type);
		as->type[as->ntypes++].gpus = o->span.gpus;
	}
	fold(shown, job);
}

struct egs_account *egs_account_new(struct egs_store *store,
				    const struct egs_policy_conf *conf,
				    egs_time_t looked_at, struct egs_err *err)
{
	struct egs_account *a = calloc(1, sizeof(*a));

	if (!a) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	a->store = store;
	a->conf = conf;
	a->looked_at = looked_at;
	if (egs_history_opens(store, recall, a, err) == 0)
		return a;
	egs_account_free(a);
	return NULL;
}

void egs_account_free(struct egs_account *a)
{
	uint32_t slot;

	if (!a)
		return;
	for (slot = 0; slot < a->njobs; slot++)
		free(a->job[slot].holds);
	egs_names_clear(&a->names);
	egs_idmap_clear(&a->jobs);
	free(a->job);
	free(a->due);
	free(a);
}

void egs_account_conf(struct egs_account *a, const struct egs_policy_conf *conf)
{
	a->conf = conf;
}

/* ---- what Slurm shows ---- */

static struct egs_reading reading(const struct egs_job_fact *f, egs_time_t now)
{
	static const enum egs_meter_state states[] = {
		[EGS_JOB_PENDING] = EGS_METER_WAITS,
		[EGS_JOB_RUNNING] = EGS_METER_RUNS,
		[EGS_JOB_SUSPENDED] = EGS_METER_SUSPENDED,
		[EGS_JOB_ENDED] = EGS_METER_ENDED,
	};
	/* Cancelled in the queue it shows a start that never was. */
	bool ran = f->state != EGS_JOB_ENDED || f->nodes;

	return (struct egs_reading){
		.state = states[f->state],
		.restarts = f->restarts,
		.start = ran ? (egs_time_t)f->start : 0,
		.end = (egs_time_t)f->end,
		.submit = (egs_time_t)f->submit,
		.turned = (egs_time_t)f->turned,
		.ran_s = (egs_time_t)f->ran_s,
		.now = now,
	};
}

static void set_types(struct egs_account *a, struct egs_holding_as *as,
		      const struct egs_gpus *gpus)
{
	uint32_t i;

	as->ntypes = 0;
	memset(as->type, 0, sizeof(as->type));
	for (i = 0; i < gpus->n; i++) {
		if (!gpus->row[i].count)
			continue;
		as->type[as->ntypes].type = name(a, gpus->row[i].type);
		as->type[as->ntypes++].gpus = gpus->row[i].count;
	}
}

/* As what it holds what it holds; its standing by the rules of the file, until
 * the policy says more.
 */
static struct egs_holding_as holding(struct egs_account *a,
				     const struct egs_job_fact *f,
				     const struct egs_stamp *stamp)
{
	const struct egs_claimant who = {
		.account = f->account,
		.user = f->user,
		.groups = f->groups,
		.qos = f->qos,
		.partitions = f->partition,
		.tier = stamp->hint.tier,
	};
	struct egs_standing s = egs_managed(a->conf, &who);
	struct egs_holding_as as;

	memset(&as, 0, sizeof(as)); /* padding too: they are compared */
	as.user = name(a, f->user);
	as.account = name(a, f->account);
	as.workload = name(a, stamp->hint.workload);
	as.partition = name(a, f->partition);
	as.qos = name(a, f->qos);
	as.phase = name(a, stamp->hint.phase);
	as.team = name(a, s.team < 0 ? "" : a->conf->team[s.team].name);
	as.tier = name(a, s.tier < 0 ? "" : a->conf->tier[s.tier].name);
	as.loan = name(a, s.tier < 0 || !egs_gres_total(&f->gpus) ? "-"
			  : a->conf->tier[s.tier].loan == EGS_LOAN_ALWAYS
				  ? "loan"
				  : "owned");
	as.cpus = f->cpus;
	as.nodes = f->nnodes;
	as.mem_mb = f->mem_mb;
	set_types(a, &as, &f->gpus);
	return as;
}

/* A helper works for what the job that it queues for works for. */
static void help(const struct egs_account *a, struct egs_counted *job)
{
	const struct egs_present *other =
		job->run.helps ? find(a, job->run.helps) : NULL;

	if (!other || !other->holds)
		return;
	job->as.workload = other->holds->as.workload;
	job->as.phase = other->holds->as.phase;
}

/* The next run of a job, or the first: what it holds is new. */
static void describe(struct egs_account *a, struct egs_counted *job,
		     const struct egs_job_fact *f,
		     const struct egs_stamp *stamp)
{
	job->run = (struct egs_run){
		.job_id = f->job_id,
		.restarts = f->restarts,
		.start = (egs_time_t)f->start,
		.array_job_id = f->array_job_id,
		.task = f->task,
		.uid = f->uid,
		.gpus = egs_gres_total(&f->gpus),
		.helps = egs_fact_helps(f),
		.nonce = stamp->nonce,
		.submit = (egs_time_t)f->submit,
		.eligible = (egs_time_t)f->eligible,
	};
	job->as = holding(a, f, stamp);
	help(a, job);
	job->name = name(a, f->name);
	job->how = name(a, f->how);
	if (f->state == EGS_JOB_PENDING)
		job->cause = name(a, f->reason);
	job->fresh = true;
}

/* What changed of what it holds; the policy's words stay. */
static void follow_holding(struct egs_account *a, struct egs_counted *job,
			   const struct egs_job_fact *f,
			   const struct egs_stamp *stamp, egs_time_t now)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	struct egs_holding_as as = holding(a, f, stamp);
	egs_time_t at = (egs_time_t)f->resized;

	as.team = job->as.team;
	as.tier = job->as.tier;
	as.phase = job->as.phase;
	as.loan = job->as.loan;
	if (job->run.helps)
		as.workload = job->as.workload;
	if (memcmp(&as, &job->as, sizeof(as)) == 0)
		return;
	if (at <= job->meter.since || at > now)
		at = now;
	put_over(a, job, over, egs_meter_cut(&job->meter, at, over), at);
	job->as = as;
	job->dirty = a->pending = true;
}

/* It was resized and has ended since it was last seen.  What a helper had is
 * another's then, and Slurm shows what it once asked for.
 */
static void follow_end(struct egs_account *a, struct egs_counted *job,
		       const struct egs_job_fact *f)
{
	static const struct egs_gpus none;
	struct egs_interval over[EGS_INTERVALS_MAX];
	egs_time_t at = (egs_time_t)f->resized;

	if (at <= job->meter.since || at >= (egs_time_t)f->end)
		return;
	put_over(a, job, over, egs_meter_cut(&job->meter, at, over), at);
	set_types(a, &job->as, job->run.helps ? &none : &f->gpus);
	job->as.cpus = f->cpus;
}

/* Slurm hands ids out again. */
static bool other_job(const struct egs_present *shown,
		      const struct egs_job_fact *f,
		      const struct egs_stamp *stamp)
{
	return shown->known &&
	       (shown->uid != f->uid || shown->restarts > f->restarts ||
		(shown->nonce && stamp->nonce && shown->nonce != stamp->nonce));
}

static void read_meter(struct egs_account *a, struct egs_counted *job,
		       const struct egs_reading *r)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	const struct egs_meter was = job->meter;
	int n = egs_meter_read(&job->meter, r, over);
	bool began = !was.since &&
		     (job->meter.since ||
		      (job->meter.over &&
		       (!was.over || was.restarts != job->meter.restarts)));

	if (began) {
		const struct egs_due due = { .job = *job, .begins = true };

		put_due(a, &due);
		job->begin = a->ndue;
		job->dirty = job->under_way = true;
	}
	put_over(a, job, over, n,
		 r->state == EGS_METER_ENDED ? r->end : r->now);
}

/* What another run has left open is closed as what that was. */
static void end_old_run(struct egs_account *a, struct egs_counted *job,
			const struct egs_reading *r)
{
	struct egs_reading waits = *r;

	if (!job->meter.since ||
	    (r->state != EGS_METER_WAITS && r->restarts == job->meter.restarts))
		return;
	waits.state = EGS_METER_WAITS;
	job->how = name(a, "REQUEUED");
	read_meter(a, job, &waits);
}

/* One that ended before we came may be in the history already. */
static bool told(struct egs_account *a, const struct egs_present *shown,
		 const struct egs_job_fact *f)
{
	struct egs_run run = { .job_id = f->job_id,
			       .restarts = f->restarts,
			       .start = (egs_time_t)f->start };
	struct egs_err err;

	return !shown->known && f->state == EGS_JOB_ENDED &&
	       egs_history_over(a->store, &run, &err) != 0;
}

/* Its slot, with room for what it holds; NULL: out of memory. */
static struct egs_present *slot_for(struct egs_account *a,
				    const struct egs_job_fact *f,
				    const struct egs_stamp *stamp)
{
	struct egs_present *shown = find_or_add(a, f->job_id);
	struct egs_counted *holds;

	if (shown && other_job(shown, f, stamp)) {
		egs_account_gone(a, f->job_id);
		shown = find_or_add(a, f->job_id);
	}
	if (!shown || shown->holds || f->state == EGS_JOB_PENDING ||
	    f->state == EGS_JOB_ENDED)
		return shown;
	holds = malloc(sizeof(*holds));
	if (!holds)
		return NULL;
	*holds = unfold(shown);
	shown->holds = holds;
	return shown;
}

void egs_account_job(struct egs_account *a, const struct egs_job_fact *f,
		     egs_time_t now)
{
	struct egs_stamp stamp = { .nonce = 0 };
	struct egs_reading r = reading(f, now);
	struct egs_present *shown;
	struct egs_counted job;

	egs_stamp_find(f->admin_comment, &stamp);
	shown = slot_for(a, f, &stamp);
	if (!shown)
		return;
	job = unfold(shown);
	end_old_run(a, &job, &r);
	if (told(a, shown, f)) {
		job.run.uid = f->uid;
		job.run.nonce = stamp.nonce;
		job.meter = (struct egs_meter){ .restarts = f->restarts,
						.over = true };
	}
	if (!job.meter.since &&
	    (!job.meter.over || job.meter.restarts != f->restarts)) {
		describe(a, &job, f, &stamp);
		shown->priority = f->priority;
		shown->limited = f->flags & EGS_FACT_LIMITED;
		shown->where = name(a, f->where);
	} else if (job.meter.since && f->state != EGS_JOB_ENDED) {
		follow_holding(a, &job, f, &stamp, now);
	} else if (job.meter.since) {
		follow_end(a, &job, f);
	}
	if (f->how)
		job.how = name(a, f->how);
	shown->seen = true;
	read_meter(a, &job, &r);
	fold(shown, &job);
}

void egs_account_gone(struct egs_account *a, uint32_t job_id)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	struct egs_present *shown = find(a, job_id);

	if (!shown)
		return;
	if (shown->holds) {
		shown->holds->how = name(a, "VANISHED");
		put_over(a, shown->holds, over,
			 egs_meter_gone(&shown->holds->meter, a->looked_at,
					over),
			 a->looked_at);
	}
	free(shown->holds);
	*shown = (struct egs_present){ .known = false };
	egs_idmap_drop(&a->jobs, job_id);
}

void egs_account_ended(struct egs_account *a, uint32_t job_id, egs_time_t start,
		       egs_time_t end)
{
	struct egs_present *shown = find(a, job_id);

	if (shown && shown->holds && shown->holds->meter.started == start)
		shown->holds->meter.ended = end;
}

void egs_account_looked(struct egs_account *a, egs_time_t now)
{
	uint32_t slot;

	for (slot = 0; !a->whole && slot < a->jobs.nslots; slot++)
		if (a->jobs.id[slot] && !a->job[slot].seen)
			egs_account_gone(a, a->jobs.id[slot]);
	a->whole = true;
	a->looked_at = now;
}

int egs_account_blocked(const struct egs_account *a, uint32_t job_id,
			struct egs_account_blocked *blocked)
{
	const struct egs_present *shown = find(a, job_id);

	if (!shown)
		return -1;
	*blocked = (struct egs_account_blocked){
		.partitions = egs_names_get(&a->names, shown->partition),
		.where = egs_names_get(&a->names, shown->where),
		.priority = shown->priority,
		.limited = shown->limited,
	};
	return 0;
}

void egs_account_stand(struct egs_account *a, uint32_t job_id,
		       const struct egs_account_standing *s, egs_time_t now)
{
	struct egs_interval over[EGS_INTERVALS_MAX];
	const struct egs_present *shown = find(a, job_id);
	struct egs_counted *job = shown ? shown->holds : NULL;
	struct egs_holding_as as;

	if (!job)
		return;
	as = job->as;
	as.team = name(a, s->team);
	as.tier = name(a, s->tier);
	if (!job->run.helps)
		as.phase = name(a, s->phase);
	as.loan = name(a, s->loan);
	if (memcmp(&as, &job->as, sizeof(as)) != 0) {
		if (!job->fresh)
			put_over(a, job, over,
				 egs_meter_cut(&job->meter, now, over), now);
		else if (job->begin)
			a->due[job->begin - 1].job.as = as;
		job->as = as;
		job->dirty = a->pending = true;
	}
	job->fresh = false;
}
