/* print_table.c - print the table of an answer */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <errno.h>

#include "cmd/lib/print_table.h"
#include "common/base/text.h"

int egs_print_table(const struct egs_msg *answer, const char *name,
		    const struct egs_listing_style *style, struct egs_err *err)
{
	struct egs_printable clean[EGS_MSG_COLUMNS_MAX];
	const char *names[EGS_MSG_COLUMNS_MAX];
	struct egs_listing list = { .name = name, .columns = names };
	size_t rows;
	int rc;

	if (egs_msg_check_table(answer, &list.ncolumns, &rows, err) < 0)
		return -1;
	for (size_t i = 0; i < list.ncolumns; i++) {
		clean[i] = egs_printable(egs_msg_get_column(answer, i));
		names[i] = clean[i].text;
	}
	for (size_t i = 0; i < rows * list.ncolumns; i++) {
		bool number;
		const char *text = egs_msg_get_cell(answer, i / list.ncolumns,
						    i % list.ncolumns, &number);

		if (number)
			egs_listing_add_number(&list, text);
		else
			egs_listing_add(&list, text);
	}
	list.shown = egs_msg_get_str(answer, "shown");
	list.units = egs_msg_get_str(answer, "units");
	if (rows || !egs_listing_is_for_person(style) || style->no_header)
		rc = egs_listing_print(&list, style, stdout, err);
	else if ((rc = egs_listing_check_fields(&list, style, err)) == 0)
		fprintf(stderr, "%s: no %s to show\n",
			program_invocation_short_name, name);
	egs_listing_clear(&list);
	return rc;
}
