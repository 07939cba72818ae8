/* event.h - input and output of the policy
 *
 * The daemon and the tests turn what they see into events and apply them in
 * order.  The same events at the same times give the same actions.  Events
 * have indices of policy_conf.h instead of names; the caller numbers the nodes.
 */
#ifndef EGS_POLICY_EVENT_H
#define EGS_POLICY_EVENT_H

#include "common/conf/policy_conf.h"
#include "common/rules/identity.h"
#include "common/rules/victims.h"

/* Properties of a job, from Slurm and from its hint. */
struct egs_facts {
	struct egs_need need; /* requested, per node */
	/* GPUs of each type that count for limits, if 'need' does not tell:
	 * several types, or whole nodes; else all 0.
	 */
	uint16_t by_type[EGS_TYPE_ROWS];
	uint32_t total_gpus;  /* requested, if 'need' is rounded up; else 0 */
	uint32_t het_job;     /* id of its heterogeneous job, 0: none */
	uint32_t save_time_s; /* --save-time, 0: not given */
	uint32_t shrink_to;   /* GPUs it can continue with, 0: not given */
	uint32_t idle_ok_s;   /* its GPUs may be idle so long, 0: not given */
	uint32_t update_no;   /* of the last update that these facts include */
	int16_t team;	      /* -1: none */
	int16_t workload;     /* row of the configuration, -1: none */
	int16_t tier;	      /* -1: unmanaged */
	int16_t phase;	      /* -1: none */
	bool can_requeue;     /* Slurm may requeue it */
	bool ckpt;	      /* it declared a checkpoint */
	bool no_save;	      /* it declared that it cannot save */
	bool exit_is_final;   /* exit=finish: an exit is never a yield */
	bool signal_batch;    /* send its signal to the batch shell */
	uint8_t signal;	      /* to ask it to save, 0: none */
	bool dependents;      /* jobs wait on its output */
	bool not_schedulable; /* waits for a dependency, a time or a hold */
	bool completing;      /* its last run is still completing */
	bool suspended;	      /* running, but stopped */
	bool no_preempt;      /* PreemptMode=OFF of its partition */
	bool awaits_decision; /* slurmctld starts it when it has a row */
	bool departed;	      /* preempted, and not released yet */
	bool held;	      /* by its owner or an administrator */
	bool held_by_admin;   /* its owner may not release it */
	bool array_rest;      /* tasks of an array that have not started */
};

/* Allocation of a running job on one node. */
struct egs_node_alloc {
	uint32_t node;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint64_t gpu_set; /* numbers of the GPUs as bits, 0: unknown */
};

/* A GPU of a running job. */
struct egs_gpu_idle {
	uint32_t node;
	uint32_t idle_s; /* 0: it is busy, or that is not known */
};

/* What a user or an operator wants of a job, until Slurm shows it; 0: nothing.
 * One of the first four, and flags.
 */
#define EGS_WISH_CANCEL	 1U /* it ends */
#define EGS_WISH_REQUEUE 2U /* its run ends, and it waits, held */
#define EGS_WISH_HOLD	 3U /* it is held, if it is pending */
#define EGS_WISH_RELEASE 4U /* it is not held any more */
#define EGS_WISH_MASK	 15U
#define EGS_WISH_SKIP	 16U /* do not ask it to checkpoint */
#define EGS_WISH_BY_ADMIN                               \
	32U /* a hold that its owner may not release; a \
	     * release of any hold */

/* Save times remembered, to compute the next grace period. */
#define EGS_SAVE_TIMES 4

