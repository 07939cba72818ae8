/* verbs_conf.c - show what of egs.conf is in force */
#include <stdio.h>
#include <string.h>

#include "policyd/core/array.h"
#include "policyd/verbs.h"

static void add_value(void *arg, const struct egs_conf_value *value)
{
	struct egs_msg *answer = arg;
	struct egs_err text = { "-" };

	egs_msg_row(answer);
	if (*value->record->name)
		egs_errf(&text, "%s=%s", value->record->name, value->name);
	egs_msg_cell(answer, text.msg);
	egs_msg_cell(answer, value->key->name);
	egs_msg_cell(answer, value->text);
	egs_errf(&text, "default");
	if (value->file)
		egs_errf(&text, "%s:%u", value->file, value->line);
	egs_msg_cell(answer, text.msg);
}

int egs_show_config(const struct egs_daemon *d, struct egs_msg *answer)
{
	static const char *const columns[] = { "RECORD", "KEY", "VALUE",
					       "SOURCE" };

	egs_msg_columns(answer, columns, ARRAY_SIZE(columns));
	return egs_conf_each_value(d->conf, add_value, answer);
}

struct pivot {
	const struct egs_conf_record *record;
	struct egs_msg *answer;
};

/* The values of a row come one after the other, in the order of its keys. */
static void add_cell(void *arg, const struct egs_conf_value *value)
{
	const struct pivot *p = arg;

	if (value->record != p->record)
		return;
	if (value->key == value->record->keys) {
		egs_msg_row(p->answer);
		egs_msg_cell(p->answer, value->name);
	}
	egs_msg_cell(p->answer, value->text);
}

int egs_show_record(const struct egs_daemon *d, enum egs_conf_record_id record,
		    struct egs_msg *answer)
{
	struct pivot p = { &egs_conf_records[record], answer };
	const char *columns[EGS_MSG_COLUMNS_MAX] = { p.record->name };
	size_t i;

	for (i = 0; i < p.record->nkeys && i + 1 < EGS_MSG_COLUMNS_MAX; i++)
		columns[i + 1] = p.record->keys[i].name;
	egs_msg_columns(answer, columns, i + 1);
	return egs_conf_each_value(d->conf, add_cell, &p);
}
