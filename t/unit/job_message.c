/* job_message.c - what jobs say is checked, kept once, and survives a kill */
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/hint/stamp.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, BOB = 2002 };

static struct egs_msg *answer;
static struct egs_err why;

/* What the daemon says to alice: "" is yes, "(again) ..." is not final. */
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
	       "job 7 is not yours", "only its owner speaks for a job");
	is_str(say("{\"verb\":\"dance\",\"job\":\"7\"}"),
	       "'dance' is not a verb for jobs", "an unknown verb");
	is_str(say("{\"verb\":\"saved\",\"job\":\"$(id)\"}"),
	       "job='$(id)' is not a job id; use 81234 or 81234_7",
	       "a job that is none");
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":1}"),
	       "job 8: the message is from run 1, but this is run 2",
	       "an earlier attempt is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":2}"),
	       "(again) job 8 is not running", "a pending one may start now,");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"saved\",\"job\":\"8\",\"restarts\":2}"),
	       "job 8 is not running", "until Slurm has said it does not");
	is_str(say("{\"verb\":\"saved\",\"job\":\"99\"}"),
	       "(again) job 99 is not known: it has ended, or Slurm has not "
	       "shown it yet",
	       "one we never saw may be new,");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"saved\",\"job\":\"99\"}"),
	       "job 99 is not known: it has ended, or Slurm has not shown it "
	       "yet",
	       "or has ended");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\"}"),
	       "the message has no id", "what is kept needs an id");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"id\":\"../../x\"}"),
	       "id='../../x' is not 16 hex digits", "that is one");
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
	       "", "a checkpoint is reported");
	said = said_by(7);
	is_str(said.path, "/ckpt/$(id) `x`.pt", "with its path, to the letter");
	ok(said.step == 40 && said.saved_at, "its step and time");
	ok(egs_policy_job(d->policy, 7)->saved_at, "and the policy knows");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":\"a\\nb\","
		   "\"id\":\"00000000000000a2\"}"),
	       "path='a?b' has a character that cannot be shown",
	       "a newline in a path is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":"
		   "\"a\xe2\x80\xae"
		   "b\",\"id\":\"00000000000000a2\"}"),
	       "path='a?b' has a character that cannot be shown",
	       "and so is what turns text around");
	snprintf(long_path, sizeof(long_path),
		 "{\"verb\":\"saved\",\"job\":\"7\",\"id\":"
		 "\"00000000000000a2\",\"path\":\"%0*d\"}",
		 EGS_CKPT_PATH_MAX + 1, 7);
	is_str(say(long_path), "the path has 1025 bytes, it may have 1 to 1024",
	       "one too long is");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":-1,"
		   "\"id\":\"00000000000000a2\"}"),
	       "step=-1 is below 0", "and a step below 0");
	is_int(said_by(7).step, 40, "a refusal changes nothing");
}

static void test_once(void)
{
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":41,"
		   "\"id\":\"00000000000000a1\"}"),
	       "", "an id that was heard is answered as before,");
	is_int(said_by(7).step, 40, "and has no effect");
	egs_store_begin(d->store, &why);
	egs_store_answer_prune(d->store, egs_daemon_now() + 1, &why);
	egs_store_commit(d->store, &why);
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"step\":41,"
		   "\"id\":\"00000000000000a1\"}"),
	       "", "ids that are too old are forgotten");
	is_int(said_by(7).step, 41, "on disk");
	say("{\"verb\":\"phase\",\"phase\":\"infer\",\"job\":\"7\","
	    "\"id\":\"00000000000000b1\"}");
	say("{\"verb\":\"phase\",\"phase\":\"train\",\"job\":\"7\","
	    "\"id\":\"00000000000000b2\"}");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"infer\",\"job\":\"7\","
		   "\"id\":\"00000000000000b1\"}"),
	       "", "a phase that was entered before");
	is_str(egs_msg_get_str(answer, "export:EGS_PHASE"), "infer",
	       "has its answer of then");
	ok(egs_msg_is_true(answer, "ok"), "all of it");
	say("{\"verb\":\"phase\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "phase"), "train", "and is not entered");
}

