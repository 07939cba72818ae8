/* deadline.c - a preempted job is requeued when it yields or at its deadline
 *
 * Slurm has a deadline as well, and requeues the job then, whatever AtDeadline=
 * of its tier says.  If the tier says something else, Slurm's deadline is later
 * than ours and takes effect only while the daemon is down.
 */
#include "policyd/policy/policy_internal.h"

#define SLACK_S 30

/* After AtDeadline=spare a job is protected for its MinRuntime, but at least
 * for this time.
 */
#define PROTECT_MIN_S 60

/* Slurm requeues or cancels a het job as a whole, by its first component. */
static void end_run_by_fate(struct egs_policy *p, const struct egs_job *j,
			    enum egs_fate fate)
{
	if (j->ident.het_offset)
		return;
	if (fate == EGS_FATE_REQUEUE)
		egs_policy_act_job(p,
				   egs_job_is_aborted(j) ? EGS_ACT_REQUEUE_HOLD
							 : EGS_ACT_REQUEUE,
				   j);
	else if (fate == EGS_FATE_CANCEL)
		egs_policy_act_job(p, EGS_ACT_CANCEL, j);
}

void egs_deadline_end_run(struct egs_policy *p, const struct egs_job *j)
{
	enum egs_fate fate = egs_preempt_fate(p, j);

	end_run_by_fate(p, j,
			fate == EGS_FATE_CANCEL ? fate : EGS_FATE_REQUEUE);
}

static enum egs_fate fate_at_deadline(const struct egs_policy *p,
				      const struct egs_job *j)
{
	enum egs_fate fate = egs_preempt_fate(p, j);

	if (j->facts.tier < 0 || fate != EGS_FATE_REQUEUE ||
	    egs_job_is_aborted(j))
		return fate;
	return p->conf->tier[j->facts.tier].at_deadline;
}

uint32_t egs_deadline_slack_s(const struct egs_policy *p,
			      const struct egs_job *j)
{
	return egs_preempt_fate(p, j) == fate_at_deadline(p, j) ? 0 : SLACK_S;
}

egs_time_t egs_deadline_for(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t until)
{
	egs_time_t ours = j->requested_at + egs_preempt_grace_s(p, j);

	if (!until)
		return ours;
	return egs_deadline_slack_s(p, j) && ours < until ? ours : until;
}

/* AtDeadline=spare: Slurm preempts another job in place of this job. */
static void protect_job(struct egs_policy *p, struct egs_job *j)
{
	uint32_t s = p->conf->tier[j->facts.tier].min_runtime_s;

	j->protected_until = p->now + (s > PROTECT_MIN_S ? s : PROTECT_MIN_S);
	egs_withdraw_request(p, j);
}

static void check_deadline(struct egs_policy *p, struct egs_job *j)
{
	enum egs_fate fate;

	if (!j->deadline)
		return;
	if (j->deadline > p->now) {
		if (j->deadline < p->next_deadline)
			p->next_deadline = j->deadline;
		return;
	}
	j->deadline = 0;
	j->wish_tried_at = p->now; /* wish.c repeats it later */
	if (j->yielded) {
		egs_deadline_end_run(p, j);
		return;
	}
	if (!j->preempting || j->withdrawing || j->facts.suspended) {
		p->rows_changed = true;
		return;
	}
	j->late = true;
	fate = fate_at_deadline(p, j);
	if (fate == EGS_FATE_NONE && j->facts.tier >= 0)
		protect_job(p, j);
	else
		end_run_by_fate(p, j, fate);
}

void egs_deadline_check_all(struct egs_policy *p)
{
	if (p->now < p->next_deadline)
		return;
	p->next_deadline = INT64_MAX;
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		check_deadline(p, j);
}
