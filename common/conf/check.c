/* check.c - report values of an egs.conf that contradict each other
 *
 * To add a check, call report_problem() in check_tier(), check_phase(),
 * check_team(), check_workload(), check_rule() or check_global().
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/conf/internal.h"

struct conf_check {
	const struct egs_policy_conf *conf;
	const struct egs_conf_doc *doc;
	struct egs_conf_problems *problems;
};

/* A row of a record. */
struct row_ref {
	enum egs_conf_record_id record;
	int index;
};

static const struct egs_conf_key *find_key(struct row_ref row, const char *key)
{
	return egs_conf_find_key(&egs_conf_records[row.record], key);
}

static const struct egs_conf_item *find_item(const struct conf_check *check,
					     struct row_ref row,
					     const struct egs_conf_key *key)
{
	return egs_conf_doc_find_item(check->doc, &egs_conf_records[row.record],
				      row.index, key);
}

/* The item to blame: the key, else the record, else TierOrder=, which declares
 * a tier without a record.
 */
static const struct egs_conf_item *
find_blamed_item(const struct conf_check *check, struct row_ref row,
		 const char *key)
{
	const struct row_ref order = { EGS_CONF_GLOBAL, 0 };
	const struct egs_conf_item *item =
		find_item(check, row, find_key(row, key));

	if (!item && row.record != EGS_CONF_GLOBAL)
		item = find_item(check, row, NULL);
	if (!item)
		item = find_item(check, order, find_key(order, "TierOrder"));
	return item ? item : check->doc->items;
}

/* Report a problem of a key of a row; the predicate follows "Key=Value". */
__attribute__((format(printf, 4, 5))) static void
report_problem(const struct conf_check *check, struct row_ref row,
	       const char *key, const char *fmt, ...)
{
	char text[EGS_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	egs_text_vformat(text, sizeof(text), fmt, ap);
	va_end(ap);
	egs_conf_add_problem(check->problems, find_blamed_item(check, row, key),
			     "%s", text);
}

/* ---- names that two lists share ----
 *
 * After sorting, an entry "x*" is before all entries that begin with x.  So one
 * walk finds the overlaps, with a stack of the entries that match the current
 * entry.
 */

/* An entry of the list of row 'owner'. */
struct list_entry {
	const char *text;
	size_t len; /* without the '*' */
	bool glob;
	int owner;
};

static int compare_entries(const void *pa, const void *pb)
{
	const struct list_entry *a = pa;
	const struct list_entry *b = pb;
	int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

	if (order)
		return order;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	if (a->glob != b->glob)
		return a->glob ? -1 : 1;
	return (a->owner > b->owner) - (a->owner < b->owner);
}

static bool entry_matches(const struct list_entry *a,
			  const struct list_entry *b)
{
	return (a->glob ? a->len <= b->len : a->len == b->len) &&
	       memcmp(a->text, b->text, a->len) == 0;
}

/* Split 'list' into 'entries', or only count them if 'entries' is NULL. */
static size_t split_list(const char *list, int owner,
			 struct list_entry *entries)
{
	const char *text;
	size_t count = 0;
	size_t len;

	while ((text = egs_list_next(&list, &len))) {
		bool glob = len && text[len - 1] == '*';

		if (entries)
			entries[count] = (struct list_entry){ text, len - glob,
							      glob, owner };
		count++;
	}
	return count;
}

/* A list that every row of a record has, and that must not overlap. */
struct shared_lists {
	const struct conf_check *check;
	const struct egs_conf_record *record;
	const char *key;
};

static void report_overlap(const struct shared_lists *lists,
			   const struct list_entry *a,
			   const struct list_entry *b)
{
	const struct list_entry *late = a->owner > b->owner ? a : b;
	const struct list_entry *early = late == a ? b : a;
	const struct egs_conf_record *record = lists->record;
	const char *name =
		egs_conf_get_row(lists->check->conf, record, early->owner);

	report_problem(
		lists->check, (struct row_ref){ record->id, late->owner },
		lists->key, "has '%.*s', which is also in %s=%s",
		(int)(late->len + late->glob), late->text, record->name, name);
}

/* 'stack' has room for all entries. */
static void report_overlaps(const struct shared_lists *lists,
			    const struct list_entry *entries, size_t count,
			    const struct list_entry **stack)
{
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		const struct list_entry *entry = &entries[i];

		while (depth > 0 && !entry_matches(stack[depth - 1], entry))
			depth--;
		for (size_t d = depth; d > 0; d--) {
			if (stack[d - 1]->owner == entry->owner)
				continue;
			report_overlap(lists, stack[d - 1], entry);
			break;
		}
		stack[depth++] = entry;
	}
}

