/* cluster.c - polls of Slurm become events of the policy */
#include <stdlib.h>

#include "policyd/cluster/cluster_internal.h"
#include "t/lib/unit/tap.h"

static struct {
	struct egs_policy_conf *conf;
	struct egs_policy *policy;
	struct egs_cluster *cluster;
	struct egs_saved_job saved;
	int ended, changes;
	egs_time_t now;
} s;

static const struct egs_saved_job *find_saved(void *arg,
					      const struct egs_identity *job)
{
	(void)arg;
	return job->job_id == s.saved.job.job_id ? &s.saved : NULL;
}

static void on_changed(void *arg, const struct egs_identity *job, bool ended)
{
	(void)arg;
	(void)job;
	s.changes++;
	s.ended += ended;
}

static const struct egs_cluster_ops ops = { .saved_job = find_saved,
					    .job_changed = on_changed };

static void new_cluster(void)
{
	s.policy = egs_policy_new(s.conf);
	s.cluster = egs_cluster_new(s.policy, s.conf, &ops, NULL);
}

static void free_cluster(void)
{
	egs_cluster_free(s.cluster);
	egs_policy_free(s.policy);
}

static void set_up(void)
{
	struct egs_tier *tier;
	struct egs_team *team;

	s.conf = egs_policy_conf_new();
	egs_conf_add_type(s.conf, "a100");
	tier = egs_conf_add_tier(s.conf, "prod");
	tier->min_runtime_s = 0;
	tier = egs_conf_add_tier(s.conf, "research");
	tier->min_runtime_s = 0;
	team = egs_conf_add_team(s.conf, "fraud");
	team->users = strdup("alice");
	team->quota[0] = 4;
	team->default_tier = 1;
	new_cluster();
	s.now = 1000;
}

/* A job of alice: 2 GPUs on each of its nodes. */
static struct egs_job_fact job_fact(uint32_t id, uint32_t state)
{
	struct egs_job_fact f = {
		.job_id = id,
		.task = EGS_NO_TASK,
		.uid = 2001,
		.user = "alice",
		.state = state,
		.nnodes = 1,
		.cpus = 4,
		.mem_mb = 4000,
		.submit = 900,
		.flags = EGS_FACT_BATCH | EGS_FACT_REQUEUE,
	};

	if (state == EGS_JOB_PENDING)
		f.flags |= EGS_FACT_BLOCKED;
	else
		f.start = 950;
	egs_gpu_count_add(&f.gpus, "gpu:a100:2", 1);
	return f;
}

/* One poll that shows 'n' jobs and the node. */
static void poll_jobs(struct egs_job_fact *f, int n)
{
	struct egs_node_fact node = { .name = "n1",
				      .cpus = 8,
				      .mem_mb = 16000 };

	egs_gpu_count_add(&node.gpus, "gpu:a100:4(S:0-1)", 1);
	egs_cluster_begin_poll(s.cluster);
	egs_cluster_update_node(s.cluster, &node, s.now);
	for (int i = 0; i < n; i++) {
		struct egs_buf allocs = { .used = 0 };
		struct egs_fact_alloc alloc = { "n1", 2, 4, 3 };

		if (f[i].state == EGS_JOB_RUNNING)
			egs_fact_put_alloc(&allocs, &alloc);
		f[i].allocs = (struct egs_buf_reader){ .at = allocs.bytes,
						       .left = allocs.used };
		egs_cluster_update_job(s.cluster, &f[i], s.now);
		egs_buf_clear(&allocs);
	}
	egs_cluster_end_poll(s.cluster, s.now);
	egs_policy_update(s.policy, s.now);
}

static const struct egs_job *policy_job(uint32_t id)
{
	return egs_policy_job(s.policy, id);
}

/* Five GPUs on two nodes: three on one of them. */
static void test_uneven_gpus(void)
{
	struct egs_job_fact f = job_fact(6, EGS_JOB_PENDING);

	f.nnodes = 2;
	egs_gpu_count_add(&f.gpus, "gpu:a100:3", 1);
	poll_jobs(&f, 1);
	is_int(policy_job(6)->facts.need.gpus, 3,
	       "the need of a job on a node is rounded up");
	is_int(egs_job_gpus_wanted(policy_job(6)), 5,
	       "a job wants no more GPUs than it requests");
	poll_jobs(&f, 0);
}

