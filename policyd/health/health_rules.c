/* health_rules.c - rules about GPUs: modes, earlier daemons, operators, words
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/health/health_internal.h"

/* ---- rules ---- */

static int find_rule(const struct egs_health_rule *rules, int n,
		     const char *name, enum egs_rule_on on)
{
	for (int i = 0; i < n; i++)
		if (rules[i].conf.on == on &&
		    strcmp(rules[i].conf.name, name) == 0)
			return i;
	return -1;
}

static bool has_rule_on(const struct egs_policy_conf *conf, enum egs_rule_on on)
{
	for (int i = 0; i < conf->nrules; i++)
		if (conf->rule[i].on == on)
			return true;
	return false;
}

static int list_rules(const struct egs_policy_conf *conf,
		      struct egs_health_rule rules[EGS_HEALTH_RULES_MAX])
{
	static const enum egs_rule_on noted[] = { EGS_ON_RECOVERY, EGS_ON_XID,
						  EGS_ON_ECC };
	int n = 0;

	for (int i = 0; i < conf->nrules; i++)
		rules[n++] = (struct egs_health_rule){ .conf = conf->rule[i] };
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++)
		if (!has_rule_on(conf, noted[i]))
			rules[n++] = (struct egs_health_rule){
				.conf = { .name = "default",
					  .on = noted[i],
					  .above = EGS_UNSET,
					  .does.set = EGS_REMEDY_NOTE,
					  .limit.count = EGS_UNLIMITED },
			};
	return n;
}

/* Give the cases of a node their rules among 'rules'; undo the others. */
static void move_cases(struct egs_health *h, struct egs_health_node *node,
		       const struct egs_health_rule *rules, int n)
{
	struct egs_health_case *next;

	for (struct egs_health_case *c = node->first; c; c = next) {
		const struct egs_rule *old = &h->rule[c->rule].conf;
		int rule = find_rule(rules, n, old->name, old->on);

		next = c->next;
		if (rule >= 0)
			c->rule = rule;
		else
			egs_health_end_case(h, node, c);
	}
}

void egs_health_set_rules(struct egs_health *h,
			  const struct egs_policy_conf *conf)
{
	struct egs_health_rule rules[EGS_HEALTH_RULES_MAX];
	int n = list_rules(conf, rules);

	for (uint32_t i = 0; i < h->nnodes; i++)
		move_cases(h, &h->node[i], rules, n);
	for (int i = 0; i < h->nrules; i++) {
		const struct egs_rule *old = &h->rule[i].conf;
		int rule = find_rule(rules, n, old->name, old->on);

		if (rule < 0) {
			free(h->rule[i].used);
			continue;
		}
		rules[rule].used = h->rule[i].used;
		rules[rule].nused = h->rule[i].nused;
		rules[rule].room = h->rule[i].room;
	}
	memcpy(h->rule, rules, (size_t)n * sizeof(rules[0]));
	h->nrules = n;
}

void egs_health_set_acting(struct egs_health *h, bool acting)
{
	bool begins = acting && !h->acting;

	h->acting = acting;
	for (uint32_t i = 0; begins && i < h->nnodes; i++) {
		struct egs_health_case *next;

		for (struct egs_health_case *c = h->node[i].first; c;
		     c = next) {
			next = c->next;
			if (c->observed)
				egs_health_end_case(h, &h->node[i], c);
		}
	}
}

/* ---- an earlier daemon, operators ---- */

static void restore_remedies(struct egs_health_case *c,
			     const struct egs_health_action *saved)
{
	uint32_t *const mask =
		saved->kind == EGS_HEALTH_HOLD ? &c->held_back : &c->done;

	*mask |= saved->remedies;
	if (saved->kind == EGS_HEALTH_UNDO)
		c->taken |= saved->remedies;
	c->value = saved->value;
	c->observed |= saved->observed;
	c->used_limit |= (c->done & ~(uint32_t)EGS_REMEDY_NOTE) != 0;
}

