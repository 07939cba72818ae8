/* doctor.c - what a cluster's configuration lacks for EGS, line by line */
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/doctor.h"
#include "t/lib/unit/tap.h"

#define STOCK                                              \
	"Configuration data as of 2026-11-16T14:09:12\n"   \
	"AccountingStorageTRES   = cpu,mem\n"              \
	"JobRequeue              = 1\n"                    \
	"JobSubmitPlugins        = (null)\n"               \
	"MaxBatchRequeue         = 5\n"                    \
	"MinJobAge               = 300 sec\n"              \
	"PluginDir               = /lib/slurm\n"           \
	"PreemptMode             = OFF\n"                  \
	"PreemptType             = preempt/none\n"         \
	"PriorityType            = priority/multifactor\n" \
	"RequeueExit             = (null)\n"               \
	"SchedulerParameters     = defer\n"                \
	"SelectType              = select/cons_tres\n"     \
	"SlurmctldParameters     = (null)\n"

#define READY                                                               \
	"JobRequeue = 1\nJobSubmitPlugins = lua,egs\nMinJobAge = 300 sec\n" \
	"PluginDir = /egs/select:/egs:/lib/slurm\nPreemptMode = REQUEUE\n"  \
	"PreemptType = preempt/egs\nPriorityType = priority/multifactor\n"  \
	"PrioritySiteFactorPlugin = (null)\nRequeueExit = 3,99\n"           \
	"SchedulerParameters = preempt_reorder_count=2,"                    \
	"preempt_strict_order\nSelectType = select/cons_tres\n"             \
	"SlurmctldParameters = preempt_send_user_signal\n"                  \
	"SLURM_VERSION = 22.05.8\n"

static char *said;
static size_t len;
static struct egs_policy_conf *policy;

static bool there(const char *path)
{
	return !strstr(path, "missing");
}

static struct egs_doctor patient(const char *config)
{
	return (struct egs_doctor){
		.config = config,
		.slurm_conf =
			"PrioritySiteFactorPlugin=site_factor/egs # ours\n",
		.plugstack = "# optional\noptional /egs/spank_egs.so\n",
		.policy = policy,
		.built_for = "22.05.8",
		.plugin_dir = "/egs",
		.has_path = there,
	};
}

static bool well(struct egs_doctor *d)
{
	free(said);
	said = NULL;
	d->out = open_memstream(&said, &len);
	egs_doctor_check_all(d);
	fclose(d->out);
	return egs_doctor_is_ok(d);
}

static void says(const char *line, const char *words)
{
	const char *at = strstr(said, line);

	ok(at && (at == said || at[-1] == '\n') && at[strlen(line)] == '\n',
	   "%s: %s", words, line);
}

static void stock(void)
{
	struct egs_doctor d = patient(STOCK "SLURM_VERSION = 22.05.8\n");

	d.slurm_conf = d.plugstack = "";
	d.policy = NULL;
	d.preflight = true;
	ok(well(&d), "nothing of a stock cluster is in the way");
	says("add     PluginDir=/egs/select:/egs:/lib/slurm",
	     "the directories go before Slurm's");
	says("add     JobSubmitPlugins=egs", "a list that is empty");
	says("add     SchedulerParameters=defer,preempt_strict_order",
	     "and one that is not");
	says("add     SlurmctldParameters=preempt_send_user_signal",
	     "the signal of 22.05");
	says("add     in plugstack.conf: optional /egs/spank_egs.so",
	     "the line of plugstack.conf");
	ok(!strstr(said, "MaxBatchRequeue"), "what 22.05 does not have");
	d.preflight = false;
	memset(d.line_count, 0, sizeof(d.line_count));
	ok(!well(&d), "without --preflight all of that is missing");
	ok(!strstr(said, "PreemptType"),
	   "but without an egs.conf only what checks hints");

	d = patient(STOCK "SLURM_VERSION = 24.11.5\n");
	d.built_for = "24.11.5";
	d.preflight = true;
	ok(well(&d), "the same later");
	says("add     PreemptParameters=send_user_signal", "in other words");
	says("add     MaxBatchRequeue=1000000, now it is 5", "and one more");
}

static void ready(void)
{
	struct egs_doctor d = patient(READY);

	ok(well(&d) && !d.line_count[EGS_ADVICE_WORRY],
	   "a cluster that has all is well: %s",
	   d.line_count[EGS_ADVICE_WORRY] ? said : "");
	says("fine    PrioritySiteFactorPlugin=site_factor/egs",
	     "what slurmctld does not tell is read in slurm.conf");
}

