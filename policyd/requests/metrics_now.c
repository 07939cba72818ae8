/* metrics_now.c - measure what the daemon knows, for RunDir/metrics
 *
 * Slurm is not asked: all numbers are those of the last poll and of the last
 * samples.
 */
#include <egs_config.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/array.h"
#include "policyd/accounting/wastage.h"
#include "policyd/requests/gpu_samples.h"
#include "policyd/requests/metrics_file.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"

enum {
	/* A GPU is held idle if two samples say so. */
	IDLE_SAMPLES = 2,
	MIB = 1 << 20,
};

const char *egs_metrics_team_name(const struct egs_daemon *d, int team)
{
	return team < 0 ? "none" : egs_daemon_conf(d)->team[team].name;
}

const char *egs_metrics_tier_name(const struct egs_daemon *d, int tier)
{
	return tier < 0 ? "none" : egs_daemon_conf(d)->tier[tier].name;
}

const char *egs_metrics_phase_name(const struct egs_daemon *d, int phase)
{
	return phase < 0 ? "none" : egs_daemon_conf(d)->phase[phase].name;
}

static void add_value(struct egs_daemon *d, unsigned int metric, double value,
		      const char *const *labels)
{
	egs_metrics_add(d->requests->metrics->set, metric, value, labels);
}

/* ---- teams ---- */

static void measure_team(struct egs_daemon *d, int team, int type)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_quota_use h = egs_policy_quota_use(d->policy, team, type);
	const struct {
		const char *state;
		uint32_t gpus;
	} states[] = {
		{ "quota", h.quota },
		{ "owned", h.owned },
		{ "onloan", h.on_loan },
		{ "lent", h.quota ? egs_daemon_count_lent(d, team, type) : 0 },
		{ "unused", h.idle },
		{ "unmanaged", h.unmanaged },
	};

	if (!h.quota && !h.owned && !h.on_loan && !h.unmanaged)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		add_value(d, EGS_METRICS_TEAM_GPUS, states[i].gpus,
			  EGS_LABELS(c->team[team].name,
				     egs_daemon_type_name(c, type),
				     states[i].state));
}

static void measure_teams(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);

	for (int team = 0; team < c->nteams; team++)
		for (int type = 0; type <= c->ntypes; type++)
			measure_team(d, team, type);
}

/* ---- jobs ---- */

/* The rule of EGS that defers a job; NULL: none does.  To explain other jobs
 * would mean to look for their victims.
 */
static const char *find_rule(struct egs_daemon *d, const struct egs_job *j)
{
	static const char *const rules[] = {
		[EGS_RULE_QUOTA] = "egs_quota",
		[EGS_RULE_LEND_LIMIT] = "egs_lend_limit",
		[EGS_RULE_BORROW_LIMIT] = "egs_borrow_limit",
		[EGS_RULE_MAX_GPUS] = "egs_max_gpus",
		[EGS_RULE_GPU_HOURS] = "egs_gpu_hours",
	};
	struct egs_take_view row = { .managed = false };
	struct egs_why why;

	if (egs_policy_take_view(d->policy, j->ident.job_id, egs_daemon_now(),
				 &row) < 0 ||
	    !row.over_limit_pending ||
	    egs_policy_why(d->policy, j->ident.job_id, egs_daemon_now(), &why) <
		    0 ||
	    why.rule >= ARRAY_SIZE(rules))
		return NULL;
	return rules[why.rule];
}

static const char *find_reason(struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_job_info known = { .reason = "" };
	const char *rule = j->facts.not_schedulable ? NULL : find_rule(d, j);

	if (rule)
		return rule;
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	return egs_metrics_reason_label(known.reason);
}

static void measure_pending(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_facts *f = &j->facts;
	const char *const *labels = EGS_LABELS(
		egs_metrics_team_name(d, f->team),
		egs_metrics_tier_name(d, f->tier), find_reason(d, j));

	add_value(d, EGS_METRICS_BLOCKED_JOBS, 1, labels);
	add_value(d, EGS_METRICS_BLOCKED_GPUS, egs_job_gpus_wanted(j), labels);
}

static void measure_running(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_facts *f = &j->facts;

	add_value(d, EGS_METRICS_RUNNING_JOBS, 1,
		  EGS_LABELS(egs_metrics_team_name(d, f->team),
			     egs_metrics_tier_name(d, f->tier),
			     egs_metrics_phase_name(d, f->phase)));
	if (j->preempting)
		add_value(d, EGS_METRICS_OPEN_PREEMPTIONS, 1,
			  EGS_LABELS(j->yielded ? "yielded"
				     : j->late	? "late"
						: "asked"));
	else if (egs_op_shrink_find(d, j))
		add_value(d, EGS_METRICS_OPEN_PREEMPTIONS, 1,
			  EGS_LABELS("shrink"));
}

static void measure_jobs(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->running)
			measure_running(d, j);
		else if (j)
			measure_pending(d, j);
	}
}

/* ---- idle and wasted GPUs ---- */

