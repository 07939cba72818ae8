/* account_internal.h - structs of the account; for its own files only */
#ifndef EGS_ACCOUNTING_ACCOUNT_INTERNAL_H
#define EGS_ACCOUNTING_ACCOUNT_INTERNAL_H

#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "policyd/accounting/account.h"

/* Names are numbers of egs_account.names. */
struct egs_account_alloc {
	uint32_t user, account, workload, partition, qos;
	uint32_t team, tier, phase, loan;
	uint32_t ntypes; /* 0: no GPU */
	struct {
		uint32_t type, gpus;
	} type[EGS_GPU_COUNT_TYPES_MAX];
	uint32_t cpus, nodes;
	uint64_t mem_mb;
};

/* A job that holds something. */
struct egs_running_job {
	struct egs_job_run run; /* without its strings */
	uint32_t name, end_state, wait_reason;
	struct egs_run_clock clock;
	struct egs_account_alloc alloc;
	uint32_t limit_s;   /* time limit of a run, 0: none */
	uint32_t nphases;   /* changes of phase, as egs_account_assign() counts
			     */
	size_t begin_write; /* begin of its run: index in 'write' + 1, 0: none
			     */
	bool run_open;	    /* its run is written without an end */
	bool unassigned;    /* egs_account_assign() has not been called */
	bool dirty;	    /* its open spans differ from the written ones */
};

/* A job that Slurm shows.  Most jobs are pending; of those only what the next
 * fact does not repeat is remembered.
 */
struct egs_tracked_job {
	struct egs_running_job *running; /* NULL: it holds nothing */
	uint64_t nonce;
	uint32_t uid, restarts;
	/* while it is pending: */
	uint32_t wait_reason, partition, priority, node_filter;
	bool limited;
	bool in_use;	/* this slot */
	bool seen;	/* by this daemon */
	bool run_ended; /* run 'restarts' is written with its end */
};

/* To be written: an interval, the begin of a run or its end. */
struct egs_pending_write {
	struct egs_running_job job;
	struct egs_interval interval; /* empty: only the run changed */
	bool run_begins, run_ends;
};

struct egs_account {
	struct egs_store *store;
	const struct egs_policy_conf *conf;
	struct egs_intern names;
	struct egs_idmap jobs;
	struct egs_tracked_job *job; /* by slot of 'jobs' */
	uint32_t njobs;
	struct egs_pending_write *write;
	size_t nwrites, write_room;
	egs_time_t polled_at;
	bool synced; /* all jobs have been polled */
	bool unwritten;
};

/* Drop names that no job and no pending write has, if there are many. */
void egs_account_sweep_names(struct egs_account *a);

#endif
