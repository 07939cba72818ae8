/* history.c - which job held which GPUs and when, on disk */
#include "policyd/store/history.h"
#include "common/base/array.h"
#include "policyd/store/store_sql.h"
#include "policyd/store/wait_classes.h"

int egs_history_kind_id(struct egs_store *store,
			const struct egs_usage_kind *kind, int64_t *id,
			struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind_row(
		store,
		"SELECT id FROM kind WHERE user=? AND account=? AND team=? AND"
		" workload=? AND phase=? AND tier=? AND partition=? AND qos=?"
		" AND type=? AND loan=?",
		EGS_TABLE_KIND, kind, err);

	if (egs_sql_read_int(store, stmt, id, err) < 0)
		return -1;
	if (*id)
		return 0;
	if (egs_sql_run_row(store, "INSERT OR IGNORE INTO #kind",
			    EGS_TABLE_KIND, kind, err) < 0)
		return -1;
	*id = sqlite3_last_insert_rowid(store->db);
	return 0;
}

/* Number of the attempt that a helper job queues for. */
static int find_helped_run(struct egs_store *store, uint32_t job_id,
			   int64_t *id, struct egs_err *err)
{
	sqlite3_stmt *stmt;

	*id = 0;
	if (!job_id)
		return 0;
	stmt = egs_sql_bind(store,
			    "SELECT id FROM run WHERE job_id=?"
			    " ORDER BY start DESC LIMIT 1",
			    err, "i", (int64_t)job_id);
	return egs_sql_read_int(store, stmt, id, err);
}

int egs_history_run_save(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind, int64_t *id,
			 struct egs_err *err)
{
	static const char sql[] =
		"INSERT INTO #run ON CONFLICT (job_id, restarts, start) DO"
		" UPDATE SET end=excluded.end, end_state=excluded.end_state,"
		" end_guessed=excluded.end_guessed,"
		" gpus=max(gpus, excluded.gpus) RETURNING id";
	struct egs_run_row row = { .run = *run };

	if (egs_history_kind_id(store, kind, &row.kind, err) < 0 ||
	    find_helped_run(store, run->helper_for, &row.helped_run, err) < 0)
		return -1;
	return egs_sql_read_int(
		store, egs_sql_bind_row(store, sql, EGS_TABLE_RUN, &row, err),
		id, err);
}

static int has_run(struct egs_store *store, const char *sql,
		   const struct egs_job_run *r, struct egs_err *err)
{
	int64_t n;

	if (egs_sql_read_int(store,
			     egs_sql_bind(store, sql, err, "ii",
					  (int64_t)r->job_id, r->start),
			     &n, err) < 0)
		return -1;
	return n > 0;
}

int egs_history_run_is_known(struct egs_store *store,
			     const struct egs_job_run *r, struct egs_err *err)
{
	return has_run(store,
		       "SELECT count(*) FROM run WHERE job_id=?1 AND start<=?2"
		       " AND (start=?2 OR end>?2 OR end=0)",
		       r, err);
}

int egs_history_run_has_ended(struct egs_store *store,
			      const struct egs_job_run *r, struct egs_err *err)
{
	return has_run(store,
		       "SELECT count(*) FROM run WHERE job_id=? AND start=?"
		       " AND end>0",
		       r, err);
}

int egs_history_run_last(struct egs_store *store, uint32_t job_id,
			 uint32_t task,
			 void (*fn)(void *arg, const struct egs_job_run *run,
				    int64_t gpu_s),
			 void *arg, struct egs_err *err)
{
	const bool is_task = task != EGS_NO_TASK;
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		is_task ? "SELECT $run FROM run WHERE array_job_id=?1 AND"
			  " task=?2 ORDER BY start DESC LIMIT 1"
			: "SELECT $run FROM run WHERE job_id=?1 AND ?2>=0"
			  " ORDER BY start DESC LIMIT 1",
		err, "ii", (int64_t)job_id, (int64_t)task);
	struct egs_run_row row;
	int found = 0, rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_RUN, &row, err)) >
	       0) {
		fn(arg, &row.run, row.gpu_s);
		found = 1;
	}
	return rc < 0 ? -1 : found;
}

/* End of the hour or day that 'at' is in, or 'end' if that is earlier. */
static egs_time_t find_piece_end(egs_time_t at, egs_time_t end,
				 egs_time_t bucket_s)
{
	egs_time_t next = at - at % bucket_s + bucket_s;

	return next < end ? next : end;
}

