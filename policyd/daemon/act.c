/* act.c - what the policy wants done: first written, then done
 *
 * An intent is on disk before the worker is asked, and settled by its answer.
 * In observe mode, while paused and while the disk fails nothing is done, and
 * what would have been done is recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/op_shrink.h"

static const struct deed {
	enum egs_action_kind kind;
	enum egs_do how;
	const char *name;
} deeds[] = {
	{ EGS_ACT_REQUEUE, EGS_DO_REQUEUE, "requeue" },
	{ EGS_ACT_CANCEL, EGS_DO_CANCEL, "cancel" },
	{ EGS_ACT_RELEASE, EGS_DO_BEGIN_NOW, "release" },
	{ EGS_ACT_STAND, EGS_DO_STAND, "stand" },
	{ EGS_ACT_SPARE, EGS_DO_SPARE, "spare" },
	{ EGS_ACT_SIGNAL, EGS_DO_SIGNAL, "signal" },
};

static const struct deed *deed_of(enum egs_action_kind kind)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deeds); i++)
		if (deeds[i].kind == kind)
			return &deeds[i];
	return NULL;
}

enum egs_action_kind egs_act_kind(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deeds); i++)
		if (strcmp(deeds[i].name, name) == 0)
			return deeds[i].kind;
	return EGS_ACT_ROW;
}

void egs_daemon_job_text(const struct egs_daemon *d,
			 const struct egs_ident *job, char text[EGS_JOB_TEXT])
{
	struct egs_known known;

	/* A whole array is called by the id of one of its tasks. */
	if (job->task != EGS_NO_TASK &&
	    egs_world_known(d->world, job->job_id, &known) == 0 &&
	    known.array_job_id)
		snprintf(text, EGS_JOB_TEXT, "%" PRIu32 "_%" PRIu32,
			 known.array_job_id, job->task);
	else
		snprintf(text, EGS_JOB_TEXT, "%" PRIu32, job->job_id);
}

/* With the number of the signal, where one is sent. */
static uint32_t how_to(const struct egs_daemon *d, const struct deed *deed,
		       const struct egs_ident *job)
{
	const struct egs_job *j = egs_policy_job(d->policy, job->job_id);
	uint32_t how = deed->how;

	if (deed->how != EGS_DO_SIGNAL || !j)
		return how;
	how |= EGS_DO_NUMBER(j->facts.signal);
	return j->facts.signal_batch ? how | EGS_DO_SHELL : how;
}

void egs_daemon_send(struct egs_daemon *d, uint64_t id,
		     enum egs_action_kind kind, const struct egs_ident *job)
{
	const struct deed *deed = deed_of(kind);
	char text[EGS_JOB_TEXT], variable[EGS_AGAIN_MAX];
	struct egs_again again;
	bool told = kind == EGS_ACT_RELEASE &&
		    egs_daemon_again(d, job, &again) == 0;

	if (!deed)
		return;
	egs_daemon_job_text(d, job, text);
	if (told)
		egs_again_write(&again, variable);
	d->under_way++;
	egs_worker_act(d->worker, id, how_to(d, deed, job), text,
		       told ? variable : NULL);
}

static const char *why_spared(const struct egs_daemon *d,
			      const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);

	if (j && j->facts.suspended)
		return "it is suspended and cannot save";
	return j && j->late ? "it has not saved in time, another is to go"
			    : "nobody needs its GPUs any more";
}

/* In words, for the log, the store and the owner of the job. */
static struct egs_err reason_of(const struct egs_daemon *d,
				const struct egs_action *a)
{
	struct egs_err reason;

	switch (a->kind) {
	case EGS_ACT_RELEASE:
		egs_errf(&reason, "it was requeued to make room and may start "
				  "again");
		break;
	case EGS_ACT_SPARE:
		egs_errf(&reason, "%s", why_spared(d, a));
		break;
	case EGS_ACT_STAND:
		egs_errf(&reason, "should it end before its time is up, that "
				  "is its end");
		break;
	default:
		reason = egs_daemon_wanted(d, a->by);
	}
	return reason;
}

static void record_only(struct egs_daemon *d, const struct egs_action *a,
			const struct deed *deed, const char *reason)
{
	const char *because = d->store_failed ? "the store fails"
			      : d->paused     ? "paused"
					      : "observing";
	struct egs_err would, err;

	egs_errf(&would, "would %s", deed->name);
	egs_info("job %" PRIu32 ": %s, %s (%s)", a->job.job_id, would.msg,
		 reason, because);
	egs_daemon_deed(d, &a->job, would.msg, "policy", reason, &err);
}

static void act_on(struct egs_daemon *d, const struct egs_action *a,
		   const struct deed *deed, const char *reason)
{
	struct egs_intent intent = {
		.at = egs_daemon_now(),
		.nonce = a->job.nonce,
		.job_id = a->job.job_id,
		.restarts = a->job.restarts,
		.what = deed->name,
		.reason = reason,
	};
	struct egs_err err;

	if (egs_daemon_deed(d, &a->job, deed->name, "policy", reason, &err) <
		    0 ||
	    egs_daemon_stored(d, egs_store_intend(d->store, &intent, &err),
			      &err) < 0 ||
	    egs_daemon_commit(d, &err) < 0)
		return;
	egs_info("job %" PRIu32 ": %s, %s", a->job.job_id, deed->name, reason);
	egs_daemon_send(d, intent.id, a->kind, &a->job);
}

static bool may_act(const struct egs_daemon *d, const struct egs_action *a)
{
	return !d->paused && !d->store_failed &&
	       egs_daemon_enforces(d, a->team);
}

/* Slurm asks the table what it is to do. */
static bool reads_table(const struct egs_action *a)
{
	return a->kind == EGS_ACT_STAND || a->kind == EGS_ACT_SPARE;
}

static void take(struct egs_daemon *d, const struct egs_action *a)
{
	const struct deed *deed = deed_of(a->kind);
	struct egs_err reason;

	d->stale = d->unkept = true;
	egs_daemon_ledger(d, a);
	d->marks_stale |= a->kind == EGS_ACT_CLAIMS;
	if (a->kind == EGS_ACT_CLOSED)
		egs_daemon_forget(d, &a->job);
	if (a->kind == EGS_ACT_SHRINK)
		egs_shrink_act(d, a, may_act(d, a));
	if (!deed)
		return;
	reason = reason_of(d, a);
	if (!may_act(d, a) && reads_table(a))
		return;
	if (!may_act(d, a))
		record_only(d, a, deed, reason.msg);
	else
		act_on(d, a, deed, reason.msg);
}

void egs_daemon_act(struct egs_daemon *d)
{
	const struct egs_action *a;
	size_t n, i;

	a = egs_policy_actions(d->policy, &n);
	for (i = 0; i < n && !reads_table(&a[i]); i++)
		;
	if (i < n)
		egs_daemon_publish(d);
	for (i = 0; i < n; i++)
		take(d, &a[i]);
	if (egs_policy_lost(d->policy))
		d->stale = d->marks_stale = true;
	egs_policy_drain(d->policy);
}

/* A failure may be of the answer alone: the next look tells. */
void egs_daemon_acted(struct egs_daemon *d, uint64_t id, const char *why)
{
	struct egs_err err;

	if (d->under_way)
		d->under_way--;
	if (why) {
		egs_warning("intent %" PRIu64 ": %s", id, why);
		d->doubt = true;
		return;
	}
	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_stored(d,
			      egs_store_settle(d->store, id, "done",
					       egs_daemon_now(), &err),
			      &err) == 0 &&
	    egs_daemon_commit(d, &err) == 0)
		return;
	d->doubt = true;
}
