/* submit_check.c - what a submitting user may do, by egs.conf alone */
#include <stdlib.h>

#include "common/base/array.h"
#include "plugins/job_submit/check.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

#define TIERS "TierOrder=gold,silver,bronze\n"
#define TEAMS                                                               \
	"Team=fraud Accounts=fraud* Tiers=gold,silver DefaultTier=silver\n" \
	"Team=vision Accounts=vision Tiers=silver,bronze "                  \
	"DefaultTier=silver MaxGpus=8\n"                                    \
	"Team=slow Accounts=slow Tiers=bronze DefaultTier=bronze "          \
	"Mode=observe\n"
#define RULES                                                   \
	"Mode=enforce\n" TIERS TEAMS "Partitions=gpu,serve\n"   \
	"Tier=gold AllowAccounts=fraud-prod NoRequeue=refuse\n" \
	"Tier=bronze NoRequeue=cancel Expedite=no\n"            \
	"Phase=prep Gpus=0 OutOfRange=adjust\n"                 \
	"Phase=eval Gpus=0\n"                                   \
	"Phase=infer Partitions=serve\n"                        \
	"Phase=train Gpus=2-4\n"                                \
	"Phase=distill Gpus=2-4 OutOfRange=adjust\n"            \
	"Workload=fraud Team=fraud Phase=train Gpus=1\n"
#define GROUPS                                                                 \
	"Mode=enforce\n" TIERS "Tier=silver AllowGroups=lab\n"                 \
	"Team=vision Accounts=vision Tiers=silver,bronze DefaultTier=bronze\n" \
	"Team=lab Groups=lab Tiers=gold DefaultTier=gold\n"                    \
	"Team=late Accounts=late Tiers=bronze DefaultTier=bronze\n"            \
	"Workload=cats Team=vision\n"
#define TYPES                                                             \
	"Mode=enforce\n" TIERS "GpuType=a100\nGpuType=h100\n"             \
	"Team=vision Accounts=vision MaxGpus=a100:8,h100:4 Tiers=bronze " \
	"DefaultTier=bronze\n"
#define FATES                                                      \
	"Mode=enforce\n" TIERS "Tier=silver NoCheckpoint=cancel\n" \
	"Tier=bronze Loan=always\n"                                \
	"Team=vision Accounts=vision Tiers=gold,silver,bronze\n"
#define USERS                  \
	"Mode=enforce\n" TIERS \
	"Team=vision Users=carol Tiers=bronze DefaultTier=bronze\n"

#define KEPT                                                         \
	"an interactive job of tier bronze is cancelled when it is " \
	"preempted on loan; within quota it is not preempted"
#define SEE " (see 'egsctl show tiers')"

struct row {
	const char *conf, *account, *partitions, *hint, *per_node;
	bool interactive, no_requeue;
	const char *refusal, *note; /* NULL: none */
	int tier;		    /* -1: unmanaged */
	uint32_t gpus;		    /* 0: as asked; else one more */
	const char *what;
};

/* The note for a job that cannot save. */
#define RESTARTS(tier)                                                   \
	"this job of tier " tier " cannot save (see --ckpt): if it is "  \
	"preempted, its steps get SIGTERM and it starts again from the " \
	"beginning"

