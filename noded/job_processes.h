/* job_processes.h - the processes of a job on this node
 *
 * A process of the job's user belongs to the job if its environment has the
 * job's SLURM_JOB_ID and this node.  A process of the user whose parent belongs
 * to the job also belongs to the job.  A user who forges that variable affects
 * only the user's own jobs.
 */
#ifndef EGS_NODED_JOB_PROCESSES_H
#define EGS_NODED_JOB_PROCESSES_H

#include <limits.h>
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
 * set if the job has no process, or if the identity of the first process is not
 * certain.
 * Call egs_job_procs_free() in both cases.
 */
int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err);
void egs_job_procs_free(struct egs_job_procs *procs);

/* The value of an environment variable of the first process, or NULL. */
const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name);

/* Move the calling process into the control groups of the first process.
 * Returns 0, or -1 with 'err' set.
 */
int egs_job_procs_join_cgroups(const struct egs_job_procs *procs,
			       struct egs_err *err);

/* Set the resource limits of the first process for the calling process. */
void egs_job_procs_copy_limits(const struct egs_job_procs *procs);

#endif
