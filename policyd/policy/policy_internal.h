/* policy_internal.h - inside the policy: who does what on the same state
 *
 * policy.c	 new, free, apply: which event goes where
 * step_env.c	 a job starts, stops, changes
 * preempt.c	 a job is asked to go, saves, yields, goes
 * withdraw.c or is told to stay
 * deadline.c	 and at its deadline
 * op_shrink.c or is asked to go on with fewer GPUs
 * loans.c quotas in force, loans, limits: settling
 * pending.c a pending job as if it had started
 * claims.c claims, and when they end
 * rank.c usage, shares, site factors: the full pass
 * reload.c a new configuration, by name
 * restore.c what an earlier policy knew
 * find_victims.c victims for a pending job
 * query.c rows and reasons
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
	uint64_t owned;	    /* by quota, and by unmanaged jobs */
	uint64_t withheld;  /* idle and not lent */
	uint64_t loan_by_tier[EGS_TIERS_MAX];
};

struct egs_policy {
	const struct egs_policy_conf *conf; /* borrowed */
	struct egs_jobs jobs;
	struct egs_loan_book *loan_book; /* [team][type] */
	struct egs_type_sums sums[EGS_TYPE_ROWS];
	struct egs_usage usage[EGS_TEAMS_MAX];
	struct egs_meter team_meter[EGS_TEAMS_MAX];
	struct egs_meter workload_meter[EGS_WORKLOADS_MAX];
	bool workload_over_limit[EGS_WORKLOADS_MAX];
	int32_t share_deficit[EGS_TEAMS_MAX]; /* of its share, thousandths */
	uint32_t median_unsaved_s[EGS_TIERS_MAX]; /* since a save, of who
						     reports */
	struct egs_claim_list claims;
	struct egs_node *node;
	uint32_t nnodes;
	struct egs_action *action;
	size_t nactions, action_room;
	bool rows_changed, claims_changed; /* since the last drain */
	egs_time_t now;
	egs_time_t next_deadline;
	bool any_release_due; /* a job waits to be released */
	bool any_can_shrink;  /* a job runs that could do with fewer GPUs */
	bool any_preempting;  /* a job was asked to go and is still there */
	bool any_unannounced; /* and nobody has said so yet */
	/* of find_victims.c, kept to save allocations: */
	struct egs_victim_search search;
	uint32_t search_node_room, candidate_room, alloc_room;
};

/* policy.c */
void egs_policy_push_action(struct egs_policy *p, const struct egs_action *a);
void egs_policy_act_job(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j);
bool egs_policy_is_enforced(const struct egs_policy *p, int team);

/* claims.c */
int egs_policy_claim_make(struct egs_policy *p, const struct egs_event *ev);
bool egs_policy_claim_has_quota(const struct egs_policy *p,
				const struct egs_job *j);
void egs_policy_claim_recount(struct egs_policy *p);
void egs_policy_claim_end(struct egs_policy *p, uint32_t job_id);
void egs_policy_claim_end_node(struct egs_policy *p, uint32_t node);
void egs_policy_claim_expire(struct egs_policy *p);

/* step_env.c */
int egs_job_start(struct egs_policy *p, uint32_t slot,
		  const struct egs_event *ev);
void egs_job_leave_books(struct egs_policy *p, uint32_t slot);
void egs_job_enter_books(struct egs_policy *p, uint32_t slot, bool owned);
void egs_job_stop(struct egs_policy *p, uint32_t slot);
int egs_job_update_facts(struct egs_policy *p, uint32_t slot,
			 const struct egs_facts *facts);
bool egs_job_is_on_node(const struct egs_job *j, uint32_t node);
bool egs_job_needs_gpus(const struct egs_policy *p, const struct egs_job *j);
uint32_t egs_job_gpus_wanted(const struct egs_job *j);
uint64_t egs_job_usage_rate(const struct egs_policy *p,
			    const struct egs_job *j);

/* preempt.c */
void egs_preempt_to_queue(struct egs_policy *p, uint32_t slot);
void egs_preempt_use_budget(const struct egs_policy *p, struct egs_job *j);
void egs_preempt_set_deadline(struct egs_policy *p, struct egs_job *j,
			      egs_time_t deadline);
void egs_preempt_begin(struct egs_policy *p, uint32_t slot,
		       const struct egs_event *ev);
void egs_preempt_job_saved(struct egs_policy *p, uint32_t slot,
			   uint32_t took_s);
void egs_preempt_job_yielded(struct egs_policy *p, uint32_t slot,
			     uint32_t request);
bool egs_preempt_exit_requeues(const struct egs_job *j);
void egs_preempt_job_finished(struct egs_policy *p, uint32_t slot);
void egs_preempt_revoke(struct egs_policy *p, uint32_t slot, uint32_t request);
void egs_preempt_release_jobs(struct egs_policy *p);

/* Who was asked is told, now that all jobs are known: also for whom. */
void egs_preempt_announce_all(struct egs_policy *p);
void egs_preempt_job_departed(struct egs_policy *p, struct egs_job *j,
			      bool ended);
void egs_preempt_job_requeued(struct egs_policy *p, struct egs_job *j);
void egs_preempt_check_departed(struct egs_policy *p, uint32_t slot);
void egs_preempt_job_restarted(struct egs_policy *p, struct egs_job *j);
uint32_t egs_preempt_grace_s(const struct egs_policy *p,
			     const struct egs_job *j);
enum egs_fate egs_preempt_fate(const struct egs_policy *p,
			       const struct egs_job *j);

/* preempt.c: the ledger hears of it, of a request and for whom, also when
 * that is known better by now; it is asked, and stays what it is
 */
