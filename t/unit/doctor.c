/* doctor.c - advice of egsctl doctor, line by line */
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/doctor.h"
#include "common/base/array.h"
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
	"SchedulerParameters     = defer\n"                \
	"SelectType              = select/cons_tres\n"     \
	"SlurmctldParameters     = (null)\n"

#define READY                                                               \
	"JobRequeue = 1\nJobSubmitPlugins = lua,egs\nMinJobAge = 300 sec\n" \
	"PluginDir = /egs/select:/egs:/lib/slurm\nPreemptMode = REQUEUE\n"  \
	"PreemptType = preempt/egs\nPriorityType = priority/multifactor\n"  \
	"PrioritySiteFactorPlugin = (null)\nRequeueExit = 3\n"              \
	"SchedulerParameters = preempt_reorder_count=2,"                    \
	"preempt_strict_order\nSelectType = select/cons_tres\n"             \
	"SlurmctldParameters = preempt_send_user_signal\n"                  \
	"SLURM_VERSION = 22.05.8\n"

static char *output;
static size_t output_size;
static struct egs_policy_conf *policy;

static bool has_path(const char *path)
{
	return !strstr(path, "missing");
}

static struct egs_doctor doctor_for(const char *config)
{
	return (struct egs_doctor){
		.config = config,
		.slurm_conf =
			"PrioritySiteFactorPlugin=site_factor/egs # ours\n",
		.plugstack = "# optional\noptional /egs/spank_egs.so\n",
		.policy = policy,
		.built_for = "22.05.8",
		.plugin_dir = "/egs",
		.has_path = has_path,
	};
}

static bool is_ok(struct egs_doctor *d)
{
	free(output);
	output = NULL;
	d->out = open_memstream(&output, &output_size);
	egs_doctor_check_all(d);
	fclose(d->out);
	return egs_doctor_is_ok(d);
}

static void prints(const char *line, const char *title)
{
	const char *at = strstr(output, line);

	ok(at && (at == output || at[-1] == '\n') && at[strlen(line)] == '\n',
	   "%s: %s", title, line);
}

static void test_stock(void)
{
	struct egs_doctor d = doctor_for(STOCK "SLURM_VERSION = 22.05.8\n");

	d.slurm_conf = d.plugstack = "";
	d.policy = NULL;
	d.preflight = true;
	ok(is_ok(&d), "preflight of a stock cluster is ok");
	prints("add     PluginDir=/egs/select:/egs:/lib/slurm",
	       "directories of EGS are put before Slurm's");
	prints("add     JobSubmitPlugins=egs",
	       "a word is added to an empty list");
	prints("add     SchedulerParameters=defer,preempt_strict_order,"
	       "preempt_reorder_count=4",
	       "all words that a list lacks are in one line");
	prints("add     SlurmctldParameters=preempt_send_user_signal",
	       "the signal of 22.05 is in SlurmctldParameters");
	prints("add     in plugstack.conf: optional /egs/spank_egs.so",
	       "plugstack.conf needs a line");
	ok(!strstr(output, "MaxBatchRequeue"),
	   "MaxBatchRequeue is not checked on 22.05");
	d.preflight = false;
	memset(d.line_count, 0, sizeof(d.line_count));
	ok(!is_ok(&d), "a stock cluster is not ok without --preflight");
	ok(!strstr(output, "PreemptType"),
	   "PreemptType is not checked without an egs.conf");
	ok(strstr(output, "there is no egs.conf"),
	   "a missing egs.conf is reported");
	d.has_policy_file = true;
	ok(!is_ok(&d) && strstr(output, "egs.conf cannot be used") &&
		   !strstr(output, "there is no egs.conf"),
	   "an egs.conf with a mistake is not reported as missing");

	d = doctor_for(STOCK "SLURM_VERSION = 24.11.5\n");
	d.built_for = "24.11.5";
	d.preflight = true;
	ok(is_ok(&d), "preflight of a stock cluster of 24.11 is ok");
	prints("add     PreemptParameters=strict_order,reorder_count=4,"
	       "send_user_signal",
	       "PreemptParameters of 24.11 are one line");
	prints("add     MaxBatchRequeue=1000000 # now it is 5",
	       "MaxBatchRequeue is checked on 24.11");
}

