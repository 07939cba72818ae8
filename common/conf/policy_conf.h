/* policy_conf.h - the configuration of the policy, as plain structs
 *
 * egs.conf(5) is the manual of the keys; these structs have their values.  The
 * parser (apply.c) fills the structs and the policy only reads them, so tests
 * can write a configuration in C.
 *
 * Conventions:
 *  - Tiers, types, teams, phases and workloads are known by their index in the
 *    arrays of struct egs_policy_conf; -1 means "none".  The index of a tier is
 *    its rank: 0 is the strongest, the first in TierOrder=.
 *  - A list (accounts, users, partitions, ...) is the text "a,b,c" without
 *    blanks; NULL is an empty list.  egs_conf_list_has() searches it.
 *  - Times are seconds, shares are percent, and fractions such as a rating are
 *    thousandths (EGS_MILLI_ONE is 1.0).
 *  - The configuration owns every char * and frees it.
 *  - A comment that is only a value is the default of its field.
 */
#ifndef EGS_CONF_POLICY_CONF_H
#define EGS_CONF_POLICY_CONF_H

#include <stdbool.h>
#include <stdint.h>

#define EGS_TIERS_MAX	  16
#define EGS_TYPES_MAX	  15
#define EGS_TEAMS_MAX	  256
#define EGS_PHASES_MAX	  32
#define EGS_WORKLOADS_MAX 512
#define EGS_RULES_MAX	  32

/* Size of a name, with its NUL. */
#define EGS_NAME_SIZE 65

/* One row for each type, and a last row for types that egs.conf does not have.
 */
#define EGS_TYPE_ROWS (EGS_TYPES_MAX + 1)

/* A rating or a weight of 1.0. */
#define EGS_MILLI_ONE 1000

/* A price of 1.0: prices are millionths of the currency for a GPU-hour. */
#define EGS_PRICE_ONE 1000000

/* No limit; "none" of a key whose value is a number. */
#define EGS_UNLIMITED UINT32_MAX

/* A number that the file does not set; the comment of its field explains that.
 */
#define EGS_UNSET (UINT32_MAX - 1)

enum egs_mode {
	EGS_MODE_INHERIT, /* teams only: use the global Mode= */
	EGS_MODE_OBSERVE,
	EGS_MODE_ENFORCE,
};

enum egs_loan_rule {
	EGS_LOAN_OVERQUOTA, /* within quota if it fits, else on loan */
	EGS_LOAN_ALWAYS,    /* on loan, whatever the quota */
	EGS_LOAN_NEVER,	    /* a job that does not fit in the quota waits */
};

/* What happens to a job.  AtDeadline= is for the end of the grace period.
 * NoCheckpoint= is for jobs that cannot checkpoint, NoRequeue= for jobs that
 * cannot be requeued.  NoRequeue= has no REQUEUE, the other keys have no
 * REFUSE.
 */
enum egs_fate {
	EGS_FATE_REQUEUE,
	EGS_FATE_CANCEL,
	EGS_FATE_NONE, /* not preempted; NoRequeue=spare: while within quota */
	EGS_FATE_REFUSE,
};

enum egs_dependents {
	EGS_DEPENDENTS_INHERIT, /* workloads only: use the global key */
	EGS_DEPENDENTS_NO,
	EGS_DEPENDENTS_ORDER,	/* first in the queue of their equals */
	EGS_DEPENDENTS_PREEMPT, /* also may preempt their equals */
};

enum egs_limit_action {
	EGS_LIMIT_LOAN, /* over the limit: on loan, first victims */
	EGS_LIMIT_HOLD, /* over the limit: does not start */
};

enum egs_out_of_range {
	EGS_RANGE_REFUSE,
	EGS_RANGE_ADJUST,
};

/* What RunDir/metrics tells of the job that has a GPU. */
enum egs_job_metrics {
	EGS_JOB_METRICS_AUTO, /* NO if slurm.conf has PrivateData=, else YES */
	EGS_JOB_METRICS_YES,
	EGS_JOB_METRICS_NO,
	EGS_JOB_METRICS_NOUSER, /* all but its user */
};