/* Each has READY, and before it a line that is seen first. */
static void troubles(void)
{
	static const struct {
		const char *config, *line;
		bool well;
	} cases[] = {
		{ "SLURM_VERSION = 24.11.5\n",
		  "change  slurmctld is 24.11.5 and EGS was built for 22.05.8: "
		  "build it again",
		  false },
		{ "SLURM_VERSION = 22.05.8-0pre1\n",
		  "fine    slurmctld is 22.05.8, and so is EGS", true },
		{ "PluginDir = /missing:/egs\n",
		  "change  PluginDir: /missing is not there; Slurm's commands "
		  "fail on such a host",
		  false },
		{ "JobSubmitPlugins = egs,lua\n",
		  "worry   JobSubmitPlugins=egs,lua: egs is not the last, so "
		  "others change what it has checked",
		  true },
		{ "SelectType = select/linear\n",
		  "change  SelectType=select/cons_tres, now it is "
		  "select/linear",
		  false },
		{ "PriorityType = priority/basic\n",
		  "change  PriorityType=priority/multifactor, now it is "
		  "priority/basic",
		  false },
		{ "PreemptMode = GANG,SUSPEND\n",
		  "change  PreemptMode=GANG,SUSPEND: without GANG", false },
		{ "SchedulerParameters = preempt_youngest_first\n",
		  "change  SchedulerParameters=preempt_youngest_first: without "
		  "preempt_youngest_first",
		  false },
		{ "PreemptType = preempt/qos\n",
		  "add     in egs.conf: PreemptBase=preempt/qos, for jobs that "
		  "are not managed",
		  false },
		{ "RequeueExit = 199\n", "add     RequeueExit=199,99", false },
		{ "MinJobAge = 2 sec\n",
		  "worry   MinJobAge=2: a job may end and be forgotten between "
		  "two looks of the daemon; 300 is usual",
		  true },
		{ "JobRequeue = 0\n",
		  "worry   JobRequeue=0: jobs that do not say --requeue cannot "
		  "come back after a preemption",
		  true },
	};
	char config[4096];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct egs_doctor d = patient(config);

		snprintf(config, sizeof(config), "%s" READY, cases[i].config);
		is_int(well(&d), cases[i].well, "%.*s",
		       (int)strcspn(cases[i].config, "\n"), cases[i].config);
		says(cases[i].line, "is told");
	}
}

static void hosts(void)
{
	struct egs_doctor d = patient(READY);

	d.plugstack = "required /egs/spank_egs.so\n";
	ok(!well(&d), "a required plugin takes nodes away");
	d = patient(READY);
	d.plugstack = "optional /egs/spank_egs.so inert\n";
	ok(well(&d), "an inert one may be meant so");
	says("worry   plugstack.conf: spank_egs.so is inert, options of EGS "
	     "are ignored",
	     "and is told");
	d = patient(READY);
	d.plugin_dir = "/missing";
	ok(!well(&d), "plugins that are not there");
	d = patient(READY);
	d.clock_skew_s = -40;
	ok(!well(&d), "a clock that is wrong");
	d = patient(READY);
	d.clock_skew_s = 5;
	ok(well(&d) && d.line_count[EGS_ADVICE_WORRY] == 1, "or a little so");
}

static void devices(void)
{
	struct egs_doctor d = patient(READY "ConstrainDevices = yes\n"
					    "CgroupPlugin = cgroup/v1\n");
	struct egs_policy_conf live = *policy;

	live.live_resize = true;
	d.policy = &live;
	ok(well(&d), "live resize with device cgroups may be tried");
	says("worry   ConstrainDevices=yes with CgroupPlugin=cgroup/v1: with "
	     "it LiveResize=yes is untested, with cgroup/v2 it is not",
	     "and is told to be untested in the first version");
	d = patient(READY "ConstrainDevices = yes\n"
			  "CgroupPlugin = cgroup/v2\n");
	d.policy = &live;
	ok(well(&d) && d.line_count[EGS_ADVICE_WORRY] == 0,
	   "of the second there is nothing to say");
	d = patient(READY);
	d.policy = &live;
	ok(well(&d), "without them it is no worse than Slurm");
	says("worry   LiveResize=yes without ConstrainDevices=yes in "
	     "cgroup.conf: a new step can open GPUs that its job has given "
	     "back",
	     "but what nobody keeps is told");
}

static void accounts(void)
{
	struct egs_doctor d = patient("AccountingStorageTRES = cpu\n" READY);

	d.assocs = "root||\nroot|root|\nfraud||gres/gpu=4,cpu=9\nfraud|alice|\n"
		   "physics||\nchem||\n";
	d.qos = "normal|\nlow|cpu=9,gres/gpu:a100=2\n";
	ok(well(&d), "accounts are nothing that has to be changed");
	says("worry   accounts in no team, their jobs are not managed: "
	     "physics, chem",
	     "who is in no team is told");
	says("worry   account fraud has GrpTRES=gres/gpu=4,cpu=9 beside the "
	     "quota of team fraud: Slurm holds what EGS would lend",
	     "and a limit beside a quota");
	says("worry   QOS low has GrpTRES=cpu=9,gres/gpu:a100=2 beside the "
	     "quotas of egs.conf: Slurm holds what EGS would lend",
	     "also one of a QOS");
	says("worry   AccountingStorageTRES=gres/gpu is not there: sacct and "
	     "sreport count no GPUs",
	     "and GPUs that nobody counts");
}

int main(void)
{
	struct egs_team *team;

	plan_none();
	policy = egs_policy_conf_new();
	team = egs_conf_add_team(policy, "fraud");
	team->accounts = strdup("fraud*");
	stock();
	ready();
	troubles();
	hosts();
	devices();
	accounts();
	free(said);
	egs_policy_conf_free(policy);
	return done_testing();
}