static void test_life(void)
{
	struct egs_job_fact f = job_fact(7, EGS_JOB_PENDING);
	struct egs_job_info info;
	int changes;

	poll_jobs(&f, 1);
	ok(policy_job(7) && !policy_job(7)->running,
	   "a pending job is in the policy");
	is_int(policy_job(7)->facts.team, 0,
	       "a job belongs to the team of its user");
	is_int(policy_job(7)->facts.tier, 1,
	       "a job without a tier has the default tier of its team");
	is_int(policy_job(7)->facts.need.gpus, 2,
	       "a pending job needs the GPUs it requests");

	changes = s.changes;
	f.priority = 99;
	poll_jobs(&f, 1);
	is_int(s.changes, changes, "a higher priority is not a change");

	f = job_fact(7, EGS_JOB_RUNNING);
	poll_jobs(&f, 1);
	ok(policy_job(7)->running, "a job that runs has started");
	is_int(policy_job(7)->gpus, 2, "a running job has its GPUs");
	is_int(policy_job(7)->started, 950,
	       "a running job has the start time of Slurm");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 2,
	       "GPUs within quota count as owned");
	egs_cluster_lookup(s.cluster, 7, &info);
	is_str(info.user, "alice", "the user of a job is remembered");

	f = job_fact(7, EGS_JOB_PENDING);
	f.restarts = 1;
	f.submit = 1010;
	poll_jobs(&f, 1);
	ok(policy_job(7) && !policy_job(7)->running,
	   "a requeued job is pending under the same id");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 0,
	       "a requeued job has no GPUs");

	f = job_fact(7, EGS_JOB_RUNNING);
	f.restarts = 3;
	f.submit = 1010;
	poll_jobs(&f, 1);
	is_int(policy_job(7)->ident.restarts, 3,
	       "runs between two polls count as restarts");

	poll_jobs(NULL, 0);
	ok(!policy_job(7), "a job that Slurm does not show has ended");
	is_int(s.ended, 1, "a job that Slurm does not show is forgotten");
}

static void test_end(void)
{
	struct egs_job_fact f = job_fact(8, EGS_JOB_RUNNING);
	int ended = s.ended;

	poll_jobs(&f, 1);
	f.state = EGS_JOB_ENDED;
	poll_jobs(&f, 1);
	poll_jobs(&f, 1);
	ok(!policy_job(8),
	   "an ended job that Slurm still shows is not in the policy");
	is_int(s.ended, ended + 1, "a job that ended is reported once");
	poll_jobs(NULL, 0);
}

static void test_reuse(void)
{
	struct egs_job_fact f = job_fact(9, EGS_JOB_RUNNING);

	poll_jobs(&f, 1);
	egs_cluster_set_tier(s.cluster, 9, "prod", s.now);
	poll_jobs(&f, 1);
	is_int(policy_job(9)->facts.tier, 0,
	       "the tier of an operator stays in force at the next poll");
	f = job_fact(9, EGS_JOB_PENDING);
	f.uid = 2002;
	f.user = "bob";
	poll_jobs(&f, 1);
	ok(!policy_job(9)->running,
	   "a job of another user with the same id is another job");
	is_int(policy_job(9)->facts.tier, -1,
	       "a reused id does not inherit the tier of an operator");
	poll_jobs(NULL, 0);

	f = job_fact(9, EGS_JOB_RUNNING);
	poll_jobs(&f, 1);
	f = job_fact(9, EGS_JOB_ENDED);
	f.uid = 2002;
	poll_jobs(&f, 1);
	ok(!policy_job(9), "an ended job with a reused id ends the old job");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 0,
	       "a job with a reused id leaves no owned GPUs");
	poll_jobs(NULL, 0);
}

static void test_stamp(void)
{
	struct egs_job_fact f = job_fact(10, EGS_JOB_PENDING);

	f.admin_comment =
		"note egs:1;phase=infer,tier=prod;id=00000000000000ff";
	poll_jobs(&f, 1);
	is_int(policy_job(10)->facts.tier, 0,
	       "a job has the tier of its stamp");
	is_int((intmax_t)policy_job(10)->ident.nonce, 255,
	       "a job has the nonce of its stamp");
	is_int(policy_job(10)->facts.phase,
	       egs_conf_find_phase(s.conf, "infer"),
	       "a job has the phase of its stamp");
	egs_cluster_set_phase(s.cluster, 10, "train", s.now);
	poll_jobs(&f, 1);
	is_int(policy_job(10)->facts.phase,
	       egs_conf_find_phase(s.conf, "train"),
	       "a phase that was set stays in force at the next poll");
	is_int(egs_cluster_set_phase(s.cluster, 10, "nap", s.now), -1,
	       "an unknown phase is refused");
	poll_jobs(NULL, 0);
}

