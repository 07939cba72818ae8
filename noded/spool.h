/* spool.h - messages of jobs that egs-policyd has not answered yet
 *
 * A message is on disk, in a directory for root only, before the job's file is
 * removed.  The message stays on disk until egs-policyd has answered.  After a
 * crash there are one or two copies of a message.  Two copies are harmless,
 * because egs-policyd remembers the ids of messages.
 *
 * The list is ordered, oldest first.  Each message is one file, named by a
 * growing number.
 */
#ifndef EGS_NODED_SPOOL_H
#define EGS_NODED_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* Limit of messages of one job, and of all jobs.  Further messages wait in the
 * run directory.
 */
#define EGS_SPOOL_JOB_MAX 64
#define EGS_SPOOL_MAX	  16384

struct egs_spool_message {
	uint64_t number;
	uint32_t job;
	uid_t uid;
	char name[EGS_RUNDIR_NAME_MAX + 1]; /* of its file in out/ */
	char *text;
	int64_t received_s; /* since the epoch */
	/* For the caller: time of the next try, and number of answers that
	 * asked for another try.
	 */
	uint64_t not_before_ms;
	uint32_t tries;
	TAILQ_ENTRY(egs_spool_message) link;
};

TAILQ_HEAD(egs_spool_queue, egs_spool_message);

struct egs_spool {
	int fd;
	uint64_t last_number;
	size_t n;
	struct egs_spool_queue list;
};

/* Open the spool of 'node' in the directory 'path' and read its messages.  Both
 * directories are created if missing; an unreadable file is renamed.  Returns
 * 0, or -1 with 'err' set.
 */
int egs_spool_open(struct egs_spool *spool, const char *path, const char *node,
		   struct egs_err *err);
void egs_spool_close(struct egs_spool *spool);

/* Returns whether there is room for another message of this job. */
bool egs_spool_has_room(const struct egs_spool *spool, uint32_t job);

/* Returns the message that the job wrote to out/NAME, or NULL. */
struct egs_spool_message *egs_spool_find(const struct egs_spool *spool,
					 uint32_t job, uid_t uid,
					 const char *name);

/* Add a message.  Returns the message when it is on disk, or NULL with 'err'
 * set.
 */
struct egs_spool_message *egs_spool_add(struct egs_spool *spool, uint32_t job,
					uid_t uid, const char *name,
					const char *text, struct egs_err *err);

/* Remove a message that is answered, from the list and from disk. */
void egs_spool_drop(struct egs_spool *spool, struct egs_spool_message *message);

#endif
