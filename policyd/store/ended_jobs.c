/* ended_jobs.c - jobs that have ended, and how long they ran */
#include "policyd/store/ended_jobs.h"
#include "policyd/store/store_sql.h"

static const char *get_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

void egs_ended_jobs_read(sqlite3_stmt *stmt, struct egs_ended_job *job)
{
	*job = (struct egs_ended_job){
		.id = sqlite3_column_int64(stmt, 0),
		.start = sqlite3_column_int64(stmt, 1),
		.end = sqlite3_column_int64(stmt, 2),
		.run_s = sqlite3_column_int64(stmt, 3),
		.end_state = get_text(stmt, 4),
		.like = { .user = get_text(stmt, 5),
			  .account = get_text(stmt, 6),
			  .workload = get_text(stmt, 7),
			  .phase = get_text(stmt, 8),
			  .partition = get_text(stmt, 9),
			  .name = get_text(stmt, 10),
			  .gpus = (uint32_t)sqlite3_column_int64(stmt, 11) },
	};
}

/* Call 'fn' for each row.  Returns their number, or -1 with 'err' set. */
static int read_jobs(struct egs_store *store, sqlite3_stmt *stmt,
		     void (*fn)(void *arg, const struct egs_ended_job *job),
		     void *arg, struct egs_err *err)
{
	int n = 0, rc;

	while ((rc = egs_sql_step(store, stmt, err)) > 0) {
		struct egs_ended_job job;

		egs_ended_jobs_read(stmt, &job);
		fn(arg, &job);
		n++;
	}
	return rc < 0 ? -1 : n;
}

int egs_ended_jobs_each(struct egs_store *store, egs_time_t after,
			int64_t after_id, uint32_t max,
			void (*fn)(void *arg, const struct egs_ended_job *job),
			void *arg, struct egs_err *err)
{
	static const char sql[] = EGS_ENDED_JOBS_SELECT EGS_ENDED_JOBS_FROM
		" AND r.end>=?1 AND (r.end>?1 OR r.id>?2)"
		" ORDER BY r.end, r.id LIMIT ?3";

	return read_jobs(store,
			 egs_sql_bind(store, sql, err, "iii", after, after_id,
				      (int64_t)max),
			 fn, arg, err);
}

int egs_ended_jobs_get(struct egs_store *store, const struct egs_job_run *run,
		       void (*fn)(void *arg, const struct egs_ended_job *job),
		       void *arg, struct egs_err *err)
{
	static const char sql[] = EGS_ENDED_JOBS_SELECT EGS_ENDED_JOBS_FROM
		" AND r.job_id=? AND r.restarts=? AND r.start=?";

	return read_jobs(store,
			 egs_sql_bind(store, sql, err, "iii",
				      (int64_t)run->job_id,
				      (int64_t)run->restarts, run->start),
			 fn, arg, err) < 0
		       ? -1
		       : 0;
}

int egs_ended_jobs_find_oldest(struct egs_store *store, uint32_t max,
			       egs_time_t *end, struct egs_err *err)
{
	return egs_sql_read_int(
		store,
		egs_sql_bind(store,
			     "SELECT end FROM run WHERE end>0 ORDER BY end DESC"
			     " LIMIT 1 OFFSET ?",
			     err, "i", (int64_t)max),
		end, err);
}

int egs_ended_jobs_sum_earlier(struct egs_store *store,
			       const struct egs_job_run *run, egs_time_t *run_s,
			       struct egs_err *err)
{
	return egs_sql_read_int(
		store,
		egs_sql_bind(store,
			     "SELECT sum(end-start-suspended_s) FROM run WHERE"
			     " job_id=? AND nonce=? AND uid=? AND end>0 AND"
			     " end<=?",
			     err, "iiii", (int64_t)run->job_id,
			     (int64_t)run->nonce, (int64_t)run->uid,
			     run->start),
		run_s, err);
}
