/* apply.c - set the fields of a configuration to the values of its file
 *
 * A value may refer to a record further down, so there are three walks: the
 * order of tiers, the names of records, then all other values.
 */
#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/names.h"

#define KEYS_MAX 64

struct conf_apply {
	struct egs_policy_conf *conf;
	struct egs_conf_doc *doc;
	struct egs_conf_problems *problems;
	bool types_declared;	      /* there are GpuType= records */
	struct egs_policy_conf *lost; /* values of refused records, or NULL */
};

static const struct egs_conf_record *const global_record =
	&egs_conf_records[EGS_CONF_GLOBAL];
static const struct egs_conf_record *const type_record =
	&egs_conf_records[EGS_CONF_GPUTYPE_RECORD];
static const struct egs_conf_record *const tier_record =
	&egs_conf_records[EGS_CONF_TIER_RECORD];

/* Report an item whose row and key an earlier item has set. */
static bool refuse_duplicate(struct conf_apply *apply,
			     const struct egs_conf_item *item,
			     const struct egs_conf_key *key)
{
	const struct egs_conf_item *other = egs_conf_doc_find_item(
		apply->doc, item->record, item->row, key);

	if (!other || other == item)
		return false;
	egs_conf_add_problem(apply->problems, item,
			     "is given twice, first on line %u of %s",
			     other->line, other->file);
	return true;
}

/* The row of a record's name, added if it is new; -1 with 'err' set. */
static int find_or_add_row(struct conf_apply *apply,
			   const struct egs_conf_item *item,
			   struct egs_err *err)
{
	const struct egs_conf_record *record = item->record;
	char name[EGS_NAME_SIZE];

	if (egs_conf_read_name(record->id, item->value, name, err) < 0)
		return -1;
	if (record == tier_record) {
		if (!apply->conf->ntiers)
			return egs_errf(err, EGS_CONF_NO_TIER_ORDER);
		if (record->find_row(apply->conf, name) < 0)
			return egs_errf(err, "is not in TierOrder, which must "
					     "list all tiers, strongest first");
		return record->find_row(apply->conf, name);
	}
	if (!record->add_row(apply->conf, name))
		return egs_errf(err, "is one too many, at most %d are accepted",
				record->rows_max);
	return record->find_row ? record->find_row(apply->conf, name)
				: egs_conf_count_rows(apply->conf, record) - 1;
}

/* Report a known key in the wrong record, with the record it belongs to. */
static bool refuse_misplaced(struct conf_apply *apply,
			     const struct egs_conf_item *item,
			     const struct egs_conf_record *record)
{
	if (egs_conf_find_record(item->key)) {
		egs_conf_add_problem(apply->problems, item,
				     "begins a record and must be the first "
				     "word of its line");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(egs_conf_records); i++) {
		const struct egs_conf_record *other = &egs_conf_records[i];

		if (other == record || !egs_conf_find_key(other, item->key))
			continue;
		if (other == global_record)
			egs_conf_add_problem(apply->problems, item,
					     "belongs on a line of its own");
		else
			egs_conf_add_problem(
				apply->problems, item,
				"belongs to a %s= record; to continue the line "
				"above, end it with '\\'",
				other->name);
		return true;
	}
	return false;
}

static void refuse_key(struct conf_apply *apply,
		       const struct egs_conf_item *item,
		       const struct egs_conf_record *record)
{
	const char *names[KEYS_MAX];
	size_t count = 0;
	struct egs_err err;

	if (refuse_misplaced(apply, item, record))
		return;
	for (size_t i = 0; i < record->nkeys && count < KEYS_MAX; i++)
		names[count++] = record->keys[i].name;
	for (size_t i = 1; record == global_record && i < EGS_CONF_RECORDS; i++)
		if (count < KEYS_MAX)
			names[count++] = egs_conf_records[i].name;
	egs_err_unknown_name(item->key, "key", names, count, &err);
	egs_conf_add_problem(apply->problems, item, "%s", err.msg);
}

/* A row of 'lost' for the keys of a refused record; NULL without memory. */
static void *get_lost_row(struct conf_apply *apply,
			  const struct egs_conf_record *record)
{
	if (!apply->lost)
		apply->lost = egs_policy_conf_new();
	if (!apply->lost || (!egs_conf_count_rows(apply->lost, record) &&
			     !record->add_row(apply->lost, "lost")))
		return NULL;
	return egs_conf_edit_row(apply->lost, record, 0);
}

/* The keys of a refused record are checked all the same, so that everything
 * that is wrong is told at once.
 */