static const char *get_list(const struct shared_lists *lists, int row)
{
	const char *fields =
		egs_conf_get_row(lists->check->conf, lists->record, row);
	size_t offset = egs_conf_find_key(lists->record, lists->key)->offset;

	return *(char *const *)(const void *)(fields + offset);
}

static void check_overlap(const struct conf_check *check,
			  enum egs_conf_record_id record, const char *key)
{
	const struct shared_lists lists = { check, &egs_conf_records[record],
					    key };
	const int rows = egs_conf_count_rows(check->conf, lists.record);
	const struct list_entry **stack;
	struct list_entry *entries;
	size_t total = 0, used = 0;

	for (int i = 0; i < rows; i++)
		total += split_list(get_list(&lists, i), i, NULL);
	entries = calloc(total + 1, sizeof(*entries));
	stack = calloc(total + 1, sizeof(const struct list_entry *));
	if (entries && stack) {
		for (int i = 0; i < rows; i++)
			used += split_list(get_list(&lists, i), i,
					   entries + used);
		qsort(entries, used, sizeof(*entries), compare_entries);
		report_overlaps(&lists, entries, used, stack);
	} else {
		egs_conf_add_file_problem(check->problems, check->doc->files[0],
					  "out of memory");
	}
	free(stack);
	free(entries);
}

static void check_lists(const struct conf_check *check)
{
	check_overlap(check, EGS_CONF_TIER_RECORD, "Qos");
	check_overlap(check, EGS_CONF_TIER_RECORD, "Partitions");
	check_overlap(check, EGS_CONF_TEAM_RECORD, "Accounts");
	check_overlap(check, EGS_CONF_TEAM_RECORD, "Users");
	check_overlap(check, EGS_CONF_TEAM_RECORD, "Groups");
}

static void check_global(const struct conf_check *check)
{
	const struct egs_policy_conf *conf = check->conf;
	const struct row_ref row = { EGS_CONF_GLOBAL, 0 };

	if (conf->stale_after_s <= conf->poll_interval_s)
		report_problem(
			check, row,
			find_item(check, row, find_key(row, "StaleAfter"))
				? "StaleAfter"
				: "PollInterval",
			"makes every decision stale: StaleAfter must be longer "
			"than PollInterval");
	if (conf->dcgm_map_dir && !conf->sample_interval_s)
		report_problem(check, row, "DcgmMapDir",
			       "needs a SampleInterval above 0: DCGM's numbers "
			       "of the GPUs come with the samples");
}

/* Is this partition of a tier in the global Partitions=? */
static int check_partition(void *arg, const char *entry, struct egs_err *err)
{
	const struct egs_policy_conf *const *conf = arg;

	if (egs_conf_list_has((*conf)->partitions, entry))
		return 0;
	return egs_errf(err, "has '%s', which is not in the global Partitions=",
			egs_printable(entry).text);
}

static void check_tier(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_TIER_RECORD, i };
	const struct egs_policy_conf *conf = check->conf;
	const struct egs_tier *tier = &conf->tier[i];
	struct egs_err err;

	if (!tier->yields && tier->loan == EGS_LOAN_ALWAYS)
		report_problem(
			check, row, "Yields",
			"contradicts Loan=always: a tier that never yields "
			"must run within quota");
	if (tier->grace_min_s > tier->grace_max_s)
		report_problem(check, row, "GraceMin",
			       "is longer than GraceMax");
	if (tier->grace_noack_s > tier->grace_max_s)
		report_problem(check, row, "GraceNoAck",
			       "is longer than GraceMax");
	if (!tier->spill && !tier->nodes)
		report_problem(check, row, "Spill", "needs Nodes=");
	if (tier->partitions && conf->partitions &&
	    egs_conf_for_each_entry(tier->partitions, check_partition, &conf,
				    &err) < 0)
		report_problem(check, row, "Partitions", "%s", err.msg);
}

