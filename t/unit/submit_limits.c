/* submit_limits.c - which jobs wait until the daemon has decided about a limit
 */
#include "plugins/job_submit/check.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define TIERS "TierOrder=gold,silver,bronze\n"
#define LIMIT_TEAMS                                                          \
	TIERS "Team=lab Groups=lab MaxGpus=4\n"                              \
	      "Team=vision Accounts=vision Tiers=bronze DefaultTier=bronze " \
	      "MaxGpus=8\nTeam=free Accounts=free Tiers=bronze "             \
	      "DefaultTier=bronze\n"

/* Is the job limited at its start? */
static bool is_limited(const struct egs_conf *conf, const char *account,
		       const char *gpus, bool exclusive, bool is_update)
{
	const struct egs_check_input request = { .account = account,
						 .partitions = "gpu",
						 .gpus.per_node = gpus,
						 .exclusive = exclusive,
						 .is_update = is_update };
	struct egs_check_result verdict;
	struct egs_err err;

	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	return verdict.limited;
}

static void check_limited(void)
{
	struct egs_conf *conf = conf_load("Mode=enforce\n" LIMIT_TEAMS);

	if (!ok(conf != NULL, "the file is good"))
		return;
	ok(is_limited(conf, "vision", "gres:gpu:1", false, false),
	   "a job with GPUs of a team with MaxGpus is limited");
	ok(!is_limited(conf, "vision", NULL, false, false),
	   "a job without GPUs is not limited");
	ok(is_limited(conf, "vision", NULL, true, false),
	   "an exclusive job without GPUs is limited");
	ok(is_limited(conf, "free", "gres:gpu:1", false, false),
	   "a new job is limited if its groups may limit it");
	ok(is_limited(conf, "free", "gres:gpu:1", false, true),
	   "an updated job is limited if its groups may limit it");
	ok(is_limited(conf, "nobody", "gres:gpu:1", false, false),
	   "a job without a team is limited if its groups may limit it");
	ok(!is_limited(conf, "nobody", NULL, false, false),
	   "a job without GPUs does not wait for the groups of its user");
	egs_conf_free(conf);
	conf = conf_load("Mode=observe\n" LIMIT_TEAMS);
	ok(conf && !is_limited(conf, "free", "gres:gpu:1", false, false),
	   "no job waits for a team that EGS only observes");
	egs_conf_free(conf);
	conf = conf_load("Mode=enforce\nPartitions=serve\n" LIMIT_TEAMS);
	ok(conf && !is_limited(conf, "free", "gres:gpu:1", false, false),
	   "a job outside of Partitions= does not wait for its groups");
	egs_conf_free(conf);
	conf = conf_load(
		"Mode=enforce\n" TIERS
		"Team=free Accounts=free Tiers=bronze DefaultTier=bronze\n"
		"Team=lab Groups=lab MaxGpus=4\n");
	ok(conf && !is_limited(conf, "free", "gres:gpu:1", false, false),
	   "a job of a team without a limit is not limited");
	egs_conf_free(conf);
}

int main(void)
{
	plan_none();
	conf_enter();
	check_limited();
	conf_leave();
	return done_testing();
}
