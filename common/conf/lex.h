/* lex.h - the words of egs.conf: Key=Value, '#', '\' and quotes
 *
 * The grammar is slurm.conf's.  Blanks separate words and may stand around
 * '='; '#' begins a comment outside double quotes; a '\' that ends a line joins
 * it to the next one, and a comment ends before it can do that.
 */
#ifndef EGS_CONF_LEX_H
#define EGS_CONF_LEX_H

#include <stdbool.h>
#include <stddef.h>

/* Longest line, continuations included, in bytes. */
#define EGS_CONF_LINE_MAX 65536

enum egs_conf_token_kind {
	EGS_CONF_TOKEN_EOF,  /* nothing more, now and ever after */
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

/* Where we are; the text is borrowed and outlives the lexer. */
struct egs_conf_lexer {
	const char *p;
	const char *end;
	unsigned line;
	bool at_line_start; /* of a line */
};

void egs_conf_lex_init(struct egs_conf_lexer *lex, const char *text,
		       size_t size);

/* The next token.  After EGS_CONF_TOKEN_BAD the rest of the line is skipped, so
 * one slip gives one error.
 */
void egs_conf_lex_next(struct egs_conf_lexer *lex, struct egs_conf_token *tok);

#endif
