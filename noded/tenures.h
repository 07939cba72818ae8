/* tenures.h - which job had which GPU of this node, and when
 *
 * A process that has ended is known only by its GPU and its time.  So it
 * belongs to the job that had the GPU then.  Times are of the steady clock.
 *
 * The functions are pure.
 */
#ifndef EGS_NODED_TENURES_H
#define EGS_NODED_TENURES_H

#include <stdbool.h>
#include <stdint.h>

#define EGS_TENURES_MAX 256

struct egs_tenure {
	uint32_t job, restarts;
	int64_t start; /* of the attempt, as Slurm has it */
	uint64_t gpu_set;
	uint64_t from_ms, to_ms; /* 0: until now */
	bool seen;
};

/* Ordered by their ends; all zero: none. */
struct egs_tenures {
	struct egs_tenure list[EGS_TENURES_MAX];
	uint32_t n;
};

/* Tell all jobs that have GPUs now: begin, a call for each, end.  'age_ms' is
 * the time since the start of the attempt.  The oldest tenure that is over
 * makes room for a new one.
 */
void egs_tenures_begin(struct egs_tenures *tenures);
void egs_tenures_see(struct egs_tenures *tenures, const struct egs_tenure *job,
		     uint64_t age_ms, uint64_t now_ms);
void egs_tenures_end(struct egs_tenures *tenures, uint64_t now_ms);

/* The tenure of the GPU at that time; NULL: none.  A job that starts is told a
 * moment later, so some seconds do not matter if no other tenure fits.
 */
const struct egs_tenure *egs_tenures_find(const struct egs_tenures *tenures,
					  uint32_t gpu, uint64_t at_ms);

#endif
