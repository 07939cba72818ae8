/* store_rows.c - jobs, values, log, intents and usage of the store */
#include <stdio.h>
#include <string.h>

#include "policyd/store/store_sql.h"

int egs_store_job_save(struct egs_store *store, const struct egs_saved_job *job,
		       struct egs_err *err)
{
	return egs_sql_run_row(store, "INSERT OR REPLACE INTO #job",
			       EGS_TABLE_JOB, job, err);
}

int egs_store_job_delete(struct egs_store *store, const struct egs_identity *j,
			 struct egs_err *err)
{
	const struct egs_saved_job job = { .job = *j };
	const struct egs_job_report_row report = { .job = *j };

	if (egs_sql_run_row(store, "DELETE FROM job WHERE " EGS_SQL_JOB_KEY,
			    EGS_TABLE_JOB, &job, err) < 0 ||
	    egs_sql_run_row(store,
			    "DELETE FROM job_report WHERE " EGS_SQL_JOB_KEY,
			    EGS_TABLE_JOB_REPORT, &report, err) < 0)
		return -1;
	if (egs_sql_run(store, "DELETE FROM answer WHERE job_id=?", err, "i",
			(int64_t)j->job_id) < 0)
		return -1;
	return egs_sql_run(store, "DELETE FROM ack WHERE job_id=? AND nonce=?",
			   err, "ii", (int64_t)j->job_id, (int64_t)j->nonce);
}

int egs_store_job_each(struct egs_store *store,
		       void (*fn)(void *arg, const struct egs_saved_job *job),
		       void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store, "SELECT $job FROM job ORDER BY job_id, nonce", err, "");
	struct egs_saved_job job;
	int rc;

	/* Padding too, and what follows a text: the caller compares jobs byte
	 * by byte.
	 */
	memset(&job, 0, sizeof(job));
	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_JOB, &job, err)) >
	       0) {
		job.history.restarts = job.job.restarts;
		fn(arg, &job);
		memset(&job, 0, sizeof(job));
	}
	return rc;
}

int egs_store_set(struct egs_store *store, const char *name, const char *value,
		  struct egs_err *err)
{
	const struct egs_value_row row = { name, value };

	return value ? egs_sql_run_row(store, "INSERT OR REPLACE INTO #value",
				       EGS_TABLE_VALUE, &row, err)
		     : egs_sql_run(store, "DELETE FROM value WHERE name=?", err,
				   "s", name);
}

int egs_store_get(struct egs_store *store, const char *name, char *value,
		  size_t size, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store, "SELECT $value FROM value WHERE name=?", err, "s", name);
	struct egs_value_row row;
	int rc;

	snprintf(value, size, "%s", "");
	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_VALUE, &row,
				      err)) > 0)
		snprintf(value, size, "%s", row.value);
	return rc;
}

#define OF_REPORTS \
	" FROM log WHERE job_id=:job_id AND nonce=:nonce AND reports>0"
#define OLDEST_REPORT "(SELECT id" OF_REPORTS " ORDER BY id LIMIT 1)"

static int read_log_int(struct egs_store *store, const char *sql,
			const struct egs_log_entry *entry, int64_t *value,
			struct egs_err *err)
{
	return egs_sql_read_int(
		store, egs_sql_bind_row(store, sql, EGS_TABLE_LOG, entry, err),
		value, err);
}

/* Add the oldest report of the job to the next one. */
static int merge_reports(struct egs_store *store,
			 const struct egs_log_entry *entry, struct egs_err *err)
{
	struct egs_log_entry oldest = *entry;
	int64_t n;

	if (read_log_int(store, "SELECT count(*)" OF_REPORTS, entry, &n, err) <
	    0)
		return -1;
	if (n <= EGS_LOG_REPORTS_MAX)
		return 0;
	if (read_log_int(store,
			 "DELETE FROM log WHERE id=" OLDEST_REPORT
			 " RETURNING reports",
			 entry, &n, err) < 0)
		return -1;
	oldest.reports = (uint32_t)n;
	return egs_sql_run_row(store,
			       "UPDATE log SET reports=reports+:reports,"
			       " event=(reports+:reports)||' reports'"
			       " WHERE id=" OLDEST_REPORT,
			       EGS_TABLE_LOG, &oldest, err);
}

