/* store_tables.c - columns of each table, and how a file gets them
 *
 * A new table, column or index is made in an older file when it is opened.  A
 * change that needs more (a rename, other contents) raises the number of the
 * layout in store.c and converts older files there.
 */
#include <assert.h>
#include <stdint.h>

#include "common/base/array.h"
#include "policyd/store/remediation.h"
#include "policyd/store/store_sql.h"

#define MEMBER(row, path, name) (((row *)0)->path name)

/* Column 'name' is the member 'path name' of struct 'row': its type follows. */
#define TYPE(member) \
	_Generic(member, int64_t                                          \
		 : EGS_COLUMN_INT64, uint64_t                             \
		 : EGS_COLUMN_INT64, uint16_t *                           \
		 : EGS_COLUMN_INT64, uint32_t                             \
		 : EGS_COLUMN_UINT32, bool                                \
		 : EGS_COLUMN_BOOL, const char *                          \
		 : EGS_COLUMN_TEXT, char *                                \
		 : EGS_COLUMN_CHARS)
#define COLUMN(row, path, name)                           \
	{                                                 \
		":" #name, TYPE(MEMBER(row, path, name)), \
			offsetof(row, path name),         \
			sizeof(MEMBER(row, path, name))   \
	}

/* One to eight columns. */
#define C1(r, p, a)	 COLUMN(r, p, a)
#define C2(r, p, a, ...) COLUMN(r, p, a), C1(r, p, __VA_ARGS__)
#define C3(r, p, a, ...) COLUMN(r, p, a), C2(r, p, __VA_ARGS__)
#define C4(r, p, a, ...) COLUMN(r, p, a), C3(r, p, __VA_ARGS__)
#define C5(r, p, a, ...) COLUMN(r, p, a), C4(r, p, __VA_ARGS__)
#define C6(r, p, a, ...) COLUMN(r, p, a), C5(r, p, __VA_ARGS__)
#define C7(r, p, a, ...) COLUMN(r, p, a), C6(r, p, __VA_ARGS__)
#define C8(r, p, a, ...) COLUMN(r, p, a), C7(r, p, __VA_ARGS__)

#define NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define COLUMNS(r, p, ...)                                    \
	NINTH(__VA_ARGS__, C8, C7, C6, C5, C4, C3, C2, C1, 0) \
	(r, p, __VA_ARGS__)

/* A job is known by all of its identity but submit time and restarts. */
#define IDENTITY(row) \
	COLUMNS(row, job., job_id, nonce, uid, array_task, het_offset)
enum { IDENTITY_COLUMNS = 5 };

/* Save times are one number, as they lie in memory. */
static_assert(sizeof(((struct egs_job_history *)0)->save_s) == sizeof(int64_t),
	      "save times fill one column");

static const struct egs_column job[] = {
	IDENTITY(struct egs_saved_job),
	COLUMNS(struct egs_saved_job, job., submit, restarts),
	COLUMNS(struct egs_saved_job, history., first_submitted, queued_at,
		started, loan_since, saved_at, deadline, budget_from),
	COLUMNS(struct egs_saved_job, history., requested_at, waited_s,
		requester, request_no, preemptions, save_s),
	COLUMNS(struct egs_saved_job, history., departed_request, departed_for,
		preempting, finished, release_due, wish),
	COLUMNS(struct egs_saved_job, , owned, phase, tier),
	COLUMNS(struct egs_saved_job, history., enforced),
};

static const struct egs_column value[] = {
	COLUMNS(struct egs_value_row, , name, value),
};

static const struct egs_column log_entry[] = {
	COLUMNS(struct egs_log_entry, , at, nonce, job_id, event, actor, reason,
		reports),
};

static const struct egs_column intent[] = {
	COLUMNS(struct egs_intent, , at, nonce, job_id, restarts, action,
		reason, outcome, settled_at),
};

static const struct egs_column usage[] = {
	COLUMNS(struct egs_saved_usage, , team),
	COLUMNS(struct egs_saved_usage, tally., units, at, gpu_s),
};

