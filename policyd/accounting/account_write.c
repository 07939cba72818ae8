/* account_write.c - from the account to the history */
#include <stdlib.h>

#include "policyd/accounting/account_internal.h"

enum {
	DUE_KEPT = 256, /* room for so many is not given back */
};

static const char *text(const struct egs_account *a, uint32_t number)
{
	return egs_names_get(&a->names, number);
}

static struct egs_kind kind_of(const struct egs_account *a,
			       const struct egs_holding_as *as, uint32_t type)
{
	return (struct egs_kind){
		.user = text(a, as->user),
		.account = text(a, as->account),
		.team = text(a, as->team),
		.workload = text(a, as->workload),
		.phase = text(a, as->phase),
		.tier = text(a, as->tier),
		.partition = text(a, as->partition),
		.qos = text(a, as->qos),
		.type = type < as->ntypes ? text(a, as->type[type].type) : "",
		.loan = text(a, as->loan),
	};
}

/* A job with GPUs of two types is two spans; cores, memory and nodes are with
 * the first.
 */
static struct egs_span span_of(const struct egs_holding_as *as, uint32_t type)
{
	return (struct egs_span){
		.gpus = type < as->ntypes ? as->type[type].gpus : 0,
		.cpus = type ? 0 : as->cpus,
		.nodes = type ? 0 : as->nodes,
		.mem_mb = type ? 0 : as->mem_mb,
	};
}

static uint32_t nspans(const struct egs_holding_as *as)
{
	return as->ntypes ? as->ntypes : 1;
}

static struct egs_run run_of(const struct egs_account *a,
			     const struct egs_counted *job)
{
	struct egs_run run = job->run;

	run.name = text(a, job->name);
	run.how = run.end ? text(a, job->how) : "";
	run.cause = text(a, job->cause);
	return run;
}

static int put_run(const struct egs_account *a, const struct egs_run *run,
		   const struct egs_holding_as *as, int64_t *id,
		   struct egs_err *err)
{
	struct egs_kind kind = kind_of(a, as, 0);

	return egs_history_run(a->store, run, &kind, id, err);
}

static int write_due(const struct egs_account *a, const struct egs_due *due,
		     struct egs_err *err)
{
	const struct egs_holding_as *as = &due->job.as;
	struct egs_run run = run_of(a, &due->job);
	struct egs_kind kind = kind_of(a, as, 0);
	int64_t id;
	uint32_t i;

	if (!due->ends)
		run.end = 0;
	if (put_run(a, &run, as, &id, err) < 0)
		return -1;
	if (due->begins)
		return egs_history_wait(a->store, &run, &kind, err);
	if (due->ends)
		return egs_history_close(a->store, id, err);
	for (i = 0; i < nspans(as); i++) {
		struct egs_span span = span_of(as, i);

		kind = kind_of(a, as, i);
		span.start = due->interval.start;
		span.end = due->interval.end;
		span.suspended = due->interval.suspended;
		if (egs_history_span(a->store, id, &kind, &span, err) < 0)
			return -1;
	}
	return 0;
}

static int write_open(const struct egs_account *a,
		      const struct egs_counted *job, struct egs_err *err)
{
	struct egs_run run = run_of(a, job);
	int64_t id;
	uint32_t i;

	if (!job->meter.since)
		return 0;
	if (put_run(a, &run, &job->as, &id, err) < 0 ||
	    egs_history_close(a->store, id, err) < 0)
		return -1;
	for (i = 0; i < nspans(&job->as); i++) {
		struct egs_open open = {
			.kind = kind_of(a, &job->as, i),
			.span = span_of(&job->as, i),
			.idle_s = job->meter.idle_s,
		};

		open.span.start = job->meter.since;
		open.span.suspended = job->meter.suspended;
		if (egs_history_open(a->store, id, &open, err) < 0)
			return -1;
	}
	return 0;
}

bool egs_account_pending(const struct egs_account *a)
{
	return a->pending;
}

int egs_account_write(struct egs_account *a, struct egs_err *err)
{
	uint32_t slot;
	size_t i;

	for (i = 0; i < a->ndue; i++)
		if (write_due(a, &a->due[i], err) < 0)
			return -1;
	for (slot = 0; slot < a->njobs; slot++)
		if (a->job[slot].holds && a->job[slot].holds->dirty &&
		    write_open(a, a->job[slot].holds, err) < 0)
			return -1;
	return 0;
}

void egs_account_written(struct egs_account *a)
{
	uint32_t slot;

	for (slot = 0; slot < a->njobs; slot++) {
		struct egs_counted *job = a->job[slot].holds;

		if (!job)
			continue;
		job->dirty = false;
		job->begin = 0;
	}
	a->ndue = 0;
	a->pending = false;
	if (a->due_room <= DUE_KEPT)
		return;
	free(a->due);
	a->due = NULL;
	a->due_room = 0;
}
