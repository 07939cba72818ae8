/* listing.h - rows of text for a person, a script or a JSON reader
 *
 *	struct egs_listing list = EGS_LISTING("tiers", columns);
 *
 *	egs_listing_add(&list, "prod");
 *	egs_listing_add(&list, "owned");
 *	...
 *	rc = egs_listing_print(&list, style, stdout);
 *	egs_listing_clear(&list);
 */
#ifndef EGS_LIB_LISTING_H
#define EGS_LIB_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/array.h"
#include "common/base/err.h"

#define EGS_LISTING_COLUMNS_MAX 64

/* How it is printed: padded columns, or -P: '|' between them, or --json: an
 * object with one array, whose objects have the columns' names in lower case,
 * or CSV as RFC 4180 has it.
 * 'fields' are the columns that are wanted and their order, each NAME,
 * NAME%WIDTH, which is written at the right side, or NAME%-WIDTH, at the left,
 * with commas between them; NULL: all.
 */
struct egs_listing_style {
	const char *fields; /* -o */
	bool no_header;	    /* -n */
	bool parsable;	    /* -P */
	bool json;
	bool csv;
	const char *json_head;	/* more keys of the object, "\"a\": 1, " */
	const char *header_end; /* for a terminal, behind the header */
};

struct egs_listing_cell {
	char *text;
	bool is_number; /* JSON has it without quotes */
};

struct egs_listing {
	const char *name; /* of the array */
	const char *const *columns;
	size_t ncolumns;
	struct egs_listing_cell *cells;
	size_t ncells;
	size_t room;
	bool failed; /* out of memory on the way */
};

#define EGS_LISTING(name, columns)                                    \
	{                                                             \
		name, columns, ARRAY_SIZE(columns), NULL, 0, 0, false \
	}

/* Add a copy of 'text' as the next cell, row by row, without what a terminal
 * would obey.
 */
void egs_listing_add(struct egs_listing *list, const char *text);
void egs_listing_add_number(struct egs_listing *list, const char *text);

/* Returns 0, or -1 with 'err' set when a field is no column, there was no
 * memory or 'out' takes no more.
 */
int egs_listing_print(const struct egs_listing *list,
		      const struct egs_listing_style *style, FILE *out,
		      struct egs_err *err);
void egs_listing_clear(struct egs_listing *list);

#endif
