/* wastage.c - report of the Wastage Ratio and its causes */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "policyd/accounting/wastage.h"
#include "policyd/report/report_internal.h"

void egs_report_add_tallies(const struct egs_report *r, sqlite3_str *sql,
			    const char *scopes)
{
	long long every = r->bucket_s ? r->bucket_s : LLONG_MAX;

	sqlite3_str_appendf(sql,
			    "SELECT at/%lld*%lld AS at, scope, metric,"
			    " sum(amount) AS amount FROM tally WHERE",
			    every, every);
	egs_report_add_hours(r, sql);
	sqlite3_str_appendf(sql, " AND scope GLOB %Q GROUP BY 1, scope, metric",
			    scopes);
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

/* Append ",CAUSE" and 'suffix' for each cause. */
static void append_causes(struct egs_text *text, const char *suffix)
{
	struct egs_text name;

	for (int i = 0; i < EGS_CAUSES; i++) {
		egs_textf(&name, "%s",
			  egs_wastage_cause_name((enum egs_wastage_cause)i));
		for (char *c = name.text; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		egs_text_append(text, ",%s%s", name.text, suffix);
	}
}

#define COLUMNS                                                       \
	"TIME,SCOPE,WR,WRFIT,WRGPU,WRHELD,SEEN,CAPACITY,IDLE,WASTED," \
	"HELD"

/* Only --long shows the causes. */
static void set_columns(struct egs_report *r)
{
	const size_t skip = r->bucket_s ? 0 : strlen("TIME,");
	struct egs_text units = { "SEEN=t,CAPACITY=t,IDLE=t,WASTED=t,HELD=t" };
	struct egs_text columns = { COLUMNS };

	append_causes(&columns, "");
	append_causes(&units, "=t");
	egs_report_set_columns(r, columns.text + skip,
			       columns.text + strlen("TIME,SCOPE,"), "TIME");
	egs_report_set_view(r, &(COLUMNS)[skip], units.text);
}

/* Every other metric is a cause of waste. */
#define WASTED                                                        \
	"sum(iif(metric IN ('seen', 'capacity', 'idle', 'wr', 'fit'," \
	" 'measured', 'held', 'wrheld'), 0, amount))"

/* Whether GPUs that jobs hold were measured. */
#define MEASURED "sum(metric='measured')"

int egs_report_wastage(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	set_columns(r);
	sqlite3_str_appendall(sql, "WITH t AS (");
	egs_report_add_tallies(r, sql, "[gc]pu*");
	sqlite3_str_appendall(sql, ") SELECT ");
	sqlite3_str_appendall(sql, r->bucket_s ? "at, " : "");
	sqlite3_str_appendall(sql, "replace(scope, '/', ' ')");
	add_ratio(sql, "wr", "seen");
	add_ratio(sql, "fit", "seen");
	sqlite3_str_appendall(sql,
			      ", printf('%.4f', ifnull(1.0*" WASTED
			      "/sum(iif(metric='capacity', amount, 0)), 0))"
			      ", iif(" MEASURED);
	add_ratio(sql, "wrheld", "seen");
	sqlite3_str_appendall(sql, ", '-')");
	add_time(r, sql, "seen");
	add_time(r, sql, "capacity");
	add_time(r, sql, "idle");
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, WASTED);
	sqlite3_str_appendall(sql, ", iif(" MEASURED);
	add_time(r, sql, "held");
	sqlite3_str_appendall(sql, ", '-')");
	for (int i = 0; i < EGS_CAUSES; i++)
		add_time(r, sql,
			 egs_wastage_cause_name((enum egs_wastage_cause)i));
	sqlite3_str_appendall(sql, " FROM t GROUP BY at, scope ORDER BY at,"
				   " scope NOT LIKE 'gpu%', scope");
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}
