/* job_message.c - messages of jobs: checked, stored once, safe from a kill */
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/hint/stamp.h"
#include "policyd/requests/resize.h"
#include "policyd/requests/resize_locks.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, BOB = 2002 };

static struct egs_msg *answer;
static struct egs_err why;

/* The daemon's answer: "" is a success, "(again) ..." is not final. */
static const char *said_to(uid_t uid, const char *text)
{
	static struct egs_err sentence;
	int rc;

	egs_msg_free(answer);
	why.msg[0] = '\0';
	rc = daemon_say(uid, text, &answer, &why);
	if (rc == 0)
		return "";
	egs_errf(&sentence, "%s%s", rc == EGS_REPLY_RETRY ? "(again) " : "",
		 why.msg);
	return sentence.msg;
}

static const char *say(const char *text)
{
	return said_to(ALICE, text);
}

static struct egs_job_report said_by(uint32_t id)
{
	struct egs_job_report said = { .step = 0 };

	egs_store_job_report_get(
		d->store, &egs_policy_job(d->policy, id)->ident, &said, &why);
	return said;
}

static void ask(uint32_t id)
{
	struct egs_event ev = { .kind = EGS_EV_PREEMPTING,
				.job = egs_policy_job(d->policy, id)->ident };

	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

static void test_who(void)
{
	struct egs_job_fact f = daemon_job(8, EGS_JOB_PENDING);

	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	f.restarts = 2;
	f.start = 0;
	daemon_show(f);
	is_str(said_to(BOB, "{\"verb\":\"saved\",\"job\":\"7\"}"),
	       "job 7 is not yours", "a message of another user is refused");
	is_str(say("{\"verb\":\"dance\",\"job\":\"7\"}"),
	       "'dance' is not a verb for jobs", "an unknown verb is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"$(id)\"}"),
	       "job='$(id)' is not a job id; use 81234 or 81234_7",
	       "a bad job id is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":1}"),
	       "job 8: the message is from run 1, but this is run 2",
	       "a message of an earlier run is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":2}"),
	       "(again) job 8 is not running",
	       "a message of a pending job is to be sent again after a poll");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":2}"),
	       "job 8 is not running",
	       "a message of a job is refused when the poll shows it pending");
	is_str(say("{\"verb\":\"saved\",\"job\":\"99\"}"),
	       "(again) job 99 is not known: it has ended, or Slurm has not "
	       "shown it yet",
	       "a message of an unknown job is to be sent again after a poll");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"saved\",\"job\":\"99\"}"),
	       "job 99 is not known: it has ended, or Slurm has not shown it "
	       "yet",
	       "a message of an unknown job is refused after the poll");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\"}"),
	       "the message has no id", "a message that is stored needs an id");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"id\":\"../../x\"}"),
	       "id='../../x' is not 16 hex digits",
	       "a bad message id is refused");
	say("{\"verb\":\"saved\",\"job\":\"7\",\"at\":5,"
	    "\"id\":\"0000000000000001\"}");
	ok(strstr(why.msg, "the limit is 86400 s"),
	   "an old message is refused");
}

static void test_saved(void)
{
	static char long_path[EGS_CKPT_PATH_MAX + 128];
	struct egs_job_report said;

	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":40,\"path\":"
		   "\"/ckpt/$(id) `x`.pt\",\"id\":\"00000000000000a1\"}"),
	       "", "a checkpoint report is accepted");
	said = said_by(7);
	is_str(said.path, "/ckpt/$(id) `x`.pt",
	       "the path of a checkpoint is stored unchanged");
	ok(said.step == 40 && said.saved_at,
	   "the step and the time of a checkpoint are stored");
	ok(egs_policy_job(d->policy, 7)->saved_at,
	   "the policy knows the checkpoint");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":\"a\\nb\","
		   "\"id\":\"00000000000000a2\"}"),
	       "path='a?b' has a character that cannot be shown",
	       "a path with a newline is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":"
		   "\"a\xe2\x80\xae"
		   "b\",\"id\":\"00000000000000a2\"}"),
	       "path='a?b' has a character that cannot be shown",
	       "a path with a direction mark is refused");
	snprintf(long_path, sizeof(long_path),
		 "{\"verb\":\"saved\",\"job\":\"7\",\"id\":"
		 "\"00000000000000a2\",\"path\":\"%0*d\"}",
		 EGS_CKPT_PATH_MAX + 1, 7);
	is_str(say(long_path), "the path has 1025 bytes, it may have 1 to 1024",
	       "a path that is too long is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":-1,"
		   "\"id\":\"00000000000000a2\"}"),
	       "step=-1 is below 0", "a step below 0 is refused");
	is_int(said_by(7).step, 40, "a refused report changes nothing");
}

