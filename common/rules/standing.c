/* standing.c - whose job this is, and whether EGS has a say in it */
#include <string.h>

#include "common/rules/standing.h"

#define ENTRY_SIZE 256

/* Calls 'has' semantics over lists: is any (or every) entry of 'names' in
 * 'list'?  Entries too long for the buffer are in no list.
 */
static bool list_matches(const char *list, const char *names, bool every)
{
	char one[ENTRY_SIZE];
	bool in = false;

	if (!names || !*names)
		return false;
	while (*names) {
		size_t len = strcspn(names, ",");

		in = false;
		if (len < sizeof(one)) {
			memcpy(one, names, len);
			one[len] = '\0';
			in = egs_conf_list_has(list, one);
		}
		if (in != every)
			return in;
		names += len + (names[len] == ',');
	}
	return in;
}

static int find_team(const struct egs_policy_conf *c,
		     const struct egs_standing_input *who)
{
	for (int i = 0; i < c->nteams; i++) {
		const struct egs_team *t = &c->team[i];

		if (egs_conf_list_has(t->accounts, who->account) ||
		    egs_conf_list_has(t->users, who->user) ||
		    list_matches(t->groups, who->groups, false))
			return i;
	}
	return -1;
}

static bool is_allowed(const struct egs_tier *t,
		       const struct egs_standing_input *who)
{
	if (!t->allow_accounts && !t->allow_users && !t->allow_groups)
		return true;
	return egs_conf_list_has(t->allow_accounts, who->account) ||
	       egs_conf_list_has(t->allow_users, who->user) ||
	       list_matches(t->allow_groups, who->groups, false);
}

/* The tier some rule gives the job, before anybody's rights are looked at. */
static void find_tier(const struct egs_policy_conf *c,
		      const struct egs_standing_input *who,
		      struct egs_standing *s)
{
	if (who->tier && *who->tier) {
		s->tier = egs_conf_find_tier(c, who->tier);
		s->rule = s->tier < 0 ? EGS_STANDING_UNKNOWN_TIER
				      : EGS_STANDING_BY_HINT;
		return;
	}
	for (s->tier = 0; s->tier < c->ntiers; s->tier++) {
		const struct egs_tier *t = &c->tier[s->tier];

		s->rule = EGS_STANDING_BY_QOS;
		if (egs_conf_list_has(t->qos, who->qos))
			return;
		s->rule = EGS_STANDING_BY_PARTITION;
		if (list_matches(t->partitions, who->partitions, true))
			return;
	}
	s->tier = s->team < 0 ? -1 : c->team[s->team].default_tier;
	s->rule = s->tier < 0 ? EGS_STANDING_NO_RULE : EGS_STANDING_BY_DEFAULT;
}

static struct egs_standing refuse_tier(struct egs_standing s,
				       enum egs_standing_rule by)
{
	s.tier = -1;
	s.rule = by;
	return s;
}

struct egs_standing egs_standing_get(const struct egs_policy_conf *c,
				     const struct egs_standing_input *who)
{
	struct egs_standing s = { .team = find_team(c, who), .tier = -1 };

	if (c->partitions &&
	    !list_matches(c->partitions, who->partitions, true))
		return refuse_tier(s, EGS_STANDING_OUTSIDE);
	if (s.team < 0 && c->nteams > 0)
		return refuse_tier(s, EGS_STANDING_NO_TEAM);
	find_tier(c, who, &s);
	if (s.tier < 0)
		return s;
	if (s.team >= 0 && !(c->team[s.team].tiers & UINT32_C(1) << s.tier))
		return refuse_tier(s, EGS_STANDING_TEAM_FORBIDS);
	if (!is_allowed(&c->tier[s.tier], who))
		return refuse_tier(s, EGS_STANDING_TIER_FORBIDS);
	return s;
}
