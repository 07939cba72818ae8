/* account.c - the account writes spans of what Slurm shows, no second twice */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "policyd/accounting/account_internal.h"
#include "policyd/store/wait_classes.h"
#include "t/lib/unit/tap.h"

static char dir[] = "/tmp/egs-account-XXXXXX";
static char path[sizeof(dir) + 8];
static struct egs_policy_conf *conf;
static struct egs_store *store;
static struct egs_account *account;
static struct egs_err err;
static char text[1024];
static bool hopeless;

/* A day that begins at midnight UTC. */
#define DAY 1794787200

static struct egs_job_fact fact(uint32_t id)
{
	return (struct egs_job_fact){
		.job_id = id,
		.task = UINT32_MAX,
		.uid = 2001,
		.state = EGS_JOB_RUNNING,
		.nnodes = 1,
		.cpus = 4,
		.mem_mb = 100,
		.submit = DAY + 90,
		.eligible = DAY + 90,
		.start = DAY + 100,
		.user = "alice",
		.account = "fraud",
		.partition = "gpu",
		.qos = "normal",
		.name = "x",
		.reason = "Resources",
		.nodes = "n1",
		.gpus = { .by_type = { { "a100", 2 } }, .ntypes = 1 },
	};
}

static void commit(void)
{
	egs_store_begin(store, &err);
	if (egs_account_write(account, &err) < 0 ||
	    egs_store_commit(store, &err) < 0)
		note("%s", err.msg);
	else
		egs_account_clear_written(account);
}

/* Kill the daemon, and start another. */
static void crash(egs_time_t polled_at)
{
	egs_account_free(account);
	egs_store_close(store);
	store = egs_store_open(path, &hopeless, &err);
	account = egs_account_new(store, conf, polled_at, &err);
}

static int add(void *arg, int n, char **value, char **name)
{
	int i;

	(void)arg;
	(void)name;
	for (i = 0; i < n; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s",
			 i	? ":"
			 : used ? " "
				: "",
			 value[i] ? value[i] : "");
	}
	return 0;
}

/* The rows of a query, "a:b c:d". */
static const char *rows(const char *sql)
{
	sqlite3 *db = NULL;

	text[0] = '\0';
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, add, NULL, NULL) != SQLITE_OK)
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return text;
}

#define SPANS(job)                                                       \
	rows("SELECT s.start-1794787200, s.end-1794787200, s.gpus FROM " \
	     "span s JOIN run r ON r.id=s.run WHERE r.job_id=" #job      \
	     " ORDER BY s.id")

static void assign(uint32_t job, const char *loan, egs_time_t now)
{
	const struct egs_account_assignment s = { "red", "prod", "train",
						  loan };

	egs_account_assign(account, job, &s, now);
}

static void test_run(void)
{
	struct egs_job_fact f = fact(1);

	egs_account_update_job(account, &f, DAY + 101);
	assign(1, "owned", DAY + 101);
	commit();
	is_str(rows("SELECT o.gpus, k.team, k.loan, k.type FROM open_span o "
		    "JOIN kind k ON k.id=o.kind"),
	       "2:red:owned:a100",
	       "a running job has an open span with its assignment");
	assign(1, "loan", DAY + 150);
	commit();
	is_str(SPANS(1), "100:150:2",
	       "a change from owned to loan ends the span");
	f.gpus.by_type[0].count = 1;
	f.resize_time = DAY + 170;
	egs_account_update_job(account, &f, DAY + 172);
	assign(1, "loan", DAY + 172);
	commit();
	is_str(SPANS(1), "100:150:2 150:170:2",
	       "a resize ends the span at Slurm's resize time");
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 200;
	f.end_state = "COMPLETED";
	egs_account_update_job(account, &f, DAY + 203);
	commit();
	is_str(SPANS(1), "100:150:2 150:170:2 170:200:1",
	       "the end of the job ends the last span");
	is_str(rows("SELECT end_state, gpu_s, cpu_s FROM run WHERE job_id=1"),
	       "COMPLETED:170:400",
	       "the run has its GPU-seconds and CPU-seconds");
	is_str(rows("SELECT count(*) FROM open_span"), "0",
	       "a job that ended has no open span");
	is_str(rows("SELECT bucket_s, sum(gpu_s) FROM rollup GROUP BY "
		    "bucket_s"),
	       "3600:170 86400:170", "sums of hours and days are equal");
	is_str(rows("SELECT classes, c.starts, c.reason FROM wait"
		    " JOIN wait_reason c USING (bucket_s, at, kind) WHERE "
		    "bucket_s=86400"),
	       "10:1 :1:", "the wait of ten seconds is counted");
}

