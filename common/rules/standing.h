/* standing.h - whose job this is, and whether EGS has a say in it
 *
 * A job is managed when it has a tier: the one it asked for, else the tier of
 * its QOS or partition, else its team's DefaultTier; and only inside the
 * Partitions= where EGS may act.  An account in no team is unmanaged, unless
 * the file has no team at all: then everybody plays by tier alone.
 */
#ifndef EGS_RULES_STANDING_H
#define EGS_RULES_STANDING_H

#include "common/conf/policy_conf.h"

/* What Slurm and the hint say; any of them may be NULL. */
struct egs_standing_input {
	const char *account;
	const char *user;
	const char *groups; /* list "a,b" of the user's groups */
	const char *qos;
	const char *partitions; /* list, as in a request for several */
	const char *tier;	/* of the hint */
};

/* The rule that gave the tier, or the one that refused it. */
enum egs_standing_rule {
	EGS_STANDING_NO_RULE, /* no rule gives it a tier: unmanaged */
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

/* The standing of a job.  A tier that is refused leaves the job unmanaged;
 * who can still say no to the user (at submission) does so when 'by' is
 * EGS_STANDING_UNKNOWN_TIER or after it.
 */
struct egs_standing egs_standing_get(const struct egs_policy_conf *conf,
				     const struct egs_standing_input *who);

#endif
