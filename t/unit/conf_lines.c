/* conf_lines.c - lines of egs.conf that are refused, with their sentences */
#include "common/base/array.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define TIERS "TierOrder=prod,scavenge\n"
#define TEAM  TIERS "Team=a Accounts=a Quota=h100:8 "
#define SIX   "'_', '.' and '-' make one"

/* A file and all its problems. */
static const struct {
	const char *text;
	const char *problems[4];
} rows[] = {
	/* the grammar */
	{ "Mode",
	  { "egs.conf:1: 'Mode' is not Key=Value (lists have no "
	    "blanks)" } },
	{ "\xef\xbb\xbfMode=observe\nPort=0\n",
	  { "egs.conf:1: the file begins with a byte order mark; save it as "
	    "UTF-8 without one",
	    "egs.conf:2: Port=0 is too small, smallest is 1" } },
	{ "\n\nMode=\n",
	  { "egs.conf:3: Mode= is not a value (values: observe, "
	    "enforce)" } },
	{ "=x\n", { "egs.conf:1: '=' needs a key before it" } },
	{ "Currency=\"EUR\n",
	  { "egs.conf:1: a double quote is not closed on its line" } },
	{ "Currency=\"EUR\"x\n",
	  { "egs.conf:1: a blank must follow a closing quote" } },
	{ "Partitions=gpu, serve\n",
	  { "egs.conf:1: Partitions=gpu, has an empty entry",
	    "egs.conf:1: 'serve' is not Key=Value (lists have no blanks)" } },
	{ TIERS "Tier=prod \\\n MinRuntime=5 \\\n GraceMax=9\n",
	  { "egs.conf:3: Tier=prod: MinRuntime=5 is a bare number; use 5s or "
	    "5m",
	    "egs.conf:4: Tier=prod: GraceMax=9 is a bare number; use 9s or "
	    "9m" } },
	{ "Include\n", { "egs.conf:1: Include takes one file: Include FILE" } },
	{ "Include=x\n",
	  { "egs.conf:1: Include takes one file: Include FILE" } },

	/* keys */
	{ "Mod=observe\n",
	  { "egs.conf:1: Mod=observe is not a key; did you mean 'Mode'? (keys: "
	    "Mode, Partitions, PreemptBase, TierOrder, LiveResize, StaleAfter, "
	    "PollInterval, RecallDelay, LoanTime, FairShareHalfLife, "
	    "SiteFactorMax, DependentsFirst, Operators, WebUser, Port, "
	    "StateDir, "
	    "RunDir, NodeDir, RunDirSize, RunDirInodes, NodeSpool, Retention, "
	    "SampleInterval, SampleRetention, DcgmMapDir, Notify, "
	    "RemediateMax, MetricsInterval, JobMetrics, "
	    "Currency, GpuType, Tier, Team, Phase, Workload, Rule)" } },
	{ "Phase=train Gpu=4\n",
	  { "egs.conf:1: Phase=train: Gpu=4 is not a key; did you mean 'Gpus'? "
	    "(keys: Gpus, OutOfRange, Partitions, Nodes, Spill, Weight, "
	    "IdleWarn, IdleYield, StallAfter)" } },
	{ "Phase=train\nGpus=4\n",
	  { "egs.conf:2: Gpus=4 belongs to a Phase= record; to continue the "
	    "line above, end it with '\\'" } },
	{ "Phase=train Port=1\n",
	  { "egs.conf:1: Phase=train: Port=1 belongs on a line of its own" } },
	{ "Mode=observe Phase=train\n",
	  { "egs.conf:1: Phase=train begins a record and must be the first "
	    "word "
	    "of its line" } },
	{ "Mode=observe\nmode=enforce\n",
	  { "egs.conf:2: mode=enforce is given twice, first on line 1 of "
	    "egs.conf" } },
	{ "Phase=train Gpus=1 Gpus=2\n",
	  { "egs.conf:1: Phase=train: Gpus=2 is given twice, first on line 1 "
	    "of egs.conf" } },
	{ "Phase=train\nPhase=Training\n",
	  { "egs.conf:2: Phase=Training is given twice, first on line 1 of "
	    "egs.conf" } },

	/* names */
	{ "Phase=a/b\n",
	  { "egs.conf:1: Phase=a/b is not a name; letters, digits, " SIX } },
	{ "Phase=a+b\n",
	  { "egs.conf:1: Phase=a+b is not a name; letters, digits, " SIX } },
	{ "GpuType=a/b\n",
	  { "egs.conf:1: GpuType=a/b is not a name; letters, digits, '_', "
	    "'.', '+' and '-' make one" } },
	{ "Phase=none\n",
	  { "egs.conf:1: Phase=none is a reserved word and not a name" } },
	{ "Tier=prod\n",
	  { "egs.conf:1: Tier=prod needs TierOrder=, which is missing; it "
	    "lists all tiers, strongest first" } },
	{ "Team=a Accounts=a DefaultTier=prod Tiers=prod\n",
	  { "egs.conf:1: Team=a: DefaultTier=prod needs TierOrder=, which is "
	    "missing; it lists all tiers, strongest first",
	    "egs.conf:1: Team=a: Tiers=prod has 'prod', which needs "
	    "TierOrder=, which is missing; it lists all tiers, strongest "
	    "first" } },
	{ TIERS "Tier=prd Loan=alway Qso=x\n",
	  { "egs.conf:2: Tier=prd is not in TierOrder, which must list all "
	    "tiers, strongest first",
	    "egs.conf:2: Tier=prd: Loan=alway is not a value; did you mean "
	    "'always'? (values: overquota, always, never)",
	    "egs.conf:2: Tier=prd: Qso=x is not a key; did you mean 'Qos'? "
	    "(keys: AllowAccounts, AllowUsers, AllowGroups, Qos, Partitions, "
	    "Loan, Yields, MinRuntime, MaxPreemptions, GraceMin, GraceMax, "
	    "GraceNoAck, AtDeadline, NoCheckpoint, NoRequeue, Expedite, "
	    "Revenue, Nodes, "
	    "Spill)" } },
	{ "Phase=eval\nPhase=eval Spill=maybe\n",
	  { "egs.conf:2: Phase=eval is given twice, first on line 1 of "
	    "egs.conf",
	    "egs.conf:2: Phase=eval: Spill=maybe is not a value (values: yes, "
	    "no)" } },
	{ "Phase=eval Nodes=n[1-4\n",
	  { "egs.conf:1: Phase=eval: Nodes=n[1-4 has a '[' without ']'" } },
	{ TIERS "Tier=prod Nodes=n[4-1]\n",
	  { "egs.conf:2: Tier=prod: Nodes=n[4-1] has the range 4-1, which is "
	    "out of order" } },
	{ "TierOrder=a,b,a\n",
	  { "egs.conf:1: TierOrder=a,b,a has 'a' twice" } },
	{ "Operators=a,b,a\n",
	  { "egs.conf:1: Operators=a,b,a has 'a' twice" } },
	{ "Operators=a*\n",
	  { "egs.conf:1: Operators=a* has 'a*', which is not "
	    "a name" } },
	{ TEAM "Tiers=prd\n",
	  { "egs.conf:2: Team=a: Tiers=prd has 'prd', which is not a tier; did "
	    "you mean 'prod'? (tiers: prod, scavenge)" } },
	{ TEAM "DefaultTier=prdo\n",
	  { "egs.conf:2: Team=a: DefaultTier=prdo is not a tier; did you mean "
	    "'prod'? (tiers: prod, scavenge)" } },
	{ "Workload=w Phase=train\n",
	  { "egs.conf:1: Workload=w has no Team=, which is required" } },
	{ TEAM "\nWorkload=w Team=b Phase=lunch\n",
	  { "egs.conf:3: Workload=w: Team=b is not a team; did you mean 'a'? "
	    "(teams: a)",
	    "egs.conf:3: Workload=w: Phase=lunch is not a phase (phases: prep, "
	    "train, eval, infer, retrain)" } },

	/* values */
	{ "Mode=enforced\n",
	  { "egs.conf:1: Mode=enforced is not a value; did you mean 'enforce'? "
	    "(values: observe, enforce)" } },
	{ "LiveResize=1\n",
	  { "egs.conf:1: LiveResize=1 is not a value (values: yes, no)" } },
	{ "Rule=r On=heat\n",
	  { "egs.conf:1: Rule=r: On=heat is not a value (values: recovery, "
	    "xid, ecc, temperature, power, slowdown, memory)" } },
	{ "Rule=r On=xid Do=note,drian\n",
	  { "egs.conf:1: Rule=r: Do=note,drian has 'drian', which is not a "
	    "value; did you mean 'drain'? (values: note, warn, avoid, "
	    "cap, move, fence, drain, run)" } },
	{ "Rule=r On=ecc Do=cap Limit=1/day\n",
	  { "egs.conf:1: Rule=r: Do=cap has 'cap', which needs a value: "
	    "cap=80%" } },
	{ "Rule=r On=ecc Do=cap=100% Limit=1/day\n",
	  { "egs.conf:1: Rule=r: Do=cap=100% has 'cap=100%', which is not from "
	    "cap=10% to cap=99%" } },
	{ "Rule=r On=xid Do=run Limit=1/day\n",
	  { "egs.conf:1: Rule=r: Do=run has 'run', which needs a value: "
	    "run=PROGRAM" } },
	{ "Rule=r On=xid Do=warn=1\n",
	  { "egs.conf:1: Rule=r: Do=warn=1 has 'warn=1', which has a value, "
	    "but warn takes none" } },
	{ "Rule=r On=xid Do=run=reset.sh Limit=1/day\n",
	  { "egs.conf:1: Rule=r: Do=run=reset.sh has 'run=reset.sh', which is "
	    "not a path that begins with / and is shorter than 256 bytes" } },
	{ "Rule=r On=xid Do=run=/bin/a,run=/bin/b Limit=1/day\n",
	  { "egs.conf:1: Rule=r: Do=run=/bin/a,run=/bin/b has 'run' twice" } },
	{ "Rule=r On=xid Do=note,note\n",
	  { "egs.conf:1: Rule=r: Do=note,note has 'note' twice" } },
	{ "Rule=r\n", { "egs.conf:1: Rule=r has no On=, which is required" } },
	{ "Rule=r On=xid\nRule=r On=ecc\n",
	  { "egs.conf:2: Rule=r is given twice, first on line 1 of "
	    "egs.conf" } },
	{ "StaleAfter=soon\n",
	  { "egs.conf:1: StaleAfter=soon is not a duration; use 90s, 15m, 2h, "
	    "7d, HH:MM:SS or D-HH:MM:SS" } },
	{ "StaleAfter=1s\n",
	  { "egs.conf:1: StaleAfter=1s is too small, smallest is 5s" } },
	{ "Retention=40000d\n",
	  { "egs.conf:1: Retention=40000d is too long, longest is 36500d" } },
	{ "Port=0\n", { "egs.conf:1: Port=0 is too small, smallest is 1" } },
	{ "Port=65536\n",
	  { "egs.conf:1: Port=65536 is too big, biggest is 65535" } },
	{ "Port=99999999999\n",
	  { "egs.conf:1: Port=99999999999 is too big, biggest is "
	    "4000000000" } },
	{ "Port=http\n", { "egs.conf:1: Port=http is not a whole number" } },
	{ "PreemptBase=preempt/egs\n",
	  { "egs.conf:1: PreemptBase=preempt/egs is not a value; did you mean "
	    "'preempt/qos'? (values: none, preempt/qos, "
	    "preempt/partition_prio)" } },
	{ "RunDir=run\n",
	  { "egs.conf:1: RunDir=run is not a path that begins "
	    "with / and has no blanks" } },
	{ "GpuType=h100 Rating=fast Price=-1\n",
	  { "egs.conf:1: GpuType=h100: Rating=fast is not a number such as 1 "
	    "or 2.5",
	    "egs.conf:1: GpuType=h100: Price=-1 is not a number such as 1 or "
	    "2.5" } },
	{ "GpuType=h100 Rating=0\n",
	  { "egs.conf:1: GpuType=h100: Rating=0 is "
	    "too small, smallest is 0.001" } },
	{ "GpuType=h100 Rating=1.0001\n",
	  { "egs.conf:1: GpuType=h100: Rating=1.0001 has too many decimal "
	    "places" } },
	{ TIERS "Tier=prod MaxPreemptions=3\n",
	  { "egs.conf:2: Tier=prod: MaxPreemptions=3 is not accepted; use "
	    "N/day, N/week, N/month or none" } },
	{ TEAM "Borrow=50 Lend=101%\n",
	  { "egs.conf:2: Team=a: Borrow=50 is not accepted; use all, none or "
	    "N%",
	    "egs.conf:2: Team=a: Lend=101% is too big, biggest is 100%" } },
	{ "Phase=train Gpus=8-2\n",
	  { "egs.conf:1: Phase=train: Gpus=8-2 is out of order; put the "
	    "smaller number first" } },
	{ "Phase=train Gpus=some\n",
	  { "egs.conf:1: Phase=train: Gpus=some is not accepted; use N, "
	    "MIN-MAX or any" } },
	{ "Team=a Accounts=a Quota=h100:many\n",
	  { "egs.conf:1: Team=a: Quota=h100:many is not accepted; use type:N, "
	    "type:N,type:N or none" } },
	{ "GpuType=h100\nTeam=a Accounts=a Quota=h10:4\n",
	  { "egs.conf:2: Team=a: Quota=h10:4 has 'h10', which is not a "
	    "gputype; did you mean 'h100'? (gputypes: h100)" } },
	{ "GpuType=a\nGpuType=b\nTeam=a Accounts=a Quota=4\n",
	  { "egs.conf:3: Team=a: Quota=4 has no GPU type; use a:N" } },
	{ "Team=a Accounts=a Quota=b:4,b:4\n",
	  { "egs.conf:1: Team=a: Quota=b:4,b:4 has the same type twice" } },

	/* control characters */
	{ "Mode=\033[2Jx\n",
	  { "egs.conf:1: Mode=?[2Jx is not a value (values: "
	    "observe, enforce)" } },
	{ "M\001de=x \n\"\n",
	  { "egs.conf:1: M?de=x is not a key; did you mean 'Mode'? (keys: "
	    "Mode, "
	    "Partitions, PreemptBase, TierOrder, LiveResize, StaleAfter, "
	    "PollInterval, RecallDelay, LoanTime, FairShareHalfLife, "
	    "SiteFactorMax, DependentsFirst, Operators, WebUser, Port, "
	    "StateDir, "
	    "RunDir, NodeDir, RunDirSize, RunDirInodes, NodeSpool, Retention, "
	    "SampleInterval, SampleRetention, DcgmMapDir, Notify, "
	    "RemediateMax, MetricsInterval, JobMetrics, "
	    "Currency, GpuType, Tier, Team, Phase, Workload, Rule)",
	    "egs.conf:2: a double quote is not closed on its line" } },
};