int egs_health_restore(struct egs_health *h,
		       const struct egs_health_action *saved, egs_time_t now)
{
	const struct egs_health_gpu gpu = { .node = saved->node,
					    .gpu = saved->gpu,
					    .session = saved->session,
					    .holder = saved->holder };
	int rule = find_rule(h->rule, h->nrules, saved->rule, saved->on);
	struct egs_health_node *node = egs_health_make_node(h, saved->node);
	struct egs_health_action undo = *saved;
	struct egs_health_case *c;

	if (!node)
		return -1;
	if (rule < 0) {
		undo.kind = EGS_HEALTH_UNDO;
		undo.ended = saved->remedies;
		if (saved->kind != EGS_HEALTH_DO)
			undo.remedies = 0;
		egs_health_push_action(h, &undo);
		return 0;
	}
	c = egs_health_find_case(node, rule, saved->gpu, saved->xid);
	if (!c && !(c = egs_health_add_case(node, rule, &gpu, saved->xid, now)))
		return -1;
	restore_remedies(c, saved);
	egs_health_count_node(h, node);
	return 0;
}

int egs_health_restore_use(struct egs_health *h, const char *name,
			   egs_time_t age_s, egs_time_t now)
{
	for (int i = 0; i < h->nrules; i++)
		if (strcmp(h->rule[i].conf.name, name) == 0)
			return egs_health_add_use(
				&h->rule[i], now - (age_s > 0 ? age_s : 0));
	return 0;
}

void egs_health_drop(struct egs_health *h, uint32_t number, uint32_t remedies)
{
	struct egs_health_node *node = egs_health_get_node(h, number);

	if (!node)
		return;
	for (struct egs_health_case *c = node->first; c; c = c->next)
		c->taken |= c->done & remedies;
	egs_health_count_node(h, node);
}

/* ---- show ---- */

void egs_health_each_case(const struct egs_health *h, uint32_t number,
			  void (*fn)(void *arg,
				     const struct egs_health_action *done),
			  void *arg)
{
	const struct egs_health_node *node = egs_health_get_node(h, number);

	for (const struct egs_health_case *c = node ? node->first : NULL; c;
	     c = c->next) {
		struct egs_health_action a =
			egs_health_make_action(h, number, c);

		if (c->done)
			fn(arg, &a);
	}
}

static const char *describe_recovery(int64_t value)
{
	static const char *const words[] = {
		[EGS_HEALTH_RESET] = "needs a reset",
		[EGS_HEALTH_REBOOT] = "needs a reboot of the node",
		[EGS_HEALTH_DRAIN_P2P] = "must not talk to other GPUs",
		[EGS_HEALTH_DRAIN_AND_RESET] = "must be drained and reset",
		[EGS_HEALTH_LOST] = "is lost",
		[EGS_HEALTH_MISSING] = "is missing",
	};

	return value > 0 && value < (int64_t)ARRAY_SIZE(words) ? words[value]
							       : "is not well";
}

const char *egs_health_describe(enum egs_rule_on on, int64_t value,
				uint32_t xid, struct egs_text *text)
{
	static const struct {
		const char *before, *after;
	} words[EGS_ON_COUNT] = {
		[EGS_ON_ECC] = { "uncorrected memory errors: ", "" },
		[EGS_ON_TEMPERATURE] = { "temperature ", " C" },
		[EGS_ON_POWER] = { "power ", " W" },
		[EGS_ON_MEMORY] = { "memory ", " %" },
	};

	switch (on) {
	case EGS_ON_XID:
		return egs_textf(text, "XID %" PRIu32, xid);
	case EGS_ON_RECOVERY:
		return egs_textf(text, "%s", describe_recovery(value));
	case EGS_ON_SLOWDOWN:
		return egs_textf(text, "slowed down");
	default:
		return egs_textf(text, "%s%" PRId64 "%s", words[on].before,
				 value, words[on].after);
	}
}