static void test_ready(void)
{
	struct egs_doctor d = doctor_for(READY);

	ok(is_ok(&d) && !d.line_count[EGS_ADVICE_WORRY],
	   "a complete cluster is ok without a worry: %s",
	   d.line_count[EGS_ADVICE_WORRY] ? output : "");
	prints("fine    PrioritySiteFactorPlugin=site_factor/egs",
	       "a key that slurmctld does not report is read in slurm.conf");
}

/* Each case is READY after a line that is found first. */
static void test_bad_lines(void)
{
	static const struct {
		const char *config, *line;
		bool ok;
	} cases[] = {
		{ "SLURM_VERSION = 24.11.5\n",
		  "change  slurmctld is 24.11.5, but EGS was built for "
		  "22.05.8: build EGS again",
		  false },
		{ "SLURM_VERSION = 22.05.8-0pre1\n",
		  "fine    slurmctld is 22.05.8, EGS was built for it", true },
		{ "PluginDir = /missing:/egs\n",
		  "change  PluginDir: /missing is missing; Slurm's commands "
		  "fail on this host",
		  false },
		{ "JobSubmitPlugins = egs,lua\n",
		  "worry   JobSubmitPlugins=egs,lua: egs is not last; plugins "
		  "after it can change what EGS has checked",
		  true },
		{ "SelectType = select/linear\n",
		  "change  SelectType=select/cons_tres # now it is "
		  "select/linear",
		  false },
		{ "PriorityType = priority/basic\n",
		  "change  PriorityType=priority/multifactor # now it is "
		  "priority/basic",
		  false },
		{ "PreemptMode = GANG,SUSPEND\n",
		  "change  PreemptMode=REQUEUE # now it is GANG,SUSPEND; "
		  "EGS does not work with GANG",
		  false },
		{ "SchedulerParameters = defer,preempt_youngest_first\n",
		  "change  SchedulerParameters=defer,preempt_strict_order,"
		  "preempt_reorder_count=4 # without preempt_youngest_first",
		  false },
		{ "PreemptType = preempt/qos\n",
		  "add     in egs.conf: PreemptBase=preempt/qos, for jobs that "
		  "are not managed",
		  false },
		{ "SlurmctldParameters = idle\n",
		  "add     SlurmctldParameters=idle,preempt_send_user_signal",
		  false },
		{ "MinJobAge = 2 sec\n",
		  "worry   MinJobAge=2: slurmctld may forget a job that ends "
		  "between two polls of egs-policyd; 300 is usual",
		  true },
		{ "JobRequeue = 0\n",
		  "worry   JobRequeue=0: after a preemption only jobs with a "
		  "checkpoint (--ckpt) or with --requeue are requeued; other "
		  "jobs, and jobs submitted while EGS only observes, follow "
		  "NoRequeue= of their tier",
		  true },
	};
	char config[4096];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egs_doctor d = doctor_for(config);

		snprintf(config, sizeof(config), "%s" READY, cases[i].config);
		is_int(is_ok(&d), cases[i].ok, "a cluster with %.*s is %s",
		       (int)strcspn(cases[i].config, "\n"), cases[i].config,
		       cases[i].ok ? "ok" : "not ok");
		prints(cases[i].line, "advice is printed");
	}
}

static void test_hosts(void)
{
	struct egs_doctor d = doctor_for(READY);

	d.plugstack = "required /egs/spank_egs.so\n";
	ok(!is_ok(&d), "a required SPANK plugin is not ok");
	d = doctor_for(READY);
	d.plugstack = "optional /egs/spank_egs.so inert\n";
	ok(is_ok(&d), "an inert SPANK plugin is ok");
	prints("worry   plugstack.conf: spank_egs.so is inert; options of EGS "
	       "are ignored",
	       "an inert SPANK plugin is a worry");
	d = doctor_for(READY);
	d.plugin_dir = "/missing";
	ok(!is_ok(&d), "missing plugins are not ok");
	d = doctor_for(READY);
	d.clock_skew_s = -40;
	ok(!is_ok(&d), "a clock skew of 40 s is not ok");
	d = doctor_for(READY);
	d.clock_skew_s = 5;
	ok(is_ok(&d) && d.line_count[EGS_ADVICE_WORRY] == 1,
	   "a clock skew of 5 s is a worry");
}

