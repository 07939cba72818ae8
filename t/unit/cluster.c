/* cluster.c - looks at Slurm become the events of a story */
#include <stdlib.h>

#include "policyd/cluster/cluster.h"
#include "t/lib/unit/tap.h"

static struct {
	struct egs_policy_conf *conf;
	struct egs_policy *policy;
	struct egs_cluster *world;
	struct egs_saved_job kept;
	int ended, changes;
	egs_time_t now;
} s;

static const struct egs_saved_job *on_kept(void *arg,
					   const struct egs_identity *job)
{
	(void)arg;
	return job->job_id == s.kept.job.job_id ? &s.kept : NULL;
}

static void on_changed(void *arg, const struct egs_identity *job, bool ended)
{
	(void)arg;
	(void)job;
	s.changes++;
	s.ended += ended;
}

static const struct egs_cluster_ops ops = { .saved_job = on_kept,
					    .job_changed = on_changed };

static void new_world(void)
{
	s.policy = egs_policy_new(s.conf);
	s.world = egs_cluster_new(s.policy, s.conf, &ops, NULL);
}

static void end_world(void)
{
	egs_cluster_free(s.world);
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
	new_world();
	s.now = 1000;
}

/* A job of alice: 2 GPUs on each of its nodes. */
static struct egs_job_fact job(uint32_t id, uint32_t state)
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

/* One look that shows 'n' jobs and the node. */
static void look(struct egs_job_fact *f, int n)
{
	struct egs_node_fact node = { .name = "n1",
				      .cpus = 8,
				      .mem_mb = 16000 };
	int i;

	egs_gpu_count_add(&node.gpus, "gpu:a100:4(S:0-1)", 1);
	egs_cluster_begin_poll(s.world);
	egs_cluster_update_node(s.world, &node, s.now);
	for (i = 0; i < n; i++) {
		struct egs_buf parts = { .used = 0 };
		struct egs_fact_alloc part = { "n1", 2, 4 };

		if (f[i].state == EGS_JOB_RUNNING)
			egs_fact_put_alloc(&parts, &part);
		f[i].allocs = (struct egs_buf_reader){ .at = parts.bytes,
						       .left = parts.used };
		egs_cluster_update_job(s.world, &f[i], s.now);
		egs_buf_clear(&parts);
	}
	egs_cluster_end_poll(s.world, s.now);
	egs_policy_update(s.policy, s.now);
}

static const struct egs_job *view(uint32_t id)
{
	return egs_policy_job(s.policy, id);
}

static void test_life(void)
{
	struct egs_job_fact f = job(7, EGS_JOB_PENDING);
	struct egs_job_info known;
	int changes;

	look(&f, 1);
	ok(view(7) && !view(7)->running, "a pending job is known");
	is_int(view(7)->facts.team, 0, "by its user it belongs to a team");
	is_int(view(7)->facts.tier, 1, "which gives it a tier");
	is_int(view(7)->facts.need.gpus, 2, "it wants two GPUs");

	changes = s.changes;
	f.priority = 99;
	look(&f, 1);
	is_int(s.changes, changes, "an older job is no news");

	f = job(7, EGS_JOB_RUNNING);
	look(&f, 1);
	ok(view(7)->running, "it starts");
	is_int(view(7)->gpus, 2, "with its GPUs");
	is_int(view(7)->started, 950, "at the time Slurm says");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 2,
	       "inside its quota");
	egs_cluster_lookup(s.world, 7, &known);
	is_str(known.user, "alice", "its owner is remembered");

	f = job(7, EGS_JOB_PENDING);
	f.restarts = 1;
	f.submit = 1010;
	look(&f, 1);
	ok(view(7) && !view(7)->running,
	   "requeued it is the same job, waiting");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 0,
	       "and holds nothing");

	f = job(7, EGS_JOB_RUNNING);
	f.restarts = 3;
	f.submit = 1010;
	look(&f, 1);
	is_int(view(7)->ident.restarts, 3, "runs between two looks count");

	look(NULL, 0);
	ok(!view(7), "a job that vanished is closed");
	is_int(s.ended, 1, "and not kept");
}

static void test_end(void)
{
	struct egs_job_fact f = job(8, EGS_JOB_RUNNING);
	int ended = s.ended;

	look(&f, 1);
	f.state = EGS_JOB_ENDED;
	look(&f, 1);
	look(&f, 1);
	ok(!view(8), "an ended job is gone though Slurm still shows it");
	is_int(s.ended, ended + 1, "and it ends once");
	look(NULL, 0);
}