static const struct row rows[] = {
	{ RULES, "vision", "gpu", "", "gres:gpu:2", false, false, NULL,
	  RESTARTS("silver"), 1, 0,
	  "a job without a hint gets its team's tier" },
	{ RULES, "vision", "gpu", "tier=bronze", NULL, false, false, NULL, NULL,
	  2, 0, "a tier of the team" },
	{ RULES, "vision", "gpu", "tier=gold", NULL, false, false,
	  "--tier=gold refused: team vision may use silver, bronze" SEE, NULL,
	  -1, 0, "a tier of another team" },
	{ RULES, "fraud", "gpu", "tier=gold", NULL, false, false,
	  "--tier=gold refused: account fraud may use silver" SEE, NULL, -1, 0,
	  "a tier of the team for another account" },
	{ RULES, "fraud-prod", "gpu", "tier=gold", NULL, false, false, NULL,
	  NULL, 0, 0, "a tier of the team for its account" },
	{ RULES, "vision", "gpu", "tier=glod", NULL, false, false,
	  "--tier=glod is not a tier; did you mean 'gold'? (tiers: gold, "
	  "silver, bronze)",
	  NULL, -1, 0, "an unknown tier" },
	{ RULES, "vision", "debug", "tier=gold", "gres:gpu:9", false, false,
	  NULL,
	  "--tier=gold has no effect in partition debug, where EGS does not "
	  "act",
	  -1, 0, "a job outside of EGS is not refused" },
	{ RULES, "chem", "gpu", "tier=gold,phase=eval", "gres:gpu:9", false,
	  false, NULL, "--tier=gold has no effect: account chem is in no team",
	  -1, 0, "a job without a team is not refused" },
	{ RULES, NULL, "gpu", "tier=gold", NULL, false, false, NULL,
	  "--tier=gold has no effect: account (none) is in no team", -1, 0,
	  "a job without an account is not refused" },
	{ RULES, "vision", "gpu", "", "gres:gpu:9", false, false,
	  "9 GPUs refused: team vision may use at most 8", NULL, 1, 0,
	  "more GPUs than the team may use" },
	{ RULES, "vision", "gpu", "shrink-to=9", "gres:gpu:1", false, false,
	  "--egs=shrink-to=9 refused: the job requests 1 GPU; give fewer, or "
	  "leave it out",
	  NULL, 1, 0, "a job that would shrink to more than it has" },
	{ RULES, "vision", "gpu", "shrink-to=4", "gres:gpu:4", false, false,
	  "--egs=shrink-to=4 refused: the job requests 4 GPUs; give fewer, or "
	  "leave it out",
	  NULL, 1, 0, "a job that would shrink to what it has" },
	{ RULES, "vision", "gpu", "shrink-to=3", "gres:gpu:4", false, false,
	  NULL, RESTARTS("silver"), 1, 0, "a job that can shrink" },
	{ RULES, "vision", "gpu", "workload=fraud/x", NULL, false, false,
	  "--workload=fraud/x refused: it is a workload of team fraud, and "
	  "account vision is in team vision",
	  NULL, 1, 0, "a workload of another team" },
	{ RULES, "vision", "gpu", "workload=frau/x", NULL, false, false, NULL,
	  NULL, 1, 0, "an unknown workload" },
	{ RULES, "fraud", "gpu", "workload=fraud/x", NULL, false, false, NULL,
	  NULL, 1, 0, "a workload of the team" },
	{ RULES, "vision", "gpu", "phase=infer", NULL, false, false,
	  "--phase=infer refused in partition gpu: this phase is for serve",
	  NULL, 1, 0, "a phase in the wrong partition" },
	{ RULES, "vision", "serve,gpu", "phase=infer", NULL, false, false,
	  "--phase=infer refused in partition gpu: this phase is for serve",
	  NULL, 1, 0, "a phase in one wrong partition of two" },
	{ RULES, "vision", "serve", "phase=infer", NULL, false, false, NULL,
	  NULL, 1, 0, "a phase in the right partition" },
	{ RULES, "vision", "gpu", "phase=prep", "gres:gpu:2", false, false,
	  NULL, "--phase=prep: the job gets 0 GPUs instead of 2", 1, 1,
	  "a phase without GPUs, adjusted" },
	{ RULES, "vision", "gpu", "phase=eval", "gres:gpu:2", false, false,
	  "--phase=eval refused: this phase uses no GPUs; the job requests 2",
	  NULL, 1, 0, "a phase without GPUs, refused" },
	{ RULES, "vision", "gpu", "phase=eval", NULL, false, false, NULL, NULL,
	  1, 0, "a phase without GPUs, and a job without" },
	{ RULES, "vision", "gpu", "phase=train", "gres/gpu:a100:6", false,
	  false,
	  "--phase=train refused: this phase uses 2-4 GPUs; the job requests 6",
	  NULL, 1, 0, "too many GPUs for a phase" },
	{ RULES, "vision", "gpu", "phase=train", NULL, false, false,
	  "--phase=train refused: this phase uses 2-4 GPUs; the job requests 0",
	  NULL, 1, 0, "too few GPUs for a phase" },
	{ RULES, "vision", "gpu", "phase=distill", "gres:gpu:6", false, false,
	  NULL, "--phase=distill: the job gets 4 GPUs instead of 6", 1, 5,
	  "too many GPUs for a phase, adjusted" },
	{ RULES, "vision", "gpu", "phase=distill", "gres:gpu:1", false, false,
	  NULL, "--phase=distill: the job gets 2 GPUs instead of 1", 1, 3,
	  "too few GPUs for a phase, adjusted" },
	{ RULES, "vision", "gpu", "phase=distill", NULL, false, false,
	  "--phase=distill refused: this phase uses 2-4 GPUs; the job requests "
	  "0",
	  NULL, 1, 0, "a job without GPUs is not adjusted" },
	{ RULES, "fraud", "gpu", "phase=train,workload=fraud", "gres:gpu:1",
	  false, false, NULL, RESTARTS("silver"), 1, 0,
	  "a workload overrides the GPUs of its phase" },
	{ RULES, "vision", "gpu", "", "gres:gpu:1", true, false, NULL,
	  "an interactive job of tier silver is cancelled when it is preempted "
	  "on loan; within quota it is not preempted",
	  1, 0, "an interactive job" },
	{ RULES, "vision", "gpu", "tier=bronze", "gres:gpu:1", false, true,
	  NULL,
	  "a job with --no-requeue of tier bronze is cancelled when it is "
	  "preempted",
	  2, 0, "a job with --no-requeue" },
	{ RULES, "vision", "gpu", "tier=bronze", NULL, false, true, NULL, NULL,
	  2, 0, "a job with --no-requeue and without GPUs" },
	{ RULES, "fraud-prod", "gpu", "tier=gold", "gres:gpu:1", true, false,
	  "an interactive job refused: tier gold requires jobs that can be "
	  "requeued",
	  NULL, 0, 0, "NoRequeue=refuse" },
	{ RULES, "slow", "gpu", "tier=gold", NULL, false, false,
	  "--tier=gold refused: team slow may use bronze" SEE, NULL, -1, 0,
	  "a team in observe mode" },
	{ GROUPS, "vision", "gpu", "tier=gold", NULL, false, false,
	  "--tier=gold refused: team vision may use silver, bronze" SEE, NULL,
	  -1, 0, "a tier that no group could allow is refused" },
	{ GROUPS, "late", "gpu", "tier=gold", NULL, false, false, NULL, NULL,
	  -1, 0, "a tier that a group might allow is left to the daemon" },
	{ GROUPS, "late", "gpu", "workload=cats", NULL, false, false, NULL,
	  NULL, 2, 0,
	  "a workload that a group might allow is left to the daemon" },
	{ GROUPS, "vision", "gpu", "tier=silver", NULL, false, false, NULL,
	  NULL, -1, 0, "a tier that is open to a group is left to the daemon" },
	{ GROUPS, "chem", "gpu", "tier=gold", NULL, false, false, NULL, NULL,
	  -1, 0, "a team that depends on groups is left to the daemon" },
	{ TYPES, "vision", "gpu", "", "gres:gpu:h100:5", false, false,
	  "5 GPUs refused: team vision may use at most 4 h100", NULL, 2, 0,
	  "too many GPUs of one type" },
	{ TYPES, "vision", "gpu", "", "gres:gpu:4", false, false, NULL,
	  RESTARTS("bronze"), 2, 0,
	  "GPUs of any type are accepted up to the smallest limit" },
	{ TYPES, "vision", "gpu", "", "gres:gpu:5", false, false,
	  "5 GPUs of any type refused: team vision may use at most 4 h100; "
	  "name the type that the job needs",
	  NULL, 2, 0, "too many GPUs of any type" },
	{ FATES, "vision", "gpu", "tier=silver", "gres:gpu:1", false, false,
	  NULL,
	  "this job of tier silver cannot save (see --ckpt): if it is "
	  "preempted, its steps get SIGTERM and it is cancelled",
	  1, 0, "NoCheckpoint=cancel" },
	{ FATES, "vision", "gpu", "tier=silver,ckpt=none", "gres:gpu:1", false,
	  false, NULL,
	  "this job of tier silver cannot save (see --ckpt): if it is "
	  "preempted, it ends at once and it is cancelled",
	  1, 0, "NoCheckpoint=cancel with --ckpt=none" },
	{ FATES, "vision", "gpu", "tier=silver,ckpt=file", "gres:gpu:1", false,
	  false, NULL, NULL, 1, 0,
	  "NoCheckpoint=cancel for a job that can save" },
	{ FATES, "vision", "gpu", "tier=silver", NULL, false, false, NULL, NULL,
	  1, 0, "NoCheckpoint=cancel for a job without GPUs" },
	{ FATES, "vision", "gpu", "tier=bronze", "gres:gpu:1", false, false,
	  NULL, RESTARTS("bronze"), 2, 0,
	  "Loan=always for a job that cannot save" },
	{ FATES, "vision", "gpu", "tier=bronze", "gres:gpu:1", true, false,
	  NULL,
	  "an interactive job of tier bronze is cancelled when it is preempted",
	  2, 0, "Loan=always for an interactive job" },
	{ FATES, "vision", "gpu", "tier=gold", "gres:gpu:1", false, false, NULL,
	  NULL, 0, 0, "the first tier has no note" },
	{ USERS, "chem", "gpu", "tier=gold", NULL, false, false,
	  "--tier=gold refused: team vision may use bronze" SEE, NULL, -1, 0,
	  "a team by user" },
	{ "Mode=enforce\n" TIERS, "chem", "gpu", "tier=gold", NULL, false,
	  false, NULL, NULL, 0, 0, "all tiers are open without teams" },
};

