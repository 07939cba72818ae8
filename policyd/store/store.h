/* store.h - what must not be forgotten, on disk
 *
 * One SQLite file under StateDir, written by the daemon alone.  What a call
 * has written is on disk when egs_store_commit() has returned 0, and only then
 * may it be acknowledged.  Everything between two commits goes together or not
 * at all.
 *
 * A full or failing disk makes calls fail with a sentence; the transaction is
 * undone, and the next egs_store_begin() tries again.
 */
#ifndef EGS_STORE_STORE_H
#define EGS_STORE_STORE_H

#include "common/base/err.h"
#include "policyd/policy/event.h"

struct egs_store;

/* Open or make the file, bring an older layout forward, and count a new epoch.
 * Refused: a file system of the network, where locks and syncs lie; a layout
 * newer than ours; a file another daemon has open.  NULL with 'err' set, and
 * 'hopeless' for the first two: they do not go away by waiting.
 */
struct egs_store *egs_store_open(const char *path, bool *hopeless,
				 struct egs_err *err);
void egs_store_close(struct egs_store *store);

/* Open the file that a daemon of our layout has open, to add history to it in
 * transactions of some milliseconds.  NULL with 'err' set.
 */
struct egs_store *egs_store_open_shared(const char *path, struct egs_err *err);

/* Grows by one each time the file is opened; 0 of NULL. */
uint64_t egs_store_epoch(const struct egs_store *store);

/* Begin a transaction, unless one is open; finish it.  Both return 0, or -1
 * with 'err' set and nothing of the transaction kept.
 */
int egs_store_begin(struct egs_store *store, struct egs_err *err);
int egs_store_commit(struct egs_store *store, struct egs_err *err);

/* What we know of a job and Slurm does not. */
struct egs_saved_job {
	struct egs_identity job;
	struct egs_job_history history; /* 'past.restarts' is that of 'job' */
	bool owned;
	char phase[65]; /* as changed since submission, "": as submitted */
	char tier[65];	/* as an operator set it, "": by the rules */
};

/* Keep a job, in place of what was kept of the same one; forget one that has
 * ended.  Jobs are told apart by all of their identity but submit time and
 * restarts.
 */
int egs_store_job_save(struct egs_store *store,
		       const struct egs_saved_job *kept, struct egs_err *err);
int egs_store_job_delete(struct egs_store *store,
			 const struct egs_identity *job, struct egs_err *err);

/* Call 'fn' for every job that is kept. */
int egs_store_job_each(struct egs_store *store,
		       void (*fn)(void *arg, const struct egs_saved_job *kept),
		       void *arg, struct egs_err *err);

/* A value by name, such as the mode; NULL removes it.  What is read is copied
 * to 'value' ("" if there is none).
 */
int egs_store_set(struct egs_store *store, const char *name, const char *value,
		  struct egs_err *err);
int egs_store_get(struct egs_store *store, const char *name, char *value,
		  size_t size, struct egs_err *err);

/* Something that happened, with its reason: who decided what about which job.
 * Strings may be NULL.
 */
struct egs_log_entry {
	egs_time_t at;
	uint64_t nonce;
	uint32_t job_id;
	const char *event;  /* "asked", "requeued", "mode", ... */
	const char *actor;  /* "policy", or the user who wanted it */
	const char *reason; /* in words */
};

int egs_store_log_add(struct egs_store *store, const struct egs_log_entry *deed,
		      struct egs_err *err);

/* The last 'max' deeds of a job, or of all (NULL), the newest first.  'born'
 * is when it was first submitted: without a stamp, what was done before that
 * was done to another job with its id.
 */
int egs_store_log_each(struct egs_store *store, const struct egs_identity *job,
		       egs_time_t born, uint32_t max,
		       void (*fn)(void *arg, const struct egs_log_entry *deed),
		       void *arg, struct egs_err *err);

