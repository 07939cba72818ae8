/* preempt.c - a job is asked to go, saves, yields, goes */
#include "policyd/policy/policy_internal.h"

/* A job that requeues itself at once, again and again, comes back no more often
 * than that.
 */
#define RELEASE_S 5

/* A preemption counts in the period that began with the first of them. */
void egs_job_spend(const struct egs_policy *p, struct egs_job *j)
{
	uint32_t per_s;

	if (j->facts.tier < 0)
		return;
	per_s = p->conf->tier[j->facts.tier].max_preemptions.per_s;
	if (!j->preemptions || p->now - j->budget_from >= per_s) {
		j->budget_from = p->now;
		j->preemptions = 0;
	}
	j->preemptions++;
}

static uint32_t seconds(egs_time_t from, egs_time_t to)
{
	return to > from ? (uint32_t)(to - from) : 0;
}

void egs_ask_note(struct egs_policy *p, enum egs_action_kind kind,
		  const struct egs_job *j, const struct egs_notice *notice)
{
	struct egs_action a = {
		.kind = kind,
		.observe = !egs_policy_enforces(p, j->facts.team),
		.job = j->ident,
		.team = j->facts.team,
		.type = j->type,
		.by = kind == EGS_ACT_BACK ? j->left_by : j->asked_by,
		.notice = *notice,
	};

	egs_policy_push(p, &a);
}

/* What was lost.  Who saves and goes in time has lost only the time that took;
 * who declared a checkpoint and goes by itself has saved, as far as we know.
 */
static struct egs_notice notice_of(const struct egs_policy *p,
				   const struct egs_job *j)
{
	egs_time_t from = j->saved_at > j->started ? j->saved_at : j->started;

	return (struct egs_notice){
		.asked = j->asked_at,
		.deadline = j->deadline,
		.saved = j->saved_at,
		.yielded = j->yielded_at,
		.work_s = seconds(from, j->asked_at),
		.held_s = seconds(j->asked_at, p->now),
		.restart_s = EGS_RESTART_S,
		.request = j->request,
		.gpus = j->gpus,
		.late = j->late,
	};
}

void egs_ask_say(struct egs_policy *p, struct egs_job *j)
{
	struct egs_notice notice = notice_of(p, j);

	j->untold = false;
	egs_ask_note(p, EGS_ACT_ASKED, j, &notice);
}

/* Slurm does not say for whom, and may show that job after this one. */
static void find_taker(struct egs_policy *p, struct egs_job *j)
{
	if (!j->untold)
		return;
	j->asked_by = egs_job_taker(p, j);
	j->guessed = !j->asked_by || j->asked_by != j->wanted_by;
	egs_ask_say(p, j);
}

void egs_job_takers(struct egs_policy *p)
{
	if (!p->untold)
		return;
	p->untold = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			find_taker(p, &p->jobs.job[i]);
}

static void note_save(struct egs_job *j, uint32_t took_s)
{
	if (!took_s)
		return;
	j->save_s[j->nsaves] =
		took_s > UINT16_MAX ? UINT16_MAX : (uint16_t)took_s;
	j->nsaves = (uint8_t)((j->nsaves + 1) % EGS_SAVES);
}

/* A job that was asked goes, with what it holds still known.  Slurm may have
 * been the first to see that its time was up.
 */
void egs_job_gone(struct egs_policy *p, struct egs_job *j, bool ended)
{
	struct egs_notice notice;

	j->sparing = false;
	if (!j->asked)
		return;
	find_taker(p, j);
	if (j->deadline && p->now >= j->deadline && !j->yielded)
		j->late = true;
	if (j->facts.ckpt && !j->late && !j->finished && !j->yielded) {
		j->saved_at = p->now;
		note_save(j, seconds(j->asked_at, p->now));
	}
	notice = notice_of(p, j);
	notice.ended = ended;
	egs_ask_note(p, EGS_ACT_GONE, j, &notice);
	j->left = j->request;
	j->asked = j->yielded = false;
	j->deadline = 0;
	j->asked_by = 0;
	egs_job_spend(p, j);
}

/* It is back in the queue, and may be told so twice: by its restart count, too.
 * Who was asked between two looks, or requeued itself, is released like one
 * that we know was asked.
 */
void egs_job_left(struct egs_policy *p, struct egs_job *j)
{
	bool asked = j->asked;

	if (j->facts.tier < 0 || (!asked && (!j->facts.ckpt || j->release)))
		return;
	find_taker(p, j);
	j->left_by = asked ? j->asked_by : egs_job_taker(p, j);
	j->release = p->releasing = true;
	egs_job_gone(p, j, false);
}

/* It was asked and went while nobody looked. */
void egs_job_left_unseen(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (j->facts.left && !j->running &&
	    p->now >= j->released_at + RELEASE_S)
		j->release = p->releasing = true;
}

/* It runs again. */
void egs_job_back(struct egs_policy *p, struct egs_job *j)
{
	struct egs_notice notice = { .request = j->left, .gpus = j->gpus };

	j->release = false;
	if (j->left)
		egs_ask_note(p, EGS_ACT_BACK, j, &notice);
	j->left = j->left_by = 0;
}

void egs_job_requeue(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	egs_job_left(p, j);
	egs_job_stop(p, slot);
	/* Of one that was spared and went, too: its next end is no answer. */
	j->yielded = false;
	j->deadline = 0;
	j->queued_at = p->now;
	j->site_factor = egs_rank_factor(p, j);
	egs_policy_act(p, EGS_ACT_ROW, j);
}

