/* predict.c - predictions of run times: classes, intervals, progress, memory */
#include <err.h>
#include <stdio.h>

#include "policyd/predict/histogram.h"
#include "policyd/predict/predict.h"
#include "t/lib/unit/tap.h"

enum { HOUR = 3600, DAY = 86400 };

#define HUGE_S (INT64_MAX / 2)

static struct egs_predict *new_predict(void)
{
	struct egs_predict *p = egs_predict_new();

	if (!p)
		err(1, "out of memory");
	return p;
}

/* A job of alice; tests change what they are about. */
static struct egs_predict_job make_job(void)
{
	return (struct egs_predict_job){ .user = "alice",
					 .account = "fraud",
					 .workload = "",
					 .phase = "train",
					 .partition = "gpu",
					 .name = "bert-1",
					 .gpus = 4 };
}

static void learn(struct egs_predict *p, const struct egs_predict_job *job,
		  egs_time_t run_s, int times)
{
	while (times--)
		egs_predict_learn(p, job, run_s, "COMPLETED");
}

static struct egs_estimate predict(const struct egs_predict *p,
				   const struct egs_predict_job *job,
				   egs_time_t ran_s)
{
	const struct egs_predict_state state = { .ran_s = ran_s,
						 .attempt_s = ran_s };

	return egs_predict_rest(p, job, &state);
}

static bool is_ordered(const struct egs_estimate *e)
{
	return e->low_s >= 0 && e->low_s <= e->likely_s &&
	       e->likely_s <= e->high_s;
}

static bool contains(const struct egs_estimate *e, egs_time_t s)
{
	return e->low_s <= s && s <= e->high_s;
}

/* ---- histogram ---- */

static void buckets_have_no_gap(void)
{
	bool ok = true;

	for (uint32_t i = 0; i < EGS_HISTOGRAM_BUCKETS; i++)
		ok = ok &&
		     egs_histogram_begin(i) < egs_histogram_begin(i + 1) &&
		     egs_histogram_bucket(egs_histogram_begin(i)) == i &&
		     (!i || egs_histogram_bucket(egs_histogram_begin(i) - 1) ==
				    i - 1);
	ok(ok, "each second has one bucket");
	is_int(egs_histogram_bucket(HUGE_S), EGS_HISTOGRAM_BUCKETS - 1,
	       "a huge time is in the last bucket");
	is_int(egs_histogram_bucket(-5), 0, "a negative time is in the first");
}

static void old_runs_fade(void)
{
	struct egs_histogram h = { .total = 0 };
	struct egs_weights w;

	for (int i = 0; i < 10000; i++)
		egs_histogram_add(&h, HOUR);
	ok(h.total <= EGS_HISTOGRAM_MAX, "a histogram does not overflow");
	for (int i = 0; i < EGS_HISTOGRAM_MAX; i++)
		egs_histogram_add(&h, 10 * HOUR);
	egs_weights_set(&w, &h, NULL, 0, 0);
	ok(egs_weights_quantile(&w, 50) > 8 * HOUR,
	   "as many new runs as it counts decide the median");
}

/* ---- classes ---- */

static void first_class_with_three_runs(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job(), other;
	struct egs_estimate e;

	e = predict(p, &job, 0);
	is_int(e.source, EGS_PREDICT_NOTHING, "no history predicts nothing");
	other = job;
	other.user = "bob";
	other.account = "vision";
	learn(p, &other, HOUR, 3);
	e = predict(p, &job, 0);
	is_int(e.source, EGS_PREDICT_PARTITION,
	       "runs of others in the partition predict");
	is_int(e.runs, 3, "an estimate has the number of its runs");
	other.account = "fraud";
	learn(p, &other, 2 * HOUR, 3);
	is_int(predict(p, &job, 0).source, EGS_PREDICT_PHASE,
	       "runs of the account and phase come before the partition");
	other = job;
	other.name = "else";
	learn(p, &other, 3 * HOUR, 3);
	is_int(predict(p, &job, 0).source, EGS_PREDICT_USER,
	       "runs of the user come before those of the account");
	other.name = "bert-77";
	learn(p, &other, 4 * HOUR, 2);
	is_int(predict(p, &job, 0).source, EGS_PREDICT_USER,
	       "two runs of the same name are not enough");
	learn(p, &other, 4 * HOUR, 1);
	e = predict(p, &job, 0);
	is_int(e.source, EGS_PREDICT_NAME, "digits of a name do not count");
	is_int(e.likely_s, 4 * HOUR, "the likely time is that of the class");
	job.workload = "fraud/train";
	other = job;
	other.gpus = 16;
	learn(p, &other, 5 * HOUR, 3);
	e = predict(p, &job, 0);
	is_int(e.source, EGS_PREDICT_STAGE,
	       "runs of the workload come first, whatever their GPUs");
	egs_predict_free(p);
}

