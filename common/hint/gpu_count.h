/* gpu_count.h - count the GPUs in a text of Slurm
 *
 * Slurm writes the GPUs of a job as text, differently in each version and
 * field:
 *
 *	gres:gpu:2		gres/gpu:a100=2		gpu:a100:2
 *	gpu:h100:4(S:0-1)	gpu:a100:2(IDX:0-1)	gpu(IDX:3)
 *
 * A text may have several of these, separated by commas.  Other resources are
 * skipped.
 */
#ifndef EGS_HINT_GPU_COUNT_H
#define EGS_HINT_GPU_COUNT_H

#include <stdint.h>

/* Most types in one count; GPUs of further types count as the last one. */
#define EGS_GPU_COUNT_TYPES_MAX 8

/* A type of "": Slurm does not name the type. */
struct egs_gpu_count {
	struct {
		char type[65];
		uint32_t count;
	} by_type[EGS_GPU_COUNT_TYPES_MAX];
	uint32_t ntypes;
};

/* Add the GPUs of 'text' (NULL: none), each 'times' times. */
void egs_gpu_count_add(struct egs_gpu_count *gpus, const char *text,
		       uint32_t times);

/* The numbers of the GPUs on a node, in "gpu:a100:2(IDX:0-1)" (NULL: none), as
 * bits.  Numbers above 63 are left out.
 */
uint64_t egs_gpu_count_read_set(const char *text);

/* GPUs of all types. */
uint32_t egs_gpu_count_total(const struct egs_gpu_count *gpus);

#endif
