/* jobs.c - report of attempts, one row for each */
#include <stdio.h>

#include "policyd/report/report_internal.h"

/* Attempts after attempt 'after', in the order of start.  If only some
 * kinds are requested, the index by kind is faster than the index by start.
 */
static void add_run_query(const struct egs_report *r, sqlite3_str *sql,
			  const char *which, int64_t after)
{
	const bool some = r->user || egs_msg_get_str(r->request, "users") ||
			  egs_msg_get_str(r->request, "accounts") ||
			  egs_msg_get_str(r->request, "partitions");

	sqlite3_str_appendf(sql,
			    "SELECT * FROM (SELECT id, start FROM run%s%s"
			    " AND id NOT IN (SELECT id FROM run WHERE"
			    " helped_run>0)",
			    some ? " INDEXED BY run_kind" : "", which);
	if (after)
		sqlite3_str_appendf(sql,
				    " AND (start, id)>(SELECT start, id FROM"
				    " run WHERE id=%lld)",
				    (long long)after);
	if (some) {
		sqlite3_str_appendall(
			sql, " AND kind IN (SELECT id FROM kind k WHERE 1");
		egs_report_add_filter(r, sql, true);
		sqlite3_str_appendall(sql, ")");
	}
	sqlite3_str_appendf(sql, " ORDER BY start, id LIMIT %d)",
			    EGS_REPORT_PAGE_ROWS);
}

/* Make a table "page (id, start)" of the attempts that ran between 'from' and
 * 'to': those that began then, and those that ran at 'from', which have a span
 * or an open span there.
 */
static int make_page(struct egs_report *r, int64_t after, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	char which[512];
	sqlite3_stmt *stmt;
	int rc;

	sqlite3_str_appendall(sql, "CREATE TEMP TABLE page AS SELECT * FROM (");
	snprintf(which, sizeof(which),
		 " WHERE start<%lld AND id IN (SELECT run FROM span WHERE"
		 " start>=%lld AND start<%lld AND end>%lld UNION"
		 " SELECT run FROM open_span WHERE start<%lld)",
		 (long long)r->from, (long long)r->from - EGS_DAY_S,
		 (long long)r->from, (long long)r->from, (long long)r->from);
	add_run_query(r, sql, which, after);
	sqlite3_str_appendall(sql, " UNION ALL ");
	snprintf(which, sizeof(which), " WHERE start>=%lld AND start<%lld",
		 (long long)r->from, (long long)r->to);
	add_run_query(r, sql, which, after);
	sqlite3_str_appendf(sql, ") ORDER BY start, id LIMIT %d",
			    EGS_REPORT_PAGE_ROWS);
	stmt = egs_report_prepare(r, sql, err);
	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : egs_report_fail(r, err);
}

