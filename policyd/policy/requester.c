/* requester.c - the job for which a victim is preempted
 *
 * Slurm does not show for which job it preempts another.  select/egs names that
 * job with its claim, but the datagram may come after the poll that shows
 * the preemption, or get lost.  Then the policy guesses, and corrects itself
 * when the name arrives.
 */
#include "policyd/policy/policy_internal.h"

/* After this time every job that waited at the request has been polled. */
#define ALL_SEEN_S 10

/* Could the job still start on the victim's GPUs? */
static bool may_still_start(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	struct egs_take_view row;

	if (!egs_job_is_waiting(j))
		return false;
	egs_query_take_view(p, j, p->now, &row);
	return !row.over_limit_pending;
}

/* Victims of a job with a claim are on the nodes of the claim. */
static bool has_claim_elsewhere(const struct egs_policy *p,
				const struct egs_job *j,
				const struct egs_job *victim)
{
	bool any = false;

	for (uint32_t i = 0; i < p->claims.n; i++) {
		if (p->claims.claim[i].position.job_id != j->ident.job_id)
			continue;
		if (egs_job_is_on_node(victim, p->claims.claim[i].node))
			return false;
		any = true;
	}
	return any;
}

/* The first job in the queue that may take the victim's GPUs; 0: none. */
static uint32_t find_first_in_queue(const struct egs_policy *p,
				    const struct egs_job *victim)
{
	const struct egs_job *best = NULL;
	struct egs_take_view v, row;

	egs_query_take_view(p, victim, p->now, &v);
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		if (!egs_job_is_waiting(j) || j->facts.completing ||
		    j->facts.tier < 0)
			continue;
		if ((best && !egs_victims_queue_before(p, j, best)) ||
		    has_claim_elsewhere(p, j, victim))
			continue;
		egs_query_take_view(p, j, p->now, &row);
		if (!row.over_limit_pending &&
		    egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			best = j;
	}
	return best ? best->ident.job_id : 0;
}

uint32_t egs_requester_guess(const struct egs_policy *p,
			     const struct egs_job *victim)
{
	return may_still_start(p, victim->named_requester)
		       ? victim->named_requester
		       : find_first_in_queue(p, victim);
}

static void set_requester(struct egs_policy *p, struct egs_job *victim,
			  uint32_t requester)
{
	victim->requester = requester;
	victim->requester_guessed =
		!requester || requester != victim->named_requester;
	egs_preempt_announce(p, victim);
}

void egs_requester_named(struct egs_policy *p, struct egs_job *victim,
			 uint32_t requester)
{
	if (!victim->running)
		return;
	victim->named_requester = requester;
	/* select/egs names requesters only while EGS enforces. */
	victim->enforced |= victim->preempting;
	if (!victim->preempting || victim->withdrawing ||
	    !victim->requester_guessed)
		return;
	if (victim->requester == requester)
		victim->requester_guessed = false;
	else
		set_requester(p, victim, requester);
}

void egs_requester_confirm(struct egs_policy *p, struct egs_job *victim)
{
	if (victim->unannounced)
		set_requester(p, victim, egs_requester_guess(p, victim));
}

void egs_requester_confirm_all(struct egs_policy *p)
{
	if (!p->any_unannounced)
		return;
	p->any_unannounced = false;
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		egs_requester_confirm(p, j);
}

/* Another job that has a claim on the victim's nodes and may take its GPUs;
 * 0: none.
 */
static uint32_t find_other_claim(const struct egs_policy *p,
				 const struct egs_job *victim)
{
	struct egs_take_view v, row;

	egs_query_take_view(p, victim, p->now, &v);
	for (uint32_t i = 0; i < p->claims.n; i++) {
		const struct egs_claim *c = &p->claims.claim[i];
		const struct egs_job *j = egs_policy_job(p, c->position.job_id);

		if (!j || !may_still_start(p, c->position.job_id) ||
		    !egs_job_is_on_node(victim, c->node))
			continue;
		egs_query_take_view(p, j, p->now, &row);
		if (egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			return c->position.job_id;
	}
	return 0;
}

/* The requester was pending but not known yet when the victim was preempted. */
static void guess_again(struct egs_policy *p, struct egs_job *victim)
{
	uint32_t requester = egs_requester_guess(p, victim);

	if (requester)
		set_requester(p, victim, requester);
}

bool egs_requester_gone(struct egs_policy *p, struct egs_job *victim)
{
	if (!victim->requester && victim->requester_guessed &&
	    p->now <= victim->requested_at + ALL_SEEN_S)
		guess_again(p, victim);
	if (!victim->requester || may_still_start(p, victim->requester))
		return false;
	if (!may_still_start(p, victim->named_requester))
		victim->named_requester = find_other_claim(p, victim);
	if (!victim->named_requester)
		return true;
	victim->requester = victim->named_requester;
	egs_preempt_announce(p, victim);
	return false;
}