/* The daemon has no levels of 0, and Prometheus no gauge without a value. */
static void declare_type(struct egs_daemon *d, const char *type)
{
	add_value(d, EGS_METRICS_GPUS, 0, EGS_LABELS(type, "idle"));
	for (int i = 0; i < EGS_CAUSES; i++) {
		const char *const *labels = EGS_LABELS(
			type,
			egs_wastage_cause_name((enum egs_wastage_cause)i));

		add_value(d, EGS_METRICS_WASTED_GPUS, 0, labels);
		egs_metrics_declare(d->requests->metrics->set,
				    EGS_METRICS_WASTED, labels);
	}
}

static void measure_level(void *arg, const char *scope, const char *metric,
			  uint64_t value, uint64_t amount)
{
	const char *type = egs_metrics_find_type(scope);

	(void)amount;
	if (!type)
		return;
	if (strcmp(metric, "capacity") == 0)
		declare_type(arg, type);
	if (strcmp(metric, "capacity") == 0 || strcmp(metric, "idle") == 0)
		add_value(arg, EGS_METRICS_GPUS, (double)value,
			  EGS_LABELS(type, metric));
	else if (egs_metrics_is_cause(metric))
		add_value(arg, EGS_METRICS_WASTED_GPUS, (double)value,
			  EGS_LABELS(type, metric));
}

/* ---- nodes and GPUs ---- */

/* A GPU, and what is known of it. */
struct gpu_state {
	const struct egs_node_info *node;
	const struct egs_node_samples *samples; /* NULL: none, or too old */
	const struct egs_gpu_record *record;	/* NULL: not sampled */
	const struct egs_job *job;		/* that has it, or NULL */
	char gpu[12];
};

static void measure_health(struct egs_daemon *d,
			   const struct egs_gpu_sample *sample)
{
	static const char *const states[] = {
		[EGS_GPU_LOST] = "lost",
		[EGS_GPU_MISSING] = "missing",
	};
	const struct egs_gpu_value *value = sample->value;

	if (sample->state != EGS_GPU_OK && sample->state < ARRAY_SIZE(states))
		add_value(d, EGS_METRICS_UNHEALTHY, 1,
			  EGS_LABELS(states[sample->state]));
	if (egs_gpu_sample_has(sample, EGS_GPU_RECOVERY) &&
	    value[EGS_GPU_RECOVERY].value)
		add_value(d, EGS_METRICS_UNHEALTHY, 1, EGS_LABELS("recovery"));
	if (egs_gpu_sample_has(sample, EGS_GPU_ECC) && value[EGS_GPU_ECC].value)
		add_value(d, EGS_METRICS_UNHEALTHY, 1, EGS_LABELS("ecc"));
}

static void measure_sample(struct egs_daemon *d, const struct gpu_state *s)
{
	static const struct {
		enum egs_gpu_metric from;
		unsigned int to;
		double factor;
	} values[] = {
		{ EGS_GPU_SM, EGS_METRICS_UTILIZATION, 0.01 },
		{ EGS_GPU_MEM_MB, EGS_METRICS_MEMORY, MIB },
		{ EGS_GPU_POWER_MW, EGS_METRICS_POWER, 0.001 },
		{ EGS_GPU_TEMP_C, EGS_METRICS_TEMPERATURE, 1 },
	};
	const struct egs_gpu_sample *sample = &s->record->sample;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (egs_gpu_sample_has(sample, values[i].from))
			add_value(d, values[i].to,
				  (double)sample->value[values[i].from].value *
					  values[i].factor,
				  EGS_LABELS(s->node->name, s->gpu));
	measure_health(d, sample);
}

static void measure_holder(struct egs_daemon *d, const struct gpu_state *s,
			   enum egs_job_metrics jobs)
{
	const struct egs_facts *f = &s->job->facts;
	struct egs_job_info known = { .user = "?" };
	char text[EGS_JOB_TEXT_SIZE];

	if (jobs == EGS_JOB_METRICS_NO)
		return;
	egs_daemon_format_job_id(d, &s->job->ident, text);
	egs_cluster_lookup(d->cluster, s->job->ident.job_id, &known);
	add_value(d, EGS_METRICS_GPU_JOB, 1,
		  EGS_LABELS(s->node->name, s->gpu,
			     s->record ? s->record->sample.uuid : "", text,
			     jobs == EGS_JOB_METRICS_NOUSER ? "" : known.user,
			     egs_metrics_team_name(d, f->team),
			     egs_metrics_phase_name(d, f->phase),
			     egs_metrics_tier_name(d, f->tier)));
}

static void measure_idle(struct egs_daemon *d, const struct gpu_state *s)
{
	const struct egs_facts *f = &s->job->facts;
	int64_t idle_s =
		egs_gpu_record_idle_s(s->samples, s->record, egs_daemon_now());
	int64_t least = (int64_t)IDLE_SAMPLES * s->samples->interval_s;

	if (idle_s >= least)
		add_value(d, EGS_METRICS_HELD_IDLE, 1,
			  EGS_LABELS(egs_metrics_team_name(d, f->team),
				     egs_metrics_phase_name(d, f->phase)));
}

