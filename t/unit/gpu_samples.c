/* gpu_samples.c - samples of nodes, and what users and operators see of them
 *
 * n1 has four GPUs; job 7 of alice (uid 2001) has GPUs 1 and 2.
 */
#include "t/lib/unit/samples_fixture.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, BOB = 2002 };

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

/* Job 7 restarts: what the GPUs did before is not its own. */
static void test_handover(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);

	send_samples(add_energy);
	f.restarts = 1;
	f.start = (uint64_t)egs_daemon_now() - 2460;
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

int main(void)
{
	plan_none();
	conf_enter();
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
	egs_msg_free(answer);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