/* A job changes its phase twice a second for an hour; the daemon saves as
 * often.
 */
static void test_phases(void)
{
	struct egs_account_assignment s = { "red", "prod", "train", "owned" };
	struct egs_job_fact f = fact(11);

	egs_account_update_job(account, &f, DAY + 100);
	for (int i = 0; i < 7200; i++) {
		s.phase = i % 2 ? "eval" : "train";
		egs_account_assign(account, 11, &s, DAY + 100 + i / 2);
		commit();
	}
	is_str(rows("SELECT count(*) < 110 FROM span s JOIN run r ON "
		    "r.id=s.run WHERE r.job_id=11"),
	       "1", "a job with 7200 changes of phase has few spans");
	s.phase = "infer";
	egs_account_assign(account, 11, &s, DAY + 5000);
	commit();
	is_str(rows("SELECT k.phase FROM open_span o JOIN kind k ON "
		    "k.id=o.kind JOIN run r ON r.id=o.run WHERE "
		    "r.job_id=11"),
	       "infer", "the phase in which such a job stays is counted");
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 6000;
	f.end_state = "COMPLETED";
	egs_account_update_job(account, &f, DAY + 6000);
	commit();
	is_str(rows("SELECT gpu_s FROM run WHERE job_id=11"), "11800",
	       "no second of such a job is lost");
}

static void test_resized_and_ended(void)
{
	struct egs_job_fact f = fact(10);

	egs_account_update_job(account, &f, DAY + 101);
	commit();
	f.gpus.by_type[0].count = 1;
	f.resize_time = DAY + 150;
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 160;
	f.end_state = "COMPLETED";
	egs_account_update_job(account, &f, DAY + 161);
	commit();
	is_str(SPANS(10), "100:150:2 150:160:1",
	       "a resize counts if the same poll shows the end");
}

/* The daemon does not know yet that the job has ended, and changes its loan. */
static void test_assigned_after_end(void)
{
	struct egs_job_fact f = fact(12);

	egs_account_update_job(account, &f, DAY + 101);
	assign(12, "loan", DAY + 101);
	commit();
	assign(12, "owned", DAY + 162);
	assign(12, "loan", DAY + 163);
	commit();
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 160;
	f.end_state = "COMPLETED";
	egs_account_update_job(account, &f, DAY + 164);
	commit();
	is_str(SPANS(12), "100:160:2",
	       "no span of a job is after its end, if its loan changed later");
	is_str(rows("SELECT gpu_s, cpu_s, suspended_s, end-start FROM run"
		    " WHERE job_id=12"),
	       "120:240:0:60", "a job has no GPU-second after its end");
	is_str(rows("SELECT sum(gpu_s)-2*(SELECT sum(gpu_s) FROM run),"
		    " sum(cpu_s)-2*(SELECT sum(cpu_s) FROM run) FROM rollup"),
	       "0:0", "sums of hours and days have no GPU-second after an end");
}

