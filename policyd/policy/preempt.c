/* preempt.c - a job is preempted: notice, checkpoint, yield, requeue, restart
 *
 * policy.h has the states of a preemption.
 */
#include "policyd/policy/policy_internal.h"

/* Shortest time between two releases of a job that requeues itself again and
 * again.
 */
#define RELEASE_INTERVAL_S 5

/* A period of MaxPreemptions begins with its first preemption. */
static void use_budget(const struct egs_policy *p, struct egs_job *j)
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
			const struct egs_preempt_info *info)
{
	struct egs_action a = {
		.kind = kind,
		.job = j->ident,
		.team = j->facts.team,
		.requester = kind == EGS_ACT_RECORD_RESTART ? j->departed_for
							    : j->requester,
		.preempt = *info,
	};

	egs_policy_push_action(p, &a);
}

/* Compute what the preemption costs.  A job that checkpoints and exits before
 * the deadline loses only the time between notice and exit.
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
	struct egs_preempt_info info = make_preempt_info(p, j);

	j->unannounced = false;
	egs_preempt_record(p, EGS_ACT_RECORD_REQUEST, j, &info);
}

static void record_save_time(struct egs_job *j, uint32_t took_s)
{
	if (!took_s)
		return;
	j->save_s[j->next_save] =
		took_s > UINT16_MAX ? UINT16_MAX : (uint16_t)took_s;
	j->next_save = (uint8_t)((j->next_save + 1) % EGS_SAVE_TIMES);
}

/* A job that is short because it was preempted gets its start charge back. */
static void refund_start(struct egs_policy *p, struct egs_job *j)
{
	if (!j->start_charged || j->facts.team < 0 ||
	    p->now - j->started >= EGS_START_CHARGE_S)
		return;
	egs_rank_advance_usage(p, j);
	egs_usage_refund_start(&p->usage[j->facts.team], j->usage_rate);
	j->start_charged = false;
}

/* Slurm may end the job before we see that the deadline has passed.  If the
 * job declared a checkpoint and exits on its own, assume that it saved.
 */
void egs_preempt_job_departed(struct egs_policy *p, struct egs_job *j,
			      bool ended)
{
	struct egs_preempt_info info;

	j->withdrawing = false;
	if (!j->preempting)
		return;
	egs_requester_confirm(p, j);
	if (j->deadline && p->now >= j->deadline && !j->yielded)
		j->late = true;
	if (j->facts.ckpt && !j->late && !j->finished && !j->yielded) {
		j->saved_at = p->now;
		record_save_time(j, seconds_between(j->requested_at, p->now));
	}
	refund_start(p, j);
	info = make_preempt_info(p, j);
	info.ended = ended;
	egs_preempt_record(p, EGS_ACT_RECORD_DEPARTURE, j, &info);
	j->departed_request = j->request_no;
	j->preempting = j->yielded = false;
	j->deadline = 0;
	j->requester = 0;
	use_budget(p, j);
}

/* A job that requeues itself without a notice waits for Slurm's delay, as on
 * stock Slurm.  If it was preempted between two polls, its stamp says so
 * (egs_preempt_check_departed()).
 */
void egs_preempt_job_requeued(struct egs_policy *p, struct egs_job *j)
{
	if (j->facts.tier < 0 || !j->preempting)
		return;
	egs_requester_confirm(p, j);
	j->departed_for = j->requester;
	j->release_due = p->any_release_due = true;
	egs_preempt_job_departed(p, j, false);
}

void egs_preempt_check_departed(struct egs_policy *p, struct egs_job *j)
{
	if (j->facts.departed && !j->running &&
	    p->now >= j->released_at + RELEASE_INTERVAL_S)
		j->release_due = p->any_release_due = true;
}

void egs_preempt_job_restarted(struct egs_policy *p, struct egs_job *j)
{
	struct egs_preempt_info info = { .request_no = j->departed_request,
					 .gpus = j->gpus };

	j->release_due = false;
	if (j->departed_request)
		egs_preempt_record(p, EGS_ACT_RECORD_RESTART, j, &info);
	j->departed_request = j->departed_for = 0;
}

void egs_preempt_to_queue(struct egs_policy *p, struct egs_job *j)
{
	egs_preempt_job_requeued(p, j);
	egs_job_stop(p, j);
	/* Also after a withdrawal: the next run has not yielded. */
	j->yielded = false;
	j->deadline = 0;
	j->queued_at = p->now;
	j->site_factor = egs_rank_site_factor(p, j);
	p->rows_changed = true;
}

/* The fate is fixed while the job is being preempted. */
enum egs_fate egs_preempt_fate(const struct egs_policy *p,
			       const struct egs_job *j)
{
	const struct egs_tier *t;

	if (j->facts.tier < 0)
		return EGS_FATE_NONE;
	if (j->preempting)
		return (enum egs_fate)j->preempt_fate;
	if (egs_job_is_aborted(j))
		return egs_wish_fate(j);
	if (p->now < j->protected_until)
		return EGS_FATE_NONE;
	t = &p->conf->tier[j->facts.tier];
	if (!j->facts.can_requeue && t->no_requeue == EGS_FATE_NONE)
		return j->on_loan ? EGS_FATE_CANCEL : EGS_FATE_NONE;
	if (!j->facts.can_requeue)
		return EGS_FATE_CANCEL;
	return j->facts.ckpt ? EGS_FATE_REQUEUE : t->no_checkpoint;
}