static void test_once(void)
{
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":41,"
		   "\"id\":\"00000000000000a1\"}"),
	       "", "a repeated message id gets its first answer");
	is_int(said_by(7).step, 40, "a repeated message id has no effect");
	egs_store_begin(d->store, &why);
	egs_store_answer_prune(d->store, egs_daemon_now() + 1, &why);
	egs_store_commit(d->store, &why);
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":41,"
		   "\"id\":\"00000000000000a1\"}"),
	       "", "a message id is forgotten when it is too old");
	is_int(said_by(7).step, 41,
	       "a message with a forgotten id is stored again");
	say("{\"verb\":\"phase\",\"phase\":\"infer\",\"job\":\"7\","
	    "\"id\":\"00000000000000b1\"}");
	say("{\"verb\":\"phase\",\"phase\":\"train\",\"job\":\"7\","
	    "\"id\":\"00000000000000b2\"}");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"infer\",\"job\":\"7\","
		   "\"id\":\"00000000000000b1\"}"),
	       "", "a repeated phase message is accepted");
	is_str(egs_msg_get_str(answer, "export:EGS_PHASE"), "infer",
	       "a repeated phase message gets its first variables");
	ok(egs_msg_is_true(answer, "ok"),
	   "a repeated phase message gets its first result");
	say("{\"verb\":\"phase\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "phase"), "train",
	       "a repeated phase message does not change the phase");
}

static void test_phase(void)
{
	int64_t gpus = 0;

	is_str(say("{\"verb\":\"phase\",\"phase\":\"Inference\",\"job\":\"7\","
		   "\"id\":\"00000000000000c1\"}"),
	       "", "another name of a phase is accepted");
	is_str(egs_msg_get_str(answer, "phase"), "infer",
	       "the answer has the name of the phase in egs.conf");
	ok(egs_msg_get_int(answer, "gpus", &gpus) && gpus == 2,
	   "the answer to a phase message has the GPUs of the job");
	is_str(egs_daemon_conf(d)
		       ->phase[egs_policy_job(d->policy, 7)->facts.phase]
		       .name,
	       "infer", "the policy knows the phase");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"labl\",\"job\":\"7\","
		   "\"id\":\"00000000000000c2\"}"),
	       "'labl' is not a phase; did you mean 'label'? (phases: prep, "
	       "train, eval, infer, retrain, label)",
	       "an unknown phase is refused");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"$(id)\",\"job\":\"7\","
		   "\"id\":\"00000000000000c2\"}"),
	       why.msg, "a bad name of a phase is refused");
	ok(*why.msg, "the refusal of a bad phase has a reason: %s", why.msg);
	is_str(say("{\"verb\":\"phase\",\"phase\":\"train\",\"gpus\":1,"
		   "\"job\":\"7\",\"id\":\"00000000000000c2\"}"),
	       "job 7: cannot change from 2 to 1 GPUs while it runs: "
	       "LiveResize=no; not requeued with 1 GPUs either: the job has "
	       "declared no checkpoint",
	       "a live resize is refused with LiveResize=no");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"train\",\"gpus\":9,"
		   "\"job\":\"7\",\"id\":\"00000000000000c2\"}"),
	       "job 7: 9 GPUs refused: team red may use at most 8",
	       "a job does not grow beyond MaxGpus of its team");
}

/* slurmctld has refused to resize job 21, and its nodes have unlocked it. */
static void refuse_resize(void)
{
	const struct egs_resize_params params = { .job_id = 21, .gpus = 1 };
	struct egs_resize *r;

	egs_resize_begin(d, &params, &why);
	r = egs_resize_find(d, 21);
	r->worker_busy = false;
	r->state = EGS_RESIZE_REFUSED;
	r->text = strdup("job 21: not resized");
	egs_resize_locks_drop(d->requests->resize_locks, 21);
}

static void test_next_run(void)
{
	struct egs_job_fact job = daemon_job(21, EGS_JOB_RUNNING);

	daemon_show(job);
	refuse_resize();
	is_str(say("{\"verb\":\"phase\",\"phase\":\"train\",\"gpus\":1,"
		   "\"job\":\"21\",\"id\":\"0000000000000210\"}"),
	       "job 21: not resized", "a job is told why it is not resized");
	refuse_resize();
	job.restarts = 1;
	daemon_show(job);
	ok(strstr(say("{\"verb\":\"phase\",\"phase\":\"train\",\"gpus\":1,"
		      "\"job\":\"21\",\"restarts\":1,"
		      "\"id\":\"0000000000000211\"}"),
		  "LiveResize=no"),
	   "the next run does not get the refusal of the run before");
}

