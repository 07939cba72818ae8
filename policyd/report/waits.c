/* waits.c - how long jobs waited, and for what */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/report/report_internal.h"

/* One group of jobs: its waits by class, the cause of most of its time. */
struct group {
	char key[5][80], cause[80];
	int nkeys;
	uint64_t n, sum_s;
	uint64_t by_class[EGS_WAIT_CLASSES];
};

/* The starts of an end of the period, one by one. */
static void add_edge(sqlite3_str *sql, const char *columns,
		     const struct egs_report_piece *p)
{
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT %s FROM (SELECT kind, cause, max(0,"
		" start-max(eligible, submit)) AS w FROM run WHERE start>=%lld"
		" AND start<%lld)",
		columns, (long long)p->from, (long long)p->to);
}

/* Of whole days and weeks 'summed' of 'table', of the runs at the ends
 * 'single'.
 */
static void add_pieces(const struct egs_report *r, sqlite3_str *sql,
		       const char *table, const char *summed,
		       const char *single)
{
	static const int sizes[] = { EGS_DAYS64_S, EGS_DAYS8_S, EGS_DAY_S };
	struct egs_report_piece piece[EGS_REPORT_PIECES];
	int n = egs_report_cut(r->from, r->to, sizes, ARRAY_SIZE(sizes), piece);
	int i;

	sqlite3_str_appendf(sql, "SELECT %s FROM %s WHERE 0", summed, table);
	for (i = 0; i < n; i++) {
		if (!piece[i].size)
			add_edge(sql, single, &piece[i]);
		else
			sqlite3_str_appendf(
				sql,
				" UNION ALL SELECT %s FROM %s WHERE size=%d"
				" AND at>=%lld AND at<%lld",
				summed, table, piece[i].size,
				(long long)piece[i].from,
				(long long)piece[i].to);
	}
}

/* The longest wait of the class that the share 'of' in 100 is reached in. */
static uint64_t percentile(const struct group *g, uint64_t of)
{
	uint64_t n = 0;
	uint32_t class, last = 0;

	for (class = 0; class < EGS_WAIT_CLASSES; class ++) {
		n += g->by_class[class];
		last = g->by_class[class] ? class : last;
		if (g->n && n * 100 >= g->n * of && n)
			break;
	}
	return egs_wait_of_class(last);
}

static void add_group(struct egs_report *r, const struct group *g)
{
	int i;

	egs_msg_row(r->answer);
	for (i = 0; i < g->nkeys; i++)
		egs_msg_cell(r->answer, *g->key[i] ? g->key[i] : "-");
	egs_msg_cell_int(r->answer, (int64_t)g->n);
	egs_msg_cell_int(r->answer, (int64_t)(g->n ? g->sum_s / g->n : 0));
	egs_msg_cell_int(r->answer, (int64_t)percentile(g, 50));
	egs_msg_cell_int(r->answer, (int64_t)percentile(g, 95));
	egs_msg_cell_int(r->answer, (int64_t)percentile(g, 100));
	egs_msg_cell(r->answer, *g->cause ? g->cause : "-");
}

static const char *text(sqlite3_stmt *stmt, int column)
{
	const char *value = (const char *)sqlite3_column_text(stmt, column);

	return value ? value : "";
}

static bool same_group(const struct group *g, sqlite3_stmt *stmt)
{
	int i;

	for (i = 0; i < g->nkeys; i++)
		if (strcmp(g->key[i], text(stmt, i)) != 0)
			return false;
	return true;
}

static void begin_group(struct group *g, sqlite3_stmt *stmt, int nkeys)
{
	int i;

	memset(g, 0, sizeof(*g));
	g->nkeys = nkeys;
	for (i = 0; i < nkeys; i++)
		snprintf(g->key[i], sizeof(g->key[i]), "%s", text(stmt, i));
	snprintf(g->cause, sizeof(g->cause), "%s", text(stmt, nkeys));
}

/* Both come in the order of the keys, the causes of a group longest first. */
static int walk(struct egs_report *r, sqlite3_stmt *causes,
		sqlite3_stmt *classes, int nkeys)
{
	int cause = sqlite3_step(causes), class = sqlite3_step(classes);
	struct group g;

	while (cause == SQLITE_ROW) {
		begin_group(&g, causes, nkeys);
		for (; cause == SQLITE_ROW && same_group(&g, causes);
		     cause = sqlite3_step(causes)) {
			g.n += (uint64_t)sqlite3_column_int64(causes,
							      nkeys + 1);
			g.sum_s += (uint64_t)sqlite3_column_int64(causes,
								  nkeys + 2);
		}
		for (; class == SQLITE_ROW && same_group(&g, classes);
		     class = sqlite3_step(classes)) {
			const char *at = text(classes, nkeys);
			uint32_t each;
			uint64_t n;

			while ((at = egs_wait_next(at, &each, &n)))
				if (each < EGS_WAIT_CLASSES)
					g.by_class[each] += n;
		}
		add_group(r, &g);
	}
	return cause == SQLITE_DONE && class == SQLITE_DONE ? 0 : -1;
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

/* How many started for each cause of a group, and what they waited. */
static sqlite3_stmt *ask_causes(struct egs_report *r, const char *const *keys,
				int n, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	add_keys(sql, "SELECT ", "k.", keys, n);
	sqlite3_str_appendall(sql, ", c.cause, sum(c.n), sum(c.sum_s) FROM"
				   " (SELECT kind, cause, sum(n) AS n,"
				   " sum(sum_s) AS sum_s FROM (");
	add_pieces(r, sql, "cause", "kind, cause, n, sum_s",
		   "kind, cause, 1, w");
	sqlite3_str_appendall(sql, ") GROUP BY kind, cause) c"
				   " JOIN kind k ON k.id=c.kind WHERE 1");
	egs_report_where(r, sql, false);
	add_keys(sql, " GROUP BY ", "k.", keys, n);
	add_keys(sql, ", c.cause ORDER BY ", "k.", keys, n);
	sqlite3_str_appendall(sql, ", sum(c.sum_s) DESC, c.cause");
	return egs_report_prepare(r, sql, err);
}

static sqlite3_stmt *ask_classes(struct egs_report *r, const char *const *keys,
				 int n, struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	add_keys(sql, "SELECT ", "k.", keys, n);
	sqlite3_str_appendall(sql, ", w.classes FROM (");
	add_pieces(r, sql, "wait", "kind, classes",
		   "kind, wait_class(w)||':1'");
	sqlite3_str_appendall(sql, ") w JOIN kind k ON k.id=w.kind WHERE 1");
	egs_report_where(r, sql, false);
	add_keys(sql, " ORDER BY ", "k.", keys, n);
	return egs_report_prepare(r, sql, err);
}

int egs_report_waits(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_str(r->request, "by");
	const char *keys[EGS_REPORT_KEYS];
	int n = egs_report_keys(by ? by : "tier,phase", keys, err), rc = -1;
	sqlite3_stmt *causes, *classes = NULL;

	if (n < 0)
		return -1;
	if (n > 5)
		return egs_errf(err, "--by takes no more than 5 keys here");
	add_columns(r, keys, n);
	causes = ask_causes(r, keys, n, err);
	if (causes)
		classes = ask_classes(r, keys, n, err);
	if (classes) {
		rc = walk(r, causes, classes, n);
		if (rc < 0)
			egs_errf(err, "store: %s", sqlite3_errmsg(r->db));
	}
	sqlite3_finalize(causes);
	sqlite3_finalize(classes);
	return rc;
}
