/* workload.c - report of a workload: its phases, tiers and types over time
 *
 * The report adds sums of days, and spans at the ends of the period.  An
 * attempt counts for a phase, tier and type if it got them in the period or had
 * them when the period began.  A helper job does not count as an attempt.
 */
#include <string.h>

#include "common/base/array.h"
#include "policyd/report/report_internal.h"

/* The attempt of span 's' had this workload, phase, tier and type before, or is
 * a helper job.
 */
#define WAS_EARLIER                                                            \
	"(EXISTS (SELECT 1 FROM span e JOIN kind f ON f.id=e.kind JOIN kind g" \
	" ON g.id=s.kind AND g.workload=f.workload AND g.phase=f.phase AND"    \
	" g.tier=f.tier AND g.type=f.type WHERE e.run=s.run AND"               \
	" e.start<s.start) OR s.run IN (SELECT id FROM run WHERE"              \
	" helped_run>0))"

/* Kinds of the workload NAME and of its stages NAME/STAGE. */
static void add_kinds(const struct egs_report *r, sqlite3_str *sql)
{
	const char *name = egs_msg_get_str(r->request, "name");

	name = name ? name : "";
	sqlite3_str_appendf(sql,
			    "WITH w AS (SELECT id FROM kind k WHERE"
			    " (workload=%Q OR substr(workload, 1, %d)=%Q||'/')",
			    name, (int)strlen(name) + 1, name);
	egs_report_add_filter(r, sql, false);
	sqlite3_str_appendall(sql, ")");
}

/* "kind, runs, first, last, gpus, gpu_s" of the spans that begin in piece 'p',
 * which is less than a day.
 */
static void add_spans(sqlite3_str *sql, const struct egs_report_piece *p)
{
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT kind, NOT " WAS_EARLIER ", start,"
		" min(end, %lld), gpus, (NOT suspended)*gpus*(min(end, %lld)"
		"-start) FROM span s INDEXED BY span_kind WHERE kind IN w AND"
		" start>=%lld AND start<%lld",
		(long long)p->to, (long long)p->to, (long long)p->from,
		(long long)p->to);
}

static void add_days(sqlite3_str *sql, const struct egs_report_piece *p)
{
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT kind, runs, first, last, gpus,"
		" gpu_s FROM rollup WHERE bucket_s=%d AND at>=%lld AND"
		" at<%lld AND kind IN w",
		p->bucket_s, (long long)p->from, (long long)p->to);
}

/* What ran when the period began.  A span that begins exactly then, because
 * spans are cut at midnight, counts here only as an attempt.
 */
static void add_carried_over(const struct egs_report *r, sqlite3_str *sql)
{
	const long long from = r->from, to = r->to;

	sqlite3_str_appendf(
		sql,
		"SELECT kind, 1, %lld, min(end, %lld), gpus, (NOT suspended)"
		"*gpus*(min(end, %lld)-%lld) FROM span INDEXED BY span_kind"
		" WHERE kind IN w AND start>=%lld AND start<%lld AND end>%lld"
		" UNION ALL SELECT kind, 1, start, min(end, %lld), gpus, 0 FROM"
		" span s INDEXED BY span_kind WHERE kind IN w AND start=%lld"
		" AND " WAS_EARLIER,
		from, to, to, from, from - EGS_DAY_S, from, from, to, from);
}

static void add_open_spans(const struct egs_report *r, sqlite3_str *sql)
{
	const long long from = r->from, to = r->to;

	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT kind, start<=%lld OR NOT " WAS_EARLIER
		", max(start, %lld), %lld, gpus, (NOT suspended)*gpus*(%lld"
		"-max(start, %lld)) FROM open_span s WHERE kind IN w AND "
		"start<%lld",
		from, from, to, to, from, to);
}

int egs_report_workload(struct egs_report *r, struct egs_err *err)
{
	static const int sizes[] = { EGS_DAY_S };
	struct egs_report_piece piece[EGS_REPORT_PIECES_MAX];
	int n = egs_report_split(r->from, r->to, sizes, ARRAY_SIZE(sizes),
				 piece);
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_set_columns(r,
			       "WORKLOAD,PHASE,TIER,TYPE,RUNS,FIRST,LAST,GPUS,"
			       "GPUTIME,COST",
			       "RUNS,GPUS,GPUTIME,COST", "FIRST,LAST");
	egs_report_set_view(r, NULL, "GPUTIME=t,COST=c");
	add_kinds(r, sql);
	sqlite3_str_appendall(sql, ", s (kind, runs, first, last, gpus, gpu_s)"
				   " AS (");
	add_carried_over(r, sql);
	add_open_spans(r, sql);
	for (int i = 0; i < n; i++) {
		if (piece[i].bucket_s)
			add_days(sql, &piece[i]);
		else
			add_spans(sql, &piece[i]);
	}
	sqlite3_str_appendall(sql, ") SELECT k.workload, k.phase, k.tier,"
				   " k.type, sum(s.runs), min(s.first),"
				   " max(s.last), max(s.gpus), ");
	egs_report_add_in_unit(r, sql, "sum(s.gpu_s)");
	sqlite3_str_appendf(sql,
			    ", printf('%%.2f', sum(s.gpu_s)*price(k.type)"
			    "/3600.0/%d) FROM s JOIN kind k ON k.id=s.kind"
			    " GROUP BY k.workload, k.phase, k.tier, k.type"
			    " HAVING sum(s.runs) OR sum(s.gpu_s)"
			    " ORDER BY min(s.first), k.workload, k.phase",
			    EGS_PRICE_ONE);
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}
