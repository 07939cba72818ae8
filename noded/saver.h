/* saver.h - the program that saves a job which cannot do so itself
 *
 * --ckpt=cmd:PROGRAM: when a request to yield opens, the program is run on each
 * node of the job, with all that the job's own processes are and have there:
 * user, groups, control groups, limits, umask, directory, environment and error
 * output; and with these variables besides:
 *
 *	EGS_JOB_ID	of the job
 *	EGS_PIDS	its processes on this node, parents first
 *	EGS_CKPT_DIR	a directory for the checkpoint, which is made: the job's
 *			own EGS_CKPT_DIR, or egs-ckpt-JOB/RESTARTS in its
 *			directory
 *	EGS_DEADLINE	when it is killed, with its process group; seconds since
 *			the epoch
 *
 * Nothing of the user's is opened, looked up or run as root.
 */
#ifndef EGS_NODED_SAVER_H
#define EGS_NODED_SAVER_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/child.h"

#define EGS_SAVER_PROGRAM_SIZE 65 /* bytes, with the NUL */

struct egs_saver {
	uint32_t job, restarts;
	uid_t uid; /* not 0 */
	int64_t deadline_s;
	const char *node;
	char program[EGS_SAVER_PROGRAM_SIZE];
};

/* For egs_child_start(), with a struct egs_saver: run it and wait for its end.
 * What is made is the path of EGS_CKPT_DIR.  Fails with a sentence if the
 * program could not be run, failed or was not done at the deadline.
 */
egs_child_fn egs_saver_run;

#endif
