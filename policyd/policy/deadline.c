/* deadline.c - who was asked goes: as soon as it yields, or at its deadline
 *
 * Slurm has a deadline, too, and then requeues the job whatever its tier says.
 * Where that says something else Slurm's is later, so that ours comes first; it
 * counts only while nobody decides.
 */
#include "policyd/policy/policy_internal.h"

#define SLACK_S 30

/* Who was spared is not asked again for its MinRuntime, and for so long. */
#define KEPT_S 60

/* A het job goes whole, with its first component. */
static void go(struct egs_policy *p, const struct egs_job *j,
	       enum egs_fate fate)
{
	if (j->ident.het)
		return;
	if (fate == EGS_FATE_REQUEUE)
		egs_policy_act(p, EGS_ACT_REQUEUE, j);
	else if (fate == EGS_FATE_CANCEL)
		egs_policy_act(p, EGS_ACT_CANCEL, j);
}

/* It has saved. */
void egs_job_go(struct egs_policy *p, const struct egs_job *j)
{
	enum egs_fate fate = egs_job_fate(p, j);

	go(p, j, fate == EGS_FATE_CANCEL ? fate : EGS_FATE_REQUEUE);
}

/* What becomes of a job whose time is up. */
static enum egs_fate late_fate(const struct egs_policy *p,
			       const struct egs_job *j)
{
	enum egs_fate fate = egs_job_fate(p, j);

	if (j->facts.tier < 0 || fate != EGS_FATE_REQUEUE)
		return fate;
	return p->conf->tier[j->facts.tier].at_deadline;
}

uint32_t egs_job_slack(const struct egs_policy *p, const struct egs_job *j)
{
	return egs_job_fate(p, j) == late_fate(p, j) ? 0 : SLACK_S;
}

/* When it has to be gone, if Slurm says 'until' (0: it has not asked).  That
 * may also be its time limit.
 */
egs_time_t egs_job_due(const struct egs_policy *p, const struct egs_job *j,
		       egs_time_t until)
{
	egs_time_t due = j->asked_at + egs_job_grace(p, j);

	if (!until)
		return due;
	return egs_job_slack(p, j) && due < until ? due : until;
}

/* Another one is to go in its place. */
static void keep(struct egs_policy *p, struct egs_job *j)
{
	uint32_t s = p->conf->tier[j->facts.tier].min_runtime_s;

	j->kept_until = p->now + (s > KEPT_S ? s : KEPT_S);
	egs_job_spare(p, j);
}

static void deadline_of(struct egs_policy *p, struct egs_job *j)
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
		egs_job_go(p, j);
		return;
	}
	if (!j->asked || j->sparing || j->facts.suspended) {
		egs_policy_act(p, EGS_ACT_ROW, j);
		return;
	}
	j->late = true;
	fate = late_fate(p, j);
	if (fate == EGS_FATE_SPARE && j->facts.tier >= 0)
		keep(p, j);
	else
		go(p, j, fate);
}

void egs_job_deadlines(struct egs_policy *p)
{
	if (p->now < p->next_deadline)
		return;
	p->next_deadline = INT64_MAX;
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			deadline_of(p, &p->jobs.job[i]);
}
