/* metrics_count.c - count what happens, for RunDir/metrics
 *
 * Jobs and levels are counted when they are on disk, so they are counted once.
 * What goes on is added while the file is written.  A counter begins where the
 * last file ends; what was counted after that file is lost, at most the time
 * between two files.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/accounting/wastage.h"
#include "policyd/requests/metrics_file.h"

static const char *name_or_none(const char *name)
{
	return *name ? name : "none";
}

/* ---- waits and hand-overs ---- */

static struct egs_handover *find_handover(struct egs_metrics_file *f,
					  uint32_t requester)
{
	for (uint32_t i = 0; i < EGS_HANDOVERS_MAX; i++)
		if (f->handover[i].requester == requester)
			return &f->handover[i];
	return NULL;
}

/* The requester may end while it waits: its slot is used again in time. */
static void begin_handover(struct egs_metrics_file *f, uint32_t requester,
			   egs_time_t since)
{
	struct egs_handover *slot;

	if (!requester || find_handover(f, requester))
		return;
	slot = find_handover(f, 0);
	if (!slot)
		slot = &f->handover[f->next_handover++ % EGS_HANDOVERS_MAX];
	*slot = (struct egs_handover){ requester, since };
}

static void end_handover(struct egs_metrics_file *f,
			 const struct egs_job_run *run, const char *tier)
{
	struct egs_handover *slot = find_handover(f, run->job_id);

	if (!slot)
		return;
	if (run->start >= slot->since)
		egs_metrics_observe(f->set, EGS_METRICS_HANDOVER,
				    (double)(run->start - slot->since),
				    EGS_LABELS(tier));
	*slot = (struct egs_handover){ 0 };
}

void egs_metrics_count_run(struct egs_daemon *d, const struct egs_job_run *run,
			   const struct egs_usage_kind *kind)
{
	struct egs_metrics_file *f = d->requests->metrics;
	egs_time_t from =
		run->eligible > run->submit ? run->eligible : run->submit;
	const char *tier = name_or_none(kind->tier);

	egs_metrics_observe(f->set, EGS_METRICS_WAIT,
			    run->start > from ? (double)(run->start - from) : 0,
			    EGS_LABELS(tier));
	end_handover(f, run, tier);
}

/* ---- preemptions ---- */

static void add_lost(struct egs_daemon *d, const char *cause, uint32_t gpus,
		     uint32_t seconds)
{
	egs_metrics_add(d->requests->metrics->set, EGS_METRICS_LOST,
			(double)gpus * seconds, EGS_LABELS(cause));
}

static void count_departure(struct egs_daemon *d, const struct egs_action *a,
			    const struct egs_preemption *p)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	const char *tier = egs_metrics_tier_name(d, j ? j->facts.tier : -1);

	egs_metrics_add(d->requests->metrics->set, EGS_METRICS_PREEMPTIONS, 1,
			EGS_LABELS(tier, p->outcome));
	if (a->preempt.withdrawn)
		return;
	add_lost(d, "work", a->preempt.gpus, p->lost_work_s);
	add_lost(d, "grace", a->preempt.gpus, p->held_s);
	add_lost(d, "restart", a->preempt.gpus, p->restart_s);
}

void egs_metrics_count_preemption(struct egs_daemon *d,
				  const struct egs_action *a,
				  const struct egs_preemption *p)
{
	if (a->kind == EGS_ACT_RECORD_REQUEST)
		begin_handover(d->requests->metrics, a->requester,
			       a->preempt.requested_at);
	else if (a->kind == EGS_ACT_RECORD_DEPARTURE)
		count_departure(d, a, p);
}

/* ---- GPU-seconds and wastage ---- */

/* Wastage Ratio, the same for jobs that would fit, and for held GPUs. */
static const char *const kinds[] = { "wr", "fit", "wrheld" };

typedef void add_fn(struct egs_metrics *m, unsigned int metric, double value,
		    const char *const *labels);

static void add_span(struct egs_daemon *d, add_fn *add,
		     const struct egs_usage_kind *kind, uint32_t gpus,
		     egs_time_t seconds)
{
	if (!gpus || seconds <= 0)
		return;
	add(d->requests->metrics->set, EGS_METRICS_GPU_SECONDS,
	    (double)gpus * (double)seconds,
	    EGS_LABELS(name_or_none(kind->team), name_or_none(kind->phase),
		       name_or_none(kind->tier),
		       *kind->type ? kind->type : "gpu", kind->loan));
}

void egs_metrics_count_span(struct egs_daemon *d,
			    const struct egs_usage_kind *kind,
			    const struct egs_span *span)
{
	if (!span->suspended)
		add_span(d, egs_metrics_add, kind, span->gpus,
			 span->end - span->start);
}

