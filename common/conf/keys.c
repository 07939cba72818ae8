/* keys.c - the keys of egs.conf, one row each */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/conf/keys.h"

#define MINUTE 60u
#define HOUR   3600u
#define DAY    86400u

static const struct egs_conf_choice modes[] = {
	{ "observe", EGS_MODE_OBSERVE },
	{ "enforce", EGS_MODE_ENFORCE },
	{ 0 },
};

static const struct egs_conf_choice team_modes[] = {
	{ "inherit", EGS_MODE_INHERIT },
	{ "observe", EGS_MODE_OBSERVE },
	{ "enforce", EGS_MODE_ENFORCE },
	{ 0 },
};

static const struct egs_conf_choice preempt_bases[] = {
	{ "none", 0 },
	{ "preempt/qos", 0 },
	{ "preempt/partition_prio", 0 },
	{ 0 },
};

static const struct egs_conf_choice dependents[] = {
	{ "no", EGS_DEPENDENTS_NO },
	{ "order", EGS_DEPENDENTS_ORDER },
	{ "preempt", EGS_DEPENDENTS_PREEMPT },
	{ 0 },
};

static const struct egs_conf_choice workload_dependents[] = {
	{ "inherit", EGS_DEPENDENTS_INHERIT },
	{ "no", EGS_DEPENDENTS_NO },
	{ "order", EGS_DEPENDENTS_ORDER },
	{ "preempt", EGS_DEPENDENTS_PREEMPT },
	{ 0 },
};

static const struct egs_conf_choice loans[] = {
	{ "overquota", EGS_LOAN_OVERQUOTA },
	{ "always", EGS_LOAN_ALWAYS },
	{ "never", EGS_LOAN_NEVER },
	{ 0 },
};

static const struct egs_conf_choice fates[] = {
	{ "requeue", EGS_FATE_REQUEUE },
	{ "cancel", EGS_FATE_CANCEL },
	{ "spare", EGS_FATE_NONE },
	{ 0 },
};

static const struct egs_conf_choice norequeue_fates[] = {
	{ "refuse", EGS_FATE_REFUSE },
	{ "cancel", EGS_FATE_CANCEL },
	{ "spare", EGS_FATE_NONE },
	{ "spare-while-owned", EGS_FATE_NONE },
	{ 0 },
};

static const struct egs_conf_choice limit_actions[] = {
	{ "loan", EGS_LIMIT_LOAN },
	{ "hold", EGS_LIMIT_HOLD },
	{ 0 },
};

static const struct egs_conf_choice out_of_ranges[] = {
	{ "refuse", EGS_RANGE_REFUSE },
	{ "adjust", EGS_RANGE_ADJUST },
	{ 0 },
};

static const struct egs_conf_choice job_metrics[] = {
	{ "auto", EGS_JOB_METRICS_AUTO },
	{ "yes", EGS_JOB_METRICS_YES },
	{ "no", EGS_JOB_METRICS_NO },
	{ "nouser", EGS_JOB_METRICS_NOUSER },
	{ 0 },
};

static const struct egs_conf_choice rule_subjects[] = {
	{ "recovery", EGS_ON_RECOVERY }, { "xid", EGS_ON_XID },
	{ "ecc", EGS_ON_ECC },		 { "temperature", EGS_ON_TEMPERATURE },
	{ "power", EGS_ON_POWER },	 { "slowdown", EGS_ON_SLOWDOWN },
	{ "memory", EGS_ON_MEMORY },	 { 0 },
};

#define KEY(key, type, field, text, ...)                               \
	{                                                              \
		.name = key, .kind = EGS_CONF_##type,                  \
		.offset = offsetof(struct STRUCT, field), .def = text, \
		__VA_ARGS__                                            \
	}
#define WITHIN(least, most) .min = (least), .max = (most)