static void measure_gpu(struct egs_daemon *d, uint32_t node, uint32_t gpu,
			struct gpu_state *s, enum egs_job_metrics jobs)
{
	s->job = egs_nodes_find_gpu_job(d, node, gpu);
	s->record = egs_gpu_samples_find(s->samples, gpu);
	snprintf(s->gpu, sizeof(s->gpu), "%" PRIu32, gpu);
	if (s->record)
		measure_sample(d, s);
	if (s->job)
		measure_holder(d, s, jobs);
	if (s->job && s->record && egs_gpu_record_is_of(s->record, s->job))
		measure_idle(d, s);
}

static const char *get_sampled_state(const struct egs_node_samples *samples,
				     bool silent)
{
	return !samples		      ? "none"
	       : silent		      ? "silent"
	       : *samples->error.text ? "failed"
				      : "sampled";
}

static void measure_node(struct egs_daemon *d, uint32_t number,
			 const struct egs_node_info *n,
			 enum egs_job_metrics jobs)
{
	const struct egs_node_samples *samples = egs_gpu_samples_of(d, number);
	bool silent =
		samples && egs_gpu_samples_are_late(samples, egs_daemon_now());
	struct gpu_state s = { .node = n };

	if (egs_gpu_samples_are_fresh(samples, egs_daemon_now()))
		s.samples = samples;
	add_value(d, EGS_METRICS_NODES, 1,
		  EGS_LABELS(egs_daemon_is_fenced(d, n->name) ? "fenced"
			     : !n->up			      ? "down"
			     : n->reserved		      ? "reserved"
							      : "up"));
	add_value(d, EGS_METRICS_SAMPLED_NODES, 1,
		  EGS_LABELS(get_sampled_state(samples, silent)));
	for (uint32_t gpu = 0; gpu < n->gpus && gpu < EGS_GPU_SAMPLES_MAX;
	     gpu++)
		measure_gpu(d, number, gpu, &s, jobs);
}

static void measure_nodes(struct egs_daemon *d, enum egs_job_metrics jobs)
{
	static const char *const states[] = { "up", "down", "fenced",
					      "reserved" };
	static const char *const troubles[] = { "lost", "missing", "recovery",
						"ecc" };
	const struct egs_node_info *n;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		add_value(d, EGS_METRICS_NODES, 0, EGS_LABELS(states[i]));
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++)
		add_value(d, EGS_METRICS_UNHEALTHY, 0, EGS_LABELS(troubles[i]));
	for (uint32_t i = 0; (n = egs_cluster_get_node(d->cluster, i)); i++)
		if (!n->gone && n->gpus)
			measure_node(d, i, n, jobs);
}

/* ---- the daemon ---- */

static void measure_store(struct egs_daemon *d)
{
	char path[sizeof(d->state_dir) + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state", d->state_dir);
	if (stat(path, &st) == 0)
		add_value(d, EGS_METRICS_STORE_BYTES, (double)st.st_size,
			  EGS_LABELS("state"));
	add_value(d, EGS_METRICS_STORE_BYTES, (double)d->wal_bytes,
		  EGS_LABELS("log"));
	add_value(d, EGS_METRICS_STORE_UP, d->store && !d->store_failed,
		  EGS_NO_LABELS);
}

static void measure_daemon(struct egs_daemon *d)
{
	const struct {
		unsigned int metric;
		double value;
	} values[] = {
		{ EGS_METRICS_UP, 1 },
		{ EGS_METRICS_START_TIME, (double)d->started_at },
		{ EGS_METRICS_POLLED_AT, (double)d->polled_at },
		{ EGS_METRICS_POLL_TIME, d->poll.ms / 1000.0 },
		{ EGS_METRICS_PAUSED, d->paused },
		{ EGS_METRICS_SLURMCTLD_UP, d->synced && !d->slurmctld_down },
		{ EGS_METRICS_TABLE_ROWS, (double)d->nrows },
		{ EGS_METRICS_TABLE_AGE,
		  (double)(egs_daemon_now() - d->heartbeat_at) },
		{ EGS_METRICS_CLIENTS,
		  (double)egs_server_count_clients(d->requests->server) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		add_value(d, values[i].metric, values[i].value, EGS_NO_LABELS);
	add_value(d, EGS_METRICS_INFO, 1,
		  EGS_LABELS(PACKAGE_VERSION, egs_requests_mode_name(d)));
	measure_store(d);
}

void egs_metrics_measure(struct egs_daemon *d, enum egs_job_metrics jobs)
{
	egs_metrics_begin(d->requests->metrics->set);
	egs_metrics_declare_counters(d);
	egs_metrics_count_totals(d);
	measure_daemon(d);
	egs_metrics_count_open(d, d->polled_at);
	if (!d->synced)
		return;
	measure_teams(d);
	measure_jobs(d);
	measure_nodes(d, jobs);
	egs_daemon_each_level(d, measure_level, d);
}
