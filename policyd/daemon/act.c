/* act.c - carry out actions of the policy
 *
 * The daemon writes an intent to disk, asks the worker, and closes the intent
 * with the worker's answer.  In observe mode, while paused and while the disk
 * fails, the daemon only records what it would have done.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

static const struct action_kind {
	enum egs_action_kind kind;
	uint32_t operation; /* enum egs_worker_action */
	const char *name;
} action_kinds[] = {
	{ EGS_ACT_REQUEUE, EGS_DO_REQUEUE, "requeue" },
	{ EGS_ACT_CANCEL, EGS_DO_CANCEL, "cancel" },
	{ EGS_ACT_RELEASE, EGS_DO_BEGIN_NOW, "release" },
	{ EGS_ACT_EXIT_IS_FINAL, EGS_DO_TOUCH | EGS_DO_TOUCH_EXIT,
	  "exit-is-final" },
	{ EGS_ACT_WITHDRAW, EGS_DO_TOUCH, "withdraw" },
	{ EGS_ACT_SIGNAL, EGS_DO_SIGNAL, "signal" },
	{ EGS_ACT_REQUEUE_HOLD, EGS_DO_REQUEUE_HOLD, "requeue-hold" },
	{ EGS_ACT_CANCEL_PENDING, EGS_DO_CANCEL_PENDING, "cancel-pending" },
	{ EGS_ACT_HOLD, EGS_DO_HOLD, "hold" },
	{ EGS_ACT_HOLD_ADMIN, EGS_DO_HOLD_ADMIN, "hold-admin" },
	{ EGS_ACT_UNHOLD, EGS_DO_UNHOLD, "unhold" },
	{ EGS_ACT_UNHOLD_ADMIN, EGS_DO_UNHOLD_ADMIN, "unhold-admin" },
};

static const struct action_kind *find_action_kind(enum egs_action_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(action_kinds); i++)
		if (action_kinds[i].kind == kind)
			return &action_kinds[i];
	return NULL;
}

enum egs_action_kind egs_daemon_action_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(action_kinds); i++)
		if (strcmp(action_kinds[i].name, name) == 0)
			return action_kinds[i].kind;
	return EGS_ACT_NONE;
}

void egs_daemon_format_job_id(const struct egs_daemon *d,
			      const struct egs_identity *job,
			      char text[EGS_JOB_TEXT_SIZE])
{
	struct egs_job_info known;

	/* A pending array has the id of one of its tasks. */
	if (job->array_task != EGS_NO_TASK &&
	    egs_cluster_lookup(d->cluster, job->job_id, &known) == 0 &&
	    known.array_job_id)
		snprintf(text, EGS_JOB_TEXT_SIZE, "%" PRIu32 "_%" PRIu32,
			 known.array_job_id, job->array_task);
	else
		snprintf(text, EGS_JOB_TEXT_SIZE, "%" PRIu32, job->job_id);
}

/* Returns the operation, with the number of the signal for EGS_DO_SIGNAL. */
static uint32_t encode_operation(const struct egs_daemon *d,
				 const struct action_kind *entry,
				 const struct egs_identity *job)
{
	const struct egs_job *j = egs_policy_job(d->policy, job->job_id);
	uint32_t operation = entry->operation;

	if (entry->operation != EGS_DO_SIGNAL || !j)
		return operation;
	operation |= EGS_DO_SIGNAL_NUMBER(j->facts.signal ? j->facts.signal
							  : SIGTERM);
	return j->facts.signal_batch ? operation | EGS_DO_SIGNAL_BATCH
				     : operation;
}

void egs_daemon_send_action(struct egs_daemon *d, uint64_t id,
			    enum egs_action_kind kind,
			    const struct egs_identity *job)
{
	const struct action_kind *entry = find_action_kind(kind);
	char text[EGS_JOB_TEXT_SIZE], variable[EGS_RESUME_INFO_MAX];
	bool has_info = kind == EGS_ACT_RELEASE &&
			egs_daemon_format_resume_info(d, job, variable) == 0;

	if (!entry)
		return;
	egs_daemon_format_job_id(d, job, text);
	d->intents.pending++;
	egs_worker_act(d->worker, id, encode_operation(d, entry, job), text,
		       has_info ? variable : NULL);
}

static bool is_acting_for(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);

	return !j || egs_daemon_is_acting(d, j->facts.team);
}

static const char *explain_withdrawal(const struct egs_daemon *d,
				      const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);

	if (j && j->facts.suspended)
		return "the job is suspended and cannot checkpoint";
	if (j && (!is_acting_for(d, j->ident.job_id) ||
		  !is_acting_for(d, j->requester)))
		return "EGS only observes now, or is paused";
	return j && j->late ? "the job has not checkpointed by the deadline; "
			      "another job is preempted"
			    : "the job that needed its GPUs is gone";
}

/* Does the action follow from a wish that the log has with its reason? */
static bool is_wish(const struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);

	return j && j->wish;
}

