/* conf_usage.c - the file of a 300-node site, and the smallest useful one */
#include "common/base/array.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

static const char site[] =
	"Mode=observe                        # \"enforce\" after two weeks\n"
	"Partitions=gpu,serve,scavenge       # where EGS may act\n"
	"PreemptBase=preempt/qos             # for jobs that are not ours\n"
	"TierOrder=prod,research,scavenge    # strongest first\n"
	"LiveResize=no                       # its own decision, later\n"
	"Operators=hpcadmin                  # besides Slurm's operators\n"
	"Currency=EUR\n"
	"GpuType=h100 Rating=2.3 Price=2.10  # rating 1.0 = a100\n"
	"GpuType=a100 Rating=1.0 Price=0.90\n"
	"Tier=prod     AllowAccounts=fraud-prod MinRuntime=1h NoRequeue=spare\n"
	"Tier=research MinRuntime=15m MaxPreemptions=3/day GraceMax=10m\n"
	"Tier=scavenge Loan=always MinRuntime=0s MaxPreemptions=none \\\n"
	"              GraceMax=2m NoRequeue=cancel Qos=low \\\n"
	"              Partitions=scavenge\n"
	"Team=fraud    Accounts=fraud,fraud-prod Quota=h100:160,a100:80 \\\n"
	"              Tiers=prod,research DefaultTier=research\n"
	"Team=vision   Accounts=vision* Quota=h100:480,a100:1120 \\\n"
	"              Tiers=research,scavenge DefaultTier=research\n"
	"Team=students Accounts=teaching Quota=none Tiers=scavenge \\\n"
	"              DefaultTier=scavenge MaxGpus=a100:256 \\\n"
	"              MaxGpuHours=3000/week\n"
	"Phase=prep    Gpus=0 OutOfRange=adjust\n"
	"Phase=infer   Partitions=serve\n"
	"Workload=fraud Team=fraud Phase=infer   Gpus=4    Floor=h100:24\n"
	"Workload=fraud Team=fraud Phase=retrain Gpus=8-64 \\\n"
	"              DependentsFirst=preempt\n";

static void global_values(const struct egs_policy_conf *c)
{
	is_int(c->mode, EGS_MODE_OBSERVE, "Mode");
	is_str(c->partitions, "gpu,serve,scavenge", "Partitions");
	is_str(c->preempt_base, "preempt/qos", "PreemptBase");
	is_str(c->operators, "hpcadmin", "Operators");
	is_str(c->currency, "EUR", "Currency");
	ok(!c->live_resize, "LiveResize");
	is_int(c->stale_after_s, 60, "StaleAfter has its default");
	is_int(c->ntypes, 2, "two types of GPU");
	is_int(c->type[0].rating, 2300, "the rating of an h100");
	is_int((intmax_t)c->type[0].price, 2100000, "the price of an h100");
	is_int((intmax_t)c->type[1].price, 900000, "the price of an a100");
}

static void tiers(const struct egs_policy_conf *c)
{
	const struct egs_tier *prod = &c->tier[0];
	const struct egs_tier *scavenge = &c->tier[2];

	is_int(c->ntiers, 3, "three tiers");
	is_str(prod->name, "prod", "the strongest is the first of TierOrder");
	is_str(prod->allow_accounts, "fraud-prod", "AllowAccounts");
	is_int(prod->min_runtime_s, 3600, "MinRuntime=1h");
	is_int(prod->no_requeue, EGS_FATE_NONE, "NoRequeue=spare");
	ok(prod->revenue, "prod earns");
	is_int(c->tier[1].max_preemptions.count, 3, "MaxPreemptions=3/day");
	is_int(c->tier[1].max_preemptions.per_s, 86400, "a day has its time");
	is_int(scavenge->loan, EGS_LOAN_ALWAYS, "Loan=always");
	is_int(scavenge->min_runtime_s, 0, "MinRuntime=0s");
	is_int(scavenge->max_preemptions.count, EGS_UNLIMITED, "no budget");
	is_int(scavenge->grace_max_s, 120, "GraceMax=2m");
	is_int(scavenge->no_requeue, EGS_FATE_CANCEL, "NoRequeue=cancel");
	is_str(scavenge->partitions, "scavenge", "Partitions of a tier");
	ok(!scavenge->revenue, "the last tier earns nothing unless it says so");
}

static void teams(const struct egs_policy_conf *c)
{
	const struct egs_team *fraud = &c->team[0];
	const struct egs_team *students = &c->team[2];

	is_int(c->nteams, 3, "three teams");
	is_int(fraud->quota[0], 160, "h100 of fraud");
	is_int(fraud->quota[1], 80, "a100 of fraud");
	is_int(fraud->tiers, 3, "fraud has prod and research");
	is_int(fraud->default_tier, 1, "and research without a word");
	ok(egs_conf_list_has(c->team[1].accounts, "vision-x"),
	   "vision* matches");
	is_int(students->quota[1], 0, "Quota=none");
	is_int(students->max_gpus[1], 256, "MaxGpus");
	is_int(students->max_gpus[0], EGS_UNLIMITED, "of that type only");
	is_int(students->max_gpu_hours.count, 3000, "MaxGpuHours");
	is_int(students->max_gpu_hours.per_s, 604800, "a week");
}

