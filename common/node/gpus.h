/* gpus.h - the GPUs of this node, and the processes that have them open
 *
 * Slurm numbers the GPUs of a node in the order of gres.conf, from 0.  If
 * gres.conf names no files (AutoDetect=), the GPUs are /dev/nvidia0,
 * /dev/nvidia1 and so on, in this order.
 *
 * A process belongs to the job of the slurmstepd that is its ancestor.  Without
 * such an ancestor, it belongs to the job of its control group.  Otherwise it
 * belongs to the job in its environment, if it was started on this node.  These
 * functions need root.  egs-noded calls them, and spank_egs before a step
 * starts.
 */
#ifndef EGS_NODE_GPUS_H
#define EGS_NODE_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

#define EGS_NODE_GPUS_MAX 64

struct egs_node_gpus {
	dev_t device[EGS_NODE_GPUS_MAX];	 /* 0: no such file */
	uint32_t file_number[EGS_NODE_GPUS_MAX]; /* at the end of the file's
						    name */
	uint32_t n;
};

/* Read the GPUs of 'node' from gres.conf at 'path'; NULL: beside slurm.conf. */
void egs_node_gpus_read(struct egs_node_gpus *gpus, const char *path,
			const char *node);

/* Call 'fn' with each name of "a[0-2,7],b" until it returns a value other than
 * 0.  Returns that value, else 0.
 */
int egs_hostlist_each(const char *text, int (*fn)(void *arg, const char *name),
		      void *arg);

/* A process that has a GPU open. */
struct egs_gpu_user {
	uint32_t gpu; /* in 'device' */
	pid_t pid;
	uid_t uid;
	uint32_t job;	  /* 0: none, or unknown */
	bool is_in_step;  /* a slurmstepd is its ancestor */
	char step[24];	  /* "batch", "0"; "": unknown */
	char command[32]; /* its name */
};

/* Find the processes that have GPUs open, 'max' at most.  Returns their number.
 */
size_t egs_gpu_users_find(const struct egs_node_gpus *gpus, const char *node,
			  struct egs_gpu_user *list, size_t max);

/* Describe one process that has a GPU open. */
struct egs_gpu_user egs_gpu_user_read(pid_t pid, uint32_t gpu,
				      const char *node);

/* Add the processes that NVIDIA's driver reports and that are not in the list
 * of 'n' processes.  Returns the new number; without a driver that is 'n'.  The
 * driver may be slow or hang, so call this in a child process.
 */
size_t egs_gpu_users_add_nvml(const struct egs_node_gpus *gpus,
			      const char *node, struct egs_gpu_user *list,
			      size_t n, size_t max);

/* Does a slurmstepd of this job run on this host? */
bool egs_node_has_job_steps(uint32_t job);

/* "pid 4711 (python) of step 12.batch" */
struct egs_text egs_gpu_user_text(const struct egs_gpu_user *user);

#endif
