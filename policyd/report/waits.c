/* waits.c - report of how long jobs waited, and why */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/report/report_internal.h"
#include "policyd/store/wait_classes.h"

/* One group of jobs: its waits by class, and the reason of most wait time. */
struct wait_group {
	char key[5][80], cause[80];
	int nkeys;
	uint64_t starts, sum_s;
	uint64_t by_class[EGS_WAIT_CLASSES];
};

/* Single starts at an end of the period, where no whole day fits. */
static void add_single_starts(sqlite3_str *sql, const char *columns,
			      const struct egs_report_piece *p)
{
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT %s FROM (SELECT kind, wait_reason, max(0,"
		" start-max(eligible, submit)) AS w FROM run WHERE start>=%lld"
		" AND start<%lld)",
		columns, (long long)p->from, (long long)p->to);
}

/* Columns 'summed' of 'table' for whole days and more, columns 'single' of the
 * runs at the ends of the period.
 */
static void add_pieces(const struct egs_report *r, sqlite3_str *sql,
		       const char *table, const char *summed,
		       const char *single)
{
	static const int sizes[] = { EGS_DAYS64_S, EGS_DAYS8_S, EGS_DAY_S };
	struct egs_report_piece piece[EGS_REPORT_PIECES_MAX];
	int n = egs_report_split(r->from, r->to, sizes, ARRAY_SIZE(sizes),
				 piece);

	sqlite3_str_appendf(sql, "SELECT %s FROM %s WHERE 0", summed, table);
	for (int i = 0; i < n; i++) {
		if (!piece[i].bucket_s)
			add_single_starts(sql, single, &piece[i]);
		else
			sqlite3_str_appendf(
				sql,
				" UNION ALL SELECT %s FROM %s WHERE bucket_s=%d"
				" AND at>=%lld AND at<%lld",
				summed, table, piece[i].bucket_s,
				(long long)piece[i].from,
				(long long)piece[i].to);
	}
}

/* The longest wait of the class in which 'percent' of the starts is reached. */
static uint64_t find_percentile(const struct wait_group *g, uint64_t percent)
{
	uint64_t n = 0;
	uint32_t class, last = 0;

	for (class = 0; class < EGS_WAIT_CLASSES; class ++) {
		n += g->by_class[class];
		last = g->by_class[class] ? class : last;
		if (g->starts && n * 100 >= g->starts * percent && n)
			break;
	}
	return egs_wait_class_max_s(last);
}

static void add_group_row(struct egs_report *r, const struct wait_group *g)
{
	egs_msg_add_row(r->answer);
	for (int i = 0; i < g->nkeys; i++)
		egs_msg_add_cell(r->answer, *g->key[i] ? g->key[i] : "-");
	egs_msg_add_cell_int(r->answer, (int64_t)g->starts);
	egs_msg_add_cell_int(r->answer,
			     (int64_t)(g->starts ? g->sum_s / g->starts : 0));
	egs_msg_add_cell_int(r->answer, (int64_t)find_percentile(g, 50));
	egs_msg_add_cell_int(r->answer, (int64_t)find_percentile(g, 95));
	egs_msg_add_cell_int(r->answer, (int64_t)find_percentile(g, 100));
	egs_msg_add_cell(r->answer, *g->cause ? g->cause : "-");
}

static const char *get_text(sqlite3_stmt *stmt, int column)
{
	const char *value = (const char *)sqlite3_column_text(stmt, column);

	return value ? value : "";
}

static bool is_same_group(const struct wait_group *g, sqlite3_stmt *stmt)
{
	for (int i = 0; i < g->nkeys; i++)
		if (strcmp(g->key[i], get_text(stmt, i)) != 0)
			return false;
	return true;
}

static void begin_group(struct wait_group *g, sqlite3_stmt *stmt, int nkeys)
{
	memset(g, 0, sizeof(*g));
	g->nkeys = nkeys;
	for (int i = 0; i < nkeys; i++)
		snprintf(g->key[i], sizeof(g->key[i]), "%s", get_text(stmt, i));
	snprintf(g->cause, sizeof(g->cause), "%s", get_text(stmt, nkeys));
}

/* Both return rows in the order of the keys; 'causes' the longest first. */
static int walk_groups(struct egs_report *r, sqlite3_stmt *causes,
		       sqlite3_stmt *classes, int nkeys)
{
	int cause = sqlite3_step(causes), class = sqlite3_step(classes);
	struct wait_group g;

	while (cause == SQLITE_ROW) {
		begin_group(&g, causes, nkeys);
		for (; cause == SQLITE_ROW && is_same_group(&g, causes);
		     cause = sqlite3_step(causes)) {
			g.starts += (uint64_t)sqlite3_column_int64(causes,
								   nkeys + 1);
			g.sum_s += (uint64_t)sqlite3_column_int64(causes,
								  nkeys + 2);
		}
		for (; class == SQLITE_ROW && is_same_group(&g, classes);
		     class = sqlite3_step(classes)) {
			const char *at = get_text(classes, nkeys);
			uint32_t each;
			uint64_t n;

			while ((at = egs_wait_class_parse(at, &each, &n)))
				if (each < EGS_WAIT_CLASSES)
					g.by_class[each] += n;
		}
		add_group_row(r, &g);
	}
	return cause == SQLITE_DONE && class == SQLITE_DONE ? 0 : -1;
}

static void set_columns(struct egs_report *r, const char *const *keys, int n)
{
	char columns[256];
	size_t len;

	egs_report_format_headings(columns, sizeof(columns), keys, n);
	len = strlen(columns);
	snprintf(columns + len, sizeof(columns) - len,
		 "STARTS,MEAN,P50,P95,MAX,CAUSE");
	egs_report_set_columns(r, columns, "STARTS,MEAN,P50,P95,MAX", "");
	egs_report_set_view(r, NULL, "MEAN=s,P50=s,P95=s,MAX=s");
}

/* Starts and wait time for each cause of a group. */
static sqlite3_stmt *prepare_causes(struct egs_report *r,
				    const char *const *keys, int n,
				    struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_add_keys(sql, "SELECT ", keys, n);
	sqlite3_str_appendall(sql, ", c.reason, sum(c.starts), sum(c.wait_s)"
				   " FROM (SELECT kind, reason, sum(starts) AS"
				   " starts, sum(wait_s) AS wait_s FROM (");
	add_pieces(r, sql, "wait_reason", "kind, reason, starts, wait_s",
		   "kind, wait_reason, 1, w");
	sqlite3_str_appendall(sql, ") GROUP BY kind, reason) c"
				   " JOIN kind k ON k.id=c.kind WHERE 1");
	egs_report_add_filter(r, sql, false);
	egs_report_add_keys(sql, " GROUP BY ", keys, n);
	egs_report_add_keys(sql, ", c.reason ORDER BY ", keys, n);
	sqlite3_str_appendall(sql, ", sum(c.wait_s) DESC, c.reason");
	return egs_report_prepare(r, sql, err);
}

static sqlite3_stmt *prepare_classes(struct egs_report *r,
				     const char *const *keys, int n,
				     struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	egs_report_add_keys(sql, "SELECT ", keys, n);
	sqlite3_str_appendall(sql, ", w.classes FROM (");
	add_pieces(r, sql, "wait", "kind, classes",
		   "kind, wait_class(w)||':1'");
	sqlite3_str_appendall(sql, ") w JOIN kind k ON k.id=w.kind WHERE 1");
	egs_report_add_filter(r, sql, false);
	egs_report_add_keys(sql, " ORDER BY ", keys, n);
	return egs_report_prepare(r, sql, err);
}

int egs_report_waits(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_get_str(r->request, "by");
	const char *keys[EGS_REPORT_KEYS_MAX];
	int n = egs_report_parse_keys(by ? by : "tier,phase", keys, err),
	    rc = -1;
	sqlite3_stmt *causes, *classes = NULL;

	if (n < 0)
		return -1;
	if (n > 5)
		return egs_errf(err, "--by takes at most 5 keys for waits");
	set_columns(r, keys, n);
	causes = prepare_causes(r, keys, n, err);
	if (causes)
		classes = prepare_classes(r, keys, n, err);
	if (classes) {
		rc = walk_groups(r, causes, classes, n);
		if (rc < 0)
			egs_report_fail(r, err);
	}
	sqlite3_finalize(causes);
	sqlite3_finalize(classes);
	return rc;
}
