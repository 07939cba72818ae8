/* policy_internal.h - the state of the policy, and what its files share
 *
 * policy.c	   new, free, apply: dispatches events
 * job.c	   a job starts, stops, changes
 * preempt.c	   a job is preempted: notice, checkpoint, yield, requeue
 * requester.c	   the job for which a victim is preempted
 * withdraw.c	   a preemption is withdrawn
 * wish.c	   a person aborts, holds or releases a job
 * deadline.c	   the deadline of a preemption passes
 * shrink.c	   a job is asked to continue with fewer GPUs
 * idle.c	   idle GPUs of a job go to a job that waits
 * loans.c	   quotas in force, loans and limits of all teams
 * loan_book.c	   which jobs of one team are within quota
 * pending.c	   a pending job as if it had started
 * claims.c	   claims, and when they end
 * rank.c	   usage, shares, site factors of all jobs
 * usage.c	   decayed usage, and GPU-hours against a limit
 * reload.c	   a new configuration
 * restore.c	   state of an earlier daemon
 * find_victims.c  victims for a pending job
 * query.c, why.c  rows and reasons
 * jobs.c	   the table of jobs
 *
 * Functions that take 'p' and 'j' change the state of that job at p->now.
 */
#ifndef EGS_POLICY_POLICY_INTERNAL_H
#define EGS_POLICY_POLICY_INTERNAL_H

#include "policyd/policy/loan_book.h"
#include "policyd/policy/policy.h"
#include "policyd/policy/usage.h"

/* All teams together, for one GPU type. */
struct egs_type_sums {
	uint64_t total, up; /* capacity */
	uint64_t quotas;    /* configured */
	uint64_t owned;	    /* within quota, and of unmanaged jobs */
	uint64_t withheld;  /* idle quota that is not lent */
	uint64_t loan_by_tier[EGS_TIERS_MAX];
};

/* GPUs of a job that are idle for a time or longer. */
struct egs_idle_level {
	uint32_t gpus;
	uint32_t idle_s; /* the shortest of them */
	uint32_t busy;	 /* the most other GPUs on one of its nodes */
};

/* A job with idle GPUs, and pending jobs that may use its nodes. */
struct egs_idle_job {
	uint32_t job_id;
	struct egs_idle_level warn, yield; /* after IdleWarn=, IdleYield= */
	uint32_t nwaiting;
	uint32_t waiting[EGS_QUEUE_HEADS_MAX];
};

/* The nodes that a pending job may use. */
struct egs_usable_nodes {
	uint32_t job_id, n;
	const uint64_t *bits;
};

/* An array whose pending tasks are aborted.  A task that starts meanwhile gets
 * a job id of its own, and the same nonce.
 */
struct egs_wish_array {
	uint64_t nonce; /* 0: not used */
	uint32_t uid;
	uint32_t wish;
};
#define EGS_WISH_ARRAYS_MAX 32

struct egs_policy {
	const struct egs_policy_conf *conf; /* borrowed */
	struct egs_jobs jobs;
	struct egs_loan_book *loan_book; /* [team][type] */
	struct egs_type_sums sums[EGS_TYPE_ROWS];
	struct egs_usage usage[EGS_TEAMS_MAX];
	struct egs_meter team_meter[EGS_TEAMS_MAX];
	struct egs_meter workload_meter[EGS_WORKLOADS_MAX];
	bool workload_over_limit[EGS_WORKLOADS_MAX];
	int32_t share_deficit[EGS_TEAMS_MAX];  /* of its share, thousandths */
	bool team_observed[EGS_TEAMS_MAX + 1]; /* [0]: jobs without a team */
	/* median time since the last save, of jobs that report saves */
	uint32_t median_unsaved_s[EGS_TIERS_MAX];
	struct egs_claim_list claims;
	struct egs_node *node;
	uint32_t nnodes, node_room;
	struct egs_action *action;
	size_t nactions, action_room;
	bool rows_changed, claims_changed; /* since clear_actions */
	egs_time_t now;
	egs_time_t next_deadline;
	/* There may be jobs ...  If not, a pass over all jobs is skipped. */
	bool any_release_due;	   /* to be released */
	bool any_can_shrink;	   /* running that can shrink */
	bool any_preempting;	   /* being preempted */
	bool any_unannounced;	   /* whose preemption is not announced yet */
	bool any_wish;		   /* of which a person wants something */
	struct egs_idle_job *idle; /* until the next update */
	uint32_t nidle, idle_room;
	struct egs_usable_nodes usable[EGS_QUEUE_HEADS_MAX]; /* likewise */
	uint32_t nusable;
	const struct egs_usable_nodes *searched; /* of the job for which
						    find_victims.c searches,
						    NULL: all */
	struct egs_wish_array wish_array[EGS_WISH_ARRAYS_MAX];
	uint32_t next_wish_array;
	/* Of the last EGS_EV_WISH, borrowed until clear_actions. */
	const char *wish_reason, *wish_by;
	/* buffers of find_victims.c, kept to save allocations: */
	struct egs_victim_search search;
	uint32_t search_node_room, candidate_room, alloc_room;
};

