/* store_sql.h - tables and statements of the store; for its own files only
 *
 * A table is a list of columns, and each column is a member of one C struct,
 * the row.  CREATE TABLE, INSERT and SELECT are derived from that list, and so
 * are binding and reading a row.  To add a column: a member of the struct and
 * a line in store_tables.c.
 */
#ifndef EGS_STORE_STORE_SQL_H
#define EGS_STORE_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "policyd/store/gpu_use.h"
#include "policyd/store/history.h"
#include "policyd/store/store_messages.h"

enum egs_column_type {
	EGS_COLUMN_INT64, /* or uint64_t */
	EGS_COLUMN_UINT32,
	EGS_COLUMN_BOOL,
	EGS_COLUMN_TEXT,  /* const char *; NULL is written as "" */
	EGS_COLUMN_CHARS, /* char[] */
};

struct egs_column {
	const char *param; /* ":name" */
	enum egs_column_type type;
	size_t offset, size; /* of the member */
};

enum egs_table_id {
	EGS_TABLE_JOB,
	EGS_TABLE_VALUE,
	EGS_TABLE_LOG,
	EGS_TABLE_INTENT,
	EGS_TABLE_USAGE,
	EGS_TABLE_METER,
	EGS_TABLE_PREEMPTION,
	EGS_TABLE_OBSERVED_PAIR,
	EGS_TABLE_JOB_REPORT,
	EGS_TABLE_ANSWER,
	EGS_TABLE_ACK,
	EGS_TABLE_KIND,
	EGS_TABLE_RUN,
	EGS_TABLE_SPAN,
	EGS_TABLE_OPEN_SPAN,
	EGS_TABLE_ROLLUP,
	EGS_TABLE_WAIT,
	EGS_TABLE_WAIT_REASON,
	EGS_TABLE_TALLY,
	EGS_TABLE_GPU_USE,
	EGS_TABLE_GPU_ROLLUP,
	EGS_TABLE_GPU_CELL,
	EGS_TABLE_NODE_NAME,
	EGS_TABLE_REMEDIATION,
	EGS_TABLE_COUNT
};

struct egs_sql_table {
	const char *name;
	const char *id; /* type of the column "id"; NULL: no such column */
	const struct egs_column *column;
	int ncolumns;
	int nkeys; /* without "id": the first columns are the key */
};

extern const struct egs_sql_table egs_tables[EGS_TABLE_COUNT];

/* Condition for the row of one job; its parameters are the identity. */
#define EGS_SQL_JOB_KEY                                    \
	"job_id=:job_id AND nonce=:nonce AND uid=:uid AND" \
	" array_task=:array_task AND het_offset=:het_offset"

/* Rows that no public struct describes. */
struct egs_value_row {
	const char *name, *value;
};

struct egs_job_report_row {
	struct egs_identity job;
	struct egs_job_report report;
};

struct egs_answer_row {
	uint32_t job_id;
	egs_time_t at;
	const char *message, *answer;
};

struct egs_ack_row {
	uint32_t job_id, request_no;
	uint64_t nonce;
	int64_t rank;
};

struct egs_run_row {
	struct egs_job_run run;
	int64_t kind;
	int64_t helped_run; /* that this helper job queued for; 0: none */
	int64_t gpu_s, cpu_s, suspended_s; /* grow with each span */
};

struct egs_span_row {
	struct egs_span span;
	int64_t run, kind;
};

struct egs_open_span_row {
	struct egs_span span; /* without its end */
	int64_t run, kind;
	egs_time_t suspended_s;
};

/* Sums of one hour or day ('bucket_s') that begins at 'at'.  'runs' counts
 * attempts that got this workload, phase, tier and type; 'first' and 'last' are
 * the first and last second; 'gpus' is the most GPUs of one span.
 */
struct egs_rollup_row {
	int64_t bucket_s, at, kind;
	int64_t gpu_s, cpu_s, mem_mb_s, suspended_s;
	int64_t runs, first, last, gpus;
};

