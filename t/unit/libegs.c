/* libegs.c - programs in a job, with a stand-in for egs-noded and without EGS
 */
#include <time.h>

#include "common/ipc/job_request.h"
#include "libegs/egs.h"
#include "t/lib/unit/rundir_fixture.h"
#include "t/lib/unit/tap.h"

static void answer_as_asked(const char *text, char answer[4096])
{
	if (strstr(text, "\"verb\":\"finished\""))
		return; /* nobody is there */
	snprintf(answer, 4096, "%s",
		 strstr(text, "no such") ? "{\"error\":\"no such phase\"}"
					 : "{\"ok\":true,\"x\":[1]}");
}

/* The last message without its id and time. */
static const char *said(void)
{
	static char line[EGS_RUNDIR_MESSAGE_MAX + 2];
	FILE *f = fopen("said", "re");
	char *id, *at;

	line[0] = '\0';
	while (f && fgets(line, sizeof(line), f))
		;
	if (f)
		fclose(f);
	id = strstr(line, ",\"id\":");
	if (id)
		memmove(id, id + 24, strlen(id + 24) + 1);
	at = strstr(line, ",\"at\":");
	if (at)
		memmove(at, at + 16, strlen(at + 16) + 1);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void test_without(void)
{
	unsetenv(EGS_RUNDIR_ENV);
	is_int(egs_should_yield(), 0, "without EGS nobody asks");
	is_int(egs_request(NULL, NULL, NULL), 0, "for nothing");
	is_int(egs_saved("x", 1), -1, "and nobody listens");
	is_str(egs_last_error(), "this is no job: SLURM_JOB_ID is not set",
	       "with a reason");
	setenv("SLURM_JOB_ID", "7", 1);
	is_int(egs_saved("x", 1), -1, "nor in a job");
	is_str(egs_last_error(),
	       "there is no EGS here: EGS_RUNDIR is not set; it was not said",
	       "of a cluster without EGS");
	is_int(egs_wait_request(0), -1, "and there is nothing to wait for");
}

static void test_flag(void)
{
	struct timespec a, b;
	int64_t deadline = 0;
	int kind = 0, asked = 0;

	/* What could not be mapped is tried again after a second. */
	for (int i = 0; i < 600 && !egs_request(&kind, NULL, NULL); i++) {
		rundir_ask(3);
		poll(NULL, 0, 100);
	}
	is_int(egs_request(&kind, NULL, &deadline), 3, "a request is seen");
	ok(kind == EGS_YIELD && deadline == 5000, "with what is asked");
	is_int(egs_should_yield(), 1, "it is to save and go");
	is_int(egs_wait_request(-1), 1, "who waits for it goes on");
	rundir_ask(0);
	is_int(egs_should_yield(), 0, "when it is over, it is");
	is_int(egs_wait_request(0), 0, "and there is none to wait for");

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 1000000; i++)
		asked += egs_should_yield();
	clock_gettime(CLOCK_MONOTONIC, &b);
	is_int(asked, 0, "looked a million times");
	note("one look took %lld ns",
	     ((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec) /
		     1000000);
}

static void test_words(void)
{
	is_int(egs_saved("/ckpt/a b.pt", 40), 0, "saved %s", egs_last_error());
	is_str(said(),
	       "{\"verb\":\"saved\",\"job\":\"7\",\"restarts\":0,"
	       "\"path\":\"/ckpt/a b.pt\",\"step\":40}",
	       "is what was said");
	setenv("SLURM_RESTART_COUNT", "2", 1);
	setenv("SLURM_PROCID", "5", 1);
	is_int(egs_saved(NULL, -1), 0, "without words");
	is_str(said(), "{\"verb\":\"saved\",\"job\":\"7\",\"restarts\":2}",
	       "nothing more is said, but of which run");
	rundir_ask(9);
	is_int(egs_yield(NULL), 0, "yield");
	is_str(said(),
	       "{\"verb\":\"yield\",\"job\":\"7\",\"restarts\":2,"
	       "\"request\":9}",
	       "is for the request that was seen");
	setenv("SLURM_STEP_ID", "0", 1);
	is_int(egs_yield("p"), 0, "in a step");
	is_str(said(),
	       "{\"verb\":\"yield\",\"job\":\"7\",\"restarts\":2,"
	       "\"path\":\"p\",\"request\":9,\"rank\":5}",
	       "it is of a rank");
	is_int(egs_progress(0.4), 0, "progress");
	is_str(said(),
	       "{\"verb\":\"progress\",\"job\":\"7\",\"restarts\":2,"
	       "\"ppm\":400000}",
	       "in millionths");
	is_int(egs_progress(1.5), -1, "more than all");
	is_str(egs_last_error(), "1.5 is not from 0 to 1", "is not");
	is_int(egs_phase("infer"), 0, "phase");
	is_int(egs_phase("no such"), -1, "a refusal");
	is_str(egs_last_error(), "no such phase", "has its sentence");
}

/* Nobody answers, but egs-noded takes the message first. */
static int no_call_but_taken(const struct egs_transport *how, const char *text,
			     size_t len, int timeout_ms, struct egs_err *why)
{
	const char *id = strstr(text, "\"id\":\"");
	char name[EGS_RUNDIR_ID_SIZE];

	(void)len;
	(void)timeout_ms;
	snprintf(name, sizeof(name), "%s", id ? id + 6 : "");
	for (int i = 0; i < 6000 && !egs_rundir_is_taken(how->dir, name); i++)
		poll(NULL, 0, 10);
	egs_errf(why, "connection refused");
	return EGS_REQUEST_NO_ANSWER;
}

static void test_nobody(void)
{
	struct egs_transport how = { .dir = rundir,
				     .call_direct = no_call_but_taken,
				     .timeout_ms = 200 };
	struct egs_job_request words;
	struct egs_err why;

	egs_job_request_begin(&words, "finished", &why);
	is_int(egs_job_request_send(&words, &how, &why), EGS_REQUEST_NO_ANSWER,
	       "egs-noded has it, and nobody answers");
	is_str(why.msg,
	       "connection refused; egs-noded has it and will pass it on",
	       "it goes on its way");
	noded_stop();
	how.call_direct = NULL;
	egs_job_request_begin(&words, "yield", &why);
	is_int(egs_job_request_send(&words, &how, &why), EGS_REQUEST_NO_ANSWER,
	       "egs-noded is not there");
	is_str(why.msg, "no answer; it was not said",
	       "and what may not come late is taken back");
	ok(egs_rundir_is_taken(rundir, words.id), "it is gone");
	how.is_report = true;
	egs_job_request_begin(&words, "saved", &why);
	is_int(egs_job_request_send(&words, &how, &why), EGS_REQUEST_NO_ANSWER,
	       "a report");
	is_str(why.msg, "no answer; egs-noded will pass it on", "waits for it");
	ok(!egs_rundir_is_taken(rundir, words.id), "where it is");
}

static int called;

/* Yes, at the third time. */
static int call(const struct egs_transport *how, const char *text, size_t len,
		int timeout_ms, struct egs_err *why)
{
	(void)how;
	(void)timeout_ms;
	if (strlen(text) != len)
		return egs_errf(why, "half a message");
	return ++called < 3 ? EGS_REQUEST_RETRY : 0;
}

static int no_call(const struct egs_transport *how, const char *text,
		   size_t len, int timeout_ms, struct egs_err *why)
{
	(void)how;
	(void)text;
	(void)len;
	(void)timeout_ms;
	egs_errf(why, "connection refused");
	return EGS_REQUEST_NO_ANSWER;
}

static void test_both(void)
{
	struct egs_transport how = { .dir = rundir,
				     .call_direct = call,
				     .is_report = true,
				     .timeout_ms = 60000 };
	struct egs_job_request words;
	struct egs_err why = { "" };

	egs_job_request_begin(&words, "saved", &why);
	is_int(egs_job_request_send(&words, &how, &why), 0,
	       "nobody takes it, egs-policyd is called %s", why.msg);
	is_int(called, 3, "until it has an answer");
	ok(egs_rundir_is_taken(rundir, words.id), "and the file is taken back");
	how.call_direct = no_call;
	how.timeout_ms = 500;
	egs_job_request_begin(&words, "yield", &why);
	how.is_report = false;
	is_int(egs_job_request_send(&words, &how, &why), EGS_REQUEST_NO_ANSWER,
	       "neither road");
	is_str(why.msg, "connection refused; it was not said", "and why");
	how.dir = "/nowhere";
	how.call_direct = call;
	egs_job_request_begin(&words, "saved", &why);
	is_int(egs_job_request_send(&words, &how, &why), 0,
	       "a run directory that is gone");
}

int main(void)
{
	plan_none();
	unsetenv("SLURM_JOB_ID");
	test_without();
	rundir_make();
	noded_start(answer_as_asked);
	test_flag();
	test_words();
	test_nobody();
	test_both();
	rundir_remove();
	return done_testing();
}