/* policy.c */

/* Queue an action, or an action about 'j'. */
void egs_policy_push_action(struct egs_policy *p, const struct egs_action *a);
void egs_policy_act_job(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j);

/* claims.c */

/* Replace the claims of 'j' by those of the event; -1: out of memory. */
int egs_policy_claim_make(struct egs_policy *p, struct egs_job *j,
			  const struct egs_event *ev);

/* Does a claim of the job reserve quota? */
bool egs_policy_claim_has_quota(const struct egs_policy *p,
				const struct egs_job *j);

/* Count again how much of each quota is reserved by claims. */
void egs_policy_claim_recount(struct egs_policy *p);
void egs_policy_claim_end(struct egs_policy *p, uint32_t job_id);
void egs_policy_claim_end_node(struct egs_policy *p, uint32_t node);
void egs_policy_claim_expire(struct egs_policy *p);

/* job.c */

/* The job starts, or its running allocation changes; -1: out of memory. */
int egs_job_start(struct egs_policy *p, struct egs_job *j,
		  const struct egs_event *ev);
void egs_job_stop(struct egs_policy *p, struct egs_job *j);
int egs_job_update_facts(struct egs_policy *p, struct egs_job *j,
			 const struct egs_facts *facts);

/* Count the GPUs of a running job in the loan book and the usage of its team;
 * or stop counting them.
 */
void egs_job_enter_books(struct egs_policy *p, struct egs_job *j, bool owned);
void egs_job_leave_books(struct egs_policy *p, struct egs_job *j);
bool egs_job_is_on_node(const struct egs_job *j, uint32_t node);
bool egs_job_needs_gpus(const struct egs_policy *p, const struct egs_job *j);

/* GPUs of a pending job that count for limits: also those that come with whole
 * nodes.  GPUs of a running job that are not of another type than its first.
 */
uint32_t egs_job_gpus_counted(const struct egs_job *j);
uint32_t egs_job_gpus_of_first_type(const struct egs_job *j);
uint64_t egs_job_usage_rate(const struct egs_policy *p,
			    const struct egs_job *j);

/* preempt.c: the states are in policy.h */

/* EGS_EV_PREEMPTING: the job gets a notice. */
void egs_preempt_begin(struct egs_policy *p, struct egs_job *j,
		       const struct egs_event *ev);
void egs_preempt_set_deadline(struct egs_policy *p, struct egs_job *j,
			      egs_time_t deadline);

/* The job reports: a save; a yield for notice 'request'; the end of its work.
 * A yield counts once, and only for the present notice.
 */
void egs_preempt_job_saved(struct egs_policy *p, struct egs_job *j,
			   uint32_t took_s);
void egs_preempt_job_yielded(struct egs_policy *p, struct egs_job *j,
			     uint32_t request);
void egs_preempt_job_finished(struct egs_policy *p, struct egs_job *j);