/* One model of the team: a floor while it serves, hours when it trains. */
static void test_workload(void)
{
	struct egs_job_fact f = job_fact(13, EGS_JOB_RUNNING);
	struct egs_workload *w = egs_conf_add_workload(s.conf, "cards");

	w->team = 0;
	w->phase = egs_conf_find_phase(s.conf, "infer");
	w->floor[0] = 2;
	w = egs_conf_add_workload(s.conf, "cards");
	w->team = 0;
	w->max_gpu_hours = (struct egs_rate){ 1, 86400 };
	f.admin_comment =
		"egs:1;phase=infer,workload=cards/eu;id=000000000000000d";
	poll_jobs(&f, 1);
	is_int(policy_job(13)->facts.workload, 0,
	       "a job belongs to the row of its workload and phase");
	ok(policy_job(13)->in_floor,
	   "a job is part of the floor of its workload");

	egs_cluster_set_phase(s.cluster, 13, "train", s.now);
	egs_policy_update(s.policy, s.now);
	is_int(policy_job(13)->facts.workload, 1,
	       "another phase selects another row of the workload");
	ok(!policy_job(13)->in_floor,
	   "a row without a floor has no jobs in it");
	s.now += 3600;
	egs_policy_update(s.policy, s.now);
	ok(policy_job(13)->on_loan && policy_job(13)->over_limit,
	   "a job over its GPU hours is on loan");
	poll_jobs(&f, 1);
	is_int(policy_job(13)->facts.workload, 1,
	       "a row selected by a phase stays at the next poll");
	egs_cluster_set_conf(s.cluster, s.conf);
	poll_jobs(&f, 1);
	is_int(policy_job(13)->facts.workload, 1,
	       "a row selected by a phase stays after a reconfigure");

	f = job_fact(14, EGS_JOB_PENDING);
	f.admin_comment = "egs:1;workload=cards/serve;id=000000000000000e";
	poll_jobs(&f, 1);
	is_int(policy_job(14)->facts.workload, 0,
	       "a stage with the name of a phase selects its row");
	is_int(policy_job(14)->facts.phase, -1,
	       "a stage does not set the phase");
	f.user = "bob";
	poll_jobs(&f, 1);
	is_int(policy_job(14)->facts.workload, -1,
	       "a workload of another team is not matched");
	poll_jobs(NULL, 0);
	s.conf->nworkloads = 0;
}

static uint32_t gpus_for(const char *phase)
{
	return egs_cluster_gpus_for_phase(s.cluster, policy_job(16),
					  egs_conf_find_phase(s.conf, phase));
}

/* The job has 2 GPUs. */
static void test_gpus_for_phase(void)
{
	struct egs_job_fact f = job_fact(16, EGS_JOB_RUNNING);
	struct egs_workload *w = egs_conf_add_workload(s.conf, "cards");

	w->team = 0;
	w->gpus = (struct egs_range){ 4, 8 };
	s.conf->phase[egs_conf_find_phase(s.conf, "eval")].gpus =
		(struct egs_range){ 1, 1 };
	f.admin_comment = "egs:1;phase=train,phase-gpus=infer:1+eval:3;"
			  "id=0000000000000010";
	poll_jobs(&f, 1);
	is_int(gpus_for("infer"), 1, "--phase-gpus sets the GPUs of a phase");
	is_int(gpus_for("eval"), 3, "--phase-gpus overrides egs.conf");
	is_int(gpus_for("train"), 2,
	       "a phase without GPUs anywhere keeps the present number");
	f.admin_comment = "egs:1;workload=cards;id=0000000000000010";
	poll_jobs(&f, 1);
	is_int(gpus_for("train"), 4,
	       "the workload sets GPUs of a job without --phase-gpus");
	f.admin_comment = "egs:1;id=0000000000000010";
	poll_jobs(&f, 1);
	is_int(gpus_for("eval"), 1,
	       "the phase sets GPUs of a job without a workload");
	poll_jobs(NULL, 0);
	s.conf->nworkloads = 0;
}

static void test_expected(void)
{
	struct egs_job_fact f = job_fact(15, EGS_JOB_PENDING);
	struct egs_job_info info;
	int changes;

	poll_jobs(&f, 1);
	changes = s.changes;
	f.start = 5000;
	f.end = 6000;
	poll_jobs(&f, 1);
	is_int(s.changes, changes, "an expected start is not a change");
	egs_cluster_lookup(s.cluster, 15, &info);
	is_int(info.expected_start, 5000,
	       "the expected start of a pending job is remembered");
	f = job_fact(15, EGS_JOB_RUNNING);
	poll_jobs(&f, 1);
	egs_cluster_lookup(s.cluster, 15, &info);
	is_int(info.expected_start, 0, "a running job has no expected start");
	poll_jobs(NULL, 0);
}

