/* hint.h - what a job says about itself
 *
 * A hint is a few keys with values, written as "key=value,key=value".  Users
 * type it as options (--phase=train) or in one piece (--egs=phase=train,quiet);
 * the same functions read it at the user's terminal and again inside slurmctld,
 * where trust begins.
 *
 *	key		value
 *	phase		prep, train, eval, infer, retrain or one of the site;
 *			other spellings of these (training, inference, "Train")
 *			are taken for them
 *	tier		the name of a tier
 *	workload	NAME or NAME/STAGE
 *	ckpt		auto, none, file, signal, signal:[B:]SIG[@SECS] or
 *			cmd:PATH: how the job saves when it is asked to
 *	save-time	how long that takes: 90s, 5m, 00:05:00
 *	phase-gpus	PHASE:N+PHASE:N: how many GPUs it wants in which phase;
 *			where it stands alone a comma is as good as a '+'
 *	preload		a path: what fetches its data ahead
 *	exit		yield or finish: what an exit inside the grace means
 *	restart		submit or phase: what it starts again as, after a
 *			requeue
 *	shrink-to	N: asked for GPUs, it can go on with so many
 *	acks		N or all: how many of its ranks must say that they saved
 *	quiet		nothing, or yes: no notes at submission
 *
 * There is no quoting: a comma always ends a value, and no value has one.  Keys
 * of later versions are known by name and refused as such.
 */
#ifndef EGS_HINT_HINT_H
#define EGS_HINT_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/hint/save_signal.h"

#define EGS_HINT_VALUE_MAX 64	/* bytes in a key or a value */
#define EGS_HINT_MAX	   1024 /* bytes in a whole hint, canonical or typed */

/* All zero is the empty hint; an empty string is a key that was not given.
 * What these functions have stored is canonical: no alias, lower case where
 * case does not matter, and never a comma, semicolon, space or control
 * character.
 */
struct egs_hint {
	char phase[EGS_HINT_VALUE_MAX + 1];
	char tier[EGS_HINT_VALUE_MAX + 1];
	char workload[EGS_HINT_VALUE_MAX + 1];
	char ckpt[EGS_HINT_VALUE_MAX + 1];
	char save_time[EGS_HINT_VALUE_MAX + 1];
	char phase_gpus[EGS_HINT_VALUE_MAX + 1];
	char preload[EGS_HINT_VALUE_MAX + 1];
	char exit[EGS_HINT_VALUE_MAX + 1];
	char restart[EGS_HINT_VALUE_MAX + 1];
	char shrink_to[EGS_HINT_VALUE_MAX + 1];
	char acks[EGS_HINT_VALUE_MAX + 1];
	char quiet[EGS_HINT_VALUE_MAX + 1];
};

/* What the site adds to the grammar; NULL or { 0 } is nothing. */
struct egs_hint_site {
	const char *const *phases; /* borrowed, canonical */
	size_t nphases;
	bool any_phase; /* whatever could be the name of one */
};

/* Set one key, in place of a value it may have.  Returns 0, or -1 with 'err'
 * set and '*hint' left as it was: the key is unknown or of a later version, the
 * value is empty, longer than EGS_HINT_VALUE_MAX or not one of those accepted.
 */
int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 const struct egs_hint_site *site, struct egs_err *err);

/* Set all keys of 'text'; those it does not name keep their values, and an
 * empty text names none.  A key may appear once; an unknown key is an error.
 * Returns 0, or -1 with 'err' set and '*hint' left as it was.
 */
int egs_hint_parse(struct egs_hint *hint, const char *text,
		   const struct egs_hint_site *site, struct egs_err *err);

/* Give 'hint' the keys of 'below' that it lacks.  The keys where both speak and
 * differ are listed in 'differ' as "phase, tier", and 'hint' keeps its own;
 * returns how many there are.
 */
int egs_hint_merge(struct egs_hint *hint, const struct egs_hint *below,
		   struct egs_err *differ);

/* Write the canonical text, which egs_hint_parse() reads back to an equal hint.
 * Returns its length, or -1 with an empty 'buf' if 'size' is too small;
 * EGS_HINT_MAX + 1 is always enough.
 */
int egs_hint_format(const struct egs_hint *hint, char *buf, size_t size);

/* Whether no key is set. */
bool egs_hint_is_empty(const struct egs_hint *hint);

/* The signal of --ckpt=signal:SIG; false if that is not what it says. */
bool egs_hint_get_signal(const struct egs_hint *hint,
			 struct egs_save_signal *signal);

/* The program of --ckpt=cmd:PROGRAM, "" if that is not what it says. */
const char *egs_hint_get_program(const struct egs_hint *hint);

/* Has the job declared a way to save?  'own' is the signal of its --signal,
 * which counts where --ckpt says auto or nothing.
 */
bool egs_hint_can_save(const struct egs_hint *hint,
		       const struct egs_save_signal *own);

/* List the keys of 'hint' that are kept for a later version, which alone will
 * do something with them, as "preload"; "" if there are none.
 */
void egs_hint_list_unused(const struct egs_hint *hint, struct egs_err *list);

/* The GPUs that 'phase_gpus', the canonical value of that key, wants in
 * 'phase'; -1 if it does not speak of it.
 */
int egs_hint_gpus_for_phase(const char *phase_gpus, const char *phase);

#endif
