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
struct egs_sums {
	uint64_t total, up; /* capacity */
	uint64_t quotas;    /* configured */
	uint64_t owned;	    /* by quota, and by unmanaged jobs */
	uint64_t withheld;  /* idle and not lent */
	uint64_t loan_at[EGS_TIERS_MAX];
};

struct egs_policy {
	const struct egs_policy_conf *conf; /* borrowed */
	struct egs_jobs jobs;
	struct egs_ledger *ledger; /* [team][type] */
	struct egs_sums sums[EGS_TYPE_ROWS];
	struct egs_usage usage[EGS_TEAMS_MAX];
	struct egs_meter team_meter[EGS_TEAMS_MAX];
	struct egs_meter workload_meter[EGS_WORKLOADS_MAX];
	bool workload_over[EGS_WORKLOADS_MAX];
	int32_t deficit[EGS_TEAMS_MAX];	  /* of its share, thousandths */
	uint32_t median_s[EGS_TIERS_MAX]; /* since a save, of who reports */
	struct egs_claims claims;
	struct egs_node *node;
	uint32_t nnodes;
	struct egs_action *action;
	size_t nactions, action_room;
	bool lost; /* an action, for lack of memory */
	egs_time_t now;
	egs_time_t next_deadline;
	bool releasing; /* a job waits to be released */
	bool fewer;	/* a job runs that could do with fewer GPUs */
	bool sparing;	/* a job was asked to go and is still there */
	bool untold;	/* and nobody has said so yet */
	/* of find_victims.c, kept to save allocations: */
	struct egs_scene scene;
	uint32_t place_room, cand_room, hold_room;
};

/* policy.c */
void egs_policy_push(struct egs_policy *p, const struct egs_action *a);
void egs_policy_act(struct egs_policy *p, enum egs_action_kind kind,
		    const struct egs_job *j);
void egs_policy_act_team(struct egs_policy *p, int team, int type);
bool egs_policy_enforces(const struct egs_policy *p, int team);

/* claims.c */
int egs_claim_make(struct egs_policy *p, const struct egs_event *ev);
bool egs_claim_keeps(const struct egs_policy *p, const struct egs_job *j);
void egs_claim_recount(struct egs_policy *p);
void egs_claim_end(struct egs_policy *p, uint32_t job_id);
void egs_claim_node(struct egs_policy *p, uint32_t node);
void egs_claim_settle(struct egs_policy *p);

/* step_env.c */
int egs_job_start(struct egs_policy *p, uint32_t slot,
		  const struct egs_event *ev);
void egs_job_leave(struct egs_policy *p, uint32_t slot);
void egs_job_enter(struct egs_policy *p, uint32_t slot, bool owned);
void egs_job_stop(struct egs_policy *p, uint32_t slot);
int egs_job_change(struct egs_policy *p, uint32_t slot,
		   const struct egs_facts *facts);
bool egs_job_is_on(const struct egs_job *j, uint32_t node);
bool egs_job_needs_gpus(const struct egs_policy *p, const struct egs_job *j);
uint32_t egs_job_wants(const struct egs_job *j);
uint64_t egs_job_rate(const struct egs_policy *p, const struct egs_job *j);

/* preempt.c */
void egs_job_requeue(struct egs_policy *p, uint32_t slot);
void egs_job_spend(const struct egs_policy *p, struct egs_job *j);
void egs_job_deadline(struct egs_policy *p, struct egs_job *j,
		      egs_time_t deadline);
void egs_job_asked(struct egs_policy *p, uint32_t slot,
		   const struct egs_event *ev);
void egs_job_saved(struct egs_policy *p, uint32_t slot, uint32_t took_s);
void egs_job_yielded(struct egs_policy *p, uint32_t slot, uint32_t request);
bool egs_job_returns(const struct egs_job *j);
void egs_job_finished(struct egs_policy *p, uint32_t slot);
void egs_job_unsaid(struct egs_policy *p, uint32_t slot, uint32_t request);
void egs_job_releases(struct egs_policy *p);

/* Who was asked is told, now that all jobs are known: also for whom. */
void egs_job_takers(struct egs_policy *p);
void egs_job_gone(struct egs_policy *p, struct egs_job *j, bool ended);
void egs_job_left(struct egs_policy *p, struct egs_job *j);
void egs_job_left_unseen(struct egs_policy *p, uint32_t slot);
void egs_job_back(struct egs_policy *p, struct egs_job *j);
uint32_t egs_job_grace(const struct egs_policy *p, const struct egs_job *j);
enum egs_fate egs_job_fate(const struct egs_policy *p, const struct egs_job *j);

/* preempt.c: the ledger hears of it, of a request and for whom, also when
 * that is known better by now; it is asked, and stays what it is
 */
void egs_ask_note(struct egs_policy *p, enum egs_action_kind kind,
		  const struct egs_job *j, const struct egs_notice *notice);
void egs_ask_say(struct egs_policy *p, struct egs_job *j);
void egs_ask_freeze(const struct egs_policy *p, struct egs_job *j);