/* What a span adds to sums.  'runs' is 1 for the first span of an attempt with
 * this workload, phase, tier and type; 'sign' is -1 to subtract.
 */
struct sum_change {
	struct egs_span_row row;
	int64_t runs, sign;
};

static int add_rollup(struct egs_store *store, const struct sum_change *change,
		      int64_t bucket_s, struct egs_err *err)
{
	static const char sql[] =
		"INSERT INTO #rollup ON CONFLICT (bucket_s, at, kind) DO UPDATE"
		" SET runs=runs+excluded.runs, first=min(first, "
		"excluded.first),"
		" last=max(last, excluded.last), gpus=max(gpus, excluded.gpus),"
		" gpu_s=gpu_s+excluded.gpu_s, cpu_s=cpu_s+excluded.cpu_s,"
		" mem_mb_s=mem_mb_s+excluded.mem_mb_s,"
		" suspended_s=suspended_s+excluded.suspended_s";
	const struct egs_span *s = &change->row.span;
	const int64_t running = s->suspended ? 0 : change->sign;
	const int64_t suspended = s->suspended ? change->sign : 0;
	egs_time_t end;

	for (egs_time_t at = s->start; at < s->end; at = end) {
		struct egs_rollup_row row = {
			.bucket_s = bucket_s,
			.at = at - at % bucket_s,
			.kind = change->row.kind,
			.runs = at == s->start ? change->runs : 0,
			.first = at,
			.gpus = s->gpus,
		};

		end = find_piece_end(at, s->end, bucket_s);
		row.last = end;
		row.gpu_s = running * s->gpus * (end - at);
		row.cpu_s = running * s->cpus * (end - at);
		row.mem_mb_s = running * (int64_t)s->mem_mb * (end - at);
		row.suspended_s = suspended * s->gpus * (end - at);
		if (egs_sql_run_row(store, sql, EGS_TABLE_ROLLUP, &row, err) <
		    0)
			return -1;
	}
	return 0;
}

static int add_sums(struct egs_store *store, const struct sum_change *change,
		    struct egs_err *err)
{
	const struct egs_span *s = &change->row.span;
	const int64_t held_s = change->sign * (s->end - s->start);
	const int64_t run_s = s->suspended ? 0 : held_s;

	if (add_rollup(store, change, EGS_HOUR_S, err) < 0 ||
	    add_rollup(store, change, EGS_DAY_S, err) < 0)
		return -1;
	return egs_sql_run(store,
			   "UPDATE run SET gpu_s=gpu_s+?, cpu_s=cpu_s+?,"
			   " suspended_s=suspended_s+? WHERE id=?",
			   err, "iiii", s->gpus * run_s, s->cpus * run_s,
			   s->suspended && s->nodes ? held_s : 0,
			   change->row.run);
}

static int add_day_spans(struct egs_store *store, struct egs_span_row row,
			 struct egs_err *err)
{
	const struct egs_span whole = row.span, *s = &whole;

	for (egs_time_t at = s->start; at < s->end; at = row.span.end) {
		row.span.start = at;
		row.span.end = find_piece_end(at, s->end, EGS_DAY_S);
		if (egs_sql_run_row(store, "INSERT INTO #span", EGS_TABLE_SPAN,
				    &row, err) < 0)
			return -1;
	}
	return 0;
}

/* Had attempt 'run' a span with the workload, phase, tier and type of 'kind'?
 * A helper job is never counted as an attempt, so its answer is yes.
 */
static int has_same_kind(struct egs_store *store, int64_t run, int64_t kind,
			 int64_t *same, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT count(*) FROM span s JOIN kind k ON k.id=s.kind"
		" JOIN kind n ON n.id=?2 AND n.workload=k.workload AND"
		" n.phase=k.phase AND n.tier=k.tier AND n.type=k.type"
		" WHERE s.run=?1 UNION ALL SELECT helped_run FROM run"
		" WHERE id=?1 AND helped_run>0",
		err, "ii", run, kind);

	return egs_sql_read_int(store, stmt, same, err);
}

int egs_history_span_add(struct egs_store *store, int64_t run,
			 const struct egs_usage_kind *kind,
			 const struct egs_span *s, struct egs_err *err)
{
	struct sum_change change = { .row = { *s, run, 0 }, .sign = 1 };
	int64_t same_kind;

	if (egs_history_kind_id(store, kind, &change.row.kind, err) < 0 ||
	    has_same_kind(store, run, change.row.kind, &same_kind, err) < 0 ||
	    add_day_spans(store, change.row, err) < 0)
		return -1;
	change.runs = !same_kind;
	return add_sums(store, &change, err);
}

