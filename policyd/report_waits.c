/* report_waits.c - how long jobs waited, and for what */
#include <stdio.h>
#include <string.h>

#include "policyd/report_impl.h"

/* One group of jobs, its waits added class by class. */
struct group {
	char key[5][80];
	int nkeys;
	uint64_t n, sum_s, most_s, p50_s, p95_s, at;
};

static void add_edge(sqlite3_str *sql, egs_time_t from, egs_time_t to)
{
	if (from < to)
		sqlite3_str_appendf(
			sql,
			" UNION ALL SELECT kind, cause, wait_class(w), 1, w"
			" FROM (SELECT kind, cause, max(0, start-max(eligible,"
			" submit)) AS w FROM run WHERE start>=%lld AND"
			" start<%lld)",
			(long long)from, (long long)to);
}

/* "w (kind, cause, class, n, sum_s)": of whole days, and of the runs of the
 * days at the ends.
 */
static void add_waits(const struct egs_report *r, sqlite3_str *sql)
{
	struct egs_report_span s = egs_report_whole(r);

	sqlite3_str_appendf(sql,
			    "WITH w (kind, cause, class, n, sum_s) AS (SELECT"
			    " kind, cause, class, n, sum_s FROM wait WHERE"
			    " at>=%lld AND at<%lld",
			    (long long)s.day[0], (long long)s.day[1]);
	add_edge(sql, r->from, s.day[0]);
	add_edge(sql, s.day[1], r->to);
	sqlite3_str_appendall(sql, ")");
}

static void add_group(struct egs_report *r, const struct group *g,
		      const char *cause)
{
	int i;

	egs_msg_row(r->answer);
	for (i = 0; i < g->nkeys; i++)
		egs_msg_cell(r->answer, *g->key[i] ? g->key[i] : "-");
	egs_msg_cell_int(r->answer, (int64_t)g->n);
	egs_msg_cell_int(r->answer, (int64_t)(g->n ? g->sum_s / g->n : 0));
	egs_msg_cell_int(r->answer, (int64_t)g->p50_s);
	egs_msg_cell_int(r->answer, (int64_t)g->p95_s);
	egs_msg_cell_int(r->answer, (int64_t)g->most_s);
	egs_msg_cell(r->answer, cause && *cause ? cause : "-");
}

/* Rows of one group come together, by class; 'all' is how many it has. */
static void add_class(struct group *g, uint32_t class, uint64_t n, uint64_t all)
{
	uint64_t wait_s = egs_wait_of_class(class);

	if (g->at * 2 < all && (g->at + n) * 2 >= all)
		g->p50_s = wait_s;
	if (g->at * 20 < all * 19 && (g->at + n) * 20 >= all * 19)
		g->p95_s = wait_s;
	g->at += n;
	g->most_s = wait_s;
}

static bool same_group(const struct group *g, sqlite3_stmt *stmt)
{
	int i;

	for (i = 0; i < g->nkeys; i++)
		if (strcmp(g->key[i],
			   (const char *)sqlite3_column_text(stmt, i)) != 0)
			return false;
	return g->n > 0;
}

static int walk(struct egs_report *r, sqlite3_stmt *stmt, int nkeys)
{
	struct group g = { .nkeys = nkeys };
	char cause[80] = "";
	int rc, i;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (!same_group(&g, stmt)) {
			if (g.n)
				add_group(r, &g, cause);
			memset(&g, 0, sizeof(g));
			g.nkeys = nkeys;
			for (i = 0; i < nkeys; i++)
				snprintf(g.key[i], sizeof(g.key[i]), "%s",
					 (const char *)sqlite3_column_text(stmt,
									   i));
			g.n = (uint64_t)sqlite3_column_int64(stmt, nkeys + 2);
			g.sum_s =
				(uint64_t)sqlite3_column_int64(stmt, nkeys + 3);
			snprintf(cause, sizeof(cause), "%s",
				 (const char *)sqlite3_column_text(stmt,
								   nkeys + 4));
		}
		add_class(&g, (uint32_t)sqlite3_column_int64(stmt, nkeys),
			  (uint64_t)sqlite3_column_int64(stmt, nkeys + 1), g.n);
	}
	if (g.n)
		add_group(r, &g, cause);
	return rc;
}

