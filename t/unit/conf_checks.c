/* conf_checks.c - values that are valid alone and contradict each other */
#include "common/base/array.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define ORDER "TierOrder=prod,low\n"
#define A     "Team=a Accounts=a Quota=h100:8 "

/* A file and its only problem; NULL: none. */
static const struct {
	const char *text;
	const char *problem;
} rows[] = {
	{ ORDER "Tier=low Loan=always Yields=no\n",
	  "egs.conf:2: Tier=low: Yields=no contradicts Loan=always: a tier "
	  "that never yields must run within quota" },
	{ ORDER "Tier=low Loan=never Yields=no\n", NULL },
	{ ORDER "Tier=low GraceMin=2m GraceMax=1m\n",
	  "egs.conf:2: Tier=low: GraceMin=2m is longer than GraceMax" },
	{ ORDER "Tier=low GraceNoAck=2m GraceMax=1m\n",
	  "egs.conf:2: Tier=low: GraceNoAck=2m is longer than GraceMax" },
	{ ORDER "Tier=low GraceMax=10s\n", NULL },
	{ ORDER "Tier=low Spill=no\n",
	  "egs.conf:2: Tier=low: Spill=no needs Nodes=" },
	{ ORDER "Tier=low Spill=no Nodes=gpu[01-04],big1\n", NULL },
	{ ORDER "Phase=eval Spill=no\n",
	  "egs.conf:2: Phase=eval: Spill=no needs Nodes=" },
	{ ORDER "Phase=eval Spill=no Nodes=gpu1\n", NULL },
	{ ORDER "Phase=eval IdleYield=30m\n",
	  "egs.conf:2: Phase=eval: IdleYield=30m needs IdleWarn=: a job is "
	  "warned before it is asked" },
	{ ORDER "Phase=eval IdleWarn=31m IdleYield=30m\n",
	  "egs.conf:2: Phase=eval: IdleYield=30m is shorter than IdleWarn" },
	{ ORDER "Phase=eval IdleWarn=15m IdleYield=30m StallAfter=1h\n", NULL },
	{ ORDER "Phase=eval IdleWarn=15m IdleYield=never\n", NULL },
	{ ORDER "Tier=low Partitions=low\nPartitions=gpu\n",
	  "egs.conf:2: Tier=low: Partitions=low has 'low', which is not in the "
	  "global Partitions=" },
	{ ORDER "Tier=low Partitions=x,y\nTier=prod Partitions=y\n",
	  "egs.conf:2: Tier=low: Partitions=x,y has 'y', which is also in "
	  "Tier=prod" },
	{ ORDER "Tier=low Qos=x\nTier=prod Qos=x\n",
	  "egs.conf:2: Tier=low: Qos=x has 'x', which is also in Tier=prod" },
	{ A "\nTeam=b Accounts=b,a\n",
	  "egs.conf:2: Team=b: Accounts=b,a has 'a', which is also in Team=a" },
	{ A "\nTeam=b Accounts=*\n",
	  "egs.conf:2: Team=b: Accounts=* has '*', which is also in Team=a" },
	{ "Team=b Accounts=vis*,dev\nTeam=c Accounts=vision-x\n",
	  "egs.conf:2: Team=c: Accounts=vision-x has 'vision-x', which is also "
	  "in Team=b" },
	{ "Team=b Accounts=vis*,vision\nTeam=c Accounts=vi,via*,video\n",
	  NULL },
	{ "Team=b Users=x\nTeam=c Groups=x\nTeam=d Accounts=x\n", NULL },
	{ "Team=b Users=x\nTeam=c Users=x\n",
	  "egs.conf:2: Team=c: Users=x has 'x', which is also in Team=b" },
	{ "Team=b Quota=8\n", "egs.conf:1: Team=b has no members; set "
			      "Accounts, Users or Groups" },
	{ ORDER A "Tiers=prod DefaultTier=low\n",
	  "egs.conf:2: Team=a: DefaultTier=low is not in Tiers=" },
	{ ORDER "Tier=low Loan=never\nTeam=b Accounts=b DefaultTier=low\n",
	  "egs.conf:3: Team=b: DefaultTier=low has Loan=never, and the team "
	  "has no Quota: its jobs would never start" },
	{ ORDER "Tier=low Loan=never\n" A "DefaultTier=low\n", NULL },
	{ A "MaxGpus=h100:7\n",
	  "egs.conf:1: Team=a: MaxGpus=h100:7 is less than the Quota of 8 "
	  "h100" },
	{ A "MaxGpus=h100:8\n", NULL },
	{ "Rule=hot On=temperature Do=warn\n",
	  "egs.conf:1: Rule=hot has no Above=, which On=temperature needs" },
	{ "Rule=hot On=power\n",
	  "egs.conf:1: Rule=hot has no Above=, which On=power needs" },
	{ "Rule=x On=xid Above=3\n",
	  "egs.conf:1: Rule=x: Above=3 does not go with On=xid, which has no "
	  "number" },
	{ "Rule=x On=memory Above=100\n",
	  "egs.conf:1: Rule=x: Above=100 is never exceeded: On=memory is a "
	  "percentage" },
	{ "Rule=x On=xid For=1m\n",
	  "egs.conf:1: Rule=x: For=1m does not go with On=xid: an XID has no "
	  "duration" },
	{ "Rule=x On=recovery Do=warn,drain\n",
	  "egs.conf:1: Rule=x: Do=warn,drain needs Limit=, for example "
	  "Limit=2/hour: a fault of the driver must not stop the cluster" },
	{ "Rule=x On=memory Above=98 Do=warn,drain Limit=2/hour\n",
	  "egs.conf:1: Rule=x: Do=warn,drain does not go with On=memory: a job "
	  "could close a node to other jobs with it" },
	{ "Rule=x On=power Above=700 Do=avoid\n",
	  "egs.conf:1: Rule=x: Do=avoid does not go with On=power: a job could "
	  "close a node to other jobs with it" },
	{ "Rule=x On=memory Above=98 Do=move Limit=2/hour\n",
	  "egs.conf:1: Rule=x: Do=move does not go with On=memory: a job could "
	  "close a node to other jobs with it" },
	{ "Rule=x On=memory Above=98 Do=note,warn\n", NULL },
	{ "Rule=x On=memory Above=98 Do=run=/bin/true\n",
	  "egs.conf:1: Rule=x: Do=run=/bin/true needs Limit=, for example "
	  "Limit=2/hour: a fault of the driver must not stop the cluster" },
	{ "Rule=x On=memory Above=98 Do=run=/bin/true Limit=2/hour\n", NULL },
	{ "Rule=x On=power Above=700 Do=cap=80%\n",
	  "egs.conf:1: Rule=x: Do=cap=80% needs Limit=, for example "
	  "Limit=2/hour: a fault of the driver must not stop the cluster" },
	{ "Rule=x On=power Above=700 Do=warn,cap=80% Limit=9/hour\n", NULL },
	{ "Rule=a On=recovery Do=drain,fence Limit=2/hour\n"
	  "Rule=b On=ecc Above=3 Do=fence Limit=1/day\n"
	  "Rule=c On=temperature Above=85 For=5m Do=warn\n"
	  "Rule=d On=slowdown For=10m\nRule=e On=xid\nRemediateMax=none\n",
	  NULL },
	{ A "\nWorkload=w Team=a Floor=h100:9\n",
	  "egs.conf:2: Workload=w: Floor=h100:9 makes the floors of Team=a 9 "
	  "h100, more than its Quota of 8" },
	{ A "\nWorkload=w Team=a Floor=h100:4\n"
	    "Workload=x Team=a Floor=h100:5\n",
	  "egs.conf:3: Workload=x: Floor=h100:5 makes the floors of Team=a 9 "
	  "h100, more than its Quota of 8" },
	{ A "\nWorkload=w Team=a Floor=h100:4\n"
	    "Workload=x Team=a Floor=h100:4\n",
	  NULL },
	{ A "\nWorkload=w Team=a Phase=eval\nWorkload=w Team=a Phase=eval\n",
	  "egs.conf:3: Workload=w: Phase=eval is given twice for Team=a" },
	{ A "\nWorkload=w Team=a Phase=eval\nWorkload=w Team=a\n", NULL },
	{ A "\nWorkload=w Team=a Phase=test\nWorkload=w Team=a Phase=eval\n",
	  "egs.conf:3: Workload=w: Phase=eval is given twice for Team=a" },
	{ A "\nWorkload=w Team=a Phase=test\nWorkload=w Team=a Phase=eval\n"
	    "Phase=test\n",
	  NULL },
	{ A "\nTeam=b Accounts=b Quota=4\n",
	  "egs.conf:2: Team=b: Quota=4 has no GPU type, but other lines have "
	  "one; use type:N" },
	{ "GpuType=h100\nTeam=b Accounts=b Quota=4\n", NULL },
	{ "GpuType=1g.10gb+me\nTeam=b Accounts=b Quota=1g.10gb+me:4\n", NULL },
	{ "StaleAfter=10s PollInterval=10s\n",
	  "egs.conf:1: StaleAfter=10s makes every decision stale: StaleAfter "
	  "must be longer than PollInterval" },
	{ "PollInterval=2m\n",
	  "egs.conf:1: PollInterval=2m makes every decision stale: StaleAfter "
	  "must be longer than PollInterval" },
	{ "SampleInterval=0 DcgmMapDir=/var/lib/map\n",
	  "egs.conf:1: DcgmMapDir=/var/lib/map needs a SampleInterval above 0: "
	  "DCGM's numbers of the GPUs come with the samples" },
	{ "SampleInterval=0 DcgmMapDir=none\n", NULL },
};

int main(void)
{
	plan_none();
	conf_enter();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_conf *conf = conf_load(rows[i].text);

		is_int((intmax_t)conf_problems.count, rows[i].problem != NULL,
		       "row %zu is %s", i,
		       rows[i].problem ? "refused" : "accepted");
		is_str(conf ? NULL : conf_problems.list[0].err.msg,
		       rows[i].problem, "row %zu has the expected sentence", i);
		egs_conf_free(conf);
	}
	conf_leave();
	return done_testing();
}
