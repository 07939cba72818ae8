/* metrics_table.c - the metrics of RunDir/metrics, one row each
 *
 * Names follow Prometheus: base units, _total for what only grows.  A sum over
 * all series of a metric makes sense, except where "state" has a quota.
 */
#include "policyd/requests/metrics_file.h"

/* Most series of a metric by names of egs.conf, by node, and by GPU. */
enum { FEW = 64, SOME = 1024, MANY = 4096, GPUS = 32768 };

/* Waits are minutes to days, hand-overs are seconds to minutes. */
static const uint32_t wait_bounds[] = { 1,     10,     60,     300,
					900,   3600,   10800,  43200,
					86400, 259200, 604800, 0 };
static const uint32_t handover_bounds[] = { 1,	 2,   5,   10,	 30, 60,
					    120, 300, 600, 1800, 0 };

#define GAUGE(id, text, most, words, ...)                \
	[EGS_METRICS_##id] = { .name = (text),           \
			       .type = EGS_METRIC_GAUGE, \
			       .max = (most),            \
			       .help = (words),          \
			       .label = { __VA_ARGS__ } }
#define COUNTER(id, text, most, words, ...)                \
	[EGS_METRICS_##id] = { .name = (text),             \
			       .type = EGS_METRIC_COUNTER, \
			       .max = (most),              \
			       .help = (words),            \
			       .label = { __VA_ARGS__ } }
#define HISTOGRAM(id, text, most, words, limits, ...)        \
	[EGS_METRICS_##id] = { .name = (text),               \
			       .type = EGS_METRIC_HISTOGRAM, \
			       .max = (most),                \
			       .help = (words),              \
			       .bound = (limits),            \
			       .label = { __VA_ARGS__ } }

