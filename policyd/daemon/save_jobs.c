/* save_jobs.c - save jobs and usage, and restore them
 *
 * After each change the daemon compares a checksum of each job with the
 * checksum of the job on disk, and writes the jobs that differ.  So jobs that a
 * full disk refused are written as soon as there is room, without a list of
 * them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "policyd/daemon/daemon.h"

enum {
	FORGOTTEN_ROOM_MAX = 256, /* free a larger list */
};

void egs_daemon_drop_restored(struct egs_daemon *d)
{
	free(d->saved_jobs.restored);
	d->saved_jobs.restored = NULL;
	d->saved_jobs.nrestored = d->saved_jobs.restored_room = 0;
}

void egs_daemon_free_saved_jobs(struct egs_daemon *d)
{
	egs_daemon_drop_restored(d);
	free(d->saved_jobs.forgotten);
	free(d->saved_jobs.sum);
}

static void add_restored(void *arg, const struct egs_saved_job *job)
{
	struct egs_daemon *d = arg;

	struct egs_saved_jobs *all = &d->saved_jobs;

	/* Without memory the daemon treats the job as new. */
	if (egs_grow(&all->restored, &all->restored_room, all->nrestored + 1) ==
	    0)
		all->restored[all->nrestored++] = *job;
}

static void restore_mode(struct egs_daemon *d, const char *text)
{
	if (strcmp(text, "enforce") == 0)
		d->mode = EGS_MODE_ENFORCE;
	else if (strcmp(text, "observe") == 0)
		d->mode = EGS_MODE_OBSERVE;
}

int egs_daemon_restore(struct egs_daemon *d, struct egs_err *err)
{
	char text[32], cluster[sizeof(d->audience)];

	if (egs_store_job_each(d->store, add_restored, d, err) < 0 ||
	    egs_store_get(d->store, "mode", text, sizeof(text), err) < 0)
		return -1;
	restore_mode(d, text);
	if (egs_store_get(d->store, "cluster", cluster, sizeof(cluster), err) <
	    0)
		return -1;
	if (*cluster)
		egs_daemon_set_cluster(d, cluster);
	if (egs_store_get(d->store, "pause", d->pause_reason,
			  sizeof(d->pause_reason), err) < 0)
		return -1;
	d->paused = d->pause_reason[0] != '\0';
	egs_daemon_apply_modes(d);
	if (egs_store_get(d->store, "fenced", d->fenced, sizeof(d->fenced),
			  err) < 0 ||
	    egs_daemon_restore_observed(d, err) < 0 ||
	    egs_parts_restore(d, err) < 0)
		return -1;
	d->intents.open = d->intents.inherited = true;
	return 0;
}

static void restore_usage(void *arg, const struct egs_saved_usage *usage)
{
	struct egs_daemon *d = arg;
	int team = egs_conf_find_team(egs_daemon_conf(d), usage->team);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = (int16_t)team,
					   .workload = -1 },
				.usage = &usage->tally };

	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* Restore only the workload's own row, not the row for all other phases. */
static void restore_meter(void *arg, const struct egs_saved_meter *meter)
{
	struct egs_daemon *d = arg;
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	int team = egs_conf_find_team(c, meter->team);
	int phase = egs_conf_find_phase(c, meter->phase);
	int row = egs_conf_find_workload(c, meter->workload, team, phase);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts.workload = (int16_t)row,
				.usage = &meter->tally };

	if (row >= 0 && c->workload[row].phase == phase)
		egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

int egs_daemon_restore_usage(struct egs_daemon *d, struct egs_err *err)
{
	if (egs_store_usage_each(d->store, restore_usage, d, err) < 0)
		return -1;
	return egs_store_meter_each(d->store, restore_meter, d, err);
}

/* Save also a row of zeros, because it has the time of the last update. */
static int save_usage(struct egs_daemon *d, int team, struct egs_err *err)
{
	struct egs_saved_usage usage = {
		.team = egs_daemon_conf(d)->team[team].name,
		.tally = egs_policy_team_usage(d->policy, team),
	};

	return egs_daemon_check_store(
		d, egs_store_usage_save(d->store, &usage, err), err);
}

/* Skip workloads without MaxGpuHours. */
static int save_meter(struct egs_daemon *d, int workload, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	const struct egs_workload *w = &c->workload[workload];
	struct egs_saved_meter meter = {
		.team = w->team < 0 ? "" : c->team[w->team].name,
		.workload = w->name,
		.phase = w->phase < 0 ? "" : c->phase[w->phase].name,
		.tally = egs_policy_workload_usage(d->policy, workload),
	};

	if (w->max_gpu_hours.count == EGS_UNLIMITED)
		return 0;
	return egs_daemon_check_store(
		d, egs_store_meter_save(d->store, &meter, err), err);
}

int egs_daemon_save_usage(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	int i;

	for (i = 0; i < c->nteams; i++)
		if (save_usage(d, i, err) < 0)
			return -1;
	for (i = 0; i < c->nworkloads; i++)
		if (save_meter(d, i, err) < 0)
			return -1;
	return 0;
}

static int compare_job_id(const void *key, const void *item)
{
	uint32_t a = *(const uint32_t *)key;
	uint32_t b = ((const struct egs_saved_job *)item)->job.job_id;

	return a < b ? -1 : a > b;
}

/* Several jobs may have had this id, one after the other. */
static const struct egs_saved_job *find_restored(void *arg,
						 const struct egs_identity *job)
{
	const struct egs_daemon *d = arg;
	const struct egs_saved_job *k =
		d->saved_jobs.nrestored
			? bsearch(&job->job_id, d->saved_jobs.restored,
				  d->saved_jobs.nrestored, sizeof(*k),
				  compare_job_id)
			: NULL;

	if (!k)
		return NULL;
	while (k > d->saved_jobs.restored && k[-1].job.job_id == job->job_id)
		k--;
	for (; k < d->saved_jobs.restored + d->saved_jobs.nrestored &&
	       k->job.job_id == job->job_id;
	     k++)
		if (egs_identity_is_same(&k->job, job))
			return k;
	return NULL;
}

