/* store.h - state of the daemon that survives a crash, on disk
 *
 * One SQLite file under StateDir.  Only the daemon writes it, and an import of
 * history (egs_store_open_shared()).  A write is on disk when
 * egs_store_commit() has returned 0; acknowledge nothing before.  The
 * writes between two commits are kept together or not at all.
 *
 * If the disk is full or fails, calls fail with a sentence and the transaction
 * is undone.  The next egs_store_begin() tries again.
 *
 * Calls return 0, or -1 with 'err' set.  Strings that a callback gets live
 * until it returns.
 */
#ifndef EGS_STORE_STORE_H
#define EGS_STORE_STORE_H

#include "common/base/err.h"
#include "policyd/policy/event.h"

struct egs_store;

/* Open or make the file, add what its layout lacks, and count a new epoch.
 * Refused: a network file system, whose locks and syncs are not safe; a layout
 * that is not ours; a file that another daemon has open.  Returns NULL with
 * 'err' set; 'hopeless': waiting does not help.
 */
struct egs_store *egs_store_open(const char *path, bool *hopeless,
				 struct egs_err *err);
void egs_store_close(struct egs_store *store);

/* Open the file while a daemon of our layout has it open, to add history in
 * transactions of some milliseconds.  Returns NULL with 'err' set on failure.
 */
struct egs_store *egs_store_open_shared(const char *path, struct egs_err *err);

/* A number that grows by one each time the file is opened; 0 if 'store' is
 * NULL.
 */
uint64_t egs_store_epoch(const struct egs_store *store);

/* Begin a transaction, unless one is open; commit it.  After a failure nothing
 * of the transaction is kept.
 */
int egs_store_begin(struct egs_store *store, struct egs_err *err);
int egs_store_commit(struct egs_store *store, struct egs_err *err);

/* SQLite writes to a log beside the file (WAL) and shortens it when no other
 * process reads an older state.  Write the log into the file and cut it to
 * nothing if it is longer than EGS_STORE_WAL_SHORT and no process needs it.
 * Never waits.  Returns the length of the log.
 */
#define EGS_STORE_WAL_SHORT (INT64_C(5) << 20)
#define EGS_STORE_WAL_LONG  (INT64_C(12) << 20) /* no more reports */
#define EGS_STORE_WAL_MAX   (INT64_C(24) << 20) /* no report goes on */
int64_t egs_store_trim_wal(struct egs_store *store);

/* What the daemon knows of a job and Slurm does not. */
struct egs_saved_job {
	struct egs_identity job;
	struct egs_job_history history; /* its 'restarts' is that of 'job' */
	bool owned;
	char phase[65]; /* changed since submission; "": as submitted */
	char tier[65];	/* set by an operator; "": by the rules */
};

/* Save a job in place of its earlier row; delete a job that has ended, with its
 * reports, answers and acknowledgements.  The key of a job is its identity
 * without submit time and restarts.
 */
int egs_store_job_save(struct egs_store *store, const struct egs_saved_job *job,
		       struct egs_err *err);
int egs_store_job_delete(struct egs_store *store,
			 const struct egs_identity *job, struct egs_err *err);

/* Call 'fn' for every saved job. */
int egs_store_job_each(struct egs_store *store,
		       void (*fn)(void *arg, const struct egs_saved_job *job),
		       void *arg, struct egs_err *err);

/* A value by name, such as the mode.  Set: NULL removes the value.  Get: copy
 * the value to 'value', "" if there is none.
 */
int egs_store_set(struct egs_store *store, const char *name, const char *value,
		  struct egs_err *err);
int egs_store_get(struct egs_store *store, const char *name, char *value,
		  size_t size, struct egs_err *err);

/* This value changes when an import has added runs to the history. */
#define EGS_STORE_IMPORTED	"imported"
#define EGS_STORE_IMPORTED_SIZE 32

/* An entry of the log: an event, the job it is about, the actor that decided it
 * and the reason.  Strings may be NULL when written and are "" when read.
 */
struct egs_log_entry {
	egs_time_t at;
	uint64_t nonce;
	uint32_t job_id;
	const char *event;  /* "asked", "requeued", "mode", ... */
	const char *actor;  /* "policy", or the name of a user */
	const char *reason; /* one sentence */
	/* Reports of the job that the entry stands for; 0: it is not one. */
	uint32_t reports;
};

/* Add an entry.  A job has at most EGS_LOG_REPORTS_MAX entries for its own
 * reports: the oldest becomes a sum of all reports before the others.
 */
#define EGS_LOG_REPORTS_MAX 100
int egs_store_log_add(struct egs_store *store,
		      const struct egs_log_entry *entry, struct egs_err *err);

