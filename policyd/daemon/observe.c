/* observe.c - record what EGS would do if it enforced
 *
 * While EGS only observes, slurmctld preempts no job for it.  So the daemon
 * asks the policy, for each pending job in the order of the queue, which jobs
 * it would preempt, and records each pair of jobs once.  A victim counts for
 * one requester at a time: in enforce mode it would be gone.  When the
 * requester starts, the record gets the time, so that a report can compare the
 * waits.
 *
 * A search for victims visits all running jobs, so the daemon does only a few
 * each second.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

enum {
	SEARCHES_PER_TICK = 16,
	VICTIMS_MAX = 64,
	/* From the end of a victim to the start of its requester: the victim's
	 * processes end, and the scheduler runs.
	 */
	HANDOVER_S = 5,
};

/* ---- pairs of jobs whose requester waits ---- */

static const struct egs_job *find_same_job(const struct egs_daemon *d,
					   const struct egs_identity *job)
{
	const struct egs_job *j = egs_policy_job(d->policy, job->job_id);

	return j && egs_identity_is_same(job, &j->ident) ? j : NULL;
}

static bool is_requester(const struct egs_daemon *d, const struct egs_job *j)
{
	for (size_t i = 0; i < d->observe.npairs; i++)
		if (d->observe.pair[i].requester.job_id == j->ident.job_id)
			return true;
	return false;
}

static void add_pair(struct egs_daemon *d, const struct egs_identity *requester,
		     const struct egs_identity *victim)
{
	struct egs_observe *o = &d->observe;

	if (egs_grow(&o->pair, &o->pair_room, o->npairs + 1) < 0)
		return; /* the record is on disk; its victim may count twice */
	o->pair[o->npairs++] = (struct egs_observed_pair){
		.requester = *requester,
		.victim = *victim,
	};
	egs_policy_set_observed(d->policy, victim->job_id, requester->job_id);
}

static void restore_pair(void *arg, const struct egs_observed *o)
{
	const struct egs_identity requester = {
		.nonce = o->requester_nonce,
		.job_id = o->requester,
		.uid = o->requester_uid,
		.array_task = o->requester_task,
		.het_offset = o->requester_het,
	};

	add_pair(arg, &requester, &o->job);
}

int egs_daemon_restore_observed(struct egs_daemon *d, struct egs_err *err)
{
	return egs_store_observed_each_open(d->store, restore_pair, d, err);
}

/* The requester runs (since 'started', 0: it never ran), or EGS enforces. */
static void close_pair(struct egs_daemon *d, size_t i, egs_time_t started)
{
	struct egs_observe *o = &d->observe;
	const struct egs_observed end = {
		.requester = o->pair[i].requester.job_id,
		.requester_nonce = o->pair[i].requester.nonce,
		.started_at = started,
		.closed_at = egs_daemon_now(),
	};
	struct egs_err err;

	if (egs_daemon_begin(d, &err) < 0 ||
	    egs_daemon_check_store(
		    d, egs_store_observed_close(d->store, &end, &err), &err) <
		    0)
		return; /* again with the next tick */
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	egs_policy_set_observed(d->policy, o->pair[i].victim.job_id, 0);
	o->pair[i] = o->pair[--o->npairs];
}

static bool is_observed_pair(const struct egs_daemon *d,
			     const struct egs_job *requester,
			     const struct egs_job *victim)
{
	return !egs_daemon_is_acting(d, requester->facts.team) ||
	       (victim && !egs_daemon_is_acting(d, victim->facts.team));
}

static void close_pairs(struct egs_daemon *d)
{
	for (size_t i = d->observe.npairs; i-- > 0;) {
		const struct egs_observed_pair *pair = &d->observe.pair[i];
		const struct egs_job *j = find_same_job(d, &pair->requester);
		const struct egs_job *v = find_same_job(d, &pair->victim);

		if (!j || j->running || !is_observed_pair(d, j, v))
			close_pair(d, i, j && j->running ? j->started : 0);
		else if (v) /* of an earlier daemon: not marked yet */
			egs_policy_set_observed(d->policy, v->ident.job_id,
						j->ident.job_id);
	}
}

/* ---- new pairs ---- */

static bool is_observing(const struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);

	for (int i = -1; i < c->nteams; i++)
		if (!egs_daemon_is_acting(d, i))
			return true;
	return false;
}

static bool may_preempt(const struct egs_daemon *d, const struct egs_job *j)
{
	struct egs_take_view row;

	return egs_job_is_waiting(j) && j->facts.tier >= 0 &&
	       !j->facts.completing && !is_requester(d, j) &&
	       egs_policy_take_view(d->policy, j->ident.job_id,
				    egs_daemon_now(), &row) == 0 &&
	       egs_take_needs_victims(&row) && !row.over_limit_pending;
}

static int compare_waiting(const void *a, const void *b)
{
	const struct egs_observe_waiting *x = a, *y = b;

	if (x->site_factor != y->site_factor)
		return x->site_factor > y->site_factor ? -1 : 1;
	return x->job_id < y->job_id ? -1 : x->job_id > y->job_id;
}

