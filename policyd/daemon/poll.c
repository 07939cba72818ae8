/* poll.c - poll Slurm and dispatch the worker's reports
 *
 * A poll costs slurmctld a lock, so polls take at most one hundredth of its
 * time; but there are two polls in StaleAfter=.  While slurmctld does not
 * answer, the daemon decides nothing and sends no heartbeat to the table.  If
 * the last complete poll is older than StaleAfter=, the plugins must not
 * believe the table any longer, whatever delays the polls.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* A poll of N ms is followed by a pause of at least POLL_SHARE * N ms. */
#define POLL_SHARE 100

/* Pause when slurmctld does not answer. */
#define DOWN_RETRY_MS 5000

/* A poll may take this long, also if StaleAfter= is shorter. */
#define POLL_MAX_MS 15000

static uint64_t get_stale_ms(const struct egs_daemon *d)
{
	return egs_daemon_conf(d)->stale_after_s * UINT64_C(1000);
}

void egs_daemon_poll_in(struct egs_daemon *d, uint64_t ms)
{
	egs_timer_start(d->poll.timer, ms);
}

/* One slow poll may be an accident, so use the faster of the last two. */
static void schedule_poll(struct egs_daemon *d, bool away)
{
	uint64_t least = egs_daemon_conf(d)->poll_interval_s * UINT64_C(1000);
	uint64_t ms =
		d->poll.ms < d->poll.ms_before ? d->poll.ms : d->poll.ms_before;
	uint64_t wait = away ? DOWN_RETRY_MS : ms * POLL_SHARE;

	if (wait > get_stale_ms(d) / 2)
		wait = get_stale_ms(d) / 2;
	egs_daemon_poll_in(d, wait > least ? wait : least);
}

static void on_job(void *arg, const struct egs_job_fact *fact)
{
	struct egs_daemon *d = arg;

	if (!d->poll.receiving)
		egs_cluster_begin_poll(d->cluster);
	d->poll.receiving = true;
	if (egs_cluster_update_job(d->cluster, fact, egs_daemon_now()) < 0)
		egs_daemon_changed(d, EGS_CHANGED_CLUSTER);
}

static void on_node(void *arg, const struct egs_node_fact *fact)
{
	struct egs_daemon *d = arg;
	struct egs_node_fact shown = *fact;

	if (egs_daemon_is_fenced(d, fact->name))
		shown.flags |= EGS_NODE_DOWN;
	if (egs_cluster_update_node(d->cluster, &shown, egs_daemon_now()) < 0)
		egs_daemon_changed(d, EGS_CHANGED_CLUSTER);
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
}

static void stop_deciding(struct egs_daemon *d, const char *why)
{
	if (!d->slurmctld_down)
		egs_log_warn("slurmctld: %s; nothing is decided until it "
			     "answers",
			     why);
	d->slurmctld_down = true;
	egs_daemon_changed(d, EGS_CHANGED_CLUSTER);
	egs_daemon_invalidate_levels(d);
}

static void set_slurmctld_down(struct egs_daemon *d, const char *why)
{
	stop_deciding(d, why ? why : "no answer");
	egs_daemon_drop_slurm_operators(d);
	d->poll.receiving = false;
}

/* A poll may be under way and bring its jobs later. */
void egs_daemon_check_polls(struct egs_daemon *d)
{
	uint64_t most = get_stale_ms(d), age = egs_now_ms() - d->poll.done_ms;
	struct egs_err why;

	if (most < POLL_MAX_MS)
		most = POLL_MAX_MS;
	if (!d->synced || d->poll.late || age <= most)
		return;
	d->poll.late = true;
	egs_table_suspend(d->table);
	egs_errf(&why, "no complete answer for %" PRIu64 " s", age / 1000);
	stop_deciding(d, why.msg);
}

static void set_slurmctld_up(struct egs_daemon *d)
{
	if (d->slurmctld_down)
		egs_log_info("slurmctld: answers again, %" PRIu32 " jobs known",
			     egs_policy_njobs(d->policy));
	else if (!d->synced)
		egs_log_info("slurmctld: answers, %" PRIu32 " jobs known",
			     egs_policy_njobs(d->policy));
	if (d->slurmctld_down || !d->synced)
		egs_daemon_changed(d, EGS_CHANGED_TABLE);
	if (!d->synced) /* the table still has an earlier daemon's claims */
		egs_daemon_changed(d, EGS_CHANGED_NODES);
	d->slurmctld_down = false;
}