/* Explain an action for the log, the store and the owner of the job. */
static struct egs_err explain_action(const struct egs_daemon *d,
				     const struct egs_action *a)
{
	struct egs_err reason;

	switch (a->kind) {
	case EGS_ACT_RELEASE:
		egs_errf(&reason, "the job is back in the queue");
		break;
	case EGS_ACT_WITHDRAW:
		egs_errf(&reason, "%s", explain_withdrawal(d, a));
		break;
	case EGS_ACT_EXIT_IS_FINAL:
		egs_errf(&reason, "the job declared no checkpoint or has "
				  "finished: if it exits before its "
				  "deadline, it is not requeued");
		break;
	default:
		reason = egs_daemon_action_reason(d, a);
		if (!a->reason && is_wish(d, a))
			egs_errf(&reason, "as its owner or an operator wants");
	}
	return reason;
}

static void record_observed(struct egs_daemon *d, const struct egs_action *a,
			    const struct action_kind *entry, const char *reason)
{
	const char *because = d->store_failed ? "the store fails"
			      : d->paused     ? "paused"
					      : "observing";
	struct egs_err would, err;

	egs_errf(&would, "would %s", entry->name);
	egs_log_info("job %" PRIu32 ": %s, %s (%s)", a->job.job_id, would.msg,
		     reason, because);
	egs_daemon_log_event(d, &a->job, would.msg, "policy", reason, &err);
}

static void execute_action(struct egs_daemon *d, const struct egs_action *a,
			   const struct action_kind *entry, const char *reason)
{
	struct egs_intent intent = {
		.at = egs_daemon_now(),
		.nonce = a->job.nonce,
		.job_id = a->job.job_id,
		.restarts = a->job.restarts,
		.action = entry->name,
		.reason = reason,
	};
	struct egs_err err;

	if (egs_daemon_log_event(d, &a->job, entry->name, "policy", reason,
				 &err) < 0 ||
	    egs_daemon_check_store(
		    d, egs_store_intent_add(d->store, &intent, &err), &err) <
		    0 ||
	    egs_daemon_commit(d, &err) < 0)
		return;
	egs_log_info("job %" PRIu32 ": %s, %s", a->job.job_id, entry->name,
		     reason);
	egs_daemon_send_action(d, intent.id, a->kind, &a->job);
}

static bool may_act(const struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);

	return !d->store_failed && (egs_daemon_is_acting(d, a->team) ||
				    (j && egs_policy_is_notice_binding(j)));
}

/* slurmctld needs the row of the job for this action. */
static bool is_table_action(const struct egs_action *a)
{
	return a->kind == EGS_ACT_EXIT_IS_FINAL || a->kind == EGS_ACT_WITHDRAW;
}

static bool is_idle_action(const struct egs_action *a)
{
	return a->kind == EGS_ACT_IDLE_WARN ||
	       a->kind == EGS_ACT_IDLE_RECLAIM || a->kind == EGS_ACT_STALLED;
}

static void apply_action(struct egs_daemon *d, const struct egs_action *a)
{
	const struct action_kind *entry = find_action_kind(a->kind);
	struct egs_err reason;

	egs_daemon_record_preemption(d, a);
	if (a->kind == EGS_ACT_ID_REUSED)
		egs_daemon_forget_job(d, &a->job);
	if (a->kind == EGS_ACT_SHRINK)
		EGS_PARTS_CALL(d, shrink_job, d, a, may_act(d, a));
	if (is_idle_action(a))
		EGS_PARTS_CALL(d, idle_job, d, a, may_act(d, a));
	if (!entry)
		return;
	reason = explain_action(d, a);
	if (!may_act(d, a) && is_table_action(a))
		return;
	if (!may_act(d, a))
		record_observed(d, a, entry, reason.msg);
	else
		execute_action(d, a, entry, reason.msg);
}

void egs_daemon_run_actions(struct egs_daemon *d)
{
	const struct egs_action *a;
	size_t n, i;

	a = egs_policy_actions(d->policy, &n);
	for (i = 0; i < n && !is_table_action(&a[i]); i++)
		;
	if (i < n)
		egs_daemon_publish_jobs(d);
	for (i = 0; i < n; i++)
		apply_action(d, &a[i]);
	if (egs_policy_rows_changed(d->policy))
		egs_daemon_changed(d, EGS_CHANGED_TABLE | EGS_CHANGED_JOBS);
	if (egs_policy_claims_changed(d->policy))
		egs_daemon_changed(d, EGS_CHANGED_NODES);
	egs_policy_clear_actions(d->policy);
}

/* The worker may report a failure although the action is done.  The next poll
 * shows the outcome.
 */
void egs_daemon_action_done(struct egs_daemon *d, uint64_t id, const char *why)
{
	struct egs_err err;

	if (d->intents.pending)
		d->intents.pending--;
	if (why) {
		egs_log_warn("intent %" PRIu64 ": %s", id, why);
		d->intents.open = true;
		return;
	}
	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(d,
				   egs_store_intent_done(d->store, id, "done",
							 egs_daemon_now(),
							 &err),
				   &err) == 0 &&
	    egs_daemon_commit(d, &err) == 0)
		return;
	d->intents.open = true;
}
