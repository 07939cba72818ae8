/* show_conf.c - show phases and workloads of the egs.conf in force */
#include <ctype.h>

#include "common/base/array.h"
#include "policyd/requests/requests.h"

/* Size of a key as the title of a column. */
#define COLUMN_SIZE 32

static const char *copy_upper(const char *name, char text[COLUMN_SIZE])
{
	size_t i;

	for (i = 0; name[i] && i + 1 < COLUMN_SIZE; i++)
		text[i] = (char)toupper((unsigned char)name[i]);
	text[i] = '\0';
	return text;
}

struct record_table {
	const struct egs_conf_record *record;
	struct egs_msg *answer;
};

/* The values of a row come in the order of its keys. */
static void add_cell(void *arg, const struct egs_conf_value *value)
{
	const struct record_table *p = arg;

	if (value->record != p->record)
		return;
	if (value->key == value->record->keys) {
		egs_msg_add_row(p->answer);
		egs_msg_add_cell(p->answer, value->name);
	}
	egs_msg_add_cell(p->answer, value->text);
}

int egs_requests_show_record(const struct egs_daemon *d,
			     enum egs_conf_record_id record,
			     struct egs_msg *answer)
{
	struct record_table p = { &egs_conf_records[record], answer };
	char upper[EGS_MSG_COLUMNS_MAX][COLUMN_SIZE];
	const char *columns[EGS_MSG_COLUMNS_MAX];
	size_t n = p.record->nkeys + 1, i;

	for (i = 0; i < n && i < EGS_MSG_COLUMNS_MAX; i++)
		columns[i] = copy_upper(i ? p.record->keys[i - 1].name
					  : p.record->name,
					upper[i]);
	egs_msg_set_columns(answer, columns, i);
	return egs_conf_for_each_value(d->conf, add_cell, &p);
}