#define STRUCT egs_policy_conf
static const struct egs_conf_key global_keys[] = {
	KEY("Mode", CHOICE, mode, "observe", .choices = modes),
	KEY("Partitions", LIST, partitions, "all"),
	KEY("PreemptBase", TEXT, preempt_base, "none",
	    .choices = preempt_bases),
	KEY("TierOrder", ORDER, tier, "none"),
	KEY("LiveResize", YESNO, live_resize, "no"),
	KEY("StaleAfter", SECONDS, stale_after_s, "60s", WITHIN(5, HOUR)),
	KEY("PollInterval", SECONDS, poll_interval_s, "2s", WITHIN(1, HOUR)),
	KEY("RecallDelay", SECONDS, recall_delay_s, "0s", WITHIN(0, DAY)),
	KEY("LoanTime", SECONDS, loan_time_s, "none", WITHIN(MINUTE, 365 * DAY),
	    .def_value = EGS_UNLIMITED),
	KEY("FairShareHalfLife", SECONDS, half_life_s, "7d",
	    WITHIN(HOUR, 365 * DAY)),
	KEY("SiteFactorMax", NUMBER, site_factor_max, "10000",
	    WITHIN(0, 1000000)),
	KEY("DependentsFirst", CHOICE, dependents_first, "order",
	    .choices = dependents),
	KEY("Operators", LIST, operators, "none"),
	KEY("WebUser", TEXT, web_user, "none"),
	KEY("Port", NUMBER, port, "6827", WITHIN(1, 65535)),
	KEY("StateDir", PATH, state_dir, "/var/lib/egs", WITHIN(0, 1024)),
	KEY("RunDir", PATH, run_dir, "/run/egs", WITHIN(0, 80)),
	KEY("NodeDir", PATH, node_dir, "/run/egs-node", WITHIN(0, 80)),
	KEY("RunDirSize", SIZE, rundir_size_kib, "4M", WITHIN(0, 1 << 20)),
	KEY("RunDirInodes", NUMBER, rundir_inodes, "1024", WITHIN(64, 1000000)),
	KEY("NodeSpool", PATH, node_spool, "/var/spool/egs", WITHIN(0, 1024)),
	KEY("Retention", SECONDS, retention_s, "400d",
	    WITHIN(DAY, 36500 * DAY)),
	KEY("SampleInterval", SECONDS, sample_interval_s, "30s",
	    WITHIN(0, HOUR)),
	KEY("SampleRetention", SECONDS, cell_retention_s, "14d",
	    WITHIN(0, 3650 * DAY)),
	KEY("DcgmMapDir", PATH, dcgm_map_dir, "none", WITHIN(0, 1024)),
	KEY("Notify", PROGRAM, notify, "none", WITHIN(0, 1024)),
	KEY("RemediateMax", PERCENT, remediate_max_pct, "5%", WITHIN(0, 100)),
	KEY("MetricsInterval", SECONDS, metrics_every_s, "15s",
	    WITHIN(0, HOUR)),
	KEY("JobMetrics", CHOICE, job_metrics, "auto", .choices = job_metrics),
	KEY("Currency", TEXT, currency, "none"),
};
#undef STRUCT

#define STRUCT egs_gpu_type
static const struct egs_conf_key type_keys[] = {
	KEY("Rating", MILLI, rating, "1.0", WITHIN(1, 1000 * EGS_MILLI_ONE)),
	KEY("Price", PRICE, price, "0.0"),
};
#undef STRUCT