/* withdraw.c */

/* Slurm has chosen this running job as a victim of job 'by'.  One that was
 * asked already, and nobody had said for whom, was asked for that one.
 */
void egs_job_wanted(struct egs_policy *p, uint32_t slot, uint32_t by);

/* The job for which 'j' is asked to go, as far as anybody knows; 0: none. */
uint32_t egs_job_taker(struct egs_policy *p, const struct egs_job *j);

/* Take the request of 'j' back: it runs on with its own time limit.  Nothing
 * happens to one that was not asked, or has yielded.  Slurm ends the job at
 * the deadline it knows, so this has to be before that, with some seconds to
 * spare; and whoever wanted the job's GPUs asks again unless the row of the
 * job says no.
 */
void egs_job_spare(struct egs_policy *p, struct egs_job *j);

/* Slurm shows that it is not asked to go any more. */
void egs_job_spared(struct egs_policy *p, uint32_t slot);

/* Spare all whose takers are gone. */
void egs_job_spares(struct egs_policy *p);

/* deadline.c */
void egs_job_go(struct egs_policy *p, const struct egs_job *j);
uint32_t egs_job_slack(const struct egs_policy *p, const struct egs_job *j);
egs_time_t egs_job_due(const struct egs_policy *p, const struct egs_job *j,
		       egs_time_t until);
void egs_job_deadlines(struct egs_policy *p);

/* loans.c */
struct egs_reckoned {
	bool on_loan;
	int type;
	enum egs_rule held; /* EGS_RULE_FITS: nothing holds it */
	uint32_t limit;
	uint32_t per_s; /* of a limit in hours */
};
struct egs_ledger *egs_loan_ledger(const struct egs_policy *p, int team,
				   int type);
int egs_loan_new(struct egs_policy *p);
void egs_loan_free(struct egs_ledger *ledger, int nteams, int ntypes);
int egs_loan_reserve(struct egs_policy *p, int team, int type);
void egs_loan_enter(struct egs_policy *p, uint32_t slot, bool owned);
void egs_loan_leave(struct egs_policy *p, uint32_t slot);
void egs_loan_quotas(struct egs_policy *p);
void egs_loan_settle(struct egs_policy *p);
void egs_loan_dirty(struct egs_policy *p);
uint32_t egs_loan_withheld(const struct egs_policy *p, int team, int type);
bool egs_loan_over(const struct egs_policy *p, const struct egs_job *j);
struct egs_reckoned egs_loan_reckon(const struct egs_policy *p,
				    const struct egs_job *j);

/* rank.c */
void egs_rank_clock(struct egs_policy *p, const struct egs_job *j);
enum egs_dependents egs_rank_dependents(const struct egs_policy *p,
					const struct egs_job *j);
void egs_rank_pass(struct egs_policy *p);
int32_t egs_rank_factor(const struct egs_policy *p, const struct egs_job *j);
uint64_t egs_rank_cost(const struct egs_policy *p, const struct egs_job *j);

/* restore.c */
void egs_past_job(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past);
bool egs_past_same_run(const struct egs_job *j, const struct egs_past *past);
void egs_past_run(struct egs_policy *p, struct egs_job *j,
		  const struct egs_past *past);
void egs_past_usage(struct egs_policy *p, const struct egs_facts *of,
		    const struct egs_tally *tally);
void egs_past_charge(struct egs_policy *p, const struct egs_job *j,
		     egs_time_t end);
void egs_past_ended(struct egs_policy *p, const struct egs_event *ev);

/* op_shrink.c */

/* Ask jobs that can shrink for those that wait, and see what came of it. */
void egs_fewer_settle(struct egs_policy *p);

/* This one has answered, with what it holds now. */
void egs_fewer_answered(struct egs_policy *p, uint32_t slot);

/* find_victims.c */

/* Note what all nodes have free; -1: out of memory.  Until the next event: does
 * 'j' fit?  And if not, would it if 'v' kept 'keep' GPUs on each of its nodes?
 */
int egs_take_look(struct egs_policy *p);
bool egs_take_fits(struct egs_policy *p, const struct egs_job *j);
bool egs_take_shrunk(struct egs_policy *p, const struct egs_job *j,
		     const struct egs_job *v, uint32_t keep);

/* Is 'a' looked at by Slurm before 'b'? */
bool egs_take_before(const struct egs_policy *p, const struct egs_job *a,
		     const struct egs_job *b);
uint32_t egs_take_guess(struct egs_policy *p, const struct egs_job *victim);
void egs_take_count(const struct egs_policy *p, const struct egs_need *need,
		    uint32_t *free, uint32_t *up);

/* query.c */
void egs_view_row(const struct egs_policy *p, const struct egs_job *j,
		  egs_time_t now, struct egs_row *row);

/* reload.c */
int egs_policy_reload(struct egs_policy *p, const struct egs_policy_conf *conf);

/* The number of rows by type: those configured, and all others. */
static inline int egs_policy_types(const struct egs_policy *p)
{
	return p->conf->ntypes + 1;
}

#endif
