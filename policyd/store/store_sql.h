/* store_sql.h - statements of the store; for its own files only */
#ifndef EGS_STORE_STORE_SQL_H
#define EGS_STORE_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>

#include "policyd/store/store.h"

enum egs_sql {
	SQL_JOB_PUT,
	SQL_JOB_DROP,
	SQL_JOBS,
	SQL_VALUE_PUT,
	SQL_VALUE_DROP,
	SQL_VALUE,
	SQL_LOG_PUT,
	SQL_LOG_ENTRIES,
	SQL_INTENT_PUT,
	SQL_INTENT_DONE,
	SQL_INTENTS,
	SQL_USAGE_PUT,
	SQL_USAGES,
	SQL_METER_PUT,
	SQL_METERS,
	SQL_PREEMPTION_PUT,
	SQL_PREEMPTION_DEPARTED,
	SQL_PREEMPTION_RESTARTED,
	SQL_PREEMPTION_WORKING,
	SQL_PREEMPTIONS,
	SQL_PRUNE_PREEMPTIONS,
	SQL_JOB_REPORT,
	SQL_JOB_REPORT_PUT,
	SQL_JOB_REPORT_DROP,
	SQL_ANSWER,
	SQL_ANSWER_PUT,
	SQL_ACK_PUT,
	SQL_ACK_COUNT,
	SQL_ACK_DROP,
	SQL_PRUNE_ANSWERS,
	SQL_PRUNE_LOG,
	SQL_PRUNE_INTENTS,
	SQL_HISTORY, /* and on: those of history.c */
	SQL_KIND_PUT = SQL_HISTORY,
	SQL_KIND,
	SQL_RUN_PUT,
	SQL_RUN_IS_KNOWN,
	SQL_RUN_HAS_ENDED,
	SQL_RUN_ADD_USAGE,
	SQL_SPAN_PUT,
	SQL_SPAN_SAME_KIND,
	SQL_ROLLUP_ADD,
	SQL_WAIT,
	SQL_WAIT_PUT,
	SQL_CAUSE_ADD,
	SQL_TALLY_ADD,
	SQL_OPEN_SPAN_PUT,
	SQL_OPEN_SPAN_DROP,
	SQL_OPEN_SPANS,
	SQL_PRUNE_FIRST,
	SQL_PRUNE_LAST = SQL_PRUNE_FIRST + 10,
	SQL_COUNT
};

struct egs_store {
	sqlite3 *db;
	sqlite3_stmt *stmt[SQL_COUNT]; /* prepared when first used */
	uint64_t epoch;
	int lock_fd;
	bool in_transaction; /* a transaction */
};

/* Of history.c: its steps of the layout, and its statements from SQL_HISTORY.
 */
extern const char egs_history_layout[], egs_history_layout_2[],
	egs_history_layout_3[], egs_history_layout_4[];
extern const char *const egs_history_sql[SQL_COUNT - SQL_HISTORY];

/* The statement with its arguments bound: 'types' has one letter for each, i
 * for int64_t, s for a string, which may be NULL and must live until the
 * statement is done.  NULL with 'err' set on failure.
 */
sqlite3_stmt *egs_sql_bind(struct egs_store *store, enum egs_sql sql,
			   struct egs_err *err, const char *types, ...);

/* Run a bound statement that returns no rows.  NULL fails. */
int egs_sql_run(struct egs_store *store, sqlite3_stmt *stmt,
		struct egs_err *err);

/* The next row of a bound statement: 1, or 0 after the last, when it is ready
 * to be bound again, or -1 with 'err' set.
 */
int egs_sql_next_row(struct egs_store *store, sqlite3_stmt *stmt,
		     struct egs_err *err);

#endif
