/* withdraw.c - a request to go is taken back, and the job runs on
 *
 * The job it was made for has ended, started elsewhere or is held, and nobody
 * else claims what the victim holds; or the victim is suspended and cannot
 * save; or its tier spares who has not saved in time.  Slurm is told by
 * EGS_ACT_WITHDRAW, and until it shows that it has heard of it
 * (EGS_EV_WITHDRAWN) the request is *sparing*: nobody is told of it any more.
 * The job may have begun to go all the same: until the deadline it had, an
 * answer or an exit of it still counts as one.
 */
#include "policyd/policy/policy_internal.h"

/* Slurm was away, or refused: it is told again. */
#define RETRY_S 10

/* By then everybody has been seen who waited when it was asked. */
#define ALL_SEEN_S 10

static bool is_still_waiting(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	struct egs_take_view row;

	if (!j || j->running || j->facts.not_schedulable)
		return false;
	egs_query_take_view(p, j, p->now, &row);
	return !row.over_limit_pending;
}

/* It was asked for job 'by', if that was a guess until now. */
static void confirm_requester(struct egs_policy *p, struct egs_job *j,
			      uint32_t by)
{
	if (!j->preempting || j->withdrawing || !j->requester_guessed)
		return;
	j->requester_guessed = false;
	if (j->requester == by)
		return;
	j->requester = by;
	egs_preempt_announce(p, j);
}

void egs_preempt_set_requester(struct egs_policy *p, uint32_t slot, uint32_t by)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running)
		return;
	j->slurm_requester = by;
	confirm_requester(p, j, by);
}

uint32_t egs_preempt_find_requester(struct egs_policy *p,
				    const struct egs_job *j)
{
	return is_still_waiting(p, j->slurm_requester)
		       ? j->slurm_requester
		       : egs_victims_guess_requester(p, j);
}

/* Another job with a claim where the victim is, and a right to it; 0: none. */
static uint32_t find_other_requester(const struct egs_policy *p,
				     const struct egs_job *victim)
{
	struct egs_take_view v, row;

	egs_query_take_view(p, victim, p->now, &v);
	for (uint32_t i = 0; i < p->claims.n; i++) {
		const struct egs_claim *c = &p->claims.claim[i];
		const struct egs_job *j = egs_policy_job(p, c->position.job_id);

		if (!j || !is_still_waiting(p, c->position.job_id) ||
		    !egs_job_is_on_node(victim, c->node))
			continue;
		egs_query_take_view(p, j, p->now, &row);
		if (egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			return c->position.job_id;
	}
	return 0;
}

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

void egs_withdraw_confirmed(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];
	struct egs_preempt_info notice = { .request_no = j->request_no,
					   .gpus = j->gpus,
					   .withdrawn = true };

	if (!j->preempting || !j->withdrawing)
		return;
	egs_preempt_record(p, EGS_ACT_RECORD_DEPARTURE, j, &notice);
	j->preempting = j->withdrawing = j->late = false;
	j->requester = j->slurm_requester = 0;
	if (!egs_preempt_exit_requeues(j))
		j->deadline = 0;
	p->rows_changed = true;
}

/* One that was asked for a job nobody had seen. */
static void guess_requester(struct egs_policy *p, struct egs_job *j)
{
	uint32_t by = egs_preempt_find_requester(p, j);

	if (!by)
		return;
	j->requester = by;
	j->requester_guessed = by != j->slurm_requester;
	egs_preempt_announce(p, j);
}

/* One that was asked for a job that wants it no more, or is suspended.  Not in
 * the very second in which it was asked: should Slurm choose it again, nobody
 * could tell the two requests apart.
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
	if (j->facts.suspended) {
		egs_withdraw_request(p, j);
		return;
	}
	if (!j->requester && j->requester_guessed &&
	    p->now <= j->requested_at + ALL_SEEN_S)
		guess_requester(p, j);
	if (!j->requester || is_still_waiting(p, j->requester))
		return;
	if (!is_still_waiting(p, j->slurm_requester))
		j->slurm_requester = find_other_requester(p, j);
	if (!j->slurm_requester) {
		egs_withdraw_request(p, j);
		return;
	}
	j->requester = j->slurm_requester;
	egs_preempt_announce(p, j);
}

void egs_withdraw_unneeded(struct egs_policy *p)
{
	if (!p->any_preempting)
		return;
	p->any_preempting = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];

		if (!j->used || !j->running || !j->preempting || j->yielded)
			continue;
		p->any_preempting = true;
		check_request(p, j);
	}
}
