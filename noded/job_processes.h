/* job_processes.h - the processes that a job has on this node
 *
 * A process is of a job if it belongs to the job's user and was started with
 * the job's SLURM_JOB_ID on this node, or if its parent is.  What a user may
 * make of his own environment concerns none but himself.
 */
#ifndef EGS_NODED_JOB_PROCESSES_H
#define EGS_NODED_JOB_PROCESSES_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* In the environment of what we start for a job: not one of its own. */
#define EGS_SAVER_ENV "EGS_SAVER"

#define EGS_JOB_PROCS_MAX	 4096
#define EGS_JOB_PROCS_GROUPS_MAX 256
#define EGS_JOB_PROCS_ENV_MAX	 (1U << 20)

/* The processes of a job, parents before their children, and what the first
 * of them is.
 */
struct egs_job_procs {
	pid_t pid[EGS_JOB_PROCS_MAX];
	size_t n;
	gid_t gid, group[EGS_JOB_PROCS_GROUPS_MAX];
	size_t ngroups;
	mode_t umask;
	char cwd[PATH_MAX];
	char *env; /* strings one after the other, env_len in all */
	size_t env_len;
};

/* Look for those of 'job' of 'uid' on 'node'.  0, or -1 with 'err' set if there
 * is none, or none of whose identity we can be sure.  egs_job_procs_free()
 * frees what is in it, in any case.
 */
int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err);
void egs_job_procs_free(struct egs_job_procs *procs);

/* The value of a variable of the first one, or NULL. */
const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name);

/* Join the control groups of the first one, where they are not ours already.
 * 0, or -1 with 'err' set.
 */
int egs_job_procs_join_cgroups(const struct egs_job_procs *procs,
			       struct egs_err *err);

/* Take its limits over. */
void egs_job_procs_copy_limits(const struct egs_job_procs *procs);

#endif