/* An action that is about to be done.  It is written before, and marked done
 * or dropped after; what is open after a crash is compared with Slurm.
 */
struct egs_intent {
	uint64_t id; /* given by egs_store_intent_add() */
	egs_time_t at;
	uint64_t nonce;
	uint32_t job_id, restarts;
	const char *action;
	const char *reason;
	const char *outcome; /* "done", "failed", "dropped"; "": open */
	egs_time_t settled_at;
};

int egs_store_intent_add(struct egs_store *store, struct egs_intent *intent,
			 struct egs_err *err);
int egs_store_intent_done(struct egs_store *store, uint64_t id, const char *how,
			  egs_time_t now, struct egs_err *err);

/* Intents that are open, the oldest first. */
int egs_store_intent_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_intent *intent),
			  void *arg, struct egs_err *err);

/* The ledger: every request to save and go, table "preemption", one row for
 * each.  Times are seconds since the epoch, 0 where it has not happened.  The
 * GPU-seconds it cost are gpus * (work_s + held_s + restart_s).
 */
struct egs_preemption {
	struct egs_identity job; /* as it was when it was asked */
	uint32_t notice;	 /* with 'job' the key */
	uint32_t gpus;
	uint32_t requester;   /* that wants its GPUs, 0: an operator, or nobody
			       * knows
			       */
	const char *job_text; /* the job as Slurm writes it: 12_3 */
	const char *user;     /* its owner */
	const char *team;     /* "": none */
	const char *tier;     /* "": none */
	const char *requester_team;
	const char *reason; /* one sentence */
	egs_time_t requested_at, deadline, saved_at, yielded_at, departed_at,
		restarted_at;
	const char
		*outcome; /* it went: "yielded", "left" by itself, "late" when
			   * its time was up, "ended" for good; "": not yet
			   */
	uint32_t lost_work_s; /* lost since its last checkpoint */
	uint32_t held_s;      /* between asked and gone */
	uint32_t restart_s;   /* to get where it was: an estimate, until it
			       * works again
			       */
};

/* It was asked; it went ('gone' and all below it); it is back; it has been seen
 * at work 'restart_s' after that.  A row that has come as far already stays as
 * it is, so all may be told twice; of 'restart_s' the least counts.  Of one
 * that has not gone it may be told for which other job it was asked.
 */
int egs_store_preempt_requested(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err);
int egs_store_preempt_departed(struct egs_store *store,
			       const struct egs_preemption *p,
			       struct egs_err *err);
int egs_store_preempt_restarted(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err);
int egs_store_preempt_working(struct egs_store *store,
			      const struct egs_preemption *p,
			      struct egs_err *err);

/* The last 'max' requests to a job, or to all (job_id 0), that were made at
 * 'since' or later, the newest first.
 */
int egs_store_preempt_each(struct egs_store *store, uint32_t job_id,
			   egs_time_t since, uint32_t max,
			   void (*fn)(void *arg,
				      const struct egs_preemption *p),
			   void *arg, struct egs_err *err);

/* What a team has used, by name, to go on with after a restart. */
struct egs_saved_usage {
	const char *team;
	struct egs_usage_snapshot tally;
};

int egs_store_usage_save(struct egs_store *store,
			 const struct egs_saved_usage *usage,
			 struct egs_err *err);
int egs_store_usage_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_usage *usage),
			 void *arg, struct egs_err *err);

/* The same of a row of Workload=, by its names ("": all phases); 'tally.units'
 * is not kept.
 */
struct egs_saved_meter {
	const char *team, *workload, *phase;
	struct egs_usage_snapshot tally;
};

int egs_store_meter_save(struct egs_store *store,
			 const struct egs_saved_meter *meter,
			 struct egs_err *err);
int egs_store_meter_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_meter *meter),
			 void *arg, struct egs_err *err);

/* Forget deeds and settled intents from before 'before'. */
int egs_store_prune(struct egs_store *store, egs_time_t before,
		    struct egs_err *err);

#endif
