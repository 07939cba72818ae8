/* account_internal.h - the inside of the account; for its own files only */
#ifndef EGS_ACCOUNTING_ACCOUNT_INTERNAL_H
#define EGS_ACCOUNTING_ACCOUNT_INTERNAL_H

#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "policyd/accounting/account.h"

/* Names are numbers of egs_account.names. */
struct egs_holding_as {
	uint32_t user, account, workload, partition, qos;
	uint32_t team, tier, phase, loan;
	uint32_t ntypes; /* 0: no GPU */
	struct {
		uint32_t type, gpus;
	} type[EGS_GPUS_MAX];
	uint32_t cpus, nodes;
	uint64_t mem_mb;
};

/* A job that holds something. */
struct egs_counted {
	struct egs_run run; /* without its strings */
	uint32_t name, how, cause;
	struct egs_meter meter;
	struct egs_holding_as as;
	size_t begin;	/* of its run: place in 'due' + 1, 0: not there */
	bool under_way; /* a run that was written has no end yet */
	bool fresh;	/* the policy has not said its standing yet */
	bool dirty;	/* what is open is not as it is written */
};

/* A job that Slurm shows.  Most of them wait, and of those no more is
 * remembered than the next fact of them does not tell again.
 */
struct egs_present {
	struct egs_counted *holds; /* NULL: it waits, or its run is told */
	uint64_t nonce;
	uint32_t uid, restarts;
	uint32_t cause, partition, priority; /* of one that waits, */
	uint32_t where;			     /* likewise */
	bool limited;			     /* likewise */
	bool known;			     /* this slot */
	bool seen;			     /* by this daemon */
	bool over; /* the run of 'restarts' was told to its end */
};

/* What is to be written: an interval, and that a run begins or ends. */
struct egs_due {
	struct egs_counted job;
	struct egs_interval interval; /* empty: only the run changed */
	bool begins, ends;
};

struct egs_account {
	struct egs_store *store;
	const struct egs_policy_conf *conf;
	struct egs_names names;
	struct egs_idmap jobs;
	struct egs_present *job; /* by slot of 'jobs' */
	uint32_t njobs;
	struct egs_due *due;
	size_t ndue, due_room;
	egs_time_t looked_at;
	bool whole; /* all jobs were looked at */
	bool pending;
};

#endif
