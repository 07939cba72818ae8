/* event.h - what the policy is told, and what it says should be done
 *
 * The daemon, the simulator and the tests turn what they see into events and
 * apply them in order; the same events at the same times give the same
 * actions.  Names (accounts, nodes, types) stay outside: events carry the
 * indices of conf.h, and nodes are numbered by the caller.
 */
#ifndef EGS_POLICY_EVENT_H
#define EGS_POLICY_EVENT_H

#include "common/rules/identity.h"
#include "common/rules/victims.h"

/* What Slurm and the hint say of a job. */
struct egs_facts {
	struct egs_need need; /* its shape, per node */
	uint32_t save_time_s; /* --save-time, 0: not said */
	uint32_t shrink_to;   /* GPUs it can go on with, 0: not said */
	int16_t team;	      /* -1: none */
	int16_t workload;     /* row of the configuration, -1: none */
	int16_t tier;	      /* -1: unmanaged */
	int16_t phase;	      /* -1: none */
	bool can_requeue;     /* Slurm may requeue it */
	bool ckpt;	      /* it declared a checkpoint */
	bool exit_is_final;   /* exit=finish: an exit is never a yield */
	bool signal_batch;    /* its signal is for the batch shell */
	uint8_t signal;	      /* that it declared, 0: none */
	bool dependents;      /* jobs wait on its output */
	bool not_schedulable; /* waits for a dependency, a time or a hold */
	bool completing;      /* its last run is being ended */
	bool suspended;	      /* it runs, and cannot do anything */
	bool departed;	      /* it went as a victim, and is not let back yet */
};

/* What a running job holds on a node. */
struct egs_node_alloc {
	uint32_t node;
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
};

/* Save times remembered, for the grace of the next one. */
#define EGS_SAVE_TIMES 4

/* What an earlier policy knew of a job: as egs_policy_job_history() gave it. */
struct egs_job_history {
	egs_time_t first_submitted; /* first submitted; 0: not known */
	egs_time_t queued_at;
	egs_time_t started;    /* 0: it waited */
	egs_time_t loan_since; /* 0: it was not on loan */
	egs_time_t saved_at;   /* 0: it never did */
	egs_time_t deadline;   /* of the request, 0: none, or it is over */
	egs_time_t budget_from;
	egs_time_t requested_at;
	uint32_t restarts;
	uint32_t waited_s;
	uint32_t requester;
	uint32_t request_no;
	uint32_t preemptions;
	uint16_t save_s[EGS_SAVE_TIMES]; /* the last ones, oldest first; 0: none
					  */
	uint32_t departed_request; /* the request it left for, 0: it is back */
	uint32_t departed_for;	   /* the job that wanted its GPUs then */
	bool preempting;
	bool finished;
	bool release_due; /* its begin time is to be cleared */
};

/* What a team has used until 'at': decayed, and in this period.  Of a workload
 * only the latter is known.
 */
struct egs_usage_snapshot {
	egs_time_t at;
	uint64_t units;
	uint64_t gpu_s;
};

/* A node as a whole. */
struct egs_node {
	uint32_t gpus;
	uint32_t cores;
	uint32_t mem_mb;
	uint8_t type; /* of its GPUs */
	bool up;      /* false: drained, down or fenced */
};

enum egs_event_kind {
	EGS_EV_UPDATED,	 /* submitted, or its facts changed: 'facts' */
	EGS_EV_STARTED,	 /* or seen running, or resized: 'part', 'type' */
	EGS_EV_REQUEUED, /* back in the queue */
	EGS_EV_ENDED,	 /* ended, or vanished; of one that ran and ended before
			  * anybody looked: 'since', 'until', 'part', 'type' */
	EGS_EV_PHASE,	 /* 'facts.phase' and 'facts.workload' */
	EGS_EV_PREEMPTING,	/* to save and go by 'until', for job 'by' */
	EGS_EV_CHOSEN_VICTIM,	/* Slurm chose it as a victim for job 'by' */
	EGS_EV_WITHDRAWN,	/* it need not go any more, if it was told so */
	EGS_EV_SHRINK_ANSWERED, /* it has answered a request to shrink */
	EGS_EV_SAVED,		/* a checkpoint that took 'took_s' */
	EGS_EV_YIELDED,		/* it says: take me now, for 'request' */
	EGS_EV_FINISHED, /* it says: my work is done, my exit is an end */
	EGS_EV_REVOKED,	 /* that could not be kept: it has not said that it
			  * yields for 'request', or, if that is 0, that its
			  * work is done
			  */
	EGS_EV_CLAIMED,	 /* 'part' is kept for it until 'until' */
	EGS_EV_USAGE,	 /* before the first job: 'tally' of 'facts.team', or
			  * of 'facts.workload' unless that is -1 */
	EGS_EV_NODE,	 /* 'node' is now 'nodes' */
	EGS_EV_CONF,	 /* 'conf' is in force */
	EGS_EV_TICK,	 /* nothing but time */
};

