/* take_rule.h - which job may take GPUs from which: one rule over two rows
 *
 * No other code decides whether a job may be preempted.  The daemon computes
 * the rows, the plugins read them from the decision table, and both call this.
 */
#ifndef EGS_RULES_TAKE_RULE_H
#define EGS_RULES_TAKE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

/* Input of the rule about one job.  'on_loan' of a pending job is evaluated as
 * if it had started.
 */
struct egs_take_view {
	egs_time_t protected_until; /* end of its MinRuntime */
	egs_time_t recall_from; /* a job within quota may take its GPUs then */
	uint8_t tier;		/* rank, 0 is the strongest */
	bool managed;		/* has a tier; else it is never preempted */
	bool on_loan;
	bool dependents;      /* DependentsFirst=preempt, and jobs wait on it */
	bool needs_gpus;      /* in its current phase */
	bool not_preemptible; /* within quota: Yields=no, a floor, spared */
	bool over_limit;      /* on loan beyond a limit or its LoanTime */
	bool preempt_budget_used; /* MaxPreemptions= is reached */
	bool waiting_for_shrink;  /* pending: another job shrinks for it */
	bool het; /* pending: a component of a heterogeneous job.  Slurm
		   * preempts for each component by itself and starts all
		   * at once, so the job would preempt again and again */
	bool over_limit_pending; /* pending: deferred by a limit */
	/* The quota that a start of P takes away from V; see
	 * egs_take_displaces().
	 */
	uint16_t team;	   /* EGS_NO_TEAM: none */
	uint8_t type;	   /* of its GPUs */
	uint8_t displaces; /* pending: 1 + the strongest tier whose jobs come
			    * after it in the quota; 0: it displaces none */
	uint32_t gpus;	   /* held, or if it is pending wanted */
	uint32_t room;	   /* pending: GPUs that other jobs of its team may get
			    * until a limit defers it */
	uint32_t slack; /* running: GPUs that can start before it in the quota
			 * until it is on loan; EGS_SLACK_NO_END: any number */
	uint32_t span;	/* running: with more than 'slack' + 'span' GPUs a
			 * larger job before it is on loan, too, and may leave
			 * it room; EGS_SPAN_NO_END: there is none */
};

#define EGS_NO_TEAM	 UINT16_MAX
#define EGS_SLACK_NO_END UINT16_MAX
#define EGS_SPAN_NO_END	 UINT8_MAX

/* Why P may or may not take from V: the first test that fails. */
enum egs_take_result {
	EGS_TAKE_YES,
	EGS_TAKE_UNMANAGED,	  /* P or V is unmanaged */
	EGS_TAKE_NO_NEED,	  /* P needs no GPU, waits for a shrink, or is
				   * heterogeneous */
	EGS_TAKE_WEAKER,	  /* P is not before V in the order */
	EGS_TAKE_NOT_PREEMPTIBLE, /* V is within quota and never yields */
	EGS_TAKE_PROTECTED,	  /* V is within MinRuntime or RecallDelay */
};

/* Position of a row in the order, smaller is stronger: within quota before on
 * loan, then the stronger tier, then jobs with dependents.
 */
uint32_t egs_take_order(const struct egs_take_view *row);

/* Would V, which is within quota, be on loan if P started?  Both are of one
 * team, and P comes first in its quota.  If that is not certain, no.
 */
bool egs_take_displaces(const struct egs_take_view *p,
			const struct egs_take_view *v);

/* Is P before V in the order? */
bool egs_takes_before(const struct egs_take_view *p,
		      const struct egs_take_view *v);

/* May P take GPUs from any job?  If not, the result is EGS_TAKE_NO_NEED. */
bool egs_take_needs_victims(const struct egs_take_view *p);

/* May P take GPUs from V at 'now'?  V is evaluated as if P had started: a job
 * that P displaces from the quota is on loan.  Protection depends on V only,
 * and against a recall V is protected for RecallDelay only.  So the order holds
 * for every pair with EGS_TAKE_YES, and jobs never preempt each other in a
 * cycle.
 */
enum egs_take_result egs_may_take(const struct egs_take_view *p,
				  const struct egs_take_view *victim,
				  egs_time_t now);

/* A recall: P is within quota and takes back GPUs that V has on loan. */
bool egs_take_is_recall(const struct egs_take_view *p,
			const struct egs_take_view *v);

/* Class of V as a victim; the smallest is preempted first: loans over a limit,
 * other loans, jobs within quota; then the weaker tier, then without
 * dependents, then with some of MaxPreemptions= left.  Within a class the least
 * lost work decides.
 */
uint32_t egs_victim_class(const struct egs_take_view *v);

/* Class of V as a victim of P, evaluated as if P had started.  Among loans of a
 * tier those of P's own team come first.  A job that is being preempted comes
 * before all others: no second job is preempted for the same GPUs.
 */
uint32_t egs_victim_class_for(const struct egs_take_view *p,
			      const struct egs_take_view *v, bool preempting);

/* Class and lost work ('cost', in GPU-seconds) as one number above 0.  All
 * costs from 2^20 on, 12 days of one GPU, are equal.
 */
uint32_t egs_victim_key(const struct egs_take_view *v, uint32_t cost);

#endif
