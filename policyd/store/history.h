/* history.h - which job held which GPUs and when, on disk
 *
 * Time is stored as spans: one attempt of one job held a number of GPUs from
 * start to end, as one kind of use (user, team, phase, type, owned or on loan,
 * ...).  A span is cut at midnight UTC, so none is longer than a day.  Each
 * span is added to the sums of its hours and of its day, which most reports
 * read.  Open spans, of what runs now, are in a table of their own.
 *
 * Calls write into the open transaction of the store.  They return 0, or -1
 * with 'err' set.
 */
#ifndef EGS_STORE_HISTORY_H
#define EGS_STORE_HISTORY_H

#include "policyd/store/store.h"

#define EGS_HOUR_S 3600
#define EGS_DAY_S  86400

/* Waits are also added up over 8 and 64 days, so that a year is few rows. */
#define EGS_DAYS8_S  691200
#define EGS_DAYS64_S 5529600

/* A kind of use; "" is none.  'loan' is "owned", "loan" or "-". */
struct egs_usage_kind {
	const char *user, *account, *team, *workload, *phase, *tier;
	const char *partition, *qos, *type, *loan;
};

/* An attempt: a job from a start to an end. */
struct egs_job_run {
	uint32_t job_id, restarts;
	egs_time_t start;
	egs_time_t end; /* 0: it still runs */
	uint32_t array_job_id, task, uid, gpus;
	uint32_t helper_for; /* job that this helper job queued for, 0: none */
	uint64_t nonce;
	egs_time_t submit, eligible;
	const char *name;
	const char *end_state;	 /* "COMPLETED", ... */
	const char *wait_reason; /* Slurm's last reason before the start */
	bool end_guessed;	 /* 'end' is a guess */
};

struct egs_span {
	egs_time_t start, end;
	uint32_t gpus, cpus, nodes;
	uint64_t mem_mb;
	bool suspended;
};

/* What an attempt holds now, as the next daemon finds it. */
struct egs_open_span {
	struct egs_job_run run;
	struct egs_usage_kind kind;
	struct egs_span span;	/* 'end' is 0 */
	egs_time_t suspended_s; /* see struct egs_run_clock */
};

/* Write an attempt, or update its end.  '*id' is its number. */
int egs_history_run_save(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind, int64_t *id,
			 struct egs_err *err);

/* Is this attempt in the history, or another attempt of the job that ran at its
 * start?  Returns 1 or 0.
 */
int egs_history_run_is_known(struct egs_store *store,
			     const struct egs_job_run *run,
			     struct egs_err *err);

/* Is this attempt in the history with its end?  Returns 1 or 0. */
int egs_history_run_has_ended(struct egs_store *store,
			      const struct egs_job_run *run,
			      struct egs_err *err);

/* Read the last attempt of job 'job_id', or of task 'task' of that array, and
 * the GPU-seconds that it used.  'run' is borrowed, for the call of 'fn'.
 * Returns 1; 0 if the history has none.
 */
int egs_history_run_last(struct egs_store *store, uint32_t job_id,
			 uint32_t task,
			 void (*fn)(void *arg, const struct egs_job_run *run,
				    int64_t gpu_s),
			 void *arg, struct egs_err *err);

/* Add a finished span of attempt 'run'. */
int egs_history_span_add(struct egs_store *store, int64_t run,
			 const struct egs_usage_kind *kind,
			 const struct egs_span *span, struct egs_err *err);

/* Attempt 'run' ended at 'end': subtract what was added for later seconds. */
int egs_history_run_cut(struct egs_store *store, int64_t run, egs_time_t end,
			struct egs_err *err);

/* The number of a kind; a new kind is written. */
int egs_history_kind_id(struct egs_store *store,
			const struct egs_usage_kind *kind, int64_t *id,
			struct egs_err *err);

/* Count how long attempt 'run' waited for its start. */
int egs_history_wait_add(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind,
			 struct egs_err *err);

/* Open spans of attempt 'run': delete all, then add one for each kind.  'each'
 * reads those of all attempts.
 */
int egs_history_open_clear(struct egs_store *store, int64_t run,
			   struct egs_err *err);
int egs_history_open_add(struct egs_store *store, int64_t run,
			 const struct egs_open_span *open, struct egs_err *err);
int egs_history_open_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_open_span *open),
			  void *arg, struct egs_err *err);

/* The 'metric' of 'scope' was 'level' from 'start' to 'end'.  Add it to the
 * sums of those hours and days.
 */
int egs_history_tally_add(struct egs_store *store, const char *scope,
			  const char *metric, egs_time_t start, egs_time_t end,
			  uint64_t level, struct egs_err *err);

/* Delete what ended before 'before'; at most 5000 spans, 5000 attempts and 5000
 * sums of GPUs.
 */
int egs_history_prune(struct egs_store *store, egs_time_t before,
		      struct egs_err *err);

#endif