/* 'count' in a period of 'per_s' seconds; EGS_UNLIMITED: no limit.  "3/day" is
 * { 3, 86400 }; a month is 30 days.  A period of preemptions begins with the
 * first preemption of a job.  A period of GPU-hours begins at midnight or on
 * Monday, UTC (policyd/policy/usage.h).
 */
struct egs_rate {
	uint32_t count;
	uint32_t per_s;
};

/* GPUs of a phase.  "8" is { 8, 8 }, "8-64" is { 8, 64 }.  "any" is {
 * EGS_UNSET, EGS_UNSET }: a change to this phase does not resize the job.
 */
struct egs_range {
	uint32_t min;
	uint32_t max;
};

/* GpuType=NAME */
struct egs_gpu_type {
	char name[EGS_NAME_SIZE]; /* "": all GPUs, see egs_conf_add_type() */
	uint32_t rating;	  /* EGS_MILLI_ONE */
	uint64_t price;		  /* 0; in 1/EGS_PRICE_ONE per GPU-hour */
};

/* Tier=NAME */
struct egs_tier {
	char name[EGS_NAME_SIZE];
	char *allow_accounts;	 /* NULL: all */
	char *allow_users;	 /* NULL: all */
	char *allow_groups;	 /* NULL: all */
	char *qos;		 /* jobs with these QOS get this tier */
	char *partitions;	 /* jobs in these partitions get this tier */
	char *nodes;		 /* host list, as Slurm writes it; NULL: all */
	enum egs_loan_rule loan; /* overquota */
	bool yields;		 /* true */
	bool spill;		 /* true: other nodes when 'nodes' are full */
	bool expedite;		 /* true: --requeue=expedite is allowed */
	bool revenue;		 /* true; apply.c: false for the last tier */
	uint32_t min_runtime_s;	 /* 15m */
	struct egs_rate max_preemptions; /* 3/day */
	uint32_t grace_min_s;		 /* 30s */
	uint32_t grace_max_s;		 /* 10m */
	uint32_t grace_noack_s;		 /* 2m */
	enum egs_fate at_deadline;	 /* requeue */
	enum egs_fate no_checkpoint;	 /* requeue */
	enum egs_fate no_requeue;	 /* spare */
};

/* Team=NAME */
struct egs_team {
	char name[EGS_NAME_SIZE];
	char *accounts; /* "x*" matches all that begins with x */
	char *users;
	char *groups;
	uint32_t quota[EGS_TYPE_ROWS];	  /* 0 */
	uint32_t max_gpus[EGS_TYPE_ROWS]; /* EGS_UNLIMITED */
	uint32_t borrow_pct; /* 100; of the quota that others do not use */
	uint32_t lend_pct;   /* 100; of its own quota */
	struct egs_rate max_gpu_hours;	    /* EGS_UNLIMITED */
	enum egs_limit_action limit_action; /* loan */
	uint32_t share;			    /* EGS_UNSET: quota times ratings */
	uint32_t tiers;			    /* bit r: tier r is allowed; all */
	int default_tier;   /* -1: jobs without a tier are unmanaged */
	enum egs_mode mode; /* inherit */
};

/* Phase=NAME; the first five are built in */
struct egs_phase {
	char name[EGS_NAME_SIZE];
	char *partitions;      /* NULL: all */
	char *nodes;	       /* host list, as Slurm writes it; NULL: all */
	bool spill;	       /* true: other nodes when 'nodes' are full */
	struct egs_range gpus; /* any */
	enum egs_out_of_range out_of_range; /* refuse */
	uint32_t weight;		    /* EGS_MILLI_ONE */
	/* GPUs of a job may be idle so long; EGS_UNLIMITED: for ever. */
	uint32_t idle_warn_s, idle_yield_s, stall_after_s;
};

