/* gpus.h - the GPUs of this node as device files
 *
 * Slurm numbers the GPUs of a node in the order of gres.conf, from 0.  If
 * gres.conf names no files (AutoDetect=), Slurm numbers them by their PCI bus
 * id.  The number at the end of a file's name may differ from both.
 *
 * A slice of a MIG GPU is a GPU of Slurm.  gres.conf has a line for it:
 *
 *	Name=gpu MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[12-13]
 *
 * The driver tells which instances the numbers of nvidia-cap stand for.
 */
#ifndef EGS_NODE_GPUS_H
#define EGS_NODE_GPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EGS_NODE_GPUS_MAX 64

struct egs_node_gpus {
	dev_t device[EGS_NODE_GPUS_MAX];	 /* 0: no such file */
	dev_t file_system[EGS_NODE_GPUS_MAX];	 /* that has the file */
	ino_t inode[EGS_NODE_GPUS_MAX];		 /* of the file */
	uint32_t file_number[EGS_NODE_GPUS_MAX]; /* at the end of the file's
						    name */
	/* A slice has the device of its GPU, as the other slices have. */
	bool is_slice[EGS_NODE_GPUS_MAX];
	int gpu_instance[EGS_NODE_GPUS_MAX];	 /* -1: not a slice, unknown */
	int compute_instance[EGS_NODE_GPUS_MAX]; /* likewise */
	uint32_t n;
};

/* Read the GPUs of 'node' from gres.conf at 'path'; NULL: beside slurm.conf. */
void egs_node_gpus_read(struct egs_node_gpus *gpus, const char *path,
			const char *node);

/* The GPU whose device file name ends in 'file_number', or its first slice; -1:
 * none.
 */
int egs_node_gpus_find(const struct egs_node_gpus *gpus, uint32_t file_number);

/* A slice of that GPU; -1: none. */
int egs_node_gpus_find_slice(const struct egs_node_gpus *gpus,
			     uint32_t file_number, int gpu_instance,
			     int compute_instance);

/* How many slices are in the GPU instance of this slice? */
uint32_t egs_node_gpus_count_instance(const struct egs_node_gpus *gpus,
				      int slice);

#endif