/* EGS_EV_REVOKED: forget the yield, or that the work is done (0). */
void egs_preempt_revoke(struct egs_policy *p, struct egs_job *j,
			uint32_t request);

/* The run is over and the job is back in the queue. */
void egs_preempt_to_queue(struct egs_policy *p, struct egs_job *j);
void egs_preempt_job_requeued(struct egs_policy *p, struct egs_job *j);

/* The run of a preempted job is over.  Call it while the allocation of the job
 * is still known.  'ended': the job does not come back.
 */
void egs_preempt_job_departed(struct egs_policy *p, struct egs_job *j,
			      bool ended);

/* Slurm shows that the job was preempted, though we did not see it. */
void egs_preempt_check_departed(struct egs_policy *p, struct egs_job *j);
void egs_preempt_job_restarted(struct egs_policy *p, struct egs_job *j);

/* Release jobs whose requester has started: Slurm delays a requeued job. */
void egs_preempt_release_jobs(struct egs_policy *p);

/* Does an exit before the deadline mean that the job has saved? */
bool egs_preempt_exit_requeues(const struct egs_job *j);
uint32_t egs_preempt_grace_s(const struct egs_policy *p,
			     const struct egs_job *j);
uint32_t egs_preempt_answer_s(const struct egs_policy *p,
			      const struct egs_job *j);
enum egs_fate egs_preempt_fate(const struct egs_policy *p,
			       const struct egs_job *j);

/* From now on the job is being preempted, with its present fate. */
void egs_preempt_fix_fate(const struct egs_policy *p, struct egs_job *j);

/* Queue an action of kind EGS_ACT_RECORD_*. */
void egs_preempt_record(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j,
			const struct egs_preempt_info *info);

/* Record the notice and its requester; again if the requester changed. */
void egs_preempt_announce(struct egs_policy *p, struct egs_job *j);

/* requester.c
 *
 *	unknown ---confirm--> guessed ---named--> known
 *	   |                     |                  |
 *	   +--------named--------|---------->-------+
 *	                         |                  |
 *	               gone: another claim's job, or none (withdraw)
 */

/* select/egs has named the requester of a victim, maybe before Slurm preempts
 * the victim.
 */
void egs_requester_named(struct egs_policy *p, struct egs_job *victim,
			 uint32_t requester);

/* The job for which the victim is preempted: the named one if it can still
 * start, else the first in the queue that may take its GPUs; 0: none.
 */
uint32_t egs_requester_guess(const struct egs_policy *p,
			     const struct egs_job *victim);

/* Guess the requester of a preemption that was begun without one, and announce
 * the notice.  Slurm may show the requester after the victim, so this waits
 * until all events of a poll are applied.
 */
void egs_requester_confirm(struct egs_policy *p, struct egs_job *victim);
void egs_requester_confirm_all(struct egs_policy *p);

/* Does no job need the victim's GPUs any more?  If another job does, it
 * becomes the requester.
 */
bool egs_requester_gone(struct egs_policy *p, struct egs_job *victim);

/* withdraw.c */

/* Withdraw the preemption of 'j': the job runs on with its own time limit.
 * Does nothing to a job that is not being preempted or has yielded.  Slurm ends
 * the job at the deadline it knows, so call this some seconds earlier.  The
 * requester preempts the job again unless the row of the job forbids that.
 */
void egs_withdraw_request(struct egs_policy *p, struct egs_job *j);

/* Slurm shows that the job is no longer being preempted. */
void egs_withdraw_confirmed(struct egs_policy *p, struct egs_job *j);

/* Withdraw all preemptions whose requesters are gone, and those that EGS began
 * before it only observed.
 */
void egs_withdraw_unneeded(struct egs_policy *p);

/* wish.c */

/* EGS_EV_WISH: note what is wanted of the job. */
void egs_wish_set(struct egs_policy *p, struct egs_job *j,
		  const struct egs_event *ev);

/* The job has the wish that an earlier daemon saved. */
void egs_wish_restore(struct egs_policy *p, struct egs_job *j, uint32_t wish);

