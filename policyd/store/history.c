/* history.c - who held what and when, on disk */
#include "policyd/store/history.h"
#include "policyd/store/store_sql.h"

static int64_t number(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_int64(stmt, column);
}

static const char *text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

/* The first number a bound statement gives, 'none' if it gives none. */
static int one(struct egs_store *store, sqlite3_stmt *stmt, int64_t none,
	       int64_t *value, struct egs_err *err)
{
	int rc = -1;

	*value = none;
	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0)
		*value = number(stmt, 0);
	return rc;
}

static sqlite3_stmt *bind_kind(struct egs_store *store, enum egs_sql sql,
			       const struct egs_kind *k, struct egs_err *err)
{
	return egs_sql_bind(store, sql, err, "ssssssssss", k->user, k->account,
			    k->team, k->workload, k->phase, k->tier,
			    k->partition, k->qos, k->type, k->loan);
}

int egs_history_kind(struct egs_store *store, const struct egs_kind *kind,
		     int64_t *id, struct egs_err *err)
{
	if (one(store, bind_kind(store, SQL_KIND, kind, err), 0, id, err) < 0)
		return -1;
	if (*id)
		return 0;
	if (egs_sql_run(store, bind_kind(store, SQL_KIND_PUT, kind, err), err) <
	    0)
		return -1;
	*id = sqlite3_last_insert_rowid(store->db);
	return 0;
}

int egs_history_run(struct egs_store *store, const struct egs_run *r,
		    const struct egs_kind *kind, int64_t *id,
		    struct egs_err *err)
{
	int64_t kind_of;

	if (egs_history_kind(store, kind, &kind_of, err) < 0)
		return -1;
	return one(store,
		   egs_sql_bind(store, SQL_RUN_PUT, err, "iiiiiiiiiiisssiii",
				(int64_t)r->job_id, (int64_t)r->restarts,
				r->start, r->end, (int64_t)r->array_job_id,
				(int64_t)r->task, (int64_t)r->uid,
				(int64_t)r->nonce, (int64_t)r->gpus, r->submit,
				r->eligible, r->name, r->how, r->cause,
				(int64_t)r->guess, kind_of, (int64_t)r->helps),
		   0, id, err);
}

static int find_run(struct egs_store *store, enum egs_sql sql,
		    const struct egs_run *r, struct egs_err *err)
{
	int64_t n;

	if (one(store,
		egs_sql_bind(store, sql, err, "ii", (int64_t)r->job_id,
			     r->start),
		0, &n, err) < 0)
		return -1;
	return n > 0;
}

int egs_history_known(struct egs_store *store, const struct egs_run *r,
		      struct egs_err *err)
{
	return find_run(store, SQL_RUN_KNOWN, r, err);
}

int egs_history_over(struct egs_store *store, const struct egs_run *r,
		     struct egs_err *err)
{
	return find_run(store, SQL_RUN_OVER, r, err);
}

/* Where the piece of 'size' that 'at' is in ends. */
static egs_time_t piece_end(egs_time_t at, egs_time_t end, egs_time_t size)
{
	egs_time_t next = at - at % size + size;

	return next < end ? next : end;
}

/* 'runs' is 1 for a span with which the attempt became what it is. */
static int add_roll(struct egs_store *store, int64_t kind,
		    const struct egs_span *s, int64_t size, int64_t runs,
		    struct egs_err *err)
{
	egs_time_t at, end;

	for (at = s->start; at < s->end; at = end) {
		int64_t gpu_s, cpu_s, mem_mb_s;

		end = piece_end(at, s->end, size);
		gpu_s = (int64_t)s->gpus * (end - at);
		cpu_s = (int64_t)s->cpus * (end - at);
		mem_mb_s = (int64_t)s->mem_mb * (end - at);
		if (egs_sql_run(store,
				egs_sql_bind(store, SQL_ROLL_ADD, err,
					     "iiiiiiiiiii", size,
					     at - at % size, kind,
					     s->suspended ? 0 : gpu_s,
					     s->suspended ? 0 : cpu_s,
					     s->suspended ? 0 : mem_mb_s,
					     s->suspended ? gpu_s : 0,
					     at == s->start ? runs : 0, at, end,
					     (int64_t)s->gpus),
				err) < 0)
			return -1;
	}
	return 0;
}

static int put_span(struct egs_store *store, int64_t run, int64_t kind,
		    const struct egs_span *s, struct egs_err *err)
{
	egs_time_t at, end;

	for (at = s->start; at < s->end; at = end) {
		end = piece_end(at, s->end, EGS_DAY_S);
		if (egs_sql_run(store,
				egs_sql_bind(store, SQL_SPAN_PUT, err,
					     "iiiiiiiii", at, end, run, kind,
					     (int64_t)s->gpus, (int64_t)s->cpus,
					     (int64_t)s->mem_mb,
					     (int64_t)s->nodes,
					     (int64_t)s->suspended),
				err) < 0)
			return -1;
	}
	return 0;
}

