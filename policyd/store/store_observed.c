/* store_observed.c - record of preemptions that observe mode did not do */
#include "policyd/store/store_sql.h"

int egs_store_observed_add(struct egs_store *store,
			   const struct egs_observed *o, struct egs_err *err)
{
	return egs_sql_run_row(store, "INSERT OR IGNORE INTO #observed",
			       EGS_TABLE_OBSERVED_PAIR, o, err);
}

int egs_store_observed_close(struct egs_store *store,
			     const struct egs_observed *o, struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"UPDATE observed SET started_at=:started_at,"
		" closed_at=:closed_at WHERE requester=:requester AND"
		" requester_nonce=:requester_nonce AND closed_at=0",
		EGS_TABLE_OBSERVED_PAIR, o, err);
}

int egs_store_observed_each_open(struct egs_store *store,
				 void (*fn)(void *arg,
					    const struct egs_observed *o),
				 void *arg, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT $observed FROM observed WHERE closed_at=0 ORDER BY at",
		err, "");
	struct egs_observed o = { .gpus = 0 };
	int rc;

	while ((rc = egs_sql_next_row(store, stmt, EGS_TABLE_OBSERVED_PAIR, &o,
				      err)) > 0)
		fn(arg, &o);
	return rc;
}
