/* remediation.c - what was done about GPUs, or would have been, on disk */
#include "policyd/store/remediation.h"
#include "policyd/store/store_sql.h"

int egs_remediation_add(struct egs_store *store,
			const struct egs_remediation *row, struct egs_err *err)
{
	return egs_sql_run_row(store, "INSERT INTO #remediation",
			       EGS_TABLE_REMEDIATION, row, err);
}

int egs_remediation_settle(struct egs_store *store, const char *node,
			   const char *remedy, const char *from,
			   const char *outcome, struct egs_err *err)
{
	return egs_sql_run(store,
			   "UPDATE remediation SET outcome=? WHERE node=? AND"
			   " remedy=? AND outcome=? AND undone_at=0",
			   err, "ssss", outcome, node, remedy, from);
}

int egs_remediation_end(struct egs_store *store,
			const struct egs_remediation *row, struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"UPDATE remediation SET undone_at=:undone_at, undone=:undone,"
		" outcome=iif(:outcome='', outcome, :outcome)"
		" WHERE rule=:rule AND node=:node AND gpu=:gpu AND xid=:xid"
		" AND remedy=:remedy AND undone_at=0 AND outcome<>'undoing'",
		EGS_TABLE_REMEDIATION, row, err);
}

int egs_remediation_undone(struct egs_store *store, const char *node,
			   const char *remedy, egs_time_t at, const char *why,
			   struct egs_err *err)
{
	return egs_sql_run(
		store,
		"UPDATE remediation SET undone_at=?, undone=?, outcome='done'"
		" WHERE node=? AND remedy=? AND outcome='undoing' AND"
		" undone_at=0",
		err, "isss", at, why, node, remedy);
}

int egs_remediation_answer(struct egs_store *store,
			   const struct egs_remediation *row,
			   struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"UPDATE remediation SET outcome=:outcome WHERE"
		" at BETWEEN :at-3600 AND :at AND rule=:rule AND node=:node"
		" AND gpu=:gpu AND xid=:xid AND remedy=:remedy AND outcome=''",
		EGS_TABLE_REMEDIATION, row, err);
}

int egs_remediation_find_run(
	struct egs_store *store, uint32_t job_id, uint32_t restarts,
	void (*fn)(void *arg, const struct egs_job_run *run, const char *user),
	void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT $run, $kind FROM run JOIN kind ON kind.id=run.kind"
		" WHERE job_id=? AND restarts=? ORDER BY start DESC LIMIT 1",
		err, "ii", (int64_t)job_id, (int64_t)restarts);
	struct egs_usage_kind kind = { .user = "" };
	struct egs_run_row row;
	int rc, column;

	while ((rc = egs_sql_step(store, stmt, err)) > 0) {
		column = egs_sql_read_row(stmt, 0, EGS_TABLE_RUN, &row);
		egs_sql_read_row(stmt, column, EGS_TABLE_KIND, &kind);
		fn(arg, &row.run, kind.user);
	}
	return rc;
}

int egs_remediation_each(struct egs_store *store, egs_time_t since,
			 void (*fn)(void *arg,
				    const struct egs_remediation *row),
			 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt =
		egs_sql_bind(store,
			     "SELECT $remediation FROM remediation WHERE"
			     " undone_at=0 OR at>=? ORDER BY id",
			     err, "i", since);
	struct egs_remediation row = { .gpu = 0 };
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_REMEDIATION, &row,
				      err)) > 0)
		fn(arg, &row);
	return rc;
}
