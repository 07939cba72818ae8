/* gpu_samples.c - samples of nodes, and what users and operators see of them
 *
 * n1 has four GPUs; job 7 of alice (uid 2001) has GPUs 1 and 2.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <time.h>

#include "common/ipc/gpu_sample.h"
#include "policyd/requests/gpu_samples.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, BOB = 2002 };

/* 2026-11-16 10:01:40 UTC: no cell ends while this program runs. */
static egs_time_t clock_s = 1794823300;

/* The clock of this program. */
time_t time(time_t *timer)
{
	if (timer)
		*timer = clock_s;
	return clock_s;
}

static struct egs_msg *answer;
static struct egs_err why;

/* Send a batch of n1 as 'uid'. */
static int send_batch(uid_t uid, const struct egs_gpu_sample *samples, int n,
		      const char *error)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_new();
	int rc;

	egs_msg_set_str(request, "node", "n1");
	egs_msg_set_int(request, "interval", 10);
	egs_msg_set_str(request, "driver", error ? NULL : "555.42");
	egs_msg_set_str(request, "error", error);
	egs_gpu_sample_begin(request);
	for (int i = 0; i < n; i++)
		egs_gpu_sample_add(request, &samples[i]);
	rc = egs_verb_node_gpus(d, &peer, request, answer, &why);
	egs_msg_free(request);
	return rc;
}

/* A sample of each GPU: GPU i uses i * 10 %. */
static void send_samples(void (*change)(struct egs_gpu_sample *sample))
{
	struct egs_gpu_sample samples[4];

	for (uint32_t i = 0; i < 4; i++) {
		samples[i] = (struct egs_gpu_sample){ .gpu = i };
		egs_gpu_sample_set(&samples[i], EGS_GPU_SM, i * 10,
				   EGS_GPU_SOURCE_NVML);
		if (change)
			change(&samples[i]);
	}
	if (send_batch(0, samples, 4, NULL) < 0)
		errx(1, "%s", why.msg);
}

/* Ask as 'uid' for the GPUs of 'job', NULL: of all.  Returns the number of
 * rows, or -1.
 */
static int show(uid_t uid, const char *job)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_new();
	size_t columns, rows = 0;
	int rc;

	egs_msg_free(answer);
	answer = egs_msg_new();
	egs_msg_set_str(request, "what", "gpus");
	egs_msg_set_str(request, "job", job);
	rc = egs_verb_show(d, &peer, request, answer, &why);
	egs_msg_free(request);
	if (rc == 0)
		rc = egs_msg_check_table(answer, &columns, &rows, &why);
	return rc < 0 ? -1 : (int)rows;
}

static const char *show_cell(size_t row, const char *column)
{
	size_t columns = 0, rows;
	bool number;

	egs_msg_check_table(answer, &columns, &rows, NULL);
	for (size_t i = 0; i < columns; i++)
		if (strcmp(egs_msg_get_column(answer, i), column) == 0)
			return egs_msg_get_cell(answer, row, i, &number);
	return NULL;
}

static struct egs_node_samples *samples_of_n1(void)
{
	return (struct egs_node_samples *)egs_gpu_samples_of(
		d, (uint32_t)egs_cluster_find_node(d->cluster, "n1"));
}

