/* stamp.h - how a job keeps its hint and its identity inside Slurm
 *
 * A stamped job has one marked word in its AdminComment, which only Slurm's
 * operators and slurmctld's own plugins can write:
 *
 *	egs:1;phase=train;id=0123456789abcdef
 *
 * "egs:1" is the mark and the version of the layout, then the canonical hint
 * (left out with its semicolon when empty), then "sig=" and the job's own
 * --signal where it has one, which Slurm shows nobody, then the job's nonce, 64
 * bits in hexadecimal.  White space sets it apart from other text, which is
 * kept.  A stamp is readable whatever phases the site has now.
 */
#ifndef EGS_HINT_STAMP_H
#define EGS_HINT_STAMP_H

#include <stddef.h>
#include <stdint.h>

#include "common/hint/hint.h"

/* Bytes of the longest stamp, without the NUL. */
#define EGS_STAMP_MAX                                                         \
	(sizeof("egs:1;;sig=;id=") - 1 + EGS_HINT_MAX + EGS_SAVE_SIGNAL_MAX + \
	 16)

/* 'nonce' tells jobs apart that had the same id at different times. */
struct egs_stamp {
	struct egs_hint hint;
	uint64_t nonce;
	struct egs_save_signal
		own_signal; /* the job's own, all zero if it has none */
};

/* Write the word.  Returns its length, or -1 with an empty 'buf' if 'size' is
 * too small; EGS_STAMP_MAX + 1 is always enough.
 */
int egs_stamp_format(const struct egs_stamp *stamp, char *buf, size_t size);

/* Read the first word of 'comment' that is, byte for byte, what
 * egs_stamp_format() writes for some stamp; everything else is passed over.
 * 'comment' may be NULL.  Returns 0, or -1 with '*stamp' left as it was.
 */
int egs_stamp_find(const char *comment, struct egs_stamp *stamp);

/* A copy of 'comment' with 'stamp' as its only word that starts with the mark
 * "egs:1;": in the place of the first one there is, well formed or not, else at
 * the end.  The rest stays as it is.  'comment' may be NULL.  Putting again
 * makes nothing longer.  The caller frees the result with free(); NULL if there
 * is no memory.
 */
char *egs_stamp_insert(const char *comment, const struct egs_stamp *stamp);

#endif