static void show_node(const char *name)
{
	struct egs_node_fact node = { .name = name, .cpus = 8 };

	egs_gpu_count_add(&node.gpus, "gpu:a100:4", 1);
	egs_cluster_update_node(s.cluster, &node, s.now);
}

static uint32_t capacity(void)
{
	uint32_t all[EGS_TYPE_ROWS];

	egs_cluster_end_nodes(s.cluster, s.now);
	egs_cluster_count_gpus(s.cluster, s.conf, all);
	egs_policy_update(s.policy, s.now);
	return all[0];
}

static void test_nodes(void)
{
	show_node("n1");
	show_node("n2");
	is_int(capacity(), 8, "two nodes of four GPUs have eight");
	is_int(capacity(), 8, "a poll without nodes changes no node");
	show_node("n1");
	is_int(capacity(), 4, "a node that is not shown is gone");
	is_int(egs_policy_quota_use(s.policy, 0, 0).in_force, 4,
	       "a quota that the remaining nodes can fill stays in force");
	show_node("n1");
	show_node("n2");
	is_int(capacity(), 8, "a node that is shown again counts again");
	show_node("n1");
	capacity();
}

static void test_dependents(void)
{
	struct egs_job_fact f[] = { job_fact(11, EGS_JOB_RUNNING),
				    job_fact(12, EGS_JOB_PENDING) };

	f[1].flags &= ~EGS_FACT_BLOCKED;
	f[1].dependency = "afterok:11(unfulfilled),singleton(unfulfilled)";
	poll_jobs(f, 2);
	ok(policy_job(11)->facts.dependents,
	   "a job that another depends on has dependents");
	f[1].gpus = (struct egs_gpu_count){ .ntypes = 0 };
	poll_jobs(f, 2);
	ok(!policy_job(11)->facts.dependents,
	   "a job without GPUs of the same user is no dependent that counts");
	f[1].user = "bob";
	poll_jobs(f, 2);
	ok(policy_job(11)->facts.dependents,
	   "a job without GPUs of another user is a dependent that counts");
	f[1] = job_fact(12, EGS_JOB_PENDING);
	f[1].flags &= ~EGS_FACT_BLOCKED;
	f[1].dependency = "afterok:11(unfulfilled)";
	poll_jobs(f, 2);
	ok(policy_job(12)->facts.not_schedulable,
	   "a job that waits for another is not schedulable");
	f[1].dependency = NULL;
	f[1].flags |= EGS_FACT_BLOCKED;
	poll_jobs(f, 2);
	ok(!policy_job(11)->facts.dependents,
	   "a job without waiting jobs has no dependents");
	poll_jobs(NULL, 0);
}

/* The plugin defers the job by its begin time. */
static void test_deferred(void)
{
	struct egs_job_fact f[] = { job_fact(13, EGS_JOB_RUNNING),
				    job_fact(14, EGS_JOB_RUNNING),
				    job_fact(15, EGS_JOB_PENDING) };

	s.conf->tier[1].loan = EGS_LOAN_NEVER;
	f[2].flags &= ~EGS_FACT_BLOCKED;
	f[2].reason = "BeginTime";
	f[2].eligible = (uint64_t)s.now + 10;
	poll_jobs(f, 3);
	poll_jobs(f, 3);
	ok(!policy_job(15)->facts.not_schedulable,
	   "a deferred job over a limit is schedulable");
	s.changes = 0;
	f[2].eligible++;
	poll_jobs(f, 3);
	is_int(s.changes, 0,
	       "a new begin time of a deferred job is not a change");
	f[2].eligible = (uint64_t)s.now + 1000;
	poll_jobs(f, 3);
	ok(policy_job(15)->facts.not_schedulable,
	   "a job with a begin time of its own is not schedulable");
	poll_jobs(NULL, 0);
	s.conf->tier[1].loan = EGS_LOAN_OVERQUOTA;
}

