/* observed.c - report of preemptions that observe mode did not do */
#include "policyd/report/report_internal.h"

/* The wait of the requester: until its start, or until now.  A requester that
 * ended or was enforced before it started has none.
 */
#define WAITED(now)                                                     \
	"iif(started_at>0, started_at-queued_at, iif(closed_at=0, " now \
	"-queued_at, NULL))"

/* A user may see the pairs with a job of the user's own. */
static void add_conditions(const struct egs_report *r, sqlite3_str *sql)
{
	const char *users = egs_msg_get_str(r->request, "users");

	sqlite3_str_appendf(sql, " FROM observed WHERE at>=%lld AND at<%lld",
			    (long long)r->from, (long long)r->to + 1);
	if (users)
		sqlite3_str_appendf(
			sql, " AND instr(','||%Q||',', ','||user||',')", users);
	if (!r->user)
		return;
	sqlite3_str_appendf(sql, " AND (user=%Q", r->user);
	if (!r->hide_jobs)
		sqlite3_str_appendf(sql, " OR requester_user=%Q", r->user);
	sqlite3_str_appendall(sql, ")");
}

static sqlite3_stmt *prepare_summary(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	/* All rows of a requester have its waits. */
	sqlite3_str_appendf(
		sql,
		"WITH pair AS (SELECT *, max(0, ifnull(" WAITED(
			"%lld") "-(would_start-queued_at), 0)) AS gain",
		(long long)r->now);
	add_conditions(r, sql);
	sqlite3_str_appendall(
		sql,
		"), taker AS (SELECT max(gain) AS gain FROM pair GROUP BY"
		" requester, requester_nonce)"
		" SELECT (SELECT count(*) FROM taker WHERE gain>0),"
		" (SELECT ifnull(sum(gain), 0) FROM taker)/3600.0,"
		" (SELECT count(DISTINCT job_id||'/'||nonce||'/'||array_task)"
		" FROM pair),"
		" (SELECT ifnull(sum(lost_gpu_s), 0) FROM pair)/3600.0");
	return egs_report_prepare(r, sql, err);
}

static int add_summary(struct egs_report *r, struct egs_err *err)
{
	sqlite3_stmt *stmt = prepare_summary(r, err);
	struct egs_err line;
	int rc = 0;

	if (!stmt)
		return -1;
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		egs_errf(&line,
			 "%lld jobs would have started %.1f h earlier in sum; "
			 "%lld jobs would have been preempted, %.1f GPU-hours "
			 "lost",
			 (long long)sqlite3_column_int64(stmt, 0),
			 sqlite3_column_double(stmt, 1),
			 (long long)sqlite3_column_int64(stmt, 2),
			 sqlite3_column_double(stmt, 3));
		egs_msg_set_str(r->answer, "summary", line.msg);
	} else {
		rc = egs_report_fail(r, err);
	}
	sqlite3_finalize(stmt);
	return rc;
}

int egs_report_observed(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r,
			       "TIME,JOBID,USER,TEAM,TIER,GPUS,HOW,LOST,BYJOB,"
			       "BYUSER,BYTEAM,BYTIER,WAITED,WOULDWAIT",
			       "GPUS,LOST,WAITED,WOULDWAIT", "TIME");
	egs_report_set_view(r,
			    "TIME,JOBID,USER,TEAM,TIER,GPUS,HOW,LOST,BYJOB,"
			    "BYTEAM,WAITED,WOULDWAIT",
			    "LOST=GPU-s,WAITED=s,WOULDWAIT=s");
	sqlite3_str_appendf(
		sql,
		"SELECT at, job_text, user, team, tier, gpus, fate,"
		" lost_gpu_s, iif(%d, '', requester_text), iif(%d, '',"
		" requester_user), requester_team, requester_tier, " WAITED(
			"%lld") ", would_start-queued_at",
		r->hide_jobs, r->hide_jobs, (long long)r->now);
	add_conditions(r, sql);
	sqlite3_str_appendall(sql, " ORDER BY at, requester, job_id");
	return add_summary(r, err) < 0 ? -1 : egs_report_add_page(r, sql, err);
}