/* A new job may be a task of an array that is aborted. */
void egs_wish_inherit(struct egs_policy *p, struct egs_job *j);

/* The job has started, or is back in the queue: act again at once. */
void egs_wish_job_moved(struct egs_job *j);

/* The fate of an aborted job; and is its exit final? */
enum egs_fate egs_wish_fate(const struct egs_job *j);
bool egs_wish_is_final(const struct egs_job *j);

/* Do for all jobs what is wanted of them, until Slurm shows it. */
void egs_wish_update(struct egs_policy *p);

/* deadline.c */

/* The job has saved: requeue it, or cancel it if that is its fate. */
void egs_deadline_end_run(struct egs_policy *p, const struct egs_job *j);

/* Seconds between our deadline and Slurm's. */
uint32_t egs_deadline_slack_s(const struct egs_policy *p,
			      const struct egs_job *j);

/* Our deadline, if Slurm's is 'until' (0: Slurm has none).  'until' may also be
 * the time limit of the job.
 */
egs_time_t egs_deadline_for(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t until);
void egs_deadline_check_all(struct egs_policy *p);

/* loans.c */
struct egs_loan_book *egs_loans_book(const struct egs_policy *p, int team,
				     int type);
int egs_loans_new(struct egs_policy *p);
void egs_loans_free(struct egs_loan_book *book, int nteams, int ntypes);

/* Reserve room for one job in its book; -1: out of memory. */
int egs_loans_reserve(struct egs_policy *p, int team, int type);
void egs_loans_add_job(struct egs_policy *p, struct egs_job *j, bool owned);
void egs_loans_remove_job(struct egs_policy *p, const struct egs_job *j);
void egs_loans_set_quotas(struct egs_policy *p);
void egs_loans_update(struct egs_policy *p);
void egs_loans_mark_dirty(struct egs_policy *p);

/* Idle quota that the team does not lend. */
uint32_t egs_loans_withheld(const struct egs_policy *p, int team, int type);

/* pending.c */
struct egs_pending_result {
	bool on_loan;
	int type;
	enum egs_why_rule held_by; /* EGS_RULE_FITS: the job is not deferred */
	uint32_t gpus;		   /* that start with it, of this type */
	uint32_t limit;
	uint32_t per_s; /* period of a limit in hours */
	uint32_t room;	/* GPUs that other jobs of its team can get until it is
			 * deferred; EGS_UNLIMITED: any number */
	uint8_t displaces; /* as in take_rule.h */
};
struct egs_pending_result egs_pending_evaluate(const struct egs_policy *p,
					       const struct egs_job *j);

/* Would the job be over a limit of its team or workload? */
bool egs_pending_is_over_limit(const struct egs_policy *p,
			       const struct egs_job *j);

/* rank.c */

/* Bring the usage of the job's team and workload to the present. */
void egs_rank_advance_usage(struct egs_policy *p, const struct egs_job *j);
enum egs_dependents egs_rank_dependents(const struct egs_policy *p,
					const struct egs_job *j);
void egs_rank_recompute(struct egs_policy *p);
int32_t egs_rank_site_factor(const struct egs_policy *p,
			     const struct egs_job *j);

/* GPU-seconds that are lost if this job is preempted, and the cost by which
 * victims are compared.
 */
uint64_t egs_rank_lost_work(const struct egs_policy *p,
			    const struct egs_job *j);
uint64_t egs_rank_victim_cost(const struct egs_policy *p,
			      const struct egs_job *j);

/* restore.c: 'past' is what egs_policy_job_history() returned before */
void egs_restore_job(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past);
bool egs_restore_is_same_run(const struct egs_job *j,
			     const struct egs_job_history *past);
void egs_restore_run(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past);
void egs_restore_usage(struct egs_policy *p, const struct egs_facts *of,
		       const struct egs_usage_snapshot *usage);

/* Charge the part of a run until 'end' that no daemon has counted.  The usage
 * of its team and workload must be at the present.
 */
void egs_restore_charge_run(struct egs_policy *p, const struct egs_job *j,
			    egs_time_t end);

