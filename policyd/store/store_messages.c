/* store_messages.c - reports of jobs, answers to them, acknowledgements */
#include <string.h>

#include "policyd/store/store_messages.h"
#include "policyd/store/store_sql.h"

int egs_store_job_report_get(struct egs_store *store,
			     const struct egs_identity *job,
			     struct egs_job_report *report, struct egs_err *err)
{
	struct egs_job_report_row row = {
		.job = *job,
		.report = { .step = EGS_NO_STEP,
			    .progress_ppm = EGS_NO_PROGRESS,
			    .restarts = job->restarts },
	};
	sqlite3_stmt *stmt = egs_sql_bind_row(
		store,
		"SELECT $job_report FROM job_report WHERE " EGS_SQL_JOB_KEY,
		EGS_TABLE_JOB_REPORT, &row, err);
	int rc;

	do
		rc = egs_sql_next_row(store, stmt, EGS_TABLE_JOB_REPORT, &row,
				      err);
	while (rc > 0);
	*report = row.report;
	if (report->restarts != job->restarts) {
		report->progress_ppm = EGS_NO_PROGRESS;
		report->progress_at = report->first_at = 0;
		report->first_ppm = 0;
		report->finished = false;
		report->restarts = job->restarts;
	}
	return rc;
}

int egs_store_job_report_set(struct egs_store *store,
			     const struct egs_identity *job,
			     const struct egs_job_report *report,
			     struct egs_err *err)
{
	const struct egs_job_report_row row = { *job, *report };

	return egs_sql_run_row(store, "INSERT OR REPLACE INTO #job_report",
			       EGS_TABLE_JOB_REPORT, &row, err);
}

int egs_store_answer_set(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 const char *answer, egs_time_t now,
			 struct egs_err *err)
{
	const struct egs_answer_row row = { job->job_id, now, id, answer };

	if (egs_sql_run_row(store, "INSERT INTO #answer", EGS_TABLE_ANSWER,
			    &row, err) < 0)
		return -1;
	return egs_sql_run(store,
			   "DELETE FROM answer WHERE job_id=?1 AND at<"
			   "(SELECT at FROM answer WHERE job_id=?1"
			   " ORDER BY at DESC LIMIT 1 OFFSET ?2)",
			   err, "ii", (int64_t)job->job_id,
			   (int64_t)EGS_ANSWERS_MAX - 1);
}

int egs_store_answer_get(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 char **answer, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store,
			     "SELECT $answer FROM answer WHERE job_id=? AND"
			     " message=?",
			     err, "is", (int64_t)job->job_id, id);
	struct egs_answer_row row;
	int rc;

	*answer = NULL;
	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_ANSWER, &row,
				      err)) > 0)
		if (!*answer)
			*answer = strdup(row.answer);
	return rc;
}

int egs_store_answer_prune(struct egs_store *store, egs_time_t before,
			   struct egs_err *err)
{
	return egs_sql_run(store, "DELETE FROM answer WHERE at<?", err, "i",
			   before);
}

int egs_store_ack_add(struct egs_store *store, const struct egs_identity *job,
		      uint32_t request_no, int64_t rank, uint32_t *count,
		      struct egs_err *err)
{
	const struct egs_ack_row row = { job->job_id, request_no, job->nonce,
					 rank };
	int64_t n;

	if (egs_sql_run_row(store, "INSERT OR IGNORE INTO #ack", EGS_TABLE_ACK,
			    &row, err) < 0 ||
	    egs_sql_read_int(
		    store,
		    egs_sql_bind_row(
			    store,
			    "SELECT count(*) FROM ack WHERE job_id=:job_id AND"
			    " nonce=:nonce AND request_no=:request_no",
			    EGS_TABLE_ACK, &row, err),
		    &n, err) < 0)
		return -1;
	*count = (uint32_t)n;
	return 0;
}