int egs_history_span(struct egs_store *store, int64_t run,
		     const struct egs_kind *kind, const struct egs_span *s,
		     struct egs_err *err)
{
	int64_t gpu_s = (int64_t)s->gpus * (s->end - s->start);
	int64_t cpu_s = (int64_t)s->cpus * (s->end - s->start);
	int64_t id, alike;

	if (egs_history_kind(store, kind, &id, err) < 0 ||
	    one(store, egs_sql_bind(store, SQL_SPAN_ALIKE, err, "ii", run, id),
		0, &alike, err) < 0 ||
	    put_span(store, run, id, s, err) < 0 ||
	    add_roll(store, id, s, EGS_HOUR_S, !alike, err) < 0 ||
	    add_roll(store, id, s, EGS_DAY_S, !alike, err) < 0)
		return -1;
	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_RUN_ADD, err, "iiii",
			     s->suspended ? 0 : gpu_s, s->suspended ? 0 : cpu_s,
			     s->suspended && s->nodes ? s->end - s->start : 0,
			     run),
		err);
}

int egs_history_close(struct egs_store *store, int64_t run, struct egs_err *err)
{
	return egs_sql_run(
		store, egs_sql_bind(store, SQL_OPEN_DROP, err, "i", run), err);
}

int egs_history_open(struct egs_store *store, int64_t run,
		     const struct egs_open *o, struct egs_err *err)
{
	const struct egs_span *s = &o->span;
	int64_t id;

	if (egs_history_kind(store, &o->kind, &id, err) < 0)
		return -1;
	return egs_sql_run(store,
			   egs_sql_bind(store, SQL_OPEN_PUT, err, "iiiiiiiii",
					run, id, s->start, o->idle_s,
					(int64_t)s->gpus, (int64_t)s->cpus,
					(int64_t)s->mem_mb, (int64_t)s->nodes,
					(int64_t)s->suspended),
			   err);
}

static struct egs_open read_open(sqlite3_stmt *stmt)
{
	return (struct egs_open){
		.run = { .job_id = (uint32_t)number(stmt, 0),
			 .restarts = (uint32_t)number(stmt, 1),
			 .start = number(stmt, 2),
			 .array_job_id = (uint32_t)number(stmt, 3),
			 .task = (uint32_t)number(stmt, 4),
			 .uid = (uint32_t)number(stmt, 5),
			 .nonce = (uint64_t)number(stmt, 6),
			 .gpus = (uint32_t)number(stmt, 7),
			 .submit = number(stmt, 8),
			 .eligible = number(stmt, 9),
			 .name = text(stmt, 10),
			 .cause = text(stmt, 11),
			 .helps = (uint32_t)number(stmt, 29) },
		.kind = { text(stmt, 12), text(stmt, 13), text(stmt, 14),
			  text(stmt, 15), text(stmt, 16), text(stmt, 17),
			  text(stmt, 18), text(stmt, 19), text(stmt, 20),
			  text(stmt, 21) },
		.span = { .start = number(stmt, 22),
			  .gpus = (uint32_t)number(stmt, 24),
			  .cpus = (uint32_t)number(stmt, 25),
			  .mem_mb = (uint64_t)number(stmt, 26),
			  .nodes = (uint32_t)number(stmt, 27),
			  .suspended = number(stmt, 28) },
		.idle_s = number(stmt, 23),
	};
}

int egs_history_opens(struct egs_store *store,
		      void (*fn)(void *arg, const struct egs_open *open),
		      void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_OPENS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_row(store, stmt, err)) > 0) {
		struct egs_open open = read_open(stmt);

		fn(arg, &open);
	}
	return rc;
}

static int tally_pieces(struct egs_store *store, const char *scope,
			const char *metric, const egs_time_t when[2],
			uint64_t level, int64_t size, struct egs_err *err)
{
	egs_time_t at, end;

	for (at = when[0]; at < when[1]; at = end) {
		end = piece_end(at, when[1], size);
		if (egs_sql_run(store,
				egs_sql_bind(store, SQL_TALLY_ADD, err, "iissi",
					     size, at - at % size, scope,
					     metric,
					     (int64_t)level * (end - at)),
				err) < 0)
			return -1;
	}
	return 0;
}

int egs_history_tally(struct egs_store *store, const char *scope,
		      const char *metric, egs_time_t start, egs_time_t end,
		      uint64_t level, struct egs_err *err)
{
	const egs_time_t when[2] = { start, end };

	if (!level)
		return 0;
	if (tally_pieces(store, scope, metric, when, level, EGS_HOUR_S, err) <
	    0)
		return -1;
	return tally_pieces(store, scope, metric, when, level, EGS_DAY_S, err);
}

int egs_history_prune(struct egs_store *store, egs_time_t before,
		      struct egs_err *err)
{
	int sql;

	for (sql = SQL_PRUNE_FIRST; sql <= SQL_PRUNE_LAST; sql++)
		if (egs_sql_run(store,
				egs_sql_bind(store, (enum egs_sql)sql, err, "i",
					     before),
				err) < 0)
			return -1;
	return 0;
}
