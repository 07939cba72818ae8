/* conf_usage.c - the file of a 300-node site, and the smallest useful one */
#include "common/base/array.h"
#include "common/conf/judge.h"
#include "common/conf/names.h"
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
	is_int(c->mode, EGS_MODE_OBSERVE, "Mode= of the site is observe");
	is_str(c->partitions, "gpu,serve,scavenge",
	       "Partitions= is stored as a list");
	is_str(c->preempt_base, "preempt/qos", "PreemptBase= is stored");
	is_str(c->operators, "hpcadmin", "Operators= is stored");
	is_str(c->currency, "EUR", "Currency= is stored");
	ok(!c->live_resize, "LiveResize=no is false");
	is_int(c->stale_after_s, 60, "StaleAfter has its default");
	is_int(c->ntypes, 2, "the site has two types of GPU");
	is_int(c->type[0].rating, 2300,
	       "an h100 has its rating in thousandths");
	is_int((intmax_t)c->type[0].price, 2100000,
	       "an h100 has its price in millionths");
	is_int((intmax_t)c->type[1].price, 900000,
	       "an a100 has its price in millionths");
}

static void tiers(const struct egs_policy_conf *c)
{
	const struct egs_tier *prod = &c->tier[0];
	const struct egs_tier *scavenge = &c->tier[2];

	is_int(c->ntiers, 3, "the site has three tiers");
	is_str(prod->name, "prod",
	       "the first tier of TierOrder= is the strongest");
	is_str(prod->allow_accounts, "fraud-prod", "AllowAccounts= is stored");
	is_int(prod->min_runtime_s, 3600, "MinRuntime=1h is 3600 s");
	is_int(prod->no_requeue, EGS_FATE_NONE, "NoRequeue=spare is stored");
	ok(prod->revenue, "a tier has Revenue=yes by default");
	is_int(c->tier[1].max_preemptions.count, 3,
	       "MaxPreemptions=3/day is a count of 3");
	is_int(c->tier[1].max_preemptions.per_s, 86400,
	       "MaxPreemptions=3/day has a period of one day");
	is_int(scavenge->loan, EGS_LOAN_ALWAYS, "Loan=always is stored");
	is_int(scavenge->min_runtime_s, 0, "MinRuntime=0s is 0 s");
	is_int(scavenge->max_preemptions.count, EGS_UNLIMITED,
	       "MaxPreemptions=none is unlimited");
	is_int(scavenge->grace_max_s, 120, "GraceMax=2m is 120 s");
	is_int(scavenge->no_requeue, EGS_FATE_CANCEL,
	       "NoRequeue=cancel is stored");
	is_str(scavenge->partitions, "scavenge",
	       "a tier has its own Partitions=");
	ok(!scavenge->revenue, "the last tier has Revenue=no by default");
}

static void teams(const struct egs_policy_conf *c)
{
	const struct egs_team *fraud = &c->team[0];
	const struct egs_team *students = &c->team[2];

	is_int(c->nteams, 3, "the site has three teams");
	is_int(fraud->quota[0], 160, "Quota= of fraud has 160 h100");
	is_int(fraud->quota[1], 80, "Quota= of fraud has 80 a100");
	is_int(fraud->tiers, 3, "Tiers= is a bit for each tier");
	is_int(fraud->default_tier, 1, "DefaultTier= is the index of the tier");
	ok(egs_conf_list_has(c->team[1].accounts, "vision-x"),
	   "Accounts=vision* matches vision-x");
	is_int(students->quota[1], 0, "Quota=none is 0 GPUs");
	is_int(students->max_gpus[1], 256, "MaxGpus= limits the type it names");
	is_int(students->max_gpus[0], EGS_UNLIMITED,
	       "MaxGpus= does not limit other types");
	is_int(students->max_gpu_hours.count, 3000,
	       "MaxGpuHours=3000/week is a count of 3000");
	is_int(students->max_gpu_hours.per_s, 604800,
	       "MaxGpuHours=3000/week has a period of one week");
}

static void typed_phases(const struct egs_policy_conf *c)
{
	is_int(egs_conf_find_typed_phase(c, "Inference"),
	       egs_conf_find_phase(c, "infer"), "Inference is the phase infer");
	is_int(egs_conf_find_typed_phase(c, "finetune"),
	       egs_conf_find_phase(c, "train"), "finetune is the phase train");
	is_int(egs_conf_find_typed_phase(c, "lunch"), -1,
	       "lunch is not a phase");
}