struct egs_wait_row {
	int64_t bucket_s, at, kind;
	const char *classes; /* see wait_classes.h */
};

struct egs_wait_reason_row {
	int64_t bucket_s, at, kind;
	const char *reason;
	int64_t starts, wait_s;
};

struct egs_tally_row {
	int64_t bucket_s, at, amount;
	const char *scope, *metric;
};

struct egs_gpu_rollup_row {
	int64_t bucket_s, at, kind;
	struct egs_gpu_amounts sum;
};

/* See egs_gpu_cell_add().  Its id has the time. */
struct egs_gpu_cell_row {
	int64_t run, node, gpu;
	int64_t sampled_s, sm, max_sm, mem_mb, max_mem_mb, power_w, max_power_w;
	int64_t idle_s, empty_s;
};

struct egs_node_name_row {
	const char *name;
};

struct egs_store {
	sqlite3 *db;
	struct {
		const char *text;
		sqlite3_stmt *stmt;
	} * statement; /* prepared when first used */
	size_t nstatements, room;
	uint64_t epoch;
	int lock_fd;
	bool in_transaction;
};

/* Write "store: WHAT: ..." with SQLite's last error to 'err', and undo the
 * transaction.  Returns -1.
 */
int egs_sql_fail(struct egs_store *store, const char *what,
		 struct egs_err *err);

/* Make tables, columns and indices that the file lacks, in the open
 * transaction.
 */
int egs_sql_make_tables(struct egs_store *store, struct egs_err *err);

/* Let a connection that only reads see empty tables, and columns with default
 * values, in place of those that a file of an older release lacks.  Returns a
 * code of SQLite.
 */
int egs_sql_complete_old_file(sqlite3 *db);

/* The prepared statement of 'text' with its arguments bound.  'text' is a
 * literal: its address is the key.  In it, "INTO #job" is replaced by "INTO job
 * (all columns) VALUES (?,...)", and "$job" by "job.column, ..." of all
 * columns.  'types' has one letter for each argument, i for int64_t, s for a
 * string.  A string must live until the statement is done.  NULL with 'err' set
 * on failure.
 */
sqlite3_stmt *egs_sql_bind(struct egs_store *store, const char *text,
			   struct egs_err *err, const char *types, ...);

/* Same, with the members of 'row', a row of 'table': by name (":job_id") where
 * the statement has names, else one for each column.
 */
sqlite3_stmt *egs_sql_bind_row(struct egs_store *store, const char *text,
			       enum egs_table_id table, const void *row,
			       struct egs_err *err);

/* Bind and run a statement that returns no rows; arguments as egs_sql_bind().
 */
#define egs_sql_run(store, text, err, ...) \
	egs_sql_step(store, egs_sql_bind(store, text, err, __VA_ARGS__), err)
int egs_sql_run_row(struct egs_store *store, const char *text,
		    enum egs_table_id table, const void *row,
		    struct egs_err *err);

/* The next row of a bound statement: 1, or 0 after the last, when the
 * statement can be bound again, or -1 with 'err' set.  A NULL 'stmt' fails.
 */
int egs_sql_step(struct egs_store *store, sqlite3_stmt *stmt,
		 struct egs_err *err);

/* Read the row of 'table' that begins at 'column'; returns the column after
 * it.  Members without a column stay as they are.  Strings are SQLite's and
 * live until the next step.
 */
int egs_sql_read_row(sqlite3_stmt *stmt, int column, enum egs_table_id table,
		     void *row);

/* Step, and read a row of 'table' from the first column on. */
int egs_sql_next_row(struct egs_store *store, sqlite3_stmt *stmt,
		     enum egs_table_id table, void *row, struct egs_err *err);

/* The number that a bound statement returns, 0 if it returns no row. */
int egs_sql_read_int(struct egs_store *store, sqlite3_stmt *stmt,
		     int64_t *value, struct egs_err *err);

#endif
