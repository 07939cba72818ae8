/* dependency.h - the jobs that a pending job depends on, as Slurm writes them
 *
 * "afterok:12(unfulfilled),afterany:13_4(unfulfilled)": all must be fulfilled.
 * With "?" between them, one is enough.
 */
#ifndef EGS_CLUSTER_DEPENDENCY_H
#define EGS_CLUSTER_DEPENDENCY_H

#include <stdbool.h>
#include <stdint.h>

struct egs_dependency {
	uint32_t job_id; /* also of an array */
	uint32_t task;	 /* EGS_NO_TASK: the job, or all tasks of the array */
	/* afterok, aftercorr: it is never fulfilled if that job fails. */
	bool needs_success;
	bool is_by_task;     /* aftercorr: task N waits for task N only */
	bool is_alternative; /* another one may be fulfilled in its place */
};

/* Read the next dependency on a job and move '*text' behind it; false at the
 * end.  "singleton" and others without a job are skipped.
 */
bool egs_dependency_next(const char **text, struct egs_dependency *next);

#endif
