/* saver.h - run a save program, for a job that cannot checkpoint itself
 *
 * When a job with --ckpt=cmd:PROGRAM is preempted, egs-noded runs the program
 * on each node of the job.  The program has the same user, groups, control
 * groups, OOM score, priorities, CPUs, limits, mount namespace, umask, working
 * directory, environment and stderr as the first process of the job, a session
 * keyring of its own, and no file of egs-noded.  If any of this fails, the
 * program does not run.
 * egs-noded adds these variables:
 *
 *	EGS_JOB_ID	id of the job
 *	EGS_PIDS	processes of the job on this node, parents first
 *	EGS_CKPT_DIR	an existing directory for the checkpoint: the job's own
 *			EGS_CKPT_DIR, or egs-ckpt-JOB/RESTARTS in its
 *			working directory
 *	EGS_DEADLINE	time in seconds since the epoch when egs-noded kills the
 *			program and its process group
 *
 * egs-noded never opens, looks up or runs a file of the user as root.
 */
#ifndef EGS_NODED_SAVER_H
#define EGS_NODED_SAVER_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/child.h"
#include "common/node/save_program.h"

struct egs_saver {
	uint32_t job, restarts;
	uid_t uid; /* not 0 */
	int64_t deadline_s;
	const char *node;
	char program[EGS_SAVE_PROGRAM_SIZE];
};

/* A function for egs_child_start() with a struct egs_saver.  Run the program
 * and wait for its end.  The result is the path of EGS_CKPT_DIR.  Fails if the
 * program cannot be run, fails or does not finish before the deadline.
 */
egs_child_fn egs_saver_run;

#endif
