/* stepds.h - the slurmstepds of this host, and the step of a process
 *
 * A slurmstepd is a process of root whose program is slurmstepd.  Its title
 * names its step: "slurmstepd: [12.batch]".  A title alone proves nothing,
 * because any process can call itself so.
 *
 * A process belongs to a step
 *
 *	if a slurmstepd is its ancestor,
 *	if a slurmstepd is in the control group of its step, or of its job.
 *
 * Both are the kernel's word, whatever the group is called: Slurm 26.05 names
 * it by a SLUID instead of the job id.  A process in such a group without a
 * slurmstepd is left over from a job that has ended.  Otherwise there is only
 * the environment, in which a process can claim anything.  A process can also
 * let a reader of its environment wait for ever, so that is a call of its own.
 */
#ifndef EGS_NODE_STEPDS_H
#define EGS_NODE_STEPDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/idmap.h"

#define EGS_STEP_NAME_SIZE  24
#define EGS_STEP_GROUP_SIZE 512

/* A control group of a step, for example
 * "/system.slice/slurmstepd.scope/job_12/step_batch".  The first 'job_len'
 * bytes are the group of its job.
 */
struct egs_step_group {
	char path[EGS_STEP_GROUP_SIZE]; /* "": none */
	size_t job_len;
};

struct egs_stepd {
	pid_t pid;
	uint32_t job;
	char step[EGS_STEP_NAME_SIZE]; /* "batch", "0"; "": unknown */
	struct egs_step_group group;
};

/* All zero: none read yet.  The parent of a process is read once, so that many
 * processes below each other cost no more than others.
 */
struct egs_stepds {
	struct egs_stepd *list;
	size_t n, room;
	uint64_t end_ms; /* of egs_now_ms(): read no longer; 0: no limit */
	struct egs_idmap pids;
	struct egs_stepds_pid *known; /* by slot of 'pids' */
	size_t known_room;
};

/* Read the slurmstepds of this host.  Returns 0, 1 with an empty list if the
 * time was over, or -1 with 'err' set if a process cannot be examined.  To find
 * the step of a process, read this list after the process was found: a younger
 * slurmstepd is not in the list.
 */
int egs_stepds_read(struct egs_stepds *all, struct egs_err *err);
void egs_stepds_free(struct egs_stepds *all);

/* Is this path, of the link /proc/PID/exe, that of slurmstepd? */
bool egs_stepds_is_program(const char *path);

/* Does a slurmstepd of this job run? */
bool egs_stepds_have_job(const struct egs_stepds *all, uint32_t job);

/* Is this process one of the slurmstepds? */
bool egs_stepds_have_pid(const struct egs_stepds *all, pid_t pid);

/* How we know the job of a process, from weak to strong. */
enum egs_step_source {
	EGS_STEP_UNREAD,  /* in no step; its environment was not read */
	EGS_STEP_UNKNOWN, /* in no step, and its environment claims none */
	EGS_STEP_CLAIMED, /* by its environment, of the user's making */
	EGS_STEP_ENDED,	  /* its control group has no slurmstepd any more */
	EGS_STEP_RUNNING, /* a slurmstepd runs for it */
};

struct egs_step {
	enum egs_step_source source;
	uint32_t job; /* 0: unknown */
	char name[EGS_STEP_NAME_SIZE];
};

/* Find the step of a process, without its environment.  Returns 1 if the
 * process is gone, 0, or -1 with 'err' set.
 */
int egs_stepds_find_step(struct egs_stepds *all, pid_t pid,
			 struct egs_step *step, struct egs_err *err);

/* Read which job a process claims in its environment, as a process of the node
 * 'node'.  This call may block: make it in a child process with a deadline.
 * Returns like egs_stepds_find_step().
 */
int egs_stepds_read_claim(pid_t pid, const char *node, struct egs_step *step,
			  struct egs_err *err);

#endif