static void classes_are_apart(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job(), other = job;

	learn(p, &job, HOUR, 5);
	other.gpus = 8;
	is_int(predict(p, &other, 0).source, EGS_PREDICT_NOTHING,
	       "a job with more GPUs is in other classes");
	other = job;
	other.user = other.account = NULL;
	other.partition = "gpu,serve";
	is_int(predict(p, &other, 0).source, EGS_PREDICT_PARTITION,
	       "the first of several partitions counts");
	other.partition = "gp";
	is_int(predict(p, &other, 0).source, EGS_PREDICT_NOTHING,
	       "a partition with a similar name is another");
	egs_predict_clear(p);
	is_int(predict(p, &job, 0).source, EGS_PREDICT_NOTHING,
	       "nothing is left after a clear");
	egs_predict_free(p);
}

static void median_of_last_five(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();

	learn(p, &job, 10 * HOUR, 20);
	learn(p, &job, HOUR, 3);
	is_int(predict(p, &job, 0).likely_s, HOUR,
	       "three of the last five runs decide the likely time");
	egs_predict_free(p);
}

static void ends_that_teach_nothing(void)
{
	static const char *const states[] = { "REQUEUED", "PREEMPTED",
					      "NODE_FAIL", "VANISHED", "" };
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_estimate e;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int n = 0; n < 3; n++)
			egs_predict_learn(p, &job, HOUR, states[i]);
	is_int(predict(p, &job, 0).source, EGS_PREDICT_NOTHING,
	       "requeued runs and failures of nodes teach nothing");
	for (int n = 0; n < 9; n++)
		egs_predict_learn(p, &job, 20, "FAILED");
	is_int(predict(p, &job, 0).source, EGS_PREDICT_NOTHING,
	       "failures in the first minute alone predict nothing");
	for (int n = 0; n < 3; n++)
		egs_predict_learn(p, &job, HOUR, "FAILED");
	e = predict(p, &job, 0);
	is_int(e.likely_s, HOUR, "early failures do not shorten the estimate");
	is_int(e.failures, 9, "early failures are counted");
	is_int(e.runs, 12, "early failures are among the runs");
	egs_predict_free(p);
	p = new_predict();
	learn(p, &job, 20, 3);
	is_int(predict(p, &job, 0).likely_s, 20,
	       "a success in the first minute is a run like others");
	egs_predict_free(p);
}

/* ---- intervals ---- */

/* A sequence without a pattern, the same on each machine. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Between 1 minute and 17 hours, as many in each octave. */
static egs_time_t random_time(uint32_t *seed)
{
	egs_time_t octave = (egs_time_t)60 << next_random(seed) % 10;

	return octave + (egs_time_t)next_random(seed) % octave;
}

static void eight_of_ten_are_inside(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	uint32_t seed = 7;
	int inside = 0, runs = 2000;

	for (int i = 0; i < runs; i++) {
		egs_time_t s = random_time(&seed);
		struct egs_estimate e = predict(p, &job, 0);

		inside += e.source != EGS_PREDICT_NOTHING && contains(&e, s);
		learn(p, &job, s, 1);
	}
	ok(inside > runs * 75 / 100 && inside < runs * 85 / 100,
	   "8 of 10 runs end inside their interval (%d of %d)", inside, runs);
	egs_predict_free(p);
}

/* Runs of some jobs always take as long, near an edge of a bucket or not. */
static void steady_runs_are_inside(void)
{
	bool ok = true, narrow = true;

	for (egs_time_t s = 10; s < 20 * DAY; s = s * 17 / 16 + 1) {
		struct egs_predict *p = new_predict();
		struct egs_predict_job job = make_job();
		struct egs_estimate e;

		learn(p, &job, s, 12);
		e = predict(p, &job, 0);
		ok = ok && contains(&e, s) && is_ordered(&e);
		narrow = narrow && e.high_s <= 2 * s && e.low_s >= s / 2;
		egs_predict_free(p);
	}
	ok(ok, "runs that always take as long are inside their interval");
	ok(narrow, "the interval of steady runs is less than a factor of two");
}

