/* store_preemptions.c - record of preemptions: requested, departed, restarted,
 * working again
 */
#include <string.h>

#include "policyd/store/store_sql.h"

uint32_t egs_preemption_lost_s(const struct egs_preemption *p)
{
	return p->lost_work_s +
	       (strcmp(p->outcome, "late") == 0 ? p->held_s : 0);
}

int egs_store_preempt_requested(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err)
{
	struct egs_preemption new = *p;

	new.saved_at = new.yielded_at = 0;
	new.departed_at = new.restarted_at = 0;
	new.lost_work_s = new.held_s = new.restart_s = 0;
	new.outcome = "";
	return egs_sql_run_row(
		store,
		"INSERT INTO #preemption ON CONFLICT"
		" (job_id,nonce,uid,array_task,het_offset,notice) DO"
		" UPDATE SET requester=excluded.requester,"
		" requester_team=excluded.requester_team,"
		" reason=excluded.reason WHERE departed_at=0 AND"
		" excluded.requester<>0 AND"
		" requester<>excluded.requester",
		EGS_TABLE_PREEMPTION, &new, err);
}

int egs_store_preempt_departed(struct egs_store *store,
			       const struct egs_preemption *p,
			       struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"UPDATE preemption SET departed_at=:departed_at,"
		" saved_at=:saved_at, yielded_at=:yielded_at,"
		" outcome=:outcome, lost_work_s=:lost_work_s,"
		" held_s=:held_s, restart_s=:restart_s WHERE " EGS_SQL_JOB_KEY
		" AND notice=:notice AND departed_at=0",
		EGS_TABLE_PREEMPTION, p, err);
}

int egs_store_preempt_restarted(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"UPDATE preemption SET restarted_at=:restarted_at"
		" WHERE " EGS_SQL_JOB_KEY
		" AND notice=:notice AND restarted_at=0",
		EGS_TABLE_PREEMPTION, p, err);
}

int egs_store_preempt_working(struct egs_store *store,
			      const struct egs_preemption *p,
			      struct egs_err *err)
{
	return egs_sql_run_row(store,
			       "UPDATE preemption SET restart_s=min(restart_s,"
			       " :restart_s) WHERE " EGS_SQL_JOB_KEY
			       " AND notice=:notice AND restarts=:restarts AND"
			       " restarted_at>0",
			       EGS_TABLE_PREEMPTION, p, err);
}

int egs_store_preempt_each(struct egs_store *store, uint32_t job_id,
			   egs_time_t since, uint32_t max,
			   void (*fn)(void *arg,
				      const struct egs_preemption *p),
			   void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store,
			     "SELECT $preemption FROM preemption WHERE (?1=0 OR"
			     " job_id=?1) AND requested_at>=?2 ORDER BY"
			     " requested_at DESC, job_id LIMIT ?3",
			     err, "iii", (int64_t)job_id, since, (int64_t)max);
	struct egs_preemption p = { .gpus = 0 };
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_PREEMPTION, &p,
				      err)) > 0)
		fn(arg, &p);
	return rc;
}
