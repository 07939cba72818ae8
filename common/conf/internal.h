/* internal.h - how egs.conf is read: lines, items, fields, problems
 *
 *	lex.c		text -> words
 *	document.c	words -> items, each with its file and line; problems
 *	apply.c		items -> fields of struct egs_policy_conf
 *	kinds.c		one value -> one field, and back
 *	check.c		do the values fit together?
 *	judge.c		does the file fit its cluster?
 *
 * For the files of this folder; other rooms include conf.h.
 */
#ifndef EGS_CONF_INTERNAL_H
#define EGS_CONF_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/conf/conf.h"
#include "common/conf/keys.h"
#include "common/conf/policy_conf.h"

/* ---- lex.c: Key=Value, '#', '\' and quotes ----
 *
 * The grammar is slurm.conf's.  Blanks separate words and may surround '='.  A
 * '#' begins a comment outside double quotes.  A '\' that ends a line joins it
 * to the next line, except in a comment.
 */

/* Longest line, continuations included, in bytes. */
#define EGS_CONF_LINE_MAX 65536

enum egs_conf_token_kind {
	EGS_CONF_TOKEN_EOF,  /* the end; every further token is this one */
	EGS_CONF_TOKEN_EOL,  /* a line ended */
	EGS_CONF_TOKEN_PAIR, /* key and value */
	EGS_CONF_TOKEN_WORD, /* key only: no '=' follows */
	EGS_CONF_TOKEN_BAD,  /* 'why' completes "file:line: ..." */
};

/* 'key' and 'value' point into the text and are not terminated. */
struct egs_conf_token {
	enum egs_conf_token_kind kind;
	unsigned line;
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
	const char *why;
};

/* The position in a text, which is borrowed and outlives the lexer. */
struct egs_conf_lexer {
	const char *p;
	const char *end;
	unsigned line;
	bool at_line_start;
};

void egs_conf_lex_init(struct egs_conf_lexer *lex, const char *text,
		       size_t size);

/* The next token.  After EGS_CONF_TOKEN_BAD the rest of the line is skipped, so
 * one mistake gives one error.
 */
void egs_conf_lex_next(struct egs_conf_lexer *lex, struct egs_conf_token *tok);

/* ---- document.c: every Key=Value with its file and line ----
 *
 * Include FILE is followed; a relative FILE is beside the file that names it.
 * Text that is not valid, and a file that cannot be read, become an item with a
 * 'problem'.  So problems are in the order of the file.  Reading never waits:
 * only regular files are read.  Files that are too big, too deep or include
 * themselves are refused.
 */

#define EGS_CONF_BYTES_MAX (4u << 20) /* all files together */
#define EGS_CONF_FILES_MAX 64
#define EGS_CONF_DEPTH_MAX 8
#define EGS_CONF_ITEMS_MAX 20000

/* 'key' and 'value' or 'problem'; the other is NULL. */
struct egs_conf_item {
	const char *file;   /* owned by the doc */
	unsigned line;	    /* 0: the file as a whole */
	bool first_on_line; /* if the line is a record, this names it */
	char *key;
	char *value;
	char *problem; /* the sentence after "file:line: " */

	/* Set by apply.c: the record that the item names or belongs to, the row
	 * there (-1: none) and the key that it sets.
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

struct egs_conf {
	struct egs_policy_conf *policy;
	struct egs_conf_doc doc;
};

/* Read 'path' and what it includes into '*doc', which is empty ({ 0 }).
 * Returns 0, also with problems among the items, or -1 without memory.  In both
 * cases egs_conf_doc_clear() frees it.
 */
int egs_conf_doc_read(struct egs_conf_doc *doc, const char *path);
void egs_conf_doc_clear(struct egs_conf_doc *doc);

/* The first item of the line that 'item' is on. */
const struct egs_conf_item *
egs_conf_doc_line_start(const struct egs_conf_item *item);

/* The item that sets 'key' of a row, or with NULL the item that names the row;
 * NULL if there is none.
 */
const struct egs_conf_item *
egs_conf_doc_find_item(const struct egs_conf_doc *doc,
		       const struct egs_conf_record *record, int row,
		       const struct egs_conf_key *key);

/* Add a problem of 'item': the predicate follows its "Key=Value". */
__attribute__((format(printf, 3, 4))) void
egs_conf_add_problem(struct egs_conf_problems *problems,
		     const struct egs_conf_item *item, const char *predicate,
		     ...);

/* Add the problem of an item that is a problem itself. */
void egs_conf_add_item_problem(struct egs_conf_problems *problems,
			       const struct egs_conf_item *item);

/* Add a problem that belongs to no item. */
void egs_conf_add_file_problem(struct egs_conf_problems *problems,
			       const char *path, const char *sentence);

/* ---- apply.c and check.c ---- */

/* Set the fields of 'conf', which has the defaults, to the values of 'doc'.
 * Set 'record', 'row' and 'sets_key' of every item.  Then set defaults that
 * depend on other values.  Items without a meaning become problems.
 */
void egs_conf_apply(struct egs_policy_conf *conf, struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems);

/* Report values that contradict each other in a configuration that
 * egs_conf_apply() made of 'doc' without a problem.
 */
void egs_conf_check(const struct egs_policy_conf *conf,
		    const struct egs_conf_doc *doc,
		    struct egs_conf_problems *problems);

/* ---- kinds.c: a value and its field ---- */

/* Read 'text' into the field of 'key' in 'row', a row of 'conf'.  If
 * 'types_declared', the file has GpuType= records, and a GPU type must be one
 * of them.  Otherwise a new type is added to 'conf'; a plain N adds the type
 * "".  Returns 0, or -1 with the field unchanged and a predicate in 'err'.
 */
int egs_conf_read_field(struct egs_policy_conf *conf, void *row,
			const struct egs_conf_key *key, const char *text,
			bool types_declared, struct egs_err *err);

/* Write the value in its canonical form, without a newline. */
void egs_conf_write_field(struct egs_policy_conf *conf, void *row,
			  const struct egs_conf_key *key, FILE *out);

/* ---- names.c: lists and references; names.h has the rest ----
 *
 * All return 0, or -1 with a predicate in 'err' (values.h).
 */

/* The predicate of a tier in a file without tiers. */
#define EGS_CONF_NO_TIER_ORDER                                     \
	"needs TierOrder=, which is missing; it lists all tiers, " \
	"strongest first"

/* The row of record 'id' that 'text' names. */
int egs_conf_read_ref(const struct egs_policy_conf *conf,
		      enum egs_conf_record_id id, const char *text, int *row,
		      struct egs_err *err);

/* Refuse one entry of a list: "has 'ENTRY', which WHY".  Returns -1. */
int egs_conf_refuse_entry(const char *entry, const struct egs_err *why,
			  struct egs_err *err);

#define EGS_CONF_ENTRIES_MAX 2000

typedef int egs_conf_entry_fn(void *arg, const char *entry,
			      struct egs_err *err);

/* Call 'call' with each entry of the list 'text' until it refuses one.  Empty
 * entries and more than EGS_CONF_ENTRIES_MAX are refused.
 */
int egs_conf_for_each_entry(const char *text, egs_conf_entry_fn *call,
			    void *arg, struct egs_err *err);

/* Accept a list of names "a,b,c" without repetition; with 'globs' also "x*". */
int egs_conf_check_list(const char *text, bool globs, struct egs_err *err);

#endif
