/* predict.h - how long jobs take, learned from jobs that have ended
 *
 * A job belongs to several classes, from close to wide:
 *
 *	STAGE		its user, and its workload (NAME or NAME/STAGE)
 *	NAME		its user, its name without digits, its GPUs
 *	USER		its user, its GPUs
 *	PHASE		its account, its phase, its GPUs
 *	PARTITION	its partition, its GPUs
 *
 * The first class with EGS_PREDICT_RUNS_MIN runs predicts.  The likely time is
 * the median of its last five runs.  The interval is the tenth to the ninetieth
 * percentile of its histogram, so that 8 of 10 runs end inside it.  A wider
 * class with twice its runs counts as much as two runs.  Runs that fail in the
 *first EGS_PREDICT_EARLY_S seconds are counted apart.
 *
 * Pure: no clock, no file, whole numbers.  The memory is fixed: see
 * EGS_PREDICT_CLASS_MAX.  When all classes are in use, the class that has been
 * idle for longest is forgotten.  A user, an account or a partition that has
 * EGS_PREDICT_OWNER_MAX classes forgets one of its own: nobody can make
 * others forget by many names.
 */
#ifndef EGS_PREDICT_PREDICT_H
#define EGS_PREDICT_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

#define EGS_PREDICT_CLASSES   8192
#define EGS_PREDICT_OWNER_MAX 64
#define EGS_PREDICT_RUNS_MIN  3
#define EGS_PREDICT_EARLY_S   60
#define EGS_PREDICT_CLASS_MAX 130 /* bytes of a class: 1.1 MB in all */

/* What a prediction rests on: a class, or else one of the last three. */
enum egs_predict_source {
	EGS_PREDICT_STAGE,
	EGS_PREDICT_NAME,
	EGS_PREDICT_USER,
	EGS_PREDICT_PHASE,
	EGS_PREDICT_PARTITION,
	EGS_PREDICT_LEVELS,
	EGS_PREDICT_PROGRESS = EGS_PREDICT_LEVELS, /* that the job reports */
	EGS_PREDICT_LIMIT,			   /* its time limit */
	EGS_PREDICT_NOTHING,
	EGS_PREDICT_SOURCES
};

/* "user+workload", "user+name", "user", "account+phase", "partition",
 * "progress", "limit", "none".
 */
const char *egs_predict_source_name(enum egs_predict_source source);

/* What classes are made of; NULL is "".  A list of partitions counts as its
 * first one.
 */
struct egs_predict_job {
	const char *user, *account, *workload, *phase, *partition, *name;
	uint32_t gpus;
};

struct egs_predict;

/* NULL: out of memory. */
struct egs_predict *egs_predict_new(void);
void egs_predict_free(struct egs_predict *p);

/* Forget everything. */
void egs_predict_clear(struct egs_predict *p);

/* A run is over; 'run_s' is the time that all attempts of the job ran, without
 * suspended time.  'end_state' is Slurm's word.  A run that was requeued, or
 * that an error of a node has ended, teaches nothing.
 */
void egs_predict_learn(struct egs_predict *p, const struct egs_predict_job *job,
		       egs_time_t run_s, const char *end_state);

/* Does a run with this end teach something?  Did it fail early?  Then it is
 * only counted.
 */
bool egs_predict_is_end(const char *end_state);
bool egs_predict_is_early_failure(const char *end_state, egs_time_t run_s);

/* Reports of progress in this attempt, in parts of EGS_PREDICT_PPM.  The time
 * is that of the attempt.  The first report is one with the least progress,
 * after which progress did not fall; the last report is the first one with the
 * present progress.  Both 0 with 'ppm' 0: none.
 */
#define EGS_PREDICT_PPM 1000000
struct egs_predict_progress {
	int64_t first_ppm, ppm;
	egs_time_t first_s, at_s;
};

/* A job now; all 0 for one that has not started. */
struct egs_predict_state {
	egs_time_t ran_s;     /* in all its attempts */
	egs_time_t attempt_s; /* of that, in this attempt */
	egs_time_t limit_s;   /* of each attempt; 0, or a year: none */
	struct egs_predict_progress progress;
};

/* How long a job runs from now on: in 8 of 10 cases at least 'low_s' and at
 * most 'high_s'.  A time limit is the latest end: then 'low_s' is 0.
 */
struct egs_estimate {
	enum egs_predict_source source;
	egs_time_t low_s, likely_s, high_s;
	uint32_t runs;	   /* of the class, also those that have faded */
	uint32_t failures; /* of them, early */
};

struct egs_estimate egs_predict_rest(const struct egs_predict *p,
				     const struct egs_predict_job *job,
				     const struct egs_predict_state *state);

#endif
