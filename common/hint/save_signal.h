/* save_signal.h - the signal that tells a job to checkpoint: [B:]SIG[@SECS]
 *
 * The text is as in sbatch --signal: "USR1", "SIGUSR1@60", "B:TERM@300", "10".
 * With B: Slurm sends the signal only to the batch shell, otherwise to the
 * steps.  Slurm sends it SECS seconds before the end of the job.
 */
#ifndef EGS_HINT_SAVE_SIGNAL_H
#define EGS_HINT_SAVE_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* Bytes of the longest text, without the NUL. */
#define EGS_SAVE_SIGNAL_MAX (sizeof("B:WINCH@65535") - 1)

/* SECS of a signal without a time, as in sbatch. */
#define EGS_SAVE_SIGNAL_BEFORE_S 60

/* All zero: no signal. */
struct egs_save_signal {
	uint16_t number;
	uint16_t before_s; /* 0: not given */
	bool to_batch_shell;
};

/* Parse 'text'.  Returns 0, or -1 with '*out' unchanged and a predicate in
 * 'err': "is not a signal ...".
 */
int egs_save_signal_parse(const char *text, struct egs_save_signal *out,
			  struct egs_err *err);

/* Write the canonical text, which egs_save_signal_parse() accepts: the name of
 * the signal, or its number if it has no name.  EGS_SAVE_SIGNAL_MAX + 1 bytes
 * are enough.
 */
void egs_save_signal_format(const struct egs_save_signal *signal, char *buf,
			    size_t size);

/* Can a process catch the signal?  Not KILL and STOP. */
bool egs_save_signal_can_catch(const struct egs_save_signal *signal);

#endif