static int64_t query_sql(const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	if (sqlite3_open("state", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void test_without_samples(void)
{
	is_int(show(0, NULL), 4, "an operator sees GPUs without samples");
	is_str(show_cell(0, "SM"), "-", "a GPU without a sample has no value");
	is_str(show_cell(0, "AGE"), "-", "a GPU without a sample has no age");
	is_str(show_cell(0, "NOTE"), "egs-noded has not reported this GPU",
	       "a GPU without a sample says so");
}

static void test_who_sees(void)
{
	send_samples(NULL);
	is_int(show(0, NULL), 4, "an operator sees all GPUs");
	is_str(show_cell(0, "JOBID"), "-", "a GPU that no job has is shown");
	is_str(show_cell(3, "SM"), "30", "a GPU that no job has is measured");
	is_str(show_cell(1, "JOBID"), "7",
	       "a GPU belongs to the job that has it allocated");
	is_str(show_cell(1, "USER"), "alice", "an operator sees users");
	is_int(show(ALICE, NULL), 2, "a user sees the GPUs of his jobs");
	is_str(show_cell(0, "GPU"), "1", "the first GPU of the job is shown");
	is_str(show_cell(1, "SM"), "20", "the sample is of that GPU");
	is_str(show_cell(0, "TEMP"), "-",
	       "a value that the driver does not provide is not 0");
	is_str(show_cell(0, "SOURCE"), "nvml", "the source of values is shown");
	is_str(show_cell(0, "DRIVER"), "555.42", "the driver is shown");
	is_int(show(ALICE, "7"), 2, "an owner sees the GPUs of a job");
	is_int(show(0, "7"), 2, "an operator sees the GPUs of a job");
	is_int(show(BOB, NULL), 0, "a user does not see GPUs of others");
	is_int(show(BOB, "7"), -1, "a user does not see a job of others");
	is_str(why.msg, "job 7 is not yours", "a refusal names the job");
	is_int(show(ALICE, "8"), -1, "a pending job has no GPUs");
	is_str(why.msg, "job 8 does not run", "a pending job does not run");
}

static void test_who_sends(void)
{
	const struct egs_gpu_sample absurd[] = { { .gpu = 63 }, { .gpu = 63 } };

	is_int(send_batch(ALICE, NULL, 0, NULL), -1,
	       "samples of a user are refused: %s", why.msg);
	is_int(send_batch(0, absurd, 2, NULL), -1, "a GPU twice is refused: %s",
	       why.msg);
	show(ALICE, "7");
	is_str(show_cell(1, "SM"), "20", "a refused batch changes nothing");
}

static void add_trouble(struct egs_gpu_sample *sample)
{
	if (sample->gpu == 1) {
		egs_gpu_sample_set(sample, EGS_GPU_XIDS, 3,
				   EGS_GPU_SOURCE_NVML);
		egs_gpu_sample_set(sample, EGS_GPU_XID, 31,
				   EGS_GPU_SOURCE_NVML);
		egs_gpu_sample_set(sample, EGS_GPU_CLOCK_REASONS,
				   EGS_GPU_CLOCK_HW_THERMAL,
				   EGS_GPU_SOURCE_NVML);
		egs_gpu_sample_set(sample, EGS_GPU_RECOVERY,
				   EGS_GPU_RECOVERY_RESET, EGS_GPU_SOURCE_NVML);
		egs_gpu_sample_set(sample, EGS_GPU_SM, 77, EGS_GPU_SOURCE_GPM);
	} else {
		sample->state = EGS_GPU_LOST;
	}
}

static void test_notes(void)
{
	send_samples(add_trouble);
	show(ALICE, "7");
	is_str(show_cell(0, "NOTE"),
	       "the driver asks for a reset of the GPU; slowed down by heat; "
	       "XID 31, 3 in all",
	       "troubles of a GPU are told in words");
	is_str(show_cell(0, "SOURCE"), "nvml,SM=gpm",
	       "values of another source are named");
	is_str(show_cell(1, "NOTE"), "the driver has lost this GPU",
	       "a lost GPU is told in words");
}

static void add_energy(struct egs_gpu_sample *sample)
{
	egs_gpu_sample_set(sample, EGS_GPU_PROCESSES, 0, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_EMPTY_S, 5000, EGS_GPU_SOURCE_NODED);
	egs_gpu_sample_set(sample, EGS_GPU_ENERGY_J, 900, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_XIDS, 2, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_XID, 79, EGS_GPU_SOURCE_NVML);
}

static void add_more_energy(struct egs_gpu_sample *sample)
{
	add_energy(sample);
	egs_gpu_sample_set(sample, EGS_GPU_ENERGY_J, 1000, EGS_GPU_SOURCE_NVML);
}

/* Time passes for the holder of a GPU. */
static void hold_longer(int64_t seconds)
{
	struct egs_node_samples *node = samples_of_n1();

	for (uint32_t i = 0; i < node->n; i++)
		node->gpu[i].held_since -= seconds;
}

/* Job 7 restarts: what the GPUs did before is not its own. */
static void test_handover(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);

	send_samples(add_energy);
	f.restarts = 1;
	f.start = (uint64_t)egs_daemon_now();
	daemon_show(f);
	show(ALICE, "7");
	is_str(show_cell(0, "SM"), "-",
	       "a sample of an earlier run is not shown for the next");
	is_str(show_cell(0, "NOTE"), "no sample yet of this job",
	       "a run without a sample says so");
	send_samples(add_more_energy);
	show(ALICE, "7");
	is_str(show_cell(0, "SM"), "10", "the next sample is of the new run");
	is_str(show_cell(0, "ENERGY"), "100",
	       "energy counts from when the job has the GPU");
	is_str(show_cell(0, "XIDS"), "0", "an earlier XID is not of this job");
	is_str(show_cell(0, "XID"), "-", "an earlier XID is not named");
	ok(atoi(show_cell(0, "EMPTY")) < 60,
	   "a GPU is empty at most for as long as the job has it");
	hold_longer(2460);
	show(ALICE, "7");
	is_str(show_cell(0, "NOTE"),
	       "no process for 41 min; the job has not used a GPU",
	       "a GPU that is held and empty is told in words");
	is_str(egs_msg_get_str(answer, "advice"),
	       "2 of 2 GPUs have been idle for 41 min; the job has not used a "
	       "GPU; cancel the job if it is done",
	       "a job that uses no GPU is advised to end");
	show(0, NULL);
	ok(!strstr(show_cell(0, "NOTE"), "no process"),
	   "an empty GPU that no job has needs no words");
}

static void add_one_empty(struct egs_gpu_sample *sample)
{
	add_more_energy(sample);
	if (sample->gpu == 1)
		return;
	egs_gpu_sample_set(sample, EGS_GPU_PROCESSES, 1, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_EMPTY_S, 0, EGS_GPU_SOURCE_NODED);
}

static void add_once_used(struct egs_gpu_sample *sample)
{
	add_one_empty(sample);
	if (sample->gpu == 1)
		egs_gpu_sample_set(sample, EGS_GPU_EMPTY_S, 1860,
				   EGS_GPU_SOURCE_NODED);
}

/* The sentence of egs why about idle GPUs; NULL: none. */
static const char *explain_idle(void)
{
	const struct egs_peer peer = { .uid = ALICE, .local = true };
	struct egs_msg *request = egs_msg_new();

	egs_msg_free(answer);
	answer = egs_msg_new();
	egs_msg_set_str(request, "job", "7");
	if (egs_verb_why(d, &peer, request, answer, &why) < 0)
		errx(1, "%s", why.msg);
	egs_msg_free(request);
	return egs_msg_get_str(answer, "idle_gpus");
}

static void test_advice(void)
{
	static const char words[] =
		"1 of 2 GPUs has been idle for 41 min; --gres=gpu:1 would have "
		"done";

	send_samples(add_one_empty);
	show(ALICE, "7");
	is_str(show_cell(0, "NOTE"),
	       "no process for 41 min; --gres=gpu:1 would have done",
	       "a GPU that the job never used is told with a better request");
	is_str(show_cell(1, "NOTE"), "", "a GPU in use has no note");
	is_str(egs_msg_get_str(answer, "advice"), words,
	       "a last line tells how many GPUs are idle");
	is_str(explain_idle(), words, "egs why tells of idle GPUs");
	send_samples(add_once_used);
	is_str(explain_idle(), "1 of 2 GPUs has been idle for 31 min",
	       "a GPU that was in use before is not called needless");
}

/* The job gets GPU 3 for GPU 1, without a restart. */
static void test_resize(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);
	struct egs_fact_alloc part = { "n1", 2, 4, 12 };
	struct egs_buf parts = { .used = 0 };

	f.restarts = 1;
	f.start = (uint64_t)egs_daemon_now() - 50;
	egs_fact_put_alloc(&parts, &part);
	f.allocs = (struct egs_buf_reader){ .at = parts.bytes,
					    .left = parts.used };
	egs_cluster_update_job(d->cluster, &f, egs_daemon_now());
	egs_daemon_update(d);
	egs_buf_clear(&parts);
	is_int(show(ALICE, "7"), 2, "a resized job has its new GPUs");
	is_str(show_cell(0, "GPU"), "2", "a GPU that a job keeps is shown");
	is_str(show_cell(0, "SM"), "20", "its sample is still of the job");
	is_str(show_cell(1, "SM"), "-", "a GPU that a job gets has no sample");
	send_samples(add_more_energy);
	show(ALICE, "7");
	is_str(show_cell(1, "SM"), "30", "a GPU that a job got is its own");
	is_str(show_cell(1, "ENERGY"), "0",
	       "a GPU that a job got begins without energy");
	show(0, NULL);
	is_str(show_cell(1, "JOBID"), "-", "a GPU given back has no job");
}

static void test_failures(void)
{
	struct egs_node_samples *node;

	send_batch(0, NULL, 0, "NVIDIA's driver has not answered for 20 s");
	show(ALICE, "7");
	is_str(show_cell(0, "SM"), "-", "a driver that hangs has no values");
	is_str(show_cell(0, "DRIVER"), "-", "a driver that hangs is not named");
	is_str(show_cell(0, "NOTE"),
	       "not sampled: NVIDIA's driver has not answered for 20 s",
	       "the reason of a failure is shown");
	ok(atoi(show_cell(0, "AGE")) >= 0 &&
		   strcmp(show_cell(0, "AGE"), "-") != 0,
	   "the age of the last sample is shown after a failure");
	send_samples(NULL);
	show(ALICE, "7");
	is_str(show_cell(0, "SM"), "20", "samples after a failure are shown");
	node = samples_of_n1();
	node->sampled_at -= 300;
	node->reported_at -= 300;
	show(ALICE, "7");
	is_str(show_cell(0, "SM"), "-", "old values are not shown");
	ok(atoi(show_cell(0, "AGE")) >= 300, "the age of old values is shown");
	is_str(show_cell(0, "NOTE"), "egs-noded has not reported for 5 min",
	       "a silent node is told in words");
}

/* ---- sums ---- */

static int64_t query(const char *what)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(%s) FROM gpu_use WHERE job_id=7 AND restarts=1",
		 what);
	return query_sql(sql);
}

