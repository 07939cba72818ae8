/* gpu_sums.c - sums and cells of samples, and GPUs that are held and not used
 *
 * n1 has four GPUs; job 7 of alice has GPUs 1 and 2, which use 10 and 20 %.
 */
#include "t/lib/unit/samples_fixture.h"
#include "t/lib/unit/tap.h"

static int64_t query(const char *what)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM gpu_use", what);
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
	is_int(query("sm_percent_s"), sm + 10 * 10 + 10 * 20,
	       "utilisation is added up");
	is_int(query("energy_j"), 2000, "energy is added up");
	is_int(query("iif(gpu=2, max_mem_mb, 0)"), 200,
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

static void restart_daemon(void)
{
	daemon_stop();
	daemon_start();
	d->started_at = egs_daemon_now();
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
}

static void test_sums_survive(void)
{
	int64_t sampled = query("sampled_s"), idle = query("idle_s");

	restart_daemon();
	send_samples(add_counter);
	sample_later(500);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled + 20,
	       "sums of a killed daemon are continued");
	is_int(query("idle_s"), idle, "a busy GPU adds no idle time");
}

static int sm_source;

static void add_hollow(struct egs_gpu_sample *sample)
{
	egs_gpu_sample_set(sample, EGS_GPU_UTIL, 100, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_SM, sample->gpu == 1 ? 3 : 60,
			   (enum egs_gpu_source)sm_source);
	egs_gpu_sample_set(sample, EGS_GPU_POWER_MW, 62000,
			   EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_POWER_LIMIT_MW, 700000,
			   EGS_GPU_SOURCE_NVML);
}

/* A kernel that does nothing is on GPUs 1 and 2. */
static void test_low_power(void)
{
	int64_t before;

	sample_later(600);
	egs_gpu_sums_write(d);
	is_int(query("low_power_s"), 0,
	       "a GPU whose power is unknown is not called hollow");
	before = query("sampled_s");
	sm_source = EGS_GPU_SOURCE_NVML;
	samples_of_n1()->sampled_at -= 10;
	hold_longer(10);
	send_samples(add_hollow);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), before + 20, "the samples stand for 20 s");
	is_int(query("low_power_s"), 20,
	       "busy by utilisation with the power of an idle GPU is counted");
	is_int(query("low_power_ws"), 20 * 62,
	       "the power of such a GPU is counted");
	sm_source = EGS_GPU_SOURCE_GPM;
	samples_of_n1()->sampled_at -= 10;
	hold_longer(10);
	send_samples(add_hollow);
	egs_gpu_sums_write(d);
	is_int(query("low_power_s"), 30,
	       "a GPU whose counters tell of active SMs is not called hollow");
}

/* GPU 1 does nothing, GPU 2 renders: the driver lists no process of it. */
static void add_no_process(struct egs_gpu_sample *sample)
{
	egs_gpu_sample_set(sample, EGS_GPU_PROCESSES, 0, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_set(sample, EGS_GPU_SM, sample->gpu == 2 ? 60 : 0,
			   EGS_GPU_SOURCE_NVML);
}

static void test_empty(void)
{
	int64_t before;

	samples_of_n1()->sampled_at -= 10;
	hold_longer(10);
	egs_gpu_sums_write(d);
	before = query("empty_s");
	send_samples(add_no_process);
	egs_gpu_sums_write(d);
	is_int(query("empty_s"), before + 10,
	       "a GPU without a process is empty only if its SMs do nothing");
}

/* The clock of the daemon's host is set back by an hour. */
static void test_clock_set_back(void)
{
	int64_t sampled = query("sampled_s");

	clock_s -= 3600;
	send_samples(add_counter);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled,
	       "a clock that is set back adds no second");
	sample_later(700);
	egs_gpu_sums_write(d);
	is_int(query("sampled_s"), sampled + 20,
	       "samples count again after a clock was set back");
	clock_s += 3600;
	send_samples(add_counter);
}

/* ---- cells ---- */

