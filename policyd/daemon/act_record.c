/* act_record.c - record, log and explain every preemption */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

static const char *team_name(const struct egs_daemon *d,
			     const struct egs_job *j)
{
	return j && j->facts.team >= 0
		       ? egs_daemon_conf(d)->team[j->facts.team].name
		       : "";
}

static const char *tier_name(const struct egs_daemon *d,
			     const struct egs_job *j)
{
	return j && j->facts.tier >= 0
		       ? egs_daemon_conf(d)->tier[j->facts.tier].name
		       : "";
}

struct egs_err egs_daemon_preempt_reason(const struct egs_daemon *d,
					 uint32_t requester)
{
	const struct egs_job *j =
		requester ? egs_policy_job(d->policy, requester) : NULL;
	struct egs_err reason;

	if (!requester)
		egs_errf(&reason, "its GPUs are needed");
	else if (!*team_name(d, j))
		egs_errf(&reason, "job %" PRIu32 " needs its GPUs", requester);
	else
		egs_errf(&reason,
			 "job %" PRIu32 " of team %s, tier %s, needs its GPUs",
			 requester, team_name(d, j), tier_name(d, j));
	return reason;
}

/* "2 of your 4 GPUs were idle for 31 min and job 901 waits for 2" */
static struct egs_err explain_idle(const struct egs_daemon *d,
				   const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	const struct egs_job *by = egs_policy_job(d->policy, a->requester);
	bool minutes = a->idle.idle_s >= 120;
	struct egs_err reason;

	egs_errf(&reason,
		 "%" PRIu32 " of your %" PRIu32 " GPUs were idle for %" PRIu32
		 " %s",
		 a->idle.gpus, j ? j->gpus : a->idle.gpus,
		 minutes ? a->idle.idle_s / 60 : a->idle.idle_s,
		 minutes ? "min" : "s");
	if (by)
		egs_errf(&reason, "%s and job %" PRIu32 " waits for %" PRIu32,
			 reason.msg, a->requester, egs_job_gpus_wanted(by));
	return reason;
}

struct egs_err egs_daemon_action_reason(const struct egs_daemon *d,
					const struct egs_action *a)
{
	struct egs_err reason;

	if (a->idle.gpus)
		return explain_idle(d, a);
	if (!a->reason)
		return egs_daemon_preempt_reason(d, a->requester);
	egs_errf(&reason, "%s", a->reason);
	return reason;
}

struct find_record {
	const struct egs_job *job;
	struct egs_err reason; /* "": not found */
};

static void find_record(void *arg, const struct egs_preemption *p)
{
	struct find_record *find = arg;

	if (p->job.nonce == find->job->ident.nonce &&
	    p->notice == find->job->request_no)
		egs_errf(&find->reason, "%s", p->reason);
}

struct egs_err egs_daemon_notice_reason(struct egs_daemon *d,
					const struct egs_job *j)
{
	struct find_record find = { .job = j };
	struct egs_err err;

	/* A read that fails undoes the open transaction. */
	if (d->store)
		egs_daemon_check_store(
			d,
			egs_store_preempt_each(d->store, j->ident.job_id, 0, 1,
					       find_record, &find, &err),
			&err);
	return *find.reason.msg ? find.reason
				: egs_daemon_preempt_reason(d, j->requester);
}

static void write_record(struct egs_daemon *d, const struct egs_action *a,
			 int (*write)(struct egs_store *,
				      const struct egs_preemption *,
				      struct egs_err *),
			 const struct egs_preemption *p)
{
	struct egs_err err;

	if (egs_daemon_begin(d, &err) == 0)
		egs_daemon_check_store(d, write(d->store, p, &err), &err);
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	EGS_PARTS_CALL(d, preemption_recorded, d, a, p);
}

static void log_preemption(struct egs_daemon *d, const struct egs_action *a,
			   const char *what, const char *reason)
{
	struct egs_err err;

	egs_log_info("job %" PRIu32 ": %s, %s", a->job.job_id, what, reason);
	egs_daemon_log_event(d, &a->job, what,
			     a->operator_name ? a->operator_name : "policy",
			     reason, &err);
}

static void record_request(struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err reason = egs_daemon_action_reason(d, a), line;
	struct egs_job_info known = { .user = "" };
	char text[EGS_JOB_TEXT_SIZE];
	struct egs_preemption p = {
		.job = a->job,
		.notice = a->preempt.request_no,
		.gpus = a->preempt.gpus,
		.requester = a->requester,
		.job_text = text,
		.team = team_name(d, j),
		.tier = tier_name(d, j),
		.requester_team =
			team_name(d, egs_policy_job(d->policy, a->requester)),
		.reason = reason.msg,
		.requested_at = a->preempt.requested_at,
		.deadline = a->preempt.deadline,
	};

	egs_daemon_format_job_id(d, &a->job, text);
	egs_cluster_lookup(d->cluster, a->job.job_id, &known);
	p.user = known.user;
	write_record(d, a, egs_store_preempt_requested, &p);
	egs_errf(&line, "%s; it has %" PRId64 " s to checkpoint and exit",
		 reason.msg, a->preempt.deadline - a->preempt.requested_at);
	log_preemption(d, a, "asked", line.msg);
	egs_daemon_changed(d, EGS_CHANGED_NOTICES);
}

static const char *outcome_name(const struct egs_preempt_info *n)
{
	if (n->withdrawn)
		return "spared";
	if (n->yielded_at)
		return "yielded";
	if (n->late)
		return "late";
	return n->ended ? "ended" : "left";
}

static void record_departure(struct egs_daemon *d, const struct egs_action *a)
{
	const struct egs_preempt_info *n = &a->preempt;
	struct egs_preemption p = {
		.job = a->job,
		.notice = n->request_no,
		.departed_at = egs_daemon_now(),
		.saved_at = n->saved_at >= n->requested_at ? n->saved_at : 0,
		.yielded_at = n->yielded_at,
		.outcome = outcome_name(n),
		.lost_work_s = n->ended && !n->late ? 0 : n->lost_work_s,
		.held_s = n->held_s,
		.restart_s = n->ended ? 0 : n->restart_s,
	};
	struct egs_err line;

	write_record(d, a, egs_store_preempt_departed, &p);
	if (n->withdrawn) {
		log_preemption(d, a, p.outcome,
			       "the preemption is withdrawn; the job has its "
			       "own time limit again");
		egs_daemon_changed(d, EGS_CHANGED_NOTICES);
		return;
	}
	egs_errf(&line,
		 "%" PRIu32 " s after the notice; %" PRIu32
		 " s of work lost on %" PRIu32 " GPUs",
		 n->held_s, egs_preemption_lost_s(&p), n->gpus);
	log_preemption(d, a, p.outcome, line.msg);
}

static void record_restart(struct egs_daemon *d, const struct egs_action *a)
{
	struct egs_preemption p = {
		.job = a->job,
		.notice = a->preempt.request_no,
		.restarted_at = egs_daemon_now(),
	};

	write_record(d, a, egs_store_preempt_restarted, &p);
	log_preemption(d, a, "back", "the job runs again");
}

void egs_daemon_record_preemption(struct egs_daemon *d,
				  const struct egs_action *a)
{
	if (a->kind == EGS_ACT_RECORD_REQUEST)
		record_request(d, a);
	else if (a->kind == EGS_ACT_RECORD_DEPARTURE)
		record_departure(d, a);
	else if (a->kind == EGS_ACT_RECORD_RESTART)
		record_restart(d, a);
}
