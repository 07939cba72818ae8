/* remediate.c - what rules do about GPUs: jobs, rows, and a new daemon
 *
 * n1 has four GPUs; job 7 of alice has GPUs 1 and 2.
 */
#include <sys/stat.h>

#include "common/base/clock.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"
#include "t/lib/unit/samples_fixture.h"
#include "t/lib/unit/tap.h"

/* What GPU 1 shows: an XID of a run of job 7, temperature and power. */
static struct egs_gpu_xid shown;
static int64_t shown_c, shown_w, shown_clocks;
static const char *mode = "enforce";

static void write_conf(void)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "Mode=%s\nTierOrder=prod,scavenge\n"
		 "GpuType=a100\nPhase=label Gpus=any\n"
		 "Tier=scavenge MinRuntime=0s\n"
		 "Team=red Users=alice Quota=a100:4 MaxGpus=a100:8 "
		 "DefaultTier=scavenge\n"
		 "Rule=hot On=temperature Above=85 Do=move Limit=9/hour\n"
		 "Rule=watts On=power Above=700 Do=run=%s/program "
		 "Limit=2/hour\n"
		 "Rule=slow On=slowdown Do=cap=80%% Limit=9/hour\n",
		 mode, conf_dir);
	daemon_conf = text;
}

static void show_gpu(struct egs_gpu_sample *sample)
{
	if (sample->gpu != 1)
		return;
	egs_gpu_sample_set(sample, EGS_GPU_TEMP_C, shown_c,
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_POWER_MW, shown_w * 1000,
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_CLOCK_REASONS, shown_clocks,
			   EGS_GPU_SOURCE_NVML);
	sample->xid[0] = shown;
	sample->nxids = shown.count ? 1 : 0;
}

/* Rows of the report with these words. */
static int64_t count_rows(const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM remediation WHERE %s",
		 where);
	return query_sql(sql);
}

static void show_job(uint32_t flags, uint32_t restarts)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);

	f.admin_comment = "egs:1;phase=label,ckpt=file;id=0123456789abcdef";
	f.flags |= flags;
	f.restarts = restarts;
	f.start += restarts;
	daemon_show(f);
}

static void end_job(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_ENDED);

	f.admin_comment = "egs:1;phase=label,ckpt=file;id=0123456789abcdef";
	daemon_show(f);
}

static void protected_jobs_stay(void)
{
	show_job(EGS_FACT_NO_PREEMPT, 0);
	shown_c = 91;
	send_samples(show_gpu);
	is_int(count_rows("remedy='move' AND outcome='refused' AND job_id=7"),
	       1, "a job that PreemptMode=OFF protects is not moved");
	ok(!egs_policy_job(d->policy, 7)->preempting,
	   "a job that PreemptMode=OFF protects is not asked");
	shown_c = 40;
	send_samples(show_gpu);
	show_job(0, 0);
	shown_c = 91;
	send_samples(show_gpu);
	is_int(count_rows("remedy='move' AND outcome='done' AND job_id=7"), 1,
	       "a job that may be preempted is moved");
	shown_c = 40;
	send_samples(show_gpu);
}

static void an_xid_finds_its_job(void)
{
	show_job(0, 1);
	shown = (struct egs_gpu_xid){ .number = 31, .count = 1 };
	send_samples(show_gpu);
	is_int(count_rows("xid=31 AND job_id=0"), 1,
	       "an XID of no job is noted on none, whoever has the GPU");
	shown = (struct egs_gpu_xid){
		.number = 43, .count = 1, .job_id = 7, .restarts = 1
	};
	send_samples(show_gpu);
	is_int(count_rows("xid=43 AND job_id=7 AND user='alice'"), 1,
	       "an XID is noted on its job");
	end_job();
	shown.number = 45;
	send_samples(show_gpu);
	is_int(count_rows("xid=45 AND job_id=7 AND user='alice'"), 1,
	       "an XID is noted on a job that has ended meanwhile");
	is_int(query_sql(
		       "SELECT count(*) FROM log WHERE job_id=7 AND"
		       " event='gpu' AND nonce<>0 AND reason LIKE '%XID 45%'"),
	       1, "the log of an ended job has its XID");
}

static void a_new_daemon_counts_nothing_twice(void)
{
	struct egs_job_fact next = daemon_job(8, EGS_JOB_RUNNING);

	daemon_stop();
	daemon_start();
	daemon_show(next);
	shown.count = 3;
	send_samples(show_gpu);
	is_int(count_rows("xid=45"), 1,
	       "a new daemon does not note old XIDs of an ended job again");
	shown = (struct egs_gpu_xid){ .number = 45, .count = 4, .job_id = 8 };
	send_samples(show_gpu);
	is_int(count_rows("xid=45 AND job_id=8"), 1,
	       "an XID of the next job is noted on that job");
}

/* ---- programs ---- */

static void make_program(const char *script)
{
	char text[512];

	snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\n%s\n", conf_dir,
		 script);
	conf_write("program", text);
	if (chmod("program", 0755) < 0)
		err(1, "program");
}

/* GPU 1 draws power, so that the program is run; wait until it has ended. */
static void run_program(void)
{
	uint64_t begin = egs_now_ms();

	shown_w = 800;
	send_samples(show_gpu);
	do {
		egs_remediate_part.tick(d);
		poll(NULL, 0, 5);
	} while (d->requests->remediate->nruns && egs_now_ms() - begin < 60000);
	shown_w = 70;
	send_samples(show_gpu);
}

