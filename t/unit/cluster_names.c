/* cluster_names.c - names that come and go with jobs */
#include <stdio.h>

#include "policyd/cluster/cluster_internal.h"
#include "t/lib/unit/tap.h"

enum { NOW = 1000, JOBS = 5000, POLL = 1000, NAMES = 4 /* of a job */ };

static const struct egs_saved_job *find_none(void *arg,
					     const struct egs_identity *job)
{
	(void)arg;
	(void)job;
	return NULL;
}

static void ignore_change(void *arg, const struct egs_identity *job, bool ended)
{
	(void)arg;
	(void)job;
	(void)ended;
}

static const struct egs_cluster_ops ops = { .saved_job = find_none,
					    .job_changed = ignore_change };

static void show_job(struct egs_cluster *cluster, uint32_t i)
{
	char user[32], account[32], partition[32], reason[32];
	struct egs_job_fact f = {
		.job_id = 10000 + i,
		.task = EGS_NO_TASK,
		.uid = 2001,
		.user = user,
		.account = account,
		.partition = partition,
		.reason = reason,
		.state = EGS_JOB_PENDING,
		.nnodes = 1,
		.cpus = 4,
		.submit = 900,
		.flags = EGS_FACT_BATCH | EGS_FACT_BLOCKED,
	};

	snprintf(user, sizeof(user), "user-%u", i);
	snprintf(account, sizeof(account), "account-%u", i);
	snprintf(partition, sizeof(partition), "partition-%u", i);
	snprintf(reason, sizeof(reason), "reason-%u", i);
	egs_gpu_count_add(&f.gpus, "gpu:a100:2", 1);
	egs_cluster_update_job(cluster, &f, NOW);
}

/* Each poll shows other jobs, each with names of its own. */
static void test_names(struct egs_cluster *cluster)
{
	struct egs_job_info info = { .user = "" };

	for (uint32_t i = 0; i < JOBS; i++) {
		if (i % POLL == 0)
			egs_cluster_begin_poll(cluster);
		show_job(cluster, i);
		if (i % POLL == POLL - 1)
			egs_cluster_end_poll(cluster, NOW);
	}
	ok(cluster->strings.count < 4 * NAMES * POLL,
	   "names of jobs that are gone are forgotten: %u are left",
	   cluster->strings.count);
	egs_cluster_lookup(cluster, 14500, &info);
	is_str(info.user, "user-4500", "a job keeps the name of its user");
	is_str(info.account, "account-4500", "a job keeps its account");
	is_str(info.partition, "partition-4500", "a job keeps its partition");
	is_str(info.reason, "reason-4500", "a job keeps its reason");
}

int main(void)
{
	struct egs_policy_conf *conf = egs_policy_conf_new();
	struct egs_policy *policy;
	struct egs_cluster *cluster;

	plan_none();
	egs_conf_add_type(conf, "a100");
	egs_conf_add_tier(conf, "prod");
	policy = egs_policy_new(conf);
	cluster = egs_cluster_new(policy, conf, &ops, NULL);
	test_names(cluster);
	egs_cluster_free(cluster);
	egs_policy_free(policy);
	egs_policy_conf_free(conf);
	return done_testing();
}