static void test_crash(void)
{
	struct egs_job_fact f = fact(2), g = fact(3), h = fact(4);

	egs_account_update_job(account, &f, DAY + 101);
	egs_account_update_job(account, &h, DAY + 101);
	commit();
	crash(DAY + 130);
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 160;
	egs_account_update_job(account, &f, DAY + 300);
	g.state = EGS_JOB_ENDED;
	g.end = DAY + 120;
	egs_account_update_job(account, &g, DAY + 300);
	egs_account_end_poll(account, DAY + 300);
	commit();
	is_str(SPANS(2), "100:160:2",
	       "a job that ended while no daemon ran has Slurm's end");
	is_str(SPANS(3), "100:120:2",
	       "a run that Slurm shows only after its end is counted");
	is_str(SPANS(4), "100:130:2",
	       "a job that vanished is counted until the last poll");
	is_str(rows("SELECT end_state, end_guessed FROM run WHERE job_id=4"),
	       "VANISHED:1", "the end of a job that vanished is a guess");
	crash(DAY + 300);
	egs_account_update_job(account, &f, DAY + 310);
	egs_account_update_job(account, &g, DAY + 310);
	egs_account_end_poll(account, DAY + 310);
	commit();
	is_str(SPANS(2), "100:160:2", "a second daemon counts no second twice");
}

static void test_requeue(void)
{
	struct egs_job_fact f = fact(5);

	egs_account_update_job(account, &f, DAY + 101);
	commit();
	f.state = EGS_JOB_PENDING;
	f.restarts = 1;
	f.submit = DAY + 140;
	f.start = DAY + 260;
	f.nodes = NULL;
	egs_account_update_job(account, &f, DAY + 150);
	f.state = EGS_JOB_RUNNING;
	f.start = DAY + 160;
	f.gpus.by_type[0].count = 4;
	egs_account_update_job(account, &f, DAY + 161);
	commit();
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 170;
	f.end_state = "FAILED";
	f.nodes = "n1";
	egs_account_update_job(account, &f, DAY + 171);
	commit();
	is_str(SPANS(5), "100:140:2 160:170:4",
	       "each attempt of a requeued job has its own spans");
	is_str(rows("SELECT restarts, end_state, gpus FROM run WHERE job_id=5"),
	       "0:REQUEUED:2 1:FAILED:4",
	       "both attempts of a requeued job are in the history");
}

/* Job 9 is a helper job of job 8, which gets its GPUs ten seconds later. */
static void test_helper(void)
{
	struct egs_job_fact f = fact(8), h = fact(9);

	f.admin_comment = "egs:1;phase=infer,workload=fraud/serve;"
			  "id=0000000000000008";
	h.admin_comment = "egs:1;id=0000000000000009;helper=8";
	h.name = "egs-grow:8";
	h.submit = h.eligible = DAY + 170;
	h.start = DAY + 200;
	egs_account_update_job(account, &f, DAY + 101);
	assign(8, "owned", DAY + 101);
	egs_account_update_job(account, &h, DAY + 201);
	assign(9, "loan", DAY + 201);
	commit();
	crash(DAY + 205);
	egs_account_update_job(account, &f, DAY + 205);
	egs_account_update_job(account, &h, DAY + 206);
	assign(9, "loan", DAY + 206);
	h.state = EGS_JOB_ENDED;
	h.resize_time =
		DAY + 210; /* job 8 has the GPUs; Slurm still shows them */
	h.end = DAY + 213;
	h.end_state = "CANCELLED";
	egs_account_update_job(account, &h, DAY + 214);
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 300;
	egs_account_update_job(account, &f, DAY + 301);
	egs_account_end_poll(account, DAY + 301);
	commit();
	is_str(rows("SELECT k.workload, k.phase, k.loan, sum(s.gpus*(s.end-"
		    "s.start)) FROM span s JOIN run r ON r.id=s.run JOIN kind "
		    "k ON k.id=s.kind WHERE r.job_id=9 GROUP BY 1, 2, 3"),
	       "fraud/serve:train:loan:20",
	       "a helper job has the workload and phase of the helped job");
	is_str(rows("SELECT h.gpu_s, r.job_id FROM run h JOIN run r ON "
		    "r.id=h.helped_run WHERE h.job_id=9"),
	       "20:8", "a helper job is linked to the run it helps");
	is_str(rows("SELECT sum(runs) FROM rollup r JOIN kind k ON k.id=r.kind"
		    " WHERE workload='fraud/serve' AND bucket_s=86400"),
	       "1", "a helper job does not count as an attempt");
	is_str(rows("SELECT classes FROM wait w JOIN kind k ON k.id=w.kind"
		    " WHERE workload='fraud/serve' AND bucket_s=86400 "
		    "ORDER BY 1"),
	       "10:1  30:1 ", "a helper job counts as a wait");
}

