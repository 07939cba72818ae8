/* conf_judge.c - an egs.conf and a cluster: what is refused, what is a warning
 */
#include "common/base/array.h"
#include "common/conf/judge.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define ORDER "TierOrder=prod,low\n"
#define TEAM  "Team=a Accounts=a Quota=a100:8\n"
#define GOOD  ORDER TEAM

enum {
	NOTHING = 1,   /* slurmctld does not answer */
	ENFORCING = 2, /* egs-policyd enforces */
	EXCEEDED = 4,  /* the quotas in force exceed the GPUs */
	UNTYPED = 8,   /* the GPUs of the cluster have no type */
};

/* A file, the cluster, and all sentences. */
static const struct {
	const char *text;
	unsigned cluster;
	const char *refused, *warning, *not_asked;
} rows[] = {
	{ GOOD, 0, NULL, NULL, "" },

	/* GPUs: 16 a100, 4 h100 */
	{ ORDER "Team=a Accounts=a Quota=a100:16,h100:4\n", 0, NULL, NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=a100:16\n"
		"Team=b Accounts=b Quota=a100:1\n",
	  0,
	  "egs.conf: the quotas of all teams add up to 17 a100 GPUs, but the "
	  "cluster has 16",
	  NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=a100:17\n", EXCEEDED, NULL,
	  "egs.conf: the quotas of all teams add up to 17 a100 GPUs, but the "
	  "cluster has 16",
	  "" },
	{ ORDER "Team=a Accounts=a Quota=21\n", 0,
	  "egs.conf: the quotas of all teams add up to 21 GPUs, but the "
	  "cluster has 20",
	  NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=20\n", 0, NULL, NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=20\n", UNTYPED, NULL, NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=a10:4\n", 0,
	  "egs.conf:2: Team=a: Quota=a10:4 has the GPU type 'a10', which no "
	  "node has (a100, h100)",
	  NULL, "" },
	{ GOOD "Team=b Accounts=b MaxGpus=a10:4\n", 0, NULL,
	  "egs.conf:3: Team=b: MaxGpus=a10:4 has the GPU type 'a10', which no "
	  "node has (a100, h100)",
	  "" },
	{ "GpuType=b200\nGpuType=a100\n" GOOD, 0, NULL,
	  "egs.conf:1: GpuType=b200 has the GPU type 'b200', which no node has "
	  "(a100, h100)",
	  "" },
	{ GOOD, UNTYPED,
	  "egs.conf:2: Team=a: Quota=a100:8 has the GPU type 'a100', which no "
	  "node has (GPUs without a type)",
	  NULL, "" },
	{ ORDER "Team=a Accounts=a Quota=a100:99\n", NOTHING, NULL, NULL,
	  "GPUs" },

	/* partitions: gpu, serve */
	{ "Partitions=gpu,server\n" GOOD, 0, NULL,
	  "egs.conf:1: Partitions=gpu,server has 'server', which is not a "
	  "partition; did you mean 'serve'? (partitions: gpu, serve)",
	  "" },
	{ GOOD "Phase=infer Partitions=serv\n", 0, NULL,
	  "egs.conf:3: Phase=infer: Partitions=serv has 'serv', which is not a "
	  "partition; did you mean 'serve'? (partitions: gpu, serve)",
	  "" },
	{ GOOD "Tier=low Partitions=idle\n", 0, NULL,
	  "egs.conf:3: Tier=low: Partitions=idle has 'idle', which is not a "
	  "partition (partitions: gpu, serve)",
	  "" },
	{ "Partitions=all\n" GOOD, 0, NULL, NULL, "" },
	{ "Partitions=x\n" GOOD, NOTHING, NULL, NULL, "GPUs, partitions" },

	/* QOS: normal, low */
	{ GOOD "Tier=low Qos=low\n", 0, NULL, NULL, "" },
	{ GOOD "Tier=low Qos=lwo\n", 0, NULL,
	  "egs.conf:3: Tier=low: Qos=lwo has 'lwo', which is not a QOS; did "
	  "you mean 'low'? (QOSs: normal, low)",
	  "" },
	{ GOOD "Tier=low Qos=lwo\n", NOTHING, NULL, NULL, "GPUs, QOS" },

	/* nodes: n1 to n4 */
	{ GOOD "Phase=infer Nodes=n[1-2],n4 Spill=no\n", 0, NULL, NULL, "" },
	{ GOOD "Phase=infer Nodes=gpu[1-4] Spill=no\n", 0,
	  "egs.conf:3: Phase=infer: Nodes=gpu[1-4] names no node of the "
	  "cluster; with Spill=no its jobs would wait for ever",
	  NULL, "" },
	{ GOOD "Tier=low Spill=no Nodes=n[01-04]\n", 0,
	  "egs.conf:3: Tier=low: Nodes=n[01-04] names no node of the cluster; "
	  "with Spill=no its jobs would wait for ever",
	  NULL, "" },
	{ GOOD "Phase=infer Nodes=gpu[1-4]\n", 0, NULL,
	  "egs.conf:3: Phase=infer: Nodes=gpu[1-4] names no node of the "
	  "cluster; its jobs use all nodes",
	  "" },
	{ GOOD "Tier=low Nodes=n[4-6] Spill=no\n", 0, NULL,
	  "egs.conf:3: Tier=low: Nodes=n[4-6] names nodes that the cluster "
	  "does not have: n5, n6",
	  "" },
	{ GOOD "Tier=low Nodes=n[1-99]\n", 0, NULL,
	  "egs.conf:3: Tier=low: Nodes=n[1-99] names nodes that the cluster "
	  "does not have: n5, n6, n7, n8, n9 and 90 more",
	  "" },
	{ GOOD "Phase=infer Nodes=gpu1 Spill=no\n", NOTHING, NULL, NULL,
	  "GPUs, nodes" },

	/* operators */
	{ "Operators=hpc\n" GOOD, 0, NULL, NULL, "" },
	{ "Operators=hpc,hpcadmin\n" GOOD, 0, NULL,
	  "egs.conf:1: Operators=hpc,hpcadmin has 'hpcadmin', which is not a "
	  "user of this host",
	  "" },
	{ "Operators=x\n" GOOD, NOTHING, NULL, NULL, "GPUs, operators" },

	/* files that protect nothing */
	{ "", 0, NULL, "egs.conf: TierOrder= is missing, so no job is managed",
	  "" },
	{ "", ENFORCING,
	  "egs.conf: TierOrder= is missing, so no job would be managed in "
	  "enforce mode; to switch EGS off, use egsctl mode observe",
	  NULL, "" },
	{ "Mode=enforce\n" TEAM, NOTHING,
	  "egs.conf: TierOrder= is missing, so no job would be managed in "
	  "enforce mode; to switch EGS off, use egsctl mode observe",
	  NULL, "GPUs" },
	{ ORDER, ENFORCING, NULL,
	  "egs.conf: there is no Team=, so no job has a quota, and only jobs "
	  "with --tier, or in Qos= or Partitions= of a tier, are managed",
	  "" },

	/* phases */
	{ GOOD "Phase=trian Gpus=4\n", NOTHING, NULL,
	  "egs.conf:3: Phase=trian adds a phase 'trian'; did you mean 'train'?",
	  "GPUs" },
	{ GOOD "Phase=evalation\n", 0, NULL,
	  "egs.conf:3: Phase=evalation adds a phase 'evalation'; did you mean "
	  "'evaluation'?",
	  "" },
	{ GOOD "Phase=trial\nPhase=training\nPhase=label\n", 0, NULL, NULL,
	  "" },
};