/* List the jobs that may preempt others, in the order of the queue. */
static void list_waiting(struct egs_daemon *d)
{
	struct egs_observe *o = &d->observe;
	uint32_t slots = egs_policy_nslots(d->policy);

	o->nwaiting = o->next_waiting = 0;
	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!may_preempt(d, j) ||
		    egs_grow(&o->waiting, &o->waiting_room, o->nwaiting + 1) <
			    0)
			continue;
		o->waiting[o->nwaiting++] = (struct egs_observe_waiting){
			.job_id = j->ident.job_id,
			.site_factor = j->site_factor,
		};
	}
	if (o->nwaiting)
		qsort(o->waiting, o->nwaiting, sizeof(*o->waiting),
		      compare_waiting);
}

static void log_pair(struct egs_daemon *d, const struct egs_job *victim,
		     const char *reason)
{
	struct egs_err err;

	egs_log_info("job %" PRIu32 ": would be preempted, %s (observing)",
		     victim->ident.job_id, reason);
	egs_daemon_log_event(d, &victim->ident, "would preempt", "policy",
			     reason, &err);
}

static const char *fate_name(const struct egs_daemon *d, uint32_t job_id)
{
	return egs_policy_fate(d->policy, job_id) == EGS_FATE_CANCEL
		       ? "cancel"
		       : "requeue";
}

static void fill_names(const struct egs_daemon *d, const struct egs_job *j,
		       const char **user, const char **team, const char **tier)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_job_info known = { .user = "" };

	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	*user = known.user;
	*team = j->facts.team < 0 ? "" : c->team[j->facts.team].name;
	*tier = j->facts.tier < 0 ? "" : c->tier[j->facts.tier].name;
}

/* 'start': when the requester would start; 'shrinks': the victim would only
 * shrink.
 */
static int record_pair(struct egs_daemon *d, const struct egs_job *requester,
		       const struct egs_job *victim, egs_time_t start,
		       bool shrinks)
{
	uint32_t id = victim->ident.job_id;
	char text[EGS_JOB_TEXT_SIZE], by[EGS_JOB_TEXT_SIZE];
	struct egs_observed o = {
		.job = victim->ident,
		.requester = requester->ident.job_id,
		.requester_nonce = requester->ident.nonce,
		.requester_uid = requester->ident.uid,
		.requester_task = requester->ident.array_task,
		.requester_het = requester->ident.het_offset,
		.at = egs_daemon_now(),
		.gpus = victim->gpus,
		.lost_gpu_s =
			shrinks ? 0 : egs_policy_lost_gpu_s(d->policy, id),
		.fate = shrinks ? "shrink" : fate_name(d, id),
		.job_text = text,
		.requester_text = by,
		.queued_at = requester->queued_at,
		.would_start = start,
	};
	struct egs_err err;

	egs_daemon_format_job_id(d, &victim->ident, text);
	egs_daemon_format_job_id(d, &requester->ident, by);
	fill_names(d, victim, &o.user, &o.team, &o.tier);
	fill_names(d, requester, &o.requester_user, &o.requester_team,
		   &o.requester_tier);
	if (egs_daemon_begin(d, &err) < 0 ||
	    egs_daemon_check_store(
		    d, egs_store_observed_add(d->store, &o, &err), &err) < 0)
		return -1;
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	add_pair(d, &requester->ident, &victim->ident);
	return 0;
}

/* The requester would start when the slowest victim is gone. */
static egs_time_t estimate_start(const struct egs_daemon *d,
				 const uint32_t *victim, uint32_t n)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t grace = egs_policy_grace(d->policy, victim[i]);

		longest = grace > longest ? grace : longest;
	}
	return egs_daemon_now() + longest + HANDOVER_S;
}

static void observe_job(struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	uint32_t victim[VICTIMS_MAX];
	egs_time_t start;
	int n;

	if (!j || !may_preempt(d, j))
		return;
	n = egs_policy_find_victims(d->policy, job_id, egs_daemon_now(), victim,
				    VICTIMS_MAX);
	if (n <= 0 || n > VICTIMS_MAX)
		return;
	start = estimate_start(d, victim, (uint32_t)n);
	for (int i = 0; i < n; i++) {
		const struct egs_job *v = egs_policy_job(d->policy, victim[i]);

		if (v && is_observed_pair(d, j, v) &&
		    record_pair(d, j, v, start, false) == 0)
			log_pair(d, v,
				 egs_daemon_preempt_reason(d, job_id).msg);
	}
}

/* The log of a job that would shrink has another entry. */
void egs_daemon_observe_idle(struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_job *v = egs_policy_job(d->policy, a->job.job_id);
	const struct egs_job *j = egs_policy_job(d->policy, a->requester);
	bool shrinks = a->kind == EGS_ACT_SHRINK;
	egs_time_t start = egs_daemon_now() + HANDOVER_S +
			   egs_policy_answer_time(d->policy, a->job.job_id);

	if (!d->store || !v || !j || v->observed_for == a->requester)
		return;
	if (record_pair(d, j, v, start, shrinks) == 0 && !shrinks)
		log_pair(d, v, egs_daemon_action_reason(d, a).msg);
}

void egs_daemon_observe_tick(struct egs_daemon *d)
{
	struct egs_observe *o = &d->observe;

	if (!d->store || d->store_failed)
		return;
	close_pairs(d);
	if (!is_observing(d))
		return;
	if (o->next_waiting == o->nwaiting)
		list_waiting(d);
	for (int i = 0; i < SEARCHES_PER_TICK && o->next_waiting < o->nwaiting;
	     i++)
		observe_job(d, o->waiting[o->next_waiting++].job_id);
}

void egs_daemon_free_observed(struct egs_daemon *d)
{
	free(d->observe.pair);
	free(d->observe.waiting);
}
