/* store_rows.c - the rows of the store, one pair of functions per table */
#include <stdio.h>
#include <string.h>

#include "policyd/store/store_sql.h"

static const char *get_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

static int64_t get_int(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_int64(stmt, column);
}

/* Save times as one number, the oldest in the lowest 16 bits. */
static int64_t pack_save_times(const struct egs_job_history *p)
{
	uint64_t saves = 0;
	int i;

	for (i = EGS_SAVE_TIMES; i-- > 0;)
		saves = saves << 16 | p->save_s[i];
	return (int64_t)saves;
}

static void unpack_save_times(int64_t packed, struct egs_job_history *p)
{
	int i;

	for (i = 0; i < EGS_SAVE_TIMES; i++)
		p->save_s[i] = (uint16_t)((uint64_t)packed >> 16 * i);
}

int egs_store_job_save(struct egs_store *store, const struct egs_saved_job *k,
		       struct egs_err *err)
{
	const struct egs_identity *j = &k->job;
	const struct egs_job_history *p = &k->history;

	return egs_sql_run(
		store,
		egs_sql_bind(
			store, SQL_JOB_PUT, err, "iiiiiiiiiiiiiiiissiiiiiiiiii",
			(int64_t)j->nonce, (int64_t)j->job_id, (int64_t)j->uid,
			(int64_t)j->array_task, (int64_t)j->het_offset,
			j->submit, (int64_t)j->restarts, p->queued_at,
			p->started, p->saved_at, p->deadline,
			(int64_t)p->waited_s, (int64_t)p->preemptions,
			(int64_t)p->request_no, p->budget_from,
			(int64_t)k->owned, k->phase, k->tier,
			(int64_t)p->preempting, (int64_t)p->requester,
			p->loan_since, p->first_submitted, pack_save_times(p),
			p->requested_at, (int64_t)p->departed_request,
			(int64_t)p->departed_for, (int64_t)p->finished,
			(int64_t)p->release_due),
		err);
}

static int delete_job_row(struct egs_store *store, enum egs_sql sql,
			  const struct egs_identity *j, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, sql, err, "iiiii",
					(int64_t)j->nonce, (int64_t)j->job_id,
					(int64_t)j->uid, (int64_t)j->array_task,
					(int64_t)j->het_offset),
			   err);
}

int egs_store_job_delete(struct egs_store *store, const struct egs_identity *j,
			 struct egs_err *err)
{
	if (delete_job_row(store, SQL_JOB_DROP, j, err) < 0 ||
	    delete_job_row(store, SQL_JOB_REPORT_DROP, j, err) < 0)
		return -1;
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_ACK_DROP, err, "ii",
					(int64_t)j->job_id, (int64_t)j->nonce),
			   err);
}

/* Padding too: who compares two of them compares all bytes. */
static struct egs_saved_job read_job(sqlite3_stmt *stmt)
{
	struct egs_saved_job k;

	memset(&k, 0, sizeof(k));
	k.job.nonce = (uint64_t)get_int(stmt, 0);
	k.job.job_id = (uint32_t)get_int(stmt, 1);
	k.job.uid = (uint32_t)get_int(stmt, 2);
	k.job.array_task = (uint32_t)get_int(stmt, 3);
	k.job.het_offset = (uint32_t)get_int(stmt, 4);
	k.job.submit = get_int(stmt, 5);
	k.job.restarts = (uint32_t)get_int(stmt, 6);
	k.history.restarts = (uint32_t)get_int(stmt, 6);
	k.history.queued_at = get_int(stmt, 7);
	k.history.started = get_int(stmt, 8);
	k.history.saved_at = get_int(stmt, 9);
	k.history.deadline = get_int(stmt, 10);
	k.history.waited_s = (uint32_t)get_int(stmt, 11);
	k.history.preemptions = (uint32_t)get_int(stmt, 12);
	k.history.request_no = (uint32_t)get_int(stmt, 13);
	k.history.budget_from = get_int(stmt, 14);
	k.history.preempting = get_int(stmt, 18);
	k.history.requester = (uint32_t)get_int(stmt, 19);
	k.history.loan_since = get_int(stmt, 20);
	k.history.first_submitted = get_int(stmt, 21);
	k.history.requested_at = get_int(stmt, 23);
	k.history.departed_request = (uint32_t)get_int(stmt, 24);
	k.history.departed_for = (uint32_t)get_int(stmt, 25);
	k.history.finished = get_int(stmt, 26);
	k.history.release_due = get_int(stmt, 27);
	k.owned = get_int(stmt, 15);
	unpack_save_times(get_int(stmt, 22), &k.history);
	snprintf(k.phase, sizeof(k.phase), "%s", get_text(stmt, 16));
	snprintf(k.tier, sizeof(k.tier), "%s", get_text(stmt, 17));
	return k;
}

int egs_store_job_each(struct egs_store *store,
		       void (*fn)(void *arg, const struct egs_saved_job *kept),
		       void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_JOBS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_saved_job kept = read_job(stmt);

		fn(arg, &kept);
	}
	return rc;
}