static void test_phase(void)
{
	int64_t gpus = 0;

	is_str(say("{\"verb\":\"phase\",\"phase\":\"Inference\",\"job\":\"7\","
		   "\"id\":\"00000000000000c1\"}"),
	       "", "a phase by another of its names");
	is_str(egs_msg_get_str(answer, "phase"), "infer", "is that phase");
	ok(egs_msg_get_int(answer, "gpus", &gpus) && gpus == 2,
	   "with its GPUs");
	is_str(egs_daemon_conf(d)
		       ->phase[egs_policy_job(d->policy, 7)->facts.phase]
		       .name,
	       "infer", "and the policy knows");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"labl\",\"job\":\"7\","
		   "\"id\":\"00000000000000c2\"}"),
	       "'labl' is not a phase; did you mean 'label'? (phases: prep, "
	       "train, eval, infer, retrain, label)",
	       "one the site does not have is refused");
	is_str(say("{\"verb\":\"phase\",\"phase\":\"$(id)\",\"job\":\"7\","
		   "\"id\":\"00000000000000c2\"}"),
	       why.msg, "and what could be none");
	ok(*why.msg, "with a sentence: %s", why.msg);
	is_str(say("{\"verb\":\"phase\",\"phase\":\"train\",\"gpus\":1,"
		   "\"job\":\"7\",\"id\":\"00000000000000c2\"}"),
	       "job 7: cannot change from 2 to 1 GPUs while it runs: "
	       "LiveResize=no; not requeued with 1 GPUs either: the job has "
	       "declared no checkpoint",
	       "GPUs stay where they are");
}

static void test_yield(void)
{
	char text[128];
	int refused = 0;

	is_str(say("{\"verb\":\"yield\",\"job\":\"7\","
		   "\"id\":\"00000000000000d1\"}"),
	       "(again) job 7 has no preemption notice; report a checkpoint "
	       "with 'egs saved'",
	       "it may be that Slurm has asked,");
	d->poll_count += 2;
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\","
		   "\"id\":\"00000000000000d1\"}"),
	       "job 7 has no preemption notice; report a checkpoint with 'egs "
	       "saved'",
	       "nobody asked");
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text),
			 "{\"verb\":\"yield\",\"job\":\"7\","
			 "\"id\":\"%016x\"}",
			 0xd2 + i);
		refused += *say(text) != '\0';
	}
	is_int(refused, 100, "a hundred yields for nothing are refused");
	ok(!egs_policy_job(d->policy, 7)->yielded, "and change nothing");
	/* All of it, though some comes back each second. */
	while (egs_rate_limit_take(d->requests->rate_limit, 7, 1,
				   egs_daemon_now() + 3600))
		;
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\","
		   "\"id\":\"00000000000000e1\"}"),
	       "(again) job 7 sends too many messages; try again later",
	       "then patience is at an end");
	egs_rate_limit_free(d->requests->rate_limit);
	d->requests->rate_limit = egs_rate_limit_new();

	is_str(say("{\"verb\":\"request\",\"job\":\"7\"}"), "", "ask back");
	is_str(egs_msg_to_text(answer, &(size_t){ 0 }),
	       "{\"ok\":true,\"request\":0}", "nothing is open");
	ask(7);
	say("{\"verb\":\"request\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "kind"), "yield",
	       "now there is a request");
	is_str(egs_msg_get_str(answer, "reason"), "its GPUs are needed",
	       "with its reason");
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\",\"request\":9,"
		   "\"id\":\"00000000000000e2\"}"),
	       "job 7: notice 9 is not open, notice 1 is",
	       "an answer to another one is refused");
	is_str(say("{\"verb\":\"saved\",\"job\":\"7\",\"path\":\"x\","
		   "\"id\":\"00000000000000e3\"}"),
	       "", "a checkpoint while it is open");
	ok(!egs_policy_job(d->policy, 7)->yielded, "is no answer to it");
	is_str(say("{\"verb\":\"yield\",\"job\":\"7\",\"request\":1,\"path\":"
		   "\"last.pt\",\"id\":\"00000000000000e4\"}"),
	       "", "this is");
	ok(egs_policy_job(d->policy, 7)->yielded, "and the policy knows");
	is_str(said_by(7).path, "last.pt", "it says where it saved");
	say("{\"verb\":\"request\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "kind"), NULL,
	       "and nothing is open now");
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
	       "", "one rank of two has saved");
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":1,"
		   "\"id\":\"00000000000000f2\"}"),
	       "", "and says so again");
	ok(!egs_policy_job(d->policy, 10)->yielded, "that is not the job");
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":-1,"
		   "\"id\":\"00000000000000f3\"}"),
	       "rank=-1 is below 0", "no such rank");
	daemon_stop();
	daemon_start();
	daemon_show(f);
	is_str(say("{\"verb\":\"yield\",\"job\":\"10\",\"rank\":0,"
		   "\"id\":\"00000000000000f3\"}"),
	       "", "the other one, after a restart of the daemon");
	is_str(egs_msg_to_text(answer, &(size_t){ 0 }),
	       "{\"ok\":true,\"acks\":2,\"of\":2,\"request\":1}",
	       "both are counted");
	ok(egs_policy_job(d->policy, 10)->yielded, "now the job has yielded");
}

