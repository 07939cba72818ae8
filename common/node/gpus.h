/* gpus.h - the GPUs of this node as device files
 *
 * Slurm numbers the GPUs of a node in the order of gres.conf, from 0.  If
 * gres.conf names no files (AutoDetect=), the GPUs are /dev/nvidia0,
 * /dev/nvidia1 and so on, in this order.
 */
#ifndef EGS_NODE_GPUS_H
#define EGS_NODE_GPUS_H

#include <stdint.h>
#include <sys/types.h>

#define EGS_NODE_GPUS_MAX 64

struct egs_node_gpus {
	dev_t device[EGS_NODE_GPUS_MAX];	 /* 0: no such file */
	dev_t file_system[EGS_NODE_GPUS_MAX];	 /* that has the file */
	ino_t inode[EGS_NODE_GPUS_MAX];		 /* of the file */
	uint32_t file_number[EGS_NODE_GPUS_MAX]; /* at the end of the file's
						    name */
	uint32_t n;
};

/* Read the GPUs of 'node' from gres.conf at 'path'; NULL: beside slurm.conf. */
void egs_node_gpus_read(struct egs_node_gpus *gpus, const char *path,
			const char *node);

/* The GPU whose device file name ends in 'file_number'; -1: none. */
int egs_node_gpus_find(const struct egs_node_gpus *gpus, uint32_t file_number);

#endif