static void check_phase(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_PHASE_RECORD, i };
	const struct egs_phase *phase = &check->conf->phase[i];

	if (!phase->spill && !phase->nodes)
		report_problem(check, row, "Spill", "needs Nodes=");
	if (phase->idle_warn_s > phase->idle_yield_s)
		report_problem(check, row, "IdleYield", "%s",
			       phase->idle_warn_s == EGS_UNLIMITED
				       ? "needs IdleWarn=: a job is warned "
					 "before it is asked"
				       : "is shorter than IdleWarn");
}

static bool has_quota(const struct egs_policy_conf *conf,
		      const struct egs_team *team)
{
	for (int i = 0; i < conf->ntypes; i++)
		if (team->quota[i])
			return true;
	return false;
}

static void check_default_tier(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_TEAM_RECORD, i };
	const struct egs_team *team = &check->conf->team[i];
	const struct egs_tier *tier;

	if (team->default_tier < 0)
		return;
	tier = &check->conf->tier[team->default_tier];
	if (!(team->tiers & 1u << team->default_tier))
		report_problem(check, row, "DefaultTier", "is not in Tiers=");
	if (tier->loan == EGS_LOAN_NEVER && !has_quota(check->conf, team))
		report_problem(
			check, row, "DefaultTier",
			"has Loan=never, and the team has no Quota: its jobs "
			"would never start");
}

static void check_team(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_TEAM_RECORD, i };
	const struct egs_team *team = &check->conf->team[i];

	if (!team->accounts && !team->users && !team->groups)
		report_problem(check, row, "Accounts",
			       "has no members; set Accounts, Users or Groups");
	for (int t = 0; t < check->conf->ntypes; t++)
		if (team->max_gpus[t] < team->quota[t])
			report_problem(check, row, "MaxGpus",
				       "is less than the Quota of %u%s%s",
				       team->quota[t],
				       *check->conf->type[t].name ? " " : "",
				       check->conf->type[t].name);
	check_default_tier(check, i);
}

/* Floors are never preempted, so they must be within quota. */
static void check_floor(const struct conf_check *check, int i)
{
	const struct egs_policy_conf *conf = check->conf;
	const struct egs_workload *self = &conf->workload[i];
	const struct egs_team *team = &conf->team[self->team];

	for (int t = 0; t < conf->ntypes; t++) {
		uint64_t sum = 0;

		for (int j = 0; j <= i; j++)
			if (conf->workload[j].team == self->team)
				sum += conf->workload[j].floor[t];
		if (!self->floor[t] || sum <= team->quota[t])
			continue;
		report_problem(
			check, (struct row_ref){ EGS_CONF_WORKLOAD_RECORD, i },
			"Floor",
			"makes the floors of Team=%s %" PRIu64 "%s%s, more "
			"than its Quota of %u",
			team->name, sum, *conf->type[t].name ? " " : "",
			conf->type[t].name, team->quota[t]);
	}
}

static void check_workload(const struct conf_check *check, int i)
{
	const struct egs_policy_conf *conf = check->conf;
	const struct egs_workload *self = &conf->workload[i];

	check_floor(check, i);
	for (int j = 0; j < i; j++) {
		const struct egs_workload *other = &conf->workload[j];

		if (strcmp(self->name, other->name) == 0 &&
		    self->team == other->team && self->phase == other->phase)
			report_problem(
				check,
				(struct row_ref){ EGS_CONF_WORKLOAD_RECORD, i },
				"Phase", "is given twice for Team=%s",
				conf->team[self->team].name);
	}
}

