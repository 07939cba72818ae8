/* gpu_search.h - find the GPUs that a process has open or mapped
 *
 * A search examines some files of each process first, and then the rest of
 * those that have many, in turn:
 *
 *	egs_gpu_search_process()	for each process
 *	egs_gpu_search_rests()
 *	egs_gpu_search_free()
 *
 * If 'users' has a job, the search is strict: it reads mappings, and fails if a
 * process has files where none can see them (fdinfo.h).
 */
#ifndef EGS_NODE_GPU_SEARCH_H
#define EGS_NODE_GPU_SEARCH_H

#include "common/node/gpu_users.h"

struct egs_gpu_search {
	struct egs_gpu_users *users;
	const struct egs_node_gpus *gpus;
	uint64_t wanted;
	uint64_t deadline_ms; /* 0: none */
	struct egs_gpu_search_rest *rest;
	size_t nrest, rest_room;
	bool is_hidden; /* a process has files where none can see them */
	struct egs_err *err;
};

/* Is the time over?  Then sets 'is_cut' of the users. */
bool egs_gpu_search_is_late(struct egs_gpu_search *search);

/* Add the GPUs of a process to the users.  Returns 1 when the time is over, 0,
 * or -1 with the error set.
 */
int egs_gpu_search_process(struct egs_gpu_search *search, pid_t pid);

/* Examine what is left of all processes.  Returns 0, also when the time is
 * over, or -1 with the error set.
 */
int egs_gpu_search_rests(struct egs_gpu_search *search);

void egs_gpu_search_free(struct egs_gpu_search *search);

#endif