static int energy_j;

static void add_counter(struct egs_gpu_sample *sample)
{
	egs_gpu_sample_set(sample, EGS_GPU_MEM_MB, sample->gpu * 100,
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_PROCESSES, sample->gpu == 2,
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_ENERGY_J, energy_j,
			   EGS_GPU_SOURCE_NVML);
}

/* Ten seconds pass until the next sample, which has this counter. */
static void sample_later(int counter_j)
{
	struct egs_node_samples *node = samples_of_n1();

	node->sampled_at -= 10;
	hold_longer(10);
	energy_j = counter_j;
	send_samples(add_counter);
}

/* Job 7 has GPUs 2 and 3, which use 20 and 30 %. */
static void test_sums(void)
{
	int64_t sampled, sm;

	send_samples(add_counter);
	egs_gpu_sums_write(d);
	sampled = query("sampled_s");
	sm = query("sm_percent_s");
	sample_later(1000);
	is_int(query("sampled_s"), sampled, "sums are not written at once");
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled + 20,
	       "a sample stands for the time since the last one");
	is_int(query("sm_percent_s"), sm + 10 * 20 + 10 * 30,
	       "utilisation is added up");
	is_int(query("energy_j"), 2000, "energy is added up");
	is_int(query("iif(gpu=3, max_mem_mb, 0)"), 300,
	       "the most memory of a GPU is kept");
	sample_later(400);
	egs_gpu_sums_write(d);
	egs_gpu_sums_write(d);
	is_int(query("energy_j"), 2800,
	       "a counter that began again adds what it shows");
	is_int(query("sampled_s"), sampled + 40, "sums are written once");
}

