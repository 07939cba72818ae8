/* judge.c - does egs.conf fit its cluster?
 *
 * To add a check, call refuse() or warn() in one of the judge_ functions, and
 * add a row to t/unit/conf_judge.c and to "Mistakes" in egs.conf(5).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hostlist.h"
#include "common/base/list.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/judge.h"
#include "common/conf/names.h"

/* Nodes that a sentence names; others are counted. */
#define NODES_SHOWN 5

struct judge {
	const struct egs_policy_conf *policy;
	const struct egs_conf_doc *doc;
	const struct egs_judge_cluster *cluster;
	struct egs_judgement *to;
};

void egs_judge_add_gpus(struct egs_judge_cluster *c, const char *type,
			uint32_t gpus)
{
	int i = 0;

	while (i < c->ntypes && strcmp(c->type[i].name, type) != 0)
		i++;
	if (i == EGS_JUDGE_TYPES_MAX)
		i--;
	if (i == c->ntypes) {
		c->ntypes++;
		snprintf(c->type[i].name, sizeof(c->type[i].name), "%s", type);
		c->type[i].gpus = 0;
	}
	c->type[i].gpus += gpus;
}

void egs_judge_clear(struct egs_judge_cluster *c)
{
	egs_intern_clear(&c->nodes);
	egs_intern_clear(&c->partitions);
	egs_intern_clear(&c->qos);
	egs_intern_clear(&c->users);
	*c = (struct egs_judge_cluster){ .ntypes = 0 };
}

/* A problem of the file as a whole. */
static void add_file_sentence(const struct judge *j,
			      struct egs_conf_problems *to,
			      const char *sentence)
{
	egs_conf_add_file_problem(to, j->doc->files[0], sentence);
}

/* ---- names that the cluster does not know ---- */

static bool item_sets(const struct egs_conf_item *item, const char *key)
{
	return item->sets_key && strcmp(item->sets_key->name, key) == 0;
}

/* The list of names of 'item', and what the cluster knows of such names. */
struct name_kind {
	const char *key;
	const char *what; /* one of the names */
	const struct egs_intern *known;
};

static void warn_unknown_names(const struct judge *j,
			       const struct egs_conf_item *item,
			       const struct name_kind *kind)
{
	const char *const *names = (const char *const *)kind->known->name;
	const char *list = item->value, *entry;
	char name[EGS_PRINTABLE_MAX * 4];
	struct egs_err why, err;
	size_t len;

	while ((entry = egs_list_next(&list, &len))) {
		snprintf(name, sizeof(name), "%.*s", (int)len, entry);
		if (egs_intern_find(kind->known, name))
			continue;
		egs_err_unknown_name(name, kind->what, names,
				     kind->known->count, &why);
		egs_conf_refuse_entry(name, &why, &err);
		egs_conf_add_problem(&j->to->warnings, item, "%s", err.msg);
	}
}

static bool is_default_value(const struct egs_conf_item *item)
{
	return item->sets_key->def &&
	       strcmp(item->value, item->sets_key->def) == 0;
}

static void judge_names(const struct judge *j)
{
	const struct name_kind kinds[] = {
		{ "Partitions", "partition", &j->cluster->partitions },
		{ "Qos", "QOS", &j->cluster->qos },
	};

	for (size_t i = 0; i < j->doc->count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			const struct egs_conf_item *item = &j->doc->items[i];

			if (item_sets(item, kinds[k].key) &&
			    kinds[k].known->count && !is_default_value(item))
				warn_unknown_names(j, item, &kinds[k]);
		}
}

static void judge_operators(const struct judge *j,
			    const struct egs_conf_item *item)
{
	const char *list = j->policy->operators, *entry;
	char name[EGS_PRINTABLE_MAX * 4];
	size_t len;

	while (j->cluster->users_known &&
	       (entry = egs_list_next(&list, &len))) {
		snprintf(name, sizeof(name), "%.*s", (int)len, entry);
		if (!egs_intern_find(&j->cluster->users, name))
			egs_conf_add_problem(&j->to->warnings, item,
					     "has '%s', which is not a user of "
					     "this host",
					     egs_printable(name).text);
	}
}

/* ---- nodes ---- */

struct node_count {
	const struct egs_intern *known;
	unsigned found, missing;
	struct egs_text names; /* of the first that are missing */
};

static int count_node(void *arg, const char *name)
{
	struct node_count *count = arg;

	if (egs_intern_find(count->known, name)) {
		count->found++;
		return 0;
	}
	if (count->missing < NODES_SHOWN)
		egs_text_append(&count->names, "%s%s",
				count->missing ? ", " : "", name);
	count->missing++;
	return 0;
}

