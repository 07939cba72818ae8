/* predict.c - how long jobs take, learned from jobs that have ended */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/predict/classes.h"

enum {
	PRIOR_RUNS = 2, /* the next class counts as much as so many runs */
	LOW_PERCENT = 10,
	HIGH_PERCENT = 90,
	/* With less progress between two reports, its speed is not known. */
	PROGRESS_MIN_PPM = 10000,
	PROGRESS_SLACK_S = 60, /* to end after the last of the work */
	/* Slurm gives this limit to a job that starts without one. */
	NO_LIMIT_S = 365 * 86400,
};

/* Longer times are not told apart: 34 years. */
#define TIME_MAX ((egs_time_t)1 << 30)

struct egs_predict {
	struct egs_classes classes;
};

static_assert(sizeof(struct egs_predict) / EGS_PREDICT_CLASSES <=
		      EGS_PREDICT_CLASS_MAX,
	      "predictions take 1.1 MB");

const char *egs_predict_source_name(enum egs_predict_source source)
{
	static const char *const names[EGS_PREDICT_SOURCES] = {
		[EGS_PREDICT_STAGE] = "user+workload",
		[EGS_PREDICT_NAME] = "user+name",
		[EGS_PREDICT_USER] = "user",
		[EGS_PREDICT_PHASE] = "account+phase",
		[EGS_PREDICT_PARTITION] = "partition",
		[EGS_PREDICT_PROGRESS] = "progress",
		[EGS_PREDICT_LIMIT] = "limit",
		[EGS_PREDICT_NOTHING] = "none",
	};

	return names[source];
}

struct egs_predict *egs_predict_new(void)
{
	return calloc(1, sizeof(struct egs_predict));
}

void egs_predict_free(struct egs_predict *p)
{
	free(p);
}

void egs_predict_clear(struct egs_predict *p)
{
	memset(p, 0, sizeof(*p));
}

static egs_time_t clamp_time(egs_time_t s)
{
	return s < 0 ? 0 : s > TIME_MAX ? TIME_MAX : s;
}

/* ---- learn ---- */

bool egs_predict_is_end(const char *end_state)
{
	static const char *const others[] = { "REQUEUED",  "PREEMPTED",
					      "VANISHED",  "NODE_FAIL",
					      "BOOT_FAIL", "RESIZING" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(end_state, others[i]) == 0)
			return false;
	return *end_state;
}

bool egs_predict_is_early_failure(const char *end_state, egs_time_t run_s)
{
	return strcmp(end_state, "COMPLETED") != 0 &&
	       run_s < EGS_PREDICT_EARLY_S;
}

static void add_run(struct egs_class *class, egs_time_t run_s, bool early)
{
	uint32_t ends = class->runs - class->failures;

	class->runs++;
	if (early) {
		class->failures++;
		return;
	}
	class->last[ends % EGS_CLASS_LAST] = (uint32_t)run_s;
	egs_histogram_add(&class->times, run_s);
}

void egs_predict_learn(struct egs_predict *p, const struct egs_predict_job *job,
		       egs_time_t run_s, const char *end_state)
{
	struct egs_class_key key;

	if (!egs_predict_is_end(end_state))
		return;
	run_s = clamp_time(run_s);
	for (int level = 0; level < EGS_PREDICT_LEVELS; level++)
		if (egs_classes_make_key(job, level, &key))
			add_run(egs_classes_use(&p->classes, &key), run_s,
				egs_predict_is_early_failure(end_state, run_s));
}

/* ---- by its class ---- */

/* The first class of 'job' from 'level' on with so many runs; NULL: none. */
static const struct egs_class *find_class(const struct egs_predict *p,
					  const struct egs_predict_job *job,
					  uint32_t runs, int *level)
{
	for (; *level < EGS_PREDICT_LEVELS; ++*level) {
		const struct egs_class *class = NULL;
		struct egs_class_key key;

		if (egs_classes_make_key(job, *level, &key))
			class = egs_classes_find(&p->classes, &key);
		if (class && class->runs - class->failures >= runs)
			return class;
	}
	return NULL;
}

