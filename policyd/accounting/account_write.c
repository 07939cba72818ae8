/* account_write.c - write the account to the history */
#include <stdlib.h>

#include "policyd/accounting/account_internal.h"

enum {
	WRITE_ROOM_KEPT = 256, /* a larger array is freed after a commit */
};

static const char *get_name(const struct egs_account *a, uint32_t number)
{
	return egs_intern_get(&a->names, number);
}

static struct egs_usage_kind make_kind(const struct egs_account *a,
				       const struct egs_account_alloc *as,
				       uint32_t type)
{
	return (struct egs_usage_kind){
		.user = get_name(a, as->user),
		.account = get_name(a, as->account),
		.team = get_name(a, as->team),
		.workload = get_name(a, as->workload),
		.phase = get_name(a, as->phase),
		.tier = get_name(a, as->tier),
		.partition = get_name(a, as->partition),
		.qos = get_name(a, as->qos),
		.type = type < as->ntypes ? get_name(a, as->type[type].type)
					  : "",
		.loan = get_name(a, as->loan),
	};
}

/* A job with GPUs of two types has two spans.  The first has its cores, memory
 * and nodes.
 */
static struct egs_span make_span(const struct egs_account_alloc *as,
				 uint32_t type,
				 const struct egs_interval *interval)
{
	return (struct egs_span){
		.start = interval->start,
		.end = interval->end,
		.suspended = interval->suspended,
		.gpus = type < as->ntypes ? as->type[type].gpus : 0,
		.cpus = type ? 0 : as->cpus,
		.nodes = type ? 0 : as->nodes,
		.mem_mb = type ? 0 : as->mem_mb,
	};
}

static uint32_t count_spans(const struct egs_account_alloc *as)
{
	return as->ntypes ? as->ntypes : 1;
}

static struct egs_job_run make_run(const struct egs_account *a,
				   const struct egs_running_job *job)
{
	struct egs_job_run run = job->run;

	run.name = get_name(a, job->name);
	run.end_state = run.end ? get_name(a, job->end_state) : "";
	run.wait_reason = get_name(a, job->wait_reason);
	return run;
}

static int save_run(const struct egs_account *a, const struct egs_job_run *run,
		    const struct egs_account_alloc *as, int64_t *id,
		    struct egs_err *err)
{
	struct egs_usage_kind kind = make_kind(a, as, 0);

	return egs_history_run_save(a->store, run, &kind, id, err);
}

/* A span may have been ended after the job had, and before a poll showed that
 * to the daemon.
 */
static int end_run(const struct egs_account *a, const struct egs_job_run *run,
		   int64_t id, struct egs_err *err)
{
	if (egs_history_run_cut(a->store, id, run->end, err) < 0)
		return -1;
	return egs_history_open_clear(a->store, id, err);
}

static int write_pending(const struct egs_account *a,
			 const struct egs_pending_write *due,
			 struct egs_err *err)
{
	const struct egs_account_alloc *as = &due->job.alloc;
	struct egs_job_run run = make_run(a, &due->job);
	struct egs_usage_kind kind = make_kind(a, as, 0);
	int64_t id;

	if (!due->run_ends)
		run.end = 0;
	if (save_run(a, &run, as, &id, err) < 0)
		return -1;
	if (due->run_begins)
		return egs_history_wait_add(a->store, &run, &kind, err);
	if (due->run_ends)
		return end_run(a, &run, id, err);
	for (uint32_t i = 0; i < count_spans(as); i++) {
		struct egs_span span = make_span(as, i, &due->interval);

		kind = make_kind(a, as, i);
		if (egs_history_span_add(a->store, id, &kind, &span, err) < 0)
			return -1;
	}
	return 0;
}

/* What the job holds now; the end is not known. */
static struct egs_interval get_open_interval(const struct egs_running_job *job)
{
	return (struct egs_interval){ .start = job->clock.since,
				      .suspended = job->clock.suspended };
}

static int write_open_spans(const struct egs_account *a,
			    const struct egs_running_job *job,
			    struct egs_err *err)
{
	const struct egs_interval interval = get_open_interval(job);
	struct egs_job_run run = make_run(a, job);
	int64_t id;

