/* job_processes.h - the processes of a job on this node
 *
 * A process belongs to a job if the job's user owns it and it was started with
 * the job's SLURM_JOB_ID on this node, or if its parent belongs to the job.  A
 * user who forges that variable only affects the user's own jobs.
 */
#ifndef EGS_NODED_JOB_PROCESSES_H
#define EGS_NODED_JOB_PROCESSES_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* Set in processes that egs-noded starts for a job: they are not the job's. */
#define EGS_SAVER_ENV "EGS_SAVER"

#define EGS_JOB_PROCS_MAX	 4096
#define EGS_JOB_PROCS_GROUPS_MAX 256
#define EGS_JOB_PROCS_ENV_MAX	 (1U << 20)

/* The processes of a job, parents before their children; the other fields
 * describe the first process.
 */
struct egs_job_procs {
	pid_t pid[EGS_JOB_PROCS_MAX];
	size_t n;
	gid_t gid, group[EGS_JOB_PROCS_GROUPS_MAX];
	size_t ngroups;
	mode_t umask;
	char cwd[PATH_MAX];
	char *env; /* strings one after the other, env_len bytes */
	size_t env_len;
};

/* Find the processes of 'job' of 'uid' on 'node'.  Returns 0, or -1 with 'err'
 * set if there is none, or if the identity of the first one is not certain.
 * Call egs_job_procs_free() in both cases.
 */
int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err);
void egs_job_procs_free(struct egs_job_procs *procs);

/* The value of an environment variable of the first process, or NULL. */
const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name);

/* Join the control groups of the first process, where they are not ours
 * already.  Returns 0, or -1 with 'err' set.
 */
int egs_job_procs_join_cgroups(const struct egs_job_procs *procs,
			       struct egs_err *err);

/* Copy the resource limits of the first process. */
void egs_job_procs_copy_limits(const struct egs_job_procs *procs);

#endif
