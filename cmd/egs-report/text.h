/* text.h - print a report as a table */
#ifndef EGS_EGS_REPORT_TEXT_H
#define EGS_EGS_REPORT_TEXT_H

#include "cmd/lib/listing.h"
#include "common/ipc/msg.h"

/* A report, collected page by page; all zero is empty. */
struct egs_report_table {
	struct egs_listing list;
	char *name_buf;	     /* names of columns, one after another */
	char *shown, *units; /* of the listing */
	const char *names[EGS_LISTING_COLUMNS_MAX];
	char json_head[1024]; /* first members of the JSON object */
	char summary[256];    /* a sentence below the table, or "" */
	int64_t from, to, every_s;
	bool is_number[EGS_LISTING_COLUMNS_MAX],
		is_time[EGS_LISTING_COLUMNS_MAX];
};

/* Add the rows of 'answer'.  Times become local times unless 'plain'.  Returns
 * 0, or -1 with 'err' set.
 */
int egs_report_table_add(struct egs_report_table *table,
			 const struct egs_msg *answer, bool plain,
			 struct egs_err *err);
void egs_report_table_clear(struct egs_report_table *table);

/* The first column of sums (numbers with a fraction), or the number of columns.
 */
size_t egs_report_table_find_sum(const struct egs_report_table *table);

/* Print the table; on a terminal with a bar for the first column of sums.  If a
 * table for a person has no rows, a sentence on standard error says so.
 */
int egs_report_table_print(struct egs_report_table *table,
			   const struct egs_listing_style *style,
			   struct egs_err *err);

#endif