static struct egs_conf *load(const char *text)
{
	struct egs_conf *conf = conf_load(text);

	if (!conf)
		note("%s", conf_problems.list[0].err.msg);
	return conf;
}

static void check_row(const struct row *row)
{
	static const char *const names[] = { "distill" };
	static const struct egs_hint_site site = { names, 1, false };
	static const struct egs_save_signal no_signal = { 0 };
	struct egs_conf *conf = load(row->conf);
	struct egs_check_input request = {
		.account = row->account,
		.user = "carol",
		.partitions = row->partitions,
		.gpus.per_node = row->per_node,
		.interactive = row->interactive,
		.no_requeue = row->no_requeue,
	};
	struct egs_check_result verdict;
	struct egs_err err = { "" };
	uint32_t gpus = row->gpus ? row->gpus - 1 : EGS_GPUS_UNCHANGED;

	if (!ok(conf != NULL, "%s: the file is good", row->what))
		return;
	egs_hint_parse(&request.hint, row->hint, &site, NULL);
	request.can_checkpoint = egs_hint_can_save(&request.hint, &no_signal);
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       row->refusal ? -1 : 0, "%s", row->what);
	is_str(err.msg, row->refusal ? row->refusal : "", "%s: the sentence",
	       row->what);
	is_str(verdict.note.msg, row->note ? row->note : "", "%s: the note",
	       row->what);
	is_int(verdict.assignment.tier, row->tier, "%s: the tier", row->what);
	ok(verdict.adjusted_gpus == gpus, "%s: the GPUs", row->what);
	egs_conf_free(conf);
}

