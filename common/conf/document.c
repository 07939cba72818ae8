/* document.c - read egs.conf into items, each with its file and line */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/read_file.h"
#include "common/conf/internal.h"

/* A file being read, and the file that includes it. */
struct source_file {
	const struct source_file *parent; /* NULL: the first file */
	const char *path;
	struct egs_file_text text;
	unsigned parent_line; /* line of the Include in the parent */
	int depth;
};

static struct egs_conf_item *add_item(struct egs_conf_doc *doc,
				      const char *file, unsigned line)
{
	struct egs_conf_item *item;

	if (egs_grow(&doc->items, &doc->room, doc->count + 1) < 0)
		return NULL;
	item = &doc->items[doc->count++];
	*item = (struct egs_conf_item){ .file = file, .line = line, .row = -1 };
	return item;
}

static int add_problem(struct egs_conf_doc *doc, const char *file,
		       unsigned line, const char *sentence)
{
	struct egs_conf_item *item = add_item(doc, file, line);

	if (!item || !(item->problem = strdup(sentence)))
		return -1;
	return 0;
}

static int add_pair(struct egs_conf_doc *doc, const char *file,
		    const struct egs_conf_token *tok, bool first)
{
	struct egs_conf_item *item = add_item(doc, file, tok->line);

	if (!item)
		return -1;
	item->first_on_line = first;
	item->key = strndup(tok->key, tok->key_len);
	item->value = strndup(tok->value, tok->value_len);
	return item->key && item->value ? 0 : -1;
}

static int read_file(struct egs_conf_doc *doc, struct source_file *file);

static bool is_being_read(const struct source_file *file)
{
	const struct source_file *f = file->parent;

	while (f &&
	       (f->text.dev != file->text.dev || f->text.ino != file->text.ino))
		f = f->parent;
	return f != NULL;
}

/* The path that an Include of 'file' names, malloc'ed. */
static char *resolve_path(const char *file, const struct egs_conf_token *name)
{
	const char *slash = strrchr(file, '/');
	size_t dir =
		slash && *name->key != '/' ? (size_t)(slash - file) + 1 : 0;
	char *path = calloc(1, dir + name->key_len + 1);

	if (!path)
		return NULL;
	memcpy(path, file, dir);
	memcpy(path + dir, name->key, name->key_len);
	return path;
}

/* Add a sentence about a file at the Include that names it. */
static int add_file_problem(struct egs_conf_doc *doc,
			    const struct source_file *file,
			    const char *sentence)
{
	if (file->parent)
		return add_problem(doc, file->parent->path, file->parent_line,
				   sentence);
	return add_problem(doc, file->path, 0, sentence);
}

static int include_file(struct egs_conf_doc *doc,
			const struct source_file *file,
			const struct egs_conf_token *name)
{
	struct source_file child = { .parent = file,
				     .parent_line = name->line,
				     .depth = file->depth + 1 };
	char *path = resolve_path(file->path, name);
	struct egs_err err;

	if (!path)
		return -1;
	if (doc->nfiles < EGS_CONF_FILES_MAX &&
	    child.depth <= EGS_CONF_DEPTH_MAX) {
		child.path = doc->files[doc->nfiles++] = path;
		return read_file(doc, &child);
	}
	egs_errf(&err, "Include %s exceeds the limit of %d files or %d levels",
		 egs_path_tail(path), EGS_CONF_FILES_MAX, EGS_CONF_DEPTH_MAX);
	free(path);
	return add_file_problem(doc, &child, err.msg);
}

static bool is_include(const struct egs_conf_token *tok)
{
	return tok->key_len == 7 && strncasecmp(tok->key, "Include", 7) == 0;
}

static bool is_line_end(const struct egs_conf_token *tok)
{
	return tok->kind == EGS_CONF_TOKEN_EOL ||
	       tok->kind == EGS_CONF_TOKEN_EOF;
}

/* Read a line that begins with 'tok', the word Include, to its end. */
static int read_include_line(struct egs_conf_doc *doc,
			     const struct source_file *file,
			     struct egs_conf_lexer *lex,
			     const struct egs_conf_token *tok)
{
	struct egs_conf_token name;
	struct egs_conf_token last;

	egs_conf_lex_next(lex, &name);
	last = name;
	while (!is_line_end(&last))
		egs_conf_lex_next(lex, &last);
	if (tok->kind != EGS_CONF_TOKEN_WORD ||
	    name.kind != EGS_CONF_TOKEN_WORD)
		return add_problem(doc, file->path, tok->line,
				   "Include takes one file: Include FILE");
	return include_file(doc, file, &name);
}

static int add_word_problem(struct egs_conf_doc *doc, const char *file,
			    const struct egs_conf_token *tok, bool first)
{
	char sentence[256];
	int len = tok->key_len < 64 ? (int)tok->key_len : 64;
	int rc;

	snprintf(sentence, sizeof(sentence),
		 "'%.*s' is not Key=Value (lists have no blanks)", len,
		 tok->key);
	rc = add_problem(doc, file, tok->line, sentence);
	if (rc == 0)
		doc->items[doc->count - 1].first_on_line = first;
	return rc;
}

/* The bytes that some editors write at the beginning of a file. */
static const char byte_order_mark[] = "\xef\xbb\xbf";

/* Report a byte order mark.  '*skip' is its length. */
static int check_file_start(struct egs_conf_doc *doc,
			    const struct source_file *file, size_t *skip)
{
	const size_t len = sizeof(byte_order_mark) - 1;

	*skip = 0;
	if (file->text.size < len ||
	    memcmp(file->text.text, byte_order_mark, len) != 0)
		return 0;
	*skip = len;
	return add_problem(doc, file->path, 1,
			   "the file begins with a byte order mark; save it "
			   "as UTF-8 without one");
}