static void note_restart(void *arg, const struct egs_preemption *p)
{
	*(uint32_t *)arg = p->restart_s;
}

/* What the ledger has of it. */
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
	is_int(restart_of(12), EGS_RESTART_S, "what a restart costs at most");
	f.state = EGS_JOB_RUNNING;
	f.start = (uint64_t)egs_daemon_now() - 20;
	daemon_show(f);
	egs_daemon_update(d);
	snprintf(text, sizeof(text),
		 "{\"verb\":\"progress\",\"job\":\"12\",\"restarts\":1,"
		 "\"ppm\":1,\"at\":%" PRIu64 ",\"id\":\"0000000000000121\"}",
		 f.start + 7);
	is_str(say(text), "", "a job that runs again says how far it is");
	is_int(restart_of(12), 7, "so its restart took 7 s");
}

static void disk_is_full(bool full)
{
	struct rlimit size;

	getrlimit(RLIMIT_FSIZE, &size);
	size.rlim_cur = full ? 0 : size.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &size);
}

/* What is not on disk was not said, and may be said again. */
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
	       "a yield that cannot be kept");
	ok(!egs_policy_job(d->policy, 11)->yielded, "was not said");
	is_str(say(yield), "(again) egs-policyd cannot write to its disk",
	       "and again");
	disk_is_full(false);
	egs_daemon_retry_store(d);
	is_int(d->intents.pending - before, 0, "nothing was done to the job");
	is_str(say(yield), "", "the disk works again: it is heard");
	is_int(d->intents.pending - before, 1,
	       "and Slurm is asked to requeue it");
	is_str(say(yield), "", "the answer was lost, it says so again");
	is_int(d->intents.pending - before, 1, "once is enough");
}

/* In a child that is killed as soon as the answer is there, and is 'want'. */
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
	ok(WIFSIGNALED(status), "acknowledged, then killed");
}

static void find_final_exit(void *arg, const struct egs_intent *intent)
{
	uint64_t *id = arg;

	if (intent->job_id == 7 &&
	    egs_daemon_action_kind(intent->action) == EGS_ACT_EXIT_IS_FINAL)
		*id = intent->id;
}

/* The worker has told slurmctld that the end of job 7 is its end. */
static void slurm_has_heard(void)
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
	static const char unheard[] = "(again) job 7: slurmctld has not "
				      "confirmed it yet";
	struct egs_job_fact again = daemon_job(7, EGS_JOB_RUNNING);
	struct egs_identity job;
	struct egs_job_report said;

	daemon_stop();
	killed_after(finished, unheard);
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
	ok(said.finished, "that it has finished is known");
	is_str(say(finished), unheard, "but not yet to slurmctld");
	d->slurmctld_down = true;
	is_str(say(finished), "", "which is not waited for when it is away");
	d->slurmctld_down = false;
	is_str(say(finished), unheard, "only then");
	slurm_has_heard();
	is_str(say(finished), "", "once it has heard of it all is said");
	is_int(said.progress_ppm, 400000, "how far it is");
	ok(strcmp(said.path, "p") == 0 && said.step == 5, "its checkpoint");
	say("{\"verb\":\"phase\",\"job\":\"7\"}");
	is_str(egs_msg_get_str(answer, "phase"), "eval", "and its phase");
	is_str(say("{\"verb\":\"progress\",\"ppm\":1000001,\"job\":\"7\","
		   "\"id\":\"0000000000000105\"}"),
	       "progress is a number from 0 to 1", "more than all is not");

	again.restarts = 1;
	daemon_show(again);
	said = said_by(7);
	ok(!said.finished && said.progress_ppm == EGS_NO_PROGRESS,
	   "another attempt has said nothing yet");
	is_str(said.path, "p", "and goes on from that checkpoint");
	say("{\"verb\":\"phase\",\"job\":\"7\",\"restarts\":1}");
	is_str(egs_msg_get_str(answer, "phase"), "",
	       "in the phase it came with");

	job = egs_policy_job(d->policy, 7)->ident;
	again.state = EGS_JOB_ENDED;
	daemon_show(again);
	egs_store_job_report_get(d->store, &job, &said, &why);
	is_str(said.path, "", "of a job that has ended nothing is kept");
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
	test_restart();
	test_disk();
	test_killed();
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
