/* preempt.c - a job is asked to go, saves, yields, goes */
#include "policyd/policy/policy_internal.h"

/* A job that requeues itself at once, again and again, comes back no more often
 * than that.
 */
#define RELEASE_INTERVAL_S 5

/* A preemption counts in the period that began with the first of them. */
void egs_preempt_use_budget(const struct egs_policy *p, struct egs_job *j)
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

static uint32_t seconds_between(egs_time_t from, egs_time_t to)
{
	return to > from ? (uint32_t)(to - from) : 0;
}

void egs_preempt_record(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j,
			const struct egs_preempt_info *notice)
{
	struct egs_action a = {
		.kind = kind,
		.job = j->ident,
		.team = j->facts.team,
		.requester = kind == EGS_ACT_RECORD_RESTART ? j->departed_for
							    : j->requester,
		.preempt = *notice,
	};

	egs_policy_push_action(p, &a);
}

/* What was lost.  Who saves and goes in time has lost only the time that took;
 * who declared a checkpoint and goes by itself has saved, as far as we know.
 */
static struct egs_preempt_info make_preempt_info(const struct egs_policy *p,
						 const struct egs_job *j)
{
	egs_time_t from = j->saved_at > j->started ? j->saved_at : j->started;

	return (struct egs_preempt_info){
		.requested_at = j->requested_at,
		.deadline = j->deadline,
		.saved_at = j->saved_at,
		.yielded_at = j->yielded_at,
		.lost_work_s = seconds_between(from, j->requested_at),
		.held_s = seconds_between(j->requested_at, p->now),
		.restart_s = EGS_RESTART_S,
		.request_no = j->request_no,
		.gpus = j->gpus,
		.late = j->late,
	};
}

void egs_preempt_announce(struct egs_policy *p, struct egs_job *j)
{
	struct egs_preempt_info notice = make_preempt_info(p, j);

	j->unannounced = false;
	egs_preempt_record(p, EGS_ACT_RECORD_REQUEST, j, &notice);
}

/* Slurm does not say for whom, and may show that job after this one. */
static void announce_requester(struct egs_policy *p, struct egs_job *j)
{
	if (!j->unannounced)
		return;
	j->requester = egs_preempt_find_requester(p, j);
	j->requester_guessed =
		!j->requester || j->requester != j->slurm_requester;
	egs_preempt_announce(p, j);
}

void egs_preempt_announce_all(struct egs_policy *p)
{
	if (!p->any_unannounced)
		return;
	p->any_unannounced = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			announce_requester(p, &p->jobs.job[i]);
}

static void record_save_time(struct egs_job *j, uint32_t took_s)
{
	if (!took_s)
		return;
	j->save_s[j->next_save] =
		took_s > UINT16_MAX ? UINT16_MAX : (uint16_t)took_s;
	j->next_save = (uint8_t)((j->next_save + 1) % EGS_SAVE_TIMES);
}

/* A job that was asked goes, with what it holds still known.  Slurm may have
 * been the first to see that its time was up.
 */
void egs_preempt_job_departed(struct egs_policy *p, struct egs_job *j,
			      bool ended)
{
	struct egs_preempt_info notice;

	j->withdrawing = false;
	if (!j->preempting)
		return;
	announce_requester(p, j);
	if (j->deadline && p->now >= j->deadline && !j->yielded)
		j->late = true;
	if (j->facts.ckpt && !j->late && !j->finished && !j->yielded) {
		j->saved_at = p->now;
		record_save_time(j, seconds_between(j->requested_at, p->now));
	}
	notice = make_preempt_info(p, j);
	notice.ended = ended;
	egs_preempt_record(p, EGS_ACT_RECORD_DEPARTURE, j, &notice);
	j->departed_request = j->request_no;
	j->preempting = j->yielded = false;
	j->deadline = 0;
	j->requester = 0;
	egs_preempt_use_budget(p, j);
}

/* It is back in the queue, and may be told so twice: by its restart count, too.
 * Who was asked between two looks, or requeued itself, is released like one
 * that we know was asked.
 */
