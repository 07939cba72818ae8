/* predictor.c - egs-policyd learns how long jobs run, and says when they end */
#include <inttypes.h>

#include "policyd/requests/predictor.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, HOUR = 3600 };

static struct egs_err why;

static struct egs_job_fact make_fact(uint32_t id, uint32_t state,
				     egs_time_t start)
{
	struct egs_job_fact f = daemon_job(id, state);

	f.name = "nightly-7";
	f.partition = "gpu";
	f.nodes = "n1";
	f.start = (uint64_t)start;
	f.submit = (uint64_t)start - 10;
	return f;
}

/* A job of alice that ran for 'run_s'. */
static void end_job(uint32_t id, egs_time_t run_s, const char *end_state)
{
	egs_time_t start = egs_daemon_now() - run_s - 100;
	struct egs_job_fact f = make_fact(id, EGS_JOB_RUNNING, start);

	daemon_show(f);
	f.state = EGS_JOB_ENDED;
	f.end = (uint64_t)(start + run_s);
	f.end_state = end_state;
	daemon_show(f);
}

static struct egs_estimate predict(uint32_t id)
{
	struct egs_estimate e = { .runs = UINT32_MAX };

	egs_predictor_predict_end(d, egs_policy_job(d->policy, id), &e, &why);
	return e;
}

static void run_ticks(int n)
{
	while (n--)
		egs_predictor_part.tick(d);
}

static void report_progress(const char *ppm, const char *id)
{
	struct egs_msg *answer;
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"verb\":\"progress\",\"ppm\":%s,\"job\":\"7\","
		 "\"id\":\"00000000000000%s\"}",
		 ppm, id);
	daemon_say(ALICE, text, &answer, &why);
	egs_msg_free(answer);
}

static void test_learning(void)
{
	struct egs_estimate e;

	run_ticks(1);
	daemon_show(make_fact(7, EGS_JOB_RUNNING, egs_daemon_now() - 600));
	is_int(predict(7).source, EGS_PREDICT_NOTHING,
	       "a job without history and time limit has no prediction");
	end_job(11, HOUR, "COMPLETED");
	end_job(12, HOUR, "COMPLETED");
	end_job(13, HOUR, "REQUEUED");
	is_int(predict(7).source, EGS_PREDICT_NOTHING,
	       "two runs and a requeued one predict nothing");
	end_job(14, HOUR, "FAILED");
	e = predict(7);
	is_int(e.source, EGS_PREDICT_NAME, "the third run predicts");
	is_int(e.runs, 3, "each run is learned once");
	ok(e.likely_s > HOUR - 620 && e.likely_s <= HOUR - 600,
	   "the time that the job has run counts");
}

static void test_restart(void)
{
	struct egs_estimate before = predict(7), e;

	daemon_stop();
	daemon_start();
	daemon_show(make_fact(7, EGS_JOB_RUNNING, egs_daemon_now() - 600));
	run_ticks(2);
	e = predict(7);
	ok(e.source == before.source && e.runs == before.runs,
	   "a new daemon predicts what the old one did");
	end_job(15, HOUR, "COMPLETED");
	is_int(predict(7).runs, before.runs + 1,
	       "a new daemon learns from the next run");
}

static void test_import(void)
{
	egs_daemon_save_value(d, EGS_STORE_IMPORTED, "1", &why);
	egs_daemon_commit(d, &why);
	run_ticks(10);
	is_int(predict(7).runs, 4, "after an import each run counts once");
}

static void test_progress(void)
{
	struct egs_job_report said;
	struct egs_estimate e;

	report_progress("400000", "a1");
	e = predict(7);
	is_int(e.source, EGS_PREDICT_PROGRESS, "reported progress predicts");
	ok(e.likely_s > 800 && e.likely_s <= 915,
	   "the rest of the work takes as long as the work so far");
	report_progress("300000", "a2");
	is_int(predict(7).source, EGS_PREDICT_NAME,
	       "progress that has fallen predicts nothing");
	egs_store_job_report_get(d->store, &egs_policy_job(d->policy, 7)->ident,
				 &said, &why);
	ok(said.first_ppm == 300000 && said.first_at == said.progress_at,
	   "progress that falls is measured from then on");
}

static void test_attempts(void)
{
	struct egs_job_fact f =
		make_fact(8, EGS_JOB_RUNNING, egs_daemon_now() - 3000);
	struct egs_estimate e;

	daemon_show(f);
	f.state = EGS_JOB_PENDING;
	f.restarts = 1;
	f.submit = (uint64_t)egs_daemon_now() - 500;
	f.start = 0;
	daemon_show(f);
	f.state = EGS_JOB_RUNNING;
	f.start = (uint64_t)egs_daemon_now() - 100;
	daemon_show(f);
	e = predict(8);
	ok(e.likely_s > 900 && e.likely_s <= HOUR - 2500 - 100,
	   "earlier attempts of a requeued job count (%" PRId64 " s left)",
	   e.likely_s);
}