/* Each change of phase is a row of the history. */
static void test_phase_limit(void)
{
	uint32_t left = egs_token_rates[EGS_RATE_PHASE].max;

	daemon_show(daemon_job(14, EGS_JOB_RUNNING));
	while (left && !egs_rate_limit_take(d->requests->rate_limit, ALICE,
					    EGS_RATE_PHASE, left,
					    egs_daemon_now() + 86400))
		left--;
	is_str(say("{\"verb\":\"phase\",\"phase\":\"eval\",\"job\":\"14\","
		   "\"id\":\"00000000000000ce\"}"),
	       "(again) job 14: the jobs of its user send too many messages; "
	       "try again later",
	       "a user whose jobs change their phase without end is told so");
	is_str(say("{\"verb\":\"saved\",\"job\":\"14\","
		   "\"id\":\"00000000000000cf\"}"),
	       "", "such a user may still report a checkpoint");
}

static void test_yield(void)
{
	char text[128];
	int refused = 0;

	is_str(say("{\"verb\":\"yield\",\"job\":\"7\","
		   "\"id\":\"00000000000000d1\"}"),
	       "(again) job 7 has no preemption notice; report a checkpoint "
	       "with 'egs saved'",
	       "a yield without a notice is to be sent again after a poll");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\","
		   "\"id\":\"00000000000000d1\"}"),
	       "job 7 has no preemption notice; report a checkpoint with 'egs "
	       "saved'",
	       "a yield without a notice is refused after the poll");
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text),
			 "{\"verb\":\"yield\",\"job\":\"7\","
			 "\"id\":\"%016x\"}",
			 0xd2 + i);
		refused += *say(text) != '\0';
	}
	is_int(refused, 100, "a hundred yields without a notice are refused");
	ok(!egs_policy_job(d->policy, 7)->yielded,
	   "yields without a notice change nothing");
	/* Use up all tokens; some come back each second. */
	while (egs_rate_limit_take(d->requests->rate_limit, ALICE,
				   EGS_RATE_MESSAGE, 1,
				   egs_daemon_now() + 3600))
		;
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\","
		   "\"id\":\"00000000000000e1\"}"),
	       "(again) job 7: the jobs of its user send too many messages; "
	       "try again later",
	       "a message of a user over the rate limit is refused");
	egs_rate_limit_free(d->requests->rate_limit);
	d->requests->rate_limit = egs_rate_limit_new();

	is_str(say("{\"verb\":\"request\",\"job\":\"7\"}"), "",
	       "a job may ask for its notice");
	is_str(egs_msg_to_text(answer, &(size_t){ 0 }),
	       "{\"ok\":true,\"request\":0}",
	       "the answer has request 0 without a notice");
	ask(7);
	say("{\"verb\":\"request\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "kind"), "yield",
	       "a preempted job has a notice to yield");
	is_str(egs_msg_get_str(answer, "reason"), "its GPUs are needed",
	       "the notice has its reason");
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\",\"request\":9,"
		   "\"id\":\"00000000000000e2\"}"),
	       "job 7: notice 9 is not open, notice 1 is",
	       "a yield for another notice is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":\"x\","
		   "\"id\":\"00000000000000e3\"}"),
	       "", "a checkpoint report is accepted while a notice is open");
	ok(!egs_policy_job(d->policy, 7)->yielded,
	   "a checkpoint report does not answer a notice");
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\",\"request\":1,\"path\":"
		   "\"last.pt\",\"id\":\"00000000000000e4\"}"),
	       "", "a yield for the open notice is accepted");
	ok(egs_policy_job(d->policy, 7)->yielded, "the policy knows the yield");
	is_str(said_by(7).path, "last.pt", "the path of a yield is stored");
	say("{\"verb\":\"request\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "kind"), NULL,
	       "a job that has yielded has no open notice");
}

