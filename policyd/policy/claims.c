/* claims.c - the claims the policy knows, and when they end
 *
 * select/egs makes them; the policy keeps them so that they survive a restart
 * of slurmctld, and ends them by what it is told.  A claim made as an owner
 * keeps the quota, too: else a job of its own team could start in between, and
 * P would find itself on loan in the place of a job that may have it back.
 */
#include "policyd/policy/policy_internal.h"

/* Does a claim keep quota for the job? */
bool egs_claim_keeps(const struct egs_policy *p, const struct egs_job *j)
{
	return j->claims && egs_claims_has(&p->claims, j->ident.job_id);
}

/* Is this the first claim of its job? */
static bool first_of(const struct egs_claims *cs, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (cs->claim[k].turn.job_id == cs->claim[i].turn.job_id)
			return false;
	return true;
}

/* Count anew what claims keep of each quota. */
void egs_claim_recount(struct egs_policy *p)
{
	for (int i = 0; i < p->conf->nteams * egs_policy_types(p); i++) {
		p->ledger[i].dirty |= p->ledger[i].claimed != 0;
		p->ledger[i].claimed = 0;
	}
	for (uint32_t i = 0; i < p->claims.n; i++) {
		uint32_t id = p->claims.claim[i].turn.job_id;
		const struct egs_job *j = egs_policy_job(p, id);
		struct egs_ledger *l;

		if (!j || !j->claims || j->facts.team < 0 ||
		    !first_of(&p->claims, i))
			continue;
		l = egs_loan_ledger(p, j->facts.team, j->claim_type);
		l->claimed += egs_job_wants(j);
		l->dirty = true;
	}
}

static void changed(struct egs_policy *p, uint32_t ended)
{
	struct egs_action a = { .kind = EGS_ACT_CLAIMS, .team = -1 };

	if (!ended)
		return;
	egs_claim_recount(p);
	egs_policy_push(p, &a);
}

/* Note where the job stands as it makes its claim. */
static void stand(struct egs_policy *p, struct egs_job *j,
		  struct egs_turn *turn)
{
	struct egs_reckoned r = egs_loan_reckon(p, j);

	turn->tier = j->facts.tier < 0 ? UINT8_MAX : (uint8_t)j->facts.tier;
	turn->on_loan = j->facts.tier < 0 || r.on_loan;
	j->claims = !turn->on_loan && j->facts.team >= 0 &&
		    r.type < egs_policy_types(p);
	j->claim_type = j->claims ? (uint8_t)r.type : 0;
}

/* A new claim takes the place of all the job had. */
int egs_claim_make(struct egs_policy *p, const struct egs_event *ev)
{
	uint32_t slot = egs_jobs_find(&p->jobs, ev->job.job_id);
	struct egs_claim c = { .turn = { .priority = ev->priority,
					 .job_id = ev->job.job_id },
			       .expires = ev->until };

	if (egs_claims_reserve(&p->claims, ev->nparts) < 0)
		return -1;
	stand(p, &p->jobs.job[slot], &c.turn);
	egs_claims_end(&p->claims, ev->job.job_id);
	for (uint32_t i = 0; i < ev->nparts; i++) {
		c.node = ev->part[i].node;
		c.gpus = ev->part[i].gpus;
		c.cores = ev->part[i].cores;
		c.mem_mb = ev->part[i].mem_mb;
		egs_claims_put(&p->claims, &c);
	}
	changed(p, 1);
	return 0;
}

void egs_claim_end(struct egs_policy *p, uint32_t job_id)
{
	changed(p, egs_claims_end(&p->claims, job_id));
}

void egs_claim_node(struct egs_policy *p, uint32_t node)
{
	changed(p, egs_claims_lose(&p->claims, node));
}

void egs_claim_settle(struct egs_policy *p)
{
	changed(p, egs_claims_expire(&p->claims, p->now));
}

const struct egs_claim *egs_policy_claims(const struct egs_policy *p,
					  uint32_t *n)
{
	*n = p->claims.n;
	return p->claims.claim;
}

bool egs_policy_claimed(const struct egs_policy *p, uint32_t job_id)
{
	return egs_claims_has(&p->claims, job_id);
}
