/* poll.c - looks at Slurm become events of the policy
 *
 * A look costs slurmctld a lock: at most one hundredth of its time.  While it
 * does not answer nothing is decided, and the table's heart stands still.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/resize.h"

/* Nobody needs to look more often than once in so many times its length. */
#define POLL_SHARE 100

/* One that does not answer is asked again in so long. */
#define AWAY_MS 5000

void egs_daemon_look_in(struct egs_daemon *d, uint64_t ms)
{
	egs_timer_in(d->poll, ms);
}

/* One slow look may be an accident, two in a row are slurmctld's pace. */
static void next_look(struct egs_daemon *d, bool away)
{
	uint64_t least = egs_daemon_policy(d)->poll_interval_s * UINT64_C(1000);
	uint64_t ms = d->poll_ms < d->poll_before ? d->poll_ms : d->poll_before;
	uint64_t wait = away ? AWAY_MS : ms * POLL_SHARE;

	egs_daemon_look_in(d, wait > least ? wait : least);
}

static void on_job(void *arg, const struct egs_job_fact *fact)
{
	struct egs_daemon *d = arg;

	if (!d->looking)
		egs_world_begin(d->world);
	d->looking = true;
	if (egs_world_job(d->world, fact, egs_daemon_now()) < 0)
		d->anew = true;
}

static void on_node(void *arg, const struct egs_node_fact *fact)
{
	struct egs_daemon *d = arg;
	struct egs_node_fact seen = *fact;

	if (egs_daemon_is_fenced(d, fact->name))
		seen.flags |= EGS_NODE_DOWN;
	if (egs_world_node(d->world, &seen, egs_daemon_now()) < 0)
		d->anew = true;
	d->unkept = true;
}

static void freeze(struct egs_daemon *d, const char *why)
{
	if (!d->frozen)
		egs_warning("slurmctld: %s; nothing is decided until it "
			    "answers",
			    why ? why : "no answer");
	d->frozen = true;
	d->anew = true;
	egs_daemon_levels_unknown(d);
	egs_daemon_slurms_forget(d);
	d->looking = false;
}

static void thaw(struct egs_daemon *d)
{
	if (d->frozen)
		egs_info("slurmctld: answers again, %" PRIu32 " jobs known",
			 egs_policy_njobs(d->policy));
	else if (!d->whole)
		egs_info("slurmctld: answers, %" PRIu32 " jobs known",
			 egs_policy_njobs(d->policy));
	d->stale |= d->frozen || !d->whole;
	d->marks_stale |= !d->whole; /* those of an earlier daemon are there */
	d->frozen = false;
}

/* Every job was shown: who was not is gone, and what there was of it goes back
 * to the system; thousands of jobs may end together.
 */
static void end_look(struct egs_daemon *d)
{
	bool first = !d->whole;

	if (!d->looking)
		egs_world_begin(d->world);
	d->looking = false;
	egs_world_end(d->world, egs_daemon_now());
	malloc_trim(0);
	thaw(d);
	d->whole = true;
	if (first) {
		egs_daemon_recalled(d);
		egs_daemon_recall_claims(d);
	}
}

void egs_daemon_name(struct egs_daemon *d, const char *cluster)
{
	snprintf(d->audience, sizeof(d->audience), EGS_CRED_AUDIENCE "%s",
		 cluster);
}

/* It is kept for a start without slurmctld. */
static void learn_name(struct egs_daemon *d, const char *cluster)
{
	struct egs_err err;

	if (strcmp(d->audience + strlen(EGS_CRED_AUDIENCE), cluster) == 0)
		return;
	egs_daemon_name(d, cluster);
	if (egs_daemon_set(d, "cluster", cluster, &err) == 0)
		d->unkept = true;
}

static void on_operator(void *arg, uint32_t uid, const char *name)
{
	egs_daemon_slurms_operator(arg, uid, name);
}

static void on_polled(void *arg, const struct egs_polled *end)
{
	struct egs_daemon *d = arg;
	bool first = !d->whole;

	if (end->ok) {
		d->poll_before = d->poll_ms;
		d->poll_ms = end->ms;
	}
	next_look(d, !end->ok);
	if (!end->ok) {
		freeze(d, end->why);
		return;
	}
	d->looked_at = egs_daemon_now();
	d->looks++;
	if (end->cluster)
		learn_name(d, end->cluster);
	egs_world_nodes_end(d->world, d->looked_at);
	egs_addresses_follow(d);
	if (!end->unchanged)
		end_look(d);
	egs_account_looked(d->account, d->looked_at);
	egs_daemon_check_quotas(d);
	egs_daemon_compare(d);
	if (first)
		egs_daemon_pass(d); /* shares follow what was kept */
	else
		egs_daemon_settle(d);
}

static void on_looked(void *arg, uint32_t job_id,
		      const struct egs_job_fact *fact)
{
	struct egs_daemon *d = arg;

	if (fact)
		egs_world_job(d->world, fact, egs_daemon_now());
	else
		egs_world_gone(d->world, job_id, egs_daemon_now());
	egs_daemon_settle(d);
}

static void on_acted(void *arg, uint64_t id, const char *why)
{
	if (id != EGS_NO_INTENT)
		egs_daemon_acted(arg, id, why);
}

static void on_warn(void *arg, const char *what)
{
	(void)arg;
	egs_warning("%s", what);
}

const struct egs_worker_ops egs_daemon_worker_ops = {
	.job = on_job,
	.node = on_node,
	.operator= on_operator,
	.polled = on_polled,
	.looked = on_looked,
	.acted = on_acted,
	.sized = egs_resize_sized,
	.warn = on_warn,
};
