/* history.h - who held what and when, on disk
 *
 * Time is kept as spans: one job, one attempt, one kind of use (kind: user,
 * team, phase, type, owned or on loan, ...), so many GPUs from then to then.
 * A span is cut at midnight UTC, so none is longer than a day, and is added to
 * the sums of its hours and its day, which are what most reports read.  What
 * runs now is beside them, as open.
 *
 * All of it is written in the transaction of the store that is open.  Calls
 * return 0, or -1 with 'err' set.
 */
#ifndef EGS_STORE_HISTORY_H
#define EGS_STORE_HISTORY_H

#include "policyd/store/store.h"

#define EGS_HOUR_S 3600
#define EGS_DAY_S  86400

/* Waits are added up for 8 and for 64 days, too: a year is few of them. */
#define EGS_DAYS8_S  691200
#define EGS_DAYS64_S 5529600

/* As what GPUs are held; "" is none.  'loan' is "owned", "loan" or "-". */
struct egs_usage_kind {
	const char *user, *account, *team, *workload, *phase, *tier;
	const char *partition, *qos, *type, *loan;
};

/* An attempt: a job from a start to an end. */
struct egs_job_run {
	uint32_t job_id, restarts;
	egs_time_t start;
	egs_time_t end; /* 0: not over */
	uint32_t array_job_id, task, uid, gpus;
	uint32_t helper_for; /* the job it queued for, 0: none */
	uint64_t nonce;
	egs_time_t submit, eligible;
	const char *name;
	const char *end_state;	 /* it ended: "COMPLETED", ... */
	const char *wait_reason; /* that it waited for */
	bool end_guessed;	 /* 'end' is one */
};

struct egs_span {
	egs_time_t start, end;
	uint32_t gpus, cpus, nodes;
	uint64_t mem_mb;
	bool suspended;
};

/* What runs now, as the next daemon finds it. */
struct egs_open_span {
	struct egs_job_run run;
	struct egs_usage_kind kind;
	struct egs_span span;	/* 'end' is 0 */
	egs_time_t suspended_s; /* see core/interval.h */
};

/* Write an attempt, or what is new of it: its number in '*id'. */
int egs_history_run_save(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind, int64_t *id,
			 struct egs_err *err);

/* Is this attempt there, or was its job running then?  1 or 0. */
int egs_history_run_is_known(struct egs_store *store,
			     const struct egs_job_run *run,
			     struct egs_err *err);

/* Is this attempt there to its end?  1 or 0. */
int egs_history_run_has_ended(struct egs_store *store,
			      const struct egs_job_run *run,
			      struct egs_err *err);

/* A span that is over. */
int egs_history_span_add(struct egs_store *store, int64_t run,
			 const struct egs_usage_kind *kind,
			 const struct egs_span *span, struct egs_err *err);

/* The number of a kind, which is written if it is new. */
int egs_history_kind_id(struct egs_store *store,
			const struct egs_usage_kind *kind, int64_t *id,
			struct egs_err *err);

/* Attempt 'run' began after so long a wait. */
int egs_history_wait_add(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind,
			 struct egs_err *err);

/* What attempt 'run' holds now: first nothing, then each kind of it. */
int egs_history_open_clear(struct egs_store *store, int64_t run,
			   struct egs_err *err);
int egs_history_open_add(struct egs_store *store, int64_t run,
			 const struct egs_open_span *open, struct egs_err *err);
int egs_history_open_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_open_span *open),
			  void *arg, struct egs_err *err);

/* From 'start' to 'end' the 'metric' of 'scope' was 'level': added to the sums
 * of those hours and days.
 */
int egs_history_tally_add(struct egs_store *store, const char *scope,
			  const char *metric, egs_time_t start, egs_time_t end,
			  uint64_t level, struct egs_err *err);

/* Forget what ended before 'before', a bounded part of it at a time. */
int egs_history_prune(struct egs_store *store, egs_time_t before,
		      struct egs_err *err);

#endif