static void phases_and_workloads(const struct egs_policy_conf *c)
{
	const char *names[EGS_PHASES_MAX];
	const struct egs_workload *serve = &c->workload[0];
	const struct egs_workload *retrain = &c->workload[1];

	is_int((intmax_t)egs_conf_list_phases(c, names), 5,
	       "there are five built-in phases");
	is_str(names[0], "prep", "prep is the first phase");
	is_int(c->phase[0].gpus.max, 0, "Gpus=0 of a phase is no GPU");
	is_int(c->phase[0].out_of_range, EGS_RANGE_ADJUST,
	       "OutOfRange=adjust is stored");
	is_str(c->phase[3].partitions, "serve",
	       "a phase has its own Partitions=");
	is_int(c->nworkloads, 2, "a workload has a row for each of its phases");
	is_int(serve->floor[0], 24, "Floor=h100:24 is 24 GPUs of that type");
	is_int(serve->phase, 3,
	       "Phase= of a workload is the index of the phase");
	is_int(retrain->gpus.min, 8, "Gpus=8-64 has a minimum of 8");
	is_int(retrain->gpus.max, 64, "Gpus=8-64 has a maximum of 64");
	is_int(retrain->dependents_first, EGS_DEPENDENTS_PREEMPT,
	       "a workload has its own DependentsFirst=");
}

static void capacity(const struct egs_policy_conf *c)
{
	struct egs_err err;

	is_int(egs_judge_quotas(c, 1, 1200, &err), 0,
	       "quotas that equal the cluster are accepted");
	is_int(egs_judge_quotas(c, 1, 1199, &err), -1,
	       "quotas of one GPU more than the cluster are refused");
	is_str(err.msg,
	       "the quotas of all teams add up to 1200 a100 GPUs, but the "
	       "cluster has 1199",
	       "the refusal has the type, the quotas and the cluster");
}

static void smallest(void)
{
	struct egs_conf *conf = conf_load("TierOrder=prod,scavenge\n"
					  "Tier=scavenge Partitions=scavenge");
	const struct egs_policy_conf *c = conf ? egs_conf_policy(conf) : NULL;

	ok(c && c->ntiers == 2, "the smallest useful file has two tiers");
	ok(c && c->tier[0].yields, "a tier without a record has its defaults");
	egs_conf_free(conf);
	conf = conf_load("");
	ok(conf, "an empty file is a configuration");
	egs_conf_free(conf);
}

/* Several ways to write one line. */
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
		       "way %zu to write Port=7000 is read", i);
		egs_conf_free(conf);
	}
}

static void site_phases(void)
{
	struct egs_conf *conf = conf_load("Phase=Distill Gpus=2-4\n"
					  "Phase=training Weight=0.5");
	const char *names[EGS_PHASES_MAX];

	if (!ok(conf, "a site can add a phase"))
		return;
	is_int((intmax_t)egs_conf_list_phases(egs_conf_policy(conf), names), 6,
	       "a phase of the site is one more than the built-in five");
	is_str(names[5], "distill",
	       "a phase of the site is last, in lower case");
	is_int(egs_conf_policy(conf)->phase[1].weight, 500,
	       "Phase=training sets values of train");
	egs_conf_free(conf);
}

/* A load that fails changes nothing. */
static void reload(void)
{
	struct egs_conf *conf = conf_load("Port=7000");
	const struct egs_conf *old = conf;

	conf_write("egs.conf", "Port=7001\nMode=no");
	is_int(egs_conf_load(&conf, "egs.conf", &conf_problems), -1,
	       "a bad file is refused at a reload");
	ok(conf == old && egs_conf_policy(conf)->port == 7000,
	   "the old configuration stays after a bad file");
	conf_write("egs.conf", "Port=7001");
	is_int(egs_conf_load(&conf, "egs.conf", &conf_problems), 0,
	       "a good file is loaded at a reload");
	is_int(egs_conf_policy(conf)->port, 7001,
	       "a good file replaces the old configuration");
	is_int((intmax_t)conf_problems.count, 0, "a good file has no problems");
	egs_conf_free(conf);
}

/* A control character in any value of the site's file is found. */
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
	is_int(found, made, "each of %d mistakes in the file is found", made);
}

int main(void)
{
	struct egs_conf *conf;

	plan_none();
	conf_enter();
	conf = conf_load(site);
	if (ok(conf, "the file of a 300-node site is accepted")) {
		global_values(egs_conf_policy(conf));
		tiers(egs_conf_policy(conf));
		teams(egs_conf_policy(conf));
		typed_phases(egs_conf_policy(conf));
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
