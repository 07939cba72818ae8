/* report_wastage.c - the Wastage Ratio, and what it is made of */
#include <stdio.h>
#include <string.h>

#include "policyd/core/wastage.h"
#include "policyd/report_impl.h"

/* "scope, metric, amount" of the hours and days from 'from' to 'to': whole
 * ones, the first and the last included.
 */
void egs_report_tallies(const struct egs_report *r, sqlite3_str *sql,
			const char *scopes)
{
	egs_time_t from = r->from / EGS_HOUR_S * EGS_HOUR_S, to = r->to;
	egs_time_t day[2] = { (from + EGS_DAY_S - 1) / EGS_DAY_S * EGS_DAY_S,
			      to / EGS_DAY_S * EGS_DAY_S };

	if (day[1] <= day[0])
		day[0] = day[1] = to;
	sqlite3_str_appendf(
		sql,
		"SELECT scope, metric, sum(amount) AS amount FROM tally"
		" WHERE (size=86400 AND at>=%lld AND at<%lld OR size=3600"
		" AND (at>=%lld AND at<%lld OR at>=%lld AND at<%lld))"
		" AND scope GLOB %Q GROUP BY scope, metric",
		(long long)day[0], (long long)day[1], (long long)from,
		(long long)day[0], (long long)day[1], (long long)to, scopes);
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
	egs_report_unit(r, sql, seconds);
}

/* What is none of these is a cause. */
#define WASTED                                                             \
	"sum(iif(metric IN ('seen', 'capacity', 'idle', 'wr', 'fit'), 0, " \
	"amount))"

int egs_report_wastage(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);
	char columns[512] = "SCOPE,WR,WRFIT,WRGPU,SEEN,CAPACITY,IDLE,WASTED";
	int i;

	for (i = 0; i < EGS_CAUSES; i++) {
		const char *c = egs_cause_name((enum egs_cause)i);
		size_t at = strlen(columns);

		columns[at++] = ',';
		for (; *c; c++)
			columns[at++] = (char)(*c - 'a' + 'A');
		columns[at] = '\0';
	}
	egs_report_columns(r, columns, columns + strlen("SCOPE,"), "");
	sqlite3_str_appendall(sql, "WITH t AS (");
	egs_report_tallies(r, sql, "[gc]pu*");
	sqlite3_str_appendall(sql, ") SELECT replace(scope, '/', ' ')");
	add_ratio(sql, "wr", "seen");
	add_ratio(sql, "fit", "seen");
	sqlite3_str_appendall(sql,
			      ", printf('%.4f', ifnull(1.0*" WASTED
			      "/sum(iif(metric='capacity', amount, 0)), 0))");
	add_time(r, sql, "seen");
	add_time(r, sql, "capacity");
	add_time(r, sql, "idle");
	sqlite3_str_appendall(sql, ", ");
	egs_report_unit(r, sql, WASTED);
	for (i = 0; i < EGS_CAUSES; i++)
		add_time(r, sql, egs_cause_name((enum egs_cause)i));
	sqlite3_str_appendall(
		sql, " FROM t GROUP BY scope ORDER BY scope NOT LIKE 'gpu%',"
		     " scope");
	return egs_report_rows(r, sql, err) < 0 ? -1 : 0;
}
