/* deadline.c - who was asked goes: as soon as it yields, or at its deadline
 *
 * Slurm has a deadline, too, and then requeues the job whatever its tier says.
 * Where that says something else Slurm's is later, so that ours comes first; it
 * counts only while nobody decides.
 */
#include "policyd/policy/policy_internal.h"

#define SLACK_S 30

/* Who was spared is not asked again for its MinRuntime, and for so long. */
#define PROTECT_MIN_S 60

/* A het job goes whole, with its first component. */
static void end_run_by_fate(struct egs_policy *p, const struct egs_job *j,
			    enum egs_fate fate)
{
	if (j->ident.het_offset)
		return;
	if (fate == EGS_FATE_REQUEUE)
		egs_policy_act_job(p, EGS_ACT_REQUEUE, j);
	else if (fate == EGS_FATE_CANCEL)
		egs_policy_act_job(p, EGS_ACT_CANCEL, j);
}

/* It has saved. */
void egs_deadline_end_run(struct egs_policy *p, const struct egs_job *j)
{
	enum egs_fate fate = egs_preempt_fate(p, j);

	end_run_by_fate(p, j,
			fate == EGS_FATE_CANCEL ? fate : EGS_FATE_REQUEUE);
}

/* What becomes of a job whose time is up. */
static enum egs_fate fate_at_deadline(const struct egs_policy *p,
				      const struct egs_job *j)
{
	enum egs_fate fate = egs_preempt_fate(p, j);

	if (j->facts.tier < 0 || fate != EGS_FATE_REQUEUE)
		return fate;
	return p->conf->tier[j->facts.tier].at_deadline;
}

uint32_t egs_deadline_slack_s(const struct egs_policy *p,
			      const struct egs_job *j)
{
	return egs_preempt_fate(p, j) == fate_at_deadline(p, j) ? 0 : SLACK_S;
}

/* When it has to be gone, if Slurm says 'until' (0: it has not asked).  That
 * may also be its time limit.
 */
egs_time_t egs_deadline_for(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t until)
{
	egs_time_t due = j->requested_at + egs_preempt_grace_s(p, j);

	if (!until)
		return due;
	return egs_deadline_slack_s(p, j) && due < until ? due : until;
}

/* Another one is to go in its place. */
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
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			check_deadline(p, &p->jobs.job[i]);
}
