/* daemon.h - egs-policyd: the state that its files share
 *
 *	daemon.c	set-up, timers, shutdown
 *	part.h		hooks of the rooms above
 *	conf.c		load egs.conf
 *	reload.c	load egs.conf again, if it fits the cluster
 *	operators.h	operators of egs.conf and of Slurm
 *	poll.c		poll Slurm
 *	doorbell.c	rings of the plugins
 *	act.c		carry out actions of the policy
 *	act_record.c	record preemptions
 *	act_recover.c	close intents with an unknown outcome
 *	open_state.c	lock and open StateDir
 *	transaction.c	transactions, on a disk that may fail
 *	save_jobs.c	save and restore jobs and usage
 *	account_jobs.c	feed the accounting
 *	observe.h	record what observe mode does not do
 *	idle_levels.c	idle, wasted and lent GPUs over time
 *	notify.h	pass warnings to the program of Notify=
 *	publish_jobs.c	rows of jobs in the decision table
 *	publish_nodes.c	claims and nodes in the decision table
 *	touch_jobs.c	make slurmctld read rows again
 *	fence.c		nodes on which no managed job starts
 *	resume_info.c	resume info of a restarted job
 *
 * One thread: every function runs from a callback of the loop.  None of them
 * waits, except for the disk in egs_daemon_commit().
 */
#ifndef EGS_DAEMON_DAEMON_H
#define EGS_DAEMON_DAEMON_H

#include <sys/types.h>

#include "common/base/child.h"
#include "common/base/loop.h"
#include "common/conf/conf.h"
#include "common/conf/judge.h"
#include "common/hint/resume_info.h"
#include "common/ipc/cred.h"
#include "common/ipc/doorbell.h"
#include "common/ipc/table.h"
#include "policyd/accounting/account.h"
#include "policyd/cluster/cluster.h"
#include "policyd/daemon/notify.h"
#include "policyd/daemon/observe.h"
#include "policyd/daemon/operators.h"
#include "policyd/daemon/part.h"
#include "policyd/slurm/worker.h"
#include "policyd/store/store.h"

#define EGS_REASON_MAX 256
#define EGS_FENCED_MAX 16384

struct egs_daemon_doorbell;
struct egs_idle_levels;
struct egs_requests;

/* reload.c */
struct egs_reload {
	struct egs_conf *conf; /* being judged, NULL: no reload is under way */
	struct egs_watch *timer;
	bool polled; /* Slurm has answered since the file was read */
	/* Of the last reload; a refusal of "": the file is in force. */
	struct egs_judgement *judgement;
	struct egs_err refusal;
	/* Names that Slurm has, and the lists of the present poll. */
	struct egs_intern names[EGS_NAME_KINDS], next_names[EGS_NAME_KINDS];
};

/* poll.c */
struct egs_poll {
	struct egs_watch *timer;
	bool receiving;		/* jobs of a poll are coming in */
	bool late;		/* no poll was complete for too long */
	uint32_t ms, ms_before; /* slurmctld's time for the last two */
	uint64_t done_ms;	/* the last complete one, by egs_now_ms() */
};

/* act.c, act_recover.c */
struct egs_intents {
	uint32_t pending; /* sent; the worker has not answered */
	bool open;	  /* the outcome of some is unknown */
	bool inherited;	  /* the open intents are an earlier daemon's */
};

/* save_jobs.c */
struct egs_saved_jobs {
	struct egs_saved_job *restored; /* jobs of an earlier daemon, by id */
	size_t nrestored, restored_room;
	struct egs_identity *forgotten; /* the next commit deletes these */
	size_t nforgotten, forgotten_room;
	uint32_t *sum; /* checksum of the job on disk, by slot of the policy */
	uint32_t nsums;
};

/* touch_jobs.c */
struct egs_touches {
	uint32_t *sum; /* checksum of the last touch, by slot of the policy */
	uint32_t nsums;
	uint32_t left; /* touches allowed in this second */
};

/* For egs_daemon_changed(). */
#define EGS_CHANGED_JOBS    1U	/* saved fields of jobs, or usage */
#define EGS_CHANGED_TABLE   2U	/* rows of jobs in the decision table */
#define EGS_CHANGED_NODES   4U	/* claims and nodes in the decision table */
#define EGS_CHANGED_CLUSTER 8U	/* the next poll must read everything */
#define EGS_CHANGED_NOTICES 16U /* preemption notices, or running jobs */