/* The same for a job that began and ended while no daemon ran. */
void egs_restore_ended_run(struct egs_policy *p, const struct egs_event *ev);

/* shrink.c */

/* Ask jobs to shrink for pending jobs, and end requests that are over. */
void egs_shrink_update(struct egs_policy *p);

/* The job has answered; its allocation is the present one. */
void egs_shrink_answered(struct egs_policy *p, struct egs_job *v);

/* The most GPUs, but at least 'least', that 'v' can keep on each node so that
 * 'j' fits; 0: it cannot shrink.  egs_victims_snapshot() comes before.
 */
uint32_t egs_shrink_find_keep(struct egs_policy *p, const struct egs_job *j,
			      const struct egs_job *v, uint32_t least);

/* Ask 'v' to keep 'keep' GPUs on each node, for 'j'.  'idle': because that many
 * are idle; NULL: 'j' may preempt it.
 */
void egs_shrink_request(struct egs_policy *p, struct egs_job *j,
			struct egs_job *v, uint32_t keep,
			const struct egs_idle_info *idle);

/* The first jobs of the queue that wait for GPUs, in its order.  Returns how
 * many.
 */
uint32_t egs_shrink_find_queue_heads(const struct egs_policy *p,
				     struct egs_job *head[EGS_QUEUE_HEADS_MAX]);

/* idle.c */

/* EGS_EV_IDLE; -1: out of memory. */
int egs_idle_measured(struct egs_policy *p, struct egs_job *j,
		      const struct egs_event *ev);

/* Warn or ask the jobs whose GPUs are idle, and forget what was measured. */
void egs_idle_update(struct egs_policy *p);

/* find_victims.c */

/* Does EGS only observe jobs of 'team' (-1: none)? */
bool egs_policy_is_team_observed(const struct egs_policy *p, int team);

/* Note what is free on all nodes; -1: out of memory.  The two questions below
 * are about this snapshot: does 'j' fit?  Would it fit if 'v' kept 'keep' GPUs
 * on each of its nodes?
 */
int egs_victims_snapshot(struct egs_policy *p);
bool egs_victims_fits_now(struct egs_policy *p, const struct egs_job *j);
bool egs_victims_fits_if_shrunk(struct egs_policy *p, const struct egs_job *j,
				const struct egs_job *v, uint32_t keep);

/* Does Slurm consider 'a' before 'b'? */
bool egs_victims_queue_before(const struct egs_policy *p,
			      const struct egs_job *a, const struct egs_job *b);

/* GPUs of the type that 'j' needs, on nodes where it may run: free in the last
 * snapshot, and up.
 */
void egs_victims_count_gpus(const struct egs_policy *p, const struct egs_job *j,
			    uint32_t *free, uint32_t *up);

/* Like egs_policy_find_victims(), as things are now: a team that EGS only
 * observes has no victim for another team.  '*first' is the first victim.
 */
int egs_victims_find(struct egs_policy *p, const struct egs_job *j,
		     egs_time_t now, uint32_t *first);

/* Is 'v' no victim of 'by', whatever the rules of the tiers say? */
bool egs_victims_is_exempt(const struct egs_policy *p, const struct egs_job *by,
			   const struct egs_job *v);

/* May 'j' run on the node, by Nodes= and Spill=no of its tier and phase? */
bool egs_victims_may_use(const struct egs_policy *p, const struct egs_job *j,
			 const struct egs_node *n);

/* GPUs of 'type', or EGS_TYPE_ANY, of a node. */
uint32_t egs_loans_node_gpus(const struct egs_node *n, uint8_t type);

/* query.c */
void egs_query_take_view(const struct egs_policy *p, const struct egs_job *j,
			 egs_time_t now, struct egs_take_view *row);

/* reload.c: -1: out of memory, the old configuration stays in force */
int egs_policy_reload(struct egs_policy *p, const struct egs_policy_conf *conf);

/* GPU types: those configured, and "all others". */
static inline int egs_policy_ntypes(const struct egs_policy *p)
{
	return p->conf->ntypes + 1;
}

#endif
