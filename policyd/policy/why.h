/* why.h - why a job is where it is: one rule and the numbers behind it */
#ifndef EGS_POLICY_WHY_H
#define EGS_POLICY_WHY_H

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

enum egs_why_rule {
	EGS_RULE_UNMANAGED,	   /* no tier: Slurm alone decides */
	EGS_RULE_NOT_SCHEDULABLE,  /* a dependency, a begin time or a hold */
	EGS_RULE_OWNED,		   /* running inside the quota */
	EGS_RULE_ON_LOAN,	   /* running on loan */
	EGS_RULE_OVER_LIMIT,	   /* running on loan, past a limit */
	EGS_RULE_PREEMPTED_FOR,	   /* asked to save and go, for 'holder' */
	EGS_RULE_PREEMPTED,	   /* the same, for no job that anybody knows */
	EGS_RULE_NO_GPUS,	   /* pending, needs no GPU */
	EGS_RULE_FITS,		   /* pending, nothing of ours in its way */
	EGS_RULE_NEEDS_VICTIMS,	   /* pending, 'holder' has to go first */
	EGS_RULE_WAITS_FOR_SHRINK, /* pending, 'holder' is asked to keep 'limit'
				    */
	EGS_RULE_PROTECTED,  /* pending, 'holder' is protected until 'until' */
	EGS_RULE_NO_VICTIMS, /* pending, all GPUs are with equals or stronger */
	EGS_RULE_FRAGMENTED, /* pending, enough are free, and not as it wants */
	EGS_RULE_TOO_FEW_UP, /* pending, there are not that many */
	EGS_RULE_QUOTA,	     /* held: Loan=never, and the quota is full */
	EGS_RULE_LEND_LIMIT, /* held: nobody lends that many */
	EGS_RULE_BORROW_LIMIT, /* held: beyond the team's Borrow= */
	EGS_RULE_MAX_GPUS,     /* held: beyond the team's MaxGpus= */
	EGS_RULE_GPU_HOURS,    /* held: MaxGpuHours= is reached */
};

struct egs_why {
	enum egs_why_rule rule;
	bool on_loan; /* it runs, or would run, on loan */
	uint32_t job_id;
	uint32_t other_job;  /* another job, 0: none */
	uint32_t other_gpus; /* GPUs of 'holder', of EQUALS */
	uint32_t nvictims;   /* how many have to go */
	uint32_t free_gpus,
		up_gpus;       /* GPUs as it wants them, of EQUALS and behind */
	int team, tier, type;  /* -1: none */
	uint32_t gpus;	       /* wanted or held */
	uint32_t quota;	       /* of its team and type, in force */
	uint32_t owned;	       /* GPUs the team owns now */
	uint32_t team_on_loan; /* GPUs the team has on loan */
	uint32_t limit;	       /* GPUs or hours, of the rule that holds it */
	egs_time_t until; /* of a protection, deadline or period; 0: none */
};

/* Does the rule keep the job from starting? */
bool egs_why_is_held(const struct egs_why *why);

/* One sentence, cut to 'size', about the job at 'now'.  Returns its length,
 * as snprintf() does.
 */
int egs_why_format(const struct egs_why *why,
		   const struct egs_policy_conf *conf, egs_time_t now,
		   char *buf, size_t size);

#endif