static void try_row(size_t i)
{
	struct egs_conf *conf = conf_load(rows[i].text);
	size_t want = 0;

	ok(!conf, "row %zu is refused", i);
	while (want < ARRAY_SIZE(rows[i].problems) && rows[i].problems[want])
		want++;
	is_int((intmax_t)conf_problems.count, (intmax_t)want,
	       "row %zu has %zu problems", i, want);
	for (size_t j = 0; j < want || j < conf_problems.stored; j++)
		is_str(j < conf_problems.stored ? conf_problems.list[j].err.msg
						: NULL,
		       j < want ? rows[i].problems[j] : NULL,
		       "row %zu: sentence %zu", i, j);
	egs_conf_free(conf);
}

static void too_many_problems(void)
{
	static const char line[] = "Port=0 \\\n\n";
	char text[200 * (sizeof(line) - 1) + 1];

	for (size_t i = 0; i < 200; i++)
		memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
	ok(!conf_load(text), "a file with 200 mistakes is refused");
	is_int((intmax_t)conf_problems.count, 200,
	       "all 200 mistakes are counted");
	is_int((intmax_t)conf_problems.stored, EGS_CONF_PROBLEMS_MAX,
	       "the first mistakes are stored, up to the limit");
}

int main(void)
{
	plan_none();
	conf_enter();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		try_row(i);
	too_many_problems();
	conf_leave();
	return done_testing();
}