int egs_store_set(struct egs_store *store, const char *name, const char *value,
		  struct egs_err *err)
{
	return egs_sql_run(
		store,
		value ? egs_sql_bind(store, SQL_VALUE_PUT, err, "ss", name,
				     value)
		      : egs_sql_bind(store, SQL_VALUE_DROP, err, "s", name),
		err);
}

int egs_store_get(struct egs_store *store, const char *name, char *value,
		  size_t size, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_VALUE, err, "s", name);
	int rc = -1;

	snprintf(value, size, "%s", "");
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		snprintf(value, size, "%s", get_text(stmt, 0));
	return rc;
}

int egs_store_log_add(struct egs_store *store, const struct egs_log_entry *d,
		      struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_LOG_PUT, err, "iiisss",
					d->at, (int64_t)d->nonce,
					(int64_t)d->job_id, d->event, d->actor,
					d->reason),
			   err);
}

int egs_store_log_each(struct egs_store *store, const struct egs_identity *job,
		       egs_time_t born, uint32_t max,
		       void (*fn)(void *arg, const struct egs_log_entry *deed),
		       void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store, SQL_LOG_ENTRIES, err, "iiii",
		job ? (int64_t)job->job_id : INT64_C(0),
		job ? (int64_t)job->nonce : INT64_C(0), born, (int64_t)max);
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_log_entry deed = {
			.at = get_int(stmt, 0),
			.nonce = (uint64_t)get_int(stmt, 1),
			.job_id = (uint32_t)get_int(stmt, 2),
			.event = get_text(stmt, 3),
			.actor = get_text(stmt, 4),
			.reason = get_text(stmt, 5),
		};

		fn(arg, &deed);
	}
	return rc;
}

int egs_store_intent_add(struct egs_store *store, struct egs_intent *i,
			 struct egs_err *err)
{
	if (egs_sql_run(store,
			egs_sql_bind(store, SQL_INTENT_PUT, err, "iiiiss",
				     i->at, (int64_t)i->nonce,
				     (int64_t)i->job_id, (int64_t)i->restarts,
				     i->action, i->reason),
			err) < 0)
		return -1;
	i->id = (uint64_t)sqlite3_last_insert_rowid(store->db);
	return 0;
}

int egs_store_intent_done(struct egs_store *store, uint64_t id, const char *how,
			  egs_time_t now, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_INTENT_DONE, err, "sii", how,
					now, (int64_t)id),
			   err);
}

int egs_store_intent_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_intent *intent),
			  void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_INTENTS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_intent intent = {
			.id = (uint64_t)get_int(stmt, 0),
			.at = get_int(stmt, 1),
			.nonce = (uint64_t)get_int(stmt, 2),
			.job_id = (uint32_t)get_int(stmt, 3),
			.restarts = (uint32_t)get_int(stmt, 4),
			.action = get_text(stmt, 5),
			.reason = get_text(stmt, 6),
		};

		fn(arg, &intent);
	}
	return rc;
}

int egs_store_usage_save(struct egs_store *store,
			 const struct egs_saved_usage *u, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_USAGE_PUT, err, "siii",
					u->team, (int64_t)u->tally.units,
					u->tally.at, (int64_t)u->tally.gpu_s),
			   err);
}

int egs_store_usage_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_usage *usage),
			 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_USAGES, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_saved_usage usage = {
			.team = get_text(stmt, 0),
			.tally = { .units = (uint64_t)get_int(stmt, 1),
				   .at = get_int(stmt, 2),
				   .gpu_s = (uint64_t)get_int(stmt, 3) },
		};

		fn(arg, &usage);
	}
	return rc;
}

int egs_store_meter_save(struct egs_store *store,
			 const struct egs_saved_meter *m, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_METER_PUT, err, "sssii",
					m->team, m->workload, m->phase,
					m->tally.at, (int64_t)m->tally.gpu_s),
			   err);
}

int egs_store_meter_each(struct egs_store *store,
			 void (*fn)(void *arg,
				    const struct egs_saved_meter *meter),
			 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_METERS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_saved_meter meter = {
			.team = get_text(stmt, 0),
			.workload = get_text(stmt, 1),
			.phase = get_text(stmt, 2),
			.tally = { .at = get_int(stmt, 3),
				   .gpu_s = (uint64_t)get_int(stmt, 4) },
		};

		fn(arg, &meter);
	}
	return rc;
}

int egs_store_prune(struct egs_store *store, egs_time_t before,
		    struct egs_err *err)
{
	if (egs_sql_run(store,
			egs_sql_bind(store, SQL_PRUNE_LOG, err, "i", before),
			err) < 0 ||
	    egs_sql_run(store,
			egs_sql_bind(store, SQL_PRUNE_PREEMPTIONS, err, "i",
				     before),
			err) < 0)
		return -1;
	return egs_sql_run(
		store, egs_sql_bind(store, SQL_PRUNE_INTENTS, err, "i", before),
		err);
}
