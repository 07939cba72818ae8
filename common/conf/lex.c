/* lex.c - the words of egs.conf: Key=Value, '#', '\' and quotes */
#include <string.h>

#include "common/conf/lex.h"

/* Length of a continuation at 'p': '\', perhaps '\r', '\n'.  0: none there. */
static size_t continuation(const struct egs_conf_lexer *lex, const char *p)
{
	size_t left = (size_t)(lex->end - p);

	if (left >= 2 && p[0] == '\\' && p[1] == '\n')
		return 2;
	if (left >= 3 && p[0] == '\\' && p[1] == '\r' && p[2] == '\n')
		return 3;
	return left == 1 && p[0] == '\\' ? 1 : 0;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct egs_conf_lexer *lex)
{
	size_t n;

	while (lex->p < lex->end) {
		if (blank(*lex->p)) {
			lex->p++;
		} else if ((n = continuation(lex, lex->p)) > 0) {
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

static bool at_break(const struct egs_conf_lexer *lex)
{
	return lex->p >= lex->end || *lex->p == '\n' || *lex->p == '#' ||
	       blank(*lex->p) || continuation(lex, lex->p) > 0;
}

/* Move to the newline that ends this line, over continuations. */
static void skip_line(struct egs_conf_lexer *lex)
{
	bool comment = false;

	while (lex->p < lex->end && *lex->p != '\n') {
		size_t n = comment ? 0 : continuation(lex, lex->p);

		comment = comment || *lex->p == '#';
		lex->line += n > 0;
		lex->p += n ? n : 1;
	}
}

static void bad(struct egs_conf_lexer *lex, struct egs_conf_token *tok,
		const char *why)
{
	tok->kind = EGS_CONF_BAD;
	tok->why = why;
	skip_line(lex);
}

/* Measure a whole line before looking at any of it. */
static bool too_long(const struct egs_conf_lexer *lex)
{
	struct egs_conf_lexer probe = *lex;

	skip_line(&probe);
	return probe.p - lex->p > EGS_CONF_LINE_MAX;
}

/* A quoted word, at its opening quote.  NULL, or why not. */
static const char *quoted(struct egs_conf_lexer *lex, const char **word,
			  size_t *len)
{
	*word = ++lex->p;
	while (lex->p < lex->end && *lex->p != '"' && *lex->p != '\n')
		lex->p++;
	if (lex->p >= lex->end || *lex->p == '\n')
		return "a double quote is not closed on its line";
	*len = (size_t)(lex->p - *word);
	lex->p++;
	return at_break(lex) ? NULL : "a blank must follow a closing quote";
}

static const char *value(struct egs_conf_lexer *lex, struct egs_conf_token *tok)
{
	if (lex->p < lex->end && *lex->p == '"')
		return quoted(lex, &tok->value, &tok->value_len);
	tok->value = lex->p;
	while (!at_break(lex))
		lex->p++;
	tok->value_len = (size_t)(lex->p - tok->value);
	return NULL;
}

static const char *key(struct egs_conf_lexer *lex, struct egs_conf_token *tok)
{
	if (*lex->p == '"')
		return quoted(lex, &tok->key, &tok->key_len);
	tok->key = lex->p;
	while (!at_break(lex) && *lex->p != '=')
		lex->p++;
	tok->key_len = (size_t)(lex->p - tok->key);
	return tok->key_len ? NULL : "'=' needs a key before it";
}

static void word_or_pair(struct egs_conf_lexer *lex, struct egs_conf_token *tok)
{
	const char *why = key(lex, tok);

	tok->kind = EGS_CONF_WORD;
	if (!why) {
		skip_blanks(lex);
		if (lex->p < lex->end && *lex->p == '=') {
			tok->kind = EGS_CONF_PAIR;
			lex->p++;
			skip_blanks(lex);
			why = value(lex, tok);
		}
	}
	if (why)
		bad(lex, tok, why);
}

void egs_conf_lex_init(struct egs_conf_lexer *lex, const char *text,
		       size_t size)
{
	*lex = (struct egs_conf_lexer){ text, text + size, 1, true };
}

void egs_conf_lex_next(struct egs_conf_lexer *lex, struct egs_conf_token *tok)
{
	bool at_start = lex->at_start;

	memset(tok, 0, sizeof(*tok));
	lex->at_start = false;
	tok->line = lex->line;
	if (at_start && too_long(lex)) {
		bad(lex, tok, "the line is longer than 65536 bytes");
		return;
	}
	skip_blanks(lex);
	tok->line = lex->line;
	if (lex->p >= lex->end) {
		tok->kind = EGS_CONF_EOF;
	} else if (*lex->p == '\n') {
		tok->kind = EGS_CONF_EOL;
		lex->p++;
		lex->line++;
		lex->at_start = true;
	} else {
		word_or_pair(lex, tok);
	}
}
