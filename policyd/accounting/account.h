/* account.h - every second of every job, from what Slurm shows
 *
 * The daemon passes on each fact that it polls.  Before each commit it passes
 * on what the policy decided for a running job: tier, phase, owned or on loan.
 * Finished spans are written in the transaction that changes the open spans.
 * So a crash counts no second twice and loses none that was written.
 *
 *	egs_account_update_job(a, &fact, now);	 for each job that changed
 *	egs_account_end_poll(a, now);		 after a poll of all jobs
 *	egs_account_assign(a, id, &use, now);	 for each running job
 *	egs_account_write(a, &err);		 then commit, then
 *	egs_account_clear_written(a);
 */
#ifndef EGS_ACCOUNTING_ACCOUNT_H
#define EGS_ACCOUNTING_ACCOUNT_H

#include "common/conf/policy_conf.h"
#include "policyd/accounting/interval.h"
#include "policyd/slurm/facts.h"
#include "policyd/store/history.h"

struct egs_account;

/* Continue with the open spans in 'store', which must outlive the account.
 * 'polled_at' is when Slurm was polled last.  NULL with 'err' set on failure.
 */
struct egs_account *egs_account_new(struct egs_store *store,
				    const struct egs_policy_conf *conf,
				    egs_time_t polled_at, struct egs_err *err);
void egs_account_free(struct egs_account *a);

/* Use another configuration from now on. */
void egs_account_set_conf(struct egs_account *a,
			  const struct egs_policy_conf *conf);

/* Slurm shows a new job or a change of a job; Slurm no longer shows a job. */
void egs_account_update_job(struct egs_account *a,
			    const struct egs_job_fact *fact, egs_time_t now);
void egs_account_remove_job(struct egs_account *a, uint32_t job_id);

/* slurmctld reported that the run which began at 'start' ended at 'end'.  Once
 * the job is requeued, Slurm no longer shows that end.
 */
void egs_account_set_run_end(struct egs_account *a, uint32_t job_id,
			     egs_time_t start, egs_time_t end);

/* A poll of all jobs is over.  The first poll removes jobs with open spans that
 * Slurm did not show.
 */
void egs_account_end_poll(struct egs_account *a, egs_time_t now);

/* The first changes of phase of a run are all in the history; then at most one
 * in this time.
 */
#define EGS_ACCOUNT_PHASES_MAX 100
#define EGS_ACCOUNT_ROLL_UP_S  600

/* The use that a running job makes of its GPUs.  Names are copied; "" is none.
 * To be called for all running jobs, again and again.
 */
struct egs_account_assignment {
	const char *team, *tier, *phase, *loan;
};
void egs_account_assign(struct egs_account *a, uint32_t job_id,
			const struct egs_account_assignment *use,
			egs_time_t now);

/* What a blocked job waits for; 'partitions' is a list.  Returns 0, or -1 if
 * the account does not know the job.
 */
struct egs_account_get_blocked {
	const char *partitions;
	const char *node_filter; /* "": any node; see node_filter.h */
	uint32_t priority;
	bool limited; /* by a quota or a limit */
};
int egs_account_get_blocked(const struct egs_account *a, uint32_t job_id,
			    struct egs_account_get_blocked *blocked);

/* A running job: its run without an end, its kind, the time that it has run
 * until 'now' without suspensions, and its time limit (0: none).  Strings are
 * borrowed until the next poll.  Returns 0, or -1 if the job does not run.
 */
struct egs_account_running {
	struct egs_job_run run;
	struct egs_usage_kind kind;
	egs_time_t run_s, limit_s;
};
int egs_account_get_running(const struct egs_account *a, uint32_t job_id,
			    egs_time_t now,
			    struct egs_account_running *running);

/* Is there something to write?  Write it; clear it after the commit. */
bool egs_account_has_unwritten(const struct egs_account *a);
int egs_account_write(struct egs_account *a, struct egs_err *err);
void egs_account_clear_written(struct egs_account *a);

/* Between the commit and egs_account_clear_written(): call the functions for
 * each run that has begun or ended and each span that is over.  So each is told
 * once, whatever fails.  Strings are borrowed.
 */
struct egs_account_watcher {
	void (*run_began)(void *arg, const struct egs_job_run *run,
			  const struct egs_usage_kind *kind);
	void (*span_ended)(void *arg, const struct egs_usage_kind *kind,
			   const struct egs_span *span);
	void (*run_ended)(void *arg, const struct egs_job_run *run);
};
void egs_account_each_written(const struct egs_account *a,
			      const struct egs_account_watcher *watcher,
			      void *arg);

/* Call 'fn' for each span that goes on; its 'end' is 0. */
void egs_account_each_open(const struct egs_account *a,
			   void (*fn)(void *arg,
				      const struct egs_usage_kind *kind,
				      const struct egs_span *span),
			   void *arg);

#endif
