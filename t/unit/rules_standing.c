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
	const char *says;
	struct egs_standing_input who;
	struct egs_standing want;
} cases[] = {
	{ "what a job asks for comes first",
	  { .account = "fraud-prod", .partitions = "gpu", .tier = "prod" },
	  { FRAUD, PROD, EGS_STANDING_BY_HINT } },
	{ "even in a partition with a tier of its own",
	  { .account = "vision", .partitions = "scavenge", .tier = "research" },
	  { VISION, RESEARCH, EGS_STANDING_BY_HINT } },
	{ "then the tier of its QOS",
	  { .account = "vision", .partitions = "gpu", .qos = "low" },
	  { VISION, SCAVENGE, EGS_STANDING_BY_QOS } },
	{ "then that of its partition",
	  { .account = "vision-a", .partitions = "scavenge" },
	  { VISION, SCAVENGE, EGS_STANDING_BY_PARTITION } },
	{ "then the default of its team",
	  { .account = "fraud", .partitions = "gpu,serve" },
	  { FRAUD, RESEARCH, EGS_STANDING_BY_DEFAULT } },
	{ "a team without a default leaves it unmanaged",
	  { .account = "vision", .partitions = "gpu" },
	  { VISION, -1, EGS_STANDING_NO_RULE } },
	{ "outside our partitions nobody is managed",
	  { .account = "fraud", .partitions = "cpu", .tier = "research" },
	  { FRAUD, -1, EGS_STANDING_OUTSIDE } },
	{ "nor who may start in one that is not ours",
	  { .account = "fraud", .partitions = "gpu,cpu" },
	  { FRAUD, -1, EGS_STANDING_OUTSIDE } },
	{ "an account in no team is unmanaged",
	  { .account = "physics", .partitions = "scavenge" },
	  { -1, -1, EGS_STANDING_NO_TEAM } },
	{ "a team may be its users",
	  { .user = "eve", .partitions = "gpu", .tier = "scavenge" },
	  { STUDENTS, SCAVENGE, EGS_STANDING_BY_HINT } },
	{ "or their groups",
	  { .groups = "users,pupils", .partitions = "scavenge" },
	  { STUDENTS, SCAVENGE, EGS_STANDING_BY_PARTITION } },
	{ "a tier that does not exist is refused",
	  { .account = "fraud", .partitions = "gpu", .tier = "gold" },
	  { FRAUD, -1, EGS_STANDING_UNKNOWN_TIER } },
	{ "a tier the team has not is refused",
	  { .account = "vision", .partitions = "gpu", .tier = "prod" },
	  { VISION, -1, EGS_STANDING_TEAM_FORBIDS } },
	{ "a tier for other accounts is refused",
	  { .account = "fraud", .partitions = "gpu", .tier = "prod" },
	  { FRAUD, -1, EGS_STANDING_TIER_FORBIDS } },
};

static void smallest_file(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();
	struct egs_standing_input who = { .account = "any",
					  .partitions = "scavenge" };
	struct egs_standing s;

	egs_conf_add_tier(c, "prod");
	egs_conf_add_tier(c, "scavenge")->partitions = strdup("scavenge");
	s = egs_standing_get(c, &who);
	is_int(s.tier, 1, "without teams a partition gives its tier to all");
	who.partitions = "gpu";
	s = egs_standing_get(c, &who);
	is_int(s.tier, -1, "and other jobs stay as they are");
	egs_policy_conf_free(c);
}

int main(void)
{
	struct egs_policy_conf *conf = example();

	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egs_standing got = egs_standing_get(conf, &cases[i].who);

		ok(got.team == cases[i].want.team &&
			   got.tier == cases[i].want.tier &&
			   got.rule == cases[i].want.rule,
		   "%s", cases[i].says);
	}
	egs_policy_conf_free(conf);
	smallest_file();
	return done_testing();
}
