/* listing.h - rows of text for a person, a script or a JSON reader
 *
 *	struct egs_listing list = EGS_LISTING("tiers", columns);
 *
 *	egs_listing_add(&list, "prod");
 *	egs_listing_add(&list, "owned");
 *	...
 *	rc = egs_listing_print(&list, style, stdout, &err);
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

/* How a listing is printed: in padded columns, with '|' between columns
 * (parsable), as CSV (RFC 4180) or as JSON.  A '|' in a cell is printed as '?'
 * if it separates columns.  In CSV a text that a spreadsheet would take for a
 * formula begins with "'".  The JSON object has one array,
 * whose objects have the names of the columns in lower case.
 *
 * 'fields' lists the columns to print, in order: NAME, NAME%WIDTH (aligned
 * right) or NAME%-WIDTH (aligned left), separated by commas; NULL: all.
 *
 * Padded columns are for a person: columns of numbers are aligned right, and
 * the header has the units.  Without 'fields' and 'all' only the columns in
 * 'shown' of the listing are printed, and a line has EGS_LISTING_WIDTH
 * characters at most: long texts are cut, with a '+' at the end.
 */
#define EGS_LISTING_WIDTH 120

struct egs_listing_style {
	const char *fields; /* -o */
	bool all;	    /* --long */
	bool no_header;	    /* -n */
	bool parsable;	    /* -P */
	bool json;
	bool csv;
	const char *json_head;	/* first keys of the object, "\"a\": 1, " */
	const char *header_end; /* printed behind the header */
	const char *bar; /* a column; each row ends with a bar of its value, if
			  * there is room
			  */
};

struct egs_listing_cell {
	char *text;
	bool is_number; /* without quotes in JSON */
};

struct egs_listing {
	const char *name; /* of the array */
	const char *const *columns;
	size_t ncolumns;
	struct egs_listing_cell *cells;
	size_t ncells;
	size_t room;
	bool failed;	   /* out of memory */
	const char *shown; /* "A,B": columns for a person; NULL: all */
	const char *units; /* "A=h,B=EUR": units in the header; NULL: none */
};

#define EGS_LISTING(name, columns)                                           \
	{                                                                    \
		name, columns, ARRAY_SIZE(columns), NULL, 0, 0, false, NULL, \
			NULL                                                 \
	}

/* Add a copy of 'text' as the next cell, row by row, without control
 * characters.
 */
void egs_listing_add(struct egs_listing *list, const char *text);
void egs_listing_add_number(struct egs_listing *list, const char *text);

/* Does this style print padded columns, for a person? */
bool egs_listing_is_for_person(const struct egs_listing_style *style);

/* Are all columns of 'fields' known?  Returns 0, or -1 with 'err' set. */
int egs_listing_check_fields(const struct egs_listing *list,
			     const struct egs_listing_style *style,
			     struct egs_err *err);

/* Print the listing.  Returns 0, or -1 with 'err' set if a field is unknown,
 * without memory, or if 'out' cannot be written.
 */
int egs_listing_print(const struct egs_listing *list,
		      const struct egs_listing_style *style, FILE *out,
		      struct egs_err *err);
void egs_listing_clear(struct egs_listing *list);

#endif
