/* reclaim.c - what egs-policyd tells the policy about idle GPUs
 *
 * n1 has four GPUs; job 7 of alice in phase train has GPUs 1 and 2.  Job 8
 * waits for all four.  Time passes by changing the record of each GPU.
 */
#include "common/base/clock.h"
#include "policyd/requests/gpu_samples.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { HOUR = 3600 };

static struct egs_node_samples *samples_of_n1(void)
{
	return (struct egs_node_samples *)egs_gpu_samples_of(
		d, (uint32_t)egs_cluster_find_node(d->cluster, "n1"));
}

/* All SMs are at 'sm' %, the node has seen none busy for 'idle_s'. */
static void send_samples(int64_t sm, int64_t idle_s, const char *error)
{
	const struct egs_peer peer = { .uid = 0, .local = true };
	struct egs_msg *request = egs_msg_new(), *answer = egs_msg_new();
	struct egs_err why;

	egs_msg_set_str(request, "node", "n1");
	egs_msg_set_int(request, "interval", 10);
	egs_msg_set_str(request, "error", error);
	egs_gpu_sample_begin(request);
	for (uint32_t i = 0; !error && i < 4; i++) {
		struct egs_gpu_sample sample = { .gpu = i };

		egs_gpu_sample_set(&sample, EGS_GPU_SM, sm,
				   EGS_GPU_SOURCE_NVML);
		egs_gpu_sample_set(&sample, EGS_GPU_IDLE_S, idle_s,
				   EGS_GPU_SOURCE_NODED);
		egs_gpu_sample_add(request, &sample);
	}
	if (egs_verb_node_gpus(d, &peer, request, answer, &why) < 0)
		errx(1, "%s", why.msg);
	egs_msg_free(request);
	egs_msg_free(answer);
}

/* Job 7 has its GPUs for an hour, by both clocks. */
static void age_holding(int64_t wall_s, uint64_t steady_s)
{
	struct egs_node_samples *n1 = samples_of_n1();

	for (uint32_t i = 0; i < n1->n; i++) {
		n1->gpu[i].held_since -= wall_s;
		n1->gpu[i].held_since_ms -= steady_s * 1000;
	}
}

static void show_node_of(const char *name, const char *partitions)
{
	struct egs_node_fact node = { .name = name,
				      .cpus = 8,
				      .partitions = partitions };

	egs_gpu_count_add(&node.gpus, "gpu:a100:4", 1);
	egs_cluster_update_node(d->cluster, &node, egs_daemon_now());
}

static void show_node(const char *partitions)
{
	show_node_of("n1", partitions);
}

static void show_jobs(void)
{
	struct egs_job_fact running = daemon_job(7, EGS_JOB_RUNNING);
	struct egs_job_fact waiting = daemon_job(8, EGS_JOB_PENDING);

	running.admin_comment = "egs:1;phase=train,ckpt=file;"
				"id=0123456789abcdef";
	running.partition = waiting.partition = "gpu";
	waiting.flags |= EGS_FACT_BLOCKED;
	waiting.gpus = (struct egs_gpu_count){ .ntypes = 0 };
	egs_gpu_count_add(&waiting.gpus, "gpu:a100:4", 1);
	daemon_show(running);
	daemon_show(waiting);
	show_node("cpu,gpu");
}

static void tick(void)
{
	egs_reclaim_part.tick(d);
}

static const struct egs_job *job(void)
{
	return egs_policy_job(d->policy, 7);
}

/* A new daemon and new samples of a GPU that is idle for long. */
static void start(void)
{
	if (d)
		daemon_stop();
	daemon_start();
	show_jobs();
	send_samples(0, HOUR, NULL);
}

static void old_measurements_decide_nothing(void)
{
	start();
	tick();
	is_int(job()->idle_gpus, 0,
	       "a GPU that was idle before the job had it is not idle");
	age_holding(HOUR, HOUR);
	samples_of_n1()->reported_at -= HOUR;
	samples_of_n1()->sampled_at -= HOUR;
	tick();
	is_int(job()->idle_gpus, 0, "a GPU of a silent node is not idle");
	send_samples(0, 0, "the driver hangs");
	tick();
	is_int(job()->idle_gpus, 0,
	       "a GPU whose driver does not answer is not idle");
	send_samples(0, HOUR, NULL);
	tick();
	is_int(job()->idle_gpus, 2, "a GPU with a new sample is idle");
	send_samples(1, 0, NULL);
	tick();
	is_int(job()->idle_gpus, 0,
	       "a GPU that an empty kernel keeps busy is not idle");
}