static const struct egs_column meter[] = {
	COLUMNS(struct egs_saved_meter, , team, workload, phase),
	COLUMNS(struct egs_saved_meter, tally., at, gpu_s),
};

static const struct egs_column preemption[] = {
	IDENTITY(struct egs_preemption),
	COLUMNS(struct egs_preemption, , notice),
	COLUMNS(struct egs_preemption, job., restarts),
	COLUMNS(struct egs_preemption, , job_text, user, team, tier, gpus,
		requester, requester_team, reason),
	COLUMNS(struct egs_preemption, , requested_at, deadline, saved_at,
		yielded_at, departed_at, restarted_at, outcome),
	COLUMNS(struct egs_preemption, , lost_work_s, held_s, restart_s),
};

static const struct egs_column observed[] = {
	IDENTITY(struct egs_observed),
	COLUMNS(struct egs_observed, , requester, requester_nonce),
	COLUMNS(struct egs_observed, , requester_uid, requester_task,
		requester_het, gpus, lost_gpu_s),
	COLUMNS(struct egs_observed, , job_text, user, team, tier, fate),
	COLUMNS(struct egs_observed, , requester_text, requester_user,
		requester_team, requester_tier),
	COLUMNS(struct egs_observed, , at, queued_at, would_start, started_at,
		closed_at),
};

static const struct egs_column job_report[] = {
	IDENTITY(struct egs_job_report_row),
	COLUMNS(struct egs_job_report_row, report., path, step, saved_at,
		restarts, progress_ppm, finished),
	COLUMNS(struct egs_job_report_row, report., progress_at, first_ppm,
		first_at),
};

static const struct egs_column answer[] = {
	COLUMNS(struct egs_answer_row, , job_id, message, at, answer),
};

static const struct egs_column ack[] = {
	COLUMNS(struct egs_ack_row, , job_id, nonce, request_no, rank),
};

static const struct egs_column kind[] = {
	COLUMNS(struct egs_usage_kind, , user, account, team, workload, phase),
	COLUMNS(struct egs_usage_kind, , tier, partition, qos, type, loan),
};

static const struct egs_column run[] = {
	COLUMNS(struct egs_run_row, run., job_id, restarts, start, end,
		array_job_id, task, uid, nonce),
	COLUMNS(struct egs_run_row, run., gpus, submit, eligible, name,
		end_state, wait_reason, end_guessed, helper_for),
	COLUMNS(struct egs_run_row, , kind, helped_run, gpu_s, cpu_s,
		suspended_s),
};

static const struct egs_column span[] = {
	COLUMNS(struct egs_span_row, span., start, end),
	COLUMNS(struct egs_span_row, , run, kind),
	COLUMNS(struct egs_span_row, span., gpus, cpus, mem_mb, nodes,
		suspended),
};

static const struct egs_column open_span[] = {
	COLUMNS(struct egs_open_span_row, , run, kind, suspended_s),
	COLUMNS(struct egs_open_span_row, span., start, gpus, cpus, mem_mb,
		nodes, suspended),
};

static const struct egs_column rollup[] = {
	COLUMNS(struct egs_rollup_row, , bucket_s, at, kind, gpu_s, cpu_s,
		mem_mb_s, suspended_s),
	COLUMNS(struct egs_rollup_row, , runs, first, last, gpus),
};

static const struct egs_column wait[] = {
	COLUMNS(struct egs_wait_row, , bucket_s, at, kind, classes),
};

static const struct egs_column wait_reason[] = {
	COLUMNS(struct egs_wait_reason_row, , bucket_s, at, kind, reason,
		starts, wait_s),
};

static const struct egs_column tally[] = {
	COLUMNS(struct egs_tally_row, , bucket_s, at, scope, metric, amount),
};

#define AMOUNTS(row)                                                     \
	COLUMNS(row, sum., sampled_s, sm_s, sm_percent_s, max_sm, mem_s, \
		mem_mb_s, max_mem_mb, mem_total_mb),                     \
		COLUMNS(row, sum., power_s, power_ws, max_power_w,       \
			power_limit_w, energy_s, energy_j, process_s),   \
		COLUMNS(row, sum., idle_s, empty_s, low_power_s, low_power_ws)

