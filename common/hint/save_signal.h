/* save_signal.h - the signal that asks a job to save: [B:]SIG[@SECS]
 *
 * As in sbatch --signal: "USR1", "SIGUSR1@60", "B:TERM@300", "10".  With B: it
 * goes to the batch shell alone, else to the steps; SECS is how long before
 * its end the job wants it.
 */
#ifndef EGS_HINT_SAVE_SIGNAL_H
#define EGS_HINT_SAVE_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* Bytes of the longest text, without the NUL. */
#define EGS_SAVE_SIGNAL_MAX (sizeof("B:WINCH@65535") - 1)

/* All zero is no signal. */
struct egs_save_signal {
	uint16_t number;
	uint16_t before_s; /* 0: it does not say */
	bool to_batch_shell;
};

/* Read 'text'.  Returns 0, or -1 with '*out' left as it was and 'err' set to a
 * predicate: "is not a signal ...".
 */
int egs_save_signal_parse(const char *text, struct egs_save_signal *out,
			  struct egs_err *err);

/* Write the canonical text, which egs_save_signal_parse() takes back: a name
 * where there is one, else the number; EGS_SAVE_SIGNAL_MAX + 1 bytes are
 * enough.
 */
void egs_save_signal_format(const struct egs_save_signal *signal, char *buf,
			    size_t size);

/* Can a process catch it?  KILL and STOP ask nobody. */
bool egs_save_signal_can_catch(const struct egs_save_signal *signal);

#endif
