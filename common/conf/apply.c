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

struct fill {
	struct egs_policy_conf *conf;
	struct egs_conf_doc *doc;
	struct egs_conf_problems *problems;
	bool closed; /* there are GpuType= records */
};

static const struct egs_conf_record *const global =
	&egs_conf_records[EGS_CONF_GLOBAL];
static const struct egs_conf_record *const types =
	&egs_conf_records[EGS_CONF_GPUTYPE_RECORD];
static const struct egs_conf_record *const tiers =
	&egs_conf_records[EGS_CONF_TIER_RECORD];

static void complain(struct fill *fill, const struct egs_conf_item *item,
		     const char *predicate)
{
	egs_conf_complain(fill->problems, item, predicate);
}

/* Is there an earlier item for the same row and key?  Then one is too many. */
static bool is_given(struct fill *fill, const struct egs_conf_item *item,
		     const struct egs_conf_key *key)
{
	const struct egs_conf_item *other =
		egs_conf_doc_find(fill->doc, item->record, item->row, key);
	struct egs_err err;

	if (!other || other == item)
		return false;
	egs_errf(&err, "is given twice, first on line %u of %s", other->line,
		 other->file);
	complain(fill, item, err.msg);
	return true;
}

/* The row a record's name stands for, made if need be; -1: 'err' says why. */
static int row_for(struct fill *fill, const struct egs_conf_item *item,
		   struct egs_err *err)
{
	const struct egs_conf_record *record = item->record;
	char name[EGS_NAME_SIZE];

	if (egs_conf_read_name(record, item->value, name, err) < 0)
		return -1;
	if (record == tiers) {
		if (record->find(fill->conf, name) < 0)
			return egs_errf(err, "is not in TierOrder, which has "
					     "all tiers, strongest first");
		return record->find(fill->conf, name);
	}
	if (!record->add(fill->conf, name))
		return egs_errf(err, "is one more than %d, the most",
				record->max);
	return record->find ? record->find(fill->conf, name)
			    : egs_conf_rows(fill->conf, record) - 1;
}

/* A key that stands where it does not belong, and where it does. */
static bool is_misplaced(struct fill *fill, const struct egs_conf_item *item,
			 const struct egs_conf_record *record)
{
	struct egs_err err;

	if (egs_conf_record_find(item->key)) {
		complain(fill, item,
			 "begins a record and must be the first "
			 "word of its line");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(egs_conf_records); i++) {
		const struct egs_conf_record *other = &egs_conf_records[i];

		if (other == record || !egs_conf_key_find(other, item->key))
			continue;
		if (other == global)
			egs_errf(&err, "belongs on a line of its own");
		else
			egs_errf(&err,
				 "belongs to a %s= record; is a '\\' "
				 "missing before it?",
				 other->name);
		complain(fill, item, err.msg);
		return true;
	}
	return false;
}

static void refuse_key(struct fill *fill, const struct egs_conf_item *item,
		       const struct egs_conf_record *record)
{
	const char *names[KEYS_MAX];
	size_t count = 0;
	struct egs_err err;

	if (is_misplaced(fill, item, record))
		return;
	for (size_t i = 0; i < record->nkeys && count < KEYS_MAX; i++)
		names[count++] = record->keys[i].name;
	for (size_t i = 1; record == global && i < EGS_CONF_RECORDS; i++)
		if (count < KEYS_MAX)
			names[count++] = egs_conf_records[i].name;
	egs_not_among(item->key, "key", names, count, &err);
	complain(fill, item, err.msg);
}

/* Read one value into a row. */
static void set(struct fill *fill, struct egs_conf_item *item,
		const struct egs_conf_record *record, int row)
{
	const struct egs_conf_key *key = egs_conf_key_find(record, item->key);
	struct egs_err err;

	if (!key) {
		refuse_key(fill, item, record);
		return;
	}
	item->record = record;
	item->row = row;
	if (is_given(fill, item, key))
		return;
	item->sets = key;
	if (egs_conf_read(fill->conf, egs_conf_row(fill->conf, record, row),
			  key, item->value, fill->closed, &err) < 0)
		complain(fill, item, err.msg);
}

/* First walk: TierOrder= makes the tiers, and their rank is their row. */
static void set_order(struct fill *fill, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_head(item);
	const struct egs_conf_key *key = egs_conf_key_find(global, item->key);

	if (!key || key->kind != EGS_CONF_ORDER || head->problem ||
	    egs_conf_record_find(head->key))
		return;
	set(fill, item, global, 0);
}

/* Second walk: a record's name makes its row. */
static void declare(struct fill *fill, struct egs_conf_item *item)
{
	struct egs_err err;
	int row;

	if (!item->first || !egs_conf_record_find(item->key))
		return;
	item->record = egs_conf_record_find(item->key);
	fill->closed |= item->record == types;
	row = row_for(fill, item, &err);
	if (row < 0) {
		complain(fill, item, err.msg);
		return;
	}
	item->row = row;
	if (is_given(fill, item, NULL))
		item->row = -1;
}

/* Third walk: everything the others left. */
static void set_rest(struct fill *fill, struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_head(item);

	if (item->record || head->problem)
		return;
	if (!head->record || head->record == global)
		set(fill, item, global, 0);
	else if (head->row >= 0)
		set(fill, item, head->record, head->row);
}

static void walk(struct fill *fill,
		 void (*step)(struct fill *fill, struct egs_conf_item *item))
{
	for (size_t i = 0; i < fill->doc->count; i++)
		if (!fill->doc->items[i].problem)
			step(fill, &fill->doc->items[i]);
}

static bool has(struct fill *fill, const struct egs_conf_record *record,
		int row, const char *key)
{
	return egs_conf_doc_find(fill->doc, record, row,
				 egs_conf_key_find(record, key)) != NULL;
}

/* Defaults that follow from what the file says. */
static void derive(struct fill *fill)
{
	for (int i = 0; i < fill->conf->ntiers; i++) {
		struct egs_tier *tier = &fill->conf->tier[i];
		bool last = i > 0 && i == fill->conf->ntiers - 1;

		if (last && !has(fill, tiers, i, "Revenue"))
			tier->revenue = false;
		if (tier->grace_min_s > tier->grace_max_s &&
		    !has(fill, tiers, i, "GraceMin"))
			tier->grace_min_s = tier->grace_max_s;
		if (tier->grace_noack_s > tier->grace_max_s &&
		    !has(fill, tiers, i, "GraceNoAck"))
			tier->grace_noack_s = tier->grace_max_s;
	}
}

/* A record without a key that it must have. */
static void require(struct fill *fill, struct egs_conf_item *item)
{
	struct egs_err err;

	if (!item->first || item->row < 0 || item->record == global)
		return;
	for (size_t i = 0; i < item->record->nkeys; i++) {
		const struct egs_conf_key *key = &item->record->keys[i];

		if (key->def || has(fill, item->record, item->row, key->name))
			continue;
		egs_errf(&err, "has no %s=, and must have one", key->name);
		complain(fill, item, err.msg);
	}
}

void egs_conf_fill(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		   struct egs_conf_problems *problems)
{
	struct fill fill = { conf, doc, problems, false };

	for (size_t i = 0; i < doc->count; i++)
		if (doc->items[i].problem)
			complain(&fill, &doc->items[i], NULL);
	walk(&fill, set_order);
	walk(&fill, declare);
	walk(&fill, set_rest);
	walk(&fill, require);
	derive(&fill);
}