static enum egs_mode unknown_mode(const struct egs_policy_conf *conf, int team)
{
	(void)conf;
	(void)team;
	return EGS_MODE_INHERIT;
}

static enum egs_mode observe_first(const struct egs_policy_conf *conf, int team)
{
	(void)conf;
	return team == 0 ? EGS_MODE_OBSERVE : EGS_MODE_ENFORCE;
}

/* The daemon's mode counts, not that of the file. */
static void check_daemon_mode(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "fraud1",
					   .partitions = "gpu",
					   .find_mode = observe_first };
	struct egs_check_result verdict;
	struct egs_err err;

	if (!ok(conf != NULL, "the file is good"))
		return;
	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	is_int(verdict.mode, EGS_MODE_OBSERVE,
	       "the mode of the daemon counts before that of the file");
	is_int(verdict.file_mode, EGS_MODE_ENFORCE,
	       "the mode of the file is known, too");
	request.find_mode = unknown_mode;
	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	is_int(verdict.mode, EGS_MODE_INHERIT,
	       "the mode is unknown while no daemon runs");
	egs_conf_free(conf);
}

/* JobRequeue=0: only a job with a checkpoint is made requeueable. */
static void check_site_no_requeue(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "fraud-prod",
					   .partitions = "gpu",
					   .gpus.per_node = "gres:gpu:2",
					   .site_no_requeue = true };
	struct egs_check_result verdict;
	struct egs_err err = { "" };

	if (!ok(conf != NULL, "the file is good"))
		return;
	egs_hint_parse(&request.hint, "tier=gold", NULL, NULL);
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       -1,
	       "NoRequeue=refuse refuses a job of a site with JobRequeue=0");
	is_str(err.msg,
	       "a job without --requeue refused: tier gold requires jobs that "
	       "can be requeued",
	       "the refusal names what the job lacks");
	request.can_checkpoint = true;
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       0, "a job with a checkpoint is requeueable with JobRequeue=0");
	egs_conf_free(conf);
}