/* clang-format off */
const struct egs_metric egs_metrics_table[EGS_METRICS_ROWS] = {
	GAUGE(TEAM_GPUS, "egs_team_gpus", MANY,
	      "GPUs of a team: its quota, and what it uses, borrows, lends "
	      "and leaves unused.",
	      "team", "type", "state"),
	GAUGE(RUNNING_JOBS, "egs_running_jobs", MANY,
	      "Jobs that run.", "team", "tier", "phase"),
	GAUGE(BLOCKED_JOBS, "egs_blocked_jobs", MANY,
	      "Jobs that are pending, by Slurm's reason or the rule of EGS.",
	      "team", "tier", "reason"),
	GAUGE(BLOCKED_GPUS, "egs_blocked_gpus", MANY,
	      "GPUs for which pending jobs wait.", "team", "tier", "reason"),
	HISTOGRAM(WAIT, "egs_wait_seconds", FEW,
		  "How long jobs waited for their start.", wait_bounds, "tier"),
	HISTOGRAM(HANDOVER, "egs_handover_seconds", FEW,
		  "Time from the first preemption notice until the job that "
		  "needs the GPUs runs.", handover_bounds, "tier"),
	COUNTER(PREEMPTIONS, "egs_preemptions_total", SOME,
		"Preemptions that are over, by tier of the job that was "
		"preempted.", "tier", "outcome"),
	GAUGE(OPEN_PREEMPTIONS, "egs_open_preemptions", FEW,
	      "Jobs that are asked to give up GPUs.", "state"),
	COUNTER(LOST, "egs_lost_gpu_seconds_total", FEW,
		"What preemptions cost: work to be repeated, time between "
		"notice and exit, and the restart (estimated).", "cause"),
	GAUGE(GPUS, "egs_gpus", FEW,
	      "GPUs of the cluster.", "type", "state"),
	GAUGE(WASTED_GPUS, "egs_wasted_gpus", SOME,
	      "GPUs that are idle while a job that earns could use them.",
	      "type", "cause"),
	COUNTER(WASTED, "egs_wasted_gpu_seconds_total", SOME,
		"Time of GPUs that were idle while a job that earns could use "
		"them.", "type", "cause"),
	COUNTER(OBSERVED_TIME, "egs_observed_seconds_total", 0,
		"Time in which the state of all GPUs was known."),
	COUNTER(WASTAGE_TIME, "egs_wastage_seconds_total", FEW,
		"Time with idle GPUs and a blocked job that earns (wr), a job "
		"that would have fitted (fit), or GPUs that are held and not "
		"used (wrheld).", "kind"),
	COUNTER(GPU_SECONDS, "egs_gpu_seconds_total", MANY,
		"Time of GPUs that jobs held.",
		"team", "phase", "tier", "type", "loan"),
	GAUGE(HELD_IDLE, "egs_held_idle_gpus", MANY,
	      "GPUs that jobs hold and have not used in the last samples.",
	      "team", "phase"),
	GAUGE(NODES, "egs_nodes", FEW, "Nodes with GPUs.", "state"),
	GAUGE(SAMPLED_NODES, "egs_sampled_nodes", FEW,
	      "Nodes with GPUs by what egs-noded reports of them.", "state"),
	GAUGE(UNHEALTHY, "egs_unhealthy_gpus", FEW,
	      "GPUs with trouble that the driver reports.", "reason"),
	GAUGE(UTILIZATION, "egs_gpu_utilization_ratio", GPUS,
	      "Share of time in which the SMs of a GPU were busy.",
	      "node", "gpu"),
	GAUGE(MEMORY, "egs_gpu_memory_used_bytes", GPUS,
	      "Memory of a GPU in use.", "node", "gpu"),
	GAUGE(POWER, "egs_gpu_power_watts", GPUS,
	      "Power that a GPU draws.", "node", "gpu"),
	GAUGE(TEMPERATURE, "egs_gpu_temperature_celsius", GPUS,
	      "Temperature of a GPU.", "node", "gpu"),
	GAUGE(GPU_JOB, "egs_gpu_job", GPUS,
	      "The job that has a GPU, to be joined with metrics of the GPU.",
	      "node", "gpu", "uuid", "jobid", "user", "team", "phase", "tier"),
	GAUGE(UP, "egs_daemon_up", 0,
	      "1 while egs-policyd runs, 0 after it has stopped."),
	GAUGE(INFO, "egs_daemon_info", 1,
	      "Version and mode of egs-policyd.", "version", "mode"),
	GAUGE(START_TIME, "egs_daemon_start_time_seconds", 0,
	      "When egs-policyd started, since the epoch."),
	GAUGE(POLLED_AT, "egs_daemon_last_poll_timestamp_seconds", 0,
	      "When slurmctld answered last, since the epoch."),
	COUNTER(POLLS, "egs_daemon_polls_total", 0,
		"Polls that slurmctld answered."),
	GAUGE(POLL_TIME, "egs_daemon_poll_seconds", 0,
	      "Time that slurmctld took for the last poll."),
	GAUGE(PAUSED, "egs_daemon_paused", 0, "1 while EGS is paused."),
	GAUGE(SLURMCTLD_UP, "egs_daemon_slurmctld_up", 0,
	      "1 while slurmctld answers."),
	GAUGE(TABLE_ROWS, "egs_daemon_table_rows", 0,
	      "Jobs in the decision table."),
	GAUGE(TABLE_AGE, "egs_daemon_table_age_seconds", 0,
	      "Age of the heartbeat in the decision table."),
	COUNTER(TABLE_WRITES, "egs_daemon_table_publications_total", 0,
		"Publications of the decision table."),
	GAUGE(STORE_UP, "egs_daemon_store_up", 0,
	      "1 while the disk of StateDir works."),
	GAUGE(STORE_BYTES, "egs_daemon_store_bytes", FEW,
	      "Size of the files in StateDir.", "file"),
	COUNTER(STORE_FAILURES, "egs_daemon_store_failures_total", 0,
		"Transactions that failed."),
	COUNTER(REQUESTS, "egs_daemon_requests_total", FEW,
		"Requests of commands, jobs and nodes; node-gpus brings "
		"samples.", "verb"),
	GAUGE(CLIENTS, "egs_daemon_clients", 0,
	      "Connections of commands, jobs and nodes."),
};
/* clang-format on */
