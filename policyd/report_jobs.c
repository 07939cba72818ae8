/* report_jobs.c - attempts, one by one */
#include "policyd/report_impl.h"

/* So many rows are an answer; who wants more asks for those behind. */
enum { PAGE = 20000 };

/* Attempts that ran between 'from' and 'to', in the order they were written. */
static void add_where(const struct egs_report *r, sqlite3_str *sql,
		      int64_t after)
{
	sqlite3_str_appendf(
		sql,
		" WHERE r.id IN (SELECT id FROM run WHERE end>%lld UNION ALL"
		" SELECT id FROM run WHERE end=0) AND r.id>%lld"
		" AND r.start<%lld",
		(long long)r->from, (long long)after, (long long)r->to);
	egs_report_where(r, sql, true);
	sqlite3_str_appendf(sql, " ORDER BY r.id LIMIT %d", PAGE);
}

/* The last one of a full page, for the next request. */
static int set_next(struct egs_report *r, int64_t after, int n,
		    struct egs_err *err)
{
	sqlite3_str *sql;
	sqlite3_stmt *stmt;

	if (n < PAGE)
		return 0;
	sql = sqlite3_str_new(r->db);
	sqlite3_str_appendall(sql, "SELECT max(id) FROM (SELECT r.id FROM run r"
				   " JOIN kind k ON k.id=r.kind");
	add_where(r, sql, after);
	sqlite3_str_appendall(sql, ")");
	stmt = egs_report_prepare(r, sql, err);
	if (!stmt)
		return -1;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		egs_msg_set_int(r->answer, "next",
				sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	return 0;
}

int egs_report_jobs(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	int64_t after = 0;
	int n;

	egs_msg_int(r->request, "after", &after);
	egs_report_columns(r,
			   "JOBID,RESTARTS,NAME,USER,ACCOUNT,TEAM,TIER,PHASE,"
			   "WORKLOAD,PARTITION,TYPE,LOAN,GPUS,SUBMIT,ELIGIBLE,"
			   "START,END,ELAPSED,SUSPENDED,GPUSECONDS,STATE,"
			   "WAITED",
			   "RESTARTS,GPUS,ELAPSED,SUSPENDED,GPUSECONDS",
			   "SUBMIT,ELIGIBLE,START,END");
	sqlite3_str_appendf(
		sql,
		"SELECT CASE WHEN r.array_job_id>0 AND r.task<4294967295"
		" THEN r.array_job_id||'_'||r.task ELSE ''||r.job_id END,"
		" r.restarts, r.name, k.user, k.account, k.team, k.tier,"
		" k.phase, k.workload, k.partition, k.type, k.loan, r.gpus,"
		" r.submit, r.eligible, r.start, r.end,"
		" (CASE WHEN r.end THEN r.end ELSE %lld END)-r.start"
		"-r.suspended_s-ifnull(o.idle_s, 0),"
		" r.suspended_s+ifnull(o.idle_s, 0),"
		" r.gpu_s+ifnull(o.gpu_s, 0),"
		" CASE WHEN r.end=0 THEN 'RUNNING' ELSE r.how END, r.cause"
		" FROM run r JOIN kind k ON k.id=r.kind LEFT JOIN"
		" (SELECT run, sum((NOT suspended)*gpus*(%lld-start)) AS gpu_s,"
		" max(suspended*(%lld-start)) AS idle_s FROM open GROUP BY run)"
		" o ON o.run=r.id",
		(long long)r->now, (long long)r->now, (long long)r->now);
	add_where(r, sql, after);
	n = egs_report_rows(r, sql, err);
	return n < 0 ? -1 : set_next(r, after, n, err);
}