/* Job 16 waits; in its first attempt it ran for 'ran_s'. */
static struct egs_estimate predict_pending(egs_time_t ran_s, uint32_t gpus)
{
	struct egs_job_fact f =
		make_fact(16, EGS_JOB_RUNNING, egs_daemon_now() - ran_s);
	struct egs_estimate e = { .runs = UINT32_MAX };

	if (ran_s)
		daemon_show(f);
	f.state = EGS_JOB_PENDING;
	f.restarts = ran_s > 0;
	f.submit = (uint64_t)egs_daemon_now();
	f.start = 0;
	daemon_show(f);
	egs_predictor_predict_run(d, egs_policy_job(d->policy, 16), gpus, &e,
				  &why);
	return e;
}

static void test_pending(void)
{
	struct egs_estimate e = predict_pending(0, 2);
	struct egs_text text;

	ok(e.source == EGS_PREDICT_NAME && e.likely_s == HOUR,
	   "the run time of a pending job is predicted");
	egs_predictor_format_run(&e, &text);
	ok(strstr(text.text, " in 8 of 10 cases, likely 60 min; by 4 runs of "
			     "the user with this name"),
	   "the sentence about a pending job has its run time");
	is_int(predict_pending(0, 3).source, EGS_PREDICT_NOTHING,
	       "no run with more GPUs predicts a pending job");
	e = predict_pending(2400, 2);
	ok(e.likely_s > 1100 && e.likely_s <= 1200,
	   "the rest of a requeued job is predicted (%" PRId64 " s)",
	   e.likely_s);
}

/* Job 'id' waits for others. */
static bool predict_start(uint32_t id, const char *dependency,
			  struct egs_estimate *e)
{
	struct egs_job_fact f = make_fact(id, EGS_JOB_PENDING, 0);

	f.submit = (uint64_t)egs_daemon_now();
	f.flags |= EGS_FACT_DEPENDENT;
	f.reason = "Dependency";
	f.dependency = dependency;
	daemon_show(f);
	return egs_predictor_predict_start(d, egs_policy_job(d->policy, id), e);
}

static void test_dependencies(void)
{
	struct egs_estimate end = predict(7), next, last, e;

	ok(predict_start(21, "afterok:7(unfulfilled)", &next) &&
		   next.likely_s >= end.likely_s - 1 &&
		   next.likely_s <= end.likely_s,
	   "a job starts when the job that it depends on ends");
	ok(predict_start(22, "afterany:21(unfulfilled)", &last) &&
		   last.likely_s >= next.likely_s + HOUR - 1,
	   "each job of a chain counts with its run time");
	ok(!predict_start(23, "", &e), "a job without dependency is not one "
				       "that depends on others");
	ok(!predict_start(23, "afterok:7(unfulfilled)?afterok:21(unfulfilled)",
			  &e),
	   "alternatives are not predicted");
	ok(!predict_start(23, "afterok:7(unfulfilled),after:21(unfulfilled)",
			  &e),
	   "a dependency on a start is not predicted");
	ok(!predict_start(23, "afterok:4242(unfulfilled)", &e),
	   "a dependency on an unknown job is not predicted");
	ok(!predict_start(24, "afterok:24(unfulfilled)", &e),
	   "a job that depends on itself is not predicted");
}

static void test_limit(void)
{
	struct egs_job_fact f =
		make_fact(9, EGS_JOB_RUNNING, egs_daemon_now() - 600);
	struct egs_estimate e;
	struct egs_text text;

	f.time_limit_s = 1200;
	daemon_show(f);
	e = predict(9);
	ok(e.source == EGS_PREDICT_NAME && e.high_s <= 600,
	   "no job is expected after its time limit");
	f = make_fact(10, EGS_JOB_RUNNING, egs_daemon_now() - 600);
	f.user = "bob";
	f.partition = "serve";
	f.time_limit_s = 1200;
	daemon_show(f);
	e = predict(10);
	is_int(e.source, EGS_PREDICT_LIMIT,
	       "a job without history is expected by its time limit");
	egs_predictor_format_end(&e, 1794832496, &text);
	ok(strstr(text.text, "its time limit; no 3 runs like it"),
	   "the sentence names the time limit");
}

static void test_words(void)
{
	struct egs_estimate e = { .source = EGS_PREDICT_USER,
				  .runs = 12,
				  .failures = 2,
				  .high_s = 60 };
	struct egs_text text;

	egs_predictor_format_end(&e, 1794832496, &text);
	ok(strstr(text.text, " in 8 of 10 cases, likely "),
	   "the sentence has an interval");
	ok(strstr(text.text, "; by 12 runs of the user with as many GPUs, of "
			     "which 2 failed in their first minute"),
	   "the sentence has the runs and the failures");
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_start();
	test_learning();
	test_restart();
	test_import();
	test_progress();
	test_attempts();
	test_pending();
	test_dependencies();
	test_limit();
	test_words();
	daemon_stop();
	daemon_leave();
	return done_testing();
}