static void test_midnight(void)
{
	struct egs_job_fact f = fact(6);

	f.start = DAY + 86400 - 100;
	f.state = EGS_JOB_ENDED;
	f.end = DAY + 2 * 86400 + 50;
	f.gpus.ntypes = 2;
	f.gpus.by_type[1].count = 1;
	memcpy(f.gpus.by_type[1].type, "h100", 5);
	egs_account_update_job(account, &f, DAY + 200000);
	commit();
	is_str(SPANS(6),
	       "86300:86400:2 86400:172800:2 172800:172850:2 "
	       "86300:86400:1 86400:172800:1 172800:172850:1",
	       "spans are cut at midnight, one for each GPU type");
	is_str(rows("SELECT gpu_s, cpu_s FROM run WHERE job_id=6"),
	       "259650:346200",
	       "the cores of a job with two GPU types count once");
	f = fact(7);
	f.state = EGS_JOB_PENDING;
	egs_account_update_job(account, &f, DAY + 90);
	f.state = EGS_JOB_ENDED;
	f.nodes = NULL;
	f.end = f.start;
	egs_account_update_job(account, &f, DAY + 100);
	commit();
	is_str(SPANS(7), "", "a job cancelled while pending has no span");
	egs_store_begin(store, &err);
	egs_history_prune(store, DAY + 2 * 86400 + 200000, &err);
	egs_store_commit(store, &err);
	is_str(rows("SELECT (SELECT count(*) FROM span), (SELECT count(*) FROM "
		    "run), (SELECT count(*) FROM rollup)"),
	       "0:0:0", "pruning deletes old spans, runs and sums");
}

static void test_classes(void)
{
	int bad = 0;

	for (uint64_t s = 0; s < 2000000; s += s < 5000 ? 1 : 997) {
		uint64_t most = egs_wait_class_max_s(egs_wait_class_of(s));

		bad += most < s || most > s + s / 16;
	}
	is_int(bad, 0, "the class of a wait is exact to one sixteenth");
	is_int((intmax_t)egs_wait_class_max_s(egs_wait_class_of(127)), 127,
	       "the class of a short wait is exact");
}

/* Names that users choose for their jobs. */
static void test_names(void)
{
	struct egs_job_fact f = fact(9000);
	uint32_t slot;
	char name[32];

	f.name = "kept";
	egs_account_update_job(account, &f, DAY + 500);
	for (uint32_t i = 0; i < 5000; i++) {
		f = fact(10000 + i);
		f.state = EGS_JOB_PENDING;
		snprintf(name, sizeof(name), "name-%u", i);
		f.name = name;
		egs_account_update_job(account, &f, DAY + 500);
		egs_account_remove_job(account, 10000 + i);
		if (i % 1000 == 999)
			egs_account_end_poll(account, DAY + 500);
	}
	ok(account->names.count < 4000,
	   "names of jobs that are gone are forgotten: %u are left",
	   account->names.count);
	slot = egs_idmap_find(&account->jobs, 9000);
	is_str(egs_intern_get(&account->names,
			      account->job[slot].running->name),
	       "kept", "a running job keeps its name");
}

int main(void)
{
	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	conf = egs_policy_conf_new();
	store = egs_store_open(path, &hopeless, &err);
	account = egs_account_new(store, conf, 0, &err);
	if (!ok(account != NULL, "an account is made on a new store %s",
		err.msg))
		return done_testing();
	egs_account_end_poll(account, DAY);
	test_run();
	test_resized_and_ended();
	test_assigned_after_end();
	test_phases();
	test_crash();
	test_requeue();
	test_helper();
	test_midnight();
	test_classes();
	test_names();
	egs_account_free(account);
	egs_store_close(store);
	egs_policy_conf_free(conf);
	unlink(path);
	rmdir(dir);
	return done_testing();
}