/* A span of attempt 'run' that ends after 'end'.  Returns 1; 0: none. */
static int find_late_span(struct egs_store *store, int64_t run, egs_time_t end,
			  struct egs_span_row *row, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store,
			     "SELECT $span FROM span WHERE run=? AND end>?"
			     " ORDER BY id DESC LIMIT 1",
			     err, "ii", run, end);
	int found = 0, rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_SPAN, row, err)) >
	       0)
		found = 1;
	return rc < 0 ? -1 : found;
}

/* Replace the span that find_late_span() found by its part before 'end'. */
static int cut_late_span(struct egs_store *store,
			 const struct egs_span_row *row, egs_time_t end,
			 struct egs_err *err)
{
	struct sum_change late = { .row = *row, .sign = -1 };
	struct egs_span_row kept = *row;

	if (late.row.span.start < end)
		late.row.span.start = end;
	kept.span.end = end;
	if (egs_sql_run(store,
			"DELETE FROM span WHERE id=(SELECT max(id) FROM span"
			" WHERE run=? AND end>?)",
			err, "ii", row->run, end) < 0 ||
	    add_day_spans(store, kept, err) < 0)
		return -1;
	return add_sums(store, &late, err);
}

int egs_history_run_cut(struct egs_store *store, int64_t run, egs_time_t end,
			struct egs_err *err)
{
	struct egs_span_row row;
	int rc;

	while ((rc = find_late_span(store, run, end, &row, err)) > 0)
		if (cut_late_span(store, &row, end, err) < 0)
			return -1;
	return rc;
}

int egs_history_open_clear(struct egs_store *store, int64_t run,
			   struct egs_err *err)
{
	return egs_sql_run(store, "DELETE FROM open_span WHERE run=?", err, "i",
			   run);
}

int egs_history_open_add(struct egs_store *store, int64_t run,
			 const struct egs_open_span *o, struct egs_err *err)
{
	struct egs_open_span_row row = { .span = o->span,
					 .run = run,
					 .suspended_s = o->suspended_s };

	if (egs_history_kind_id(store, &o->kind, &row.kind, err) < 0)
		return -1;
	return egs_sql_run_row(store, "INSERT OR REPLACE INTO #open_span",
			       EGS_TABLE_OPEN_SPAN, &row, err);
}

static struct egs_open_span read_open_span(sqlite3_stmt *stmt)
{
	struct egs_open_span_row row = { .run = 0 };
	struct egs_run_row run_row;
	struct egs_open_span open = { .suspended_s = 0 };
	int column = egs_sql_read_row(stmt, 0, EGS_TABLE_OPEN_SPAN, &row);

	column = egs_sql_read_row(stmt, column, EGS_TABLE_RUN, &run_row);
	egs_sql_read_row(stmt, column, EGS_TABLE_KIND, &open.kind);
	open.span = row.span;
	open.suspended_s = row.suspended_s;
	open.run = run_row.run;
	open.run.end = 0;
	open.run.end_guessed = false;
	return open;
}

int egs_history_open_each(struct egs_store *store,
			  void (*fn)(void *arg,
				     const struct egs_open_span *open),
			  void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT $open_span, $run, $kind FROM open_span JOIN"
		" run ON run.id=open_span.run JOIN kind ON"
		" kind.id=open_span.kind ORDER BY open_span.run,"
		" open_span.cpus DESC, open_span.kind",
		err, "");
	int rc;

	while ((rc = egs_sql_step(store, stmt, err)) > 0) {
		struct egs_open_span open = read_open_span(stmt);

		fn(arg, &open);
	}
	return rc;
}

static int count_wait(struct egs_store *store, struct egs_wait_row row,
		      uint32_t class, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind_row(
		store,
		"SELECT classes FROM wait WHERE bucket_s=:bucket_s"
		" AND at=:at AND kind=:kind",
		EGS_TABLE_WAIT, &row, err);
	char text[EGS_WAIT_TEXT_SIZE];
	int rc;

	egs_wait_class_count("", class, text);
	while ((rc = egs_sql_step(store, stmt, err)) > 0)
		egs_wait_class_count((const char *)sqlite3_column_text(stmt, 0),
				     class, text);
	row.classes = text;
	return rc < 0 ? -1
		      : egs_sql_run_row(store, "INSERT OR REPLACE INTO #wait",
					EGS_TABLE_WAIT, &row, err);
}

