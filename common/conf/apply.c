/* apply.c - from the lines of an egs.conf to the rows of a configuration
 *
 * A value may refer to a record further down, so there are three walks: the
 * order of tiers, the names of records, then everything else.
 */
#include "common/conf/apply.h"
#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/keys.h"
#include "common/conf/kinds.h"
#include "common/conf/names.h"

#define KEYS_MAX 32

struct conf_apply {
	struct egs_policy_conf *conf;
	struct egs_conf_doc *doc;
	struct egs_conf_problems *problems;
	bool types_declared; /* there are GpuType= records */
};

static const struct egs_conf_record *const global_record =
	&egs_conf_records[EGS_CONF_GLOBAL];
static const struct egs_conf_record *const type_record =
	&egs_conf_records[EGS_CONF_GPUTYPE_RECORD];
static const struct egs_conf_record *const tier_record =
	&egs_conf_records[EGS_CONF_TIER_RECORD];

static void report_problem(struct conf_apply *fill,
			   const struct egs_conf_item *item,
			   const char *predicate)
{
	egs_conf_add_problem(fill->problems, item, predicate);
}

/* Is there an earlier item for the same row and key?  Then one is too many. */
static bool refuse_duplicate(struct conf_apply *fill,
			     const struct egs_conf_item *item,
			     const struct egs_conf_key *key)
{
	const struct egs_conf_item *other =
		egs_conf_doc_find_item(fill->doc, item->record, item->row, key);
	struct egs_err err;

	if (!other || other == item)
		return false;
	egs_errf(&err, "is given twice, first on line %u of %s", other->line,
		 other->file);
	report_problem(fill, item, err.msg);
	return true;
}

/* The row a record's name stands for, made if need be; -1: 'err' says why. */
static int find_or_add_row(struct conf_apply *fill,
			   const struct egs_conf_item *item,
			   struct egs_err *err)
{
	const struct egs_conf_record *record = item->record;
	char name[EGS_NAME_SIZE];

	if (egs_conf_read_name(record, item->value, name, err) < 0)
		return -1;
	if (record == tier_record) {
		if (record->find_row(fill->conf, name) < 0)
			return egs_errf(err, "is not in TierOrder, which has "
					     "all tiers, strongest first");
		return record->find_row(fill->conf, name);
	}
	if (!record->add_row(fill->conf, name))
		return egs_errf(err, "is one more than %d, the most",
				record->rows_max);
	return record->find_row ? record->find_row(fill->conf, name)
				: egs_conf_count_rows(fill->conf, record) - 1;
}

/* A key that stands where it does not belong, and where it does. */
static bool refuse_misplaced(struct conf_apply *fill,
			     const struct egs_conf_item *item,
			     const struct egs_conf_record *record)
{
	struct egs_err err;

	if (egs_conf_find_record(item->key)) {
		report_problem(fill, item,
			       "begins a record and must be the first "
			       "word of its line");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(egs_conf_records); i++) {
		const struct egs_conf_record *other = &egs_conf_records[i];

		if (other == record || !egs_conf_find_key(other, item->key))
			continue;
		if (other == global_record)
			egs_errf(&err, "belongs on a line of its own");
		else
			egs_errf(&err,
				 "belongs to a %s= record; is a '\\' "
				 "missing before it?",
				 other->name);
		report_problem(fill, item, err.msg);
		return true;
	}
	return false;
}

static void refuse_key(struct conf_apply *fill,
		       const struct egs_conf_item *item,
		       const struct egs_conf_record *record)
{
	const char *names[KEYS_MAX];
	size_t count = 0;
	struct egs_err err;

	if (refuse_misplaced(fill, item, record))
		return;
	for (size_t i = 0; i < record->nkeys && count < KEYS_MAX; i++)
		names[count++] = record->keys[i].name;
	for (size_t i = 1; record == global_record && i < EGS_CONF_RECORDS; i++)
		if (count < KEYS_MAX)
			names[count++] = egs_conf_records[i].name;
	egs_err_unknown_name(item->key, "key", names, count, &err);
	report_problem(fill, item, err.msg);
}