static void check_lost_item(struct conf_apply *apply,
			    const struct egs_conf_item *item,
			    const struct egs_conf_record *record)
{
	const struct egs_conf_key *key = egs_conf_find_key(record, item->key);
	void *row = get_lost_row(apply, record);
	struct egs_err err;

	if (!key)
		refuse_key(apply, item, record);
	else if (row && egs_conf_read_field(apply->conf, row, key, item->value,
					    apply->types_declared, &err) < 0)
		egs_conf_add_problem(apply->problems, item, "%s", err.msg);
}

static void set_value(struct conf_apply *apply, struct egs_conf_item *item,
		      const struct egs_conf_record *record, int row)
{
	const struct egs_conf_key *key = egs_conf_find_key(record, item->key);
	struct egs_err err;

	if (!key) {
		refuse_key(apply, item, record);
		return;
	}
	item->record = record;
	item->row = row;
	if (refuse_duplicate(apply, item, key))
		return;
	item->sets_key = key;
	if (egs_conf_read_field(
		    apply->conf, egs_conf_edit_row(apply->conf, record, row),
		    key, item->value, apply->types_declared, &err) < 0)
		egs_conf_add_problem(apply->problems, item, "%s", err.msg);
}

/* First walk: TierOrder= adds the tiers; the row of a tier is its rank. */
static void set_tier_order(struct conf_apply *apply, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);
	const struct egs_conf_key *key =
		egs_conf_find_key(global_record, item->key);

	if (!key || key->kind != EGS_CONF_ORDER || head->problem ||
	    egs_conf_find_record(head->key))
		return;
	set_value(apply, item, global_record, 0);
}

/* Second walk: the name of a record adds its row. */
static void declare_record(struct conf_apply *apply, struct egs_conf_item *item)
{
	struct egs_err err;
	int row;

	if (!item->first_on_line || !egs_conf_find_record(item->key))
		return;
	item->record = egs_conf_find_record(item->key);
	apply->types_declared |= item->record == type_record;
	row = find_or_add_row(apply, item, &err);
	if (row < 0) {
		egs_conf_add_problem(apply->problems, item, "%s", err.msg);
		return;
	}
	item->row = row;
	if (refuse_duplicate(apply, item, NULL))
		item->row = -1;
}

/* Third walk: all items without a record yet. */
static void set_rest(struct conf_apply *apply, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);

	if (item->record || head->problem)
		return;
	if (!head->record || head->record == global_record)
		set_value(apply, item, global_record, 0);
	else if (head->row >= 0)
		set_value(apply, item, head->record, head->row);
	else
		check_lost_item(apply, item, head->record);
}

static void walk_items(struct conf_apply *apply,
		       void (*step)(struct conf_apply *apply,
				    struct egs_conf_item *item))
{
	for (size_t i = 0; i < apply->doc->count; i++)
		if (!apply->doc->items[i].problem)
			step(apply, &apply->doc->items[i]);
}

static bool has_key(struct conf_apply *apply,
		    const struct egs_conf_record *record, int row,
		    const char *key)
{
	return egs_conf_doc_find_item(apply->doc, record, row,
				      egs_conf_find_key(record, key)) != NULL;
}

/* Set defaults that depend on other values of the file. */
static void derive_defaults(struct conf_apply *apply)
{
	for (int i = 0; i < apply->conf->ntiers; i++) {
		struct egs_tier *tier = &apply->conf->tier[i];
		bool last = i > 0 && i == apply->conf->ntiers - 1;

		if (last && !has_key(apply, tier_record, i, "Revenue"))
			tier->revenue = false;
		if (tier->grace_min_s > tier->grace_max_s &&
		    !has_key(apply, tier_record, i, "GraceMin"))
			tier->grace_min_s = tier->grace_max_s;
		if (tier->grace_noack_s > tier->grace_max_s &&
		    !has_key(apply, tier_record, i, "GraceNoAck"))
			tier->grace_noack_s = tier->grace_max_s;
	}
}

/* Report the keys that a record needs and does not have. */
static void require_keys(struct conf_apply *apply, struct egs_conf_item *item)
{
	if (!item->first_on_line || item->row < 0 ||
	    item->record == global_record)
		return;
	for (size_t i = 0; i < item->record->nkeys; i++) {
		const struct egs_conf_key *key = &item->record->keys[i];

		if (key->def ||
		    has_key(apply, item->record, item->row, key->name))
			continue;
		egs_conf_add_problem(apply->problems, item,
				     "has no %s=, which is required",
				     key->name);
	}
}

void egs_conf_apply(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems)
{
	struct conf_apply apply = { conf, doc, problems, false, NULL };

	for (size_t i = 0; i < doc->count; i++)
		if (doc->items[i].problem)
			egs_conf_add_item_problem(problems, &doc->items[i]);
	walk_items(&apply, set_tier_order);
	walk_items(&apply, declare_record);
	walk_items(&apply, set_rest);
	walk_items(&apply, require_keys);
	derive_defaults(&apply);
	egs_policy_conf_free(apply.lost);
}