/* Workload=NAME; one row for each of its Phase= */
struct egs_workload {
	char name[EGS_NAME_SIZE];
	int team;
	int phase; /* -1: all phases */
	struct egs_range gpus;
	uint32_t floor[EGS_TYPE_ROWS];	      /* 0 */
	struct egs_rate max_gpu_hours;	      /* EGS_UNLIMITED */
	enum egs_dependents dependents_first; /* inherit */
};

/* What a rule looks at. */
enum egs_rule_on {
	EGS_ON_RECOVERY,    /* the driver asks for a reset, or lost the GPU */
	EGS_ON_XID,	    /* an error that the driver reports */
	EGS_ON_ECC,	    /* uncorrected memory errors */
	EGS_ON_TEMPERATURE, /* degrees Celsius */
	EGS_ON_POWER,	    /* watts */
	EGS_ON_SLOWDOWN,    /* by heat or by the power supply */
	EGS_ON_MEMORY,	    /* % in use */
	EGS_ON_COUNT
};

/* What a rule does, a bit each. */
enum egs_remedy {
	EGS_REMEDY_NONE = 0,
	EGS_REMEDY_NOTE = 1,   /* on the job and the node; always done */
	EGS_REMEDY_WARN = 2,   /* run Notify= */
	EGS_REMEDY_AVOID = 4,  /* no managed job starts on the node, for now */
	EGS_REMEDY_CAP = 8,    /* lower the power limit of the GPU, for now */
	EGS_REMEDY_MOVE = 16,  /* likewise, and the job goes to another node */
	EGS_REMEDY_FENCE = 32, /* no managed job starts on the node */
	EGS_REMEDY_DRAIN = 64, /* no job starts on the node */
	EGS_REMEDY_RUN = 128,  /* run a program of the site */
};

/* A rule with one of these needs a Limit=: they take a node from some job, or a
 * job from its node, or make it slow, or nobody knows what they do.
 */
#define EGS_REMEDY_LIMITED                                                  \
	((uint32_t)(EGS_REMEDY_MOVE | EGS_REMEDY_FENCE | EGS_REMEDY_DRAIN | \
		    EGS_REMEDY_CAP | EGS_REMEDY_RUN))

/* With these, no managed job starts on the node while the reason holds. */
#define EGS_REMEDY_AVOIDS ((uint32_t)(EGS_REMEDY_AVOID | EGS_REMEDY_MOVE))

/* These take a node from jobs and count for RemediateMax=. */
#define EGS_REMEDY_ACTS \
	(EGS_REMEDY_AVOIDS | (uint32_t)(EGS_REMEDY_FENCE | EGS_REMEDY_DRAIN))

#define EGS_RULE_RUN_SIZE 256

/* Do= of a rule. */
struct egs_remedies {
	uint32_t set;		     /* bits of enum egs_remedy */
	uint32_t cap_pct;	     /* of EGS_REMEDY_CAP */
	char run[EGS_RULE_RUN_SIZE]; /* the program of EGS_REMEDY_RUN */
};

/* Rule=NAME */
struct egs_rule {
	char name[EGS_NAME_SIZE];
	enum egs_rule_on on;
	uint32_t above;		  /* EGS_UNSET: there is no number */
	uint32_t for_s;		  /* 0s */
	struct egs_remedies does; /* note */
	struct egs_rate limit;	  /* EGS_UNLIMITED */
};

#define EGS_PORT 6827

/* Seconds between two samples of a GPU. */
#define EGS_SAMPLE_INTERVAL_S 30

#define EGS_RUNDIR_SIZE_KIB 4096
#define EGS_RUNDIR_INODES   1024

