/* usage.c - reports of used GPU time, by any keys */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/report/report_internal.h"

#define SUM_COLUMNS  "GPUTIME,RATED,CPUTIME,SUSPENDED,COST,ENERGY"
#define LOSS_COLUMNS ",LOST,TOOK"

/* GPU-seconds that preemptions cost user 'me', and that preemptions for his
 * jobs cost others, by the kind of his job.  A requester may not have used a
 * second yet.
 */
static void add_losses(const struct egs_report *r, sqlite3_str *sql,
		       const char *me)
{
	static const char lost[] = "sum(p.gpus*(lost_work_s+held_s+restart_s))";

	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT 0, r.kind, 0, 0, 0, %s, 0, 0, 0 FROM"
		" preemption p"
		" JOIN run r ON r.job_id=p.job_id AND r.nonce=p.nonce"
		" AND r.restarts=p.restarts WHERE p.user=%Q"
		" AND requested_at>=%lld AND requested_at<=%lld"
		" GROUP BY r.kind"
		" UNION ALL SELECT 0, r.kind, 0, 0, 0, 0, %s, 0, 0 FROM"
		" preemption p"
		" JOIN run r ON r.id=(SELECT id FROM run WHERE job_id=requester"
		" ORDER BY start DESC LIMIT 1) JOIN kind k ON k.id=r.kind"
		" WHERE k.user=%Q AND requested_at>=%lld"
		" AND requested_at<=%lld"
		" GROUP BY r.kind",
		lost, me, (long long)r->from, (long long)r->to, lost, me,
		(long long)r->from, (long long)r->to);
}

/* Energy is known of whole hours. */
static void add_energy(const struct egs_report *r, sqlite3_str *sql)
{
	long long every = r->bucket_s ? r->bucket_s : LLONG_MAX;

	sqlite3_str_appendf(sql,
			    " UNION ALL SELECT at/%lld*%lld, kind, 0, 0, 0, 0,"
			    " 0, energy_s, energy_j FROM gpu_rollup WHERE",
			    every, every);
	egs_report_add_hours(r, sql);
}

static void add_sums(const struct egs_report *r, sqlite3_str *sql,
		     const char *me)
{
	static const char *const seconds[] = {
		"sum(p.gpu_s)",
		"sum(p.gpu_s*rating(k.type))/1000",
		"sum(p.cpu_s)",
		"sum(p.suspended_s)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		sqlite3_str_appendall(sql, ",");
		egs_report_add_in_unit(r, sql, seconds[i]);
	}
	sqlite3_str_appendf(
		sql,
		", printf('%%.2f', sum(p.gpu_s*price(k.type))/3600.0/%d),"
		" iif(sum(p.energy_s), printf('%%.3f', sum(p.energy_j)/3.6e6),"
		" '-')",
		EGS_PRICE_ONE);
	if (!me)
		return;
	sqlite3_str_appendall(sql, ",");
	egs_report_add_in_unit(r, sql, "sum(p.lost)");
	sqlite3_str_appendall(sql, ",");
	egs_report_add_in_unit(r, sql, "sum(p.took)");
}

/* 'me': the user, for the columns LOST and TOOK; NULL: without them. */
static int report_sums(struct egs_report *r, const char *const *keys, int n,
		       bool own, const char *me, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	char columns[256] = "TIME,";
	size_t skip = r->bucket_s ? strlen(columns) : 0;

	egs_report_format_headings(columns + skip, sizeof(columns) - skip, keys,
				   n);
	snprintf(columns + strlen(columns), sizeof(columns) - strlen(columns),
		 "%s", me ? SUM_COLUMNS LOSS_COLUMNS : SUM_COLUMNS);
	egs_report_set_columns(r, columns, SUM_COLUMNS LOSS_COLUMNS, "TIME");
	egs_report_set_view(
		r, NULL,
		"GPUTIME=t,RATED=t,CPUTIME=t,SUSPENDED=t,COST=c,ENERGY=kWh,"
		"LOST=t,TOOK=t");
	egs_report_add_parts(r, sql);
	egs_report_add_keys(sql, r->bucket_s ? "SELECT p.at," : "SELECT ", keys,
			    n);
	add_sums(r, sql, me);
	/* Add up by kind before joining names; with --every that gains nothing.
	 */
	sqlite3_str_appendall(
		sql, r->bucket_s
			     ? " FROM (SELECT at, kind, gpu_s, cpu_s,"
			       " suspended_s, 0 AS lost, 0 AS took,"
			       " 0 AS energy_s, 0 AS energy_j FROM part"
			     : " FROM (SELECT at, kind, sum(gpu_s) AS gpu_s,"
			       " sum(cpu_s) AS cpu_s, sum(suspended_s) AS"
			       " suspended_s, 0 AS lost, 0 AS took,"
			       " 0 AS energy_s, 0 AS energy_j FROM part"
			       " GROUP BY at, kind");
	add_energy(r, sql);
	if (me)
		add_losses(r, sql, me);
	sqlite3_str_appendall(sql, ") p JOIN kind k ON k.id=p.kind WHERE 1");
	if (me)
		sqlite3_str_appendf(sql, " AND k.user=%Q", me);
	egs_report_add_filter(r, sql, own);
	egs_report_add_keys(sql, r->bucket_s ? " GROUP BY p.at," : " GROUP BY ",
			    keys, n);
	/* Hours at the ends have energy from outside of the report. */
	sqlite3_str_appendall(sql, " HAVING sum(p.gpu_s+p.cpu_s+p.suspended_s"
				   "+p.lost+p.took)>0");
	egs_report_add_keys(sql,
			    r->bucket_s ? " ORDER BY p.at,sum(p.gpu_s) DESC,"
					: " ORDER BY sum(p.gpu_s) DESC,",
			    keys, n);
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}

int egs_report_usage(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_get_str(r->request, "by");
	const char *keys[EGS_REPORT_KEYS_MAX];
	int n = egs_report_parse_keys(by ? by : "team", keys, err);

	return n < 0 ? -1
		     : report_sums(r, keys, n, egs_report_is_personal(keys, n),
				   NULL, err);
}

int egs_report_mine(struct egs_report *r, struct egs_err *err)
{
	static const char *const keys[] = { "workload", "phase", "tier", "type",
					    "loan" };
	const char *me = egs_msg_get_str(r->request, "me");

	return report_sums(r, keys, 5, true, me ? me : "", err);
}
