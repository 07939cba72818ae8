/* take_rule.h - who may take GPUs from whom: one rule over two rows
 *
 * This is the whole of "nothing else may preempt".  The daemon reckons the
 * rows, the plugins read them from the decision table, and both ask here.
 */
#ifndef EGS_RULES_TAKE_RULE_H
#define EGS_RULES_TAKE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

/* What the rule knows of a job.  A pending job's 'on_loan' is reckoned as if
 * it had started.
 */
struct egs_take_view {
	egs_time_t protected_until; /* end of its MinRuntime */
	egs_time_t recall_from;	    /* an owner may have its GPUs back then */
	uint8_t tier;		    /* rank, 0 is the strongest */
	bool managed;		    /* has a tier; else it is left alone */
	bool on_loan;
	bool dependents;      /* DependentsFirst=preempt, and jobs wait on it */
	bool needs_gpus;      /* in its current phase */
	bool not_preemptible; /* Yields=no, a floor, spared: while it is owned
			       */
	bool over_limit;      /* on loan beyond a limit or its LoanTime */
	bool preempt_budget_used; /* its budget of preemptions is used up */
	bool waiting_for_shrink;  /* it waits, and a job was asked to shrink for
				     it */
	bool over_limit_pending;  /* it waits, and would break a limit if it
				     started */
};

/* Why P may or may not take from V: the first test that fails. */
enum egs_take_result {
	EGS_TAKE_YES,
	EGS_TAKE_UNMANAGED,	  /* one of them is not ours */
	EGS_TAKE_NO_NEED,	  /* P needs no GPU in its phase, or waits */
	EGS_TAKE_WEAKER,	  /* P is not before V in the order */
	EGS_TAKE_NOT_PREEMPTIBLE, /* V is inside its quota and never yields */
	EGS_TAKE_PROTECTED,	  /* V is inside its MinRuntime */
};

/* The place of a row in the order, smaller is stronger: owned before on loan,
 * then the stronger tier, then the one with dependents.
 */
uint32_t egs_take_order(const struct egs_take_view *row);

/* Is P before V? */
bool egs_takes_before(const struct egs_take_view *p,
		      const struct egs_take_view *v);

/* May P take from V at 'now'?  Protection is of V alone, and what an owner
 * recalls is protected by RecallDelay only, so the order above holds for
 * every pair that gets EGS_TAKE_YES: nobody takes in a circle.
 */
enum egs_take_result egs_may_take(const struct egs_take_view *p,
				  const struct egs_take_view *v,
				  egs_time_t now);

/* Does P get back from V what P's team owns? */
bool egs_take_is_recall(const struct egs_take_view *p,
			const struct egs_take_view *v);

/* The place of V among victims, smaller goes first: what is on loan beyond a
 * limit, other loans, what is owned; then the weaker tier, then without
 * dependents, then with something left of its budget.  Jobs with the same
 * class are equals, and there the least lost work decides.
 */
uint32_t egs_victim_class(const struct egs_take_view *v);

/* The same as one number above 0, with the work lost ('cost', in GPU-seconds)
 * behind the class; 2^20 of them, 12 days of one GPU, and more are equal.
 */
uint32_t egs_victim_key(const struct egs_take_view *v, uint32_t cost);

#endif
