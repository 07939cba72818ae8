/* ended_jobs.h - jobs that have ended, and how long they ran, from the history
 *
 * One job for its last attempt: attempts that were requeued count for the
 * attempt that follows.  Helper jobs are left out.
 */
#ifndef EGS_STORE_ENDED_JOBS_H
#define EGS_STORE_ENDED_JOBS_H

#include "policyd/predict/predict.h"
#include "policyd/store/history.h"

struct egs_ended_job {
	int64_t id;	       /* of its last attempt */
	egs_time_t start, end; /* of that attempt */
	egs_time_t run_s;      /* of all attempts, without suspended time */
	const char *end_state; /* "COMPLETED", ... */
	struct egs_predict_job like;
};

/* "SELECT ..." for egs_ended_jobs_read(): attempts r that have ended, of kind
 * k.  More columns may follow the first part, more conditions the second.
 */
#define EGS_ENDED_JOBS_SELECT                                                \
	"SELECT r.id, r.start, r.end, iif(r.restarts=0,"                     \
	" r.end-r.start-r.suspended_s, (SELECT"                              \
	" sum(a.end-a.start-a.suspended_s) FROM run a WHERE"                 \
	" a.job_id=r.job_id AND a.nonce=r.nonce AND a.uid=r.uid AND a.end>0" \
	" AND a.end<=r.end)), r.end_state, k.user, k.account, k.workload,"   \
	" k.phase, k.partition, r.name, r.gpus"
#define EGS_ENDED_JOBS_FROM                                        \
	" FROM run r JOIN kind k ON k.id=r.kind WHERE r.end>0 AND" \
	" r.helper_for=0"
#define EGS_ENDED_JOBS_COLUMNS 12

struct sqlite3_stmt;

/* Read the present row.  Strings live until the next step. */
void egs_ended_jobs_read(struct sqlite3_stmt *stmt, struct egs_ended_job *job);

/* Call 'fn' for at most 'max' jobs that ended after job 'after_id', which ended
 * at 'after', in the order of their end.  Returns their number, or -1 with
 * 'err' set.
 */
int egs_ended_jobs_each(struct egs_store *store, egs_time_t after,
			int64_t after_id, uint32_t max,
			void (*fn)(void *arg, const struct egs_ended_job *job),
			void *arg, struct egs_err *err);

/* Call 'fn' for the attempt that 'run' names, if it has ended.  Returns 0, or
 * -1 with 'err' set.
 */
int egs_ended_jobs_get(struct egs_store *store, const struct egs_job_run *run,
		       void (*fn)(void *arg, const struct egs_ended_job *job),
		       void *arg, struct egs_err *err);

/* When the attempt ended after which 'max' others have ended; 0: there are
 * fewer.
 */
int egs_ended_jobs_find_oldest(struct egs_store *store, uint32_t max,
			       egs_time_t *end, struct egs_err *err);

/* Seconds for which earlier attempts of the job of 'run' ran. */
int egs_ended_jobs_sum_earlier(struct egs_store *store,
			       const struct egs_job_run *run, egs_time_t *run_s,
			       struct egs_err *err);

#endif
