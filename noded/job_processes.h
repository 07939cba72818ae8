/* job_processes.h - the processes of a job on this node
 *
 * A process belongs to the job if it is in a step of the job (stepds.h).  What
 * it says about itself, as in its environment, makes it no part of the job.
 */
#ifndef EGS_NODED_JOB_PROCESSES_H
#define EGS_NODED_JOB_PROCESSES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* Set in processes that egs-noded starts for a job, which are not part of it.
 */
#define EGS_SAVER_ENV "EGS_SAVER"

#define EGS_JOB_PROCS_MAX	 4096
#define EGS_JOB_PROCS_GROUPS_MAX 256
#define EGS_JOB_PROCS_ENV_MAX	 (1U << 20)

/* The processes of a job, parents before their children.  The fields after 'n'
 * describe the first process that can be followed: it is in no user namespace
 * of its own.
 */
struct egs_job_procs {
	pid_t pid[EGS_JOB_PROCS_MAX];
	size_t n;
	pid_t first;
	int proc_fd; /* its directory of /proc; stays that of this process */
	gid_t gid, group[EGS_JOB_PROCS_GROUPS_MAX];
	size_t ngroups;
	mode_t umask;
	bool no_new_privs;
	char cwd[PATH_MAX];
	char *env; /* strings one after the other, env_len bytes */
	size_t env_len;
};

/* Find the processes of 'job' of 'uid' on 'node'.  Returns 0, or -1 with 'err'
 * set if the job has no process, if a process cannot be examined, or if the
 * identity of the first process is not certain.
 * Call egs_job_procs_free() in both cases.
 */
int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err);
void egs_job_procs_free(struct egs_job_procs *procs);

/* The value of an environment variable of the first process, or NULL. */
const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name);

/* Read /proc/PID/NAME of the process whose directory is 'proc_fd', as much as
 * fits into 'size', and add a NUL.  Returns the length, or -1 with an empty
 * text.
 */
ssize_t egs_job_procs_read(int proc_fd, const char *name, char *text,
			   size_t size);

#endif
