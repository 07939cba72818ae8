/* life.c - report of the GPUs of a job or a workload over time
 *
 * A row is a span of the history: it ends where the job was resized, suspended
 * or requeued, or where its phase, tier or loan changed; and at midnight UTC.
 * What a helper job held counts for the job that it queued for.
 */
#include <string.h>

#include "policyd/report/report_internal.h"

static bool is_job(const char *name)
{
	return name && *name && !name[strspn(name, "0123456789_")];
}

/* Add "WITH mine AS (...)", the attempts of the job, and its helper jobs. */
static int add_attempts(sqlite3_str *sql, const char *name, struct egs_err *err)
{
	char job[64];

	if (egs_report_format_job(name, job, sizeof(job), err) < 0)
		return -1;
	sqlite3_str_appendf(sql,
			    "WITH own AS (SELECT id FROM run WHERE %s),"
			    " mine AS (SELECT id FROM own UNION SELECT id FROM"
			    " run WHERE helped_run>0 AND helped_run IN own)",
			    job);
	return 0;
}

/* Add "WITH mine AS (...)", the kinds of the workload and of its stages. */
static void add_kinds(sqlite3_str *sql, const char *name)
{
	sqlite3_str_appendf(sql,
			    "WITH mine AS (SELECT id FROM kind WHERE"
			    " workload=%Q OR substr(workload, 1, %d)=%Q||'/')",
			    name, (int)strlen(name) + 1, name);
}

/* Add the spans whose 'key', run or kind, is in mine; 'end' of an open span is
 * 0.
 */
static void add_spans(const struct egs_report *r, sqlite3_str *sql,
		      const char *key)
{
	sqlite3_str_appendf(
		sql,
		", s AS (SELECT run, kind, start, end, gpus, suspended"
		" FROM span WHERE %s IN mine AND start<=%lld AND end>%lld"
		" UNION ALL SELECT run, kind, start, 0, gpus, suspended"
		" FROM open_span WHERE %s IN mine AND start<=%lld)",
		key, (long long)r->to, (long long)r->from, key,
		(long long)r->to);
}

static void add_columns(const struct egs_report *r, sqlite3_str *sql)
{
	char seconds[128];

	sqlite3_snprintf(sizeof(seconds), seconds,
			 "(NOT s.suspended)*s.gpus*(iif(s.end, s.end, %lld)"
			 "-s.start)",
			 (long long)r->now);
	sqlite3_str_appendall(
		sql,
		" SELECT " EGS_REPORT_JOB_TEXT
		", r.restarts, k.user, k.workload, k.phase, k.tier, k.type,"
		" k.loan, s.start, s.end, s.gpus,"
		" iif(s.suspended, 'yes', 'no'),");
	egs_report_add_in_unit(r, sql, seconds);
}

int egs_report_life(struct egs_report *r, struct egs_err *err)
{
	const char *name = egs_msg_get_str(r->request, "name");
	sqlite3_str *sql = sqlite3_str_new(r->db);
	int rc = 0;

	egs_report_set_columns(r,
			       "JOBID,RESTARTS,USER,WORKLOAD,PHASE,TIER,TYPE,"
			       "LOAN,START,END,GPUS,SUSPENDED,GPUTIME",
			       "RESTARTS,GPUS,GPUTIME", "START,END");
	egs_report_set_view(r,
			    "JOBID,RESTARTS,PHASE,TIER,TYPE,LOAN,START,END,"
			    "GPUS,GPUTIME",
			    "GPUTIME=t");
	if (is_job(name))
		rc = add_attempts(sql, name, err);
	else
		add_kinds(sql, name ? name : "");
	if (rc < 0) {
		sqlite3_free(sqlite3_str_finish(sql));
		return -1;
	}
	add_spans(r, sql, is_job(name) ? "run" : "kind");
	add_columns(r, sql);
	sqlite3_str_appendall(sql,
			      " FROM s JOIN run h ON h.id=s.run JOIN run r ON"
			      " r.id=iif(h.helped_run>0, h.helped_run, h.id)"
			      " JOIN kind k ON k.id=s.kind"
			      " WHERE (s.gpus OR NOT h.helped_run>0)");
	egs_report_add_filter(r, sql, true);
	sqlite3_str_appendall(sql,
			      " ORDER BY s.start, r.job_id, s.end, s.kind");
	return egs_report_add_page(r, sql, err);
}
