/* abort.c - who may abort which jobs, and which jobs that are */
#include "policyd/requests/requests.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, BOB = 2002, CAROL = 2003, DAVE = 2004 };

static struct egs_err refusal;

/* Jobs of the last answer, as "7 8 9"; or "-" and 'refusal'. */
static const char *ask(uid_t uid, const char *text)
{
	static char list[512];
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_parse(text, strlen(text),
						EGS_MSG_REQUEST_MAX, &refusal);
	struct egs_msg *answer = egs_msg_new();
	size_t columns, rows;
	bool number;
	int rc = request ? egs_verb_abort(d, &peer, request, answer, &refusal)
			 : -1;

	snprintf(list, sizeof(list), "%s", rc == 0 ? "" : "-");
	if (rc == 0 &&
	    egs_msg_check_table(answer, &columns, &rows, &refusal) == 0)
		for (size_t i = 0; i < rows; i++)
			snprintf(list + strlen(list),
				 sizeof(list) - strlen(list), "%s%s",
				 i ? " " : "",
				 egs_msg_get_cell(answer, i, 0, &number));
	egs_msg_free(request);
	egs_msg_free(answer);
	return list;
}

static const char *dry_run(uid_t uid, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"verb\":\"abort\",\"dry_run\":true,%s}",
		 what);
	return ask(uid, text);
}

/* Job 'id' of the workload, in an account; with a dependency unless "". */
static void show(uint32_t id, const char *workload, const char *account,
		 const char *dependency)
{
	struct egs_job_fact f =
		daemon_job(id, *dependency ? EGS_JOB_PENDING : EGS_JOB_RUNNING);
	char stamp[128];

	snprintf(stamp, sizeof(stamp), "egs:1;workload=%s;id=%016x", workload,
		 id);
	f.admin_comment = stamp;
	f.account = account;
	f.dependency = dependency;
	if (*dependency)
		f.flags |= EGS_FACT_DEPENDENT;
	daemon_show(f);
}

static void add_leads(void)
{
	egs_daemon_add_coordinator(d, CAROL, "carol", "Fraud");
	egs_daemon_add_coordinator(d, DAVE, "dave", "vision");
	egs_daemon_add_coordinator(d, 0, NULL, NULL);
}

static void rights(void)
{
	show(7, "score", "fraud", "");
	is_str(dry_run(ALICE, "\"job\":\"7\""), "7",
	       "the owner may abort a job");
	is_str(dry_run(0, "\"job\":\"7\""), "7", "root may abort a job");
	is_str(dry_run(BOB, "\"job\":\"7\""), "-",
	       "another user may not abort a job");
	is_str(refusal.msg,
	       "job 7 is not yours; its owner, operators and the coordinators "
	       "of its account in a team may do that",
	       "the refusal says who may abort a job");
	is_str(dry_run(CAROL, "\"job\":\"7\""), "-",
	       "without slurmdbd nobody is a lead");
	add_leads();
	is_str(dry_run(CAROL, "\"job\":\"7\""), "7",
	       "a coordinator of the job's account may abort a job");
	is_str(dry_run(DAVE, "\"job\":\"7\""), "-",
	       "a coordinator of another account may not abort a job");
	egs_daemon_add_coordinator(d, BOB, "bob", "fraud");
	egs_daemon_drop_slurm_operators(d);
	is_str(dry_run(BOB, "\"job\":\"7\""), "-",
	       "a list of coordinators that did not end is not believed");
	is_str(dry_run(BOB, "\"workload\":\"score\""), "-",
	       "another user may not abort a workload");
}

static int call(egs_verb_fn *verb, uid_t uid, const char *text)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_parse(text, strlen(text),
						EGS_MSG_REQUEST_MAX, &refusal);
	struct egs_msg *answer = egs_msg_new();
	int rc = verb(d, &peer, request, answer, &refusal);

	egs_msg_free(request);
	egs_msg_free(answer);
	return rc;
}

static void leads_change_tiers(void)
{
	static const char weaker[] =
		"{\"job\":\"7\",\"tier\":\"scavenge\",\"reason\":\"x\"}";
	static const char stronger[] =
		"{\"job\":\"7\",\"tier\":\"prod\",\"reason\":\"x\"}";

	is_int(call(egs_verb_update, ALICE, weaker), -1,
	       "the owner of a job does not change its tier");
	is_str(refusal.msg,
	       "job 7: that is for operators, and for coordinators of its "
	       "account in a team",
	       "the refusal of another tier says who may change it");
	is_int(call(egs_verb_update, CAROL, weaker), 0,
	       "a lead gives a job a tier that its owner could choose");
	is_int(call(egs_verb_update, CAROL, stronger), -1,
	       "a lead gives no job a tier that its team may not use");
	is_str(refusal.msg,
	       "job 7: tier prod is not open to its owner; ask an operator",
	       "the refusal of a tier names the tier");
	is_int(call(egs_verb_update, CAROL,
		    "{\"node\":\"n1\",\"fenced\":\"yes\",\"reason\":\"x\"}"),
	       -1, "a lead does not fence a node");
	is_int(call(egs_verb_preempt, DAVE, "{\"job\":\"7\",\"reason\":\"x\"}"),
	       -1, "a coordinator of another account does not preempt a job");
}