int egs_store_log_add(struct egs_store *store,
		      const struct egs_log_entry *entry, struct egs_err *err)
{
	if (egs_sql_run_row(store, "INSERT INTO #log", EGS_TABLE_LOG, entry,
			    err) < 0)
		return -1;
	return entry->reports ? merge_reports(store, entry, err) : 0;
}

int egs_store_log_each(struct egs_store *store, const struct egs_identity *job,
		       egs_time_t first_submitted, uint32_t max,
		       void (*fn)(void *arg, const struct egs_log_entry *entry),
		       void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT $log FROM log WHERE ?1=0 OR (job_id=?1 AND"
		" nonce=?2 AND at>=?3) ORDER BY id DESC LIMIT ?4",
		err, "iiii", job ? (int64_t)job->job_id : INT64_C(0),
		job ? (int64_t)job->nonce : INT64_C(0), first_submitted,
		(int64_t)max);
	struct egs_log_entry entry;
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_LOG, &entry,
				      err)) > 0)
		fn(arg, &entry);
	return rc;
}

int egs_store_intent_add(struct egs_store *store, struct egs_intent *intent,
			 struct egs_err *err)
{
	if (egs_sql_run_row(store, "INSERT INTO #intent", EGS_TABLE_INTENT,
			    intent, err) < 0)
		return -1;
	intent->id = (uint64_t)sqlite3_last_insert_rowid(store->db);
	return 0;
}

int egs_store_intent_done(struct egs_store *store, uint64_t id,
			  const char *outcome, egs_time_t now,
			  struct egs_err *err)
{
	return egs_sql_run(
		store,
		"UPDATE intent SET outcome=?, settled_at=? WHERE id=?"
		" AND outcome=''",
		err, "sii", outcome, now, (int64_t)id);
}

int egs_store_intent_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_intent *intent),
			  void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store,
			     "SELECT $intent, id FROM intent WHERE outcome=''"
			     " ORDER BY id",
			     err, "");
	int rc;

	while ((rc = egs_sql_step(store, stmt, err)) > 0) {
		struct egs_intent intent;
		int id = egs_sql_read_row(stmt, 0, EGS_TABLE_INTENT, &intent);

		intent.id = (uint64_t)sqlite3_column_int64(stmt, id);
		fn(arg, &intent);
	}
	return rc;
}

int egs_store_usage_save(struct egs_store *store,
			 const struct egs_saved_usage *usage,
			 struct egs_err *err)
{
	return egs_sql_run_row(store, "INSERT OR REPLACE INTO #usage",
			       EGS_TABLE_USAGE, usage, err);
}

int egs_store_usage_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_usage *usage),
			 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store, "SELECT $usage FROM usage ORDER BY team", err, "");
	struct egs_saved_usage usage;
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_USAGE, &usage,
				      err)) > 0)
		fn(arg, &usage);
	return rc;
}

int egs_store_meter_save(struct egs_store *store,
			 const struct egs_saved_meter *meter,
			 struct egs_err *err)
{
	return egs_sql_run_row(store, "INSERT OR REPLACE INTO #meter",
			       EGS_TABLE_METER, meter, err);
}

int egs_store_meter_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_meter *meter),
			 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store, "SELECT $meter FROM meter", err, "");
	struct egs_saved_meter meter = { .team = NULL };
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_METER, &meter,
				      err)) > 0)
		fn(arg, &meter);
	return rc;
}

int egs_store_prune(struct egs_store *store, egs_time_t before,
		    struct egs_err *err)
{
	if (egs_sql_run(store, "DELETE FROM log WHERE at<?", err, "i", before) <
		    0 ||
	    egs_sql_run(store, "DELETE FROM preemption WHERE requested_at<?",
			err, "i", before) < 0 ||
	    egs_sql_run(store, "DELETE FROM observed WHERE at<?", err, "i",
			before) < 0 ||
	    egs_sql_run(store,
			"DELETE FROM remediation WHERE id IN (SELECT id FROM"
			" remediation WHERE undone_at>0 AND undone_at<?"
			" LIMIT 5000)",
			err, "i", before) < 0)
		return -1;
	return egs_sql_run(store,
			   "DELETE FROM intent WHERE settled_at<? AND"
			   " outcome<>''",
			   err, "i", before);
}
