/* remediation.h - what was done about GPUs, or would have been, on disk
 *
 * A row is one remedy of one rule on one GPU, from its beginning to its end.
 * The row is written before the remedy is carried out, so that a daemon that is
 * killed knows what it may have done.
 */
#ifndef EGS_STORE_REMEDIATION_H
#define EGS_STORE_REMEDIATION_H

#include "policyd/store/history.h"

/* Outcomes of a row. */
#define EGS_REMEDIATION_SENT	 ""	    /* begun; not answered yet */
#define EGS_REMEDIATION_DONE	 "done"	    /* in force, and ours */
#define EGS_REMEDIATION_WOULD	 "would"    /* EGS only observes */
#define EGS_REMEDIATION_HELD	 "held"	    /* a limit is reached */
#define EGS_REMEDIATION_OPERATOR "operator" /* it is an operator's */
#define EGS_REMEDIATION_REFUSED	 "refused"  /* the job cannot be moved */
#define EGS_REMEDIATION_FAILED	 "failed"   /* of a program or a limit */
#define EGS_REMEDIATION_UNDOING	 "undoing"  /* being undone */

/* Strings may be NULL when written and are "" when read. */
struct egs_remediation {
	egs_time_t at;
	const char *rule, *node;
	uint32_t gpu;
	const char *subject; /* On= of the rule */
	uint32_t xid;	     /* 0: none */
	int64_t value;
	const char *remedy; /* word of Do= */
	uint64_t session, holder;
	uint32_t job_id; /* that had the GPU, 0: none */
	const char *job_text, *user;
	const char *reason; /* one sentence */
	const char *outcome;
	egs_time_t undone_at; /* 0: open */
	const char *undone;   /* why it ended */
};

/* All write into the open transaction, and return 0, or -1 with 'err' set.
 *
 * Add a row.  Set 'outcome' of the open rows of 'node' and 'remedy' whose
 * outcome is 'from'.  Set 'undone_at', 'undone' and, if it is not "",
 * 'outcome' of the open row of 'rule', 'node', 'gpu', 'xid' and 'remedy'. Close
 * all open rows of 'node' and 'remedy' that are being undone; the row above is
 * never one of these.  Set 'outcome' of the row of 'rule', 'node', 'gpu', 'xid'
 * and 'remedy' that began within an hour before 'at' and has no outcome.
 */
int egs_remediation_add(struct egs_store *store,
			const struct egs_remediation *row, struct egs_err *err);
int egs_remediation_settle(struct egs_store *store, const char *node,
			   const char *remedy, const char *from,
			   const char *outcome, struct egs_err *err);
int egs_remediation_end(struct egs_store *store,
			const struct egs_remediation *row, struct egs_err *err);
int egs_remediation_undone(struct egs_store *store, const char *node,
			   const char *remedy, egs_time_t at, const char *why,
			   struct egs_err *err);
int egs_remediation_answer(struct egs_store *store,
			   const struct egs_remediation *row,
			   struct egs_err *err);

/* Call 'fn' with the last attempt of a job of this number and restarts, and its
 * user, which are borrowed for the call.  Without such an attempt 'fn' is not
 * called.
 */
int egs_remediation_find_run(
	struct egs_store *store, uint32_t job_id, uint32_t restarts,
	void (*fn)(void *arg, const struct egs_job_run *run, const char *user),
	void *arg, struct egs_err *err);

/* Call 'fn' for each row that is open, or began at 'since' or later, the oldest
 * first.
 */
int egs_remediation_each(struct egs_store *store, egs_time_t since,
			 void (*fn)(void *arg,
				    const struct egs_remediation *row),
			 void *arg, struct egs_err *err);

#endif
