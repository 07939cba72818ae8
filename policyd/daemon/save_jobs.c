/* save_jobs.c - what is kept of jobs and teams, and comes back
 *
 * After each change all jobs are walked, and those whose kept part differs
 * from what was written are written again: so what a full disk refused is
 * written when there is room, without a list of what is missing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"

enum {
	FORGET_KEPT = 256, /* room for so many is not given back */
};

static void recall(void *arg, const struct egs_kept *kept)
{
	struct egs_daemon *d = arg;

	if (d->nkept == d->kept_room) {
		size_t room = 2 * d->kept_room + 64;
		struct egs_kept *more = realloc(d->kept, room * sizeof(*more));

		if (!more)
			return; /* it is adopted as if it were new */
		d->kept = more;
		d->kept_room = room;
	}
	d->kept[d->nkept++] = *kept;
}

static void recall_mode(struct egs_daemon *d, const char *text)
{
	if (strcmp(text, "enforce") == 0)
		d->mode = EGS_MODE_ENFORCE;
	else if (strcmp(text, "observe") == 0)
		d->mode = EGS_MODE_OBSERVE;
}

int egs_daemon_recall(struct egs_daemon *d, struct egs_err *err)
{
	char text[32], cluster[sizeof(d->audience)];

	if (egs_store_jobs(d->store, recall, d, err) < 0 ||
	    egs_store_get(d->store, "mode", text, sizeof(text), err) < 0)
		return -1;
	recall_mode(d, text);
	if (egs_store_get(d->store, "cluster", cluster, sizeof(cluster), err) <
	    0)
		return -1;
	if (*cluster)
		egs_daemon_name(d, cluster);
	if (egs_store_get(d->store, "pause", d->pause_reason,
			  sizeof(d->pause_reason), err) < 0)
		return -1;
	d->paused = d->pause_reason[0] != '\0';
	if (egs_store_get(d->store, "fenced", d->fenced, sizeof(d->fenced),
			  err) < 0 ||
	    egs_shrinks_recall(d, err) < 0)
		return -1;
	d->doubt = d->redo = true;
	return 0;
}

static void recall_usage(void *arg, const struct egs_kept_usage *usage)
{
	struct egs_daemon *d = arg;
	int team = egs_conf_team(egs_daemon_policy(d), usage->team);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts = { .team = (int16_t)team,
					   .workload = -1 },
				.tally = &usage->tally };

	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* By its own row, not by the one that speaks for a phase without one. */