static void a_clock_is_set(void)
{
	start();
	age_holding(HOUR, 0);
	tick();
	is_int(job()->idle_gpus, 0,
	       "a clock that is set forward makes no GPU idle");
	start();
	age_holding(-HOUR, HOUR);
	tick();
	is_int(job()->idle_gpus, 0,
	       "a clock that is set back makes no GPU idle");
}

static void avoid_n1(bool avoided)
{
	struct egs_err why;

	if (egs_daemon_avoid_node(d, "n1", avoided, &why) < 0)
		errx(1, "%s", why.msg);
}

static void only_a_job_of_its_node_gains(void)
{
	start();
	age_holding(HOUR, HOUR);
	show_node("cpu");
	tick();
	ok(job()->idle_gpus == 2 && !job()->idle_warned_at,
	   "a job is not warned for one of another partition");
	show_node("cpu,gpu");
	avoid_n1(true);
	tick();
	ok(job()->idle_gpus == 2 && !job()->idle_warned_at,
	   "a job is not warned while rules avoid its node");
	avoid_n1(false);
	tick();
	ok(job()->idle_warned_at != 0,
	   "a job is warned for one that may use its node");
}

/* n2 has four free GPUs, which would be enough for job 8. */
static void free_gpus_of_other_partitions_do_not_help(void)
{
	start();
	show_node_of("n2", "cpu,gpu");
	age_holding(HOUR, HOUR);
	tick();
	ok(job()->idle_gpus == 2 && !job()->idle_warned_at,
	   "a job is not warned for one that fits on another node");
	show_node_of("n2", "cpu");
	tick();
	ok(job()->idle_warned_at != 0,
	   "a job is warned for one that may not use the free node");
}

/* One second passes. */
static void pass_second(void)
{
	poll(NULL, 0, 1000);
	tick();
}

static void it_is_preempted(void)
{
	start();
	age_holding(HOUR, HOUR);
	tick();
	ok(job()->idle_warned_at && !job()->preempting,
	   "a job is warned before it is preempted");
	for (int i = 0; i < 60 && !job()->preempting; i++)
		pass_second();
	ok(job()->preempting && job()->requester == 8,
	   "a job that stays idle is preempted for the job that waits");
	is_str(egs_daemon_notice_reason(d, job()).msg,
	       "2 of your 2 GPUs were idle for 60 min and job 8 waits for 4",
	       "the notice has the numbers");
	start();
	ok(job()->preempting && job()->requester == 8,
	   "a restarted daemon continues the preemption");
	is_str(egs_daemon_notice_reason(d, job()).msg,
	       "2 of your 2 GPUs were idle for 60 min and job 8 waits for 4",
	       "a restarted daemon has the same reason");
}

static void slurmctld_was_down(void)
{
	start();
	age_holding(HOUR, HOUR);
	for (int i = 0; i < 60 && !job()->reclaimed_at; i++)
		pass_second();
	d->slurmctld_down = true;
	tick();
	d->slurmctld_down = false;
	send_samples(1, 0, NULL);
	tick();
	ok(job()->reclaimed_at && !job()->preempting,
	   "no job is preempted for what was true before slurmctld was down");
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_conf = "Mode=enforce\n"
		      "TierOrder=prod,scavenge\n"
		      "GpuType=a100\n"
		      "Tier=scavenge MinRuntime=0s\n"
		      "Phase=train IdleWarn=2s IdleYield=3s\n"
		      "Team=red Users=alice DefaultTier=scavenge\n";
	old_measurements_decide_nothing();
	a_clock_is_set();
	only_a_job_of_its_node_gains();
	slurmctld_was_down();
	free_gpus_of_other_partitions_do_not_help();
	it_is_preempted();
	daemon_stop();
	daemon_leave();
	return done_testing();
}