static void test_devices(void)
{
	struct egs_doctor d = doctor_for(READY "ConstrainDevices = yes\n"
					       "CgroupPlugin = cgroup/v1\n");
	struct egs_policy_conf live = *policy;

	live.live_resize = true;
	d.policy = &live;
	ok(is_ok(&d), "live resize with device cgroups is ok");
	prints("worry   ConstrainDevices=yes with CgroupPlugin=cgroup/v1: "
	       "LiveResize=yes is tested with cgroup/v2 only",
	       "live resize with cgroup/v1 is a worry");
	d = doctor_for(READY "ConstrainDevices = yes\n"
			     "CgroupPlugin = cgroup/v2\n");
	d.policy = &live;
	ok(is_ok(&d) && d.line_count[EGS_ADVICE_WORRY] == 0,
	   "live resize with cgroup/v2 is no worry");
	d = doctor_for(READY "ConstrainDevices = yes\n"
			     "CgroupPlugin = cgroup/v2\n"
			     "AccountingStorageType = "
			     "accounting_storage/slurmdbd\n");
	d.policy = &live;
	ok(is_ok(&d), "live resize with slurmdbd is ok");
	prints("worry   LiveResize=yes with slurmdbd before Slurm 24.11: jobs "
	       "cannot give back whole nodes, and a second resize waits until "
	       "slurmdbd answers",
	       "live resize with slurmdbd is a worry before 24.11");
	d = doctor_for("SlurmctldParameters = preempt_send_user_signal,"
		       "enable_stepmgr\n" READY);
	d.policy = &live;
	ok(is_ok(&d), "live resize with enable_stepmgr is ok");
	prints("worry   LiveResize=yes with enable_stepmgr in "
	       "SlurmctldParameters: no job changes its GPUs while it runs",
	       "live resize with enable_stepmgr is a worry");
	d = doctor_for(READY);
	d.policy = &live;
	ok(is_ok(&d), "live resize without device cgroups is ok");
	prints("worry   LiveResize=yes without ConstrainDevices=yes in "
	       "cgroup.conf: a new step can open GPUs that its job has given "
	       "back",
	       "live resize without device cgroups is a worry");
}

static void test_accounts(void)
{
	struct egs_doctor d = doctor_for("AccountingStorageTRES = cpu\n" READY);

	d.assocs = "root||\nroot|root|\nfraud||gres/gpu=4,cpu=9\nfraud|alice|\n"
		   "physics||\nchem||\n";
	d.qos = "normal|\nlow|cpu=9,gres/gpu:a100=2\n";
	ok(is_ok(&d), "accounts never have to be changed");
	prints("worry   accounts in no team (their jobs are not managed): "
	       "physics, chem",
	       "accounts in no team are a worry");
	prints("worry   account fraud has GrpTRES=gres/gpu=4,cpu=9 besides "
	       "the quota of team fraud: Slurm holds jobs that EGS would lend "
	       "GPUs",
	       "GrpTRES of an account besides a quota is a worry");
	prints("worry   QOS low has GrpTRES=cpu=9,gres/gpu:a100=2 besides "
	       "the quotas of egs.conf: Slurm holds jobs that EGS would lend "
	       "GPUs",
	       "GrpTRES of a QOS besides quotas is a worry");
	prints("worry   AccountingStorageTRES has no gres/gpu: sacct and "
	       "sreport count no GPUs",
	       "AccountingStorageTRES without GPUs is a worry");
}

/* slurmctld keeps the PreemptBase of its last start. */
static void test_remembered_base(void)
{
	struct egs_doctor d = doctor_for(READY);

	d.settings = "RunDir=/run/egs\nPreemptBase=preempt/qos\n";
	ok(is_ok(&d), "a PreemptBase that slurmctld remembers is no mistake");
	prints("worry   PreemptBase=none in egs.conf, but slurmctld uses "
	       "preempt/qos until its next restart",
	       "a PreemptBase that is not in force yet is a worry");
	d = doctor_for(READY);
	d.settings = "RunDir=/run/egs\nPreemptBase=none\n";
	is_ok(&d);
	ok(!strstr(output, "until its next restart"),
	   "a PreemptBase that is in force is no worry");
}

int main(void)
{
	struct egs_team *team;

	plan_none();
	policy = egs_policy_conf_new();
	team = egs_conf_add_team(policy, "fraud");
	team->accounts = strdup("fraud*");
	test_stock();
	test_remembered_base();
	test_ready();
	test_bad_lines();
	test_hosts();
	test_devices();
	test_accounts();
	free(output);
	egs_policy_conf_free(policy);
	return done_testing();
}
