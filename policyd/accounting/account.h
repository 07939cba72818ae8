/* account.h - every second of every job, from what Slurm shows
 *
 * Facts come in as they are seen, what the policy makes of a job (its tier,
 * its phase, owned or on loan) before each commit; what is over goes to the
 * history in the same transaction that changes what is open, so that a crash
 * counts no second twice and forgets none that was written.
 *
 *	egs_account_update_job(a, &fact, now)		for each job that
 *changed egs_account_end_poll(a, now)		after a look at all
 *	egs_account_assign(a, id, &standing, now)	for each running job
 *	egs_account_write(a, &err), commit, egs_account_clear_written(a)
 */
#ifndef EGS_ACCOUNTING_ACCOUNT_H
#define EGS_ACCOUNTING_ACCOUNT_H

#include "common/conf/policy_conf.h"
#include "policyd/accounting/interval.h"
#include "policyd/slurm/facts.h"
#include "policyd/store/history.h"

struct egs_account;

/* Go on with what is open in 'store', which must outlive the account; Slurm
 * was last looked at at 'looked_at'.  NULL with 'err' set on failure.
 */
struct egs_account *egs_account_new(struct egs_store *store,
				    const struct egs_policy_conf *conf,
				    egs_time_t looked_at, struct egs_err *err);
void egs_account_free(struct egs_account *a);

/* Another configuration is in force. */
void egs_account_set_conf(struct egs_account *a,
			  const struct egs_policy_conf *conf);

/* What Slurm shows of a job, when it is new or has changed; and that Slurm
 * shows it no more.
 */
void egs_account_update_job(struct egs_account *a,
			    const struct egs_job_fact *fact, egs_time_t now);
void egs_account_remove_job(struct egs_account *a, uint32_t job_id);

/* The run of a job that began at 'start' ended at 'end', in the words of
 * slurmctld: what Slurm shows later of one that was requeued has no end.
 */
void egs_account_set_run_end(struct egs_account *a, uint32_t job_id,
			     egs_time_t start, egs_time_t end);

/* A look at all jobs is over.  After the first what was open and was not seen
 * is gone.
 */
void egs_account_end_poll(struct egs_account *a, egs_time_t now);

/* As what a running job holds its GPUs; names are copied, "" is none. */
struct egs_account_assignment {
	const char *team, *tier, *phase, *loan;
};
void egs_account_assign(struct egs_account *a, uint32_t job_id,
			const struct egs_account_assignment *standing,
			egs_time_t now);

/* What a blocked job waits for; 'partitions' is a list.  -1: nobody knows it.
 */
struct egs_account_get_blocked {
	const char *partitions;
	const char *node_filter; /* "": anywhere; see where.h */
	uint32_t priority;
	bool limited; /* by a quota or a limit */
};
int egs_account_get_blocked(const struct egs_account *a, uint32_t job_id,
			    struct egs_account_get_blocked *blocked);

/* Is there something to write?  Write it; and forget it once it is on disk. */
bool egs_account_has_unwritten(const struct egs_account *a);
int egs_account_write(struct egs_account *a, struct egs_err *err);
void egs_account_clear_written(struct egs_account *a);

#endif