static bool file_has(const char *name, const char *words)
{
	char text[2048] = "";
	FILE *f = fopen(name, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return strstr(text, words) != NULL;
}

static void programs_of_rules(void)
{
	make_program("cat >got; env >env; echo noise; echo noise >&2");
	run_program();
	ok(file_has("got", "\"rule\":\"watts\"") &&
		   file_has("got", "\"gpu\":1") &&
		   file_has("got", "power 800 W, more than 700"),
	   "a program of a rule gets the rule, the GPU and the reason as JSON");
	ok(!file_has("env", "EGS_SECRET"),
	   "a program of a rule does not see the daemon's environment");
	is_int(count_rows("remedy='run' AND outcome='done' AND undone_at>0"), 1,
	       "a program that has ended well is done");
	make_program("exit 3");
	run_program();
	is_int(count_rows("remedy='run' AND outcome='failed'"), 1,
	       "a program that ends with an exit code has failed");
	remove("got");
	make_program("cat >got");
	run_program();
	is_int(count_rows("remedy='run' AND outcome='held'"), 1,
	       "a program is not run more often than Limit= allows");
	ok(access("got", F_OK) < 0, "a program beyond Limit= is not started");
}

static void a_bad_program_is_refused(void)
{
	char want[600];
	struct egs_err why_not;

	if (chmod("program", 0777) < 0)
		err(1, "program");
	is_int(egs_daemon_begin_reload(d, &why_not), -1,
	       "a rule's program that all users can write is refused");
	snprintf(want, sizeof(want),
		 "Rule=watts: Do=run=%s/program has a program that can be "
		 "written by others than its owner",
		 conf_dir);
	ok(strstr(why_not.msg, want) != NULL, "the refusal names the line: %s",
	   why_not.msg);
	chmod("program", 0755);
}

/* ---- power limits ---- */

static void power_limits(void)
{
	shown_clocks = EGS_GPU_CLOCK_HW_THERMAL;
	batch_caps = "";
	send_samples(show_gpu);
	is_str(egs_msg_get_str(answer, "caps"), "1:80:0",
	       "a node is told the GPU and its limit");
	is_int(count_rows("remedy='cap' AND outcome=''"), 1,
	       "a limit is sent until the node has told of it");
	batch_caps = "1:80:560000";
	send_samples(show_gpu);
	is_int(count_rows("remedy='cap' AND outcome='done'"), 1,
	       "a limit that is in force is done");
	daemon_stop();
	daemon_start();
	show_job(0, 1);
	send_samples(show_gpu);
	is_str(egs_msg_get_str(answer, "caps"), "1:80:0",
	       "a new daemon keeps a limit in force");
	shown_clocks = 0;
	send_samples(show_gpu);
	is_str(egs_msg_get_str(answer, "caps"), "",
	       "a limit ends when its reason is gone");
	is_int(count_rows("remedy='cap' AND undone_at=0"), 0,
	       "a limit that has ended is undone in the report");
	batch_caps = "";
	send_samples(show_gpu);
	shown_clocks = EGS_GPU_CLOCK_HW_THERMAL;
	send_samples(show_gpu);
	batch_caps = "1:80:0";
	send_samples(show_gpu);
	is_int(count_rows("remedy='cap' AND outcome='failed'"), 1,
	       "a limit that the driver refuses has failed");
	batch_caps = NULL;
	shown_clocks = 0;
	send_samples(show_gpu);
}

static void limits_are_only_recorded(void)
{
	egs_msg_free(answer);
	answer = egs_msg_new();
	daemon_stop();
	mode = "observe";
	write_conf();
	daemon_start();
	show_job(0, 1);
	shown_clocks = EGS_GPU_CLOCK_HW_THERMAL;
	send_samples(show_gpu);
	is_str(egs_msg_get_str(answer, "caps"), "",
	       "in observe mode no limit is sent");
	is_int(count_rows("remedy='cap' AND outcome='would'"), 1,
	       "in observe mode a limit is recorded");
	shown_w = 800;
	send_samples(show_gpu);
	is_int(count_rows("remedy='run' AND outcome IN ('would', 'held')"), 2,
	       "in observe mode no program is run");
	is_int((int64_t)d->requests->remediate->nruns, 0,
	       "in observe mode no program waits");
}

static void old_rows_are_pruned(void)
{
	struct egs_remediation row = { .at = 10, .rule = "old", .remedy = "x" };
	struct egs_err err;

	egs_daemon_begin(d, &err);
	for (int i = 0; i < 6000; i++) {
		row.undone_at = i < 5990 ? 20 : 0;
		egs_remediation_add(d->store, &row, &err);
	}
	egs_store_prune(d->store, 1000, &err);
	egs_daemon_commit(d, &err);
	is_int(count_rows("rule='old'"), 1000,
	       "old rows are deleted in bounded steps");
	egs_daemon_begin(d, &err);
	egs_store_prune(d->store, 1000, &err);
	egs_daemon_commit(d, &err);
	is_int(count_rows("rule='old'"), 10, "rows that are open stay");
}

int main(void)
{
	plan_none();
	conf_enter();
	setenv("EGS_SECRET", "1", 1);
	make_program("exit 0");
	write_conf();
	daemon_start();
	answer = egs_msg_new();
	protected_jobs_stay();
	an_xid_finds_its_job();
	a_new_daemon_counts_nothing_twice();
	programs_of_rules();
	a_bad_program_is_refused();
	power_limits();
	limits_are_only_recorded();
	old_rows_are_pruned();
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