static void recall_meter(void *arg, const struct egs_kept_meter *meter)
{
	struct egs_daemon *d = arg;
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	int team = egs_conf_team(c, meter->team);
	int phase = egs_conf_phase(c, meter->phase);
	int row = egs_conf_workload(c, meter->workload, team, phase);
	struct egs_event ev = { .kind = EGS_EV_USAGE,
				.facts.workload = (int16_t)row,
				.tally = &meter->tally };

	if (row >= 0 && c->workload[row].phase == phase)
		egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

int egs_daemon_recall_usage(struct egs_daemon *d, struct egs_err *err)
{
	if (egs_store_usages(d->store, recall_usage, d, err) < 0)
		return -1;
	return egs_store_meters(d->store, recall_meter, d, err);
}

/* A row of zeros still says until when there was nothing. */
static int write_usage(struct egs_daemon *d, int team, struct egs_err *err)
{
	struct egs_kept_usage usage = {
		.team = egs_daemon_policy(d)->team[team].name,
		.tally = egs_policy_tally(d->policy, team),
	};

	return egs_daemon_stored(d, egs_store_usage(d->store, &usage, err),
				 err);
}

/* Hours nobody limits are nobody's business here. */
static int write_meter(struct egs_daemon *d, int workload, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	const struct egs_workload *w = &c->workload[workload];
	struct egs_kept_meter meter = {
		.team = w->team < 0 ? "" : c->team[w->team].name,
		.workload = w->name,
		.phase = w->phase < 0 ? "" : c->phase[w->phase].name,
		.tally = egs_policy_workload_tally(d->policy, workload),
	};

	if (w->max_gpu_hours.count == EGS_UNLIMITED)
		return 0;
	return egs_daemon_stored(d, egs_store_meter(d->store, &meter, err),
				 err);
}

int egs_daemon_write_usage(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	int i;

	for (i = 0; i < c->nteams; i++)
		if (write_usage(d, i, err) < 0)
			return -1;
	for (i = 0; i < c->nworkloads; i++)
		if (write_meter(d, i, err) < 0)
			return -1;
	return 0;
}

static int by_job_id(const void *key, const void *item)
{
	uint32_t a = *(const uint32_t *)key;
	uint32_t b = ((const struct egs_kept *)item)->job.job_id;

	return a < b ? -1 : a > b;
}

/* Several jobs may have had that id, one after the other. */
static const struct egs_kept *kept_of(void *arg, const struct egs_ident *job)
{
	const struct egs_daemon *d = arg;
	const struct egs_kept *k =
		d->nkept ? bsearch(&job->job_id, d->kept, d->nkept, sizeof(*k),
				   by_job_id)
			 : NULL;

	if (!k)
		return NULL;
	while (k > d->kept && k[-1].job.job_id == job->job_id)
		k--;
	for (; k < d->kept + d->nkept && k->job.job_id == job->job_id; k++)
		if (egs_ident_same(&k->job, job))
			return k;
	return NULL;
}

void egs_daemon_forget(struct egs_daemon *d, const struct egs_ident *job)
{
	if (d->nforget == d->forget_room) {
		size_t room = 2 * d->forget_room + 64;
		struct egs_ident *more =
			realloc(d->forget, room * sizeof(*more));

		if (!more)
			return; /* the next daemon forgets it */
		d->forget = more;
		d->forget_room = room;
	}
	d->forget[d->nforget++] = *job;
}

/* Thousands may have ended together; the next time it is a handful. */
void egs_daemon_forgotten(struct egs_daemon *d)
{
	d->nforget = 0;
	if (d->forget_room <= FORGET_KEPT)
		return;
	free(d->forget);
	d->forget = NULL;
	d->forget_room = 0;
}

static void changed(void *arg, const struct egs_ident *job, bool ended)
{
	struct egs_daemon *d = arg;

	d->unkept = true;
	egs_nodes_changed(d, job);
	if (ended)
		egs_daemon_forget(d, job);
}

const struct egs_world_ops egs_daemon_world_ops = {
	.kept = kept_of,
	.changed = changed,
	.fact = egs_daemon_count,
	.gone = egs_daemon_count_gone,
};

static struct egs_kept keep_of(const struct egs_daemon *d,
			       const struct egs_job *j)
{
	struct egs_known known = { .tier = "", .phase = "" };
	struct egs_kept k;

	/* Padding too: the sum below is over all bytes. */
	memset(&k, 0, sizeof(k));
	egs_world_known(d->world, j->ident.job_id, &known);
	k.job = j->ident;
	egs_policy_past(j, &k.past);
	k.owned = j->running && !j->on_loan;
	memcpy(k.phase, known.phase, strlen(known.phase));
	memcpy(k.tier, known.tier, strlen(known.tier));
	return k;
}

/* FNV-1a over whole words, since all jobs are summed at every change; never
 * 0.
 */
static uint32_t sum_of(const struct egs_kept *k)
{
	uint64_t words[sizeof(*k) / sizeof(uint64_t)];
	uint64_t sum = UINT64_C(14695981039346656037);
	size_t i;

	static_assert(sizeof(words) == sizeof(*k), "whole words");
	memcpy(words, k, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		sum = (sum ^ words[i]) * UINT64_C(1099511628211);
	return (uint32_t)(sum >> 32) | 1;
}

static int room_for_sums(struct egs_daemon *d, uint32_t slots)
{
	uint32_t room = slots + slots / 4 + 64;
	uint32_t *more;

	if (slots <= d->nsums)
		return 0;
	more = realloc(d->sum, room * sizeof(*more));
	if (!more)
		return -1;
	memset(more + d->nsums, 0, (room - d->nsums) * sizeof(*more));
	d->sum = more;
	d->nsums = room;
	return 0;
}

/* What is on disk already need not be written again. */
static void remember_sums(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_slots(d->policy), i;

	if (room_for_sums(d, slots) < 0)
		return;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);
		const struct egs_kept *k = j ? kept_of(d, &j->ident) : NULL;

		if (k)
			d->sum[i] = sum_of(k);
	}
}

void egs_daemon_recalled(struct egs_daemon *d)
{
	size_t i;

	for (i = 0; i < d->nkept; i++) {
		const struct egs_ident *was = &d->kept[i].job;
		const struct egs_job *j =
			egs_policy_job(d->policy, was->job_id);

		if (!j || !egs_ident_same(was, &j->ident))
			egs_daemon_forget(d, was);
	}
	remember_sums(d);
	free(d->kept);
	d->kept = NULL;
	d->nkept = d->kept_room = 0;
}

static int write_slot(struct egs_daemon *d, uint32_t slot, struct egs_err *err)
{
	const struct egs_job *j = egs_policy_slot(d->policy, slot);
	struct egs_kept k;
	uint32_t sum;

	if (!j)
		return 0;
	k = keep_of(d, j);
	sum = sum_of(&k);
	if (d->sum[slot] == sum)
		return 0;
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	d->sum[slot] = sum;
	return egs_daemon_stored(d, egs_store_job(d->store, &k, err), err);
}

/* Who has gone first: its id may be another's by now. */
int egs_daemon_write_jobs(struct egs_daemon *d, struct egs_err *err)
{
	uint32_t slots = egs_policy_slots(d->policy), i;
	size_t f;

	if (room_for_sums(d, slots) < 0)
		return egs_errf(err, "store: out of memory");
	if (d->nforget && egs_daemon_begin(d, err) < 0)
		return -1;
	for (f = 0; f < d->nforget; f++)
		if (egs_daemon_stored(
			    d, egs_store_forget(d->store, &d->forget[f], err),
			    err) < 0)
			return -1;
	for (i = 0; i < slots; i++)
		if (write_slot(d, i, err) < 0)
			return -1;
	return 0;
}