/* Slurm starts such a job before all others when it is requeued. */
static void check_expedited_requeue(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "vision",
					   .partitions = "gpu",
					   .expedite = true };
	struct egs_check_result verdict;
	struct egs_err err = { "" };

	if (!ok(conf != NULL, "the file is good"))
		return;
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       0, "a tier allows --requeue=expedite by default");
	egs_hint_parse(&request.hint, "tier=bronze", NULL, NULL);
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       -1, "Expedite=no refuses --requeue=expedite");
	is_str(err.msg,
	       "--requeue=expedite refused: tier bronze does not allow it; use "
	       "--requeue",
	       "the refusal of --requeue=expedite names the tier");
	egs_conf_free(conf);
}

static void check_mode(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "slow",
					   .partitions = "gpu" };
	struct egs_check_result verdict;
	struct egs_err err;

	if (!ok(conf != NULL, "the file is good"))
		return;
	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	is_int(verdict.mode, EGS_MODE_OBSERVE, "a team has a mode of its own");
	request.account = "vision";
	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	is_int(verdict.mode, EGS_MODE_ENFORCE,
	       "a team without a mode has the mode of the file");
	ok(!egs_check_needs_user(egs_conf_policy(conf)), "no rule names users");
	egs_conf_free(conf);
	conf = load(USERS);
	ok(conf && egs_check_needs_user(egs_conf_policy(conf)),
	   "a rule names users");
	egs_conf_free(conf);
}

/* A request that has only a minimum can still be too large. */
static void check_least(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "vision",
					   .partitions = "gpu",
					   .gpus.per_socket = "gres:gpu:3" };
	struct egs_check_result verdict;
	struct egs_err err = { "" };

	if (!ok(conf != NULL, "the file is good"))
		return;
	egs_hint_parse(&request.hint, "phase=train", NULL, NULL);
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       0, "three GPUs for each socket may be enough for a phase");
	request.gpus.nodes = 2;
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       -1, "six GPUs are too many for the phase");
	is_str(err.msg,
	       "--phase=train refused: this phase uses 2-4 GPUs; the job "
	       "requests 6",
	       "the refusal names the range of the phase");
	request.gpus.nodes = 3;
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       -1, "nine GPUs are too many for the team");
	is_str(err.msg, "9 GPUs refused: team vision may use at most 8",
	       "the limit of the team is checked before the phase");
	egs_conf_free(conf);
}

/* In an update the number of GPUs cannot be adjusted. */
static void check_update(void)
{
	struct egs_conf *conf = load(RULES);
	struct egs_check_input request = { .account = "vision",
					   .partitions = "gpu",
					   .gpus.per_node = "gres:gpu:2",
					   .is_update = true };
	struct egs_check_result verdict;
	struct egs_err err = { "" };

	if (!ok(conf != NULL, "the file is good"))
		return;
	egs_hint_parse(&request.hint, "phase=prep", NULL, NULL);
	is_int(egs_check_job(egs_conf_policy(conf), &request, &verdict, &err),
	       -1, "an update is refused where a submission is adjusted");
	is_str(err.msg,
	       "--phase=prep refused: this phase uses no GPUs; the job "
	       "requests 2",
	       "the refusal of an update names the GPUs");
	egs_conf_free(conf);
}

/* A quota of team vision; the quotas of other teams are unknown. */
static bool left_of(const struct egs_quota_key *place, uint32_t *left)
{
	*left = place->type == 1 && place->tier == 2 ? 2 : 0;
	return place->team == 0;
}