static const struct egs_column gpu_use[] = {
	COLUMNS(struct egs_gpu_use, , job_id, restarts, start, node, gpu, at),
	AMOUNTS(struct egs_gpu_use),
};

static const struct egs_column gpu_rollup[] = {
	COLUMNS(struct egs_gpu_rollup_row, , bucket_s, at, kind),
	AMOUNTS(struct egs_gpu_rollup_row),
};

static const struct egs_column gpu_cell[] = {
	COLUMNS(struct egs_gpu_cell_row, , run, node, gpu, sampled_s, sm,
		max_sm),
	COLUMNS(struct egs_gpu_cell_row, , mem_mb, max_mem_mb, power_w,
		max_power_w, idle_s, empty_s),
};

static const struct egs_column node_name[] = {
	COLUMNS(struct egs_node_name_row, , name),
};

static const struct egs_column remediation[] = {
	COLUMNS(struct egs_remediation, , at, rule, node, gpu, subject, xid,
		value, remedy),
	COLUMNS(struct egs_remediation, , session, holder, job_id, job_text,
		user, reason, outcome),
	COLUMNS(struct egs_remediation, , undone_at, undone),
};

#define WITH_ID(columns, name)                                               \
	{                                                                    \
		name, "INTEGER PRIMARY KEY", columns, ARRAY_SIZE(columns), 0 \
	}
#define WITH_KEY(columns, name, nkeys)                          \
	{                                                       \
		name, NULL, columns, ARRAY_SIZE(columns), nkeys \
	}

const struct egs_sql_table egs_tables[EGS_TABLE_COUNT] = {
	[EGS_TABLE_JOB] = WITH_KEY(job, "job", IDENTITY_COLUMNS),
	[EGS_TABLE_VALUE] = WITH_KEY(value, "value", 1),
	[EGS_TABLE_LOG] = WITH_ID(log_entry, "log"),
	/* AUTOINCREMENT: the id of a pruned intent is not used again. */
	[EGS_TABLE_INTENT] = { "intent", "INTEGER PRIMARY KEY AUTOINCREMENT",
			       intent, ARRAY_SIZE(intent), 0 },
	[EGS_TABLE_USAGE] = WITH_KEY(usage, "usage", 1),
	[EGS_TABLE_METER] = WITH_KEY(meter, "meter", 3),
	[EGS_TABLE_PREEMPTION] =
		WITH_KEY(preemption, "preemption", IDENTITY_COLUMNS + 1),
	[EGS_TABLE_OBSERVED_PAIR] =
		WITH_KEY(observed, "observed", IDENTITY_COLUMNS + 2),
	[EGS_TABLE_JOB_REPORT] =
		WITH_KEY(job_report, "job_report", IDENTITY_COLUMNS),
	[EGS_TABLE_ANSWER] = WITH_KEY(answer, "answer", 2),
	[EGS_TABLE_ACK] = WITH_KEY(ack, "ack", 4),
	[EGS_TABLE_KIND] = WITH_ID(kind, "kind"),
	[EGS_TABLE_RUN] = WITH_ID(run, "run"),
	[EGS_TABLE_SPAN] = WITH_ID(span, "span"),
	[EGS_TABLE_OPEN_SPAN] = WITH_KEY(open_span, "open_span", 2),
	[EGS_TABLE_ROLLUP] = WITH_KEY(rollup, "rollup", 3),
	[EGS_TABLE_WAIT] = WITH_KEY(wait, "wait", 3),
	[EGS_TABLE_WAIT_REASON] = WITH_KEY(wait_reason, "wait_reason", 4),
	[EGS_TABLE_TALLY] = WITH_KEY(tally, "tally", 4),
	[EGS_TABLE_GPU_USE] = WITH_KEY(gpu_use, "gpu_use", 5),
	[EGS_TABLE_GPU_ROLLUP] = WITH_KEY(gpu_rollup, "gpu_rollup", 3),
	[EGS_TABLE_GPU_CELL] = WITH_ID(gpu_cell, "gpu_cell"),
	[EGS_TABLE_NODE_NAME] = WITH_ID(node_name, "node_name"),
	[EGS_TABLE_REMEDIATION] = WITH_ID(remediation, "remediation"),
};

