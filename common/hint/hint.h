/* hint.h - what a user declares about a job
 *
 * A hint is a few keys with values, written as "key=value,key=value".  Users
 * type it as options (--phase=train) or in one option,
 * --egs=phase=train,quiet.  The same functions parse it in the user's command
 * and again inside slurmctld, which does not trust the command.
 *
 *	key		value
 *	phase		prep, train, eval, infer, retrain or one of the site;
 *			other spellings (training, inference, "Train") are
 *			accepted
 *	tier		the name of a tier
 *	workload	NAME or NAME/STAGE
 *	ckpt		auto, none, file, signal, signal:[B:]SIG[@SECS] or
 *			cmd:PATH: how the job checkpoints when it is preempted
 *	save-time	how long that takes: 90s, 5m, 00:05:00
 *	phase-gpus	PHASE:N+PHASE:N: number of GPUs in each phase; in an
 *			option of its own, a comma may replace the '+'
 *	preload		a path: the program that fetches the job's data
 *	exit		yield or finish: meaning of an exit in the grace period
 *	restart		submit or phase: a requeued job begins in the phase of
 *			its submission or in its last phase
 *	shrink-to	N: the job can shrink to N GPUs instead of a preemption
 *	idle-ok		TIME:REASON: GPUs of the job may be idle so long
 *	acks		N or all: number of ranks that must yield
 *	quiet		nothing, or yes: no notes at submission
 *
 * There is no quoting: a comma always ends a value.  The refusal of a key of a
 * later version says so.
 */
#ifndef EGS_HINT_HINT_H
#define EGS_HINT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/hint/save_signal.h"

#define EGS_HINT_VALUE_MAX 64	/* bytes in a key or a value */
#define EGS_HINT_MAX	   1024 /* bytes in a whole hint, canonical or typed */

/* All zero: the empty hint.  An empty string: the key was not given.  Stored
 * values are canonical: no alias, lower case where case does not matter, and
 * never a comma, semicolon, space or control character.
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
	char idle_ok[EGS_HINT_VALUE_MAX + 1];
	char acks[EGS_HINT_VALUE_MAX + 1];
	char quiet[EGS_HINT_VALUE_MAX + 1];
};

/* What the site adds to the grammar; NULL: nothing. */
struct egs_hint_site {
	const char *const *phases; /* borrowed, canonical; NULL: not known */
	size_t nphases;
	bool any_phase; /* accept every valid name */
};

/* Set one key, or replace its value.  Returns 0, or -1 with 'err' set and
 * '*hint' unchanged: the key is unknown or of a later version, or the value is
 * empty, longer than EGS_HINT_VALUE_MAX or not accepted.
 */
int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 const struct egs_hint_site *site, struct egs_err *err);

/* Set all keys of 'text', which may be empty; other keys keep their values.  A
 * key may appear once; an unknown key is an error.  Returns 0, or -1 with 'err'
 * set and '*hint' unchanged.
 */
int egs_hint_parse(struct egs_hint *hint, const char *text,
		   const struct egs_hint_site *site, struct egs_err *err);

/* Give 'hint' the keys of 'below' that it lacks.  If both have a key and the
 * values differ, 'hint' keeps its own.  Those keys are listed in 'differ' as
 * "phase, tier".  Returns their number.
 */
int egs_hint_merge(struct egs_hint *hint, const struct egs_hint *below,
		   struct egs_text *differ);

/* Write the canonical text, which egs_hint_parse() parses to an equal hint.
 * Returns its length, or -1 with an empty 'buf' if 'size' is too small;
 * EGS_HINT_MAX + 1 is always enough.
 */
int egs_hint_format(const struct egs_hint *hint, char *buf, size_t size);

/* Is no key set? */
bool egs_hint_is_empty(const struct egs_hint *hint);

/* The signal of --ckpt=signal:SIG; false if 'ckpt' has another value. */
bool egs_hint_get_signal(const struct egs_hint *hint,
			 struct egs_save_signal *signal);

/* The program of --ckpt=cmd:PROGRAM, "" if 'ckpt' has another value. */
const char *egs_hint_get_program(const struct egs_hint *hint);

/* Has the job declared a way to checkpoint?  'own' is the signal of its
 * --signal, which counts with --ckpt=auto and without --ckpt.
 */
bool egs_hint_can_save(const struct egs_hint *hint,
		       const struct egs_save_signal *own);

/* The time of idle-ok in seconds; 0: not given. */
uint32_t egs_hint_get_idle_ok_s(const struct egs_hint *hint);

/* List the keys of 'hint' that are stored but not used in this version, as
 * "preload"; "" if there are none.
 */
void egs_hint_list_unused(const struct egs_hint *hint, struct egs_text *list);

/* The number of GPUs for 'phase' in the canonical value of phase-gpus; -1 if it
 * does not name the phase.
 */
int egs_hint_gpus_for_phase(const char *phase_gpus, const char *phase);

#endif