const char *egs_metrics_find_type(const char *scope)
{
	static const char start[] = "gpu/type/";

	return strncmp(scope, start, strlen(start)) == 0 ? scope + strlen(start)
							 : NULL;
}

bool egs_metrics_is_cause(const char *metric)
{
	for (int i = 0; i < EGS_CAUSES; i++)
		if (strcmp(metric, egs_wastage_cause_name(
					   (enum egs_wastage_cause)i)) == 0)
			return true;
	return false;
}

/* The history has levels of the cluster, of types and of partitions. */
static void add_level(struct egs_daemon *d, add_fn *add, const char *scope,
		      const char *metric, double amount)
{
	struct egs_metrics *m = d->requests->metrics->set;
	const char *type = egs_metrics_find_type(scope);
	if (type && egs_metrics_is_cause(metric))
		add(m, EGS_METRICS_WASTED, amount, EGS_LABELS(type, metric));
	if (strcmp(scope, "gpu") != 0)
		return;
	if (strcmp(metric, "seen") == 0)
		add(m, EGS_METRICS_OBSERVED_TIME, amount, EGS_NO_LABELS);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(metric, kinds[i]) == 0)
			add(m, EGS_METRICS_WASTAGE_TIME, amount,
			    EGS_LABELS(metric));
}

void egs_metrics_count_level(struct egs_daemon *d, const char *scope,
			     const char *metric, uint64_t amount)
{
	add_level(d, egs_metrics_add, scope, metric, (double)amount);
}

/* ---- what goes on ---- */

struct open_spans {
	struct egs_daemon *d;
	add_fn *add;
	egs_time_t until;
};

static void add_open_span(void *arg, const struct egs_usage_kind *kind,
			  const struct egs_span *span)
{
	const struct open_spans *open = arg;

	if (!span->suspended)
		add_span(open->d, open->add, kind, span->gpus,
			 open->until - span->start);
}

static void add_open_level(void *arg, const char *scope, const char *metric,
			   uint64_t value, uint64_t amount)
{
	(void)value;
	add_level(arg, egs_metrics_add_open, scope, metric, (double)amount);
}

void egs_metrics_count_open(struct egs_daemon *d, egs_time_t until)
{
	struct open_spans open = { d, egs_metrics_add_open, until };

	if (d->account)
		egs_account_each_open(d->account, add_open_span, &open);
	egs_daemon_each_level(d, add_open_level, d);
}

static void subtract_value(struct egs_metrics *m, unsigned int metric,
			   double value, const char *const *labels)
{
	egs_metrics_add(m, metric, -value, labels);
}

void egs_metrics_count_restore(struct egs_daemon *d, const char *text,
			       size_t len)
{
	struct egs_metrics *m = d->requests->metrics->set;
	struct open_spans open = { .d = d, .add = subtract_value };

	egs_metrics_restore(m, text, len);
	open.until = (egs_time_t)egs_metrics_read(
		text, len, egs_metrics_table[EGS_METRICS_POLLED_AT].name);
	if (d->account && open.until)
		egs_account_each_open(d->account, add_open_span, &open);
}

/* ---- counters of 0 ---- */

void egs_metrics_declare_counters(struct egs_daemon *d)
{
	static const char *const outcomes[] = { "yielded", "left", "late",
						"ended", "spared" };
	static const char *const causes[] = { "work", "grace", "restart" };
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_metrics *m = d->requests->metrics->set;

	for (int tier = 0; tier < c->ntiers; tier++) {
		const char *name = c->tier[tier].name;

		egs_metrics_declare(m, EGS_METRICS_WAIT, EGS_LABELS(name));
		egs_metrics_declare(m, EGS_METRICS_HANDOVER, EGS_LABELS(name));
		for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
			egs_metrics_declare(m, EGS_METRICS_PREEMPTIONS,
					    EGS_LABELS(name, outcomes[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		egs_metrics_declare(m, EGS_METRICS_LOST, EGS_LABELS(causes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		egs_metrics_declare(m, EGS_METRICS_WASTAGE_TIME,
				    EGS_LABELS(kinds[i]));
}

/* ---- the daemon ---- */

static void add_step(struct egs_daemon *d, unsigned int metric, uint64_t *told,
		     uint64_t total)
{
	egs_metrics_add(d->requests->metrics->set, metric,
			(double)(total - *told), EGS_NO_LABELS);
	*told = total;
}

void egs_metrics_count_totals(struct egs_daemon *d)
{
	struct egs_metrics_totals *told = &d->requests->metrics->told;

	add_step(d, EGS_METRICS_POLLS, &told->polls, d->poll_count);
	add_step(d, EGS_METRICS_TABLE_WRITES, &told->publications,
		 d->publish_count);
	add_step(d, EGS_METRICS_STORE_FAILURES, &told->store_failures,
		 d->store_failures);
}
