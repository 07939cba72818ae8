/* metrics_file.h - RunDir/metrics, for Prometheus
 *
 *	metrics_table.c	the table of metrics
 *	metrics_now.c	measure what the daemon knows
 *	metrics_count.c	count what happens
 *	metrics_reason.c why a job waits, as a label
 *	metrics_file.c	write the file, answer the verb "metrics"
 *
 * To add a metric: a row in the enum and in the table, a line where it is
 * measured or counted, a line in egs-policyd(8).
 */
#ifndef EGS_REQUESTS_METRICS_FILE_H
#define EGS_REQUESTS_METRICS_FILE_H

#include "policyd/metrics/metrics.h"
#include "policyd/requests/requests.h"

enum egs_metrics_row {
	EGS_METRICS_TEAM_GPUS,
	EGS_METRICS_RUNNING_JOBS,
	EGS_METRICS_BLOCKED_JOBS,
	EGS_METRICS_BLOCKED_GPUS,
	EGS_METRICS_WAIT,
	EGS_METRICS_HANDOVER,
	EGS_METRICS_PREEMPTIONS,
	EGS_METRICS_OPEN_PREEMPTIONS,
	EGS_METRICS_LOST,
	EGS_METRICS_GPUS,
	EGS_METRICS_WASTED_GPUS,
	EGS_METRICS_WASTED,
	EGS_METRICS_OBSERVED_TIME,
	EGS_METRICS_WASTAGE_TIME,
	EGS_METRICS_GPU_SECONDS,
	EGS_METRICS_HELD_IDLE,
	EGS_METRICS_NODES,
	EGS_METRICS_SAMPLED_NODES,
	EGS_METRICS_UNHEALTHY,
	EGS_METRICS_UTILIZATION,
	EGS_METRICS_MEMORY,
	EGS_METRICS_POWER,
	EGS_METRICS_TEMPERATURE,
	EGS_METRICS_GPU_JOB,
	EGS_METRICS_UP,
	EGS_METRICS_INFO,
	EGS_METRICS_START_TIME,
	EGS_METRICS_POLLED_AT,
	EGS_METRICS_POLLS,
	EGS_METRICS_POLL_TIME,
	EGS_METRICS_PAUSED,
	EGS_METRICS_SLURMCTLD_UP,
	EGS_METRICS_TABLE_ROWS,
	EGS_METRICS_TABLE_AGE,
	EGS_METRICS_TABLE_WRITES,
	EGS_METRICS_STORE_UP,
	EGS_METRICS_STORE_BYTES,
	EGS_METRICS_STORE_FAILURES,
	EGS_METRICS_REQUESTS,
	EGS_METRICS_CLIENTS,
	EGS_METRICS_ROWS
};

extern const struct egs_metric egs_metrics_table[EGS_METRICS_ROWS];

/* A pending job for which jobs are preempted. */
struct egs_handover {
	uint32_t requester; /* 0: this slot is free */
	egs_time_t since;   /* the first notice */
};

#define EGS_HANDOVERS_MAX 1024

/* Counts of the daemon that were told already, so that a step can be added. */
struct egs_metrics_totals {
	uint64_t polls, publications, store_failures;
};

struct egs_metrics_file {
	struct egs_metrics *set;
	struct egs_buf text;	   /* as written last */
	bool is_private;	   /* PrivateData= hides some of it */
	enum egs_job_metrics jobs; /* what it tells of jobs */
	bool failed;		   /* the failure is logged */
	bool removed;		   /* there is no file: MetricsInterval=0 */
	bool loaded;		   /* the counters of the last file */
	egs_time_t written_at;
	struct egs_metrics_totals told;
	struct egs_handover handover[EGS_HANDOVERS_MAX];
	uint32_t next_handover; /* the slot to use when all are taken */
};

/* Names of "none" for what a job does not have. */
const char *egs_metrics_team_name(const struct egs_daemon *d, int team);
const char *egs_metrics_tier_name(const struct egs_daemon *d, int tier);
const char *egs_metrics_phase_name(const struct egs_daemon *d, int phase);

/* The label for Slurm's reason of a pending job, one of a fixed table; "other"
 * for the rest.  It is static.
 */
const char *egs_metrics_reason_label(const char *reason);

/* Measure everything; 'jobs': what to tell of jobs. */
void egs_metrics_measure(struct egs_daemon *d, enum egs_job_metrics jobs);

/* ---- metrics_count.c: hooks of the part ---- */

void egs_metrics_count_run(struct egs_daemon *d, const struct egs_job_run *run,
			   const struct egs_usage_kind *kind);
void egs_metrics_count_span(struct egs_daemon *d,
			    const struct egs_usage_kind *kind,
			    const struct egs_span *span);
void egs_metrics_count_level(struct egs_daemon *d, const char *scope,
			     const char *metric, uint64_t amount);
void egs_metrics_count_preemption(struct egs_daemon *d,
				  const struct egs_action *a,
				  const struct egs_preemption *p);

/* The type of a scope "gpu/type/a100", NULL: it is of another kind.  Is the
 * metric of a level a cause of wastage?
 */
const char *egs_metrics_find_type(const char *scope);
bool egs_metrics_is_cause(const char *metric);

/* Add what goes on to the counters: spans until 'until', and levels. */
void egs_metrics_count_open(struct egs_daemon *d, egs_time_t until);

/* Begin counters of known names at 0. */
void egs_metrics_declare_counters(struct egs_daemon *d);

/* Count a step of numbers that only grow. */
void egs_metrics_count_totals(struct egs_daemon *d);

/* Load the counters of an earlier daemon from its last text.  What was open
 * then is open still, and is subtracted.
 */
void egs_metrics_count_restore(struct egs_daemon *d, const char *text,
			       size_t len);

#endif
