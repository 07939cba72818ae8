/* remediate.c - carry out what the rules about GPUs decide */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/conf/remedies.h"
#include "policyd/requests/node.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"

/* ---- samples ---- */

static int64_t get_value(const struct egs_gpu_sample *sample,
			 enum egs_gpu_metric metric)
{
	return egs_gpu_sample_has(sample, metric) ? sample->value[metric].value
						  : EGS_HEALTH_UNKNOWN;
}

static int64_t get_recovery(const struct egs_gpu_sample *sample)
{
	switch (sample->state) {
	case EGS_GPU_LOST:
		return EGS_HEALTH_LOST;
	case EGS_GPU_MISSING:
		return EGS_HEALTH_MISSING;
	default:
		return get_value(sample, EGS_GPU_RECOVERY);
	}
}

/* A power cap is the normal state of a busy GPU and no slowdown. */
static int64_t get_slowdown(const struct egs_gpu_sample *sample)
{
	int64_t reasons = get_value(sample, EGS_GPU_CLOCK_REASONS);

	if (reasons < 0)
		return EGS_HEALTH_UNKNOWN;
	return (reasons &
		(EGS_GPU_CLOCK_HW_SLOWDOWN | EGS_GPU_CLOCK_SW_THERMAL |
		 EGS_GPU_CLOCK_HW_THERMAL | EGS_GPU_CLOCK_POWER_BRAKE)) != 0;
}

static int64_t get_memory_pct(const struct egs_gpu_sample *sample)
{
	int64_t used = get_value(sample, EGS_GPU_MEM_MB);
	int64_t total = get_value(sample, EGS_GPU_MEM_TOTAL_MB);

	return used < 0 || total <= 0 ? EGS_HEALTH_UNKNOWN : used * 100 / total;
}

static void set_values(struct egs_health_gpu *gpu,
		       const struct egs_gpu_sample *sample)
{
	int64_t power = get_value(sample, EGS_GPU_POWER_MW);

	gpu->value[EGS_ON_RECOVERY] = get_recovery(sample);
	gpu->value[EGS_ON_XID] = EGS_HEALTH_UNKNOWN;
	gpu->value[EGS_ON_ECC] = get_value(sample, EGS_GPU_ECC);
	gpu->value[EGS_ON_TEMPERATURE] = get_value(sample, EGS_GPU_TEMP_C);
	gpu->value[EGS_ON_POWER] = power < 0 ? power : power / 1000;
	gpu->value[EGS_ON_SLOWDOWN] = get_slowdown(sample);
	gpu->value[EGS_ON_MEMORY] = get_memory_pct(sample);
}

static int judge_gpu(struct egs_daemon *d, uint32_t node,
		     const struct egs_node_samples *samples,
		     const struct egs_gpu_record *record)
{
	const struct egs_node_info *info =
		egs_cluster_get_node(d->cluster, node);
	struct egs_health_xid xid[EGS_GPU_XID_NUMBERS_MAX];
	struct egs_health_gpu gpu = {
		.node = node,
		.gpu = record->sample.gpu,
		.interval_s = samples->interval_s,
		.session = strtoull(samples->session, NULL, 16),
		.holder = egs_remediate_make_holder(&record->holder),
		.node_up = info && info->up,
		.xid = xid,
		.nxids = record->sample.nxids,
	};

	for (uint32_t i = 0; i < record->sample.nxids; i++) {
		const struct egs_gpu_xid *from = &record->sample.xid[i];
		const struct egs_identity job = { .job_id = from->job_id,
						  .restarts = from->restarts };

		xid[i] = (struct egs_health_xid){
			.number = from->number,
			.count = from->count,
			.holder = egs_remediate_make_holder(&job),
		};
	}
	set_values(&gpu, &record->sample);
	return egs_health_add_sample(d->requests->remediate->health, &gpu,
				     egs_remediate_steady_s());
}

/* ---- the cluster ---- */

static void log_remedy(const struct egs_daemon *d,
		       const struct egs_health_action *a,
		       enum egs_remedy remedy, const char *sentence)
{
	egs_log_info("rule %s: %s%s node %s, %s", a->rule,
		     a->observed && remedy != EGS_REMEDY_NOTE ? "would " : "",
		     egs_remedies_name(remedy),
		     egs_remediate_node_name(d, a->node), sentence);
}

static void set_fence(struct egs_daemon *d, const struct egs_health_action *a,
		      bool fenced, const char *reason)
{
	const char *node = egs_remediate_node_name(d, a->node);
	struct egs_text who;
	struct egs_err err;

	egs_textf(&who, "rule %s", a->rule);
	if (egs_daemon_fence_node(d, node, fenced, who.text, reason, &err) < 0)
		egs_log_error("node %s: fenced=%s failed: %s", node,
			      fenced ? "yes" : "no", err.msg);
}

static struct egs_warning make_warning(const struct egs_daemon *d,
				       const struct egs_health_action *a,
				       const char *sentence)
{
	return (struct egs_warning){
		.kind = "rule",
		.text = sentence,
		.job = egs_remediate_find_holder(d, a),
		.node = egs_remediate_node_name(d, a->node),
		.gpu = (int)a->gpu,
		.rule = a->rule,
		.observed = a->observed,
	};
}