uint32_t egs_preempt_answer_s(const struct egs_policy *p,
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

/* A job that cannot save would only delay the requester. */
uint32_t egs_preempt_grace_s(const struct egs_policy *p,
			     const struct egs_job *j)
{
	return j->facts.no_save ? 0 : egs_preempt_answer_s(p, j);
}

/* Slurm itself sends the signal of a job that it preempts.  It sends SIGCONT to
 * a job that is asked by its run directory.
 */
static bool needs_signal(const struct egs_job *j, const struct egs_event *ev)
{
	return (ev->notify_job && j->facts.signal) ||
	       (j->unreachable && !j->facts.no_save);
}

void egs_preempt_set_deadline(struct egs_policy *p, struct egs_job *j,
			      egs_time_t deadline)
{
	j->deadline = deadline;
	if (deadline && deadline < p->next_deadline)
		p->next_deadline = deadline;
}

/* A job that has yielded may exit before Slurm has requeued it. */
bool egs_preempt_exit_requeues(const struct egs_job *j)
{
	if (!j->facts.can_requeue || egs_wish_is_final(j))
		return false;
	return j->yielded ||
	       (j->facts.ckpt && !j->facts.exit_is_final && !j->finished);
}

bool egs_policy_is_notice_binding(const struct egs_job *j)
{
	return j->enforced && (!j->running || j->preempting || j->deadline);
}

/* A fate that changed later would make Slurm choose a second victim. */
void egs_preempt_fix_fate(const struct egs_policy *p, struct egs_job *j)
{
	j->preempt_fate = (uint8_t)egs_preempt_fate(p, j);
	j->preempt_on_loan = j->on_loan;
	j->preempting = true;
}

/* Has Slurm, between two polls, carried out our withdrawal and preempted the
 * job a second time?
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

void egs_preempt_begin(struct egs_policy *p, struct egs_job *j,
		       const struct egs_event *ev)
{
	uint32_t named = j->named_requester;
	size_t first = p->nactions;

	if (is_new_request(j, ev)) {
		egs_withdraw_confirmed(p, j);
		j->named_requester = named; /* may be of this preemption */
	}
	if (!j->running || j->preempting)
		return;
	egs_preempt_fix_fate(p, j);
	j->requester = ev->requester;
	j->requester_guessed = false;
	p->any_preempting = true;
	j->requested_at = ev->since ? ev->since : p->now;
	j->enforced = named || !egs_policy_is_team_observed(p, j->facts.team);
	j->yielded_at = 0;
	j->late = false;
	j->request_no++;
	egs_preempt_set_deadline(p, j, egs_deadline_for(p, j, ev->until));
	p->rows_changed = true;
	if (j->requester || ev->notify_job)
		egs_preempt_announce(p, j);
	else
		j->unannounced = p->any_unannounced = true;
	if (needs_signal(j, ev))
		egs_policy_act_job(p, EGS_ACT_SIGNAL, j);
	if (!ev->notify_job && !j->ident.het_offset &&
	    !egs_preempt_exit_requeues(j))
		egs_policy_act_job(p, EGS_ACT_EXIT_IS_FINAL, j);
	set_operator(p, first, ev);
}

void egs_preempt_job_finished(struct egs_policy *p, struct egs_job *j)
{
	if (!j->running || j->finished)
		return;
	j->finished = true;
	p->rows_changed = true;
	if (j->preempting)
		egs_policy_act_job(p, EGS_ACT_EXIT_IS_FINAL, j);
}

void egs_preempt_job_saved(struct egs_policy *p, struct egs_job *j,
			   uint32_t took_s)
{
	j->saved_at = p->now;
	j->reports_saves = true;
	record_save_time(j, took_s);
}

/* The deadline stays: if the requeue gets lost, it is repeated then. */
void egs_preempt_job_yielded(struct egs_policy *p, struct egs_job *j,
			     uint32_t request)
{
	if ((!j->preempting && !j->deadline) || j->yielded ||
	    request != j->request_no)
		return;
	j->yielded = true;
	j->saved_at = j->yielded_at = p->now;
	j->reports_saves = true;
	record_save_time(j, seconds_between(j->requested_at, p->now));
	egs_deadline_end_run(p, j);
}

void egs_preempt_revoke(struct egs_policy *p, struct egs_job *j,
			uint32_t request)
{
	if (!request)
		j->finished = false;
	else if (request == j->request_no)
		j->yielded = false;
	p->rows_changed = true;
}

/* A job that is released before its requester starts would take its GPUs back.
 * A claim of the requester prevents that.
 */
static bool may_release(const struct egs_policy *p, const struct egs_job *j)
{
	const struct egs_job *requester = egs_policy_job(p, j->departed_for);

	if (j->running || j->facts.completing || j->wish ||
	    p->now < j->released_at + RELEASE_INTERVAL_S)
		return false;
	return !egs_job_is_waiting(requester) ||
	       egs_claim_has_job(&p->claims, j->departed_for);
}

void egs_preempt_release_jobs(struct egs_policy *p)
{
	if (!p->any_release_due)
		return;
	p->any_release_due = false;
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));) {
		if (!j->release_due)
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
