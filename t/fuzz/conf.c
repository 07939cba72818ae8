/* conf.c - egs.conf: a file is loaded as a whole or refused
 *
 * runs: 60000, because a file has many lines
 */
#include "common/conf/judge.h"
#include "t/fuzz/fuzz.h"

static void ignore_value(void *arg, const struct egs_conf_value *value)
{
	size_t *sum = arg;

	*sum += strlen(value->text);
}

static struct egs_judge_cluster cluster;

static void describe_cluster(void)
{
	egs_intern_add(&cluster.nodes, "n1");
	egs_intern_add(&cluster.partitions, "gpu");
	egs_intern_add(&cluster.qos, "normal");
	egs_judge_add_gpus(&cluster, "a100", 4);
	cluster.users_known = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct egs_conf_problems problems;
	static struct egs_judgement judgement;
	struct egs_conf *conf = NULL;
	size_t sum = 0;

	if (!cluster.nodes.count)
		describe_cluster();
	if (egs_conf_load(&conf, fuzz_file(data, size), &problems) == 0)
		fuzz_check(conf && egs_conf_policy(conf));
	else
		fuzz_check(problems.count > 0);
	if (conf) {
		egs_conf_for_each_value(conf, ignore_value, &sum);
		egs_judge_conf(conf, &cluster, &judgement);
	}
	egs_conf_free(conf);
	return 0;
}
