/* libegs.c - programs in a job, with a fake egs-noded and without EGS */
#include <time.h>

#include "common/ipc/job_request.h"
#include "libegs/egs.h"
#include "t/lib/unit/rundir_fixture.h"
#include "t/lib/unit/tap.h"

static void answer_as_asked(const char *text, char answer[4096])
{
	if (strstr(text, "\"verb\":\"request\""))
		return; /* egs-policyd does not answer */
	snprintf(answer, 4096, "%s",
		 strstr(text, "no such") ? "{\"error\":\"no such phase\"}"
					 : "{\"ok\":true,\"x\":[1]}");
}

/* The last message, without its id and time. */
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
	is_int(egs_should_yield(), 0, "without EGS no job has to yield");
	is_int(egs_request(NULL, NULL, NULL), 0, "without EGS no notice");
	is_int(egs_saved("x", 1), -1, "outside of a job egs_saved() fails");
	is_str(egs_last_error(), "not in a job: SLURM_JOB_ID is not set",
	       "the error names the missing variable of Slurm");
	setenv("SLURM_JOB_ID", "7", 1);
	is_int(egs_saved("x", 1), -1, "without EGS egs_saved() fails in a job");
	is_str(egs_last_error(),
	       "no EGS here: EGS_RUNDIR is not set; the message was not "
	       "delivered",
	       "the error names the missing variable of EGS");
	is_int(egs_wait_request(0), -1, "without EGS egs_wait_request() fails");
}

static void test_flag(void)
{
	struct timespec a, b;
	int64_t deadline = 0;
	int kind = 0, asked = 0;

	/* libegs tries once a second to map the flag. */
	for (int i = 0; i < 600 && !egs_request(&kind, NULL, NULL); i++) {
		rundir_ask(3);
		poll(NULL, 0, 100);
	}
	is_int(egs_request(&kind, NULL, &deadline), 3,
	       "egs_request() returns the number of the notice");
	ok(kind == EGS_YIELD && deadline == 5000,
	   "egs_request() returns kind and deadline");
	is_int(egs_should_yield(), 1, "the job should yield");
	is_int(egs_wait_request(-1), 1,
	       "egs_wait_request() returns at once with a notice");
	rundir_ask(0);
	is_int(egs_should_yield(), 0,
	       "the job need not yield after the notice is withdrawn");
	is_int(egs_wait_request(0), 0,
	       "egs_wait_request() times out without a notice");

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 1000000; i++)
		asked += egs_should_yield();
	clock_gettime(CLOCK_MONOTONIC, &b);
	is_int(asked, 0, "a million calls find no notice");
	note("one call took %lld ns",
	     ((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec) /
		     1000000);
}

static void test_messages(void)
{
	is_int(egs_saved("/ckpt/a b.pt", 40), 0, "egs_saved() succeeds %s",
	       egs_last_error());
	is_str(said(),
	       "{\"verb\":\"saved\",\"job\":\"7\",\"restarts\":0,"
	       "\"path\":\"/ckpt/a b.pt\",\"step\":40}",
	       "egs_saved() sends path and step");
	setenv("SLURM_RESTART_COUNT", "2", 1);
	setenv("SLURM_PROCID", "5", 1);
	is_int(egs_saved(NULL, -1), 0,
	       "egs_saved() succeeds without path and step");
	is_str(said(), "{\"verb\":\"saved\",\"job\":\"7\",\"restarts\":2}",
	       "a message has the number of restarts");
	rundir_ask(9);
	is_int(egs_yield(NULL), 0, "egs_yield() succeeds");
	is_str(said(),
	       "{\"verb\":\"yield\",\"job\":\"7\",\"restarts\":2,"
	       "\"request\":9}",
	       "egs_yield() names the notice in the run directory");
	setenv("SLURM_STEP_ID", "0", 1);
	is_int(egs_yield("p"), 0, "egs_yield() succeeds in a step");
	is_str(said(),
	       "{\"verb\":\"yield\",\"job\":\"7\",\"restarts\":2,"
	       "\"path\":\"p\",\"request\":9,\"rank\":5}",
	       "egs_yield() in a step names the rank");
	is_int(egs_progress(0.4), 0, "egs_progress() succeeds");
	is_str(said(),
	       "{\"verb\":\"progress\",\"job\":\"7\",\"restarts\":2,"
	       "\"ppm\":400000}",
	       "progress is sent in millionths");
	is_int(egs_progress(1.5), -1, "progress above 1 is refused");
	is_str(egs_last_error(), "1.5 is not from 0 to 1",
	       "the error names value and range");
	is_int(egs_finished(), 0, "egs_finished() succeeds");
	is_str(said(), "{\"verb\":\"finished\",\"job\":\"7\",\"restarts\":2}",
	       "egs_finished() sends its message");
	is_int(egs_phase("infer"), 0, "egs_phase() succeeds");
	is_int(egs_phase("no such"), -1, "a refused phase fails");
	is_str(egs_last_error(), "no such phase",
	       "the error is the refusal of egs-policyd");
}

