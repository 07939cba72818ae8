/* store_preemptions.c - the ledger of preemptions: asked, gone, back, at work
 */
#include "policyd/store/store_sql.h"

int egs_store_asked(struct egs_store *store, const struct egs_preemption *p,
		    struct egs_err *err)
{
	const struct egs_ident *j = &p->job;

	return egs_sql_run(
		store,
		egs_sql_bind(
			store, SQL_PREEMPTION_PUT, err, "iiiiiiissssiissii",
			(int64_t)j->job_id, (int64_t)j->nonce, (int64_t)j->uid,
			(int64_t)j->task, (int64_t)j->het, (int64_t)p->request,
			(int64_t)j->restarts, p->text, p->user, p->team,
			p->tier, (int64_t)p->gpus, (int64_t)p->by_job,
			p->by_team, p->reason, p->asked, p->deadline),
		err);
}

int egs_store_gone(struct egs_store *store, const struct egs_preemption *p,
		   struct egs_err *err)
{
	const struct egs_ident *j = &p->job;

	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_PREEMPTION_GONE, err,
					"iiisiiiiiiiii", p->gone, p->saved,
					p->yielded, p->how, (int64_t)p->work_s,
					(int64_t)p->held_s,
					(int64_t)p->restart_s,
					(int64_t)j->job_id, (int64_t)j->nonce,
					(int64_t)j->uid, (int64_t)j->task,
					(int64_t)j->het, (int64_t)p->request),
			   err);
}

int egs_store_back(struct egs_store *store, const struct egs_preemption *p,
		   struct egs_err *err)
{
	const struct egs_ident *j = &p->job;

	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_PREEMPTION_BACK, err,
					"iiiiiii", p->restarted,
					(int64_t)j->job_id, (int64_t)j->nonce,
					(int64_t)j->uid, (int64_t)j->task,
					(int64_t)j->het, (int64_t)p->request),
			   err);
}

int egs_store_works(struct egs_store *store, const struct egs_preemption *p,
		    struct egs_err *err)
{
	const struct egs_ident *j = &p->job;

	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_PREEMPTION_WORKS, err,
					"iiiiiiii", (int64_t)p->restart_s,
					(int64_t)j->job_id, (int64_t)j->nonce,
					(int64_t)j->uid, (int64_t)j->task,
					(int64_t)j->het, (int64_t)p->request,
					(int64_t)j->restarts),
			   err);
}

static const char *text(sqlite3_stmt *stmt, int column)
{
	const char *s = (const char *)sqlite3_column_text(stmt, column);

	return s ? s : "";
}

static uint32_t number(sqlite3_stmt *stmt, int column)
{
	return (uint32_t)sqlite3_column_int64(stmt, column);
}

static struct egs_preemption read_row(sqlite3_stmt *stmt)
{
	return (struct egs_preemption){
		.job = { .job_id = number(stmt, 0),
			 .nonce = (uint64_t)sqlite3_column_int64(stmt, 1),
			 .uid = number(stmt, 2),
			 .task = number(stmt, 3),
			 .het = number(stmt, 4),
			 .restarts = number(stmt, 6) },
		.request = number(stmt, 5),
		.text = text(stmt, 7),
		.user = text(stmt, 8),
		.team = text(stmt, 9),
		.tier = text(stmt, 10),
		.gpus = number(stmt, 11),
		.by_job = number(stmt, 12),
		.by_team = text(stmt, 13),
		.reason = text(stmt, 14),
		.asked = sqlite3_column_int64(stmt, 15),
		.deadline = sqlite3_column_int64(stmt, 16),
		.saved = sqlite3_column_int64(stmt, 17),
		.yielded = sqlite3_column_int64(stmt, 18),
		.gone = sqlite3_column_int64(stmt, 19),
		.restarted = sqlite3_column_int64(stmt, 20),
		.how = text(stmt, 21),
		.work_s = number(stmt, 22),
		.held_s = number(stmt, 23),
		.restart_s = number(stmt, 24),
	};
}

int egs_store_preemptions(struct egs_store *store, uint32_t job_id,
			  egs_time_t since, uint32_t max,
			  void (*fn)(void *arg, const struct egs_preemption *p),
			  void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_PREEMPTIONS, err, "iii",
					  (int64_t)job_id, since, (int64_t)max);
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_preemption p = read_row(stmt);

		fn(arg, &p);
	}
	return rc;
}
