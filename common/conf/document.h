/* document.h - an egs.conf as read: every Key=Value with its file and line
 *
 * Include FILE is followed here; a relative FILE is looked for beside the file
 * that names it.  What cannot be read or understood becomes an item with a
 * 'problem' in its place, so that whoever walks the items meets the errors in
 * the order of the file.  Nothing here waits: what is no regular file is
 * refused, and so is what is too big, too deep or includes itself.
 */
#ifndef EGS_CONF_DOCUMENT_H
#define EGS_CONF_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#define EGS_CONF_BYTES_MAX (4u << 20) /* all files together */
#define EGS_CONF_FILES_MAX 64
#define EGS_CONF_DEPTH_MAX 8
#define EGS_CONF_ITEMS_MAX 20000

struct egs_conf_key;
struct egs_conf_record;

/* 'key' and 'value' or 'problem'; the other is NULL. */
struct egs_conf_item {
	const char *file;   /* owned by the doc */
	unsigned line;	    /* 0: the file as a whole */
	bool first_on_line; /* of its line; the record's name, if it is one */
	char *key;
	char *value;
	char *problem; /* the sentence after "file:line: " */

	/* What it means, for whoever finds that out: the record it names or
	 * is a part of, the row there (-1: none) and the key it sets.
	 */
	const struct egs_conf_record *record;
	const struct egs_conf_key *sets_key;
	int row;
};

struct egs_conf_doc {
	struct egs_conf_item *items;
	size_t count;
	size_t room;
	char *files[EGS_CONF_FILES_MAX];
	size_t nfiles;
	size_t bytes;
};

/* Read 'path' and what it includes into '*doc', which is empty ({ 0 }).
 * Returns 0 also when there are problems among the items; -1 when out of
 * memory.  Either way egs_conf_doc_clear() frees what there is.
 */
int egs_conf_doc_read(struct egs_conf_doc *doc, const char *path);
void egs_conf_doc_clear(struct egs_conf_doc *doc);

/* The first item of the line that 'item' is on. */
const struct egs_conf_item *
egs_conf_doc_line_start(const struct egs_conf_item *item);

/* The item that sets 'key' of a row, with NULL the one that names the row;
 * NULL: none does.
 */
const struct egs_conf_item *
egs_conf_doc_find_item(const struct egs_conf_doc *doc,
		       const struct egs_conf_record *record, int row,
		       const struct egs_conf_key *key);

#endif