/* The last 'max' entries of a job, or of all jobs (NULL), the newest first.
 * Entries before 'first_submitted' are of another job with the same id.
 */
int egs_store_log_each(struct egs_store *store, const struct egs_identity *job,
		       egs_time_t first_submitted, uint32_t max,
		       void (*fn)(void *arg, const struct egs_log_entry *entry),
		       void *arg, struct egs_err *err);

/* An action that the daemon is about to do.  The daemon writes the intent
 * before the action and its outcome after it.  After a crash it compares open
 * intents with Slurm.
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
int egs_store_intent_done(struct egs_store *store, uint64_t id,
			  const char *outcome, egs_time_t now,
			  struct egs_err *err);

/* Open intents, the oldest first. */
int egs_store_intent_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_intent *intent),
			  void *arg, struct egs_err *err);

/* A preemption, from the notice to the restart.  Times are 0 for what has not
 * happened.  It cost gpus * (lost_work_s + held_s + restart_s) GPU-seconds.
 */
struct egs_preemption {
	struct egs_identity job; /* as it was at the notice */
	uint32_t notice;	 /* with 'job' the key */
	uint32_t gpus;
	uint32_t requester;   /* job that needs the GPUs; 0: unknown, or an
			       * operator
			       */
	const char *job_text; /* the job as Slurm writes it: 12_3 */
	const char *user;     /* its owner */
	const char *team;     /* "": none */
	const char *tier;     /* "": none */
	const char *requester_team;
	const char *reason; /* one sentence */
	egs_time_t requested_at, deadline, saved_at, yielded_at, departed_at,
		restarted_at;
	/* "yielded", "left": exited in the grace period, "late": at the
	 * deadline, "ended": final exit, "spared": the preemption was
	 * withdrawn; "": not departed yet
	 */
	const char *outcome;
	uint32_t lost_work_s; /* since its last checkpoint */
	uint32_t held_s;      /* between notice and departure */
	uint32_t restart_s;   /* until it works again; first an estimate */
};

/* Seconds of work that the job must repeat.  A job that was killed at its
 * deadline also repeats what it did after the notice.
 */
uint32_t egs_preemption_lost_s(const struct egs_preemption *p);

/* The job got the notice; it departed ('departed_at', 'outcome' and what it
 * cost); it restarted; it works again 'restart_s' after the restart.  A
 * second call of the same kind changes nothing, but the least 'restart_s'
 * counts.  Until the job departs, a second notice may name another
 * requester.
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

/* The last 'max' preemptions of a job, or of all jobs (job_id 0), requested at
 * 'since' or later, the newest first.
 */
int egs_store_preempt_each(struct egs_store *store, uint32_t job_id,
			   egs_time_t since, uint32_t max,
			   void (*fn)(void *arg,
				      const struct egs_preemption *p),
			   void *arg, struct egs_err *err);

/* A preemption that observe mode did not do: a victim and the pending job that
 * would preempt it.  Times are 0 for what has not happened.
 */
struct egs_observed {
	struct egs_identity job; /* the victim */
	uint64_t requester_nonce;
	uint32_t requester; /* a job id; with 'job' and the nonce the key */
	uint32_t requester_uid, requester_task, requester_het;
	uint32_t gpus;	     /* of the victim */
	uint32_t lost_gpu_s; /* what the preemption would cost */
	const char *job_text, *user, *team, *tier; /* of the victim */
	const char *fate;			   /* "requeue" or "cancel" */
	const char *requester_text, *requester_user, *requester_team,
		*requester_tier;
	egs_time_t at;
	egs_time_t queued_at;	/* since when the requester waits */
	egs_time_t would_start; /* of the requester, with the preemption */
	egs_time_t started_at;	/* of the requester, really */
	egs_time_t closed_at;	/* it started, ended, or EGS enforces */
};

/* Add a pair, unless the store has it.  Close all pairs of a requester, with
 * 'started_at' and 'closed_at'.  Call 'fn' for each pair that is not closed.
 */
int egs_store_observed_add(struct egs_store *store,
			   const struct egs_observed *o, struct egs_err *err);
int egs_store_observed_close(struct egs_store *store,
			     const struct egs_observed *o, struct egs_err *err);
int egs_store_observed_each_open(struct egs_store *store,
				 void (*fn)(void *arg,
					    const struct egs_observed *o),
				 void *arg, struct egs_err *err);

/* Usage of a team, by name, to continue with after a restart. */
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

/* Usage of a Workload= line, by its names ("": all phases).  'tally.units' is
 * not saved.
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

/* Delete log entries, preemptions, pairs, settled intents and remedies that are
 * over from before 'before'; at most 5000 remedies.
 */
int egs_store_prune(struct egs_store *store, egs_time_t before,
		    struct egs_err *err);

#endif