static void check_owner(void)
{
	static const struct {
		const char *per_node, *owner;
	} owners[] = {
		{ "gres:gpu:h100:2",
		  "; now the GPUs are within the quota of team vision" },
		{ "gres:gpu:2",
		  "; now the GPUs are within the quota of team vision" },
		{ "gres:gpu:h100:3", "; now the GPUs are on loan" },
		{ "gres:gpu:a100:1", "; now the GPUs are on loan" },
	};
	struct egs_conf *conf = load(TYPES "Team=other Accounts=other\n");
	struct egs_check_input request = { .partitions = "gpu",
					   .interactive = true,
					   .quota_left = left_of };
	struct egs_check_result verdict;
	struct egs_err err, note;

	if (!ok(conf != NULL, "the file is good"))
		return;
	request.account = "vision";
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		request.gpus.per_node = owners[i].per_node;
		egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
		egs_errf(&note, "%s%s", KEPT, owners[i].owner);
		is_str(verdict.note.msg, note.msg,
		       "%s: the note says quota or loan", owners[i].per_node);
	}
	request.account = "other";
	egs_hint_parse(&request.hint, "tier=bronze", NULL, NULL);
	egs_check_job(egs_conf_policy(conf), &request, &verdict, &err);
	is_str(verdict.note.msg, KEPT,
	       "the note is short if the quota is unknown");
	egs_conf_free(conf);
}

static void check_count(void)
{
	static const struct {
		struct egs_gpu_request_text asked;
		bool known;
		uint32_t count;
		const char *what;
	} counts[] = {
		{ { .nodes = 2 }, true, 0, "nothing" },
		{ { .per_node = "gres:gpu:4", .nodes = 2 }, true, 8, "nodes" },
		{ { .per_node = "gres:gpu:4" }, true, 4, "one node" },
		{ { .per_job = "gres:gpu:a100:6", .nodes = 2 },
		  true,
		  6,
		  "job" },
		{ { .per_task = "gres/gpu:1", .tasks = 3 }, true, 3, "tasks" },
		{ { .per_task = "gres/gpu:1" }, false, 0, "no tasks" },
		{ { .per_socket = "gres:gpu:1" }, false, 0, "sockets" },
		{ { .per_node = "gres:fpga:4", .nodes = 2 },
		  true,
		  0,
		  "others" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct egs_gpu_count gpus;

		is_int(egs_gpu_text_count(&counts[i].asked, &gpus),
		       counts[i].known, "GPUs by %s: exact or not",
		       counts[i].what);
		if (counts[i].known)
			is_int((int)egs_gpu_count_total(&gpus),
			       (int)counts[i].count, "GPUs by %s: the number",
			       counts[i].what);
	}
}

static void check_rewrite(void)
{
	static const struct {
		const char *text;
		uint32_t count;
		const char *want;
	} texts[] = {
		{ "gres:gpu:4", 2, "gres:gpu:2" },
		{ "gres:gpu:a100:4", 2, "gres:gpu:a100:2" },
		{ "gres/gpu:a100=4", 2, "gres/gpu:a100:2" },
		{ "gres:gpu", 2, "gres:gpu:2" },
		{ "gres:gpu:a100", 2, "gres:gpu:a100:2" },
		{ "gres:gpu:4", 0, "" },
		{ "gres:fpga:1,gres:gpu:4", 0, "gres:fpga:1" },
		{ "gres:gpu:4,gres:fpga:1", 3, "gres:gpu:3,gres:fpga:1" },
		{ "gres:gpu:a100:1,gres:gpu:h100:1", 0, "" },
		{ "gres:gpu:a100:1,gres:gpu:h100:1", 1, NULL },
		{ "gres:fpga:1", 1, NULL },
		{ "gres:gpu:1", 4294967295U, "gres:gpu:4294967295" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *got = egs_gpu_text_rewrite(texts[i].text, texts[i].count);

		is_str(got, texts[i].want, "'%s' rewritten to %u GPUs",
		       texts[i].text, texts[i].count);
		free(got);
	}
}

int main(void)
{
	plan_none();
	conf_enter();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
	check_mode();
	check_daemon_mode();
	check_site_no_requeue();
	check_expedited_requeue();
	check_least();
	check_update();
	check_owner();
	check_count();
	check_rewrite();
	conf_leave();
	return done_testing();
}
