/* cluster_nodes.c - nodes: GPUs by type, nodes of phases, the description */
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
	struct egs_node_fact node = { .name = name, .flags = flags };

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

int main(void)
{
	plan_none();
	test_types();
	test_own_nodes();
	test_description();
	return done_testing();
}