void egs_preempt_record(struct egs_policy *p, enum egs_action_kind kind,
			const struct egs_job *j,
			const struct egs_preempt_info *notice);
void egs_preempt_announce(struct egs_policy *p, struct egs_job *j);
void egs_preempt_fix_fate(const struct egs_policy *p, struct egs_job *j);

/* withdraw.c */

/* Slurm has chosen this running job as a victim of job 'by'.  One that was
 * asked already, and nobody had said for whom, was asked for that one.
 */
void egs_preempt_set_requester(struct egs_policy *p, uint32_t slot,
			       uint32_t by);

/* The job for which 'j' is asked to go, as far as anybody knows; 0: none. */
uint32_t egs_preempt_find_requester(struct egs_policy *p,
				    const struct egs_job *j);

/* Take the request of 'j' back: it runs on with its own time limit.  Nothing
 * happens to one that was not asked, or has yielded.  Slurm ends the job at
 * the deadline it knows, so this has to be before that, with some seconds to
 * spare; and whoever wanted the job's GPUs asks again unless the row of the
 * job says no.
 */
void egs_withdraw_request(struct egs_policy *p, struct egs_job *j);

/* Slurm shows that it is not asked to go any more. */
void egs_withdraw_confirmed(struct egs_policy *p, uint32_t slot);

/* Spare all whose takers are gone. */
void egs_withdraw_unneeded(struct egs_policy *p);

/* deadline.c */
void egs_deadline_end_run(struct egs_policy *p, const struct egs_job *j);
uint32_t egs_deadline_slack_s(const struct egs_policy *p,
			      const struct egs_job *j);
egs_time_t egs_deadline_for(const struct egs_policy *p, const struct egs_job *j,
			    egs_time_t until);
void egs_deadline_check_all(struct egs_policy *p);

/* loans.c */
struct egs_pending_result {
	bool on_loan;
	int type;
	enum egs_why_rule held_by; /* EGS_RULE_FITS: nothing holds it */
	uint32_t limit;
	uint32_t per_s; /* of a limit in hours */
};
struct egs_loan_book *egs_loans_book(const struct egs_policy *p, int team,
				     int type);
int egs_loans_new(struct egs_policy *p);
void egs_loans_free(struct egs_loan_book *ledger, int nteams, int ntypes);
int egs_loans_reserve(struct egs_policy *p, int team, int type);
void egs_loans_add_job(struct egs_policy *p, uint32_t slot, bool owned);
void egs_loans_remove_job(struct egs_policy *p, uint32_t slot);
void egs_loans_set_quotas(struct egs_policy *p);
void egs_loans_update(struct egs_policy *p);
void egs_loans_mark_dirty(struct egs_policy *p);
uint32_t egs_loans_withheld(const struct egs_policy *p, int team, int type);
bool egs_pending_is_over_limit(const struct egs_policy *p,
			       const struct egs_job *j);
struct egs_pending_result egs_pending_evaluate(const struct egs_policy *p,
					       const struct egs_job *j);

/* rank.c */
void egs_rank_advance_usage(struct egs_policy *p, const struct egs_job *j);
enum egs_dependents egs_rank_dependents(const struct egs_policy *p,
					const struct egs_job *j);
void egs_rank_recompute(struct egs_policy *p);
int32_t egs_rank_site_factor(const struct egs_policy *p,
			     const struct egs_job *j);
uint64_t egs_rank_victim_cost(const struct egs_policy *p,
			      const struct egs_job *j);

/* restore.c */
void egs_restore_job(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past);
bool egs_restore_is_same_run(const struct egs_job *j,
			     const struct egs_job_history *past);
void egs_restore_run(struct egs_policy *p, struct egs_job *j,
		     const struct egs_job_history *past);
void egs_restore_usage(struct egs_policy *p, const struct egs_facts *of,
		       const struct egs_usage_snapshot *tally);
void egs_restore_charge_run(struct egs_policy *p, const struct egs_job *j,
			    egs_time_t end);
void egs_restore_ended_run(struct egs_policy *p, const struct egs_event *ev);

/* op_shrink.c */

/* Ask jobs that can shrink for those that wait, and see what came of it. */
void egs_shrink_update(struct egs_policy *p);

/* This one has answered, with what it holds now. */
void egs_shrink_answered(struct egs_policy *p, uint32_t slot);

/* find_victims.c */

/* Note what all nodes have free; -1: out of memory.  Until the next event: does
 * 'j' fit?  And if not, would it if 'v' kept 'keep' GPUs on each of its nodes?
 */
int egs_victims_snapshot(struct egs_policy *p);
bool egs_victims_fits_now(struct egs_policy *p, const struct egs_job *j);
bool egs_victims_fits_if_shrunk(struct egs_policy *p, const struct egs_job *j,
				const struct egs_job *v, uint32_t keep);

/* Is 'a' looked at by Slurm before 'b'? */
bool egs_victims_queue_before(const struct egs_policy *p,
			      const struct egs_job *a, const struct egs_job *b);
uint32_t egs_victims_guess_requester(struct egs_policy *p,
				     const struct egs_job *victim);
void egs_victims_count_gpus(const struct egs_policy *p,
			    const struct egs_need *need, uint32_t *free,
			    uint32_t *up);

/* query.c */
void egs_query_take_view(const struct egs_policy *p, const struct egs_job *j,
			 egs_time_t now, struct egs_take_view *row);

/* reload.c */
int egs_policy_reload(struct egs_policy *p, const struct egs_policy_conf *conf);

/* The number of rows by type: those configured, and all others. */
static inline int egs_policy_ntypes(const struct egs_policy *p)
{
	return p->conf->ntypes + 1;
}

#endif
