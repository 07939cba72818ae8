/* history.c - who held what and when, on disk */
#include "policyd/store/history.h"
#include "policyd/store/store_sql.h"

static int64_t get_int(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_int64(stmt, column);
}

static const char *get_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

/* The first number a bound statement gives, 'none' if it gives none. */
static int read_first_int(struct egs_store *store, sqlite3_stmt *stmt,
			  int64_t none, int64_t *value, struct egs_err *err)
{
	int rc = -1;

	*value = none;
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		*value = get_int(stmt, 0);
	return rc;
}

static sqlite3_stmt *bind_kind(struct egs_store *store, enum egs_sql sql,
			       const struct egs_usage_kind *k,
			       struct egs_err *err)
{
	return egs_sql_bind(store, sql, err, "ssssssssss", k->user, k->account,
			    k->team, k->workload, k->phase, k->tier,
			    k->partition, k->qos, k->type, k->loan);
}

int egs_history_kind_id(struct egs_store *store,
			const struct egs_usage_kind *kind, int64_t *id,
			struct egs_err *err)
{
	if (read_first_int(store, bind_kind(store, SQL_KIND, kind, err), 0, id,
			   err) < 0)
		return -1;
	if (*id)
		return 0;
	if (egs_sql_run(store, bind_kind(store, SQL_KIND_PUT, kind, err), err) <
	    0)
		return -1;
	*id = sqlite3_last_insert_rowid(store->db);
	return 0;
}

int egs_history_run_save(struct egs_store *store, const struct egs_job_run *r,
			 const struct egs_usage_kind *kind, int64_t *id,
			 struct egs_err *err)
{
	int64_t kind_of;

	if (egs_history_kind_id(store, kind, &kind_of, err) < 0)
		return -1;
	return read_first_int(
		store,
		egs_sql_bind(store, SQL_RUN_PUT, err, "iiiiiiiiiiisssiii",
			     (int64_t)r->job_id, (int64_t)r->restarts, r->start,
			     r->end, (int64_t)r->array_job_id, (int64_t)r->task,
			     (int64_t)r->uid, (int64_t)r->nonce,
			     (int64_t)r->gpus, r->submit, r->eligible, r->name,
			     r->end_state, r->wait_reason,
			     (int64_t)r->end_guessed, kind_of,
			     (int64_t)r->helper_for),
		0, id, err);
}

static int has_run(struct egs_store *store, enum egs_sql sql,
		   const struct egs_job_run *r, struct egs_err *err)
{
	int64_t n;

	if (read_first_int(store,
			   egs_sql_bind(store, sql, err, "ii",
					(int64_t)r->job_id, r->start),
			   0, &n, err) < 0)
		return -1;
	return n > 0;
}

int egs_history_run_is_known(struct egs_store *store,
			     const struct egs_job_run *r, struct egs_err *err)
{
	return has_run(store, SQL_RUN_IS_KNOWN, r, err);
}

int egs_history_run_has_ended(struct egs_store *store,
			      const struct egs_job_run *r, struct egs_err *err)
{
	return has_run(store, SQL_RUN_HAS_ENDED, r, err);
}

/* Where the piece of 'size' that 'at' is in ends. */
static egs_time_t piece_end(egs_time_t at, egs_time_t end, egs_time_t size)
{
	egs_time_t next = at - at % size + size;

	return next < end ? next : end;
}