#define INDEX	     "CREATE INDEX IF NOT EXISTS "
#define UNIQUE_INDEX "CREATE UNIQUE INDEX IF NOT EXISTS "

static const char indices[] = INDEX
	"log_job ON log (job_id);" INDEX "log_at ON log (at);" INDEX
	"log_reports ON log (job_id, nonce, id) WHERE reports>0;" INDEX
	"intent_open ON intent (id) WHERE outcome='';" INDEX
	"preemption_requested_at ON preemption (requested_at);" INDEX
	"observed_at ON observed (at);" INDEX
	"observed_open ON observed (requester) WHERE closed_at=0;" INDEX
	"answer_at ON answer (at);" INDEX
	"answer_job ON answer (job_id, at);" UNIQUE_INDEX
	"kind_all ON kind (user, account, team, workload, phase,"
	" tier, partition, qos, type, loan);" UNIQUE_INDEX
	"run_job ON run (job_id, restarts, start);" INDEX
	"run_start ON run (start);" INDEX "run_end ON run (end);" INDEX
	"run_kind ON run (kind, start);"
	/* The attempt that a line of the log is about, and its kind. */
	INDEX "run_log ON run (job_id, nonce, start, end, kind);" INDEX
	"run_helped ON run (helped_run) WHERE helped_run>0;" INDEX
	"run_array ON run (array_job_id, task, start);" INDEX
	"span_start ON span (start);" INDEX "span_run ON span (run);" INDEX
	"span_kind ON span (kind, start, end, run, gpus, suspended);" INDEX
	"gpu_use_at ON gpu_use (at);" UNIQUE_INDEX
	"node_name_name ON node_name (name);" INDEX
	"remediation_at ON remediation (at);" INDEX
	"remediation_open ON remediation (node) WHERE undone_at=0;" INDEX
	"remediation_over ON remediation (undone_at) WHERE undone_at>0;";

/* "NAME TYPE DEFAULT VALUE" */
static void add_column(sqlite3_str *sql, const struct egs_column *c)
{
	sqlite3_str_appendf(sql, "%s %s", c->param + 1,
			    c->type < EGS_COLUMN_TEXT ? "INTEGER DEFAULT 0"
						      : "TEXT DEFAULT ''");
}

static int run_text(struct egs_store *store, sqlite3_str *sql,
		    struct egs_err *err)
{
	char *text = sqlite3_str_finish(sql);
	int rc = text ? sqlite3_exec(store->db, text, NULL, NULL, NULL)
		      : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc == SQLITE_OK ? 0 : egs_sql_fail(store, "setting up", err);
}

/* "NAME (COLUMNS)" behind "CREATE TABLE" */
static void describe_table(sqlite3_str *sql, const struct egs_sql_table *t)
{
	sqlite3_str_appendf(sql, " %s (%s%s%s", t->name, t->id ? "id " : "",
			    t->id ? t->id : "", t->id ? ", " : "");
	for (int i = 0; i < t->ncolumns; i++) {
		sqlite3_str_appendall(sql, i ? ", " : "");
		add_column(sql, &t->column[i]);
	}
	for (int i = 0; i < t->nkeys; i++)
		sqlite3_str_appendf(sql, "%s%s", i ? ", " : ", PRIMARY KEY (",
				    t->column[i].param + 1);
	sqlite3_str_appendall(sql, t->nkeys ? ")) WITHOUT ROWID" : ")");
}

static int create_table(struct egs_store *store, const struct egs_sql_table *t,
			struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(store->db);

	sqlite3_str_appendall(sql, "CREATE TABLE IF NOT EXISTS");
	describe_table(sql, t);
	return run_text(store, sql, err);
}