static int64_t query_cells(const char *what)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM gpu_cell c JOIN run r ON r.id=c.run WHERE"
		 " r.job_id=7",
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
	is_int(query_cells("min(c.power_w)"), -1,
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
	int64_t sampled = query("sampled_s");

	restart_daemon();
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

/* ---- GPUs that are held ---- */

/* GPU-seconds of a metric of egs-report wastage. */
static int64_t query_tally(const char *metric)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(amount) FROM tally WHERE bucket_s=3600 AND"
		 " scope='gpu' AND metric='%s'",
		 metric);
	return query_sql(sql);
}

static void add_one_empty(struct egs_gpu_sample *sample)
{
	egs_gpu_sample_set(sample, EGS_GPU_EMPTY_S, sample->gpu == 1 ? 500 : 0,
			   EGS_GPU_SOURCE_NODED);
}

/* Job 8 waits for two GPUs: two of n1 are free, and job 7 does not use one. */
static void test_held(void)
{
	struct egs_job_fact f = daemon_job(8, EGS_JOB_PENDING);
	int64_t measured, latency;

	send_samples(add_one_empty);
	hold_longer(100);
	egs_daemon_recompute(d);
	clock_s += 10;
	egs_daemon_recompute(d);
	is_int(query_tally("held"), 0,
	       "a GPU that nobody waits for is not counted as held");
	f.flags |= EGS_FACT_BLOCKED;
	f.reason = "Resources";
	f.start = 0;
	daemon_show(f);
	egs_daemon_recompute(d);
	measured = query_tally("measured");
	latency = query_tally("latency");
	clock_s += 20;
	egs_daemon_recompute(d);
	is_int(query_tally("held"), 20,
	       "a GPU that is held and not used while a job waits is counted");
	is_int(query_tally("wrheld"), 20,
	       "the time with GPUs that are held and not used is counted");
	is_int(query_tally("measured"), measured + 4 * 20,
	       "GPUs that are measured are counted");
	is_int(query_tally("latency"), latency + 2 * 20,
	       "GPUs that are held do not change what is wasted");
	clock_s += 60;
	egs_daemon_recompute(d);
	clock_s += 100;
	egs_daemon_recompute(d);
	is_int(query_tally("held"), 80,
	       "a GPU is not counted as held after its node is silent");
}

/* ---- processes that were too short to be sampled ---- */

/* A process of 20 s on GPU 3 of this attempt. */
static void send_process(uint32_t job, int64_t start, int64_t sm)
{
	const struct egs_peer peer = { .uid = 0, .local = true };
	const struct egs_gpu_process process = {
		.gpu = 3,
		.job_id = job,
		.start = start,
		.age_ms = 25000,
		.run_ms = 20000,
		.sm = sm,
		.max_mem_mb = 1000 + sm,
	};
	struct egs_msg *request = egs_msg_new();

	egs_msg_set_str(request, "node", "n1");
	egs_gpu_sample_begin(request);
	egs_gpu_process_set(request, &process, 1);
	if (egs_verb_node_gpus(d, &peer, request, answer, &why) < 0)
		errx(1, "%s", why.msg);
	egs_msg_free(request);
}

static int64_t query_short(const char *what)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM gpu_use WHERE gpu=3",
		 what);
	return query_sql(sql);
}

static void test_short(void)
{
	int64_t start =
		query_sql("SELECT start FROM run WHERE job_id=7 LIMIT 1");

	send_process(7, start, 80);
	send_process(7, start, 20);
	egs_gpu_sums_write(d);
	is_int(query_short("sampled_s"), 40,
	       "an attempt that was never sampled has the time of its "
	       "processes");
	is_int(query_short("sm_percent_s"), 20 * 80 + 20 * 20,
	       "processes that have ended count with their activity");
	is_int(query_short("max_mem_mb"), 1080,
	       "the most memory of processes that have ended is kept");
	send_process(7, start, 50);
	egs_gpu_sums_write(d);
	is_int(query_short("sampled_s"), 40,
	       "an attempt that has sums gets none of its processes");
	send_process(99, start, 50);
	send_process(0, start, 50);
	egs_gpu_sums_write(d);
	is_int(query_short("sampled_s"), 40,
	       "a node cannot invent an attempt by a process");
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
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	test_sums();
	test_sums_of_silence();
	test_low_power();
	test_sums_survive();
	test_cells();
	test_no_second_twice();
	test_empty();
	test_clock_set_back();
	test_held();
	test_short();
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