static int read_lines(struct egs_conf_doc *doc, const struct source_file *file)
{
	struct egs_conf_lexer lex;
	struct egs_conf_token tok;
	bool first = true;
	size_t skip;
	int rc = check_file_start(doc, file, &skip);

	egs_conf_lex_init(&lex, file->text.text + skip, file->text.size - skip);
	egs_conf_lex_next(&lex, &tok);
	while (rc == 0 && tok.kind != EGS_CONF_TOKEN_EOF) {
		if (doc->count >= EGS_CONF_ITEMS_MAX)
			return add_problem(
				doc, file->path, tok.line,
				"the file has more than 20000 values");
		if (tok.kind == EGS_CONF_TOKEN_EOL) {
			first = true;
		} else if (tok.kind == EGS_CONF_TOKEN_BAD) {
			rc = add_problem(doc, file->path, tok.line, tok.why);
		} else if (first && is_include(&tok)) {
			rc = read_include_line(doc, file, &lex, &tok);
		} else {
			rc = tok.kind == EGS_CONF_TOKEN_PAIR
				     ? add_pair(doc, file->path, &tok, first)
				     : add_word_problem(doc, file->path, &tok,
							first);
			first = false;
		}
		egs_conf_lex_next(&lex, &tok);
	}
	return rc;
}

static int read_file(struct egs_conf_doc *doc, struct source_file *file)
{
	struct egs_err err;
	int rc;

	if (egs_read_file(&file->text, file->path,
			  EGS_CONF_BYTES_MAX - doc->bytes, &err) < 0)
		return add_file_problem(doc, file, err.msg);
	doc->bytes += file->text.size;
	if (is_being_read(file)) {
		egs_errf(&err, "Include %s: the file includes itself",
			 egs_path_tail(file->path));
		rc = add_file_problem(doc, file, err.msg);
	} else {
		rc = read_lines(doc, file);
	}
	free(file->text.text);
	return rc;
}

int egs_conf_doc_read(struct egs_conf_doc *doc, const char *path)
{
	struct source_file first = { .depth = 0 };

	first.path = doc->files[doc->nfiles++] = strdup(path);
	return first.path ? read_file(doc, &first) : -1;
}

void egs_conf_doc_clear(struct egs_conf_doc *doc)
{
	for (size_t i = 0; i < doc->count; i++) {
		free(doc->items[i].key);
		free(doc->items[i].value);
		free(doc->items[i].problem);
	}
	for (size_t i = 0; i < doc->nfiles; i++)
		free(doc->files[i]);
	free(doc->items);
	*doc = (struct egs_conf_doc){ 0 };
}

const struct egs_conf_item *
egs_conf_doc_line_start(const struct egs_conf_item *item)
{
	while (!item->first_on_line)
		item--;
	return item;
}

const struct egs_conf_item *
egs_conf_doc_find_item(const struct egs_conf_doc *doc,
		       const struct egs_conf_record *record, int row,
		       const struct egs_conf_key *key)
{
	for (size_t i = 0; i < doc->count; i++) {
		const struct egs_conf_item *item = &doc->items[i];

		if (item->record == record && item->row == row &&
		    item->sets_key == key)
			return item;
	}
	return NULL;
}

/* ---- problems ---- */

/* Insert a problem in the order of the file.  NULL: the list is full, and the
 * problem is only counted.
 */
static struct egs_err *insert_problem(struct egs_conf_problems *problems,
				      const struct egs_conf_item *at)
{
	size_t i = problems->stored;

	problems->count++;
	if (i == EGS_CONF_PROBLEMS_MAX)
		return NULL;
	while (i > 0 && problems->list[i - 1].item > at)
		i--;
	memmove(&problems->list[i + 1], &problems->list[i],
		(problems->stored - i) * sizeof(problems->list[0]));
	problems->stored++;
	problems->list[i].item = at;
	return &problems->list[i].err;
}

/* "Tier=prod: ", to be put in front of a problem of one of its keys. */
static struct egs_text format_label(const struct egs_conf_item *item)
{
	const struct egs_conf_item *head = egs_conf_doc_line_start(item);
	struct egs_text label = { "" };

	if (head != item && head->record && *head->record->name)
		egs_textf(&label, "%s=%s: ", egs_printable(head->key).text,
			  egs_printable(head->value).text);
	return label;
}

void egs_conf_add_problem(struct egs_conf_problems *problems,
			  const struct egs_conf_item *item,
			  const char *predicate, ...)
{
	char text[EGS_TEXT_MAX];
	va_list ap;

	va_start(ap, predicate);
	egs_text_vformat(text, sizeof(text), predicate, ap);
	va_end(ap);
	egs_errf(insert_problem(problems, item), "%s:%u: %s%s=%s %s",
		 egs_path_tail(item->file), item->line, format_label(item).text,
		 egs_printable(item->key).text, egs_printable(item->value).text,
		 text);
}

void egs_conf_add_item_problem(struct egs_conf_problems *problems,
			       const struct egs_conf_item *item)
{
	struct egs_err *err = insert_problem(problems, item);

	if (item->line)
		egs_errf(err, "%s:%u: %s", egs_path_tail(item->file),
			 item->line, item->problem);
	else
		egs_errf(err, "%s", item->problem);
}

void egs_conf_add_file_problem(struct egs_conf_problems *problems,
			       const char *path, const char *sentence)
{
	egs_errf(insert_problem(problems, NULL), "%s: %s", egs_path_tail(path),
		 sentence);
}
