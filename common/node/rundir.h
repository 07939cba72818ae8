/* rundir.h - the run directories of a node (wire/rundir.h says what is in them)
 *
 * <NodeDir>/<node> belongs to root, and so do the names in it: a number is the
 * run directory of that job and belongs to its user, who may do there as he
 * likes.  So all that is done inside is done with the user's identity towards
 * the file system, follows no link and waits for nothing: it can do no more
 * than the user could, and what cannot be done is left.
 *
 * Used by egs-noded, and by spank_egs before a step starts.
 */
#ifndef EGS_NODE_RUNDIR_H
#define EGS_NODE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* The longest path of a run directory, with its NUL. */
#define EGS_RUNDIR_PATH_SIZE 256

/* Names in the directory of a node. */
#define EGS_RUNDIRS_LOCK	".lock"	  /* held by egs-noded */
#define EGS_RUNDIRS_SLURMD_LOCK ".slurmd" /* held by slurmd */
#define EGS_RUNDIRS_RETIRED	".gone-"  /* and more: to be removed */
#define EGS_RUNDIRS_NEW		".new-"	  /* and more: not complete */
#define EGS_RUNDIRS_GPU_REPORT                         \
	".unclean-" /* and more: a report of spank_egs \
		     */

/* Is it a name that Slurm may give a node? */
bool egs_node_name_is_valid(const char *node);

/* Open the directory of 'node', made with its parent if it is not there: a
 * file, or -1 with 'err' set, also if it is not ours alone to write to.
 */
int egs_rundir_open_node_dir(const char *node_dir, const char *node,
			     struct egs_err *err);

/* Make the run directory of a job.  One that is there is kept, unless it is
 * another user's or 'anew' is set.  0, or -1 with 'err' set.
 */
int egs_rundir_make(int dirs, uint32_t job, uid_t uid, gid_t gid, bool anew,
		    struct egs_err *err);

/* A run directory. */
struct egs_rundir {
	int fd;
	uid_t uid; /* of its owner */
	gid_t gid;
	ino_t inode;
	int64_t changed_s; /* when it was made, or a step started */
};

/* Open that of 'job'.  0, or -1 if there is none. */
int egs_rundir_open(int dirs, uint32_t job, struct egs_rundir *dir);
void egs_rundir_close(struct egs_rundir *dir);

/* Call 'fn' with the name of each message in out/, some hundred at most.
 * egs_rundir_open_out() opens out/ to be watched: a file, or -1.
 */
void egs_rundir_each_message(const struct egs_rundir *dir,
			     void (*fn)(void *arg, const char *name),
			     void *arg);
int egs_rundir_open_out(const struct egs_rundir *dir);

/* Read the message out/NAME: its length in 'text', which has a NUL behind it.
 * -1 if it is none: no file of its owner, or too long.
 */
ssize_t egs_rundir_read_message(const struct egs_rundir *dir, const char *name,
				char text[EGS_RUNDIR_MESSAGE_MAX + 1]);

/* Remove it.  0, or -1 if that cannot be done. */
int egs_rundir_drop_message(const struct egs_rundir *dir, const char *name);

/* Write in/NAME.  0, or -1 if that cannot be done. */
int egs_rundir_write_answer(const struct egs_rundir *dir, const char *name,
			    const char *text, size_t len);

/* Say what the job is asked for, or (request 0) that it is asked for nothing.
 * 0, or -1 if that cannot be done.
 */
struct egs_rundir_notice {
	uint32_t number;
	uint32_t kind; /* enum egs_notice_kind */
	uint32_t gpus;
	int64_t deadline_s;
	const char *reason;
};
int egs_rundir_write_notice(const struct egs_rundir *dir,
			    const struct egs_rundir_notice *request);

/* Put the directory of a job aside, to be removed: it is nobody's any more. */
int egs_rundir_retire(int dirs, uint32_t job);

/* Remove what was put aside under 'name', with all that is in it.  0, or -1
 * with 'err' set if something stays.
 */
int egs_rundir_remove(int dirs, const char *name, struct egs_err *err);

#endif