static void test_sums_of_silence(void)
{
	int64_t sampled = query("sampled_s");
	struct egs_node_samples *node = samples_of_n1();

	node->sampled_at -= 5000;
	hold_longer(5000);
	send_samples(add_counter);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled + 40,
	       "a time in which the node was silent is not counted");
}

static void test_sums_survive(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);
	int64_t sampled = query("sampled_s"), idle = query("idle_s");

	f.restarts = 1;
	f.start = (uint64_t)samples_of_n1()->gpu[2].use.start;
	daemon_stop();
	daemon_start();
	daemon_show(f);
	send_samples(add_counter);
	sample_later(500);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled + 20,
	       "sums of a killed daemon are continued");
	is_int(query("idle_s"), idle, "a busy GPU adds no idle time");
}

/* ---- cells ---- */

static int64_t query_cells(const char *what)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM gpu_cell c JOIN run r ON r.id=c.run WHERE"
		 " r.job_id=7 AND r.restarts=1",
		 what);
	return query_sql(sql);
}

/* Five minutes ago the cells of n1 had begun. */
static void age_cells(void)
{
	struct egs_node_samples *node = samples_of_n1();

	for (uint32_t i = 0; i < node->n; i++)
		node->gpu[i].cell_at -= EGS_GPU_CELL_S;
}