void egs_daemon_forget_job(struct egs_daemon *d, const struct egs_identity *job)
{
	struct egs_saved_jobs *all = &d->saved_jobs;

	/* Without memory the next daemon forgets the job. */
	if (egs_grow(&all->forgotten, &all->forgotten_room,
		     all->nforgotten + 1) == 0)
		all->forgotten[all->nforgotten++] = *job;
}

/* Thousands of jobs may end together.  Usually only a few do, so free a large
 * list.
 */
void egs_daemon_clear_forgotten(struct egs_daemon *d)
{
	d->saved_jobs.nforgotten = 0;
	if (d->saved_jobs.forgotten_room <= FORGOTTEN_ROOM_MAX)
		return;
	free(d->saved_jobs.forgotten);
	d->saved_jobs.forgotten = NULL;
	d->saved_jobs.forgotten_room = 0;
}

static void on_job_changed(void *arg, const struct egs_identity *job,
			   bool ended)
{
	struct egs_daemon *d = arg;

	egs_daemon_changed(d, EGS_CHANGED_JOBS | EGS_CHANGED_NOTICES);
	if (ended)
		egs_daemon_forget_job(d, job);
}

static void on_fact_changed(void *arg, const struct egs_job_fact *fact,
			    egs_time_t now)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, job_seen, d, fact);
	egs_daemon_account_job(d, fact, now);
}

const struct egs_cluster_ops egs_daemon_cluster_ops = {
	.saved_job = find_restored,
	.job_changed = on_job_changed,
	.fact_changed = on_fact_changed,
	.job_gone = egs_daemon_account_job_gone,
};

static struct egs_saved_job make_saved_job(const struct egs_daemon *d,
					   const struct egs_job *j)
{
	struct egs_job_info known = { .tier_override = "",
				      .phase_override = "" };
	struct egs_saved_job k;

	/* Clear the padding: the checksum covers all bytes. */
	memset(&k, 0, sizeof(k));
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	k.job = j->ident;
	egs_policy_job_history(j, &k.history);
	k.owned = j->running && !j->on_loan;
	memcpy(k.phase, known.phase_override, strlen(known.phase_override));
	memcpy(k.tier, known.tier_override, strlen(known.tier_override));
	return k;
}

/* Returns a checksum, never 0.  It reads whole words for speed, because it runs
 * for all jobs after every change.
 */
static uint32_t checksum_job(const struct egs_saved_job *k)
{
	uint64_t words[sizeof(*k) / sizeof(uint64_t)];
	uint64_t sum = EGS_HASH_START;

	static_assert(sizeof(words) == sizeof(*k), "whole words");
	memcpy(words, k, sizeof(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		sum = egs_hash_u64(sum, words[i]);
	return (uint32_t)(sum >> 32) | 1;
}

/* Set the checksums of restored jobs, so that they are not written again. */
static void init_sums(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_nslots(d->policy), i;

	if (egs_grow(&d->saved_jobs.sum, &d->saved_jobs.nsums, slots) < 0)
		return;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);
		const struct egs_saved_job *k =
			j ? find_restored(d, &j->ident) : NULL;

		if (k)
			d->saved_jobs.sum[i] = checksum_job(k);
	}
}

void egs_daemon_end_restore(struct egs_daemon *d)
{
	for (size_t i = 0; i < d->saved_jobs.nrestored; i++) {
		const struct egs_identity *ident =
			&d->saved_jobs.restored[i].job;
		const struct egs_job *j =
			egs_policy_job(d->policy, ident->job_id);

		if (!j || !egs_identity_is_same(ident, &j->ident))
			egs_daemon_forget_job(d, ident);
	}
	init_sums(d);
	egs_daemon_drop_restored(d);
}

void egs_daemon_resave_jobs(struct egs_daemon *d)
{
	if (d->saved_jobs.nsums)
		memset(d->saved_jobs.sum, 0,
		       d->saved_jobs.nsums * sizeof(d->saved_jobs.sum[0]));
}

static int save_slot(struct egs_daemon *d, uint32_t slot, struct egs_err *err)
{
	const struct egs_job *j = egs_policy_slot(d->policy, slot);
	struct egs_saved_job k;
	uint32_t sum;

	if (!j)
		return 0;
	k = make_saved_job(d, j);
	sum = checksum_job(&k);
	if (d->saved_jobs.sum[slot] == sum)
		return 0;
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	d->saved_jobs.sum[slot] = sum;
	return egs_daemon_check_store(d, egs_store_job_save(d->store, &k, err),
				      err);
}

/* Delete ended jobs first: another job may have the same id now. */
int egs_daemon_save_jobs(struct egs_daemon *d, struct egs_err *err)
{
	uint32_t slots = egs_policy_nslots(d->policy), i;
	size_t f;

	if (egs_grow(&d->saved_jobs.sum, &d->saved_jobs.nsums, slots) < 0)
		return egs_errf(err, "store: out of memory");
	if (d->saved_jobs.nforgotten && egs_daemon_begin(d, err) < 0)
		return -1;
	for (f = 0; f < d->saved_jobs.nforgotten; f++)
		if (egs_daemon_check_store(
			    d,
			    egs_store_job_delete(
				    d->store, &d->saved_jobs.forgotten[f], err),
			    err) < 0)
			return -1;
	for (i = 0; i < slots; i++)
		if (save_slot(d, i, err) < 0)
			return -1;
	return 0;
}