static void avoid_node(struct egs_daemon *d, uint32_t node, bool avoided)
{
	const char *name = egs_remediate_node_name(d, node);
	struct egs_err err;

	if (egs_daemon_avoid_node(d, name, avoided, &err) < 0)
		egs_log_error("node %s is not avoided: %s", name, err.msg);
}

/* Only a job that saves and continues elsewhere is moved. */
static int move_job(struct egs_daemon *d, const struct egs_health_action *a,
		    const char *reason, struct egs_err *err)
{
	const struct egs_job *j = egs_remediate_find_holder(d, a);
	struct egs_text who;

	if (!j)
		return egs_errf(err, "no job has the GPU");
	if (j->facts.no_preempt)
		return egs_errf(err,
				"the partition of job %" PRIu32
				" has PreemptMode=OFF",
				j->ident.job_id);
	if (!j->facts.ckpt ||
	    egs_policy_fate(d->policy, j->ident.job_id) != EGS_FATE_REQUEUE)
		return egs_errf(
			err, "job %" PRIu32 " cannot checkpoint or be requeued",
			j->ident.job_id);
	egs_textf(&who, "rule %s", a->rule);
	return egs_requests_preempt_job(d, j, who.text, reason, err);
}

static void run_move(struct egs_daemon *d, const struct egs_health_action *a,
		     const char *reason)
{
	struct egs_err why = { "" }, err;
	int rc = move_job(d, a, reason, &why);

	if (rc < 0)
		egs_log_info("rule %s: no job is moved: %s", a->rule, why.msg);
	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(
		    d,
		    egs_remediation_settle(d->store,
					   egs_remediate_node_name(d, a->node),
					   egs_remedies_name(EGS_REMEDY_MOVE),
					   EGS_REMEDIATION_SENT,
					   rc < 0 ? EGS_REMEDIATION_REFUSED
						  : EGS_REMEDIATION_DONE,
					   &err),
		    &err) == 0)
		egs_daemon_commit(d, &err);
}

static void do_remedy(struct egs_daemon *d, const struct egs_health_action *a,
		      enum egs_remedy remedy)
{
	struct egs_text sentence, reason;
	struct egs_warning warning;

	egs_remediate_sentence(d, a, &sentence);
	log_remedy(d, a, remedy, sentence.text);
	warning = make_warning(d, a, sentence.text);
	if (remedy == EGS_REMEDY_WARN)
		egs_notify_send(d, &warning);
	if (a->observed)
		return;
	if (remedy == EGS_REMEDY_RUN)
		egs_remediate_order_run(d, a, &warning);
	if (remedy & EGS_REMEDY_AVOIDS)
		avoid_node(d, a->node, true);
	if (remedy == EGS_REMEDY_MOVE)
		run_move(d, a, sentence.text);
	if (remedy == EGS_REMEDY_DRAIN)
		egs_remediate_order_drain(
			d, egs_remediate_node_name(d, a->node), false,
			egs_remediate_drain_reason(a, &reason));
	if (remedy == EGS_REMEDY_FENCE &&
	    !egs_daemon_is_fenced(d, egs_remediate_node_name(d, a->node)))
		set_fence(d, a, true, sentence.text);
}

static void undo_action(struct egs_daemon *d, const struct egs_health_action *a)
{
	struct egs_text sentence;

	egs_log_info("rule %s: the reason is gone, %s", a->rule,
		     egs_remediate_sentence(d, a, &sentence));
	if (egs_remediate_must_undrain(d, a))
		egs_remediate_order_drain(
			d, egs_remediate_node_name(d, a->node), true, "");
	if (a->remedies & EGS_REMEDY_AVOIDS && !a->observed &&
	    !egs_remediate_count(d, a->node, EGS_REMEDY_AVOIDS))
		avoid_node(d, a->node, false);
	if (a->remedies & EGS_REMEDY_FENCE && !a->observed &&
	    !egs_remediate_count(d, a->node, EGS_REMEDY_FENCE) &&
	    egs_daemon_is_fenced(d, egs_remediate_node_name(d, a->node)))
		set_fence(d, a, false, "the reason is gone");
}

static void run_action(struct egs_daemon *d, const struct egs_health_action *a)
{
	struct egs_text sentence, bound;

	if (a->kind == EGS_HEALTH_UNDO)
		undo_action(d, a);
	if (a->kind == EGS_HEALTH_HOLD)
		egs_log_warn("rule %s: nothing is done, %s; %s", a->rule,
			     egs_remediate_bound(d, a, &bound),
			     egs_remediate_sentence(d, a, &sentence));
	for (uint32_t bit = 1;
	     a->kind == EGS_HEALTH_DO && bit && bit <= a->remedies; bit <<= 1)
		if (a->remedies & bit)
			do_remedy(d, a, (enum egs_remedy)bit);
}

/* ---- state ---- */