static void test_reuse(void)
{
	struct egs_job_fact f = job(9, EGS_JOB_RUNNING);

	look(&f, 1);
	egs_cluster_set_tier(s.world, 9, "prod", s.now);
	look(&f, 1);
	is_int(view(9)->facts.tier, 0, "an operator's tier holds");
	f = job(9, EGS_JOB_PENDING);
	f.uid = 2002;
	f.user = "bob";
	look(&f, 1);
	ok(!view(9)->running, "another user's job under the id is another job");
	is_int(view(9)->facts.tier, -1, "with nothing of the old one");
	look(NULL, 0);

	f = job(9, EGS_JOB_RUNNING);
	look(&f, 1);
	f = job(9, EGS_JOB_ENDED);
	f.uid = 2002;
	look(&f, 1);
	ok(!view(9), "one that has ended already ends the old one, too");
	is_int(egs_policy_quota_use(s.policy, 0, 0).owned, 0,
	       "which holds nothing");
	look(NULL, 0);
}

static void test_stamp(void)
{
	struct egs_job_fact f = job(10, EGS_JOB_PENDING);

	f.admin_comment =
		"note egs:1;phase=infer,tier=prod;id=00000000000000ff";
	look(&f, 1);
	is_int(view(10)->facts.tier, 0, "a job has the tier it asked for");
	is_int((intmax_t)view(10)->ident.nonce, 255, "a stamp is read");
	is_int(view(10)->facts.phase, egs_conf_find_phase(s.conf, "infer"),
	       "with its phase");
	egs_cluster_set_phase(s.world, 10, "train", s.now);
	look(&f, 1);
	is_int(view(10)->facts.phase, egs_conf_find_phase(s.conf, "train"),
	       "which can be changed later");
	is_int(egs_cluster_set_phase(s.world, 10, "nap", s.now), -1,
	       "not to what is none");
	look(NULL, 0);
}

/* One model of the team: a floor while it serves, hours when it trains. */
static void test_workload(void)
{
	struct egs_job_fact f = job(13, EGS_JOB_RUNNING);
	struct egs_workload *w = egs_conf_add_workload(s.conf, "cards");

	w->team = 0;
	w->phase = egs_conf_find_phase(s.conf, "infer");
	w->floor[0] = 2;
	w = egs_conf_add_workload(s.conf, "cards");
	w->team = 0;
	w->max_gpu_hours = (struct egs_rate){ 1, 86400 };
	f.admin_comment =
		"egs:1;phase=infer,workload=cards/eu;id=000000000000000d";
	look(&f, 1);
	is_int(view(13)->facts.workload, 0,
	       "a job belongs to the row of its workload and phase");
	ok(view(13)->in_floor, "and holds up its floor");

	egs_cluster_set_phase(s.world, 13, "train", s.now);
	egs_policy_update(s.policy, s.now);
	is_int(view(13)->facts.workload, 1, "another phase is another row");
	ok(!view(13)->in_floor, "without that floor");
	s.now += 3600;
	egs_policy_update(s.policy, s.now);
	ok(view(13)->on_loan && view(13)->over_limit,
	   "but with hours, and over them it is on loan");
	look(&f, 1);
	is_int(view(13)->facts.workload, 1, "the next look changes nothing");
	egs_cluster_set_conf(s.world, s.conf);
	look(&f, 1);
	is_int(view(13)->facts.workload, 1, "nor does a file read again");

	f = job(14, EGS_JOB_PENDING);
	f.admin_comment = "egs:1;workload=cards/serve;id=000000000000000e";
	look(&f, 1);
	is_int(view(14)->facts.workload, 0,
	       "a stage that is a phase stands for it where none is given");
	is_int(view(14)->facts.phase, -1, "and changes no phase");
	f.user = "bob";
	look(&f, 1);
	is_int(view(14)->facts.workload, -1,
	       "another team's workload is not ours");
	look(NULL, 0);
	s.conf->nworkloads = 0;
}

static uint32_t wants(const char *phase)
{
	return egs_cluster_gpus_for_phase(s.world, view(16),
					  egs_conf_find_phase(s.conf, phase));
}