#define STRUCT egs_tier
static const struct egs_conf_key tier_keys[] = {
	KEY("AllowAccounts", GLOBS, allow_accounts, "all"),
	KEY("AllowUsers", LIST, allow_users, "all"),
	KEY("AllowGroups", LIST, allow_groups, "all"),
	KEY("Qos", LIST, qos, "none"),
	KEY("Partitions", LIST, partitions, "none"),
	KEY("Loan", CHOICE, loan, "overquota", .choices = loans),
	KEY("Yields", YESNO, yields, "yes"),
	KEY("MinRuntime", SECONDS, min_runtime_s, "15m", WITHIN(0, 30 * DAY)),
	KEY("MaxPreemptions", RATE, max_preemptions, "3/day"),
	KEY("GraceMin", SECONDS, grace_min_s, "30s", WITHIN(0, DAY)),
	KEY("GraceMax", SECONDS, grace_max_s, "10m", WITHIN(0, DAY)),
	KEY("GraceNoAck", SECONDS, grace_noack_s, "2m", WITHIN(0, DAY)),
	KEY("AtDeadline", CHOICE, at_deadline, "requeue", .choices = fates),
	KEY("NoCheckpoint", CHOICE, no_checkpoint, "requeue", .choices = fates),
	KEY("NoRequeue", CHOICE, no_requeue, "spare",
	    .choices = norequeue_fates),
	KEY("Expedite", YESNO, expedite, "yes"),
	KEY("Revenue", YESNO, revenue, "yes"),
	KEY("Nodes", HOSTS, nodes, "all"),
	KEY("Spill", YESNO, spill, "yes"),
};
#undef STRUCT

#define STRUCT egs_team
static const struct egs_conf_key team_keys[] = {
	KEY("Accounts", GLOBS, accounts, "none"),
	KEY("Users", LIST, users, "none"),
	KEY("Groups", LIST, groups, "none"),
	KEY("Quota", GPUS, quota, "none"),
	KEY("Borrow", PERCENT, borrow_pct, "all", WITHIN(0, 100)),
	KEY("Lend", PERCENT, lend_pct, "all", WITHIN(0, 100)),
	KEY("MaxGpus", GPUS, max_gpus, "none", .def_value = EGS_UNLIMITED),
	KEY("MaxGpuHours", RATE, max_gpu_hours, "none"),
	KEY("LimitAction", CHOICE, limit_action, "loan",
	    .choices = limit_actions),
	KEY("Share", NUMBER, share, "quota", WITHIN(0, 1000000),
	    .def_value = EGS_UNSET),
	KEY("Tiers", TIERS, tiers, "all"),
	KEY("DefaultTier", TIER, default_tier, "unmanaged"),
	KEY("Mode", CHOICE, mode, "inherit", .choices = team_modes),
};
#undef STRUCT

#define STRUCT egs_phase
static const struct egs_conf_key phase_keys[] = {
	KEY("Gpus", RANGE, gpus, "any"),
	KEY("OutOfRange", CHOICE, out_of_range, "refuse",
	    .choices = out_of_ranges),
	KEY("Partitions", LIST, partitions, "all"),
	KEY("Nodes", HOSTS, nodes, "all"),
	KEY("Spill", YESNO, spill, "yes"),
	KEY("Weight", MILLI, weight, "1.0", WITHIN(1, 1000 * EGS_MILLI_ONE)),
	KEY("IdleWarn", SECONDS, idle_warn_s, "never", WITHIN(1, 30 * DAY),
	    .def_value = EGS_UNLIMITED),
	KEY("IdleYield", SECONDS, idle_yield_s, "never", WITHIN(1, 30 * DAY),
	    .def_value = EGS_UNLIMITED),
	KEY("StallAfter", SECONDS, stall_after_s, "never", WITHIN(1, 30 * DAY),
	    .def_value = EGS_UNLIMITED),
};
#undef STRUCT

#define STRUCT egs_workload
static const struct egs_conf_key workload_keys[] = {
	KEY("Team", TEAM, team, NULL),
	KEY("Phase", PHASE, phase, "all"),
	KEY("Gpus", RANGE, gpus, "any"),
	KEY("Floor", GPUS, floor, "none"),
	KEY("MaxGpuHours", RATE, max_gpu_hours, "none"),
	KEY("DependentsFirst", CHOICE, dependents_first, "inherit",
	    .choices = workload_dependents),
};
#undef STRUCT

#define STRUCT egs_rule
static const struct egs_conf_key rule_keys[] = {
	KEY("On", CHOICE, on, NULL, .choices = rule_subjects),
	KEY("Above", NUMBER, above, "none", WITHIN(0, 1000000),
	    .def_value = EGS_UNSET),
	KEY("For", SECONDS, for_s, "0s", WITHIN(0, DAY)),
	KEY("Do", REMEDY, does, "note"),
	KEY("Limit", LIMIT, limit, "none"),
};
#undef STRUCT

