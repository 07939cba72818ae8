/* gpu_locks.h - keep a job from opening the GPUs that it is giving back
 *
 * Slurm sets the devices of a running job anew when its next step starts. Until
 * then the processes of its batch script could open a GPU again that the job
 * has given back.  A lock prevents that: the kernel refuses every new open() of
 * a locked GPU in these steps:
 *
 *	batch, interactive	may open all GPUs that the job had
 *	extern			likewise
 *
 * Every other step has GPUs of its own, which Slurm does not take from it.
 * Files that are open already are not affected: lock first, then look for them.
 *
 *	egs_gpu_locks_open()	once, in the process that keeps the locks
 *	egs_gpu_locks_set()	also in its children
 *	egs_gpu_locks_forget()	a job has ended
 *	egs_gpu_locks_close()
 *
 * With control groups of version 2, a program in the kernel looks up the group
 * of a process and the device in a table.  It refuses in addition to what
 * Slurm's own programs refuse, and never allows anything.  It goes with the
 * process that has opened it.  With version 1, locks are in devices.deny of the
 * step, and stay until they are removed.
 *
 * A slice of a MIG GPU is not locked: other slices have the same device.
 */
#ifndef EGS_NODE_GPU_LOCKS_H
#define EGS_NODE_GPU_LOCKS_H

#include "common/node/gpus.h"
#include "common/node/stepds.h"

/* Use EGS_GPU_LOCKS_NONE for none. */
struct egs_gpu_locks {
	int table_fd;
	int link_fd;
	bool may_not; /* the kernel could, but this process has no right */
};

#define EGS_GPU_LOCKS_NONE                    \
	{                                     \
		.table_fd = -1, .link_fd = -1 \
	}

/* Load the program.  Returns 0, or -1 with 'err' set: then steps in groups of
 * version 2 cannot be locked.
 */
int egs_gpu_locks_open(struct egs_gpu_locks *locks, struct egs_err *err);
void egs_gpu_locks_close(struct egs_gpu_locks *locks);

/* What a job may open. */
struct egs_gpu_lock {
	uint32_t job;
	uint64_t locked;  /* as bits, by Slurm's numbers */
	uint64_t gpu_set; /* GPUs of the job; those not locked are unlocked */
};

/* Set the locks of a job in all its steps among the 'stepds'.  A job without
 * control of devices is no error, nor is a kernel that has no such programs.
 * Returns 0, or -1 with 'err' set if a GPU is not locked that should be.
 */
int egs_gpu_locks_set(const struct egs_gpu_locks *locks,
		      const struct egs_node_gpus *gpus,
		      const struct egs_stepds *stepds,
		      const struct egs_gpu_lock *lock, struct egs_err *err);

/* Remove what is left in the table of a job that has ended. */
void egs_gpu_locks_forget(const struct egs_gpu_locks *locks, uint32_t job);

#endif
