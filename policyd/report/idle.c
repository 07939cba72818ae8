/* idle.c - report of GPUs that jobs held and did not use
 *
 * Without keys it has a row for each attempt, from the cells of five minutes.
 * With keys it has sums of hours, which are kept longer.
 */
#include <stdio.h>
#include <string.h>

#include "policyd/report/report_internal.h"
#include "policyd/store/gpu_use.h"

#define SUM_COLUMNS "HELD,IDLE,EMPTY,SHARE"
#define SUM_UNITS   "HELD=t,IDLE=t,EMPTY=t,SHARE=%"

/* GPU-seconds in an attempt that are worth a row. */
enum { IDLE_MIN_S = 60 };

/* The columns of SUM_COLUMNS; what was never known is "-". */
static void add_sums(const struct egs_report *r, sqlite3_str *sql)
{
	static const struct {
		const char *known, *seconds;
	} times[] = {
		{ "sum(p.held_s)", "sum(p.held_s)" },
		{ "sum(p.sm_s)", "sum(p.idle_s)" },
		{ "sum(p.process_s)", "sum(p.empty_s)" },
	};

	for (int i = 0; i < 3; i++) {
		sqlite3_str_appendf(sql, ", iif(%s, ", times[i].known);
		egs_report_add_in_unit(r, sql, times[i].seconds);
		sqlite3_str_appendall(sql, ", '-')");
	}
	sqlite3_str_appendall(
		sql, ", iif(sum(p.sm_s), 100*sum(p.idle_s)/sum(p.sm_s), '-')");
}

static int report_sums(struct egs_report *r, const char *by,
		       struct egs_err *err)
{
	const char *keys[EGS_REPORT_KEYS_MAX];
	int n = egs_report_parse_keys(by, keys, err);
	char columns[256];
	sqlite3_str *sql;

	if (n < 0)
		return -1;
	egs_report_format_headings(columns, sizeof(columns), keys, n);
	snprintf(columns + strlen(columns), sizeof(columns) - strlen(columns),
		 SUM_COLUMNS);
	egs_report_set_columns(r, columns, SUM_COLUMNS, "");
	egs_report_set_view(r, NULL, SUM_UNITS);
	sql = sqlite3_str_new(r->db);
	egs_report_add_keys(sql, "SELECT ", keys, n);
	add_sums(r, sql);
	sqlite3_str_appendall(
		sql, " FROM (SELECT kind, sampled_s AS held_s, sm_s, idle_s,"
		     " process_s, empty_s FROM gpu_rollup WHERE");
	egs_report_add_hours(r, sql);
	sqlite3_str_appendall(sql, ") p JOIN kind k ON k.id=p.kind WHERE 1");
	egs_report_add_filter(r, sql, egs_report_is_personal(keys, n));
	egs_report_add_keys(sql, " GROUP BY ", keys, n);
	egs_report_add_keys(sql, " ORDER BY sum(p.idle_s) DESC,", keys, n);
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}

/* The user with most idle time comes first, and his worst attempt. */
static int report_attempts(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r,
			       "JOBID,RESTARTS,USER,TEAM,PHASE,WORKLOAD,TYPE,"
			       "GPUS," SUM_COLUMNS ",STATE",
			       "RESTARTS,GPUS," SUM_COLUMNS, "");
	egs_report_set_view(
		r, "JOBID,USER,TEAM,PHASE,TYPE,GPUS," SUM_COLUMNS ",STATE",
		SUM_UNITS);
	sqlite3_str_appendf(
		sql,
		"WITH c AS (SELECT run, count(DISTINCT node*64+gpu) AS gpus,"
		" sum(sampled_s) AS held_s, sum((idle_s>=0)*sampled_s) AS sm_s,"
		" sum(max(idle_s, 0)) AS idle_s,"
		" sum((empty_s>=0)*sampled_s) AS process_s,"
		" sum(max(empty_s, 0)) AS empty_s FROM gpu_cell WHERE"
		" id>=%lld AND id<%lld GROUP BY run)"
		" SELECT iif(r.array_job_id>0 AND r.task<4294967295,"
		" r.array_job_id||'_'||r.task, ''||r.job_id), r.restarts,"
		" k.user, k.team, k.phase, k.workload, k.type, p.gpus",
		(long long)egs_gpu_cell_id(r->from),
		(long long)egs_gpu_cell_id(r->to + EGS_GPU_CELL_S - 1));
	add_sums(r, sql);
	sqlite3_str_appendf(
		sql,
		", iif(r.end, r.end_state, 'RUNNING') FROM c p JOIN run r ON"
		" r.id=p.run JOIN kind k ON k.id=r.kind WHERE"
		" (p.idle_s>=%d OR p.empty_s>=%d)",
		IDLE_MIN_S, IDLE_MIN_S);
	egs_report_add_filter(r, sql, true);
	sqlite3_str_appendall(
		sql, " GROUP BY r.id ORDER BY sum(p.idle_s) OVER (PARTITION BY"
		     " k.user) DESC, k.user, p.idle_s DESC, r.id");
	return egs_report_add_page(r, sql, err);
}

int egs_report_idle(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_get_str(r->request, "by");

	return by ? report_sums(r, by, err) : report_attempts(r, err);
}