static void describe_cluster(unsigned kind, struct egs_judge_cluster *c)
{
	static const char *const nodes[] = { "n1", "n2", "n3", "n4" };

	*c = (struct egs_judge_cluster){ .enforcing = kind & ENFORCING,
					 .quotas_exceeded = kind & EXCEEDED };
	if (kind & NOTHING)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		egs_intern_add(&c->nodes, nodes[i]);
		egs_judge_add_gpus(c, kind & UNTYPED ? "" : "a100", 4);
	}
	egs_judge_add_gpus(c, kind & UNTYPED ? "" : "h100", 4);
	egs_intern_add(&c->partitions, "gpu");
	egs_intern_add(&c->partitions, "serve");
	egs_intern_add(&c->qos, "normal");
	egs_intern_add(&c->qos, "low");
	egs_intern_add(&c->users, "hpc");
	c->users_known = true;
}

/* The only sentence of a list, NULL if it has none. */
static const char *get_only(const struct egs_conf_problems *list)
{
	return list->count == 1	 ? list->list[0].err.msg
	       : list->count > 1 ? "several sentences"
				 : NULL;
}

static void try_row(size_t i)
{
	static struct egs_judgement judgement;
	struct egs_judge_cluster cluster;
	struct egs_conf *conf = conf_load(rows[i].text);

	if (!conf)
		errx(1, "row %zu: %s", i, conf_problems.list[0].err.msg);
	describe_cluster(rows[i].cluster, &cluster);
	egs_judge_conf(conf, &cluster, &judgement);
	is_str(get_only(&judgement.refused), rows[i].refused,
	       "row %zu: what is refused", i);
	is_str(get_only(&judgement.warnings), rows[i].warning,
	       "row %zu: what is a warning", i);
	is_str(judgement.not_asked.text, rows[i].not_asked,
	       "row %zu: what was not asked", i);
	egs_judge_clear(&cluster);
	egs_conf_free(conf);
}

static void test_no_partition(void)
{
	static struct egs_judgement judgement;
	struct egs_judge_cluster cluster;
	struct egs_conf *conf = conf_load("Partitions=big\n" GOOD);

	describe_cluster(ENFORCING, &cluster);
	egs_judge_conf(conf, &cluster, &judgement);
	is_str(get_only(&judgement.refused),
	       "egs.conf: no partition of Partitions= exists, so no job is "
	       "managed",
	       "a file for partitions that do not exist is refused in enforce "
	       "mode");
	is_int((intmax_t)judgement.warnings.count, 1,
	       "the partition that does not exist is named, too");
	egs_judge_clear(&cluster);
	egs_conf_free(conf);
}

int main(void)
{
	plan_none();
	conf_enter();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		try_row(i);
	test_no_partition();
	conf_leave();
	return done_testing();
}