void egs_preempt_job_requeued(struct egs_policy *p, struct egs_job *j)
{
	bool asked = j->preempting;

	if (j->facts.tier < 0 || (!asked && (!j->facts.ckpt || j->release_due)))
		return;
	announce_requester(p, j);
	j->departed_for =
		asked ? j->requester : egs_preempt_find_requester(p, j);
	j->release_due = p->any_release_due = true;
	egs_preempt_job_departed(p, j, false);
}

/* It was asked and went while nobody looked. */
void egs_preempt_check_departed(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (j->facts.departed && !j->running &&
	    p->now >= j->released_at + RELEASE_INTERVAL_S)
		j->release_due = p->any_release_due = true;
}

/* It runs again. */
void egs_preempt_job_restarted(struct egs_policy *p, struct egs_job *j)
{
	struct egs_preempt_info notice = { .request_no = j->departed_request,
					   .gpus = j->gpus };

	j->release_due = false;
	if (j->departed_request)
		egs_preempt_record(p, EGS_ACT_RECORD_RESTART, j, &notice);
	j->departed_request = j->departed_for = 0;
}

void egs_preempt_to_queue(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	egs_preempt_job_requeued(p, j);
	egs_job_stop(p, slot);
	/* Of one that was spared and went, too: its next end is no answer. */
	j->yielded = false;
	j->deadline = 0;
	j->queued_at = p->now;
	j->site_factor = egs_rank_site_factor(p, j);
	p->rows_changed = true;
}

/* What it was asked with holds until it has gone. */
enum egs_fate egs_preempt_fate(const struct egs_policy *p,
			       const struct egs_job *j)
{
	const struct egs_tier *t;

	if (j->facts.tier < 0)
		return EGS_FATE_NONE;
	if (j->preempting)
		return (enum egs_fate)j->preempt_fate;
	if (p->now < j->protected_until)
		return EGS_FATE_NONE;
	t = &p->conf->tier[j->facts.tier];
	if (!j->facts.can_requeue && t->no_requeue == EGS_FATE_NONE)
		return j->on_loan ? EGS_FATE_CANCEL : EGS_FATE_NONE;
	if (!j->facts.can_requeue)
		return EGS_FATE_CANCEL;
	return j->facts.ckpt ? EGS_FATE_REQUEUE : t->no_checkpoint;
}

uint32_t egs_preempt_grace_s(const struct egs_policy *p,
			     const struct egs_job *j)
{
	const struct egs_tier *t;
	uint32_t longest = 0, grace;

	if (j->facts.tier < 0)
		return 0;
	t = &p->conf->tier[j->facts.tier];
	for (int i = 0; i < EGS_SAVE_TIMES; i++)
		if (j->save_s[i] > longest)
			longest = j->save_s[i];
	if (!longest)
		longest = j->facts.save_time_s;
	grace = longest ? longest + longest / 2 : t->grace_noack_s;
	if (grace < t->grace_min_s)
		grace = t->grace_min_s;
	return grace > t->grace_max_s ? t->grace_max_s : grace;
}

void egs_preempt_set_deadline(struct egs_policy *p, struct egs_job *j,
			      egs_time_t deadline)
{
	j->deadline = deadline;
	if (deadline && deadline < p->next_deadline)
		p->next_deadline = deadline;
}

/* Does an exit before the deadline mean: saved, take me?  Who has said so may
 * exit before Slurm has requeued it.
 */
bool egs_preempt_exit_requeues(const struct egs_job *j)
{
	if (!j->facts.can_requeue)
		return false;
	return j->yielded ||
	       (j->facts.ckpt && !j->facts.exit_is_final && !j->finished);
}

/* It stays the victim it was chosen as, whatever it is by then: else another
 * would be chosen beside it.
 */
void egs_preempt_fix_fate(const struct egs_policy *p, struct egs_job *j)
{
	j->preempt_fate = (uint8_t)egs_preempt_fate(p, j);
	j->preempt_on_loan = j->on_loan;
	j->preempting = true;
}

/* Slurm has taken the request back as it was told, and chosen the job anew
 * before anybody looked.
 */
static bool is_new_request(const struct egs_job *j, const struct egs_event *ev)
{
	return j->withdrawing && ev->since > j->requested_at;
}

