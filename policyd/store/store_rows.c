/* store_rows.c - the rows of the store, one pair of functions per table */
#include <stdio.h>
#include <string.h>

#include "policyd/store/store_sql.h"

static const char *text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

static int64_t number(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_int64(stmt, column);
}

/* Save times as one number, the oldest in the lowest 16 bits. */
static int64_t pack_saves(const struct egs_past *p)
{
	uint64_t saves = 0;
	int i;

	for (i = EGS_SAVES; i-- > 0;)
		saves = saves << 16 | p->save_s[i];
	return (int64_t)saves;
}

static void unpack_saves(int64_t packed, struct egs_past *p)
{
	int i;

	for (i = 0; i < EGS_SAVES; i++)
		p->save_s[i] = (uint16_t)((uint64_t)packed >> 16 * i);
}

int egs_store_job(struct egs_store *store, const struct egs_kept *k,
		  struct egs_err *err)
{
	const struct egs_ident *j = &k->job;
	const struct egs_past *p = &k->past;

	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_JOB_PUT, err,
			     "iiiiiiiiiiiiiiiissiiiiiiiiii", (int64_t)j->nonce,
			     (int64_t)j->job_id, (int64_t)j->uid,
			     (int64_t)j->task, (int64_t)j->het, j->submit,
			     (int64_t)j->restarts, p->queued_at, p->started,
			     p->saved_at, p->deadline, (int64_t)p->age_s,
			     (int64_t)p->preemptions, (int64_t)p->request,
			     p->budget_from, (int64_t)k->owned, k->phase,
			     k->tier, (int64_t)p->asked, (int64_t)p->asked_by,
			     p->loan_since, p->born, pack_saves(p), p->asked_at,
			     (int64_t)p->left, (int64_t)p->left_by,
			     (int64_t)p->finished, (int64_t)p->release),
		err);
}

static int drop(struct egs_store *store, enum egs_sql sql,
		const struct egs_ident *j, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, sql, err, "iiiii",
					(int64_t)j->nonce, (int64_t)j->job_id,
					(int64_t)j->uid, (int64_t)j->task,
					(int64_t)j->het),
			   err);
}

int egs_store_forget(struct egs_store *store, const struct egs_ident *j,
		     struct egs_err *err)
{
	if (drop(store, SQL_JOB_DROP, j, err) < 0 ||
	    drop(store, SQL_SAID_DROP, j, err) < 0)
		return -1;
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_ACK_DROP, err, "ii",
					(int64_t)j->job_id, (int64_t)j->nonce),
			   err);
}

/* Padding too: who compares two of them compares all bytes. */
static struct egs_kept read_job(sqlite3_stmt *stmt)
{
	struct egs_kept k;

	memset(&k, 0, sizeof(k));
	k.job.nonce = (uint64_t)number(stmt, 0);
	k.job.job_id = (uint32_t)number(stmt, 1);
	k.job.uid = (uint32_t)number(stmt, 2);
	k.job.task = (uint32_t)number(stmt, 3);
	k.job.het = (uint32_t)number(stmt, 4);
	k.job.submit = number(stmt, 5);
	k.job.restarts = (uint32_t)number(stmt, 6);
	k.past.restarts = (uint32_t)number(stmt, 6);
	k.past.queued_at = number(stmt, 7);
	k.past.started = number(stmt, 8);
	k.past.saved_at = number(stmt, 9);
	k.past.deadline = number(stmt, 10);
	k.past.age_s = (uint32_t)number(stmt, 11);
	k.past.preemptions = (uint32_t)number(stmt, 12);
	k.past.request = (uint32_t)number(stmt, 13);
	k.past.budget_from = number(stmt, 14);
	k.past.asked = number(stmt, 18);
	k.past.asked_by = (uint32_t)number(stmt, 19);
	k.past.loan_since = number(stmt, 20);
	k.past.born = number(stmt, 21);
	k.past.asked_at = number(stmt, 23);
	k.past.left = (uint32_t)number(stmt, 24);
	k.past.left_by = (uint32_t)number(stmt, 25);
	k.past.finished = number(stmt, 26);
	k.past.release = number(stmt, 27);
	k.owned = number(stmt, 15);
	unpack_saves(number(stmt, 22), &k.past);
	snprintf(k.phase, sizeof(k.phase), "%s", text(stmt, 16));
	snprintf(k.tier, sizeof(k.tier), "%s", text(stmt, 17));
	return k;
}

