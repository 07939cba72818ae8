/* withdraw.c - a request to go is taken back, and the job runs on
 *
 * The job it was made for has ended, started elsewhere or is held, and nobody
 * else claims what the victim holds; or the victim is suspended and cannot
 * save; or its tier spares who has not saved in time.  Slurm is told by
 * EGS_ACT_SPARE, and until it shows that it has heard of it (EGS_EV_SPARED) the
 * request is *sparing*: nobody is told of it any more.  The job may have begun
 * to go all the same: until the deadline it had, an answer or an exit of it
 * still counts as one.
 */
#include "policyd/policy/policy_internal.h"

/* Slurm was away, or refused: it is told again. */
#define AGAIN_S 10

/* By then everybody has been seen who waited when it was asked. */
#define SEEN_S 10

static bool waits(const struct egs_policy *p, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(p, job_id);
	struct egs_row row;

	if (!j || j->running || j->facts.blocked)
		return false;
	egs_view_row(p, j, p->now, &row);
	return !row.barred;
}

/* It was asked for job 'by', if that was a guess until now. */
static void meant_for(struct egs_policy *p, struct egs_job *j, uint32_t by)
{
	if (!j->asked || j->sparing || !j->guessed)
		return;
	j->guessed = false;
	if (j->asked_by == by)
		return;
	j->asked_by = by;
	egs_ask_say(p, j);
}

void egs_job_wanted(struct egs_policy *p, uint32_t slot, uint32_t by)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running)
		return;
	j->wanted_by = by;
	meant_for(p, j, by);
}

uint32_t egs_job_taker(struct egs_policy *p, const struct egs_job *j)
{
	return waits(p, j->wanted_by) ? j->wanted_by : egs_take_guess(p, j);
}

/* Another job with a claim where the victim is, and a right to it; 0: none. */
static uint32_t other_taker(const struct egs_policy *p,
			    const struct egs_job *victim)
{
	struct egs_row v, row;

	egs_view_row(p, victim, p->now, &v);
	for (uint32_t i = 0; i < p->claims.n; i++) {
		const struct egs_claim *c = &p->claims.claim[i];
		const struct egs_job *j = egs_policy_job(p, c->turn.job_id);

		if (!j || !waits(p, c->turn.job_id) ||
		    !egs_job_is_on(victim, c->node))
			continue;
		egs_view_row(p, j, p->now, &row);
		if (egs_may_take(&row, &v, p->now) == EGS_TAKE_YES)
			return c->turn.job_id;
	}
	return 0;
}

void egs_job_spare(struct egs_policy *p, struct egs_job *j)
{
	if (!j->running || !j->asked || j->yielded)
		return;
	j->sparing = true;
	j->spared_at = p->now;
	p->sparing = true;
	egs_policy_act(p, EGS_ACT_ROW, j);
	egs_policy_act(p, EGS_ACT_SPARE, j);
}

void egs_job_spared(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];
	struct egs_notice notice = { .request = j->request,
				     .gpus = j->gpus,
				     .spared = true };

	if (!j->asked || !j->sparing)
		return;
	egs_ask_note(p, EGS_ACT_GONE, j, &notice);
	j->asked = j->sparing = j->late = false;
	j->asked_by = j->wanted_by = 0;
	if (!egs_job_returns(j))
		j->deadline = 0;
	egs_policy_act(p, EGS_ACT_ROW, j);
}

/* One that was asked for a job nobody had seen. */
static void guess_again(struct egs_policy *p, struct egs_job *j)
{
	uint32_t by = egs_job_taker(p, j);

	if (!by)
		return;
	j->asked_by = by;
	j->guessed = by != j->wanted_by;
	egs_ask_say(p, j);
}

/* One that was asked for a job that wants it no more, or is suspended.  Not in
 * the very second in which it was asked: should Slurm choose it again, nobody
 * could tell the two requests apart.
 */
static void look_at(struct egs_policy *p, struct egs_job *j)
{
	if (j->sparing) {
		if (p->now >= j->spared_at + AGAIN_S)
			egs_job_spare(p, j);
		return;
	}
	if (p->now <= j->asked_at)
		return;
	if (j->facts.suspended) {
		egs_job_spare(p, j);
		return;
	}
	if (!j->asked_by && j->guessed && p->now <= j->asked_at + SEEN_S)
		guess_again(p, j);
	if (!j->asked_by || waits(p, j->asked_by))
		return;
	if (!waits(p, j->wanted_by))
		j->wanted_by = other_taker(p, j);
	if (!j->wanted_by) {
		egs_job_spare(p, j);
		return;
	}
	j->asked_by = j->wanted_by;
	egs_ask_say(p, j);
}

void egs_job_spares(struct egs_policy *p)
{
	if (!p->sparing)
		return;
	p->sparing = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];

		if (!j->used || !j->running || !j->asked || j->yielded)
			continue;
		p->sparing = true;
		look_at(p, j);
	}
}
