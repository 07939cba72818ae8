/* why.h - why a job waits or runs: one rule and the numbers behind it */
#ifndef EGS_POLICY_WHY_H
#define EGS_POLICY_WHY_H

#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

enum egs_why_rule {
	EGS_RULE_UNMANAGED,	  /* no tier: Slurm alone decides */
	EGS_RULE_NOT_SCHEDULABLE, /* a dependency, a begin time or a hold */
	EGS_RULE_COMPLETING,	  /* its last run is ending */
	EGS_RULE_REQUEUED_FOR,	  /* preempted for 'other_job', not released */
	EGS_RULE_REQUEUED,	  /* likewise, requester unknown */
	EGS_RULE_OWNED,		  /* running within quota */
	EGS_RULE_OWNED_FOR_NOW,	  /* running; owned until 'until', because the
				   * quota has become smaller */
	EGS_RULE_ON_LOAN,	  /* running on loan */
	EGS_RULE_OVER_LIMIT,	  /* running on loan, over a limit */
	EGS_RULE_PREEMPTED_FOR,	  /* being preempted for 'other_job' */
	EGS_RULE_PREEMPTED,	  /* being preempted, requester unknown */
	/* pending: */
	EGS_RULE_NO_GPUS,	   /* needs no GPU */
	EGS_RULE_FITS,		   /* EGS does not hold it back */
	EGS_RULE_NEEDS_VICTIMS,	   /* 'other_job' must be preempted first */
	EGS_RULE_WAITS_FOR_SHRINK, /* 'other_job' is to shrink to 'limit' */
	EGS_RULE_PROTECTED,	   /* 'other_job' is protected until 'until' */
	EGS_RULE_NO_VICTIMS,	   /* it may not preempt the jobs on the GPUs */
	EGS_RULE_HET,		   /* likewise: no heterogeneous job may */
	EGS_RULE_FRAGMENTED,	   /* enough GPUs are free, but do not fit */
	EGS_RULE_TOO_FEW_UP,	   /* fewer GPUs are up than it needs */
	EGS_RULE_OWN_NODES,	   /* Spill=no, and 'nodes' are full */
	EGS_RULE_NO_OWN_NODES,	   /* Spill=no, and no such node exists */
	/* pending and deferred: */
	EGS_RULE_QUOTA,	       /* Loan=never, and the quota is full */
	EGS_RULE_LEND_LIMIT,   /* the other teams lend less */
	EGS_RULE_BORROW_LIMIT, /* beyond the team's Borrow= */
	EGS_RULE_MAX_GPUS,     /* beyond the team's MaxGpus= */
	EGS_RULE_HET_MAX_GPUS, /* likewise, with the other components */
	EGS_RULE_GPU_HOURS,    /* MaxGpuHours= is reached */
};

struct egs_why {
	enum egs_why_rule rule;
	bool on_loan; /* it runs, or would run, on loan */
	uint32_t job_id;
	uint32_t other_job;	     /* 0: none */
	uint32_t other_gpus;	     /* of 'other_job', for NO_VICTIMS */
	uint32_t nvictims;	     /* for NEEDS_VICTIMS */
	uint32_t free_gpus, up_gpus; /* of its type, from NO_VICTIMS on */
	int team, tier, type;	     /* -1: none */
	int phase;		     /* that has 'nodes', -1: the tier */
	const char *nodes;     /* of OWN_NODES, borrowed of the configuration */
	uint32_t gpus;	       /* wanted or held */
	uint32_t quota;	       /* of its team and type, in force */
	uint32_t owned;	       /* GPUs of the team within quota */
	uint32_t team_on_loan; /* GPUs of the team on loan */
	uint32_t limit;	       /* GPUs or hours, of the rule */
	egs_time_t until; /* of a protection, deadline or period; 0: none */
};

/* Write one sentence about the job at 'now', cut to 'size'.  Returns the length
 * of the whole sentence, as snprintf() does.
 */
int egs_why_format(const struct egs_why *why,
		   const struct egs_policy_conf *conf, egs_time_t now,
		   char *buf, size_t size);

#endif