struct egs_daemon {
	/* Fixed from the start. */
	const char *conf_path;
	char state_dir[4096], run_dir[4096];
	int state_lock_fd, run_lock_fd;	     /* one daemon for each directory */
	const struct egs_part *const *parts; /* NULL after the last */
	struct egs_requests *requests;	     /* state of policyd/requests */
	struct egs_loop *loop;
	struct egs_watch *tick_timer;
	struct egs_worker *worker;
	struct egs_store *store; /* NULL: StateDir does not work yet */
	struct egs_table_writer *table;
	struct egs_daemon_doorbell *doorbell;
	struct egs_policy *policy;
	struct egs_cluster *cluster;
	struct egs_account *account;
	struct egs_idle_levels *idle_levels;
	egs_time_t started_at;

	struct egs_conf *conf;	      /* in force */
	struct egs_err quota_warning; /* the last one logged, or "" */
	struct egs_operators operators;
	struct egs_reload reload;

	/* Set by operators, and saved. */
	enum egs_mode mode; /* INHERIT: as in egs.conf */
	bool paused;
	char pause_reason[EGS_REASON_MAX];
	char fenced[EGS_FENCED_MAX]; /* nodes: "", or ",n1,n2," */

	char avoided[EGS_FENCED_MAX]; /* likewise, by rules about GPUs */

	/* From Slurm. */
	char audience[EGS_CRED_AUDIENCE_MAX]; /* with ClusterName, or "" */
	bool synced;	     /* at least one poll was complete */
	bool slurmctld_down; /* the daemon decides nothing */
	egs_time_t polled_at;
	uint64_t poll_count; /* polls that Slurm answered */
	struct egs_poll poll;
	uint32_t ticks;

	struct egs_intents intents;
	uint32_t changed; /* EGS_CHANGED_*, not yet saved or published */

	/* The store. */
	bool store_failed;	 /* the failure is logged */
	uint32_t store_failures; /* transactions that failed */
	int64_t wal_bytes;	 /* of egs_store_trim_wal(), once a second */
	bool in_transaction;
	bool account_written; /* in this transaction */
	struct egs_saved_jobs saved_jobs;

	/* The decision table. */
	bool table_failed; /* the failure is logged */
	size_t nrows;
	bool rows_missing; /* the warning is logged */
	uint64_t publish_count;
	egs_time_t heartbeat_at; /* 0: none yet */
	struct egs_touches touches;

	struct egs_observe observe;
	struct egs_notify notify;
};

/* Set up everything and run until SIGTERM or SIGINT.  'program' is started as
 * the worker.  The daemon calls the hooks of 'parts', a list that ends with
 * NULL.
 * Returns 0, or -1 with 'err' set.
 */
int egs_daemon_run(const char *conf_path, const char *program,
		   const struct egs_part *const *parts, struct egs_err *err);

/* Set up everything without running, for tests; NULL with 'err' set. */
struct egs_daemon *egs_daemon_new(const char *conf_path, const char *program,
				  const struct egs_part *const *parts,
				  struct egs_err *err);
void egs_daemon_free(struct egs_daemon *d);

static inline const struct egs_policy_conf *
egs_daemon_conf(const struct egs_daemon *d)
{
	return egs_conf_policy(d->conf);
}

/* Seconds since the epoch, of the machine's clock. */
egs_time_t egs_daemon_now(void);

/* "2026-11-16T11:20:00", "-" for 0. */
#define EGS_TIME_TEXT_SIZE 24
const char *egs_daemon_format_time(egs_time_t t, char text[EGS_TIME_TEXT_SIZE]);

/* After an event was applied to the policy: recompute loans, carry out actions,
 * save and publish what changed.
 */
void egs_daemon_update(struct egs_daemon *d);

/* Update as above, but recompute all jobs. */
void egs_daemon_recompute(struct egs_daemon *d);

/* Note a change that the next egs_daemon_update() saves or publishes.  'what'
 * is EGS_CHANGED_*.
 */
void egs_daemon_changed(struct egs_daemon *d, unsigned int what);

/* ---- conf.c ---- */

/* Load egs.conf the first time.  Returns 0, or -1 with every problem logged. */
int egs_daemon_load_conf(struct egs_daemon *d, struct egs_err *err);

/* Read a file.  NULL with every problem logged and a summary in 'err'. */
struct egs_conf *egs_daemon_read_conf(const char *path, struct egs_err *err);

