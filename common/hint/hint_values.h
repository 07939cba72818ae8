/* hint_values.h - how the values of a hint are read, for hint.c alone
 *
 * A key says in its row what its values are; a reader turns what was typed into
 * the canonical form.
 */
#ifndef EGS_HINT_HINT_VALUES_H
#define EGS_HINT_HINT_VALUES_H

#include "common/conf/names.h"
#include "common/hint/hint.h"

struct egs_hint_key;

/* Write the canonical form of 'value', which has 1 to EGS_HINT_VALUE_MAX bytes,
 * to 'out' (EGS_HINT_VALUE_MAX + 1 bytes).  Returns 0, or -1 with a predicate
 * in 'err' that follows "--key=value".
 */
typedef int egs_hint_reader(const struct egs_hint_key *k, const char *value,
			    const struct egs_hint_site *site, char *out,
			    struct egs_err *err);

struct egs_hint_key {
	const char *name;
	const char *shown_as;	/* in a refusal */
	const char *value_kind; /* what a value is, likewise */
	size_t offset;		/* of its field in struct egs_hint */
	egs_hint_reader *read;
	const struct egs_alias *choices; /* canonical ones first, which mean
					  * themselves; NULL: it only
					  * shows what else there is */
	size_t nchoices;
	const char
		*default_value; /* the value of the key without one, or NULL */
	bool unused;		/* kept, and nothing is done with it yet */
};

/* One of the words of the key. */
egs_hint_reader egs_hint_read_choice;
/* A phase: a word of the key, or one of the site. */
egs_hint_reader egs_hint_read_phase;
/* PHASE:N, several with a comma or a '+' between them. */
egs_hint_reader egs_hint_read_phase_gpus;
egs_hint_reader egs_hint_read_tier;
egs_hint_reader egs_hint_read_workload;
egs_hint_reader egs_hint_read_ckpt;
egs_hint_reader egs_hint_read_duration;
egs_hint_reader egs_hint_read_path;
/* 1 and more. */
egs_hint_reader egs_hint_read_count;
/* The same, or a word of the key. */
egs_hint_reader egs_hint_read_count_or_choice;

/* The canonical words of a key, which a refusal lists, and the site's phases
 * where the key is about phases.
 */
void egs_hint_list_choices(const struct egs_hint_key *k,
			   const struct egs_hint_site *site,
			   struct egs_err *list);

/* Add 'name' to the list "a, b". */
void egs_hint_append_name(struct egs_err *list, const char *name);

/* "; did you mean 'train'?", or nothing. */
struct egs_err egs_hint_did_you_mean(const char *typed,
				     const char *const *names, size_t count);

#endif