/* The poll has shown all jobs, so other jobs are gone.  Thousands of jobs may
 * end together: return their memory to the system.
 */
static void end_poll(struct egs_daemon *d)
{
	bool first = !d->synced;

	if (!d->poll.receiving)
		egs_cluster_begin_poll(d->cluster);
	d->poll.receiving = false;
	egs_cluster_end_poll(d->cluster, egs_daemon_now());
	malloc_trim(0);
	set_slurmctld_up(d);
	d->synced = true;
	if (first) {
		egs_daemon_end_restore(d);
		egs_daemon_restore_claims(d);
	}
}

void egs_daemon_set_cluster(struct egs_daemon *d, const char *cluster)
{
	snprintf(d->audience, sizeof(d->audience),
		 EGS_CRED_AUDIENCE_PREFIX "%s", cluster);
}

/* Save the name for a start without slurmctld. */
static void learn_cluster(struct egs_daemon *d, const char *cluster)
{
	struct egs_err err;

	if (strcmp(d->audience + strlen(EGS_CRED_AUDIENCE_PREFIX), cluster) ==
	    0)
		return;
	egs_daemon_set_cluster(d, cluster);
	if (egs_daemon_save_value(d, "cluster", cluster, &err) == 0)
		egs_daemon_changed(d, EGS_CHANGED_JOBS);
}

static void on_operator(void *arg, uint32_t uid, const char *name)
{
	egs_daemon_add_slurm_operator(arg, uid, name);
}

static void on_coordinator(void *arg, uint32_t uid, const char *name,
			   const char *account)
{
	egs_daemon_add_coordinator(arg, uid, name, account);
}

static void on_name(void *arg, enum egs_name_kind kind, const char *name)
{
	egs_daemon_add_name(arg, kind, name);
}

static void on_polled(void *arg, const struct egs_poll_result *end)
{
	struct egs_daemon *d = arg;
	bool first = !d->synced;

	if (end->ok) {
		d->poll.ms_before = d->poll.ms;
		d->poll.ms = end->slurmctld_ms;
	}
	schedule_poll(d, !end->ok);
	d->reload.polled |= end->full;
	if (!end->ok) {
		set_slurmctld_down(d, end->error);
		egs_daemon_continue_reload(d);
		return;
	}
	d->polled_at = egs_daemon_now();
	d->poll.done_ms = egs_now_ms();
	d->poll.late = false;
	d->poll_count++;
	if (end->cluster_name)
		learn_cluster(d, end->cluster_name);
	egs_cluster_end_nodes(d->cluster, d->polled_at);
	EGS_PARTS_CALL(d, nodes_polled, d);
	if (!end->unchanged)
		end_poll(d);
	egs_account_end_poll(d->account, d->polled_at);
	if (first)
		egs_daemon_judge_start(d);
	egs_daemon_check_quotas(d);
	egs_daemon_recover_intents(d);
	if (first)
		egs_daemon_recompute(
			d); /* shares depend on the restored usage */
	else
		egs_daemon_update(d);
	egs_daemon_continue_reload(d);
}

static void on_job_polled(void *arg, uint32_t job_id,
			  const struct egs_job_fact *fact)
{
	struct egs_daemon *d = arg;

	if (fact)
		egs_cluster_update_job(d->cluster, fact, egs_daemon_now());
	else
		egs_cluster_job_gone(d->cluster, job_id, egs_daemon_now());
	EGS_PARTS_CALL(d, job_read, d, job_id);
	egs_daemon_update(d);
}

static void on_action_done(void *arg, uint64_t id, const char *why)
{
	if (id != EGS_NO_INTENT)
		egs_daemon_action_done(arg, id, why);
}

static void on_resize_step(void *arg, const struct egs_resize_params *params,
			   enum egs_resize_outcome end, const char *text)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, resize_step, d, params, end, text);
}

static void on_node_drained(void *arg, const struct egs_drain_params *params,
			    enum egs_drain_outcome outcome, const char *text)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, node_drained, d, params, outcome, text);
}

static void on_warn(void *arg, const char *what)
{
	(void)arg;
	egs_log_warn("%s", what);
}

const struct egs_worker_ops egs_daemon_worker_ops = {
	.job = on_job,
	.node = on_node,
	.operator= on_operator,
	.coordinator = on_coordinator,
	.name = on_name,
	.poll_done = on_polled,
	.job_read = on_job_polled,
	.act_done = on_action_done,
	.resize_step = on_resize_step,
	.node_drained = on_node_drained,
	.warn = on_warn,
};