/* After a full page: name its last attempt, for the next request. */
static int set_next(struct egs_report *r, int n, struct egs_err *err)
{
	sqlite3_str *sql;
	sqlite3_stmt *stmt;

	if (n < EGS_REPORT_PAGE_ROWS)
		return 0;
	sql = sqlite3_str_new(r->db);
	sqlite3_str_appendall(sql, "SELECT id FROM page"
				   " ORDER BY start DESC, id DESC LIMIT 1");
	stmt = egs_report_prepare(r, sql, err);
	if (!stmt)
		return -1;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		egs_msg_set_int(r->answer, "next",
				sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	return 0;
}

/* Helper jobs of attempt r.  What they held counts for r. */
#define HELPERS                                             \
	"(SELECT id FROM run h WHERE h.helped_run=r.id AND" \
	" h.helped_run>0)"

/* Add "SELECT ...": what the attempts of the page did with their GPUs; NULL:
 * not known.
 */
static void add_gpu_use(sqlite3_str *sql)
{
	sqlite3_str_appendall(
		sql,
		"SELECT r.id AS id,"
		" (sum(g.sm_percent_s)+sum(g.sm_s)/2)/nullif(sum(g.sm_s), 0)"
		" AS sm, iif(sum(g.mem_s), max(g.max_mem_mb), NULL)"
		" AS max_mem_mb, iif(sum(g.energy_s), sum(g.energy_j), NULL)"
		" AS energy_j, iif(sum(g.sm_s), sum(g.idle_s), NULL) AS idle_s,"
		" iif(sum(g.process_s), sum(g.empty_s), NULL) AS empty_s, ");
	egs_report_add_advice(sql,
			      "iif(sum(" EGS_REPORT_IS_UNUSED "), r.job_id||' '"
			      "||count(*)||' '||sum(" EGS_REPORT_IS_UNUSED
			      ")||' '||count(DISTINCT g.node), NULL)",
			      "g");
	sqlite3_str_appendall(
		sql,
		" AS advice FROM page p CROSS JOIN run r ON r.id=p.id"
		" JOIN gpu_use g ON g.job_id=r.job_id AND"
		" g.restarts=r.restarts AND g.start=r.start GROUP BY r.id");
}

int egs_report_jobs(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql;
	int64_t after = 0;
	int n;

	egs_msg_get_int(r->request, "after", &after);
	if (make_page(r, after, err) < 0)
		return -1;
	sql = sqlite3_str_new(r->db);
	egs_report_set_columns(
		r,
		"JOBID,RESTARTS,NAME,USER,ACCOUNT,TEAM,TIER,PHASE,"
		"WORKLOAD,PARTITION,TYPE,LOAN,GPUS,SUBMIT,ELIGIBLE,"
		"START,END,ELAPSED,SUSPENDED,GPUSECONDS,STATE,"
		"WAITED,EXACT,SM,MAXMEM,ENERGY,IDLE,EMPTY,ADVICE",
		"RESTARTS,GPUS,ELAPSED,SUSPENDED,GPUSECONDS,SM,MAXMEM,ENERGY,"
		"IDLE,EMPTY",
		"SUBMIT,ELIGIBLE,START,END");
	egs_report_set_view(r,
			    "JOBID,USER,TEAM,TIER,PHASE,TYPE,LOAN,GPUS,START,"
			    "END,GPUSECONDS,STATE",
			    "ELAPSED=s,SUSPENDED=s,SM=%,MAXMEM=MiB,"
			    "ENERGY=J,IDLE=s,EMPTY=s");
	sqlite3_str_appendf(
		sql,
		"SELECT " EGS_REPORT_JOB_TEXT
		", r.restarts, r.name, k.user, k.account, k.team, k.tier,"
		" k.phase, k.workload, k.partition, k.type, k.loan, r.gpus,"
		" r.submit, r.eligible, r.start, r.end,"
		" (CASE WHEN r.end THEN r.end ELSE %lld END)-r.start"
		"-r.suspended_s-ifnull(o.suspended_s, 0),"
		" r.suspended_s+ifnull(o.suspended_s, 0),"
		" r.gpu_s+ifnull(o.gpu_s, 0)"
		"+(SELECT ifnull(sum(gpu_s), 0) FROM run h WHERE"
		" h.helped_run=r.id AND h.helped_run>0)"
		"+(SELECT ifnull(sum(gpus*(%lld-start)), 0) FROM open_span "
		"WHERE"
		" run IN " HELPERS "),"
		" CASE WHEN r.end=0 THEN 'RUNNING' ELSE r.end_state END,"
		" r.wait_reason, iif(r.end_guessed, 'no', 'yes'),"
		" u.sm, u.max_mem_mb, u.energy_j, u.idle_s, u.empty_s, u.advice"
		" FROM page p CROSS JOIN run r ON r.id=p.id"
		" JOIN kind k ON k.id=r.kind LEFT JOIN"
		" (SELECT run, sum((NOT suspended)*gpus*(%lld-start)) AS gpu_s,"
		" max(suspended*(%lld-start)) AS suspended_s FROM open_span"
		" GROUP BY run) o ON o.run=r.id LEFT JOIN (",
		(long long)r->now, (long long)r->now, (long long)r->now,
		(long long)r->now);
	add_gpu_use(sql);
	sqlite3_str_appendall(sql, ") u ON u.id=r.id ORDER BY p.start, p.id");
	n = egs_report_add_rows(r, sql, err);
	return n < 0 ? -1 : set_next(r, n, err);
}