/* Does the tier or the phase of this Nodes= have Spill=no? */
static bool is_bound(const struct judge *j, const struct egs_conf_item *item)
{
	return item->record->id == EGS_CONF_TIER_RECORD
		       ? !j->policy->tier[item->row].spill
		       : !j->policy->phase[item->row].spill;
}

static void judge_nodes(const struct judge *j, const struct egs_conf_item *item)
{
	struct node_count count = { .known = &j->cluster->nodes };

	if (!count.known->count || is_default_value(item))
		return;
	egs_hostlist_each(item->value, count_node, &count);
	if (!count.found && is_bound(j, item))
		egs_conf_add_problem(&j->to->refused, item,
				     "names no node of the cluster; with "
				     "Spill=no its jobs would wait for ever");
	else if (!count.found)
		egs_conf_add_problem(&j->to->warnings, item,
				     "names no node of the cluster; its jobs "
				     "use all nodes");
	else if (count.missing > NODES_SHOWN)
		egs_conf_add_problem(&j->to->warnings, item,
				     "names nodes that the cluster does not "
				     "have: %s and %u more",
				     count.names.text,
				     count.missing - NODES_SHOWN);
	else if (count.missing)
		egs_conf_add_problem(&j->to->warnings, item,
				     "names nodes that the cluster does not "
				     "have: %s",
				     count.names.text);
}

/* ---- GPUs ---- */

static uint64_t sum_quotas(const struct egs_policy_conf *policy, int type)
{
	uint64_t sum = 0;

	for (int i = 0; i < policy->nteams; i++)
		sum += policy->team[i].quota[type];
	return sum;
}

int egs_judge_quotas(const struct egs_policy_conf *policy, int type,
		     uint64_t gpus, struct egs_err *err)
{
	const char *name = policy->type[type].name;
	uint64_t sum = sum_quotas(policy, type);

	if (sum <= gpus)
		return 0;
	return egs_errf(err,
			"the quotas of all teams add up to %" PRIu64
			" %s%sGPUs, but the cluster has %" PRIu64,
			sum, name, *name ? " " : "", gpus);
}

/* GPUs of the cluster that count for 'type', a row of the file. */
static uint64_t count_gpus(const struct judge *j, int type)
{
	uint64_t gpus = 0;

	for (int i = 0; i < j->cluster->ntypes; i++)
		if (egs_conf_match_type(j->policy, j->cluster->type[i].name) ==
		    type)
			gpus += j->cluster->type[i].gpus;
	return gpus;
}

/* Does the value "a100:4,h100:2" of 'item' have this type? */
static bool has_type(const struct egs_conf_item *item, const char *type)
{
	const char *list = item->value, *entry;
	size_t want = strlen(type), len;

	while ((entry = egs_list_next(&list, &len)))
		if (len > want && entry[want] == ':' &&
		    memcmp(entry, type, want) == 0)
			return true;
	return false;
}

/* The item to blame for a type: a Quota=, else another value, else GpuType=. */
static const struct egs_conf_item *find_type_item(const struct judge *j,
						  int type, bool *is_quota)
{
	const char *name = j->policy->type[type].name;
	const struct egs_conf_item *found = NULL;

	*is_quota = false;
	for (size_t i = 0; i < j->doc->count; i++) {
		const struct egs_conf_item *item = &j->doc->items[i];

		if (item->record &&
		    item->record->id == EGS_CONF_GPUTYPE_RECORD &&
		    item->row == type && !item->sets_key && !found)
			found = item;
		if (!item->sets_key || item->sets_key->kind != EGS_CONF_GPUS ||
		    !has_type(item, name))
			continue;
		found = item;
		*is_quota = item_sets(item, "Quota");
		if (*is_quota)
			return item;
	}
	return found;
}

static void list_types(const struct egs_judge_cluster *c, struct egs_text *text)
{
	for (int i = 0; i < c->ntypes; i++)
		egs_text_append(text, "%s%s", i ? ", " : "",
				*c->type[i].name ? c->type[i].name
						 : "GPUs without a type");
}

static void judge_missing_type(const struct judge *j, int type)
{
	bool is_quota;
	const struct egs_conf_item *item = find_type_item(j, type, &is_quota);
	struct egs_text types = { "none" };

	if (j->cluster->ntypes)
		types.text[0] = '\0';
	list_types(j->cluster, &types);
	if (item)
		egs_conf_add_problem(
			is_quota && !j->cluster->quotas_exceeded
				? &j->to->refused
				: &j->to->warnings,
			item, "has the GPU type '%s', which no node has (%s)",
			j->policy->type[type].name, types.text);
}