	if (!job->clock.since)
		return 0;
	if (save_run(a, &run, &job->alloc, &id, err) < 0 ||
	    egs_history_open_clear(a->store, id, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count_spans(&job->alloc); i++) {
		struct egs_open_span open = {
			.kind = make_kind(a, &job->alloc, i),
			.span = make_span(&job->alloc, i, &interval),
			.suspended_s = job->clock.suspended_s,
		};

		if (egs_history_open_add(a->store, id, &open, err) < 0)
			return -1;
	}
	return 0;
}

bool egs_account_has_unwritten(const struct egs_account *a)
{
	return a->unwritten;
}

int egs_account_write(struct egs_account *a, struct egs_err *err)
{
	for (size_t i = 0; i < a->nwrites; i++)
		if (write_pending(a, &a->write[i], err) < 0)
			return -1;
	for (uint32_t slot = 0; slot < a->njobs; slot++)
		if (a->job[slot].running && a->job[slot].running->dirty &&
		    write_open_spans(a, a->job[slot].running, err) < 0)
			return -1;
	return 0;
}

void egs_account_clear_written(struct egs_account *a)
{
	for (uint32_t slot = 0; slot < a->njobs; slot++) {
		struct egs_running_job *job = a->job[slot].running;

		if (!job)
			continue;
		job->dirty = false;
		job->begin_write = 0;
	}
	a->nwrites = 0;
	a->unwritten = false;
	if (a->write_room <= WRITE_ROOM_KEPT)
		return;
	free(a->write);
	a->write = NULL;
	a->write_room = 0;
}

static void tell_spans(const struct egs_account *a,
		       const struct egs_account_alloc *as,
		       const struct egs_interval *interval,
		       void (*fn)(void *arg, const struct egs_usage_kind *kind,
				  const struct egs_span *span),
		       void *arg)
{
	for (uint32_t i = 0; i < count_spans(as); i++) {
		struct egs_usage_kind kind = make_kind(a, as, i);
		struct egs_span span = make_span(as, i, interval);

		fn(arg, &kind, &span);
	}
}

void egs_account_each_written(const struct egs_account *a,
			      const struct egs_account_watcher *watcher,
			      void *arg)
{
	for (size_t i = 0; i < a->nwrites; i++) {
		const struct egs_pending_write *due = &a->write[i];
		struct egs_job_run run = make_run(a, &due->job);
		struct egs_usage_kind kind = make_kind(a, &due->job.alloc, 0);

		if (due->run_begins)
			watcher->run_began(arg, &run, &kind);
		else if (due->run_ends)
			watcher->run_ended(arg, &run);
		else
			tell_spans(a, &due->job.alloc, &due->interval,
				   watcher->span_ended, arg);
	}
}

int egs_account_get_running(const struct egs_account *a, uint32_t job_id,
			    egs_time_t now, struct egs_account_running *running)
{
	uint32_t slot = egs_idmap_find(&a->jobs, job_id);
	const struct egs_running_job *job =
		slot == EGS_IDMAP_NONE ? NULL : a->job[slot].running;
	const struct egs_run_clock *clock = job ? &job->clock : NULL;

	if (!job || !clock->since)
		return -1;
	*running = (struct egs_account_running){
		.run = make_run(a, job),
		.kind = make_kind(a, &job->alloc, 0),
		.run_s = (clock->suspended ? clock->since : now) -
			 clock->started - clock->suspended_s,
		.limit_s = job->limit_s,
	};
	return 0;
}

void egs_account_each_open(const struct egs_account *a,
			   void (*fn)(void *arg,
				      const struct egs_usage_kind *kind,
				      const struct egs_span *span),
			   void *arg)
{
	for (uint32_t slot = 0; slot < a->njobs; slot++) {
		const struct egs_running_job *job = a->job[slot].running;
		struct egs_interval interval;

		if (!job || !job->clock.since)
			continue;
		interval = get_open_interval(job);
		tell_spans(a, &job->alloc, &interval, fn, arg);
	}
}
