/* wastage.c - report of the Wastage Ratio and its causes */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "policyd/accounting/wastage.h"
#include "policyd/report/report_internal.h"

void egs_report_add_tallies(const struct egs_report *r, sqlite3_str *sql,
			    const char *scopes)
{
	struct egs_report_piece piece[EGS_REPORT_PIECES_MAX];
	const int *sizes;
	int nsizes = egs_report_bucket_sizes(r, &sizes);
	long long every = r->bucket_s ? r->bucket_s : LLONG_MAX;
	int n = egs_report_split(r->from / EGS_HOUR_S * EGS_HOUR_S,
				 (r->to + EGS_HOUR_S - 1) / EGS_HOUR_S *
					 EGS_HOUR_S,
				 sizes, nsizes, piece);

	sqlite3_str_appendf(sql,
			    "SELECT at/%lld*%lld AS at, scope, metric,"
			    " sum(amount) AS amount FROM tally WHERE (0",
			    every, every);
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(sql,
				    " OR bucket_s=%d AND at>=%lld AND at<%lld",
				    piece[i].bucket_s, (long long)piece[i].from,
				    (long long)piece[i].to);
	sqlite3_str_appendf(
		sql, ") AND scope GLOB %Q GROUP BY 1, scope, metric", scopes);
}

static void add_ratio(sqlite3_str *sql, const char *part, const char *whole)
{
	sqlite3_str_appendf(sql,
			    ", printf('%%.4f', ifnull(1.0*sum(iif(metric=%Q,"
			    " amount, 0))/sum(iif(metric=%Q, amount, 0)), 0))",
			    part, whole);
}

static void add_time(const struct egs_report *r, sqlite3_str *sql,
		     const char *metric)
{
	char seconds[96];

	snprintf(seconds, sizeof(seconds), "sum(iif(metric='%s', amount, 0))",
		 metric);
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, seconds);
}

/* Every other metric is a cause of waste. */
#define WASTED                                                             \
	"sum(iif(metric IN ('seen', 'capacity', 'idle', 'wr', 'fit'), 0, " \
	"amount))"

int egs_report_wastage(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	char columns[512] =
		"TIME,SCOPE,WR,WRFIT,WRGPU,SEEN,CAPACITY,IDLE,WASTED";
	const char *shown = r->bucket_s ? columns : columns + strlen("TIME,");

	for (int i = 0; i < EGS_CAUSES; i++) {
		const char *c =
			egs_wastage_cause_name((enum egs_wastage_cause)i);
		size_t at = strlen(columns);

		columns[at++] = ',';
		for (; *c; c++)
			columns[at++] = (char)(*c - 'a' + 'A');
		columns[at] = '\0';
	}
	egs_report_set_columns(r, shown, columns + strlen("TIME,SCOPE,"),
			       "TIME");
	sqlite3_str_appendall(sql, "WITH t AS (");
	egs_report_add_tallies(r, sql, "[gc]pu*");
	sqlite3_str_appendall(sql, ") SELECT ");
	sqlite3_str_appendall(sql, r->bucket_s ? "at, " : "");
	sqlite3_str_appendall(sql, "replace(scope, '/', ' ')");
	add_ratio(sql, "wr", "seen");
	add_ratio(sql, "fit", "seen");
	sqlite3_str_appendall(sql,
			      ", printf('%.4f', ifnull(1.0*" WASTED
			      "/sum(iif(metric='capacity', amount, 0)), 0))");
	add_time(r, sql, "seen");
	add_time(r, sql, "capacity");
	add_time(r, sql, "idle");
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, WASTED);
	for (int i = 0; i < EGS_CAUSES; i++)
		add_time(r, sql,
			 egs_wastage_cause_name((enum egs_wastage_cause)i));
	sqlite3_str_appendall(sql, " FROM t GROUP BY at, scope ORDER BY at,"
				   " scope NOT LIKE 'gpu%', scope");
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}