static void workloads_and_dependents(void)
{
	show(8, "score/eval", "fraud", "");
	show(9, "scores", "fraud", "");
	show(10, "", "fraud", "afterok:7(unfulfilled)");
	show(11, "", "fraud", "afterok:10(unfulfilled)");
	show(12, "", "fraud", "afterany:7(unfulfilled)");
	show(13, "", "fraud", "afterok:7(unfulfilled)?afterok:9(unfulfilled)");
	is_str(dry_run(ALICE, "\"workload\":\"score\",\"dependents\":\"keep\""),
	       "7 8", "a workload has all stages, and no other workload");
	is_str(dry_run(ALICE, "\"workload\":\"score/eval\""), "8",
	       "a stage has its own jobs only");
	is_str(dry_run(ALICE, "\"job\":\"7\""), "7 10 11",
	       "jobs that could never start are cancelled, and those that wait "
	       "for them");
	is_str(dry_run(ALICE, "\"job\":\"7\",\"requeue\":\"hold\""), "7",
	       "dependents of a job that is only held are kept");
	is_str(dry_run(ALICE, "\"job\":\"7\",\"as_of\":1"), "-",
	       "a job that was submitted after the list is not aborted");
	is_str(refusal.msg, "job 7 is another job now; ask again",
	       "the refusal of a later job tells to ask again");
	is_str(dry_run(ALICE, "\"workload\":\"score\",\"as_of\":1"), "-",
	       "jobs of a workload that were submitted after the list are left "
	       "out");
}

static void show_task(uint32_t id, uint32_t task)
{
	struct egs_job_fact f = daemon_job(id, EGS_JOB_RUNNING);

	f.account = "fraud";
	f.array_job_id = 20;
	f.task = task;
	daemon_show(f);
}

static void tasks_that_wait_for_tasks(void)
{
	show_task(20, 1);
	show_task(21, 2);
	show(22, "", "fraud", "aftercorr:20_*(unfulfilled)");
	is_str(dry_run(ALICE, "\"job\":\"20_2\""), "20_2",
	       "an abort of one task keeps an array that waits task by task");
	is_str(dry_run(ALICE, "\"job\":\"20\""), "20_1 20_2 22",
	       "an abort of an array cancels the array that waits for it");
}

static void bad_requests(void)
{
	static const struct {
		const char *what, *error;
	} rows[] = {
		{ "\"job\":\"x\"",
		  "job='x' is not a job id; use 81234 or 81234_7" },
		{ "\"job\":\"99\"",
		  "job 99 is not known: it has ended, or Slurm has not shown "
		  "it yet" },
		{ "\"workload\":\"/eval\"",
		  "workload='/eval' has no name; use NAME or NAME/STAGE" },
		{ "\"job\":\"7\",\"workload\":\"score\"",
		  "use either job= or workload=" },
		{ "\"reason\":\"x\"", "use either job= or workload=" },
		{ "\"job\":\"7\",\"requeue\":\"yes\"",
		  "requeue='yes' is unknown; use no or hold" },
		{ "\"job\":\"7\",\"tier\":\"prod\"",
		  "abort has no option 'tier'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		dry_run(ALICE, rows[i].what);
		is_str(refusal.msg, rows[i].error, "a bad request: %s",
		       rows[i].error);
	}
	ask(ALICE, "{\"verb\":\"abort\",\"job\":\"7\"}");
	is_str(refusal.msg, "a reason is required: --reason=\"...\"",
	       "an abort without a reason is refused");
}

static uint32_t wish_of(uint32_t id)
{
	return egs_policy_job(d->policy, id)->wish & EGS_WISH_MASK;
}

static void a_daemon_dies(void)
{
	const char *text = "{\"verb\":\"abort\",\"job\":\"7\",\"reason\":\"x\","
			   "\"checkpoint\":\"try\"}";

	d->slurmctld_down = true;
	is_str(ask(ALICE, text), "-",
	       "an abort is refused while slurmctld is away");
	d->slurmctld_down = false;
	is_int(wish_of(7), 0, "a refused abort leaves the job as it was");
	is_str(ask(ALICE, text), "7 10 11", "the owner aborts a job");
	is_int(wish_of(7), EGS_WISH_CANCEL,
	       "an aborted job is to be cancelled");
	ok(egs_policy_job(d->policy, 7)->preempting,
	   "an aborted job has a notice");
	is_str(ask(ALICE, "{\"verb\":\"release\",\"job\":\"7\","
			  "\"reason\":\"x\"}"),
	       "-", "a job that is being aborted is not released");
	daemon_stop();
	daemon_start();
	show(7, "score", "fraud", "");
	is_int(wish_of(7), EGS_WISH_CANCEL,
	       "the next daemon knows that the job is to be cancelled");
}

int main(void)
{
	daemon_conf = "Mode=enforce\n"
		      "TierOrder=prod,scavenge\n"
		      "GpuType=a100\n"
		      "Team=red Users=alice Quota=a100:4 MaxGpus=a100:8 "
		      "DefaultTier=scavenge Tiers=scavenge\n";
	conf_enter();
	daemon_start();
	rights();
	leads_change_tiers();
	workloads_and_dependents();
	tasks_that_wait_for_tasks();
	bad_requests();
	a_daemon_dies();
	daemon_stop();
	daemon_leave();
	return done_testing();
}