/* The job holds 2 GPUs. */
static void test_wants(void)
{
	struct egs_job_fact f = job(16, EGS_JOB_RUNNING);
	struct egs_workload *w = egs_conf_add_workload(s.conf, "cards");

	w->team = 0;
	w->gpus = (struct egs_range){ 4, 8 };
	s.conf->phase[egs_conf_find_phase(s.conf, "eval")].gpus =
		(struct egs_range){ 1, 1 };
	f.admin_comment = "egs:1;phase=train,phase-gpus=infer:1+eval:3;"
			  "id=0000000000000010";
	look(&f, 1);
	is_int(wants("infer"), 1, "a job wants what it said");
	is_int(wants("eval"), 3, "whatever the file says");
	is_int(wants("train"), 2, "where nobody speaks, what it has");
	f.admin_comment = "egs:1;workload=cards;id=0000000000000010";
	look(&f, 1);
	is_int(wants("train"), 4, "its workload speaks next");
	f.admin_comment = "egs:1;id=0000000000000010";
	look(&f, 1);
	is_int(wants("eval"), 1, "then the phase");
	look(NULL, 0);
	s.conf->nworkloads = 0;
}

static void test_expected(void)
{
	struct egs_job_fact f = job(15, EGS_JOB_PENDING);
	struct egs_job_info known;
	int changes;

	look(&f, 1);
	changes = s.changes;
	f.start = 5000;
	f.end = 6000;
	look(&f, 1);
	is_int(s.changes, changes, "that Slurm expects a start is no news");
	egs_cluster_lookup(s.world, 15, &known);
	is_int(known.expected_start, 5000, "and is remembered");
	f = job(15, EGS_JOB_RUNNING);
	look(&f, 1);
	egs_cluster_lookup(s.world, 15, &known);
	is_int(known.expected_start, 0, "until it starts");
	look(NULL, 0);
}

static void show_node(const char *name)
{
	struct egs_node_fact node = { .name = name, .cpus = 8 };

	egs_gpu_count_add(&node.gpus, "gpu:a100:4", 1);
	egs_cluster_update_node(s.world, &node, s.now);
}

static uint32_t capacity(void)
{
	uint32_t all[EGS_TYPE_ROWS];

	egs_cluster_end_nodes(s.world, s.now);
	egs_cluster_count_gpus(s.world, s.conf, all);
	egs_policy_update(s.policy, s.now);
	return all[0];
}

static void test_nodes(void)
{
	show_node("n1");
	show_node("n2");
	is_int(capacity(), 8, "two nodes have eight GPUs");
	is_int(capacity(), 8, "that none is shown means that none changed");
	show_node("n1");
	is_int(capacity(), 4, "one that is shown no more is gone");
	is_int(egs_policy_quota_use(s.policy, 0, 0).in_force, 4,
	       "and was lost by nobody");
	show_node("n1");
	show_node("n2");
	is_int(capacity(), 8, "until it is there again");
	show_node("n1");
	capacity();
}

static void test_waits(void)
{
	struct egs_job_fact f[] = { job(11, EGS_JOB_RUNNING),
				    job(12, EGS_JOB_PENDING) };

	f[1].flags &= ~EGS_FACT_BLOCKED;
	f[1].dependency = "afterok:11(unfulfilled),singleton(unfulfilled)";
	look(f, 2);
	ok(view(11)->facts.dependents, "a job is known to be waited for");
	ok(view(12)->facts.not_schedulable,
	   "and the one that waits as not blocked");
	f[1].dependency = NULL;
	f[1].flags |= EGS_FACT_BLOCKED;
	look(f, 2);
	ok(!view(11)->facts.dependents, "until nobody waits any more");
	look(NULL, 0);
}

/* We keep it out of Slurm's queue by its begin time. */
static void test_barred(void)
{
	struct egs_job_fact f[] = { job(13, EGS_JOB_RUNNING),
				    job(14, EGS_JOB_RUNNING),
				    job(15, EGS_JOB_PENDING) };

	s.conf->tier[1].loan = EGS_LOAN_NEVER;
	f[2].flags &= ~EGS_FACT_BLOCKED;
	f[2].reason = "BeginTime";
	f[2].eligible = (uint64_t)s.now + 10;
	look(f, 3);
	look(f, 3);
	ok(!view(15)->facts.not_schedulable,
	   "a job beyond a limit is blocked by that");
	s.changes = 0;
	f[2].eligible++;
	look(f, 3);
	is_int(s.changes, 0, "and that it goes on is no news");
	f[2].eligible = (uint64_t)s.now + 1000;
	look(f, 3);
	ok(view(15)->facts.not_schedulable, "a begin time of its own is one");
	look(NULL, 0);
	s.conf->tier[1].loan = EGS_LOAN_OVERQUOTA;
}

