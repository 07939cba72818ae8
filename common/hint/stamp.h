/* stamp.h - everything EGS writes into a job's AdminComment
 *
 * Only Slurm's operators and slurmctld's own plugins can write an AdminComment.
 * EGS has one marked word there, the stamp:
 *
 *	egs:1;phase=train;sig=USR1;id=0123456789abcdef;size=4/0/8000;next=2
 *
 * "egs:1" is the mark and the version of the layout.  Keys follow in this
 * order; a key without a value is left out:
 *
 *	phase=train	the canonical hint
 *	sig=		the job's own --signal, which Slurm does not show
 *	id=		the job's nonce, 64 bits in hexadecimal
 *	size=4/0/8000	submitted size of a resized job: GPUs per node, GPUs
 *			per job, MB of memory per node
 *	departed	the job was preempted and is requeued; until Slurm's
 *			delay is over, the job runs or gets a new begin time
 *	limited		the team or tier of the job has a limit: it does not
 *			start before egs-policyd has decided about it
 *	changed=5f0	an update changed what a limit depends on, at this time
 *			in microseconds, in hexadecimal: the job does not
 *			start before egs-policyd has decided again
 *	next=2		GPUs of the job, on all nodes, when it runs again
 *	helper=17	helper job: gets GPUs for job 17
 *
 * White space separates the word from other text, which stays unchanged.  A
 * stamp stays readable if the site changes its phases.  A hint and a signal
 * need an id.  The keys after the id do not need it, because a job without a
 * hint can be resized too.
 */
#ifndef EGS_HINT_STAMP_H
#define EGS_HINT_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hint/hint.h"

/* Bytes of the longest stamp, without the NUL. */
#define EGS_STAMP_MAX                                                \
	(sizeof("egs:1;;sig=;id=;size=//;departed;limited;changed=;" \
		"next=;helper=") -                                   \
	 1 + EGS_HINT_MAX + EGS_SAVE_SIGNAL_MAX + 16 + 60 + 16 + 20)

/* GPUs and memory in a job's request; 0: not requested in this form. */
struct egs_job_size {
	uint64_t gpus_per_node;
	uint64_t gpus_per_job;
	uint64_t mem_mb; /* of a node, with its GPUs */
};

/* Is any of the numbers not 0? */
bool egs_job_size_is_set(const struct egs_job_size *size);

struct egs_stamp {
	struct egs_hint hint;
	uint64_t nonce; /* tells jobs apart that had the same id at different
			 * times; 0: job_submit/egs had no reason to stamp the
			 * job
			 */
	struct egs_save_signal own_signal; /* all zero: the job has none */
	struct egs_job_size submitted;	   /* all zero: was not resized */
	bool departed;
	bool limited;
	uint64_t changed_us; /* since the epoch, 0: never */
	uint32_t next_gpus;  /* 0: the job runs again as it is */
	uint32_t helper_for; /* 0: not a helper job */
};

/* Write the word; "" for an empty stamp.  Returns its length, or -1 with an
 * empty 'buf' if 'size' is too small; EGS_STAMP_MAX + 1 is always enough.
 */
int egs_stamp_format(const struct egs_stamp *stamp, char *buf, size_t size);

/* Read the first valid stamp in 'comment': a word exactly as egs_stamp_format()
 * writes it.  Other words are skipped.  'comment' may be NULL.  Returns 0, or
 * -1 with '*stamp' left as it was.
 */
int egs_stamp_find(const char *comment, struct egs_stamp *stamp);

/* Like egs_stamp_find(); an empty stamp if there is none. */
struct egs_stamp egs_stamp_read(const char *comment);

/* 'changed_us' of the stamp in 'comment', which may be NULL.  Cheap for a
 * comment without it.
 */
uint64_t egs_stamp_changed_us(const char *comment);

/* Returns a copy of 'comment' (may be NULL) in which 'stamp' is the only word
 * with the mark "egs:1;".  The stamp replaces the first marked word, valid or
 * not; without one it is appended.  An empty stamp removes all marked words.
 * Other text stays unchanged, and a second call changes nothing.  The caller
 * frees the result; NULL without memory.
 */
char *egs_stamp_insert(const char *comment, const struct egs_stamp *stamp);

/* ---- the resize command ---- */

/* egs-policyd resizes a running job by an update with this AdminComment, which
 * job_submit/egs carries out and does not store:
 *
 *	egs:1;resize;gpus=2;keep-cores;open=n1:c:620,n2:1
 *			release all but two GPUs on each node; keep cores and
 *			memory; processes have these GPUs of a node open, in
 *			hexadecimal, bit 0 the first, so keep those; they use
 *			620 MB of n1, the node of the batch script
 *	egs:1;resize;take=18
 *			take all GPUs of helper job 18
 */
#define EGS_OPEN_GPUS_MAX 1024

struct egs_resize_command {
	uint32_t gpus_per_node; /* to keep; 0: take from a helper job */
	uint32_t helper_job_id;
	bool keep_cores;
	char open_gpus[EGS_OPEN_GPUS_MAX]; /* "n1:c:620,n2:1" */
};

/* slurmctld returns this number if single GPUs of a running job cannot change.
 * An example is a job with whole nodes.  Other refusals have other numbers.  A
 * file that uses this constant includes slurm_errno.h.
 */
#define EGS_ESLURM_NOT_LIVE ESLURM_NOT_SUPPORTED

/* Bytes of the longest command, without the NUL. */
#define EGS_RESIZE_COMMAND_MAX                                         \
	(sizeof("egs:1;resize;gpus=4294967295;keep-cores;open=") - 1 + \
	 EGS_OPEN_GPUS_MAX)

/* Write the command; EGS_RESIZE_COMMAND_MAX + 1 is always enough. */
void egs_resize_command_format(const struct egs_resize_command *command,
			       char *buf, size_t size);

/* Does 'comment', which may be NULL, begin as a command does? */
bool egs_resize_command_is_set(const char *comment);

/* Read what egs_resize_command_format() wrote.  Returns 0, or -1 with
 * '*command' left as it was.
 */
int egs_resize_command_parse(const char *comment,
			     struct egs_resize_command *command);

#endif