/* Read one value into a row. */
static void set_value(struct conf_apply *fill, struct egs_conf_item *item,
		      const struct egs_conf_record *record, int row)
{
	const struct egs_conf_key *key = egs_conf_find_key(record, item->key);
	struct egs_err err;

	if (!key) {
		refuse_key(fill, item, record);
		return;
	}
	item->record = record;
	item->row = row;
	if (refuse_duplicate(fill, item, key))
		return;
	item->sets_key = key;
	if (egs_conf_read_field(fill->conf,
				egs_conf_edit_row(fill->conf, record, row), key,
				item->value, fill->types_declared, &err) < 0)
		report_problem(fill, item, err.msg);
}

/* First walk: TierOrder= makes the tiers, and their rank is their row. */
static void set_tier_order(struct conf_apply *fill, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);
	const struct egs_conf_key *key =
		egs_conf_find_key(global_record, item->key);

	if (!key || key->kind != EGS_CONF_ORDER || head->problem ||
	    egs_conf_find_record(head->key))
		return;
	set_value(fill, item, global_record, 0);
}

/* Second walk: a record's name makes its row. */
static void declare_record(struct conf_apply *fill, struct egs_conf_item *item)
{
	struct egs_err err;
	int row;

	if (!item->first_on_line || !egs_conf_find_record(item->key))
		return;
	item->record = egs_conf_find_record(item->key);
	fill->types_declared |= item->record == type_record;
	row = find_or_add_row(fill, item, &err);
	if (row < 0) {
		report_problem(fill, item, err.msg);
		return;
	}
	item->row = row;
	if (refuse_duplicate(fill, item, NULL))
		item->row = -1;
}

/* Third walk: everything the others left. */
static void set_rest(struct conf_apply *fill, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);

	if (item->record || head->problem)
		return;
	if (!head->record || head->record == global_record)
		set_value(fill, item, global_record, 0);
	else if (head->row >= 0)
		set_value(fill, item, head->record, head->row);
}

static void walk_items(struct conf_apply *fill,
		       void (*step)(struct conf_apply *fill,
				    struct egs_conf_item *item))
{
	for (size_t i = 0; i < fill->doc->count; i++)
		if (!fill->doc->items[i].problem)
			step(fill, &fill->doc->items[i]);
}

static bool has_key(struct conf_apply *fill,
		    const struct egs_conf_record *record, int row,
		    const char *key)
{
	return egs_conf_doc_find_item(fill->doc, record, row,
				      egs_conf_find_key(record, key)) != NULL;
}

/* Defaults that follow from what the file says. */
static void derive_defaults(struct conf_apply *fill)
{
	for (int i = 0; i < fill->conf->ntiers; i++) {
		struct egs_tier *tier = &fill->conf->tier[i];
		bool last = i > 0 && i == fill->conf->ntiers - 1;

		if (last && !has_key(fill, tier_record, i, "Revenue"))
			tier->revenue = false;
		if (tier->grace_min_s > tier->grace_max_s &&
		    !has_key(fill, tier_record, i, "GraceMin"))
			tier->grace_min_s = tier->grace_max_s;
		if (tier->grace_noack_s > tier->grace_max_s &&
		    !has_key(fill, tier_record, i, "GraceNoAck"))
			tier->grace_noack_s = tier->grace_max_s;
	}
}

/* A record without a key that it must have. */
static void require_keys(struct conf_apply *fill, struct egs_conf_item *item)
{
	struct egs_err err;

	if (!item->first_on_line || item->row < 0 ||
	    item->record == global_record)
		return;
	for (size_t i = 0; i < item->record->nkeys; i++) {
		const struct egs_conf_key *key = &item->record->keys[i];

		if (key->def ||
		    has_key(fill, item->record, item->row, key->name))
			continue;
		egs_errf(&err, "has no %s=, and must have one", key->name);
		report_problem(fill, item, err.msg);
	}
}

void egs_conf_apply(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems)
{
	struct conf_apply fill = { conf, doc, problems, false };

	for (size_t i = 0; i < doc->count; i++)
		if (doc->items[i].problem)
			report_problem(&fill, &doc->items[i], NULL);
	walk_items(&fill, set_tier_order);
	walk_items(&fill, declare_record);
	walk_items(&fill, set_rest);
	walk_items(&fill, require_keys);
	derive_defaults(&fill);
}
