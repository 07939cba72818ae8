/* policy_claim.c - the claims the policy knows, and when they end
 *
 * select/egs makes them; the policy keeps them so that they survive a restart
 * of slurmctld, and ends them by what it is told.
 */
#include "policyd/core/policy_impl.h"

static void changed(struct egs_policy *p, uint32_t ended)
{
	struct egs_action a = { .kind = EGS_ACT_CLAIMS, .team = -1 };

	if (ended)
		egs_policy_push(p, &a);
}

/* A new claim takes the place of all the job had. */
int egs_claim_make(struct egs_policy *p, const struct egs_event *ev)
{
	struct egs_claim c = { .turn = { ev->priority, ev->job.job_id },
			       .expires = ev->until };

	if (egs_claims_reserve(&p->claims, ev->nparts) < 0)
		return -1;
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
