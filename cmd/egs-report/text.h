/* text.h - a report on paper */
#ifndef EGS_EGS_REPORT_TEXT_H
#define EGS_EGS_REPORT_TEXT_H

#include "cmd/lib/listing.h"
#include "common/ipc/msg.h"

/* What was answered, page by page; all zero is nothing yet. */
struct egs_report_table {
	struct egs_listing list;
	char *name_buf; /* "A,B,C" */
	const char *names[EGS_LISTING_COLUMNS_MAX + 1];
	char json_head[512]; /* of the JSON */
	int64_t from, to, every_s;
	bool is_number[EGS_LISTING_COLUMNS_MAX],
		is_time[EGS_LISTING_COLUMNS_MAX];
};

/* Add the rows of 'answer'; times as people write them unless 'plain'.  0, or
 * -1 with 'err' set.
 */
int egs_report_table_add(struct egs_report_table *table,
			 const struct egs_msg *answer, bool plain,
			 struct egs_err *err);
void egs_report_table_clear(struct egs_report_table *table);

/* The first column that is a sum, a number with a fraction; the number of
 * columns if there is none.
 */
size_t egs_report_table_find_sum(const struct egs_report_table *table);

/* Print it; on a terminal with a bar for the first of its sums. */
int egs_report_table_print(struct egs_report_table *table,
			   const struct egs_listing_style *style,
			   struct egs_err *err);

#endif
