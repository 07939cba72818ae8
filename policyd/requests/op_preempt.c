/* op_preempt.c - an operator or the lead of a team preempts a job */
#include <inttypes.h>
#include <stdio.h>

#include "policyd/requests/requests.h"

int egs_requests_check_preemptible(const struct egs_daemon *d,
				   const struct egs_job *j, struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (!j->running)
		return egs_errf(err, "job %" PRIu32 " is not running", id);
	if (j->facts.tier < 0)
		return egs_errf(err, "job %" PRIu32 " is not managed", id);
	if (d->paused)
		return egs_errf(err,
				"job %" PRIu32 ": EGS is paused (%s); run "
				"'egsctl unpause' first",
				id, d->pause_reason);
	if (!egs_daemon_is_acting(d, j->facts.team))
		return egs_errf(
			err,
			"job %" PRIu32
			": %s; see 'egsctl ping' and 'egsctl show teams'",
			id,
			egs_requests_explain_observing(d, j->facts.team).text);
	if (j->in_floor)
		return egs_errf(
			err,
			"job %" PRIu32
			" is protected: it is part of its workload's Floor=",
			id);
	if (j->facts.suspended)
		return egs_errf(
			err,
			"job %" PRIu32
			" is suspended and cannot checkpoint; resume it first",
			id);
	return 0;
}

static int check_preempt(const struct egs_daemon *d, const struct egs_job *j,
			 struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (egs_requests_check_preemptible(d, j, err) < 0)
		return -1;
	/* The policy borrows the reason until egs_daemon_update(), which does
	 * nothing while slurmctld is down.
	 */
	if (d->slurmctld_down)
		return egs_errf(err,
				"job %" PRIu32 ": slurmctld does not answer; "
				"try again later",
				id);
	if (j->preempting)
		return egs_errf(
			err, "job %" PRIu32 " is being preempted already", id);
	if (egs_policy_fate(d->policy, id) == EGS_FATE_NONE)
		return egs_errf(
			err,
			"job %" PRIu32
			" cannot be requeued, and its tier has NoRequeue=spare",
			id);
	return 0;
}

int egs_requests_preempt_job(struct egs_daemon *d, const struct egs_job *j,
			     const char *who, const char *reason,
			     struct egs_err *err)
{
	struct egs_event ev = { .kind = EGS_EV_PREEMPTING,
				.job = j->ident,
				.notify_job = true,
				.reason = reason,
				.operator_name = who };

	if (check_preempt(d, j, err) < 0)
		return -1;
	if (egs_policy_apply(d->policy, &ev, egs_daemon_now()) < 0)
		return egs_errf(err, "out of memory");
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	egs_daemon_update(d);
	return 0;
}

int egs_verb_preempt(void *arg, const struct egs_peer *peer,
		     const struct egs_msg *request, struct egs_msg *answer,
		     struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	struct egs_err clean, text;
	const char *reason, *who;

	if (!j || !(who = egs_requests_require_lead(d, peer->uid, j, err)) ||
	    check_preempt(d, j, err) < 0 ||
	    !(reason = egs_requests_read_reason(request, &clean, err)))
		return -1;
	if (egs_requests_preempt_job(d, j, who, reason, err) < 0)
		return -1;
	egs_errf(&text,
		 "job %" PRIu32 ": preempted; it has %" PRId64
		 " s to checkpoint and exit",
		 j->ident.job_id, j->deadline - j->requested_at);
	egs_msg_set_str(answer, "message", text.msg);
	return 0;
}
