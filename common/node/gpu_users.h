/* gpu_users.h - the processes that have GPUs of this node open
 *
 *	struct egs_gpu_users users = { 0 };
 *
 *	egs_gpu_users_scan()		find the processes by their open files,
 *	egs_gpu_users_scan_job()	or those that count for one job
 *	egs_gpu_users_add_nvml()	and by NVIDIA's driver, if you like
 *	egs_gpu_users_identify()	find their steps (stepds.h)
 *	egs_gpu_users_read_claims()	and what the others say, if you like
 *	egs_gpu_users_free()
 *
 * A scan that may not look at a process fails, so that nobody takes "cannot
 * look" for "nothing there".  A process that has ended meanwhile is no error.
 * These functions need root with CAP_SYS_PTRACE.
 *
 * No user can make a scan wait: it reads no memory of another process, and
 * asks no file system of a user.  A scan of a job stops processes and reads
 * their lists of mappings, which may block, so call it in a child process with
 * a deadline.
 */
#ifndef EGS_NODE_GPU_USERS_H
#define EGS_NODE_GPU_USERS_H

#include "common/node/gpus.h"
#include "common/node/stepds.h"
#include "common/node/sub_uids.h"

#define EGS_GPUS_ALL UINT64_MAX

/* What has become of a process that had a GPU of a starting step open. */
enum egs_gpu_user_fate {
	EGS_GPU_USER_IGNORED, /* of the step's own job, of no job, or root's */
	EGS_GPU_USER_UNCLEAR, /* in no step; its environment was not read */
	EGS_GPU_USER_KILLED,
	EGS_GPU_USER_RUNS,  /* belongs to a job that runs here */
	EGS_GPU_USER_STAYS, /* was killed and does not end */
};

/* A process that has a GPU open. */
struct egs_gpu_user {
	uint32_t gpu; /* number in struct egs_node_gpus */
	pid_t pid;
	uint64_t start; /* egs_proc_stat() */
	uid_t uid;
	struct egs_step step;
	char command[32]; /* its name, which it may choose */
	enum egs_gpu_user_fate fate;
};

struct egs_gpu_users;

/* Returns 0, or -1 with 'err' set: then the scan fails. */
typedef int egs_gpu_users_fn(void *arg, const struct egs_gpu_users *users,
			     struct egs_err *err);

struct egs_gpu_users {
	struct egs_gpu_user *list;
	size_t n, room;
	struct egs_stepds stepds; /* read by egs_gpu_users_identify() */
	bool is_cut;  /* the time was over before all were examined */
	uint32_t job; /* of egs_gpu_users_scan_job(), 0: none */
	pid_t daemon; /* root's processes below this one do not count */
	struct egs_sub_uids sub_uids; /* of the job's user */
	/* Called at the end of egs_gpu_users_scan_job(), with all processes
	 * that count, while they are stopped; in a child process.  NULL: not.
	 */
	egs_gpu_users_fn *on_stopped;
	void *on_stopped_arg;
};

/* Add the processes that have GPUs of the set 'wanted' open.  A process opens a
 * GPU many times, but is added once for each GPU.  With 'budget_ms', the scan
 * ends after that time and sets 'is_cut'; 0: no limit.  It examines some files
 * of every process, and then some more of those that have many, in turn.  So a
 * process with many files hides only itself.  Returns 0, or -1 with 'err' set.
 */
int egs_gpu_users_scan(struct egs_gpu_users *users,
		       const struct egs_node_gpus *gpus, uint64_t wanted,
		       uint32_t budget_ms, struct egs_err *err);

/* Set the list to the processes that count for this job of 'uid' and have GPUs
 * open or mapped.  They are stopped meanwhile, for two seconds at most
 * (stops.h). Whose the processes are is found before that.  Then files and
 * processes of other users take no time.  Fails also if the time is over before
 * all files were examined, if a process cannot be stopped, or if it has files
 * where none can see them (fdinfo.h).  Returns 0, or -1 with 'err' set.
 */
int egs_gpu_users_scan_job(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus, uint32_t job,
			   uid_t uid, uint32_t budget_ms, struct egs_err *err);

/* Add one process, unless it is there.  Returns 0, or -1 with 'err' set. */
int egs_gpu_users_add(struct egs_gpu_users *users, pid_t pid, uint32_t gpu,
		      struct egs_err *err);

/* Add the processes that NVIDIA's driver reports.  Without a driver there are
 * none.  The driver may be slow or hang, so call this in a child process.
 * Returns 0, or -1 with 'err' set if the driver does not tell.
 */
int egs_gpu_users_add_nvml(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus,
			   struct egs_err *err);

/* Find the step of each process, and drop the processes that are gone.  With
 * 'budget_ms', drop also those that are left after that time, and set 'is_cut';
 * 0: no limit.  Returns 0, or -1 with 'err' set.
 */
int egs_gpu_users_identify(struct egs_gpu_users *users, uint32_t budget_ms,
			   struct egs_err *err);

/* Read the environment of each process in no step.  'node' is the name of this
 * node.  A process that lets us wait for its environment claims nothing.
 * Returns 0, or -1 with 'err' set.
 */
int egs_gpu_users_read_claims(struct egs_gpu_users *users, const char *node,
			      struct egs_err *err);

void egs_gpu_users_free(struct egs_gpu_users *users);

/* Does the process count for the job of egs_gpu_users_scan_job()?  It does if
 * its slurmstepd says that it is of the job; of root's processes also if the
 * name of the control group does.  Every other process of the job's user does,
 * too, also in another job: it may have got a GPU from this one.  What it
 * claims does not matter.
 */
bool egs_gpu_users_counts(const struct egs_gpu_users *users,
			  const struct egs_gpu_user *user);

/* "pid 4711 (python) of step 12.batch" */
struct egs_text egs_gpu_user_text(const struct egs_gpu_user *user);

#endif