static void phases_and_workloads(const struct egs_policy_conf *c)
{
	const char *names[EGS_PHASES_MAX];
	const struct egs_workload *serve = &c->workload[0];
	const struct egs_workload *retrain = &c->workload[1];

	is_int((intmax_t)egs_conf_list_phases(c, names), 5, "five phases");
	is_str(names[0], "prep", "the first is prep");
	is_int(c->phase[0].gpus.max, 0, "which takes no GPU");
	is_int(c->phase[0].out_of_range, EGS_RANGE_ADJUST, "and adjusts");
	is_str(c->phase[3].partitions, "serve", "Partitions of a phase");
	is_int(c->nworkloads, 2, "two rows of a workload");
	is_int(serve->floor[0], 24, "a floor of 24");
	is_int(serve->phase, 3, "for inference");
	is_int(retrain->gpus.min, 8, "retraining from 8");
	is_int(retrain->gpus.max, 64, "to 64 GPUs");
	is_int(retrain->dependents_first, EGS_DEPENDENTS_PREEMPT,
	       "DependentsFirst of a workload");
}

static void capacity(const struct egs_policy_conf *c)
{
	uint32_t gpus[EGS_TYPE_ROWS] = { 640, 1200 };
	struct egs_err err;

	is_int(egs_conf_check_capacity(c, gpus, &err), 0, "the quotas fit");
	gpus[1]--;
	is_int(egs_conf_check_capacity(c, gpus, &err), -1, "by one GPU");
	is_str(err.msg,
	       "the quotas of all teams are 1200 a100 GPUs, and the cluster "
	       "has 1199",
	       "and that is said");
}

static void smallest(void)
{
	struct egs_conf *conf = conf_load("TierOrder=prod,scavenge\n"
					  "Tier=scavenge Partitions=scavenge");
	const struct egs_policy_conf *c = conf ? egs_conf_policy(conf) : NULL;

	ok(c && c->ntiers == 2, "the smallest useful file has two tiers");
	ok(c && c->tier[0].yields, "and a tier without a record its defaults");
	egs_conf_free(conf);
	conf = conf_load("");
	ok(conf, "an empty file is a configuration too");
	egs_conf_free(conf);
}

/* Ways to write one thing. */
static void grammar(void)
{
	static const char *const ways[] = {
		"Port=7000",
		"port = 7000",
		"\tPORT=\"7000\"\n",
		"Port=7000# the old one",
		"Port=7000 # \"",
		"Port=7000\r\n",
		"Port=\\\n7000",
		"Port \\\r\n = \\\r\n 7000\r\n",
		"\\\n\n\tPort=7000 \\",
		"# Port=7001 \\\nPort=7000",
		"Mode=observe Port=7000 LiveResize=no",
		"\n\n\nPort=7000\n\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct egs_conf *conf = conf_load(ways[i]);

		is_int(conf ? (intmax_t)egs_conf_policy(conf)->port : 0, 7000,
		       "way %zu to say Port=7000", i);
		egs_conf_free(conf);
	}
}

static void site_phases(void)
{
	struct egs_conf *conf = conf_load("Phase=Distill Gpus=2-4\n"
					  "Phase=training Weight=0.5");
	const char *names[EGS_PHASES_MAX];

	if (!ok(conf, "a site adds a phase"))
		return;
	is_int((intmax_t)egs_conf_list_phases(egs_conf_policy(conf), names), 6,
	       "beside the built-in ones");
	is_str(names[5], "distill", "in lower case, behind them");
	is_int(egs_conf_policy(conf)->phase[1].weight, 500,
	       "and 'training' means train");
	egs_conf_free(conf);
}

/* A load that fails changes nothing. */
static void reload(void)
{
	struct egs_conf *conf = conf_load("Port=7000");
	const struct egs_conf *old = conf;

	conf_write("egs.conf", "Port=7001\nMode=no");
	is_int(egs_conf_load(&conf, "egs.conf", &conf_problems), -1,
	       "a bad file is not loaded");
	ok(conf == old && egs_conf_policy(conf)->port == 7000,
	   "and the old one is still in force");
	conf_write("egs.conf", "Port=7001");
	is_int(egs_conf_load(&conf, "egs.conf", &conf_problems), 0,
	       "a good file is loaded");
	is_int(egs_conf_policy(conf)->port, 7001, "in the place of the old");
	is_int((intmax_t)conf_problems.count, 0, "without a problem");
	egs_conf_free(conf);
}

/* One slip in any value of the site's file is found. */
static void every_slip(void)
{
	char text[sizeof(site)];
	struct egs_conf *conf;
	int found = 0;
	int made = 0;

	for (size_t i = 1; i + 1 < sizeof(site); i++) {
		if (site[i - 1] != '=' || site[i] == ' ')
			continue;
		memcpy(text, site, sizeof(site));
		text[i] = '\001';
		conf = conf_load(text);
		found += !conf;
		egs_conf_free(conf);
		made++;
	}
	is_int(found, made, "%d slips, each of them found", made);
}

int main(void)
{
	struct egs_conf *conf;

	plan_none();
	conf_enter();
	conf = conf_load(site);
	if (ok(conf, "the site's file parses")) {
		global_values(egs_conf_policy(conf));
		tiers(egs_conf_policy(conf));
		teams(egs_conf_policy(conf));
		phases_and_workloads(egs_conf_policy(conf));
		capacity(egs_conf_policy(conf));
	}
	egs_conf_free(conf);
	smallest();
	grammar();
	site_phases();
	reload();
	every_slip();
	conf_leave();
	return done_testing();
}