/* The actions from 'first' on follow from an operator's request. */
static void set_operator(struct egs_policy *p, size_t first,
			 const struct egs_event *ev)
{
	for (size_t i = first; i < p->nactions; i++) {
		p->action[i].reason = ev->reason;
		p->action[i].operator_name = ev->operator_name;
	}
}

void egs_preempt_begin(struct egs_policy *p, uint32_t slot,
		       const struct egs_event *ev)
{
	struct egs_job *j = &p->jobs.job[slot];
	uint32_t wanted_by = j->slurm_requester;
	size_t first = p->nactions;

	if (is_new_request(j, ev)) {
		egs_withdraw_confirmed(p, slot);
		j->slurm_requester = wanted_by; /* this time, perhaps */
	}
	if (!j->running || j->preempting)
		return;
	egs_preempt_fix_fate(p, j);
	j->requester = ev->requester;
	j->requester_guessed = false;
	p->any_preempting = true;
	j->requested_at = ev->since ? ev->since : p->now;
	j->yielded_at = 0;
	j->late = false;
	j->request_no++;
	egs_preempt_set_deadline(p, j, egs_deadline_for(p, j, ev->until));
	p->rows_changed = true;
	if (j->requester || ev->notify_job)
		egs_preempt_announce(p, j);
	else
		j->unannounced = p->any_unannounced = true;
	if (ev->notify_job && j->facts.signal)
		egs_policy_act_job(p, EGS_ACT_SIGNAL, j);
	else if (!ev->notify_job && !j->ident.het_offset &&
		 !egs_preempt_exit_requeues(j))
		egs_policy_act_job(p, EGS_ACT_EXIT_IS_FINAL, j);
	set_operator(p, first, ev);
}

void egs_preempt_job_finished(struct egs_policy *p, uint32_t slot)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!j->running || j->finished)
		return;
	j->finished = true;
	p->rows_changed = true;
	if (j->preempting)
		egs_policy_act_job(p, EGS_ACT_EXIT_IS_FINAL, j);
}

void egs_preempt_job_saved(struct egs_policy *p, uint32_t slot, uint32_t took_s)
{
	struct egs_job *j = &p->jobs.job[slot];

	j->saved_at = p->now;
	j->reports_saves = true;
	record_save_time(j, took_s);
}

/* Valid once, and only for the request the job has seen.  The deadline stays:
 * should the requeue get lost, there is another one then.
 */
void egs_preempt_job_yielded(struct egs_policy *p, uint32_t slot,
			     uint32_t request)
{
	struct egs_job *j = &p->jobs.job[slot];

	if ((!j->preempting && !j->deadline) || j->yielded ||
	    request != j->request_no)
		return;
	j->yielded = true;
	j->saved_at = j->yielded_at = p->now;
	j->reports_saves = true;
	record_save_time(j, seconds_between(j->requested_at, p->now));
	egs_deadline_end_run(p, j);
}

/* Who says it again is heard as if for the first time. */
void egs_preempt_revoke(struct egs_policy *p, uint32_t slot, uint32_t request)
{
	struct egs_job *j = &p->jobs.job[slot];

	if (!request)
		j->finished = false;
	else if (request == j->request_no)
		j->yielded = false;
	p->rows_changed = true;
}

/* Its GPUs are the other's first: released too early it would take them back,
 * unless a claim keeps them.
 */
static bool may_release(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_job *taker =
		j->departed_for ? egs_policy_job(p, j->departed_for) : NULL;

	if (j->running || j->facts.completing ||
	    p->now < j->released_at + RELEASE_INTERVAL_S)
		return false;
	return !taker || taker->running || taker->facts.not_schedulable ||
	       egs_claim_has_job(&p->claims, j->departed_for);
}

void egs_preempt_release_jobs(struct egs_policy *p)
{
	if (!p->any_release_due)
		return;
	p->any_release_due = false;
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];

		if (!j->used || !j->release_due)
			continue;
		if (!may_release(p, j)) {
			p->any_release_due = true;
			continue;
		}
		j->release_due = false;
		j->released_at = p->now;
		egs_policy_act_job(p, EGS_ACT_RELEASE, j);
	}
}