/* The direct call fails after egs-noded has read the message. */
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
	struct egs_job_request request;
	struct egs_err why;

	egs_job_request_begin(&request, "request", &why);
	is_int(egs_job_request_send(&request, &how, &why),
	       EGS_REQUEST_NO_ANSWER,
	       "egs-noded has the message, egs-policyd does not answer");
	is_str(why.msg,
	       "connection refused; egs-noded has the message and will "
	       "deliver it",
	       "the error says that egs-noded has the message");
	noded_stop();
	how.call_direct = NULL;
	egs_job_request_begin(&request, "yield", &why);
	is_int(egs_job_request_send(&request, &how, &why),
	       EGS_REQUEST_NO_ANSWER, "without egs-noded there is no answer");
	is_str(why.msg, "no answer; the message was not delivered",
	       "the error says that the message was not delivered");
	ok(egs_rundir_is_taken(rundir, request.id),
	   "a message that must not be late is removed");
	how.is_report = true;
	egs_job_request_begin(&request, "saved", &why);
	is_int(egs_job_request_send(&request, &how, &why),
	       EGS_REQUEST_NO_ANSWER,
	       "without egs-noded a report has no answer");
	is_str(why.msg, "no answer; egs-noded will deliver the message",
	       "the error says that egs-noded will deliver a report");
	ok(!egs_rundir_is_taken(rundir, request.id),
	   "a report stays in the run directory");
}

static int values;

static void count_value(void *arg, const char *key, const char *value)
{
	(void)arg;
	(void)key;
	(void)value;
	values++;
}

/* A job that waits gets a first answer, and later another one. */
static void test_second_answer(void)
{
	struct egs_transport how = { .dir = rundir,
				     .timeout_ms = 60000,
				     .on_value = count_value };
	struct egs_job_request request;
	struct egs_err why = { "" };
	char id[EGS_RUNDIR_ID_SIZE], path[64];
	FILE *f;

	egs_job_request_begin(&request, "phase", &why);
	memcpy(id, request.id, sizeof(id));
	is_int(egs_job_request_send(&request, &how, &why), 0,
	       "a message gets its first answer %s", why.msg);
	is_int(egs_job_request_receive(&request, &how, 0, &why),
	       EGS_REQUEST_NONE_YET, "no second answer is there yet");
	snprintf(path, sizeof(path), "in/%s", request.id);
	f = fopen(path, "we");
	fputs("{\"ok\":true}", f);
	fclose(f);
	values = 0;
	is_int(egs_job_request_receive(&request, &how, 60000, &why), 0,
	       "a second answer is received");
	is_int(values, 1, "values of the second answer are passed on");
	egs_job_request_repeat(&request, "phase");
	is_str(request.id, id, "a repeated message has the same id");
	is_int(egs_job_request_send(&request, &how, &why), 0,
	       "a repeated message is answered");
}

static int called;

/* Succeeds in the third call. */
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
	struct egs_job_request request;
	struct egs_err why = { "" };

	egs_job_request_begin(&request, "saved", &why);
	is_int(egs_job_request_send(&request, &how, &why), 0,
	       "without egs-noded the direct call succeeds %s", why.msg);
	is_int(called, 3, "a direct call is repeated while it asks for that");
	ok(egs_rundir_is_taken(rundir, request.id),
	   "after a direct answer the file is removed");
	is_int(egs_job_request_receive(&request, &how, 60000, &why),
	       EGS_REQUEST_NONE_YET,
	       "after a direct answer no second one is waited for");
	how.call_direct = no_call;
	how.timeout_ms = 500;
	egs_job_request_begin(&request, "yield", &why);
	how.is_report = false;
	is_int(egs_job_request_send(&request, &how, &why),
	       EGS_REQUEST_NO_ANSWER, "neither way has an answer");
	is_str(why.msg, "connection refused; the message was not delivered",
	       "the error has the reason of the direct call");
	how.dir = "/nowhere";
	how.call_direct = call;
	egs_job_request_begin(&request, "saved", &why);
	is_int(egs_job_request_send(&request, &how, &why), 0,
	       "a missing run directory leaves the direct call");
}

int main(void)
{
	plan_none();
	unsetenv("SLURM_JOB_ID");
	test_without();
	rundir_make();
	noded_start(answer_as_asked);
	test_flag();
	test_messages();
	test_second_answer();
	test_nobody();
	test_both();
	rundir_remove();
	return done_testing();
}