/* What it was asked with holds until it has gone. */
enum egs_fate egs_job_fate(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_tier *t;

	if (j->facts.tier < 0)
		return EGS_FATE_SPARE;
	if (j->asked)
		return (enum egs_fate)j->asked_fate;
	if (p->now < j->kept_until)
		return EGS_FATE_SPARE;
	t = &p->conf->tier[j->facts.tier];
	if (!j->facts.requeue && t->no_requeue == EGS_FATE_SPARE)
		return j->on_loan ? EGS_FATE_CANCEL : EGS_FATE_SPARE;
	if (!j->facts.requeue)
		return EGS_FATE_CANCEL;
	return j->facts.ckpt ? EGS_FATE_REQUEUE : t->no_checkpoint;
}

uint32_t egs_job_grace(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_tier *t;
	uint32_t longest = 0, grace;

	if (j->facts.tier < 0)
		return 0;
	t = &p->conf->tier[j->facts.tier];
	for (int i = 0; i < EGS_SAVES; i++)
		if (j->save_s[i] > longest)
			longest = j->save_s[i];
	if (!longest)
		longest = j->facts.save_time_s;
	grace = longest ? longest + longest / 2 : t->grace_noack_s;
	if (grace < t->grace_min_s)
		grace = t->grace_min_s;
	return grace > t->grace_max_s ? t->grace_max_s : grace;
}

void egs_job_deadline(struct egs_policy *p, struct egs_job *j,
		      egs_time_t deadline)
{
	j->deadline = deadline;
	if (deadline && deadline < p->next_deadline)
		p->next_deadline = deadline;
}

/* Does an exit before the deadline mean: saved, take me?  Who has said so may
 * exit before Slurm has requeued it.
 */
bool egs_job_returns(const struct egs_job *j)
{
	if (!j->facts.requeue)
		return false;
	return j->yielded ||
	       (j->facts.ckpt && !j->facts.finish && !j->finished);
}

/* It stays the victim it was chosen as, whatever it is by then: else another
 * would be chosen beside it.
 */
void egs_ask_freeze(const struct egs_policy *p, struct egs_job *j)
{
	j->asked_fate = (uint8_t)egs_job_fate(p, j);
	j->asked_loan = j->on_loan;
	j->asked = true;
}

/* Slurm has taken the request back as it was told, and chosen the job anew
 * before anybody looked.
 */
static bool is_anew(const struct egs_job *j, const struct egs_event *ev)
{
	return j->sparing && ev->since > j->asked_at;
}

void egs_job_asked(struct egs_policy *p, uint32_t slot,
		   const struct egs_event *ev)
{
	struct egs_job *j = &p->jobs.job[slot];
	uint32_t wanted_by = j->wanted_by;

	if (is_anew(j, ev)) {
		egs_job_spared(p, slot);
		j->wanted_by = wanted_by; /* this time, perhaps */
	}
	if (!j->running || j->asked)
		return;
	egs_ask_freeze(p, j);
	j->asked_by = ev->by;
	j->guessed = false;
	p->sparing = true;
	j->asked_at = ev->since ? ev->since : p->now;
	j->yielded_at = 0;
	j->late = false;
	j->request++;
	egs_job_deadline(p, j, egs_job_due(p, j, ev->until));
	egs_policy_act(p, EGS_ACT_ROW, j);
	if (j->asked_by || ev->tell)
		egs_ask_say(p, j);
	else
		j->untold = p->untold = true;
	if (ev->tell && j->facts.signal)
		egs_policy_act(p, EGS_ACT_SIGNAL, j);
	else if (!ev->tell && !j->ident.het && !egs_job_returns(j))
		egs_policy_act(p, EGS_ACT_STAND, j);
}

void egs_job_finished(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running || j->finished)
		return;
	j->finished = true;
	egs_policy_act(p, EGS_ACT_ROW, j);
	if (j->asked)
		egs_policy_act(p, EGS_ACT_STAND, j);
}

void egs_job_saved(struct egs_policy *p, uint32_t slot, uint32_t took_s)
{
	struct egs_job *j = &p->jobs.job[slot];

	j->saved_at = p->now;
	j->reports = true;
	note_save(j, took_s);
}

/* Valid once, and only for the request the job has seen.  The deadline stays:
 * should the requeue get lost, there is another one then.
 */
void egs_job_yielded(struct egs_policy *p, uint32_t slot, uint32_t request)
{
	struct egs_job *j = &p->jobs.job[slot];

	if ((!j->asked && !j->deadline) || j->yielded || request != j->request)
		return;
	j->yielded = true;
	j->saved_at = j->yielded_at = p->now;
	j->reports = true;
	note_save(j, seconds(j->asked_at, p->now));
	egs_job_go(p, j);
}

/* Who says it again is heard as if for the first time. */
void egs_job_unsaid(struct egs_policy *p, uint32_t slot, uint32_t request)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!request)
		j->finished = false;
	else if (request == j->request)
		j->yielded = false;
	egs_policy_act(p, EGS_ACT_ROW, j);
}

/* Its GPUs are the other's first: released too early it would take them back,
 * unless a claim keeps them.
 */
static bool may_release(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_job *taker =
		j->left_by ? egs_policy_job(p, j->left_by) : NULL;

	if (j->running || j->facts.completing ||
	    p->now < j->released_at + RELEASE_S)
		return false;
	return !taker || taker->running || taker->facts.blocked ||
	       egs_claims_has(&p->claims, j->left_by);
}

void egs_job_releases(struct egs_policy *p)
{
	if (!p->releasing)
		return;
	p->releasing = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];

		if (!j->used || !j->release)
			continue;
		if (!may_release(p, j)) {
			p->releasing = true;
			continue;
		}
		j->release = false;
		j->released_at = p->now;
		egs_policy_act(p, EGS_ACT_RELEASE, j);
	}
}