int egs_history_wait_add(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind, struct egs_err *err)
{
	static const char sql[] =
		"INSERT INTO #wait_reason ON CONFLICT (bucket_s, at, kind,"
		" reason) DO UPDATE SET starts=starts+excluded.starts,"
		" wait_s=wait_s+excluded.wait_s";
	static const int64_t sizes[] = { EGS_DAY_S, EGS_DAYS8_S, EGS_DAYS64_S };
	egs_time_t from =
		run->eligible > run->submit ? run->eligible : run->submit;
	int64_t wait_s = run->start > from ? run->start - from : 0, id;
	uint32_t class = egs_wait_class_of((uint64_t)wait_s);

	if (egs_history_kind_id(store, kind, &id, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const int64_t at = run->start - run->start % sizes[i];
		const struct egs_wait_row wait = { sizes[i], at, id, NULL };
		const struct egs_wait_reason_row reason = {
			sizes[i], at, id, run->wait_reason, 1, wait_s
		};

		if (count_wait(store, wait, class, err) < 0 ||
		    egs_sql_run_row(store, sql, EGS_TABLE_WAIT_REASON, &reason,
				    err) < 0)
			return -1;
	}
	return 0;
}

int egs_history_tally_add(struct egs_store *store, const char *scope,
			  const char *metric, egs_time_t start, egs_time_t end,
			  uint64_t level, struct egs_err *err)
{
	static const char sql[] =
		"INSERT INTO #tally ON CONFLICT (bucket_s, at, scope, metric)"
		" DO UPDATE SET amount=amount+excluded.amount";
	static const int64_t sizes[] = { EGS_HOUR_S, EGS_DAY_S };

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && level; i++) {
		egs_time_t next;

		for (egs_time_t at = start; at < end; at = next) {
			struct egs_tally_row row = {
				.bucket_s = sizes[i],
				.at = at - at % sizes[i],
				.scope = scope,
				.metric = metric,
			};

			next = find_piece_end(at, end, sizes[i]);
			row.amount = (int64_t)level * (next - at);
			if (egs_sql_run_row(store, sql, EGS_TABLE_TALLY, &row,
					    err) < 0)
				return -1;
		}
	}
	return 0;
}

#define OF_BUCKET " WHERE bucket_s=?2 AND at<?1-"

int egs_history_prune(struct egs_store *store, egs_time_t before,
		      struct egs_err *err)
{
	static const char rollups[] = "DELETE FROM rollup" OF_BUCKET "?2";
	static const char tallies[] = "DELETE FROM tally" OF_BUCKET "86400";
	static const char waits[] = "DELETE FROM wait" OF_BUCKET "?2";
	static const char reasons[] = "DELETE FROM wait_reason" OF_BUCKET "?2";
	static const char gpus[] = "DELETE FROM gpu_rollup" OF_BUCKET "?2";
	static const struct {
		const char *sql;
		int64_t bucket_s;
	} buckets[] = { { rollups, EGS_HOUR_S },  { rollups, EGS_DAY_S },
			{ tallies, EGS_HOUR_S },  { tallies, EGS_DAY_S },
			{ waits, EGS_DAY_S },	  { waits, EGS_DAYS8_S },
			{ waits, EGS_DAYS64_S },  { reasons, EGS_DAY_S },
			{ reasons, EGS_DAYS8_S }, { reasons, EGS_DAYS64_S },
			{ gpus, EGS_HOUR_S },	  { gpus, EGS_DAY_S } };

	if (egs_sql_run(store,
			"DELETE FROM span WHERE id IN (SELECT id FROM span"
			" WHERE start<?1-86400 AND end<?1 LIMIT 5000)",
			err, "i", before) < 0 ||
	    egs_sql_run(store,
			"DELETE FROM run WHERE id IN (SELECT id FROM run"
			" WHERE end<?1 AND end>0 LIMIT 5000)",
			err, "i", before) < 0 ||
	    egs_sql_run(store,
			"DELETE FROM gpu_use WHERE (job_id, restarts, start,"
			" node, gpu) IN (SELECT job_id, restarts, start, node,"
			" gpu FROM gpu_use WHERE at<?1 LIMIT 5000)",
			err, "i", before) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
		if (egs_sql_run(store, buckets[i].sql, err, "ii", before,
				buckets[i].bucket_s) < 0)
			return -1;
	return 0;
}
