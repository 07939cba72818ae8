/* claim.c - GPUs freed for a pending job stay reserved for it */
#include <stdlib.h>

#include "common/base/array.h"
#include "common/rules/claim.h"

bool egs_queue_is_ahead(const struct egs_queue_position *a,
			const struct egs_queue_position *b)
{
	if (a->on_loan != b->on_loan)
		return b->on_loan;
	if (a->tier != b->tier)
		return a->tier < b->tier;
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return a->job_id < b->job_id;
}

egs_time_t egs_claim_expiry(egs_time_t now, uint32_t grace_s,
			    uint32_t kill_wait_s)
{
	return now + grace_s + kill_wait_s + EGS_CLAIM_SLACK_S;
}

static struct egs_claim *find_claim(const struct egs_claim_list *cs,
				    uint32_t job_id, uint32_t node)
{
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->claim[i].position.job_id == job_id &&
		    cs->claim[i].node == node)
			return &cs->claim[i];
	return NULL;
}

int egs_claim_reserve(struct egs_claim_list *cs, uint32_t more)
{
	return egs_grow(&cs->claim, &cs->room, cs->n + more);
}

int egs_claim_put(struct egs_claim_list *cs, const struct egs_claim *claim)
{
	struct egs_claim *old =
		find_claim(cs, claim->position.job_id, claim->node);

	if (old) {
		*old = *claim;
		return 0;
	}
	if (egs_claim_reserve(cs, 1) < 0)
		return -1;
	cs->claim[cs->n++] = *claim;
	return 0;
}

bool egs_claim_has_job(const struct egs_claim_list *cs, uint32_t job_id)
{
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->claim[i].position.job_id == job_id)
			return true;
	return false;
}

typedef bool (*match_f)(const struct egs_claim *c, int64_t key);

static bool is_for_job(const struct egs_claim *c, int64_t job_id)
{
	return c->position.job_id == job_id;
}

static bool is_on_node(const struct egs_claim *c, int64_t node)
{
	return c->node == node;
}

static bool has_expired(const struct egs_claim *c, int64_t now)
{
	return c->expires <= now;
}

/* Drop the claims that match; the others keep their order. */
static uint32_t drop_matching(struct egs_claim_list *cs, match_f match,
			      int64_t key)
{
	uint32_t kept = 0, before = cs->n;

	for (uint32_t i = 0; i < cs->n; i++)
		if (!match(&cs->claim[i], key))
			cs->claim[kept++] = cs->claim[i];
	cs->n = kept;
	return before - kept;
}

uint32_t egs_claim_end_job(struct egs_claim_list *cs, uint32_t job_id)
{
	return drop_matching(cs, is_for_job, job_id);
}

uint32_t egs_claim_end_node(struct egs_claim_list *cs, uint32_t node)
{
	return drop_matching(cs, is_on_node, node);
}

uint32_t egs_claim_expire(struct egs_claim_list *cs, egs_time_t now)
{
	return drop_matching(cs, has_expired, now);
}

static bool covers_amount(uint32_t left, uint32_t want, uint64_t claimed)
{
	return !want || left >= want + claimed;
}

bool egs_claim_may_use(const struct egs_claim_list *cs,
		       const struct egs_queue_position *position, uint32_t node,
		       const struct egs_amount *left,
		       const struct egs_amount *want)
{
	uint64_t gpus = 0, cores = 0, mem_mb = 0;

	for (uint32_t i = 0; i < cs->n; i++) {
		const struct egs_claim *c = &cs->claim[i];

		if (c->node != node ||
		    !egs_queue_is_ahead(&c->position, position))
			continue;
		gpus += c->gpus;
		cores += c->cores;
		mem_mb += c->mem_mb;
	}
	return covers_amount(left->gpus, want->gpus, gpus) &&
	       covers_amount(left->cores, want->cores, cores) &&
	       covers_amount(left->mem_mb, want->mem_mb, mem_mb);
}

void egs_claim_clear(struct egs_claim_list *cs)
{
	free(cs->claim);
	*cs = (struct egs_claim_list){ 0 };
}