/* The whole file. */
struct egs_policy_conf {
	enum egs_mode mode; /* observe, never inherit */
	char *partitions;   /* NULL: all */
	char *preempt_base; /* NULL: none */
	char *operators;
	char *web_user;	 /* NULL: none */
	char *state_dir; /* NULL: the default; egs_conf_dir() knows it */
	char *run_dir;
	char *node_dir;
	char *node_spool;
	char *dcgm_map_dir; /* NULL: none */
	char *notify;	    /* NULL: none */
	char *currency;
	bool live_resize;	    /* false */
	uint32_t port;		    /* EGS_PORT */
	uint32_t rundir_size_kib;   /* EGS_RUNDIR_SIZE_KIB; 0: no limit */
	uint32_t rundir_inodes;	    /* EGS_RUNDIR_INODES */
	uint32_t stale_after_s;	    /* 60s */
	uint32_t poll_interval_s;   /* 2s */
	uint32_t recall_delay_s;    /* 0s */
	uint32_t loan_time_s;	    /* EGS_UNLIMITED; longer loans are the
				     * first victims */
	uint32_t half_life_s;	    /* FairShareHalfLife, 7d */
	uint32_t retention_s;	    /* 400d */
	uint32_t sample_interval_s; /* EGS_SAMPLE_INTERVAL_S; 0: off */
	uint32_t cell_retention_s;  /* SampleRetention, 14d; 0: none */
	uint32_t metrics_every_s;   /* MetricsInterval, 15s; 0: off */
	uint32_t site_factor_max;   /* 10000, 0: off */
	enum egs_dependents dependents_first; /* order, never inherit */
	enum egs_job_metrics job_metrics;     /* auto */
	uint32_t remediate_max_pct;	      /* 5; of all nodes */
	int ntypes, ntiers, nteams, nphases, nworkloads, nrules;
	struct egs_gpu_type type[EGS_TYPES_MAX];
	struct egs_tier tier[EGS_TIERS_MAX];
	struct egs_team team[EGS_TEAMS_MAX];
	struct egs_phase phase[EGS_PHASES_MAX];
	struct egs_workload workload[EGS_WORKLOADS_MAX];
	struct egs_rule rule[EGS_RULES_MAX];
};

/* A configuration with the defaults of an empty file: no tier, so no job is
 * managed, and the five built-in phases with Gpus=any.  NULL without memory.
 * egs_policy_conf_free() frees it and all its strings, and accepts NULL.
 */
struct egs_policy_conf *egs_policy_conf_new(void);
void egs_policy_conf_free(struct egs_policy_conf *conf);

/* A new row with the defaults and 'name' (cut at EGS_NAME_SIZE - 1), or NULL
 * when the table is full.  If a phase or a type of that name exists, its row is
 * returned.  The type "" means all GPUs of the cluster: the file has "Quota=8",
 * and no type has a name.  Upper and lower case differ; the parser has already
 * made names of tiers and phases lower case.
 */
struct egs_gpu_type *egs_conf_add_type(struct egs_policy_conf *,
				       const char *name);
struct egs_tier *egs_conf_add_tier(struct egs_policy_conf *, const char *name);
struct egs_team *egs_conf_add_team(struct egs_policy_conf *, const char *name);
struct egs_phase *egs_conf_add_phase(struct egs_policy_conf *,
				     const char *name);
struct egs_workload *egs_conf_add_workload(struct egs_policy_conf *,
					   const char *name);
struct egs_rule *egs_conf_add_rule(struct egs_policy_conf *, const char *name);

/* The index of a name, or -1.  egs_conf_match_type() never fails: a type that
 * the file does not have is row 'ntypes', one pool for all such GPUs.  If the
 * file has the type "", every type matches it.
 */
int egs_conf_find_tier(const struct egs_policy_conf *conf, const char *name);
int egs_conf_find_team(const struct egs_policy_conf *conf, const char *name);
int egs_conf_find_phase(const struct egs_policy_conf *conf, const char *name);
int egs_conf_find_rule(const struct egs_policy_conf *conf, const char *name);
int egs_conf_match_type(const struct egs_policy_conf *conf, const char *name);

/* The row of a workload of 'team' in 'phase': the row of that phase, else the
 * row of all phases, else -1.
 */
int egs_conf_find_workload(const struct egs_policy_conf *conf, const char *name,
			   int team, int phase);

/* Is 'name' in 'list'?  An entry "x*" matches all that begins with x.  A NULL
 * list is empty, and a NULL name is in no list.
 */
bool egs_conf_list_has(const char *list, const char *name);

#endif