static void test_saved(void)
{
	struct egs_job_fact f = job_fact(20, EGS_JOB_RUNNING);

	free_cluster();
	new_cluster();
	s.now = 1000;
	s.saved = (struct egs_saved_job){
		.job.job_id = 20,
		.history = { .queued_at = 910,
			     .started = 950,
			     .saved_at = 960,
			     .deadline = 1100,
			     .request_no = 2,
			     .requester = 5,
			     .waited_s = 40,
			     .preempting = true },
		.owned = true,
		.tier = "prod",
		.phase = "eval",
	};
	poll_jobs(&f, 1);
	is_int(policy_job(20)->facts.tier, 0,
	       "a restored job has the tier of an operator");
	is_int(policy_job(20)->facts.phase, egs_conf_find_phase(s.conf, "eval"),
	       "a restored job has the phase that was set");
	is_int(policy_job(20)->waited_s, 40,
	       "a restored job has its waiting time");
	is_int(policy_job(20)->saved_at, 960,
	       "a restored job has the time of its checkpoint");
	is_int(policy_job(20)->deadline, 1100,
	       "a restored job has its deadline");
	is_int(policy_job(20)->requester, 5,
	       "a restored job has its requester");
	ok(egs_policy_decayed_usage(s.policy, 0) < 600 * 2 * EGS_MILLI_ONE,
	   "a restored job is not charged from its start again");
}

/* 2 GPUs from 950 to 980, of which an earlier daemon counted until 970. */
static void test_ended_before(void)
{
	struct egs_usage_snapshot tally = { .at = 970 };
	struct egs_event usage = { .kind = EGS_EV_USAGE,
				   .facts.workload = -1,
				   .usage = &tally };
	struct egs_job_fact f[] = { job_fact(21, EGS_JOB_ENDED),
				    job_fact(22, EGS_JOB_ENDED) };

	free_cluster();
	new_cluster();
	s.now = 1000;
	egs_policy_apply(s.policy, &usage, s.now);
	f[0].start = f[1].start = 950;
	f[0].end = f[1].end = 980;
	f[0].nodes = "n1"; /* the other was cancelled while pending */
	poll_jobs(f, 2);
	is_int((intmax_t)egs_policy_team_usage(s.policy, 0).gpu_s, 2 * 10,
	       "a job that ended between two daemons is charged");
	poll_jobs(f, 2);
	is_int((intmax_t)egs_policy_team_usage(s.policy, 0).gpu_s, 2 * 10,
	       "a job that ended between two daemons is charged once");
}

/* Slurm decides by the exit code when the last process has ended. */
static void test_completing(void)
{
	struct egs_job_fact f = job_fact(31, EGS_JOB_RUNNING);

	free_cluster();
	new_cluster();
	poll_jobs(&f, 1);
	f.preempt_time = 1000;
	f.end = 1060;
	poll_jobs(&f, 1);
	ok(policy_job(31)->preempting,
	   "a job with a preempt time is being preempted");
	is_int(policy_job(31)->deadline, 1060,
	       "the deadline of a preempted job is its end time in Slurm");
	f.state = EGS_JOB_ENDED;
	f.flags |= EGS_FACT_COMPLETING;
	poll_jobs(&f, 1);
	ok(policy_job(31) && policy_job(31)->running,
	   "a preempted job that is completing has not ended");
	f.state = EGS_JOB_PENDING;
	f.flags &= ~(uint32_t)EGS_FACT_COMPLETING;
	f.restarts = 1;
	f.start = f.end = f.preempt_time = 0;
	poll_jobs(&f, 1);
	ok(policy_job(31) && !policy_job(31)->running,
	   "a preempted job that was requeued is pending");
	f = job_fact(32, EGS_JOB_RUNNING);
	poll_jobs(&f, 1);
	f.state = EGS_JOB_ENDED;
	f.flags |= EGS_FACT_COMPLETING;
	poll_jobs(&f, 1);
	ok(!policy_job(32),
	   "a job that is not preempted ends while it is completing");
	f = job_fact(33, EGS_JOB_RUNNING);
	f.flags &= ~(uint32_t)EGS_FACT_BATCH;
	poll_jobs(&f, 1);
	ok(!policy_job(33)->facts.can_requeue,
	   "a job without a script cannot be requeued");
	ok(!policy_job(33)->facts.het_job,
	   "a job that is not heterogeneous has no component");
	f = job_fact(34, EGS_JOB_RUNNING);
	f.flags &= ~(uint32_t)EGS_FACT_BATCH;
	f.het = 1;
	f.het_job = 33;
	poll_jobs(&f, 1);
	ok(policy_job(34)->facts.can_requeue,
	   "a component of a het job can be requeued without a script");
	is_int(policy_job(34)->facts.het_job, 33,
	       "the policy knows a component of a het job");
}

int main(void)
{
	plan_none();
	set_up();
	test_life();
	test_end();
	test_reuse();
	test_stamp();
	test_workload();
	test_gpus_for_phase();
	test_expected();
	test_nodes();
	test_dependents();
	test_deferred();
	test_saved();
	test_ended_before();
	test_completing();
	test_uneven_gpus();
	free_cluster();
	egs_policy_conf_free(s.conf);
	return done_testing();
}
