/* rules_standing.c - which jobs are managed, by which rule, in which tier */
#include <string.h>

#include "common/base/array.h"
#include "common/rules/standing.h"
#include "t/lib/unit/tap.h"

enum { PROD, RESEARCH, SCAVENGE };
enum { FRAUD, VISION, STUDENTS };

/* The example of egs.conf(5), as far as it gives tiers. */
static struct egs_policy_conf *example(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();
	struct egs_team *team;

	c->partitions = strdup("gpu,serve,scavenge");
	egs_conf_add_tier(c, "prod")->allow_accounts = strdup("fraud-prod");
	egs_conf_add_tier(c, "research");
	egs_conf_add_tier(c, "scavenge")->qos = strdup("low");
	c->tier[SCAVENGE].partitions = strdup("scavenge");
	team = egs_conf_add_team(c, "fraud");
	team->accounts = strdup("fraud,fraud-prod");
	team->tiers = 1u << PROD | 1u << RESEARCH;
	team->default_tier = RESEARCH;
	team = egs_conf_add_team(c, "vision");
	team->accounts = strdup("vision*");
	team->tiers = 1u << RESEARCH | 1u << SCAVENGE;
	team = egs_conf_add_team(c, "students");
	team->groups = strdup("pupils");
	team->users = strdup("eve");
	return c;
}

static const struct {
	const char *title;
	struct egs_standing_input in;
	struct egs_standing want;
} cases[] = {
	{ "a job gets the tier of its hint",
	  { .account = "fraud-prod", .partitions = "gpu", .tier = "prod" },
	  { FRAUD, PROD, EGS_STANDING_BY_HINT } },
	{ "the tier of the hint comes before the tier of the partition",
	  { .account = "vision", .partitions = "scavenge", .tier = "research" },
	  { VISION, RESEARCH, EGS_STANDING_BY_HINT } },
	{ "a job without a tier in its hint gets the tier of its QOS",
	  { .account = "vision", .partitions = "gpu", .qos = "low" },
	  { VISION, SCAVENGE, EGS_STANDING_BY_QOS } },
	{ "a job without a tier of its QOS gets the tier of its partition",
	  { .account = "vision-a", .partitions = "scavenge" },
	  { VISION, SCAVENGE, EGS_STANDING_BY_PARTITION } },
	{ "a job without any of these gets the DefaultTier of its team",
	  { .account = "fraud", .partitions = "gpu,serve" },
	  { FRAUD, RESEARCH, EGS_STANDING_BY_DEFAULT } },
	{ "a job of a team without DefaultTier is unmanaged",
	  { .account = "vision", .partitions = "gpu" },
	  { VISION, -1, EGS_STANDING_NO_RULE } },
	{ "a job outside Partitions= is unmanaged",
	  { .account = "fraud", .partitions = "cpu", .tier = "research" },
	  { FRAUD, -1, EGS_STANDING_OUTSIDE } },
	{ "a job that may start in one of Partitions= is managed",
	  { .account = "fraud", .partitions = "cpu,gpu" },
	  { FRAUD, RESEARCH, EGS_STANDING_BY_DEFAULT } },
	{ "an account in no team is unmanaged",
	  { .account = "physics", .partitions = "scavenge" },
	  { -1, -1, EGS_STANDING_NO_TEAM } },
	{ "a team may be defined by users",
	  { .user = "eve", .partitions = "gpu", .tier = "scavenge" },
	  { STUDENTS, SCAVENGE, EGS_STANDING_BY_HINT } },
	{ "a team may be defined by groups",
	  { .groups = "users,pupils", .partitions = "scavenge" },
	  { STUDENTS, SCAVENGE, EGS_STANDING_BY_PARTITION } },
	{ "a tier that does not exist is refused",
	  { .account = "fraud", .partitions = "gpu", .tier = "gold" },
	  { FRAUD, -1, EGS_STANDING_UNKNOWN_TIER } },
	{ "a tier that is not in Tiers= of the team is refused",
	  { .account = "vision", .partitions = "gpu", .tier = "prod" },
	  { VISION, -1, EGS_STANDING_TEAM_FORBIDS } },
	{ "a tier that allows only other accounts is refused",
	  { .account = "fraud", .partitions = "gpu", .tier = "prod" },
	  { FRAUD, -1, EGS_STANDING_TIER_FORBIDS } },
};

static void no_teams(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();
	struct egs_standing_input in = { .account = "any",
					 .partitions = "scavenge" };
	struct egs_standing s;

	egs_conf_add_tier(c, "prod");
	egs_conf_add_tier(c, "scavenge")->partitions = strdup("scavenge");
	s = egs_standing_get(c, &in);
	is_int(s.tier, 1, "without teams a partition gives its tier to all");
	in.partitions = "gpu";
	s = egs_standing_get(c, &in);
	is_int(s.tier, -1,
	       "without teams a job in another partition is unmanaged");
	egs_policy_conf_free(c);
}

int main(void)
{
	struct egs_policy_conf *conf = example();

	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egs_standing got = egs_standing_get(conf, &cases[i].in);

		ok(got.team == cases[i].want.team &&
			   got.tier == cases[i].want.tier &&
			   got.rule == cases[i].want.rule,
		   "%s", cases[i].title);
	}
	egs_policy_conf_free(conf);
	no_teams();
	return done_testing();
}
