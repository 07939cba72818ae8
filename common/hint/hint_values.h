/* hint_values.h - parse the values of a hint, for hint.c only
 *
 * The row of a key names its values and its reader.  The reader turns what the
 * user typed into the canonical form.
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
	const char *value_kind; /* a noun for its values, in a refusal */
	size_t offset;		/* of its field in struct egs_hint */
	egs_hint_reader *read;
	/* Accepted words, the canonical ones first.  A word without a meaning
	 * (NULL) is only for the list in a refusal.
	 */
	const struct egs_alias *choices;
	size_t nchoices;
	const char *default_value; /* if the key has no value; NULL: none */
	bool unused;		   /* stored, but not used in this version */
};

/* One of the choices of the key. */
egs_hint_reader egs_hint_read_choice;
/* A phase: a choice of the key, or a phase of the site. */
egs_hint_reader egs_hint_read_phase;
/* PHASE:N, or several with a comma or a '+' between them. */
egs_hint_reader egs_hint_read_phase_gpus;
egs_hint_reader egs_hint_read_tier;
egs_hint_reader egs_hint_read_workload;
egs_hint_reader egs_hint_read_ckpt;
egs_hint_reader egs_hint_read_duration;
/* TIME:REASON */
egs_hint_reader egs_hint_read_idle_ok;
egs_hint_reader egs_hint_read_path;
/* A number from 1 on. */
egs_hint_reader egs_hint_read_count;
/* A number from 1 on, or a choice of the key. */
egs_hint_reader egs_hint_read_count_or_choice;

/* List the canonical choices of a key for a refusal; with the site's phases if
 * the key is about phases.
 */
void egs_hint_list_choices(const struct egs_hint_key *k,
			   const struct egs_hint_site *site,
			   struct egs_text *list);

/* Append 'name' to the list "a, b". */
void egs_hint_append_name(struct egs_text *list, const char *name);

/* "; did you mean 'train'?", or "". */
struct egs_text egs_hint_did_you_mean(const char *typed,
				      const char *const *names, size_t count);

#endif