static void test_ranks(void)
{
	struct egs_job_fact f = daemon_job(10, EGS_JOB_RUNNING);
	struct egs_stamp with = { .nonce = 77, .hint = { .acks = "all" } };
	char text[512];

	egs_stamp_format(&with, text, sizeof(text));
	f.admin_comment = text;
	daemon_show(f);
	ask(10);
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":1,"
		   "\"id\":\"00000000000000f1\"}"),
	       "", "the yield of one of two ranks is accepted");
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":1,"
		   "\"id\":\"00000000000000f2\"}"),
	       "", "a second yield of the same rank is accepted");
	ok(!egs_policy_job(d->policy, 10)->yielded,
	   "the job has not yielded with one of two ranks");
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":-1,"
		   "\"id\":\"00000000000000f3\"}"),
	       "rank=-1 is below 0", "a rank below 0 is refused");
	daemon_stop();
	daemon_start();
	daemon_show(f);
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":0,"
		   "\"id\":\"00000000000000f3\"}"),
	       "", "the yield of the second rank is accepted by a new daemon");
	is_str(egs_msg_to_text(answer, &(size_t){ 0 }),
	       "{\"ok\":true,\"acks\":2,\"of\":2,\"request\":1}",
	       "the answer counts both ranks");
	ok(egs_policy_job(d->policy, 10)->yielded,
	   "the job has yielded with both ranks");
}

static const char *notice_reason(const char *job)
{
	char text[64];

	snprintf(text, sizeof(text), "{\"verb\":\"request\",\"job\":\"%s\"}",
		 job);
	say(text);
	return egs_msg_get_str(answer, "reason");
}

static void test_operator(void)
{
	const struct egs_peer root = { .uid = 0, .local = true };
	struct egs_msg *request = egs_msg_new(), *reply = egs_msg_new();
	struct egs_job_fact f = daemon_job(13, EGS_JOB_RUNNING);

	daemon_show(f);
	egs_msg_set_str(request, "job", "13");
	egs_msg_set_str(request, "reason", "maintenance");
	d->slurmctld_down = true;
	is_int(egs_verb_preempt(d, &root, request, reply, &why), -1,
	       "an operator cannot preempt while slurmctld is down");
	d->slurmctld_down = false;
	is_int(egs_verb_preempt(d, &root, request, reply, &why), 0,
	       "an operator preempts a job");
	is_str(notice_reason("13"), "maintenance",
	       "the job gets the reason of the operator");
	daemon_stop();
	daemon_start();
	daemon_show(f);
	is_str(notice_reason("13"), "maintenance",
	       "the reason of an operator survives a restart of the daemon");
	egs_msg_free(request);
	egs_msg_free(reply);
}

static void note_restart(void *arg, const struct egs_preemption *p)
{
	*(uint32_t *)arg = p->restart_s;
}

/* The restart time in the last record of a preemption. */
static uint32_t restart_of(uint32_t id)
{
	uint32_t s = 0;

	egs_store_preempt_each(d->store, id, 0, 1, note_restart, &s, &why);
	return s;
}

static void test_restart(void)
{
	struct egs_job_fact f = daemon_job(12, EGS_JOB_RUNNING);
	char text[128];

	daemon_show(f);
	ask(12);
	egs_daemon_update(d);
	f.restarts = 1;
	f.state = EGS_JOB_PENDING;
	daemon_show(f);
	egs_daemon_update(d);
	is_int(restart_of(12), EGS_RESTART_S,
	       "the record of a preemption begins with the longest restart");
	f.state = EGS_JOB_RUNNING;
	f.start = (uint64_t)egs_daemon_now() - 20;
	daemon_show(f);
	egs_daemon_update(d);
	snprintf(text, sizeof(text),
		 "{\"verb\":\"progress\",\"job\":\"12\",\"restarts\":1,"
		 "\"ppm\":1,\"at\":%" PRIu64 ",\"id\":\"0000000000000121\"}",
		 f.start + 7);
	is_str(say(text), "",
	       "a progress report of a restarted job is accepted");
	is_int(restart_of(12), 7,
	       "the first progress report ends the restart after 7 s");
}

static void disk_is_full(bool full)
{
	struct rlimit size;

	getrlimit(RLIMIT_FSIZE, &size);
	size.rlim_cur = full ? 0 : size.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &size);
}

/* A message that is not on disk has no effect and may be sent again. */
static void test_disk(void)
{
	static const char yield[] = "{\"verb\":\"yield\",\"job\":\"11\","
				    "\"id\":\"0000000000000111\"}";
	uint32_t before;

	daemon_show(daemon_job(11, EGS_JOB_RUNNING));
	ask(11);
	before = d->intents.pending;
	disk_is_full(true);
	is_str(say(yield), "(again) egs-policyd cannot write to its disk",
	       "a yield is refused while the disk is full");
	ok(!egs_policy_job(d->policy, 11)->yielded,
	   "a yield that is not on disk has no effect");
	is_str(say(yield), "(again) egs-policyd cannot write to its disk",
	       "a repeated yield is refused while the disk is full");
	disk_is_full(false);
	egs_daemon_retry_store(d);
	is_int(d->intents.pending - before, 0,
	       "a refused yield causes no action");
	is_str(say(yield), "",
	       "the yield is accepted when the disk works again");
	is_int(d->intents.pending - before, 1, "a yield requeues the job");
	is_str(say(yield), "", "a repeated yield is accepted");
	is_int(d->intents.pending - before, 1,
	       "a repeated yield requeues the job once");
}

