/* wish.c - a person aborts, holds or releases a job
 *
 * The wish stays with the job until Slurm shows it: a job to be cancelled is
 * gone, another is held, or is not held any more.  Until then the actions are
 * repeated, because slurmctld may be away, or the job may have started or been
 * requeued in between.  Every action says in which state of the job it applies,
 * so a repeated one does no harm.
 *
 * A running job that can be asked gets a preemption notice.  Its fate is to be
 * cancelled, or to be requeued and held (deadline.c).
 */
#include "policyd/policy/policy_internal.h"

/* Repeat an action that shows no effect after this time. */
#define RETRY_S 15

static uint32_t get_kind(const struct egs_job *j)
{
	return j->wish & EGS_WISH_MASK;
}

enum egs_fate egs_wish_fate(const struct egs_job *j)
{
	return get_kind(j) == EGS_WISH_CANCEL ? EGS_FATE_CANCEL
					      : EGS_FATE_REQUEUE;
}

bool egs_wish_is_final(const struct egs_job *j)
{
	return get_kind(j) == EGS_WISH_CANCEL;
}

/* ---- arrays ---- */

static struct egs_wish_array *find_array(struct egs_policy *p,
					 const struct egs_identity *job)
{
	for (size_t i = 0; job->nonce && i < EGS_WISH_ARRAYS_MAX; i++)
		if (p->wish_array[i].nonce == job->nonce &&
		    p->wish_array[i].uid == job->uid)
			return &p->wish_array[i];
	return NULL;
}

/* Remember an array that is aborted; forget it when its wish is over. */
static void note_array(struct egs_policy *p, const struct egs_job *j)
{
	struct egs_wish_array *a = find_array(p, &j->ident);

	if (!j->facts.array_rest)
		return;
	if (!a && egs_job_is_aborted(j) && j->ident.nonce)
		a = &p->wish_array[p->next_wish_array++ % EGS_WISH_ARRAYS_MAX];
	if (!a)
		return;
	*a = (struct egs_wish_array){ .uid = j->ident.uid, .wish = j->wish };
	if (egs_job_is_aborted(j))
		a->nonce = j->ident.nonce;
}

/* ---- wishes ---- */

static void set_wish(struct egs_policy *p, struct egs_job *j, uint32_t wish)
{
	j->wish = wish;
	j->wish_tried_at = 0;
	p->any_wish |= wish != 0;
	p->rows_changed = true;
	note_array(p, j);
}

void egs_wish_set(struct egs_policy *p, struct egs_job *j,
		  const struct egs_event *ev)
{
	set_wish(p, j, ev->wish);
	p->wish_reason = ev->reason;
	p->wish_by = ev->operator_name;
}

void egs_wish_restore(struct egs_policy *p, struct egs_job *j, uint32_t wish)
{
	if (wish)
		set_wish(p, j, wish);
}

void egs_wish_inherit(struct egs_policy *p, struct egs_job *j)
{
	const struct egs_wish_array *a = find_array(p, &j->ident);

	/* A task that was requeued is wanted again by its owner. */
	if (a && !j->wish && !j->ident.restarts &&
	    j->ident.array_task != EGS_NO_TASK)
		set_wish(p, j, a->wish);
}

void egs_wish_job_moved(struct egs_job *j)
{
	j->wish_tried_at = 0;
}

/* A released job is not held; an owner's wish does not end another's hold. */
static bool is_released(const struct egs_job *j)
{
	return j->running || !j->facts.held ||
	       (j->facts.held_by_admin && !(j->wish & EGS_WISH_BY_ADMIN));
}

static bool is_held(const struct egs_job *j)
{
	return !j->running && j->facts.held &&
	       (j->facts.held_by_admin || !(j->wish & EGS_WISH_BY_ADMIN));
}

/* Does Slurm show what is wanted?  A cancelled job is gone. */
static bool is_fulfilled(const struct egs_job *j)
{
	switch (get_kind(j)) {
	case EGS_WISH_REQUEUE:
		return is_held(j);
	case EGS_WISH_HOLD:
		return is_held(j) || j->running;
	case EGS_WISH_RELEASE:
		return is_released(j);
	default:
		return false;
	}
}

/* ---- actions ---- */

/* A job that is suspended, or that EGS does not manage, cannot answer. */
static bool can_be_asked(const struct egs_job *j)
{
	return j->facts.tier >= 0 && !(j->wish & EGS_WISH_SKIP) &&
	       !j->facts.suspended && !j->facts.no_save;
}

static enum egs_action_kind choose_pending_action(const struct egs_job *j)
{
	bool admin = j->wish & EGS_WISH_BY_ADMIN;

	switch (get_kind(j)) {
	case EGS_WISH_CANCEL:
		return EGS_ACT_CANCEL_PENDING;
	case EGS_WISH_RELEASE:
		return admin ? EGS_ACT_UNHOLD_ADMIN : EGS_ACT_UNHOLD;
	default:
		return admin ? EGS_ACT_HOLD_ADMIN : EGS_ACT_HOLD;
	}
}

/* A preemption that has begun keeps its deadline: only its end is another.
 * After the deadline the end is repeated, since it may have been lost.
 */
static void change_end(struct egs_policy *p, struct egs_job *j)
{
	j->preempt_fate = (uint8_t)egs_wish_fate(j);
	if (!j->deadline && !j->withdrawing)
		egs_deadline_end_run(p, j);
}

static void end_run(struct egs_policy *p, struct egs_job *j)
{
	const struct egs_event ask = { .notify_job = true };

	if (!can_be_asked(j))
		egs_policy_act_job(p,
				   egs_wish_is_final(j) ? EGS_ACT_CANCEL
							: EGS_ACT_REQUEUE_HOLD,
				   j);
	else if (j->preempting)
		change_end(p, j);
	else
		egs_preempt_begin(p, j, &ask);
}

/* Slurm cancels, requeues and holds a het job as a whole. */
static void act_on_job(struct egs_policy *p, struct egs_job *j)
{
	size_t first = p->nactions;

	if (j->ident.het_offset || (!j->running && j->facts.completing))
		return;
	j->wish_tried_at = p->now;
	if (j->running)
		end_run(p, j);
	else
		egs_policy_act_job(p, choose_pending_action(j), j);
	for (size_t i = first; i < p->nactions; i++) {
		p->action[i].reason = p->wish_reason;
		p->action[i].operator_name = p->wish_by;
	}
}

static void update_job(struct egs_policy *p, struct egs_job *j)
{
	if (is_fulfilled(j)) {
		set_wish(p, j, 0);
		return;
	}
	p->any_wish = true;
	if (p->team_observed[j->facts.team + 1])
		return;
	if (!j->wish_tried_at || p->now >= j->wish_tried_at + RETRY_S)
		act_on_job(p, j);
}

void egs_wish_update(struct egs_policy *p)
{
	if (!p->any_wish)
		return;
	p->any_wish = false;
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		if (j->wish)
			update_job(p, j);
}