/* One sentence about at least one problem. */
struct egs_err egs_daemon_sum_up(const struct egs_conf_problems *problems);

/* Do the quotas of 'conf' fit in the cluster?  Returns 0, or -1 with the first
 * type that does not in 'err'.
 */
int egs_daemon_check_capacity(const struct egs_daemon *d,
			      const struct egs_policy_conf *conf,
			      struct egs_err *err);

/* Warn once if the quotas are larger than the cluster. */
void egs_daemon_check_quotas(struct egs_daemon *d);

/* The mode of teams without Mode=; and whether decisions about jobs of 'team'
 * (-1: none) are enforced.
 */
enum egs_mode egs_daemon_mode(const struct egs_daemon *d);
bool egs_daemon_is_enforcing(const struct egs_daemon *d, int team);

/* Likewise, and the daemon is not paused. */
bool egs_daemon_is_acting(const struct egs_daemon *d, int team);

/* Tell the policy for which teams the daemon acts. */
void egs_daemon_apply_modes(struct egs_daemon *d);

/* ---- reload.c ---- */

/* Load egs.conf again.  First Slurm and the name server are asked, for some
 * seconds at most.  Then egs_judge_conf() decides, the hook 'reloaded' is
 * called, and d->reload has the result.  If the file has a mistake, the old
 * configuration stays in force.  A second call reads the file again.  Returns
 * 0, or -1 with 'err' set if the file cannot be read as an egs.conf.
 */
int egs_daemon_begin_reload(struct egs_daemon *d, struct egs_err *err);

/* Operators= was looked up, or Slurm was polled: end the reload if that was
 * all.
 */
void egs_daemon_continue_reload(struct egs_daemon *d);

/* Log what the first poll shows to be wrong with egs.conf. */
void egs_daemon_judge_start(struct egs_daemon *d);

/* Add a name that Slurm has; NULL ends the list. */
void egs_daemon_add_name(struct egs_daemon *d, enum egs_name_kind kind,
			 const char *name);

int egs_daemon_init_reload(struct egs_daemon *d, struct egs_err *err);
void egs_daemon_free_reload(struct egs_daemon *d);

/* ---- poll.c ---- */

extern const struct egs_worker_ops egs_daemon_worker_ops;

/* Clients on other hosts put the name of the cluster into their credentials. */
void egs_daemon_set_cluster(struct egs_daemon *d, const char *cluster);

/* Poll Slurm in 'ms'. */
void egs_daemon_poll_in(struct egs_daemon *d, uint64_t ms);

/* Once a second: if no poll was complete for StaleAfter=, decide nothing and
 * suspend the decision table until a poll is complete.
 */
void egs_daemon_check_polls(struct egs_daemon *d);

/* ---- act.c ---- */

/* Carry out, or only record, all actions of the policy, and clear the list. */
void egs_daemon_run_actions(struct egs_daemon *d);

/* The id for an action without an intent, which may get lost. */
#define EGS_NO_INTENT 0

/* The worker answers about intent 'id'; 'why' it failed, or NULL. */
void egs_daemon_action_done(struct egs_daemon *d, uint64_t id, const char *why);

/* How Slurm writes the id of a job: 12, or 12_3. */
#define EGS_JOB_TEXT_SIZE 32
void egs_daemon_format_job_id(const struct egs_daemon *d,
			      const struct egs_identity *job,
			      char text[EGS_JOB_TEXT_SIZE]);

/* The action that an intent names; EGS_ACT_NONE: unknown. */
enum egs_action_kind egs_daemon_action_kind(const char *name);

/* Ask the worker to carry out intent 'id'. */
void egs_daemon_send_action(struct egs_daemon *d, uint64_t id,
			    enum egs_action_kind kind,
			    const struct egs_identity *job);

/* ---- resume_info.c ---- */

/* Get the resume info of this run of a job: a report about the runs before.
 * Returns 0, or -1 if the disk fails.
 */
int egs_daemon_get_resume_info(struct egs_daemon *d,
			       const struct egs_identity *job,
			       struct egs_resume_info *info);

/* Same, as the variable that Slurm passes to the job. */
int egs_daemon_format_resume_info(struct egs_daemon *d,
				  const struct egs_identity *job,
				  char text[EGS_RESUME_INFO_MAX]);

/* ---- act_recover.c ---- */