/* 'runs' is 1 for a span with which the attempt became what it is. */
static int add_rollup(struct egs_store *store, int64_t kind,
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
				egs_sql_bind(store, SQL_ROLLUP_ADD, err,
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

static int add_day_spans(struct egs_store *store, int64_t run, int64_t kind,
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

int egs_history_span_add(struct egs_store *store, int64_t run,
			 const struct egs_usage_kind *kind,
			 const struct egs_span *s, struct egs_err *err)
{
	int64_t gpu_s = (int64_t)s->gpus * (s->end - s->start);
	int64_t cpu_s = (int64_t)s->cpus * (s->end - s->start);
	int64_t id, alike;

	if (egs_history_kind_id(store, kind, &id, err) < 0 ||
	    read_first_int(
		    store,
		    egs_sql_bind(store, SQL_SPAN_SAME_KIND, err, "ii", run, id),
		    0, &alike, err) < 0 ||
	    add_day_spans(store, run, id, s, err) < 0 ||
	    add_rollup(store, id, s, EGS_HOUR_S, !alike, err) < 0 ||
	    add_rollup(store, id, s, EGS_DAY_S, !alike, err) < 0)
		return -1;
	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_RUN_ADD_USAGE, err, "iiii",
			     s->suspended ? 0 : gpu_s, s->suspended ? 0 : cpu_s,
			     s->suspended && s->nodes ? s->end - s->start : 0,
			     run),
		err);
}

int egs_history_open_clear(struct egs_store *store, int64_t run,
			   struct egs_err *err)
{
	return egs_sql_run(
		store, egs_sql_bind(store, SQL_OPEN_SPAN_DROP, err, "i", run),
		err);
}

int egs_history_open_add(struct egs_store *store, int64_t run,
			 const struct egs_open_span *o, struct egs_err *err)
{
	const struct egs_span *s = &o->span;
	int64_t id;

	if (egs_history_kind_id(store, &o->kind, &id, err) < 0)
		return -1;
	return egs_sql_run(
		store,
		egs_sql_bind(store, SQL_OPEN_SPAN_PUT, err, "iiiiiiiii", run,
			     id, s->start, o->suspended_s, (int64_t)s->gpus,
			     (int64_t)s->cpus, (int64_t)s->mem_mb,
			     (int64_t)s->nodes, (int64_t)s->suspended),
		err);
}

static struct egs_open_span read_open_span(sqlite3_stmt *stmt)
{
	return (struct egs_open_span){
		.run = { .job_id = (uint32_t)get_int(stmt, 0),
			 .restarts = (uint32_t)get_int(stmt, 1),
			 .start = get_int(stmt, 2),
			 .array_job_id = (uint32_t)get_int(stmt, 3),
			 .task = (uint32_t)get_int(stmt, 4),
			 .uid = (uint32_t)get_int(stmt, 5),
			 .nonce = (uint64_t)get_int(stmt, 6),
			 .gpus = (uint32_t)get_int(stmt, 7),
			 .submit = get_int(stmt, 8),
			 .eligible = get_int(stmt, 9),
			 .name = get_text(stmt, 10),
			 .wait_reason = get_text(stmt, 11),
			 .helper_for = (uint32_t)get_int(stmt, 29) },
		.kind = { get_text(stmt, 12), get_text(stmt, 13),
			  get_text(stmt, 14), get_text(stmt, 15),
			  get_text(stmt, 16), get_text(stmt, 17),
			  get_text(stmt, 18), get_text(stmt, 19),
			  get_text(stmt, 20), get_text(stmt, 21) },
		.span = { .start = get_int(stmt, 22),
			  .gpus = (uint32_t)get_int(stmt, 24),
			  .cpus = (uint32_t)get_int(stmt, 25),
			  .mem_mb = (uint64_t)get_int(stmt, 26),
			  .nodes = (uint32_t)get_int(stmt, 27),
			  .suspended = get_int(stmt, 28) },
		.suspended_s = get_int(stmt, 23),
	};
}

int egs_history_open_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_open_span *open),
			  void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(store, SQL_OPEN_SPANS, err, "");
	int rc = -1;

	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0) {
		struct egs_open_span open = read_open_span(stmt);

		fn(arg, &open);
	}
	return rc;
}

static int add_tally_pieces(struct egs_store *store, const char *scope,
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

int egs_history_tally_add(struct egs_store *store, const char *scope,
			  const char *metric, egs_time_t start, egs_time_t end,
			  uint64_t level, struct egs_err *err)
{
	const egs_time_t when[2] = { start, end };

	if (!level)
		return 0;
	if (add_tally_pieces(store, scope, metric, when, level, EGS_HOUR_S,
			     err) < 0)
		return -1;
	return add_tally_pieces(store, scope, metric, when, level, EGS_DAY_S,
				err);
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
