/* standing.h - team and tier of a job, and whether EGS manages it
 *
 * EGS manages a job that has a tier: the tier in its hint, else the tier of its
 * QOS or partition, else DefaultTier of its team.  A job that lists no
 * partition of Partitions= is unmanaged; one of several is enough, because the
 * job may start there.  Jobs of accounts in no team are unmanaged, unless
 * egs.conf has no team at all; then only tiers count.
 */
#ifndef EGS_RULES_STANDING_H
#define EGS_RULES_STANDING_H

#include "common/conf/policy_conf.h"

/* From Slurm and the hint; each may be NULL. */
struct egs_standing_input {
	const char *account;
	const char *user;
	const char *groups; /* list "a,b" of the user's groups */
	const char *qos;
	const char *partitions; /* list "a,b" */
	const char *tier;	/* of the hint */
};

/* The rule that gave or refused the tier. */
enum egs_standing_rule {
	EGS_STANDING_NO_RULE, /* unmanaged: no rule gives a tier */
	EGS_STANDING_BY_HINT,
	EGS_STANDING_BY_QOS,
	EGS_STANDING_BY_PARTITION,
	EGS_STANDING_BY_DEFAULT,
	EGS_STANDING_OUTSIDE,	   /* unmanaged: outside Partitions= */
	EGS_STANDING_NO_TEAM,	   /* unmanaged: the account is in no team */
	EGS_STANDING_UNKNOWN_TIER, /* refuse: there is no such tier */
	EGS_STANDING_TEAM_FORBIDS, /* refuse: not in the team's Tiers= */
	EGS_STANDING_TIER_FORBIDS, /* refuse: not in the tier's Allow... */
};

struct egs_standing {
	int team; /* -1: none */
	int tier; /* -1: unmanaged */
	enum egs_standing_rule rule;
};

/* The standing of a job.  A job whose tier is refused is unmanaged.  At
 * submission the caller refuses the job if 'rule' is EGS_STANDING_UNKNOWN_TIER
 * or a later one.
 */
struct egs_standing egs_standing_get(const struct egs_policy_conf *conf,
				     const struct egs_standing_input *in);

#endif