static int add_column_to_table(struct egs_store *store,
			       const struct egs_sql_table *t,
			       const struct egs_column *c, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(store->db);

	sqlite3_str_appendf(sql, "ALTER TABLE %s ADD COLUMN ", t->name);
	add_column(sql, c);
	return run_text(store, sql, err);
}

/* 'find' returns a row if table ?1 has column ?2. */
static int add_missing_columns(struct egs_store *store, sqlite3_stmt *find,
			       const struct egs_sql_table *t,
			       struct egs_err *err)
{
	for (int i = 0; i < t->ncolumns; i++) {
		const struct egs_column *c = &t->column[i];
		int rc;

		sqlite3_bind_text(find, 1, t->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(find, 2, c->param + 1, -1, SQLITE_STATIC);
		rc = sqlite3_step(find);
		sqlite3_reset(find);
		if (rc == SQLITE_DONE &&
		    add_column_to_table(store, t, c, err) < 0)
			return -1;
		if (rc != SQLITE_DONE && rc != SQLITE_ROW)
			return egs_sql_fail(store, "reading columns", err);
	}
	return 0;
}

int egs_sql_make_tables(struct egs_store *store, struct egs_err *err)
{
	sqlite3_stmt *find = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(store->db,
			       "SELECT 1 FROM pragma_table_info(?1)"
			       " WHERE name=?2",
			       -1, &find, NULL) != SQLITE_OK)
		return egs_sql_fail(store, "reading columns", err);
	for (int i = 0; i < EGS_TABLE_COUNT && rc == 0; i++) {
		rc = create_table(store, &egs_tables[i], err);
		if (rc == 0)
			rc = add_missing_columns(store, find, &egs_tables[i],
						 err);
	}
	sqlite3_finalize(find);
	if (rc == 0 &&
	    sqlite3_exec(store->db, indices, NULL, NULL, NULL) != SQLITE_OK)
		rc = egs_sql_fail(store, "setting up", err);
	return rc;
}

/* ---- files that are only read ---- */

/* Does the table have the column, or any if that is NULL? */
static bool has_column(sqlite3 *db, const char *table, const char *column)
{
	sqlite3_stmt *find = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT 1 FROM pragma_table_info(?1, "
				    "'main') WHERE ?2 IS NULL OR name=?2",
				    -1, &find, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(find, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(find, 2, column, -1, SQLITE_STATIC);
		rc = sqlite3_step(find);
	}
	sqlite3_finalize(find);
	return rc == SQLITE_ROW;
}

/* The missing columns with their default values; NULL: none. */
static char *list_missing_columns(sqlite3 *db, const struct egs_sql_table *t)
{
	sqlite3_str *sql = sqlite3_str_new(db);

	for (int i = 0; i < t->ncolumns; i++) {
		const struct egs_column *c = &t->column[i];

		if (!has_column(db, t->name, c->param + 1))
			sqlite3_str_appendf(sql, ", %s AS %s",
					    c->type < EGS_COLUMN_TEXT ? "0"
								      : "''",
					    c->param + 1);
	}
	return sqlite3_str_finish(sql);
}

/* SQLite looks for a name among temporary tables and views first. */
static int complete_table(sqlite3 *db, const struct egs_sql_table *t)
{
	char *columns = list_missing_columns(db, t), *text;
	sqlite3_str *sql = sqlite3_str_new(db);
	int rc = SQLITE_OK;

	if (columns && has_column(db, t->name, NULL)) {
		sqlite3_str_appendf(sql,
				    "CREATE TEMP VIEW %s AS SELECT *%s"
				    " FROM main.%s",
				    t->name, columns, t->name);
	} else if (columns) {
		sqlite3_str_appendall(sql, "CREATE TEMP TABLE");
		describe_table(sql, t);
	}
	text = sqlite3_str_finish(sql);
	if (text)
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	sqlite3_free(columns);
	return rc;
}

int egs_sql_complete_old_file(sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < EGS_TABLE_COUNT && rc == SQLITE_OK; i++)
		rc = complete_table(db, &egs_tables[i]);
	return rc;
}