static void test_kept(void)
{
	struct egs_job_fact f = job(20, EGS_JOB_RUNNING);

	end_world();
	new_world();
	s.now = 1000;
	s.kept = (struct egs_saved_job){
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
	look(&f, 1);
	is_int(view(20)->facts.tier, 0, "a new daemon knows the tier set");
	is_int(view(20)->facts.phase, egs_conf_find_phase(s.conf, "eval"),
	       "and the phase");
	is_int(view(20)->waited_s, 40, "how long it had waited");
	is_int(view(20)->saved_at, 960, "when it saved");
	is_int(view(20)->deadline, 1100, "and until when it was to go");
	is_int(view(20)->requester, 5, "for whom");
	ok(egs_policy_decayed_usage(s.policy, 0) < 600 * 2 * EGS_MILLI_ONE,
	   "a job that ran before us pays no entry again");
}

/* 2 GPUs from 950 to 980, of which an earlier daemon counted until 970. */
static void test_ended_before(void)
{
	struct egs_usage_snapshot tally = { .at = 970 };
	struct egs_event usage = { .kind = EGS_EV_USAGE,
				   .facts.workload = -1,
				   .usage = &tally };
	struct egs_job_fact f[] = { job(21, EGS_JOB_ENDED),
				    job(22, EGS_JOB_ENDED) };

	end_world();
	new_world();
	s.now = 1000;
	egs_policy_apply(s.policy, &usage, s.now);
	f[0].start = f[1].start = 950;
	f[0].end = f[1].end = 980;
	f[0].nodes = "n1"; /* the other was cancelled in the queue */
	look(f, 2);
	is_int((intmax_t)egs_policy_team_usage(s.policy, 0).gpu_s, 2 * 10,
	       "what ended between two daemons is charged");
	look(f, 2);
	is_int((intmax_t)egs_policy_team_usage(s.policy, 0).gpu_s, 2 * 10,
	       "once");
}

/* Slurm decides what its exit means when its last process has gone. */
static void test_leaving(void)
{
	struct egs_job_fact f = job(31, EGS_JOB_RUNNING);

	end_world();
	new_world();
	look(&f, 1);
	f.preempt_time = 1000;
	f.end = 1060;
	look(&f, 1);
	ok(view(31)->preempting, "Slurm has asked it to go");
	is_int(view(31)->deadline, 1060, "by the end that Slurm has set");
	f.state = EGS_JOB_ENDED;
	f.flags |= EGS_FACT_COMPLETING;
	look(&f, 1);
	ok(view(31) && view(31)->running, "while it ends it is not over:");
	f.state = EGS_JOB_PENDING;
	f.flags &= ~(uint32_t)EGS_FACT_COMPLETING;
	f.restarts = 1;
	f.start = f.end = f.preempt_time = 0;
	look(&f, 1);
	ok(view(31) && !view(31)->running, "it was on its way to the queue");
	f = job(32, EGS_JOB_RUNNING);
	look(&f, 1);
	f.state = EGS_JOB_ENDED;
	f.flags |= EGS_FACT_COMPLETING;
	look(&f, 1);
	ok(!view(32), "one that nobody asked is over when it ends");
	f = job(33, EGS_JOB_RUNNING);
	f.flags &= ~(uint32_t)EGS_FACT_BATCH;
	look(&f, 1);
	ok(!view(33)->facts.can_requeue, "a job without a script stays away,");
	f = job(34, EGS_JOB_RUNNING);
	f.flags &= ~(uint32_t)EGS_FACT_BATCH;
	f.het = 1;
	look(&f, 1);
	ok(view(34)->facts.can_requeue, "a part of a het job has another's");
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
	test_wants();
	test_expected();
	test_nodes();
	test_waits();
	test_barred();
	test_kept();
	test_ended_before();
	test_leaving();
	end_world();
	egs_policy_conf_free(s.conf);
	return done_testing();
}