/* State of a job in an earlier daemon, from egs_policy_job_history(). */
struct egs_job_history {
	egs_time_t first_submitted; /* 0: not known */
	egs_time_t queued_at;
	egs_time_t started;    /* 0: it was pending */
	egs_time_t loan_since; /* 0: it was not on loan */
	egs_time_t saved_at;   /* 0: never */
	egs_time_t deadline;   /* of the notice, 0: none, or it has passed */
	egs_time_t budget_from;
	egs_time_t requested_at;
	uint32_t restarts;
	uint32_t waited_s;
	uint32_t requester;
	uint32_t request_no;
	uint32_t preemptions;
	uint16_t save_s[EGS_SAVE_TIMES]; /* the last ones, oldest first; 0: none
					  */
	uint32_t departed_request; /* notice of its last preemption, 0: it has
				    * restarted */
	uint32_t departed_for;	   /* requester of that preemption */
	bool preempting;
	bool finished;
	bool release_due; /* its begin time is to be cleared */
	uint32_t wish;	  /* EGS_WISH_*, 0: not */
	bool enforced;	  /* EGS enforced when it gave the notice */
};

/* Usage of a team until 'at': 'units' decayed, 'gpu_s' in this period.  For a
 * workload only 'gpu_s' is known.
 */
struct egs_usage_snapshot {
	egs_time_t at;
	uint64_t units;
	uint64_t gpu_s;
};

/* All of a node, free or not. */
struct egs_node {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* of its GPUs, or of most of them */
	bool up;      /* false: drained, down or fenced */
	bool mixed;   /* it has several types: 'by_type' */
	uint32_t by_type[EGS_TYPE_ROWS];
	/* Bit i: Nodes= of tier i, or of phase i, has the node. */
	uint32_t tiers, phases;
};

enum egs_event_kind {
	EGS_EV_UPDATED, /* submitted, or changed: 'facts' */
	EGS_EV_STARTED, /* started, seen running, or resized: 'alloc', 'type' */
	EGS_EV_REQUEUED, /* back in the queue */
	EGS_EV_ENDED,	 /* ended or vanished; if 'started_unseen' also 'since',
			  * 'until', 'alloc', 'type' */
	EGS_EV_PHASE,	 /* 'facts.phase' and 'facts.workload' */
	EGS_EV_PREEMPTING,	/* by 'until', for job 'requester' */
	EGS_EV_CHOSEN_VICTIM,	/* select/egs chose it for job 'requester' */
	EGS_EV_WITHDRAWN,	/* Slurm no longer preempts it */
	EGS_EV_WISH,		/* a person wants 'wish' of it */
	EGS_EV_SHRINK_ANSWERED, /* it has answered a request to shrink */
	EGS_EV_SAVED,		/* it has saved; that took 'took_s' */
	EGS_EV_PROGRESS,	/* it has reported progress */
	EGS_EV_IDLE,	 /* what its GPUs do now: 'idle', in the order of its
			  * nodes, for each GPU whose number is known; 'waiting':
			  * pending jobs that may use its nodes */
	EGS_EV_YIELDED,	 /* it has saved for notice 'request_no' */
	EGS_EV_FINISHED, /* its work is done: its exit is final */
	EGS_EV_REVOKED,	 /* the daemon could not store YIELDED for 'request_no',
			  * or FINISHED if that is 0: forget it */
	EGS_EV_UNREACHABLE, /* it has no run directory: ask it by a signal */
	EGS_EV_CLAIMED,	    /* claims 'alloc' until 'until' */
	EGS_EV_USAGE, /* before the first job: 'usage' of 'facts.workload',
		       * or if that is -1 of 'facts.team' */
	EGS_EV_NODE,  /* 'node' is now 'node_state' */
	EGS_EV_CONF,  /* 'conf' is in force */
	EGS_EV_TICK,  /* only time has passed */
};