static int compare_times(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The median of the last run times above 'from_s'; 0: fewer than three. */
static egs_time_t find_recent_median(const struct egs_class *class,
				     egs_time_t from_s)
{
	uint32_t sorted[EGS_CLASS_LAST], n = 0;

	for (uint32_t i = 0; i < egs_class_remembered(class); i++)
		if (class->last[i] > from_s || !from_s)
			sorted[n++] = class->last[i];
	if (n < EGS_PREDICT_RUNS_MIN)
		return 0;
	qsort(sorted, n, sizeof(sorted[0]), compare_times);
	return n % 2 ? sorted[n / 2]
		     : ((egs_time_t)sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Runs that always take as long fall into a part of one or two buckets.  Move
 * an end of their interval to the last runs in its bucket.
 */
static void include_recent(const struct egs_class *class, egs_time_t from_s,
			   struct egs_estimate *e)
{
	uint32_t low = egs_histogram_bucket(e->low_s);
	uint32_t high = egs_histogram_bucket(e->high_s);

	if (high - low > 1)
		return;
	for (uint32_t i = 0; i < egs_class_remembered(class); i++) {
		const egs_time_t s = class->last[i];
		const uint32_t bucket = egs_histogram_bucket(s);

		if (s <= from_s)
			continue;
		if (bucket == low && s < e->low_s)
			e->low_s = s;
		if (bucket == high && s > e->high_s)
			e->high_s = s;
	}
}

/* The whole run time of a job that has run for 'ran_s'. */
static bool predict_by_class(const struct egs_predict *p,
			     const struct egs_predict_job *job,
			     egs_time_t ran_s, struct egs_estimate *e)
{
	const struct egs_class *class, *prior;
	struct egs_weights w;
	int level = 0, next;

	for (; (class = find_class(p, job, EGS_PREDICT_RUNS_MIN, &level));
	     level++) {
		next = level + 1;
		prior = find_class(p, job, 2 * (class->runs - class->failures),
				   &next);
		if (egs_weights_set(&w, &class->times,
				    prior ? &prior->times : NULL, PRIOR_RUNS,
				    ran_s) == 0)
			break;
	}
	if (!class)
		return false;
	*e = (struct egs_estimate){
		.source = level,
		.low_s = egs_weights_quantile(&w, LOW_PERCENT),
		.likely_s = find_recent_median(class, ran_s),
		.high_s = egs_weights_quantile(&w, HIGH_PERCENT),
		.runs = class->runs,
		.failures = class->failures,
	};
	include_recent(class, ran_s, e);
	if (!e->likely_s)
		e->likely_s = egs_weights_quantile(&w, 50);
	return true;
}

/* ---- by its progress ---- */

/* As fast as between the reports so far.  A job that does not say more for
 * twice the time that was left is not believed any more.
 */
static bool predict_by_progress(const struct egs_predict_state *state,
				struct egs_estimate *e)
{
	const struct egs_predict_progress *r = &state->progress;
	egs_time_t took = clamp_time(r->at_s) - clamp_time(r->first_s);
	egs_time_t left, late, latest;
	int64_t done;

	if (r->first_ppm < 0 || r->ppm > EGS_PREDICT_PPM || took <= 0)
		return false;
	done = r->ppm - r->first_ppm;
	if (done < PROGRESS_MIN_PPM)
		return false;
	left = took * (EGS_PREDICT_PPM - r->ppm) / done;
	late = clamp_time(state->attempt_s - r->at_s);
	latest = 2 * left + PROGRESS_SLACK_S;
	if (late > latest)
		return false;
	*e = (struct egs_estimate){
		.source = EGS_PREDICT_PROGRESS,
		.low_s = clamp_time(left * 2 / 3 - late),
		.likely_s = clamp_time(left - late),
		.high_s = latest - late,
	};
	return true;
}

/* ---- all ---- */

static void order_estimate(struct egs_estimate *e)
{
	if (e->low_s > e->likely_s)
		e->low_s = e->likely_s;
	if (e->high_s < e->likely_s)
		e->high_s = e->likely_s;
}

static void apply_limit(const struct egs_predict_state *state,
			struct egs_estimate *e)
{
	egs_time_t left = clamp_time(state->limit_s - state->attempt_s);

	if (!state->limit_s || state->limit_s >= NO_LIMIT_S)
		return;
	if (e->source == EGS_PREDICT_NOTHING)
		*e = (struct egs_estimate){ .source = EGS_PREDICT_LIMIT,
					    .likely_s = left,
					    .high_s = left };
	e->low_s = e->low_s < left ? e->low_s : left;
	e->likely_s = e->likely_s < left ? e->likely_s : left;
	e->high_s = e->high_s < left ? e->high_s : left;
}

struct egs_estimate egs_predict_rest(const struct egs_predict *p,
				     const struct egs_predict_job *job,
				     const struct egs_predict_state *state)
{
	struct egs_estimate e = { .source = EGS_PREDICT_NOTHING };
	egs_time_t ran_s = clamp_time(state->ran_s);

	if (!predict_by_progress(state, &e) &&
	    predict_by_class(p, job, ran_s, &e)) {
		e.low_s = clamp_time(e.low_s - ran_s);
		e.likely_s = clamp_time(e.likely_s - ran_s);
		e.high_s = clamp_time(e.high_s - ran_s);
	}
	order_estimate(&e);
	apply_limit(state, &e);
	return e;
}
