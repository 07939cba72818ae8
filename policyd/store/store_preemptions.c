/* store_preemptions.c - the ledger of preemptions: asked, gone, back, at work
 */
#include "policyd/store/store_sql.h"

int egs_store_preempt_requested(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err)
{
	const struct egs_identity *j = &p->job;

	return egs_sql_run(
		store,
		egs_sql_bind(
			store, SQL_PREEMPTION_PUT, err, "iiiiiiissssiissii",
			(int64_t)j->job_id, (int64_t)j->nonce, (int64_t)j->uid,
			(int64_t)j->array_task, (int64_t)j->het_offset,
			(int64_t)p->notice, (int64_t)j->restarts, p->job_text,
			p->user, p->team, p->tier, (int64_t)p->gpus,
			(int64_t)p->requester, p->requester_team, p->reason,
			p->requested_at, p->deadline),
		err);
}

int egs_store_preempt_departed(struct egs_store *store,
			       const struct egs_preemption *p,
			       struct egs_err *err)
{
	const struct egs_identity *j = &p->job;

	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_PREEMPTION_DEPARTED, err,
			     "iiisiiiiiiiii", p->departed_at, p->saved_at,
			     p->yielded_at, p->outcome, (int64_t)p->lost_work_s,
			     (int64_t)p->held_s, (int64_t)p->restart_s,
			     (int64_t)j->job_id, (int64_t)j->nonce,
			     (int64_t)j->uid, (int64_t)j->array_task,
			     (int64_t)j->het_offset, (int64_t)p->notice),
		err);
}

int egs_store_preempt_restarted(struct egs_store *store,
				const struct egs_preemption *p,
				struct egs_err *err)
{
	const struct egs_identity *j = &p->job;

	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_PREEMPTION_RESTARTED, err,
					"iiiiiii", p->restarted_at,
					(int64_t)j->job_id, (int64_t)j->nonce,
					(int64_t)j->uid, (int64_t)j->array_task,
					(int64_t)j->het_offset,
					(int64_t)p->notice),
			   err);
}

int egs_store_preempt_working(struct egs_store *store,
			      const struct egs_preemption *p,
			      struct egs_err *err)
{
	const struct egs_identity *j = &p->job;

	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_PREEMPTION_WORKING, err, "iiiiiiii",
			     (int64_t)p->restart_s, (int64_t)j->job_id,
			     (int64_t)j->nonce, (int64_t)j->uid,
			     (int64_t)j->array_task, (int64_t)j->het_offset,
			     (int64_t)p->notice, (int64_t)j->restarts),
		err);
}

static const char *get_text(sqlite3_stmt *stmt, int column)
{
	const char *s = (const char *)sqlite3_column_text(stmt, column);

	return s ? s : "";
}

static uint32_t get_u32(sqlite3_stmt *stmt, int column)
{
	return (uint32_t)sqlite3_column_int64(stmt, column);
}

static struct egs_preemption read_preemption(sqlite3_stmt *stmt)
{
	return (struct egs_preemption){
		.job = { .job_id = get_u32(stmt, 0),
			 .nonce = (uint64_t)sqlite3_column_int64(stmt, 1),
			 .uid = get_u32(stmt, 2),
			 .array_task = get_u32(stmt, 3),
			 .het_offset = get_u32(stmt, 4),
			 .restarts = get_u32(stmt, 6) },
		.notice = get_u32(stmt, 5),
		.job_text = get_text(stmt, 7),
		.user = get_text(stmt, 8),
		.team = get_text(stmt, 9),
		.tier = get_text(stmt, 10),
		.gpus = get_u32(stmt, 11),
		.requester = get_u32(stmt, 12),
		.requester_team = get_text(stmt, 13),
		.reason = get_text(stmt, 14),
		.requested_at = sqlite3_column_int64(stmt, 15),
		.deadline = sqlite3_column_int64(stmt, 16),
		.saved_at = sqlite3_column_int64(stmt, 17),
		.yielded_at = sqlite3_column_int64(stmt, 18),
		.departed_at = sqlite3_column_int64(stmt, 19),
		.restarted_at = sqlite3_column_int64(stmt, 20),
		.outcome = get_text(stmt, 21),
		.lost_work_s = get_u32(stmt, 22),
		.held_s = get_u32(stmt, 23),
		.restart_s = get_u32(stmt, 24),
	};
}

int egs_store_preempt_each(struct egs_store *store, uint32_t job_id,
			   egs_time_t since, uint32_t max,
			   void (*fn)(void *arg,
				      const struct egs_preemption *p),
			   void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_PREEMPTIONS, err, "iii",
					  (int64_t)job_id, since, (int64_t)max);
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_preemption p = read_preemption(stmt);

		fn(arg, &p);
	}
	return rc;
}
