/* act_record.c - every request to save and go: kept, said, explained */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/node.h"

static const char *team_of(const struct egs_daemon *d, const struct egs_job *j)
{
	return j && j->facts.team >= 0
		       ? egs_daemon_policy(d)->team[j->facts.team].name
		       : "";
}

static const char *tier_of(const struct egs_daemon *d, const struct egs_job *j)
{
	return j && j->facts.tier >= 0
		       ? egs_daemon_policy(d)->tier[j->facts.tier].name
		       : "";
}

struct egs_err egs_daemon_wanted(const struct egs_daemon *d, uint32_t by)
{
	const struct egs_job *taker = by ? egs_policy_job(d->policy, by) : NULL;
	struct egs_err reason;

	if (*d->ask_reason)
		egs_errf(&reason, "%s", d->ask_reason);
	else if (!by)
		egs_errf(&reason, "its GPUs are needed");
	else if (!taker || !*team_of(d, taker))
		egs_errf(&reason, "job %" PRIu32 " needs its GPUs", by);
	else
		egs_errf(&reason,
			 "job %" PRIu32 " of team %s, tier %s, needs its GPUs",
			 by, team_of(d, taker), tier_of(d, taker));
	return reason;
}

/* Begin a transaction, write, and say in the store's own words if it fails. */
static void keep(struct egs_daemon *d,
		 int (*write)(struct egs_store *, const struct egs_preemption *,
			      struct egs_err *),
		 const struct egs_preemption *p)
{
	struct egs_err err;

	if (egs_daemon_begin(d, &err) == 0)
		egs_daemon_stored(d, write(d->store, p, &err), &err);
	d->unkept = true;
}

static void tell(struct egs_daemon *d, const struct egs_action *a,
		 const char *what, const char *reason)
{
	struct egs_err err;

	egs_info("job %" PRIu32 ": %s, %s", a->job.job_id, what, reason);
	egs_daemon_deed(d, &a->job, what, *d->ask_who ? d->ask_who : "policy",
			reason, &err);
}

static void asked(struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err reason = egs_daemon_wanted(d, a->by), words;
	struct egs_known known = { .user = "" };
	char text[EGS_JOB_TEXT];
	struct egs_preemption p = {
		.job = a->job,
		.request = a->notice.request,
		.gpus = a->notice.gpus,
		.by_job = a->by,
		.text = text,
		.team = team_of(d, j),
		.tier = tier_of(d, j),
		.by_team = team_of(d, egs_policy_job(d->policy, a->by)),
		.reason = reason.msg,
		.asked = a->notice.asked,
		.deadline = a->notice.deadline,
	};

	egs_daemon_job_text(d, &a->job, text);
	egs_world_known(d->world, a->job.job_id, &known);
	p.user = known.user;
	keep(d, egs_store_asked, &p);
	egs_errf(&words, "%s; %" PRId64 " s to save and go", reason.msg,
		 a->notice.deadline - a->notice.asked);
	tell(d, a, "asked", words.msg);
	egs_nodes_changed(d, &a->job);
}

static const char *how_of(const struct egs_notice *n)
{
	if (n->spared)
		return "spared";
	if (n->yielded)
		return "yielded";
	if (n->late)
		return "late";
	return n->ended ? "ended" : "left";
}

static void gone(struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_notice *n = &a->notice;
	struct egs_preemption p = {
		.job = a->job,
		.request = n->request,
		.gone = egs_daemon_now(),
		.saved = n->saved >= n->asked ? n->saved : 0,
		.yielded = n->yielded,
		.how = how_of(n),
		.work_s = n->ended && !n->late ? 0 : n->work_s,
		.held_s = n->held_s,
		.restart_s = n->ended ? 0 : n->restart_s,
	};
	struct egs_err words;

	keep(d, egs_store_gone, &p);
	if (n->spared) {
		tell(d, a, p.how, "it runs on with its own time limit");
		egs_nodes_changed(d, &a->job);
		return;
	}
	egs_errf(&words,
		 "%" PRIu32 " s after it was asked, with %" PRIu32
		 " s of work lost on %" PRIu32 " GPUs",
		 n->held_s, p.work_s, n->gpus);
	tell(d, a, p.how, words.msg);
}

static void back(struct egs_daemon *d, const struct egs_action *a)
{
	struct egs_preemption p = {
		.job = a->job,
		.request = a->notice.request,
		.restarted = egs_daemon_now(),
	};

	keep(d, egs_store_back, &p);
	tell(d, a, "back", "it runs again");
}

void egs_daemon_ledger(struct egs_daemon *d, const struct egs_action *a)
{
	if (a->kind == EGS_ACT_ASKED)
		asked(d, a);
	else if (a->kind == EGS_ACT_GONE)
		gone(d, a);
	else if (a->kind == EGS_ACT_BACK)
		back(d, a);
}
