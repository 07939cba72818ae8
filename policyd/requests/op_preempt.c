/* op_preempt.c - an operator has a job save and go */
#include <inttypes.h>
#include <stdio.h>

#include "policyd/requests/requests.h"

int egs_verbs_may_ask(const struct egs_daemon *d, const struct egs_job *j,
		      struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (!j->running)
		return egs_errf(err, "job %" PRIu32 " does not run", id);
	if (j->facts.tier < 0)
		return egs_errf(err, "job %" PRIu32 " is not managed", id);
	if (d->paused || !egs_daemon_enforces(d, j->facts.team))
		return egs_errf(err,
				"job %" PRIu32 ": egs-policyd only observes, "
				"see 'egsctl ping'",
				id);
	if (j->floor)
		return egs_errf(err,
				"job %" PRIu32 " holds up the floor of its "
				"workload, of which nothing is taken",
				id);
	if (j->facts.suspended)
		return egs_errf(err,
				"job %" PRIu32 " is suspended and cannot "
				"answer: resume it first",
				id);
	return 0;
}

static int check(const struct egs_daemon *d, const struct egs_job *j,
		 struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (egs_verbs_may_ask(d, j, err) < 0)
		return -1;
	if (j->asked)
		return egs_errf(err, "job %" PRIu32 " was asked to go already",
				id);
	if (egs_policy_fate(d->policy, id) == EGS_FATE_SPARE)
		return egs_errf(err,
				"job %" PRIu32 " cannot be requeued, and its "
				"tier spares such jobs",
				id);
	return 0;
}

static int ask(struct egs_daemon *d, const struct egs_ident *job,
	       const char *who, const char *reason)
{
	struct egs_event ev = { .kind = EGS_EV_ASKED,
				.job = *job,
				.tell = true };
	int rc;

	snprintf(d->ask_who, sizeof(d->ask_who), "%s", who);
	snprintf(d->ask_reason, sizeof(d->ask_reason), "%s", reason);
	rc = egs_policy_apply(d->policy, &ev, egs_daemon_now());
	d->unkept = true;
	egs_daemon_settle(d);
	d->ask_who[0] = d->ask_reason[0] = '\0';
	return rc;
}

int egs_verb_preempt(void *arg, const struct egs_peer *peer,
		     const struct egs_msg *request, struct egs_msg *answer,
		     struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_verbs_job(d, request, err);
	struct egs_err clean, words;
	const char *reason;

	if (!j || check(d, j, err) < 0 ||
	    !(reason = egs_verbs_reason(request, &clean, err)))
		return -1;
	if (ask(d, &j->ident, egs_verbs_who(d, peer), reason) < 0)
		return egs_errf(err, "out of memory");
	egs_errf(&words,
		 "job %" PRIu32 ": asked to save and go within %" PRId64 " s",
		 j->ident.job_id, j->deadline - j->asked_at);
	egs_msg_set_str(answer, "message", words.msg);
	return 0;
}