/* Close intents with an unknown outcome, after a complete poll has shown the
 * state of their jobs.  Send unfinished intents of an earlier daemon again.
 */
void egs_daemon_recover_intents(struct egs_daemon *d);

/* ---- act_record.c ---- */

/* Record and log a preemption; ignore other actions. */
void egs_daemon_record_preemption(struct egs_daemon *d,
				  const struct egs_action *a);

/* Explain to the owner of a job why it is preempted.  'requester' is a job id;
 * 0: unknown.  The other two give the reason of an action, and of the job's
 * present preemption; an operator may have given that reason.
 */
struct egs_err egs_daemon_preempt_reason(const struct egs_daemon *d,
					 uint32_t requester);
struct egs_err egs_daemon_action_reason(const struct egs_daemon *d,
					const struct egs_action *a);
struct egs_err egs_daemon_notice_reason(struct egs_daemon *d,
					const struct egs_job *job);

/* ---- open_state.c ---- */

/* Make the directory of 'key' if it is missing (its parent must exist) and lock
 * it.  Returns the descriptor that holds the lock, or -1 with 'err' set.
 * 'hopeless' is set if another daemon has the lock, so waiting does not help.
 */
int egs_daemon_lock_dir(const char *key, const char *dir, mode_t mode,
			bool *hopeless, struct egs_err *err);

/* Lock StateDir, open the store and load the state that an earlier daemon
 * saved. Returns 0, or -1 with 'err' set and nothing open.  Unless 'hopeless'
 * is set, the caller then runs without StateDir and tries again once a second.
 */
int egs_daemon_open_state(struct egs_daemon *d, bool *hopeless,
			  struct egs_err *err);
void egs_daemon_run_without_state(struct egs_daemon *d,
				  const struct egs_err *why);
void egs_daemon_retry_state(struct egs_daemon *d);

/* ---- transaction.c ---- */

/* Begin a transaction, unless one is open.  A commit adds changed jobs and the
 * usage of teams; without an open transaction it writes only these.  A failure
 * is logged once, and so is the recovery.  Both return 0, or -1 with 'err' (may
 * be NULL) set and nothing saved.
 */
int egs_daemon_begin(struct egs_daemon *d, struct egs_err *err);
int egs_daemon_commit(struct egs_daemon *d, struct egs_err *err);

/* Try to write everything to a store that failed. */
void egs_daemon_retry_store(struct egs_daemon *d);

/* Return 'rc', the result of a call of the store; log a failure with its
 * 'err'.
 */
int egs_daemon_check_store(struct egs_daemon *d, int rc, struct egs_err *err);

/* Record an event in the store: the actor 'who' did 'what' to 'job' (NULL: to
 * no job) for 'reason'.  The second function is for what a job reports itself;
 * the third saves a value.  All begin a transaction and do not commit it.
 */
int egs_daemon_log_event(struct egs_daemon *d, const struct egs_identity *job,
			 const char *what, const char *who, const char *reason,
			 struct egs_err *err);
int egs_daemon_log_report(struct egs_daemon *d, const struct egs_identity *job,
			  const char *what, const char *who,
			  struct egs_err *err);
int egs_daemon_save_value(struct egs_daemon *d, const char *name,
			  const char *value, struct egs_err *err);

/* Drop history older than Retention=. */
void egs_daemon_prune_history(struct egs_daemon *d);

/* ---- save_jobs.c ---- */

extern const struct egs_cluster_ops egs_daemon_cluster_ops;

/* Load the state that an earlier daemon saved. */
int egs_daemon_restore(struct egs_daemon *d, struct egs_err *err);

/* Load the usage of teams into the policy; and save it, in the open
 * transaction.
 */
int egs_daemon_restore_usage(struct egs_daemon *d, struct egs_err *err);
int egs_daemon_save_usage(struct egs_daemon *d, struct egs_err *err);

/* Forget saved jobs that the first complete poll did not show.  Or forget all
 * loaded jobs, because StateDir does not work.
 */
void egs_daemon_end_restore(struct egs_daemon *d);
void egs_daemon_drop_restored(struct egs_daemon *d);
void egs_daemon_free_saved_jobs(struct egs_daemon *d);

/* Write changed jobs, in a transaction that stays open. */
int egs_daemon_save_jobs(struct egs_daemon *d, struct egs_err *err);