static void judge_gpus(const struct judge *j)
{
	struct egs_err err;

	for (int t = 0; j->cluster->nodes.count && t < j->policy->ntypes; t++) {
		uint64_t gpus = count_gpus(j, t);

		if (!gpus && *j->policy->type[t].name)
			judge_missing_type(j, t);
		else if (egs_judge_quotas(j->policy, t, gpus, &err) < 0)
			add_file_sentence(j,
					  j->cluster->quotas_exceeded
						  ? &j->to->warnings
						  : &j->to->refused,
					  err.msg);
	}
}

/* ---- the file as a whole ---- */

static bool is_enforced(const struct judge *j)
{
	for (int i = 0; i < j->policy->nteams; i++)
		if (j->policy->team[i].mode == EGS_MODE_ENFORCE)
			return true;
	return j->policy->mode == EGS_MODE_ENFORCE || j->cluster->enforcing;
}

/* Is at least one partition of the global Partitions= known? */
static bool has_partition(const struct judge *j)
{
	const struct egs_intern *known = &j->cluster->partitions;

	for (uint32_t i = 0; i < known->count; i++)
		if (egs_conf_list_has(j->policy->partitions, known->name[i]))
			return true;
	return !j->policy->partitions || !known->count;
}

static void judge_file(const struct judge *j)
{
	struct egs_conf_problems *to =
		is_enforced(j) ? &j->to->refused : &j->to->warnings;

	if (!j->policy->ntiers)
		add_file_sentence(
			j, to,
			is_enforced(j) ? "TierOrder= is missing, so no job "
					 "would be managed in enforce mode; to "
					 "switch EGS off, use egsctl mode "
					 "observe"
				       : "TierOrder= is missing, so no job is "
					 "managed");
	else if (!has_partition(j))
		add_file_sentence(j, to,
				  "no partition of Partitions= exists, so no "
				  "job is managed");
	if (j->policy->ntiers && !j->policy->nteams)
		add_file_sentence(j, &j->to->warnings,
				  "there is no Team=, so no job has a quota, "
				  "and only jobs with --tier, or in Qos= or "
				  "Partitions= of a tier, are managed");
}

/* A phase of the site that is one step from a built-in phase. */
static void judge_phase(const struct judge *j, const struct egs_conf_item *item)
{
	const char *name = j->policy->phase[item->row].name;
	const char *typed[EGS_PHASE_NAMES], *near;

	for (size_t i = 0; i < EGS_PHASE_NAMES; i++) {
		typed[i] = egs_phase_names[i].typed;
		if (strcmp(name, typed[i]) == 0)
			return;
	}
	near = egs_suggest_within(name, typed, EGS_PHASE_NAMES, 1);
	if (near)
		egs_conf_add_problem(&j->to->warnings, item,
				     "adds a phase '%s'; did you mean '%s'?",
				     name, near);
}

/* ---- what was not asked ---- */

static bool uses_key(const struct judge *j, const char *key)
{
	for (size_t i = 0; i < j->doc->count; i++)
		if (item_sets(&j->doc->items[i], key) &&
		    !is_default_value(&j->doc->items[i]))
			return true;
	return false;
}

static void list_not_asked(const struct judge *j)
{
	const struct egs_judge_cluster *c = j->cluster;
	const struct {
		const char *what;
		bool missing;
	} parts[] = {
		{ "GPUs", !c->nodes.count && j->policy->ntypes },
		{ "nodes", !c->nodes.count && uses_key(j, "Nodes") },
		{ "partitions",
		  !c->partitions.count && uses_key(j, "Partitions") },
		{ "QOS", !c->qos.count && uses_key(j, "Qos") },
		{ "operators", !c->users_known && j->policy->operators },
	};
	struct egs_text *to = &j->to->not_asked;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].missing)
			egs_text_append(to, "%s%s", *to->text ? ", " : "",
					parts[i].what);
}

void egs_judge_conf(const struct egs_conf *conf,
		    const struct egs_judge_cluster *cluster,
		    struct egs_judgement *judgement)
{
	const struct judge j = { conf->policy, &conf->doc, cluster, judgement };

	*judgement = (struct egs_judgement){ .not_asked = { "" } };
	judge_file(&j);
	judge_gpus(&j);
	judge_names(&j);
	for (size_t i = 0; i < j.doc->count; i++) {
		const struct egs_conf_item *item = &j.doc->items[i];

		if (item_sets(item, "Operators"))
			judge_operators(&j, item);
		else if (item->sets_key &&
			 item->sets_key->kind == EGS_CONF_HOSTS)
			judge_nodes(&j, item);
		else if (item->record && !item->sets_key && item->row >= 0 &&
			 item->record->id == EGS_CONF_PHASE_RECORD)
			judge_phase(&j, item);
	}
	list_not_asked(&j);
}