/* Words and the keys behind them: " GROUP BY x.tier, x.phase". */
static void add_keys(sqlite3_str *sql, const char *words, const char *of,
		     const char *const *keys, int n)
{
	int i;

	sqlite3_str_appendall(sql, words);
	for (i = 0; i < n; i++)
		sqlite3_str_appendf(sql, "%s%s%s", i ? ", " : "", of, keys[i]);
}

static void add_columns(struct egs_report *r, const char *const *keys, int n)
{
	char columns[256] = "";
	size_t at = 0;
	int i;

	for (i = 0; i < n; i++) {
		const char *c = keys[i];

		for (; *c && at < sizeof(columns) - 64; c++)
			columns[at++] = (char)(*c - 'a' + 'A');
		columns[at++] = ',';
	}
	snprintf(columns + at, sizeof(columns) - at,
		 "STARTS,MEAN,P50,P95,MAX,CAUSE");
	egs_report_columns(r, columns, "STARTS,MEAN,P50,P95,MAX", "");
}

/* Each class of each group, with the sums of the group and the cause that
 * took most of its time.
 */
static void add_query(struct egs_report *r, sqlite3_str *sql,
		      const char *const *keys, int n)
{
	add_waits(r, sql);
	add_keys(sql, ", x AS MATERIALIZED (SELECT ", "k.", keys, n);
	sqlite3_str_appendall(sql, ", w.class, w.cause, sum(w.n) AS n,"
				   " sum(w.sum_s) AS sum_s FROM (SELECT kind,"
				   " cause, class, sum(n) AS n, sum(sum_s) AS"
				   " sum_s FROM w GROUP BY kind, cause, class)"
				   " w JOIN kind k ON k.id=w.kind WHERE 1");
	egs_report_where(r, sql, false);
	add_keys(sql, " GROUP BY ", "k.", keys, n);
	sqlite3_str_appendall(sql, ", w.class, w.cause");
	add_keys(sql, "), c AS (SELECT ", "", keys, n);
	add_keys(sql, ", cause, row_number() OVER (PARTITION BY ", "", keys, n);
	add_keys(sql,
		 " ORDER BY sum(sum_s) DESC, cause) AS rank FROM x GROUP BY ",
		 "", keys, n);
	add_keys(sql, ", cause), y AS (SELECT ", "", keys, n);
	add_keys(sql, ", sum(n) AS n, sum(sum_s) AS sum_s FROM x GROUP BY ", "",
		 keys, n);
	add_keys(sql, ") SELECT ", "x.", keys, n);
	add_keys(sql,
		 ", x.class, sum(x.n), y.n, y.sum_s, c.cause FROM x"
		 " JOIN y USING (",
		 "", keys, n);
	add_keys(sql, ") JOIN c USING (", "", keys, n);
	add_keys(sql, ") WHERE c.rank=1 GROUP BY ", "x.", keys, n);
	add_keys(sql, ", x.class ORDER BY ", "x.", keys, n);
	sqlite3_str_appendall(sql, ", x.class");
}

int egs_report_waits(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_str(r->request, "by");
	const char *keys[EGS_REPORT_KEYS];
	int n = egs_report_keys(by ? by : "tier,phase", keys, err), rc;
	sqlite3_str *sql;
	sqlite3_stmt *stmt;

	if (n < 0)
		return -1;
	if (n > 5)
		return egs_errf(err, "--by takes no more than 5 keys here");
	add_columns(r, keys, n);
	sql = sqlite3_str_new(r->db);
	add_query(r, sql, keys, n);
	stmt = egs_report_prepare(r, sql, err);
	if (!stmt)
		return -1;
	rc = walk(r, stmt, n);
	if (rc != SQLITE_DONE)
		egs_errf(err, "store: %s", sqlite3_errmsg(r->db));
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}
