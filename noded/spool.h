/* spool.h - what jobs have said and egs-policyd has not answered yet
 *
 * A message is on disk, in a directory for root alone, before its job's copy is
 * removed, and stays there until it is answered: whoever is killed when, it is
 * there once or twice, never not at all.  Twice is harmless: it has an id, and
 * egs-policyd knows those it has heard.
 *
 * Oldest first; a file for each, named by a number that grows.
 */
#ifndef EGS_NODED_SPOOL_H
#define EGS_NODED_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* So many of one job, and of all; more wait in its run directory. */
#define EGS_SPOOL_JOB_MAX 64
#define EGS_SPOOL_MAX	  16384

struct egs_spool_message {
	uint64_t number;
	uint32_t job;
	uid_t uid;
	char name[EGS_RUNDIR_NAME_MAX + 1]; /* of its file in out/ */
	char *text;			    /* the message */
	int64_t received_s;		    /* when it came */
	/* The caller's: not before then, by its clock; how often it was
	 * asked for in vain.
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

/* Open the spool of 'node' in the directory 'path', both made if they are not
 * there, and read what is in it; a file that is none is put aside.  0, or -1
 * with 'err' set.
 */
int egs_spool_open(struct egs_spool *spool, const char *path, const char *node,
		   struct egs_err *err);
void egs_spool_close(struct egs_spool *spool);

/* Is there room for another of this job?  Is that very message there? */
bool egs_spool_has_room(const struct egs_spool *spool, uint32_t job);
struct egs_spool_message *egs_spool_find(const struct egs_spool *spool,
					 uint32_t job, uid_t uid,
					 const char *name);

/* Keep a message: it is on disk when this returns it, NULL with 'err' set if
 * it is not.
 */
struct egs_spool_message *egs_spool_add(struct egs_spool *spool, uint32_t job,
					uid_t uid, const char *name,
					const char *text, struct egs_err *err);

/* It is answered: forget it. */
void egs_spool_drop(struct egs_spool *spool, struct egs_spool_message *said);

#endif