struct egs_event {
	enum egs_event_kind kind;
	struct egs_identity job;
	struct egs_facts facts;
	const struct egs_node_alloc *alloc; /* borrowed, for the call */
	uint32_t nallocs;
	const struct egs_job_history *history;	/* borrowed, of a new job */
	const struct egs_usage_snapshot *usage; /* borrowed */
	uint8_t type;				/* of the GPUs in 'alloc' */
	bool owned;	     /* STARTED: it was within quota before a restart */
	bool notify_job;     /* PREEMPTING: by us, so send its signal */
	bool started_unseen; /* STARTED, ENDED: it started before we polled */
	egs_time_t since;    /* when it happened; 0: now */
	egs_time_t until;   /* CLAIMED: the expiry; PREEMPTING: the deadline, 0:
			     * the grace period decides; ENDED: the end */
	int64_t priority;   /* CLAIMED: Slurm's */
	uint32_t requester; /* PREEMPTING: 0: Slurm has not named a job */
	uint32_t wish;	    /* WISH: EGS_WISH_*, 0: nothing any more */
	/* PREEMPTING, WISH by a person: the reason and the name, else
	 * NULL.  Borrowed until egs_policy_clear_actions().
	 */
	const char *reason, *operator_name;
	uint32_t request_no;
	uint32_t took_s;
	const struct egs_gpu_idle *idle; /* borrowed, for the call */
	const uint32_t *waiting;	 /* job ids, likewise */
	uint32_t nidle, nwaiting;
	uint32_t node;
	struct egs_node node_state;
	const struct egs_policy_conf *conf;
};

enum egs_action_kind {
	EGS_ACT_NONE,
	EGS_ACT_REQUEUE, /* it has yielded, or its deadline has passed */
	EGS_ACT_CANCEL,	 /* likewise, but it cannot or must not be requeued */
	EGS_ACT_RELEASE, /* it was requeued: clear its begin time */
	EGS_ACT_REQUEUE_HOLD,	/* requeue it, held */
	EGS_ACT_CANCEL_PENDING, /* cancel it, unless it has started */
	EGS_ACT_HOLD,		/* hold it, unless it has started */
	EGS_ACT_HOLD_ADMIN,	/* likewise; only operators release it */
	EGS_ACT_UNHOLD,		/* release it, unless an operator holds it */
	EGS_ACT_UNHOLD_ADMIN,	/* release it, whoever holds it */
	EGS_ACT_SIGNAL,		/* send its signal, or else SIGTERM */
	EGS_ACT_WITHDRAW,	/* Slurm must no longer preempt it */
	EGS_ACT_SHRINK,		/* ask it to shrink to 'preempt.gpus' GPUs until
				 * 'preempt.deadline', for job 'requester' */
	EGS_ACT_IDLE_WARN,	/* 'idle' GPUs of it could go to 'requester' */
	EGS_ACT_IDLE_RECLAIM,	/* preempt it for 'requester': 'idle' */
	EGS_ACT_STALLED,	/* it reports nothing, its GPUs are 'idle' */
	EGS_ACT_EXIT_IS_FINAL,	/* an exit in the grace period is final */
	EGS_ACT_RECORD_REQUEST, /* a notice is sent: 'preempt' */
	EGS_ACT_RECORD_DEPARTURE, /* its run is over, or the preemption is
				   * withdrawn: 'preempt' */
	EGS_ACT_RECORD_RESTART,	  /* it runs again: 'preempt' */
	EGS_ACT_ID_REUSED,	  /* another job has its id: forget this job */
};

/* A preemption so far; what is not known yet is 0. */
struct egs_preempt_info {
	egs_time_t requested_at, deadline;
	egs_time_t saved_at; /* its last save */
	egs_time_t yielded_at;
	/* Lost, in seconds of all its GPUs: the work since the last save; the
	 * time between notice and exit; the restart, which is an estimate.
	 */
	uint32_t lost_work_s, held_s, restart_s;
	uint32_t request_no; /* of the notice */
	uint32_t gpus;
	bool ended;	/* it is not requeued */
	bool late;	/* the deadline has passed before it yielded */
	bool withdrawn; /* it runs on */
};

/* GPUs of a job that it does not use. */
struct egs_idle_info {
	uint32_t gpus;
	uint32_t idle_s; /* all of them, at least */
};

struct egs_action {
	enum egs_action_kind kind;
	struct egs_identity job;
	int team;
	uint32_t requester;		 /* the job it is done for, 0: none */
	struct egs_preempt_info preempt; /* of RECORD_*, SHRINK */
	struct egs_idle_info idle; /* of IDLE_*, STALLED; of a SHRINK because
				    * GPUs are idle, else 0 */
	/* RECORD_REQUEST, SIGNAL: as in the event of an operator, else NULL */
	const char *reason, *operator_name;
};

#endif