int egs_store_jobs(struct egs_store *store,
		   void (*fn)(void *arg, const struct egs_kept *kept),
		   void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_JOBS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_kept kept = read_job(stmt);

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
	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0)
		snprintf(value, size, "%s", text(stmt, 0));
	return rc;
}

int egs_store_deed(struct egs_store *store, const struct egs_deed *d,
		   struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_DEED_PUT, err, "iiisss",
					d->at, (int64_t)d->nonce,
					(int64_t)d->job_id, d->what, d->who,
					d->reason),
			   err);
}

int egs_store_deeds(struct egs_store *store, const struct egs_ident *job,
		    egs_time_t born, uint32_t max,
		    void (*fn)(void *arg, const struct egs_deed *deed),
		    void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store, SQL_DEEDS, err, "iiii",
		job ? (int64_t)job->job_id : INT64_C(0),
		job ? (int64_t)job->nonce : INT64_C(0), born, (int64_t)max);
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_deed deed = {
			.at = number(stmt, 0),
			.nonce = (uint64_t)number(stmt, 1),
			.job_id = (uint32_t)number(stmt, 2),
			.what = text(stmt, 3),
			.who = text(stmt, 4),
			.reason = text(stmt, 5),
		};

		fn(arg, &deed);
	}
	return rc;
}

int egs_store_intend(struct egs_store *store, struct egs_intent *i,
		     struct egs_err *err)
{
	if (egs_sql_run(store,
			egs_sql_bind(store, SQL_INTENT_PUT, err, "iiiiss",
				     i->at, (int64_t)i->nonce,
				     (int64_t)i->job_id, (int64_t)i->restarts,
				     i->what, i->reason),
			err) < 0)
		return -1;
	i->id = (uint64_t)sqlite3_last_insert_rowid(store->db);
	return 0;
}

int egs_store_settle(struct egs_store *store, uint64_t id, const char *how,
		     egs_time_t now, struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_INTENT_SETTLE, err, "sii",
					how, now, (int64_t)id),
			   err);
}

int egs_store_intents(struct egs_store *store,
		      void (*fn)(void *arg, const struct egs_intent *intent),
		      void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_INTENTS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_intent intent = {
			.id = (uint64_t)number(stmt, 0),
			.at = number(stmt, 1),
			.nonce = (uint64_t)number(stmt, 2),
			.job_id = (uint32_t)number(stmt, 3),
			.restarts = (uint32_t)number(stmt, 4),
			.what = text(stmt, 5),
			.reason = text(stmt, 6),
		};

		fn(arg, &intent);
	}
	return rc;
}

int egs_store_usage(struct egs_store *store, const struct egs_kept_usage *u,
		    struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_USAGE_PUT, err, "siii",
					u->team, (int64_t)u->tally.units,
					u->tally.at, (int64_t)u->tally.gpu_s),
			   err);
}

int egs_store_usages(struct egs_store *store,
		     void (*fn)(void *arg, const struct egs_kept_usage *usage),
		     void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_USAGES, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_kept_usage usage = {
			.team = text(stmt, 0),
			.tally = { .units = (uint64_t)number(stmt, 1),
				   .at = number(stmt, 2),
				   .gpu_s = (uint64_t)number(stmt, 3) },
		};

		fn(arg, &usage);
	}
	return rc;
}

int egs_store_meter(struct egs_store *store, const struct egs_kept_meter *m,
		    struct egs_err *err)
{
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_METER_PUT, err, "sssii",
					m->team, m->workload, m->phase,
					m->tally.at, (int64_t)m->tally.gpu_s),
			   err);
}

int egs_store_meters(struct egs_store *store,
		     void (*fn)(void *arg, const struct egs_kept_meter *meter),
		     void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_METERS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_kept_meter meter = {
			.team = text(stmt, 0),
			.workload = text(stmt, 1),
			.phase = text(stmt, 2),
			.tally = { .at = number(stmt, 3),
				   .gpu_s = (uint64_t)number(stmt, 4) },
		};

		fn(arg, &meter);
	}
	return rc;
}

int egs_store_prune(struct egs_store *store, egs_time_t before,
		    struct egs_err *err)
{
	if (egs_sql_run(store,
			egs_sql_bind(store, SQL_PRUNE_DEEDS, err, "i", before),
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
