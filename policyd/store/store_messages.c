/* store_messages.c - what jobs have said of themselves, in the store */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/store/store_messages.h"
#include "policyd/store/store_sql.h"

static sqlite3_stmt *bind_job(struct egs_store *store, enum egs_sql sql,
			      const struct egs_identity *j, struct egs_err *err)
{
	return egs_sql_bind(store, sql, err, "iiiii", (int64_t)j->nonce,
			    (int64_t)j->job_id, (int64_t)j->uid,
			    (int64_t)j->array_task, (int64_t)j->het_offset);
}

static void read_job_report(sqlite3_stmt *stmt, uint32_t restarts,
			    struct egs_job_report *said)
{
	snprintf(said->path, sizeof(said->path), "%s",
		 (const char *)sqlite3_column_text(stmt, 0));
	said->step = sqlite3_column_int64(stmt, 1);
	said->saved_at = sqlite3_column_int64(stmt, 2);
	if ((uint32_t)sqlite3_column_int64(stmt, 3) != restarts)
		return;
	said->progress_ppm = sqlite3_column_int64(stmt, 4);
	said->finished = sqlite3_column_int64(stmt, 5) != 0;
}

int egs_store_job_report_get(struct egs_store *store,
			     const struct egs_identity *job,
			     struct egs_job_report *said, struct egs_err *err)
{
	sqlite3_stmt *stmt = bind_job(store, SQL_JOB_REPORT, job, err);
	int rc = -1;

	*said = (struct egs_job_report){ .step = EGS_NO_STEP,
					 .progress_ppm = EGS_NO_PROGRESS,
					 .restarts = job->restarts };
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		read_job_report(stmt, job->restarts, said);
	return rc;
}

int egs_store_job_report_set(struct egs_store *store,
			     const struct egs_identity *j,
			     const struct egs_job_report *said,
			     struct egs_err *err)
{
	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_JOB_REPORT_PUT, err, "iiiiisiiiii",
			     (int64_t)j->nonce, (int64_t)j->job_id,
			     (int64_t)j->uid, (int64_t)j->array_task,
			     (int64_t)j->het_offset, said->path, said->step,
			     said->saved_at, (int64_t)said->restarts,
			     said->progress_ppm, (int64_t)said->finished),
		err);
}

int egs_store_answer_set(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 const char *answer, egs_time_t now,
			 struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_ANSWER_PUT, err, "isis",
					(int64_t)job->job_id, id, now, answer),
			   err);
}

int egs_store_answer_get(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 char **answer, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_ANSWER, err, "is",
					  (int64_t)job->job_id, id);
	int rc = -1;

	*answer = NULL;
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		if (!*answer)
			*answer = strdup(
				(const char *)sqlite3_column_text(stmt, 0));
	return rc;
}

int egs_store_answer_prune(struct egs_store *store, egs_time_t before,
			   struct egs_err *err)
{
	return egs_sql_run(
		store, egs_sql_bind(store, SQL_PRUNE_ANSWERS, err, "i", before),
		err);
}

int egs_store_ack_add(struct egs_store *store, const struct egs_identity *j,
		      uint32_t request, int64_t rank, uint32_t *count,
		      struct egs_err *err)
{
	sqlite3_stmt *stmt;
	int rc = egs_sql_run(store,
			     egs_sql_bind(store, SQL_ACK_PUT, err, "iiii",
					  (int64_t)j->job_id, (int64_t)j->nonce,
					  (int64_t)request, rank),
			     err);

	if (rc < 0)
		return -1;
	stmt = egs_sql_bind(store, SQL_ACK_COUNT, err, "iii",
			    (int64_t)j->job_id, (int64_t)j->nonce,
			    (int64_t)request);
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		*count = (uint32_t)sqlite3_column_int64(stmt, 0);
	return stmt ? rc : -1;
}