/* Write all jobs again in the next transaction, because one failed. */
void egs_daemon_resave_jobs(struct egs_daemon *d);

/* Delete this job with the next transaction.  The second function clears the
 * list when that transaction is on disk.
 */
void egs_daemon_forget_job(struct egs_daemon *d,
			   const struct egs_identity *job);
void egs_daemon_clear_forgotten(struct egs_daemon *d);

/* ---- account_jobs.c ---- */

/* Continue with the accounting of an earlier daemon. */
int egs_daemon_restore_account(struct egs_daemon *d, struct egs_err *err);

/* Account for a change of a job in Slurm; and for a job that is gone. */
void egs_daemon_account_job(struct egs_daemon *d,
			    const struct egs_job_fact *fact, egs_time_t now);
void egs_daemon_account_job_gone(void *arg, uint32_t job_id);

/* Write ended and open intervals; after the commit, tell that it was done. */
int egs_daemon_save_account(struct egs_daemon *d, struct egs_err *err);
void egs_daemon_commit_account(struct egs_daemon *d);

/* ---- idle_levels.c ---- */

/* Idle and wasted GPUs and GPUs of teams, over time.  After a change, save the
 * time that the old levels lasted, in a transaction that stays open.  Commit
 * when that transaction is on disk.  Invalidate while slurmctld does not
 * answer, because the levels are not known then.
 */
int egs_daemon_save_levels(struct egs_daemon *d, struct egs_err *err);
void egs_daemon_commit_levels(struct egs_daemon *d);
void egs_daemon_invalidate_levels(struct egs_daemon *d);
void egs_idle_levels_free(struct egs_idle_levels *levels);

/* Call 'fn' for each level now, with what it adds up to since it was committed
 * last.  The names are those of the history: "gpu/type/a100" and "latency".
 */
void egs_daemon_each_level(const struct egs_daemon *d,
			   void (*fn)(void *arg, const char *scope,
				      const char *metric, uint64_t value,
				      uint64_t amount),
			   void *arg);

/* The number of GPUs of a team's quota that other teams have on loan. */
uint32_t egs_daemon_count_lent(const struct egs_daemon *d, int team, int type);

/* The name of a GPU type; "other" for types that egs.conf does not have. */
const char *egs_daemon_type_name(const struct egs_policy_conf *conf, int type);

/* ---- publish_jobs.c ---- */

/* Publish all rows. */
void egs_daemon_publish_jobs(struct egs_daemon *d);

/* ---- fence.c ---- */

bool egs_daemon_is_fenced(const struct egs_daemon *d, const char *node);

/* Avoid a node: no managed job starts there, but its GPUs count.  This is not
 * saved.  Returns 0, or -1 with 'err' set.
 */
bool egs_daemon_is_avoided(const struct egs_daemon *d, const char *node);
int egs_daemon_avoid_node(struct egs_daemon *d, const char *name, bool avoided,
			  struct egs_err *err);

/* Fence a node, or remove its fence; 'who' and 'reason' are saved too.  Returns
 * 0, or -1 with 'err' set.
 */
int egs_daemon_fence_node(struct egs_daemon *d, const char *name, bool fenced,
			  const char *who, const char *reason,
			  struct egs_err *err);

/* ---- publish_nodes.c ---- */

/* Add a claim that select/egs made for a pending job. */
void egs_daemon_add_claim(struct egs_daemon *d,
			  const struct egs_doorbell_claim *claim);

/* Restore claims from the table of an earlier daemon, after the first complete
 * poll.
 */
void egs_daemon_restore_claims(struct egs_daemon *d);

/* Publish claims and nodes. */
void egs_daemon_publish_nodes(struct egs_daemon *d);

/* ---- doorbell.c ---- */

/* Start listening: 0, or -1 with 'err' set.  Stop listening.  Call the last
 * function once a second.
 */
int egs_daemon_doorbell_start(struct egs_daemon *d, struct egs_err *err);
void egs_daemon_doorbell_stop(struct egs_daemon *d);
void egs_daemon_doorbell_tick(struct egs_daemon *d);

/* ---- touch_jobs.c ---- */

/* Touch jobs whose rows changed, after the rows are published.  The number of
 * touches in a second is limited; call the second function once a second to
 * touch the remaining jobs.
 */
void egs_daemon_touch_jobs(struct egs_daemon *d);
void egs_daemon_touch_tick(struct egs_daemon *d);

#endif
