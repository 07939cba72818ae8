/* store_messages.c - what jobs have said of themselves, in the store */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/store/store_messages.h"
#include "policyd/store/store_sql.h"

static sqlite3_stmt *of_job(struct egs_store *store, enum egs_sql sql,
			    const struct egs_ident *j, struct egs_err *err)
{
	return egs_sql_bind(store, sql, err, "iiiii", (int64_t)j->nonce,
			    (int64_t)j->job_id, (int64_t)j->uid,
			    (int64_t)j->task, (int64_t)j->het);
}

static void read_said(sqlite3_stmt *stmt, uint32_t restarts,
		      struct egs_said *said)
{
	snprintf(said->path, sizeof(said->path), "%s",
		 (const char *)sqlite3_column_text(stmt, 0));
	said->step = sqlite3_column_int64(stmt, 1);
	said->saved_at = sqlite3_column_int64(stmt, 2);
	if ((uint32_t)sqlite3_column_int64(stmt, 3) != restarts)
		return;
	said->ppm = sqlite3_column_int64(stmt, 4);
	said->finished = sqlite3_column_int64(stmt, 5) != 0;
}

int egs_store_said(struct egs_store *store, const struct egs_ident *job,
		   struct egs_said *said, struct egs_err *err)
{
	sqlite3_stmt *stmt = of_job(store, SQL_SAID, job, err);
	int rc = -1;

	*said = (struct egs_said){ .step = EGS_NO_STEP,
				   .ppm = EGS_NO_PPM,
				   .restarts = job->restarts };
	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0)
		read_said(stmt, job->restarts, said);
	return rc;
}

int egs_store_say(struct egs_store *store, const struct egs_ident *j,
		  const struct egs_said *said, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_SAID_PUT, err, "iiiiisiiiii",
					(int64_t)j->nonce, (int64_t)j->job_id,
					(int64_t)j->uid, (int64_t)j->task,
					(int64_t)j->het, said->path, said->step,
					said->saved_at, (int64_t)said->restarts,
					said->ppm, (int64_t)said->finished),
			   err);
}

int egs_store_hear(struct egs_store *store, const struct egs_ident *job,
		   const char *id, const char *answer, egs_time_t now,
		   struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_HEARD_PUT, err, "isis",
					(int64_t)job->job_id, id, now, answer),
			   err);
}

int egs_store_heard(struct egs_store *store, const struct egs_ident *job,
		    const char *id, char **answer, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_HEARD, err, "is",
					  (int64_t)job->job_id, id);
	int rc = -1;

	*answer = NULL;
	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0)
		if (!*answer)
			*answer = strdup(
				(const char *)sqlite3_column_text(stmt, 0));
	return rc;
}

int egs_store_unhear(struct egs_store *store, egs_time_t before,
		     struct egs_err *err)
{
	return egs_sql_run(
		store, egs_sql_bind(store, SQL_PRUNE_HEARD, err, "i", before),
		err);
}

int egs_store_ack(struct egs_store *store, const struct egs_ident *j,
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
	stmt = egs_sql_bind(store, SQL_ACKS, err, "iii", (int64_t)j->job_id,
			    (int64_t)j->nonce, (int64_t)request);
	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0)
		*count = (uint32_t)sqlite3_column_int64(stmt, 0);
	return stmt ? rc : -1;
}