/* A daemon in a child is killed as soon as it has answered 'want'. */
static void killed_after(const char *text, const char *want)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		daemon_start();
		daemon_show(daemon_job(7, EGS_JOB_RUNNING));
		if (strcmp(say(text), want) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "a daemon is killed after its answer");
}

static void find_final_exit(void *arg, const struct egs_intent *intent)
{
	uint64_t *id = arg;

	if (intent->job_id == 7 &&
	    egs_daemon_action_kind(intent->action) == EGS_ACT_EXIT_IS_FINAL)
		*id = intent->id;
}

/* slurmctld has confirmed that an exit of job 7 is final. */
static void confirm_final_exit(void)
{
	struct egs_err err;
	uint64_t id;

	do {
		id = 0;
		egs_store_intent_each(d->store, find_final_exit, &id, &err);
		egs_daemon_action_done(d, id, NULL);
	} while (id);
}

static void test_killed(void)
{
	static const char finished[] = "{\"verb\":\"finished\",\"job\":\"7\","
				       "\"id\":\"0000000000000101\"}";
	static const char not_confirmed[] = "(again) job 7: slurmctld has not "
					    "confirmed it yet";
	struct egs_job_fact again = daemon_job(7, EGS_JOB_RUNNING);
	struct egs_identity job;
	struct egs_job_report said;

	daemon_stop();
	killed_after(finished, not_confirmed);
	killed_after("{\"verb\":\"progress\",\"ppm\":400000,\"job\":\"7\","
		     "\"id\":\"0000000000000102\"}",
		     "");
	killed_after("{\"verb\":\"phase\",\"phase\":\"eval\",\"job\":\"7\","
		     "\"id\":\"0000000000000103\"}",
		     "");
	killed_after("{\"verb\":\"saved\",\"path\":\"p\",\"step\":5,"
		     "\"job\":\"7\",\"id\":\"0000000000000104\"}",
		     "");
	daemon_start();
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	said = said_by(7);
	ok(said.finished, "a finished message survives the kill");
	is_str(say(finished), not_confirmed,
	       "a finished message waits until slurmctld has confirmed it");
	d->slurmctld_down = true;
	is_str(say(finished), "",
	       "a finished message does not wait while slurmctld is down");
	d->slurmctld_down = false;
	is_str(say(finished), not_confirmed,
	       "a finished message waits again when slurmctld is back");
	confirm_final_exit();
	is_str(say(finished), "",
	       "a finished message is final when slurmctld has confirmed it");
	is_int(said.progress_ppm, 400000, "the progress survives the kill");
	ok(strcmp(said.path, "p") == 0 && said.step == 5,
	   "the checkpoint survives the kill");
	say("{\"verb\":\"phase\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "phase"), "eval",
	       "the phase survives the kill");
	is_str(say("{\"verb\":\"progress\",\"ppm\":1000001,\"job\":\"7\","
		   "\"id\":\"0000000000000105\"}"),
	       "progress is a number from 0 to 1",
	       "progress above 1 is refused");

	again.restarts = 1;
	daemon_show(again);
	said = said_by(7);
	ok(!said.finished && said.progress_ppm == EGS_NO_PROGRESS,
	   "the next run has no progress and is not finished");
	is_str(said.path, "p", "the next run keeps the last checkpoint's path");
	say("{\"verb\":\"phase\",\"job\":\"7\",\"restarts\":1}");
	is_str(egs_msg_get_str(answer, "phase"), "",
	       "the next run has the phase of its submission");

	job = egs_policy_job(d->policy, 7)->ident;
	again.state = EGS_JOB_ENDED;
	daemon_show(again);
	egs_store_job_report_get(d->store, &job, &said, &why);
	is_str(said.path, "", "the reports of an ended job are deleted");
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_start();
	test_who();
	test_saved();
	test_once();
	test_phase();
	test_yield();
	test_ranks();
	test_operator();
	test_restart();
	test_disk();
	test_killed();
	test_next_run();
	test_phase_limit();
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