static void elapsed_time_counts(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_estimate e;

	learn(p, &job, 600, 60);
	learn(p, &job, 10 * HOUR, 40);
	e = predict(p, &job, 0);
	ok(e.low_s < 900, "a short run is expected at the start");
	e = predict(p, &job, HOUR);
	ok(contains(&e, 9 * HOUR) && e.low_s > 4 * HOUR && is_ordered(&e),
	   "a job that outlived short runs is one of the long ones");
	e = predict(p, &job, 9 * HOUR);
	ok(contains(&e, HOUR) && e.likely_s == HOUR && is_ordered(&e),
	   "the rest of a long run is predicted");
	e = predict(p, &job, 40 * DAY);
	is_int(e.source, EGS_PREDICT_NOTHING,
	       "a job that outlived all runs has no prediction");
	egs_predict_free(p);
}

static void wider_class_outlives(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job(), other = job;
	struct egs_estimate e;

	learn(p, &job, 600, 10);
	other.user = "bob";
	learn(p, &other, DAY, 30);
	e = predict(p, &job, HOUR);
	ok(contains(&e, 23 * HOUR) && is_ordered(&e),
	   "a job that outlived its class is compared with a wider one");
	egs_predict_free(p);
}

static void time_limits(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_predict_state state = { .limit_s = 2 * HOUR,
					   .attempt_s = HOUR,
					   .ran_s = HOUR };
	struct egs_estimate e = egs_predict_rest(p, &job, &state);

	is_int(e.source, EGS_PREDICT_LIMIT,
	       "without history the time limit predicts");
	ok(e.low_s == 0 && e.high_s == HOUR,
	   "the time limit is the latest end");
	state.limit_s = 365 * DAY;
	is_int(egs_predict_rest(p, &job, &state).source, EGS_PREDICT_NOTHING,
	       "a limit of a year, which Slurm gives to jobs without one, "
	       "predicts nothing");
	state.limit_s = 2 * HOUR;
	learn(p, &job, 10 * HOUR, 5);
	e = egs_predict_rest(p, &job, &state);
	ok(e.source == EGS_PREDICT_NAME && e.high_s == HOUR && is_ordered(&e),
	   "no prediction is later than the time limit");
	state.attempt_s = state.ran_s = 3 * HOUR;
	e = egs_predict_rest(p, &job, &state);
	ok(e.low_s == 0 && e.high_s == 0, "past its limit a job ends now");
	state = (struct egs_predict_state){ .limit_s = 2 * HOUR,
					    .ran_s = 9 * HOUR };
	e = egs_predict_rest(p, &job, &state);
	ok(e.likely_s == HOUR && e.high_s <= 2 * HOUR,
	   "a requeued job goes on with the time of its earlier attempts, and "
	   "its limit begins again");
	egs_predict_free(p);
}

static void huge_values(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_predict_state state = { .ran_s = HUGE_S,
					   .attempt_s = HUGE_S,
					   .limit_s = HUGE_S,
					   .progress = { 0, 500000, 1,
							 HUGE_S } };
	struct egs_estimate e;

	job.gpus = UINT32_MAX;
	learn(p, &job, HUGE_S, 3);
	learn(p, &job, -HUGE_S, 3);
	e = predict(p, &job, 0);
	ok(is_ordered(&e), "huge and negative run times give an interval");
	e = egs_predict_rest(p, &job, &state);
	ok(is_ordered(&e), "huge times of a job give an interval");
	state.progress = (struct egs_predict_progress){ INT64_MIN / 2,
							INT64_MAX / 2, -5, 5 };
	e = egs_predict_rest(p, &job, &state);
	ok(e.source != EGS_PREDICT_PROGRESS && is_ordered(&e),
	   "impossible progress is not used");
	egs_predict_free(p);
}

/* ---- progress ---- */

static struct egs_estimate predict_progress(const struct egs_predict *p,
					    egs_time_t now, int64_t first_ppm,
					    egs_time_t first_s, int64_t ppm,
					    egs_time_t at_s)
{
	const struct egs_predict_job job = make_job();
	const struct egs_predict_state state = {
		.ran_s = now,
		.attempt_s = now,
		.progress = { first_ppm, ppm, first_s, at_s },
	};

	return egs_predict_rest(p, &job, &state);
}