static void test_cells(void)
{
	int64_t cells = query_cells("count(*)"), sampled = query("sampled_s");

	sample_later(600);
	egs_gpu_sums_write(d);
	is_int(query_cells("count(*)"), cells,
	       "a cell is not written before it is over");
	age_cells();
	sample_later(700);
	egs_gpu_sums_write(d);
	is_int(query_cells("count(*)"), cells + 2,
	       "each GPU of the job has a row of a cell that is over");
	is_int(query_cells("max(iif(c.gpu=2, c.sm, 0))"), 20,
	       "a cell has the mean utilisation");
	is_int(query_cells("max(iif(c.gpu=2, c.max_mem_mb, 0))"), 200,
	       "a cell has the most memory");
	is_int(query_cells("max(c.power_w)"), -1,
	       "a value that the driver does not provide is unknown in a cell");
	egs_gpu_sums_part.ending(d);
	is_int(query_cells("count(*)"), cells + 4,
	       "a daemon that stops in order writes the current cell");
	is_int(query("sampled_s"), sampled + 40,
	       "the end of a cell adds no second to the sums");
	is_int(query_cells("sum(c.sampled_s)") % 10, 0,
	       "cells have the time of their samples");
}

/* A restarted daemon cannot know what it has missed. */
static void test_no_second_twice(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);
	int64_t sampled = query("sampled_s");

	f.restarts = 1;
	f.start = (uint64_t)samples_of_n1()->gpu[2].use.start;
	daemon_stop();
	daemon_start();
	daemon_show(f);
	send_samples(add_counter);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled,
	       "the first sample after a restart adds no second");
	is_int(query_sql("SELECT sum(sampled_s) FROM gpu_rollup r JOIN kind k"
			 " ON k.id=r.kind WHERE bucket_s=86400 AND"
			 " user='alice'"),
	       query_sql("SELECT sum(sampled_s) FROM gpu_use"),
	       "the sums of days are those of all attempts");
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_conf = "Mode=enforce\n"
		      "TierOrder=prod,scavenge\n"
		      "GpuType=a100\n"
		      "Team=red Users=alice Quota=a100:4 DefaultTier=prod\n";
	daemon_start();
	answer = egs_msg_new();
	daemon_show(daemon_job(8, EGS_JOB_PENDING));
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	test_without_samples();
	test_who_sees();
	test_who_sends();
	test_notes();
	test_handover();
	test_advice();
	test_resize();
	test_failures();
	test_sums();
	test_sums_of_silence();
	test_sums_survive();
	test_cells();
	test_no_second_twice();
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
