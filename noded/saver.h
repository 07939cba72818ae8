/* saver.h - run a save program: checkpoints a job that cannot do so itself
 *
 * --ckpt=cmd:PROGRAM: when the job is preempted, egs-noded runs the program on
 * each node of the job.  The program gets what the job's processes there have:
 * user, groups, control groups, limits, umask, working directory, environment
 * and stderr.  These variables are added:
 *
 *	EGS_JOB_ID	id of the job
 *	EGS_PIDS	processes of the job on this node, parents first
 *	EGS_CKPT_DIR	an existing directory for the checkpoint: the job's own
 *			EGS_CKPT_DIR, or egs-ckpt-JOB/RESTARTS in its
 *			working directory
 *	EGS_DEADLINE	when the program is killed, with its process group;
 *			seconds since the epoch
 *
 * No file of the user is opened, looked up or run as root.
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

/* For egs_child_start(), with a struct egs_saver: run the program and wait for
 * its end.  The result is the path of EGS_CKPT_DIR.  Fails with a sentence if
 * the program could not be run, failed or did not finish before the deadline.
 */
egs_child_fn egs_saver_run;

#endif