/* Does On= compare a number with Above=?  ECC counts errors: any, or more. */
enum above_use { ABOVE_NONE, ABOVE_MAY, ABOVE_MUST };

static const struct {
	const char *word;
	enum above_use above;
	bool is_of_job; /* a program can cause it on a GPU that is well */
} rule_subjects[EGS_ON_COUNT] = {
	[EGS_ON_RECOVERY] = { "recovery", ABOVE_NONE, false },
	[EGS_ON_XID] = { "xid", ABOVE_NONE, false },
	[EGS_ON_ECC] = { "ecc", ABOVE_MAY, false },
	[EGS_ON_TEMPERATURE] = { "temperature", ABOVE_MUST, false },
	[EGS_ON_POWER] = { "power", ABOVE_MUST, true },
	[EGS_ON_SLOWDOWN] = { "slowdown", ABOVE_NONE, false },
	[EGS_ON_MEMORY] = { "memory", ABOVE_MUST, true },
};

static void check_above(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_RULE_RECORD, i };
	const struct egs_rule *rule = &check->conf->rule[i];
	const char *word = rule_subjects[rule->on].word;
	enum above_use use = rule_subjects[rule->on].above;

	if (rule->above == EGS_UNSET && use == ABOVE_MUST)
		report_problem(check, row, "Above",
			       "has no Above=, which On=%s needs", word);
	if (rule->above != EGS_UNSET && use == ABOVE_NONE)
		report_problem(check, row, "Above",
			       "does not go with On=%s, which has no number",
			       word);
	if (rule->above != EGS_UNSET && rule->on == EGS_ON_MEMORY &&
	    rule->above >= 100)
		report_problem(check, row, "Above",
			       "is never exceeded: On=memory is a percentage");
}

static void check_rule(const struct conf_check *check, int i)
{
	const struct row_ref row = { EGS_CONF_RULE_RECORD, i };
	const struct egs_rule *rule = &check->conf->rule[i];

	check_above(check, i);
	if (rule->for_s && rule->on == EGS_ON_XID)
		report_problem(check, row, "For",
			       "does not go with On=xid: an XID has no "
			       "duration");
	if (rule->does.set & EGS_REMEDY_ACTS &&
	    rule_subjects[rule->on].is_of_job)
		report_problem(check, row, "Do",
			       "does not go with On=%s: a job could close a "
			       "node to other jobs with it",
			       rule_subjects[rule->on].word);
	if (rule->does.set & EGS_REMEDY_LIMITED &&
	    rule->limit.count == EGS_UNLIMITED)
		report_problem(check, row, "Do",
			       "needs Limit=, for example Limit=2/hour: a "
			       "fault of the driver must not stop the cluster");
}

/* "Quota=8" is for clusters where GPUs have no type. */
static void check_types(const struct conf_check *check)
{
	const struct egs_conf_doc *doc = check->doc;
	bool mixed = false;

	for (int i = 0; i < check->conf->ntypes; i++)
		mixed |= check->conf->ntypes > 1 &&
			 !check->conf->type[i].name[0];
	for (size_t i = 0; mixed && i < doc->count; i++) {
		const struct egs_conf_item *item = &doc->items[i];

		if (item->sets_key && item->sets_key->kind == EGS_CONF_GPUS &&
		    strspn(item->value, "0123456789") == strlen(item->value))
			egs_conf_add_problem(
				check->problems, item,
				"has no GPU type, but other lines have "
				"one; use type:N");
	}
}

void egs_conf_check(const struct egs_policy_conf *conf,
		    const struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems)
{
	const struct conf_check check = { conf, doc, problems };

	check_types(&check);
	check_global(&check);
	for (int i = 0; i < conf->ntiers; i++)
		check_tier(&check, i);
	for (int i = 0; i < conf->nphases; i++)
		check_phase(&check, i);
	for (int i = 0; i < conf->nteams; i++)
		check_team(&check, i);
	for (int i = 0; i < conf->nworkloads; i++)
		check_workload(&check, i);
	for (int i = 0; i < conf->nrules; i++)
		check_rule(&check, i);
	check_lists(&check);
}
