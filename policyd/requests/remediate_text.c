/* remediate_text.c - what is wrong with a GPU and what is done, in words */
#include <inttypes.h>

#include "common/conf/remedies.h"
#include "common/conf/values.h"
#include "policyd/health/xid.h"
#include "policyd/requests/remediate.h"

const struct egs_rule *egs_remediate_find_rule(const struct egs_daemon *d,
					       const char *name)
{
	const struct egs_policy_conf *conf = egs_daemon_conf(d);
	int i = egs_conf_find_rule(conf, name);

	return i < 0 ? NULL : &conf->rule[i];
}

const char *egs_remediate_sentence(const struct egs_daemon *d,
				   const struct egs_health_action *a,
				   struct egs_text *text)
{
	const struct egs_rule *rule = egs_remediate_find_rule(d, a->rule);
	const struct egs_node_info *node =
		egs_cluster_get_node(d->cluster, a->node);
	const char *words = egs_xid_describe(a->xid);
	char duration[EGS_CONF_VALUE_MAX];
	struct egs_text what;

	egs_textf(text, "GPU %" PRIu32 " of %s%s %s", a->gpu,
		  node ? node->name : "?", a->on == EGS_ON_RECOVERY ? "" : ":",
		  egs_health_describe(a->on, a->value, a->xid, &what));
	if (a->on == EGS_ON_XID)
		egs_text_append(text, ", %s", *words ? words : "unknown");
	if (rule && rule->above != EGS_UNSET)
		egs_text_append(text, ", more than %" PRIu32, rule->above);
	if (rule && rule->for_s) {
		egs_conf_write_seconds(rule->for_s, duration, sizeof(duration));
		egs_text_append(text, " for %s", duration);
	}
	return text->text;
}

const char *egs_remediate_drain_reason(const struct egs_health_action *a,
				       struct egs_text *text)
{
	struct egs_text what;

	return egs_textf(text, EGS_DRAIN_PREFIX "GPU %" PRIu32 " %s", a->gpu,
			 egs_health_describe(a->on, a->value, a->xid, &what));
}

const char *egs_remediate_bound(const struct egs_daemon *d,
				const struct egs_health_action *a,
				struct egs_text *text)
{
	const struct egs_rule *rule = egs_remediate_find_rule(d, a->rule);
	char limit[EGS_CONF_VALUE_MAX] = "none";

	if (a->bound == EGS_HEALTH_MAX)
		return egs_textf(text, "RemediateMax=%" PRIu32 "%% is reached",
				 egs_daemon_conf(d)->remediate_max_pct);
	if (rule)
		egs_conf_write_rate(&rule->limit, limit, sizeof(limit));
	return egs_textf(text, "Limit=%s is reached", limit);
}

/* ---- notes ---- */

struct note_view {
	uint32_t gpu; /* or EGS_REMEDIATE_ANY */
	struct egs_text *note;
};

static void append_case(void *arg, const struct egs_health_action *done)
{
	static const struct {
		enum egs_remedy remedy;
		const char *words;
	} words[] = {
		{ EGS_REMEDY_AVOID, "avoided" },
		{ EGS_REMEDY_CAP, "its power is capped" },
		{ EGS_REMEDY_MOVE, "jobs are moved" },
		{ EGS_REMEDY_FENCE, "fenced" },
		{ EGS_REMEDY_DRAIN, "drained" },
	};
	const struct note_view *view = arg;
	const char *comma = " ";
	struct egs_text what;

	if (!(done->remedies & (EGS_REMEDY_ACTS | EGS_REMEDY_CAP)) ||
	    (view->gpu != EGS_REMEDIATE_ANY && view->gpu != done->gpu))
		return;
	egs_text_append(view->note,
			"%srule %s: ", *view->note->text ? "; " : "",
			done->rule);
	if (view->gpu == EGS_REMEDIATE_ANY)
		egs_text_append(view->note, "GPU %" PRIu32 " ", done->gpu);
	egs_text_append(
		view->note, "%s,%s",
		egs_health_describe(done->on, done->value, done->xid, &what),
		done->observed ? " would be" : "");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!(done->remedies & words[i].remedy))
			continue;
		egs_text_append(view->note, "%s%s", comma, words[i].words);
		comma = ", ";
	}
}

void egs_remediate_note(const struct egs_daemon *d, uint32_t node, uint32_t gpu,
			struct egs_text *note)
{
	struct note_view view = { .gpu = gpu, .note = note };

	egs_health_each_case(d->requests->remediate->health, node, append_case,
			     &view);
}