static void progress_predicts(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_estimate e;

	learn(p, &job, DAY, 10);
	e = predict_progress(p, HOUR, 0, 0, 250000, HOUR);
	is_int(e.source, EGS_PREDICT_PROGRESS,
	       "progress comes before the class");
	ok(e.likely_s == 3 * HOUR && is_ordered(&e),
	   "the rest of the work takes as long as the work so far");
	e = predict_progress(p, 2 * HOUR, 0, 0, 250000, HOUR);
	is_int(e.likely_s, 2 * HOUR, "time since the report counts");
	e = predict_progress(p, HOUR, 500000, 1800, 750000, HOUR);
	is_int(e.likely_s, 1800,
	       "a requeued job is measured from its first report");
	e = predict_progress(p, HOUR, 200000, 3000, 200000, 3000);
	is_int(e.source, EGS_PREDICT_NAME,
	       "after progress fell, one report predicts nothing");
	e = predict_progress(p, HOUR, 0, 0, 9999, HOUR);
	is_int(e.source, EGS_PREDICT_NAME,
	       "less than a hundredth of the work predicts nothing");
	e = predict_progress(p, HOUR, 0, 0, EGS_PREDICT_PPM, HOUR);
	ok(e.source == EGS_PREDICT_PROGRESS && e.likely_s == 0 &&
		   e.high_s <= 60,
	   "a job that has done all its work ends now");
	egs_predict_free(p);
}

static void progress_that_stands_still(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job();
	struct egs_estimate e;

	learn(p, &job, DAY, 10);
	e = predict_progress(p, HOUR + 30, 0, 0, 990000, HOUR);
	is_int(e.source, EGS_PREDICT_PROGRESS, "0.99 predicts a near end");
	e = predict_progress(p, 2 * HOUR, 0, 0, 990000, HOUR);
	is_int(e.source, EGS_PREDICT_NAME,
	       "a job that stands at 0.99 is not believed for long");
	e = predict_progress(p, 100, 0, 0, 990000, 10);
	is_int(e.source, EGS_PREDICT_NAME,
	       "a job that says 0.99 at its start is not believed for long");
	egs_predict_free(p);
}

/* ---- memory ---- */

static void many_names_of_a_user(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job(), flood = job;
	char name[32];

	learn(p, &job, HOUR, 5);
	flood.user = "mallory";
	flood.account = "other";
	for (int i = 0; i < EGS_PREDICT_CLASSES * 9 / 8; i++) {
		snprintf(name, sizeof(name), "x%c%c%c%c", 'a' + i % 26,
			 'a' + i / 26 % 26, 'a' + i / 676 % 26,
			 'a' + i / 17576 % 26);
		flood.name = name;
		learn(p, &flood, 60, 1);
	}
	is_int(predict(p, &job, 0).source, EGS_PREDICT_NAME,
	       "a user with many names makes nobody forget");
	is_int(predict(p, &flood, 0).source, EGS_PREDICT_USER,
	       "a user with many names has a class for all of them");
	egs_predict_free(p);
}

static void many_users(void)
{
	struct egs_predict *p = new_predict();
	struct egs_predict_job job = make_job(), crowd = job;
	char user[32];

	learn(p, &job, HOUR, 5);
	crowd.account = "other";
	for (int i = 0; i < EGS_PREDICT_CLASSES * 5 / 8; i++) {
		snprintf(user, sizeof(user), "user%d", i);
		crowd.user = user;
		learn(p, &crowd, 60, 3);
		if (i % 1000 == 0)
			learn(p, &job, HOUR, 1);
	}
	is_int(predict(p, &job, 0).source, EGS_PREDICT_NAME,
	       "a class that is in use is not forgotten");
	is_int(predict(p, &crowd, 0).source, EGS_PREDICT_NAME,
	       "a new user is learned when all classes are in use");
	crowd.user = "user0";
	is_int(predict(p, &crowd, 0).source, EGS_PREDICT_PHASE,
	       "the class that was idle for longest is forgotten");
	egs_predict_free(p);
}

static void sources_have_names(void)
{
	bool ok = true;

	for (int i = 0; i < EGS_PREDICT_SOURCES; i++)
		ok = ok && *egs_predict_source_name(i);
	ok(ok, "each source has a name");
}

int main(void)
{
	plan_none();
	buckets_have_no_gap();
	old_runs_fade();
	first_class_with_three_runs();
	classes_are_apart();
	median_of_last_five();
	ends_that_teach_nothing();
	eight_of_ten_are_inside();
	steady_runs_are_inside();
	elapsed_time_counts();
	wider_class_outlives();
	time_limits();
	huge_values();
	progress_predicts();
	progress_that_stands_still();
	many_names_of_a_user();
	many_users();
	sources_have_names();
	return done_testing();
}