static bool add_type(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_type(conf, name) != NULL;
}

static bool add_tier(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_tier(conf, name) != NULL;
}

static bool add_team(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_team(conf, name) != NULL;
}

static bool add_phase(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_phase(conf, name) != NULL;
}

static bool add_workload(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_workload(conf, name) != NULL;
}

static bool add_rule(struct egs_policy_conf *conf, const char *name)
{
	return egs_conf_add_rule(conf, name) != NULL;
}

/* egs_conf_match_type() does not help here, because it never fails. */
static int find_type(const struct egs_policy_conf *conf, const char *name)
{
	for (int i = 0; i < conf->ntypes; i++)
		if (strcmp(conf->type[i].name, name) == 0)
			return i;
	return -1;
}

/* clang-format off */
#define RECORD(which, text, rows, count, rmax, lower, add, find)               \
	[EGS_CONF_##which##_RECORD] = {                                        \
		.id = EGS_CONF_##which##_RECORD, .name = (text),               \
		.keys = rows##_keys, .nkeys = ARRAY_SIZE(rows##_keys),         \
		.rows_offset = offsetof(struct egs_policy_conf, rows),         \
		.row_size = sizeof(((struct egs_policy_conf *)0)->rows[0]),    \
		.count_offset = offsetof(struct egs_policy_conf, count),       \
		.rows_max = (rmax), .lowercase = (lower),                      \
		.add_row = (add), .find_row = (find),                          \
	}

const struct egs_conf_record egs_conf_records[EGS_CONF_RECORDS] = {
	[EGS_CONF_GLOBAL] = {
		.name = "", .keys = global_keys,
		.nkeys = ARRAY_SIZE(global_keys),
	},
	RECORD(GPUTYPE, "GpuType", type, ntypes, EGS_TYPES_MAX,
	       false, add_type, find_type),
	RECORD(TIER, "Tier", tier, ntiers, EGS_TIERS_MAX,
	       true, add_tier, egs_conf_find_tier),
	RECORD(TEAM, "Team", team, nteams, EGS_TEAMS_MAX,
	       false, add_team, egs_conf_find_team),
	RECORD(PHASE, "Phase", phase, nphases, EGS_PHASES_MAX,
	       true, add_phase, egs_conf_find_phase),
	RECORD(WORKLOAD, "Workload", workload, nworkloads, EGS_WORKLOADS_MAX,
	       false, add_workload, NULL),
	RECORD(RULE, "Rule", rule, nrules, EGS_RULES_MAX,
	       false, add_rule, egs_conf_find_rule),
};
/* clang-format on */

const struct egs_conf_key *
egs_conf_find_key(const struct egs_conf_record *record, const char *name)
{
	for (size_t i = 0; i < record->nkeys; i++)
		if (strcasecmp(record->keys[i].name, name) == 0)
			return &record->keys[i];
	return NULL;
}

const struct egs_conf_record *egs_conf_find_record(const char *name)
{
	for (size_t i = 1; i < EGS_CONF_RECORDS; i++)
		if (strcasecmp(egs_conf_records[i].name, name) == 0)
			return &egs_conf_records[i];
	return NULL;
}

int egs_conf_count_rows(const struct egs_policy_conf *conf,
			const struct egs_conf_record *record)
{
	int count = 1;

	if (record->count_offset)
		memcpy(&count, (const char *)conf + record->count_offset,
		       sizeof(count));
	return count;
}

const void *egs_conf_get_row(const struct egs_policy_conf *conf,
			     const struct egs_conf_record *record, int row)
{
	return (const char *)conf + record->rows_offset +
	       (size_t)row * record->row_size;
}

void *egs_conf_edit_row(struct egs_policy_conf *conf,
			const struct egs_conf_record *record, int row)
{
	return (char *)conf + record->rows_offset +
	       (size_t)row * record->row_size;
}
