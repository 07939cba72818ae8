/* print_table.h - print the table of an answer */
#ifndef EGS_LIB_PRINT_TABLE_H
#define EGS_LIB_PRINT_TABLE_H

#include "cmd/lib/listing.h"
#include "common/ipc/msg.h"

/* Print the table of 'answer' on stdout; 'name' is that of its array in JSON.
 * Returns 0, or -1 with 'err' set.
 */
int egs_print_table(const struct egs_msg *answer, const char *name,
		    const struct egs_listing_style *style, struct egs_err *err);

#endif
