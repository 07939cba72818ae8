/* stamp.c - the marked word of EGS in a job's AdminComment */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hint/stamp.h"

#define VERSION	 "egs:1"
#define MARK	 VERSION ";"
#define SIG	 "sig="
#define DEPARTED "departed"
#define LIMITED	 "limited"
#define CHANGED	 "changed="
#define RESIZE	 MARK "resize;"
#define SPACE	 " \t\r\n\v\f"

enum { MARK_LEN = sizeof(MARK) - 1 };

/* The next word at or after 's', with its length; NULL if there is none. */
static const char *find_next_word(const char *s, size_t *len)
{
	s += strspn(s, SPACE);
	*len = strcspn(s, SPACE);
	return *len ? s : NULL;
}

static bool is_marked(const char *word, size_t len)
{
	return len >= MARK_LEN && !memcmp(word, MARK, MARK_LEN);
}

/* The next word at or after 's' that carries the mark. */
static const char *find_next_marked(const char *s, size_t *len)
{
	const char *word = find_next_word(s, len);

	while (word && !is_marked(word, *len))
		word = find_next_word(word + *len, len);
	return word;
}

/* A word while it is written.  'len' may grow beyond 'size'. */
struct word {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void
append_key(struct word *word, const char *fmt, ...)
{
	size_t room = word->len < word->size ? word->size - word->len : 0;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(room ? word->buf + word->len : NULL, room, fmt, args);
	va_end(args);
	word->len += len < 0 ? word->size : (size_t)len;
}

/* The length of the whole word; -1 with an empty buffer if it was cut. */
static int finish_word(const struct word *word)
{
	if (word->len < word->size)
		return (int)word->len;
	if (word->size > 0)
		word->buf[0] = '\0';
	return -1;
}

bool egs_job_size_is_set(const struct egs_job_size *size)
{
	return size->gpus_per_node || size->gpus_per_job || size->mem_mb;
}

static void append_identity(struct word *word, const struct egs_stamp *stamp)
{
	char hint[EGS_HINT_MAX + 1], signal[EGS_SAVE_SIGNAL_MAX + 1];

	if (egs_hint_format(&stamp->hint, hint, sizeof(hint)) > 0)
		append_key(word, ";%s", hint);
	if (stamp->own_signal.number) {
		egs_save_signal_format(&stamp->own_signal, signal,
				       sizeof(signal));
		append_key(word, ";" SIG "%s", signal);
	}
	append_key(word, ";id=%016" PRIx64, stamp->nonce);
}

int egs_stamp_format(const struct egs_stamp *stamp, char *buf, size_t size)
{
	struct word word = { .buf = buf, .size = size };
	const struct egs_job_size *submitted = &stamp->submitted;

	append_key(&word, VERSION);
	if (stamp->nonce)
		append_identity(&word, stamp);
	if (egs_job_size_is_set(submitted))
		append_key(&word, ";size=%" PRIu64 "/%" PRIu64 "/%" PRIu64,
			   submitted->gpus_per_node, submitted->gpus_per_job,
			   submitted->mem_mb);
	if (stamp->departed)
		append_key(&word, ";" DEPARTED);
	if (stamp->limited)
		append_key(&word, ";" LIMITED);
	if (stamp->changed_us)
		append_key(&word, ";" CHANGED "%" PRIx64, stamp->changed_us);
	if (stamp->next_gpus)
		append_key(&word, ";next=%" PRIu32, stamp->next_gpus);
	if (stamp->helper_for)
		append_key(&word, ";helper=%" PRIu32, stamp->helper_for);
	if (word.len < MARK_LEN && size > 0)
		buf[word.len = 0] = '\0';
	return finish_word(&word);
}

/* Read the number behind 'key'. */
static bool read_number(const char *part, const char *key, uint32_t *number)
{
	size_t len = strlen(key);

	if (strncmp(part, key, len) != 0)
		return false;
	*number = (uint32_t)strtoul(part + len, NULL, 10);
	return true;
}

/* Read one part of the word, between two semicolons. */
static int parse_part(const char *part, struct egs_stamp *stamp)
{
	static const struct egs_hint_site any = { .any_phase = true };
	struct egs_job_size *size = &stamp->submitted;

	if (!strncmp(part, SIG, sizeof(SIG) - 1))
		return egs_save_signal_parse(part + sizeof(SIG) - 1,
					     &stamp->own_signal, NULL);
	if (!strcmp(part, DEPARTED))
		stamp->departed = true;
	else if (!strcmp(part, LIMITED))
		stamp->limited = true;
	else if (sscanf(part, "id=%" SCNx64, &stamp->nonce) != 1 &&
		 sscanf(part, CHANGED "%" SCNx64, &stamp->changed_us) != 1 &&
		 sscanf(part, "size=%" SCNu64 "/%" SCNu64 "/%" SCNu64,
			&size->gpus_per_node, &size->gpus_per_job,
			&size->mem_mb) != 3 &&
		 !read_number(part, "next=", &stamp->next_gpus) &&
		 !read_number(part, "helper=", &stamp->helper_for))
		return egs_hint_parse(&stamp->hint, part, &any, NULL);
	return 0;
}

/* Parse 'word' loosely and format the result again.  The stamp is valid only if
 * that gives the same bytes.
 */
static int parse_word(const char *word, size_t len, struct egs_stamp *stamp)
{
	char text[EGS_STAMP_MAX + 1], again[EGS_STAMP_MAX + 1];
	struct egs_stamp new = { .nonce = 0 };
	char *next = text + MARK_LEN;

	if (len > EGS_STAMP_MAX)
		return -1;
	memcpy(text, word, len);
	text[len] = '\0';
	while (next)
		if (parse_part(strsep(&next, ";"), &new) < 0)
			return -1;
	if (egs_stamp_format(&new, again, sizeof(again)) != (int)len ||
	    memcmp(again, word, len) != 0)
		return -1;
	*stamp = new;
	return 0;
}

int egs_stamp_find(const char *comment, struct egs_stamp *stamp)
{
	size_t len = 0;
	const char *word = comment ? find_next_marked(comment, &len) : NULL;

	for (; word; word = find_next_marked(word + len, &len))
		if (parse_word(word, len, stamp) == 0)
			return 0;
	return -1;
}

uint64_t egs_stamp_changed_us(const char *comment)
{
	if (!comment || !strstr(comment, ";" CHANGED))
		return 0;
	return egs_stamp_read(comment).changed_us;
}

struct egs_stamp egs_stamp_read(const char *comment)
{
	struct egs_stamp stamp = { .nonce = 0 };

