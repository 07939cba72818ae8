/* gpu_request_text.h - the GPUs of this node as device files, and who has them
 * open
 *
 * Slurm numbers the GPUs of a node in the order of gres.conf, from 0.  Where
 * that names no files (AutoDetect=) they are /dev/nvidia0, /dev/nvidia1 and so
 * on, in this order.
 *
 * A process belongs to the job of the slurmstepd above it, else to that of its
 * control group, else to that of its environment if it was started on this
 * node.  Needs root; used by egs-noded, and by spank_egs before a step starts.
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
	dev_t device[EGS_NODE_GPUS_MAX];	 /* 0: there is no such file */
	uint32_t file_number[EGS_NODE_GPUS_MAX]; /* at the end of its name */
	uint32_t n;
};

/* The GPUs of 'node'.  'path' is that of gres.conf; NULL: beside slurm.conf. */
void egs_node_gpus_read(struct egs_node_gpus *cards, const char *path,
			const char *node);

/* Call 'fn' with each name of "a[0-2,7],b" until it returns other than 0, and
 * return that, else 0.
 */
int egs_hostlist_each(const char *text, int (*fn)(void *arg, const char *name),
		      void *arg);

/* A process that has a GPU open. */
struct egs_gpu_user {
	uint32_t gpu; /* in 'device' */
	pid_t pid;
	uid_t uid;
	uint32_t job;	  /* 0: none that we know */
	bool is_in_step;  /* its slurmstepd lives */
	char step[24];	  /* "batch", "0"; "": not known */
	char command[32]; /* its name */
};

/* All of them, 'max' at most; how many there are. */
size_t egs_gpu_users_find(const struct egs_node_gpus *cards, const char *node,
			  struct egs_gpu_user *list, size_t max);

/* A process on a GPU, with all that is known of it. */
struct egs_gpu_user egs_gpu_user_read(pid_t pid, uint32_t card,
				      const char *node);

/* Add the processes that NVIDIA's driver names and that are not among the 'n'
 * in the list; how many there are then.  Where there is no driver nothing is
 * added. It may take its time, or hang as the driver does: for a process of its
 * own.
 */
size_t egs_gpu_users_add_nvml(const struct egs_node_gpus *cards,
			      const char *node, struct egs_gpu_user *list,
			      size_t n, size_t max);

/* Does a slurmstepd of this job live on this host? */
bool egs_node_has_job_steps(uint32_t job);

/* "pid 4711 (python) of step 12.batch" */
struct egs_err egs_gpu_user_text(const struct egs_gpu_user *opener);

#endif
