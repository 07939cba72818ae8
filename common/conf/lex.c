/* lex.c - split egs.conf into words: Key=Value, '#', '\' and quotes */
#include <string.h>

#include "common/conf/internal.h"

/* Length of a continuation at 'p': '\', '\r' or nothing, '\n'.  0: none. */
static size_t continuation_len(const struct egs_conf_lexer *lex, const char *p)
{
	size_t left = (size_t)(lex->end - p);

	if (left >= 2 && p[0] == '\\' && p[1] == '\n')
		return 2;
	if (left >= 3 && p[0] == '\\' && p[1] == '\r' && p[2] == '\n')
		return 3;
	return left == 1 && p[0] == '\\' ? 1 : 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct egs_conf_lexer *lex)
{
	size_t n;

	while (lex->p < lex->end) {
		if (is_blank(*lex->p)) {
			lex->p++;
		} else if ((n = continuation_len(lex, lex->p)) > 0) {
			lex->p += n;
			lex->line++;
		} else {
			break;
		}
	}
	if (lex->p < lex->end && *lex->p == '#')
		while (lex->p < lex->end && *lex->p != '\n')
			lex->p++;
}

static bool is_at_break(const struct egs_conf_lexer *lex)
{
	return lex->p >= lex->end || *lex->p == '\n' || *lex->p == '#' ||
	       is_blank(*lex->p) || continuation_len(lex, lex->p) > 0;
}

/* Move to the newline that ends this line, over continuations. */
static void skip_line(struct egs_conf_lexer *lex)
{
	bool comment = false;

	while (lex->p < lex->end && *lex->p != '\n') {
		size_t n = comment ? 0 : continuation_len(lex, lex->p);

		comment = comment || *lex->p == '#';
		lex->line += n > 0;
		lex->p += n ? n : 1;
	}
}

static void set_bad_token(struct egs_conf_lexer *lex,
			  struct egs_conf_token *tok, const char *why)
{
	tok->kind = EGS_CONF_TOKEN_BAD;
	tok->why = why;
	skip_line(lex);
}

/* Is the line that begins here longer than accepted, with continuations? */
static bool is_too_long(const struct egs_conf_lexer *lex)
{
	struct egs_conf_lexer probe = *lex;

	skip_line(&probe);
	return probe.p - lex->p > EGS_CONF_LINE_MAX;
}

/* Read a word from its opening quote.  Returns NULL, or the problem. */
static const char *read_quoted(struct egs_conf_lexer *lex, const char **word,
			       size_t *len)
{
	*word = ++lex->p;
	while (lex->p < lex->end && *lex->p != '"' && *lex->p != '\n')
		lex->p++;
	if (lex->p >= lex->end || *lex->p == '\n')
		return "a double quote is not closed on its line";
	*len = (size_t)(lex->p - *word);
	lex->p++;
	return is_at_break(lex) ? NULL : "a blank must follow a closing quote";
}

static const char *read_value(struct egs_conf_lexer *lex,
			      struct egs_conf_token *tok)
{
	if (lex->p < lex->end && *lex->p == '"')
		return read_quoted(lex, &tok->value, &tok->value_len);
	tok->value = lex->p;
	while (!is_at_break(lex))
		lex->p++;
	tok->value_len = (size_t)(lex->p - tok->value);
	return NULL;
}

static const char *read_key(struct egs_conf_lexer *lex,
			    struct egs_conf_token *tok)
{
	if (*lex->p == '"')
		return read_quoted(lex, &tok->key, &tok->key_len);
	tok->key = lex->p;
	while (!is_at_break(lex) && *lex->p != '=')
		lex->p++;
	tok->key_len = (size_t)(lex->p - tok->key);
	return tok->key_len ? NULL : "'=' needs a key before it";
}

static void read_word_or_pair(struct egs_conf_lexer *lex,
			      struct egs_conf_token *tok)
{
	const char *why = read_key(lex, tok);

	tok->kind = EGS_CONF_TOKEN_WORD;
	if (!why) {
		skip_blanks(lex);
		if (lex->p < lex->end && *lex->p == '=') {
			tok->kind = EGS_CONF_TOKEN_PAIR;
			lex->p++;
			skip_blanks(lex);
			why = read_value(lex, tok);
		}
	}
	if (why)
		set_bad_token(lex, tok, why);
}

void egs_conf_lex_init(struct egs_conf_lexer *lex, const char *text,
		       size_t size)
{
	*lex = (struct egs_conf_lexer){ text, text + size, 1, true };
}

void egs_conf_lex_next(struct egs_conf_lexer *lex, struct egs_conf_token *tok)
{
	bool at_start = lex->at_line_start;

	memset(tok, 0, sizeof(*tok));
	lex->at_line_start = false;
	tok->line = lex->line;
	if (at_start && is_too_long(lex)) {
		set_bad_token(lex, tok, "the line is longer than 65536 bytes");
		return;
	}
	skip_blanks(lex);
	tok->line = lex->line;
	if (lex->p >= lex->end) {
		tok->kind = EGS_CONF_TOKEN_EOF;
	} else if (*lex->p == '\n') {
		tok->kind = EGS_CONF_TOKEN_EOL;
		lex->p++;
		lex->line++;
		lex->at_line_start = true;
	} else {
		read_word_or_pair(lex, tok);
	}
}
