/* standing.c - team and tier of a job, and whether EGS manages it */
#include <string.h>

#include "common/base/list.h"
#include "common/rules/standing.h"

#define ENTRY_SIZE 256

/* Is any name (or every name) of the list 'names' in 'list'?  A name too long
 * for the buffer is in no list.
 */
static bool list_matches(const char *list, const char *names, bool every)
{
	char one[ENTRY_SIZE];
	const char *name;
	bool found = false;
	size_t len;

	while ((name = egs_list_next(&names, &len))) {
		found = false;
		if (len < sizeof(one)) {
			memcpy(one, name, len);
			one[len] = '\0';
			found = egs_conf_list_has(list, one);
		}
		if (found != every)
			return found;
	}
	return found;
}

static int find_team(const struct egs_policy_conf *c,
		     const struct egs_standing_input *in)
{
	for (int i = 0; i < c->nteams; i++) {
		const struct egs_team *t = &c->team[i];

		if (egs_conf_list_has(t->accounts, in->account) ||
		    egs_conf_list_has(t->users, in->user) ||
		    list_matches(t->groups, in->groups, false))
			return i;
	}
	return -1;
}

static bool is_allowed(const struct egs_tier *t,
		       const struct egs_standing_input *in)
{
	if (!t->allow_accounts && !t->allow_users && !t->allow_groups)
		return true;
	return egs_conf_list_has(t->allow_accounts, in->account) ||
	       egs_conf_list_has(t->allow_users, in->user) ||
	       list_matches(t->allow_groups, in->groups, false);
}

/* The tier that a rule gives the job, before permissions are checked. */
static void find_tier(const struct egs_policy_conf *c,
		      const struct egs_standing_input *in,
		      struct egs_standing *s)
{
	if (in->tier && *in->tier) {
		s->tier = egs_conf_find_tier(c, in->tier);
		s->rule = s->tier < 0 ? EGS_STANDING_UNKNOWN_TIER
				      : EGS_STANDING_BY_HINT;
		return;
	}
	for (s->tier = 0; s->tier < c->ntiers; s->tier++) {
		const struct egs_tier *t = &c->tier[s->tier];

		s->rule = EGS_STANDING_BY_QOS;
		if (egs_conf_list_has(t->qos, in->qos))
			return;
		s->rule = EGS_STANDING_BY_PARTITION;
		if (list_matches(t->partitions, in->partitions, true))
			return;
	}
	s->tier = s->team < 0 ? -1 : c->team[s->team].default_tier;
	s->rule = s->tier < 0 ? EGS_STANDING_NO_RULE : EGS_STANDING_BY_DEFAULT;
}

static struct egs_standing refuse_tier(struct egs_standing s,
				       enum egs_standing_rule rule)
{
	s.tier = -1;
	s.rule = rule;
	return s;
}

struct egs_standing egs_standing_get(const struct egs_policy_conf *c,
				     const struct egs_standing_input *in)
{
	struct egs_standing s = { .team = find_team(c, in), .tier = -1 };

	if (c->partitions &&
	    !list_matches(c->partitions, in->partitions, false))
		return refuse_tier(s, EGS_STANDING_OUTSIDE);
	if (s.team < 0 && c->nteams > 0)
		return refuse_tier(s, EGS_STANDING_NO_TEAM);
	find_tier(c, in, &s);
	if (s.tier < 0)
		return s;
	if (s.team >= 0 && !(c->team[s.team].tiers & UINT32_C(1) << s.tier))
		return refuse_tier(s, EGS_STANDING_TEAM_FORBIDS);
	if (!is_allowed(&c->tier[s.tier], in))
		return refuse_tier(s, EGS_STANDING_TIER_FORBIDS);
	return s;
}