struct egs_event {
	enum egs_event_kind kind;
	struct egs_identity job;
	struct egs_facts facts;
	const struct egs_node_alloc *alloc; /* borrowed, for the call */
	uint32_t nallocs;
	const struct egs_job_history
		*history; /* borrowed, of a job that is new to us */
	const struct egs_usage_snapshot *usage; /* borrowed */
	uint8_t type;				/* of the GPUs in 'part' */
	bool owned;	     /* STARTED: it was so when last seen, see below */
	bool notify_job;     /* ASKED: not by Slurm, so it is to be told */
	bool started_unseen; /* STARTED, ENDED: it ran before anybody looked */
	egs_time_t since;    /* when it happened; 0: now */
	egs_time_t until;    /* CLAIMED: the expiry; ASKED: the deadline, 0: as
			      * its grace has it; ENDED: when that was
			      */
	int64_t priority;    /* CLAIMED: its place in the queue */
	uint32_t requester;  /* PREEMPTING: 0: Slurm has not named a job */
	/* PREEMPTING, when an operator preempts the job: why, and who.  NULL
	 * otherwise.  Borrowed until egs_policy_clear_actions().
	 */
	const char *reason, *operator_name;
	uint32_t request_no;
	uint32_t took_s;
	uint32_t node;
	struct egs_node node_state;
	const struct egs_policy_conf *conf;
};

enum egs_action_kind {
	EGS_ACT_NONE,
	EGS_ACT_REQUEUE,  /* it has saved, or its time is up */
	EGS_ACT_CANCEL,	  /* likewise, and it cannot or shall not come back */
	EGS_ACT_RELEASE,  /* it was requeued: clear its begin time */
	EGS_ACT_SIGNAL,	  /* tell it, by the signal it declared */
	EGS_ACT_WITHDRAW, /* it need not go: take the request back */
	EGS_ACT_SHRINK,	  /* ask it to go on with 'notice.gpus' GPUs until
			   * 'notice.deadline', for 'by'
			   */
	EGS_ACT_EXIT_IS_FINAL,	/* its exit in the grace is an end, no yield */
	EGS_ACT_RECORD_REQUEST, /* it was: 'notice' */
	EGS_ACT_RECORD_DEPARTURE, /* it went after it was asked, or was spared:
				   * 'notice'
				   */
	EGS_ACT_RECORD_RESTART,	  /* it has started again since: 'notice' */
	EGS_ACT_ID_REUSED,	  /* another job has its id: this one is gone */
};

/* A request to go, as far as it has come; what is not known yet is 0. */
struct egs_preempt_info {
	egs_time_t requested_at, deadline;
	egs_time_t saved_at; /* its last checkpoint */
	egs_time_t yielded_at;
	/* Lost, in seconds of all its GPUs: since the last checkpoint, held
	 * between being asked and going, and until it is where it was, which
	 * is an estimate.
	 */
	uint32_t lost_work_s, held_s, restart_s;
	uint32_t request_no;
	uint32_t gpus;
	bool ended;	/* it went for good */
	bool late;	/* it went because its time was up */
	bool withdrawn; /* it stays */
};

struct egs_action {
	enum egs_action_kind kind;
	struct egs_identity job;
	int team;
	uint32_t requester;		 /* the job it is done for, 0: none */
	struct egs_preempt_info preempt; /* of RECORD_*, SHRINK */
	/* RECORD_REQUEST, SIGNAL: as in the event of an operator, else NULL */
	const char *reason, *operator_name;
};

#endif