static int new_health(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_health *health = egs_health_new();

	if (!health)
		return egs_errf(err, "out of memory");
	egs_health_set_rules(health, egs_daemon_conf(d));
	egs_health_free(r->health);
	r->health = health;
	r->restored = false;
	return 0;
}

/* Write all actions, then carry them out.  If the disk fails, forget them: what
 * is on disk is read again before the next sample.
 */
static void run_actions(struct egs_daemon *d)
{
	struct egs_health *health = d->requests->remediate->health;
	const struct egs_health_action *a;
	struct egs_err err;
	size_t n;
	int rc = 0;

	a = egs_health_actions(health, &n);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = egs_remediate_write_rows(d, &a[i], &err);
	if (n && rc == 0)
		rc = egs_daemon_commit(d, &err);
	if (rc < 0) {
		if (new_health(d, &err) < 0)
			egs_health_clear_actions(health);
		return;
	}
	for (size_t i = 0; i < n; i++)
		run_action(d, &a[i]);
	egs_health_clear_actions(health);
}

/* Continue with the cases of an earlier daemon. */
static bool is_restored(struct egs_daemon *d)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_err err;

	if (!r->restored) {
		r->restored = egs_remediate_read_rows(d, &err) == 0;
		if (!r->restored)
			new_health(d, &err);
	}
	return r->restored;
}

static uint32_t count_gpu_nodes(const struct egs_daemon *d)
{
	const struct egs_node_info *n;
	uint32_t count = 0;

	for (uint32_t i = 0; (n = egs_cluster_get_node(d->cluster, i)); i++)
		count += !n->gone && n->gpus > 0;
	return count;
}

static bool may_judge(const struct egs_daemon *d)
{
	return d->synced && !d->paused && !d->slurmctld_down && d->store &&
	       !d->store_failed;
}

static bool is_fenced_by_others(const struct egs_daemon *d, uint32_t node)
{
	return egs_daemon_is_fenced(d, egs_remediate_node_name(d, node)) &&
	       !egs_remediate_count(d, node, EGS_REMEDY_FENCE);
}

void egs_remediate_judge(struct egs_daemon *d, uint32_t node)
{
	const struct egs_node_samples *samples = egs_gpu_samples_of(d, node);
	struct egs_health *health;
	int rc = 0;

	if (!may_judge(d) || !samples ||
	    samples->sampled_at != samples->reported_at || !is_restored(d))
		return;
	health = d->requests->remediate->health;
	d->requests->remediate->fenced_by_others = is_fenced_by_others(d, node);
	egs_health_set_max(health, egs_daemon_conf(d)->remediate_max_pct,
			   count_gpu_nodes(d));
	egs_health_set_acting(health, egs_daemon_is_enforcing(d, -1));
	for (uint32_t i = 0; rc == 0 && i < samples->n; i++)
		rc = judge_gpu(d, node, samples, &samples->gpu[i]);
	run_actions(d);
}

void egs_remediate_lose_fence(struct egs_daemon *d, const char *node)
{
	int64_t number = egs_cluster_find_node(d->cluster, node);
	struct egs_err err;

	if (number < 0 ||
	    !egs_remediate_count(d, (uint32_t)number, EGS_REMEDY_FENCE))
		return;
	egs_health_drop(d->requests->remediate->health, (uint32_t)number,
			EGS_REMEDY_FENCE);
	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(
		    d,
		    egs_remediation_settle(d->store, node,
					   egs_remedies_name(EGS_REMEDY_FENCE),
					   EGS_REMEDIATION_DONE,
					   EGS_REMEDIATION_OPERATOR, &err),
		    &err) == 0)
		egs_daemon_commit(d, &err);
}

/* ---- the part ---- */

static int init_remediate(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->remediate = calloc(1, sizeof(struct egs_remediate));
	if (!d->requests->remediate)
		return egs_errf(err, "out of memory");
	return new_health(d, err);
}

static void free_remediate(struct egs_daemon *d)
{
	struct egs_remediate *r = d->requests ? d->requests->remediate : NULL;

	if (!r)
		return;
	egs_health_free(r->health);
	egs_remediate_free_runs(r);
	free(r->order);
	free(r);
}

/* Rules that are gone are undone at once. */
static void use_new_rules(struct egs_daemon *d)
{
	egs_health_set_rules(d->requests->remediate->health,
			     egs_daemon_conf(d));
	if (may_judge(d))
		run_actions(d);
}

/* Nodes must be avoided before the first jobs are placed. */
static void read_rows_early(struct egs_daemon *d)
{
	if (d->store && !d->store_failed)
		is_restored(d);
}

static void on_tick(struct egs_daemon *d)
{
	egs_remediate_send_orders(d);
	egs_remediate_run_next(d);
}

const struct egs_part egs_remediate_part = {
	.name = "remediate",
	.init = init_remediate,
	.stop = free_remediate,
	.tick = on_tick,
	.nodes_polled = read_rows_early,
	.reloaded = use_new_rules,
	.node_drained = egs_remediate_drained,
};