	egs_stamp_find(comment, &stamp);
	return stamp;
}

/* Copy 'from' up to 'end' to 'to'.  Returns the end of the copy. */
static char *copy_range(char *to, const char *from, const char *end)
{
	memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

/* Copy 'rest' to 'to' without its marked words and the white space in front of
 * each.  Returns the end of the copy.
 */
static char *copy_unmarked(char *to, const char *rest)
{
	size_t len;
	const char *word;

	while ((word = find_next_marked(rest, &len))) {
		const char *end = word;

		while (end > rest && strchr(SPACE, end[-1]))
			end--;
		to = copy_range(to, rest, end);
		rest = word + len;
	}
	return copy_range(to, rest, rest + strlen(rest));
}

char *egs_stamp_insert(const char *comment, const struct egs_stamp *stamp)
{
	char token[EGS_STAMP_MAX + 1];
	size_t len = 0;
	const char *word, *rest;
	char *out, *to;

	if (!comment)
		comment = "";
	if (egs_stamp_format(stamp, token, sizeof(token)) < 0)
		return NULL;
	out = malloc(strlen(comment) + 1 + strlen(token) + 1);
	if (!out)
		return NULL;
	word = find_next_marked(comment, &len);
	rest = word ? word + len : comment + strlen(comment);
	to = copy_range(out, comment, rest - len);
	if (!*token && word && to > out)
		to--; /* remove the white space on one side, too */
	else if (!*token && *rest)
		rest++;
	else if (*token && to > out && !strchr(SPACE, to[-1]))
		*to++ = ' ';
	to = copy_range(to, token, token + strlen(token));
	*copy_unmarked(to, rest) = '\0';
	return out;
}

/* ---- the resize command ---- */

void egs_resize_command_format(const struct egs_resize_command *command,
			       char *buf, size_t size)
{
	if (command->helper_job_id)
		snprintf(buf, size, RESIZE "take=%" PRIu32,
			 command->helper_job_id);
	else
		snprintf(buf, size, RESIZE "gpus=%" PRIu32 "%s%s%s",
			 command->gpus_per_node,
			 command->keep_cores ? ";keep-cores" : "",
			 *command->open_gpus ? ";open=" : "",
			 command->open_gpus);
}

bool egs_resize_command_is_set(const char *comment)
{
	return comment && !strncmp(comment, RESIZE, sizeof(RESIZE) - 1);
}

static void parse_option(const char *part, struct egs_resize_command *command)
{
	if (!strcmp(part, "keep-cores"))
		command->keep_cores = true;
	else if (!strncmp(part, "open=", 5))
		snprintf(command->open_gpus, sizeof(command->open_gpus), "%s",
			 part + 5);
	else if (!read_number(part, "gpus=", &command->gpus_per_node))
		read_number(part, "take=", &command->helper_job_id);
}

/* As in parse_word(), a command is valid only if formatting it gives the same
 * bytes.
 */
int egs_resize_command_parse(const char *comment,
			     struct egs_resize_command *command)
{
	char text[EGS_RESIZE_COMMAND_MAX + 1];
	char again[EGS_RESIZE_COMMAND_MAX + 1];
	struct egs_resize_command new = { .gpus_per_node = 0 };
	char *next = text + sizeof(RESIZE) - 1;

	if (!egs_resize_command_is_set(comment) ||
	    strlen(comment) > EGS_RESIZE_COMMAND_MAX)
		return -1;
	snprintf(text, sizeof(text), "%s", comment);
	while (next)
		parse_option(strsep(&next, ";"), &new);
	egs_resize_command_format(&new, again, sizeof(again));
	if (strcmp(again, comment) != 0)
		return -1;
	*command = new;
	return 0;
}
