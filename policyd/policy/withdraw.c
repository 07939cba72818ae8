/* withdraw.c - a preemption is withdrawn, and the job runs on
 *
 * Reasons: the requester has ended, started elsewhere or is held, and no other
 * job claims the victim's GPUs; the victim is suspended and cannot save; the
 * victim has not saved in time, and its tier has AtDeadline=spare; EGS enforced
 * and only observes now.
 *
 * EGS_ACT_WITHDRAW makes Slurm withdraw the preemption.  Until Slurm shows that
 * (EGS_EV_WITHDRAWN) the job is 'withdrawing', and its notice is no longer
 * shown.  The job may already be saving: until the old deadline its yield or
 * exit still counts as a yield.
 */
#include "policyd/policy/policy_internal.h"

/* Slurm was down or refused: repeat the withdrawal after this time. */
#define RETRY_S 10

void egs_withdraw_request(struct egs_policy *p, struct egs_job *j)
{
	if (!j->running || !j->preempting || j->yielded)
		return;
	j->withdrawing = true;
	j->withdrawn_at = p->now;
	p->any_preempting = true;
	p->rows_changed = true;
	egs_policy_act_job(p, EGS_ACT_WITHDRAW, j);
}

void egs_withdraw_confirmed(struct egs_policy *p, struct egs_job *j)
{
	struct egs_preempt_info info = { .request_no = j->request_no,
					 .gpus = j->gpus,
					 .withdrawn = true };

	if (!j->preempting || !j->withdrawing)
		return;
	egs_preempt_record(p, EGS_ACT_RECORD_DEPARTURE, j, &info);
	j->preempting = j->withdrawing = j->late = false;
	j->requester = j->named_requester = 0;
	if (!egs_preempt_exit_requeues(j))
		j->deadline = 0;
	p->rows_changed = true;
}

/* A preemption by PreemptBase= in observe mode is none of ours. */
static bool is_enforced_no_more(const struct egs_policy *p,
				const struct egs_job *j)
{
	const struct egs_job *by = egs_policy_job(p, j->requester);

	return j->enforced &&
	       (egs_policy_is_team_observed(p, j->facts.team) ||
		(by && egs_policy_is_team_observed(p, by->facts.team)));
}

/* Do not withdraw in the second of the request.  If Slurm preempted the job
 * again, both requests would have the same time.
 */
static void check_request(struct egs_policy *p, struct egs_job *j)
{
	if (j->withdrawing) {
		if (p->now >= j->withdrawn_at + RETRY_S)
			egs_withdraw_request(p, j);
		return;
	}
	if (p->now <= j->requested_at)
		return;
	/* An enforcing team must not preempt the job again at once. */
	if (is_enforced_no_more(p, j) && j->protected_until < j->deadline)
		j->protected_until = j->deadline;
	if (j->facts.suspended || is_enforced_no_more(p, j) ||
	    egs_requester_gone(p, j))
		egs_withdraw_request(p, j);
}

void egs_withdraw_unneeded(struct egs_policy *p)
{
	if (!p->any_preempting)
		return;
	p->any_preempting = false;
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		if (!j->running || !j->preempting || j->yielded)
			continue;
		p->any_preempting = true;
		check_request(p, j);
	}
}
