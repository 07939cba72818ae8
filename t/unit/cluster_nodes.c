/* cluster_nodes.c - nodes: GPUs by type, nodes of phases, the description; what
 * jobs need of them and wait for
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/cluster/cluster_internal.h"
#include "policyd/policy/policy_internal.h"
#include "t/lib/unit/tap.h"

enum { NOW = 1000 };

static struct {
	struct egs_policy_conf *conf;
	struct egs_policy *policy;
	struct egs_cluster *cluster;
} s;

static void set_up(void)
{
	struct egs_team *team;

	s.conf = egs_policy_conf_new();
	egs_conf_add_type(s.conf, "a100");
	egs_conf_add_tier(s.conf, "prod")->nodes = strdup("n[2-3]");
	egs_conf_add_phase(s.conf, "infer")->nodes = strdup("n1,m[1-4]");
	team = egs_conf_add_team(s.conf, "fraud");
	team->users = strdup("alice");
	team->quota[0] = 4;
	s.policy = egs_policy_new(s.conf);
	s.cluster = egs_cluster_new(s.policy, s.conf, NULL, NULL);
}

static void tear_down(void)
{
	egs_cluster_free(s.cluster);
	egs_policy_free(s.policy);
	egs_policy_conf_free(s.conf);
}

static void show_node(const char *name, const char *gres, uint32_t flags)
{
	struct egs_node_fact node = { .name = name,
				      .partitions = "gpu,serve",
				      .flags = flags };

	egs_gpu_count_add(&node.gpus, gres, 1);
	egs_cluster_update_node(s.cluster, &node, NOW);
}

static void test_types(void)
{
	uint32_t capacity[EGS_TYPE_ROWS];

	set_up();
	show_node("n1", "gpu:h100:6,gpu:a100:2", EGS_NODE_DOWN);
	egs_cluster_count_gpus(s.cluster, s.conf, capacity);
	ok(capacity[0] == 2 && capacity[1] == 6,
	   "each GPU of a node with two types counts for its own type");
	is_int(egs_policy_quota_use(s.policy, 0, 0).in_force, 0,
	       "a lost node with two types is lost capacity of both");
	tear_down();
}

static void test_own_nodes(void)
{
	const int infer = 3;

	set_up();
	show_node("n1", "gpu:a100:4", 0);
	show_node("n2", "gpu:a100:4", 0);
	ok(s.policy->node[0].phases == 1U << infer && !s.policy->node[0].tiers,
	   "a node knows the phase that has it in Nodes=");
	ok(s.policy->node[1].tiers == 1 && !s.policy->node[1].phases,
	   "a node knows the tier that has it in Nodes=");
	egs_cluster_end_nodes(s.cluster, NOW);
	show_node("n1", "gpu:a100:4", 0);
	egs_cluster_end_nodes(s.cluster, NOW);
	ok(!s.policy->node[1].tiers, "a node that is gone is of no tier");
	tear_down();
}

/* The description is what egsctl reconfigure judges a file by. */
static void test_description(void)
{
	struct egs_judge_cluster to = { .ntypes = 0 };

	set_up();
	show_node("n1", "gpu:h100:6,gpu:a100:2", EGS_NODE_DOWN);
	show_node("n2", "gpu:a100:4", 0);
	show_node("c1", NULL, 0);
	egs_cluster_add_node(s.cluster, "n9");
	egs_cluster_describe(s.cluster, &to);
	is_int(to.nodes.count, 3, "a cluster is described by all its nodes");
	ok(!egs_intern_find(&to.nodes, "n9"),
	   "a node that only jobs have named is not described");
	ok(to.ntypes == 2 && to.type[0].gpus == 6 && to.type[1].gpus == 6,
	   "a description has the GPUs of each type, also of nodes that are "
	   "down");
	egs_judge_clear(&to);
	tear_down();
}

/* A job of alice that waits for these GPUs. */
static struct egs_job_fact job_fact(uint32_t id, const char *gres)
{
	struct egs_job_fact f = { .job_id = id,
				  .task = EGS_NO_TASK,
				  .uid = 2001,
				  .user = "alice",
				  .partition = "cpu,gpu",
				  .nnodes = 1,
				  .submit = 900,
				  .state = EGS_JOB_PENDING };

	egs_gpu_count_add(&f.gpus, gres, 1);
	return f;
}

/* GPUs that count for limits, as "2,4"; the second type is "all others". */
static const char *types_of(const struct egs_job_fact *f)
{
	static char text[32];
	const uint16_t *by_type;

	egs_cluster_update_job(s.cluster, f, NOW);
	by_type = egs_policy_job(s.policy, f->job_id)->facts.by_type;
	snprintf(text, sizeof(text), "%u,%u", by_type[0], by_type[1]);
	return text;
}

static void test_job_types(void)
{
	struct egs_job_fact f = job_fact(1, "gpu:a100:2");

	set_up();
	show_node("n1", "gpu:a100:4", 0);
	is_str(types_of(&f), "0,0", "a job of one type has no counts by type");
	egs_gpu_count_add(&f.gpus, "gpu:h100:4", 1);
	is_str(types_of(&f), "2,4", "each type of a pending job is counted");
	is_int(egs_policy_job(s.policy, 1)->facts.need.type, EGS_TYPE_ANY,
	       "a pending job of two types is placed by all its GPUs");
	f.state = EGS_JOB_RUNNING;
	is_str(types_of(&f), "2,4", "each type of a running job is counted");
	f = job_fact(2, NULL);
	f.nnodes = 3;
	is_str(types_of(&f), "0,0", "a job without GPUs has no counts by type");
	f.flags |= EGS_FACT_EXCLUSIVE;
	is_str(types_of(&f), "12,0",
	       "an exclusive job counts with all GPUs of its nodes");
	show_node("n2", "gpu:a100:8", 0);
	egs_cluster_end_nodes(s.cluster, NOW);
	f.nnodes = 2;
	is_str(types_of(&f), "8,0",
	       "an exclusive job counts with its smallest nodes");
	f.het_job = 2;
	is_str(types_of(&f), "16,0",
	       "an exclusive component counts with its largest nodes");
	f.partition = "cpu";
	is_str(types_of(&f), "0,0",
	       "an exclusive job of a partition without GPUs counts with none");
	tear_down();
}

/* The words of 'egs why' for what the job waits for. */
static const char *awaited_by(const char *dependency)
{
	struct egs_job_fact f = job_fact(1, "gpu:a100:2");
	struct egs_job_info known;

	f.flags = EGS_FACT_DEPENDENT;
	f.dependency = dependency;
	egs_cluster_update_job(s.cluster, &f, NOW);
	egs_cluster_lookup(s.cluster, 1, &known);
	return known.dependency;
}

static void test_dependency(void)
{
	set_up();
	is_str(awaited_by("afterok:100(unfulfilled)"), "job 100 (afterok)",
	       "a dependency names the job and the condition");
	is_str(awaited_by("afterany:7_4(unfulfilled),afterok:8(unfulfilled)"),
	       "job 7_4 (afterany) and 1 more",
	       "several dependencies are counted");
	is_str(awaited_by("after:7+5(unfulfilled)?afterok:8(failed)"),
	       "job 7 (after) and 1 more",
	       "alternative dependencies are counted");
	is_str(awaited_by("singleton(unfulfilled)"), "other jobs (singleton)",
	       "a dependency without a job id is named by its condition");
	tear_down();
}

int main(void)
{
	plan_none();
	test_types();
	test_own_nodes();
	test_description();
	test_job_types();
	test_dependency();
	return done_testing();
}
