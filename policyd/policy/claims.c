/* claims.c - the claims the policy knows, and when they end
 *
 * select/egs makes the claims.  The policy stores them, so that they survive a
 * restart of slurmctld, and ends them by events.  A claim made within quota
 * also reserves that quota.  Otherwise another job of the team could start
 * first, and the claiming job would start on loan.  The job that it preempted
 * could then preempt it.
 */
#include "policyd/policy/policy_internal.h"

bool egs_policy_claim_has_quota(const struct egs_policy *p,
				const struct egs_job *j)
{
	return j->has_owner_claim &&
	       egs_claim_has_job(&p->claims, j->ident.job_id);
}

static bool is_first_of_job(const struct egs_claim_list *cs, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (cs->claim[k].position.job_id ==
		    cs->claim[i].position.job_id)
			return false;
	return true;
}

void egs_policy_claim_recount(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams * egs_policy_ntypes(p); i++) {
		p->loan_book[i].dirty |= p->loan_book[i].claimed != 0;
		p->loan_book[i].claimed = 0;
	}
	for (uint32_t i = 0; i < p->claims.n; i++) {
		uint32_t id = p->claims.claim[i].position.job_id;
		const struct egs_job *j = egs_policy_job(p, id);
		struct egs_loan_book *l;

		if (!j || !j->has_owner_claim || j->facts.team < 0 ||
		    !is_first_of_job(&p->claims, i))
			continue;
		l = egs_loans_book(p, j->facts.team, j->claim_type);
		l->claimed += egs_job_gpus_wanted(j);
		l->dirty = true;
	}
}

static void note_changed(struct egs_policy *p, uint32_t nchanged)
{
	if (!nchanged)
		return;
	egs_policy_claim_recount(p);
	p->rows_changed = p->claims_changed = true;
}

/* The queue position of the job at the time of its claim. */
static void set_position(struct egs_policy *p, struct egs_job *j,
			 struct egs_queue_position *position)
{
	struct egs_pending_result r = egs_pending_evaluate(p, j);

	position->tier = j->facts.tier < 0 ? UINT8_MAX : (uint8_t)j->facts.tier;
	position->on_loan = j->facts.tier < 0 || r.on_loan;
	j->has_owner_claim = !position->on_loan && j->facts.team >= 0 &&
			     r.type < egs_policy_ntypes(p);
	j->claim_type = j->has_owner_claim ? (uint8_t)r.type : 0;
}

int egs_policy_claim_make(struct egs_policy *p, struct egs_job *j,
			  const struct egs_event *ev)
{
	struct egs_claim c = { .position = { .priority = ev->priority,
					     .job_id = ev->job.job_id },
			       .expires = ev->until };

	if (egs_claim_reserve(&p->claims, ev->nallocs) < 0)
		return -1;
	set_position(p, j, &c.position);
	egs_claim_end_job(&p->claims, ev->job.job_id);
	for (uint32_t i = 0; i < ev->nallocs; i++) {
		c.node = ev->alloc[i].node;
		c.gpus = ev->alloc[i].gpus;
		c.cores = ev->alloc[i].cores;
		c.mem_mb = ev->alloc[i].mem_mb;
		egs_claim_put(&p->claims, &c);
	}
	note_changed(p, 1);
	return 0;
}

void egs_policy_claim_end(struct egs_policy *p, uint32_t job_id)
{
	note_changed(p, egs_claim_end_job(&p->claims, job_id));
}

void egs_policy_claim_end_node(struct egs_policy *p, uint32_t node)
{
	note_changed(p, egs_claim_end_node(&p->claims, node));
}

void egs_policy_claim_expire(struct egs_policy *p)
{
	note_changed(p, egs_claim_expire(&p->claims, p->now));
}

const struct egs_claim *egs_policy_claims(const struct egs_policy *p,
					  uint32_t *n)
{
	*n = p->claims.n;
	return p->claims.claim;
}

bool egs_policy_has_claim(const struct egs_policy *p, uint32_t job_id)
{
	return egs_claim_has_job(&p->claims, job_id);
}
