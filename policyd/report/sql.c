/* sql.c - parts of SQL that several reports use */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "policyd/report/report_internal.h"

int egs_report_fail(const struct egs_report *r, struct egs_err *err)
{
	if (sqlite3_errcode(r->db) == SQLITE_INTERRUPT)
		return egs_errf(err,
				"the report takes longer than %lld s; choose a "
				"shorter time with -S and -E",
				(long long)r->limit_s);
	return egs_errf(err, "store: %s", sqlite3_errmsg(r->db));
}

sqlite3_stmt *egs_report_prepare(struct egs_report *r, sqlite3_str *sql,
				 struct egs_err *err)
{
	char *text = sqlite3_str_finish(sql);
	sqlite3_stmt *stmt = NULL;

	if (!text)
		egs_errf(err, "out of memory");
	else if (sqlite3_prepare_v2(r->db, text, -1, &stmt, NULL) != SQLITE_OK)
		egs_report_fail(r, err);
	sqlite3_free(text);
	return stmt;
}

void egs_report_set_columns(struct egs_report *r, const char *columns,
			    const char *numbers, const char *times)
{
	const char *names[EGS_MSG_COLUMNS_MAX];
	char *copy = strdup(columns), *rest = copy, *word;
	size_t n = 0;

	while (copy && n < ARRAY_SIZE(names) && (word = strsep(&rest, ",")))
		names[n++] = word;
	egs_msg_set_columns(r->answer, names, n);
	egs_msg_set_str(r->answer, "numbers", numbers);
	egs_msg_set_str(r->answer, "times", times);
	free(copy);
}

/* The unit of sums of time, as a header has it. */
static const char *time_unit(const struct egs_report *r)
{
	static const struct {
		const char *name, *shown;
	} units[] = { { "seconds", "s" },
		      { "minutes", "min" },
		      { "percent", "%" } };
	const char *unit = egs_msg_get_str(r->request, "unit");

	for (size_t i = 0; unit && i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].shown;
	return "h";
}

void egs_report_set_view(struct egs_report *r, const char *shown,
			 const char *units)
{
	struct egs_text text = { "" };

	while (*units) {
		size_t len = strcspn(units, ","), name = strcspn(units, "=");
		const char *unit = units + name + 1;
		int unit_len = (int)(len - name - 1);

		if (strncmp(unit, "t,", 2) == 0 || strcmp(unit, "t") == 0)
			unit_len = (int)strlen(unit = time_unit(r));
		if (strncmp(unit, "c,", 2) == 0 || strcmp(unit, "c") == 0)
			unit_len = (int)strlen(
				unit = r->conf->currency ? r->conf->currency
							 : "");
		if (unit_len)
			egs_text_append(&text, "%s%.*s=%.*s",
					*text.text ? "," : "", (int)name, units,
					unit_len, unit);
		units += len + (units[len] == ',');
	}
	egs_msg_set_str(r->answer, "shown", shown);
	egs_msg_set_str(r->answer, "units", text.text);
}

static void add_cell(struct egs_report *r, sqlite3_stmt *stmt, int column)
{
	const char *text;

	if (sqlite3_column_type(stmt, column) == SQLITE_INTEGER) {
		egs_msg_add_cell_int(r->answer,
				     sqlite3_column_int64(stmt, column));
		return;
	}
	text = (const char *)sqlite3_column_text(stmt, column);
	egs_msg_add_cell(r->answer, text && *text ? text : "-");
}

int egs_report_add_rows(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_report_prepare(r, sql, err);
	int rc = SQLITE_DONE, n = 0, i;

	if (!stmt)
		return -1;
	while (n <= EGS_REPORT_ROWS_MAX &&
	       (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		egs_msg_add_row(r->answer);
		for (i = 0; i < sqlite3_column_count(stmt); i++)
			add_cell(r, stmt, i);
		n++;
	}
	if (rc == SQLITE_ROW)
		egs_errf(err,
			 "the report has more than %d rows; choose a shorter "
			 "time, or fewer keys with --by",
			 EGS_REPORT_ROWS_MAX);
	else if (rc != SQLITE_DONE)
		egs_report_fail(r, err);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? n : -1;
}

int egs_report_add_page(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err)
{
	int64_t after = 0;
	int n;

	egs_msg_get_int(r->request, "after", &after);
	sqlite3_str_appendf(sql, " LIMIT %d OFFSET %lld", EGS_REPORT_PAGE_ROWS,
			    (long long)after);
	n = egs_report_add_rows(r, sql, err);
	if (n == EGS_REPORT_PAGE_ROWS)
		egs_msg_set_int(r->answer, "next", after + n);
	return n < 0 ? -1 : 0;
}

/* " AND k.name IN ('a','b')" for "a,b". */
static void add_in_list(sqlite3_str *sql, const char *name, const char *list)
{
	char *copy = list ? strdup(list) : NULL, *rest = copy, *word;
	const char *comma = "";

	if (!copy)
		return;
	sqlite3_str_appendf(sql, " AND k.%s IN (", name);
	while ((word = strsep(&rest, ","))) {
		sqlite3_str_appendf(sql, "%s%Q", comma, word);
		comma = ",";
	}
	sqlite3_str_appendall(sql, ")");
	free(copy);
}

void egs_report_add_own_teams(const struct egs_report *r, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql,
			    "(SELECT team FROM kind WHERE user=%Q AND"
			    " team<>''",
			    r->user);
	if (r->team)
		sqlite3_str_appendf(sql, " UNION SELECT %Q", r->team);
	sqlite3_str_appendall(sql, ")");
}

void egs_report_add_filter(const struct egs_report *r, sqlite3_str *sql,
			   bool own)
{
	const char *users = egs_msg_get_str(r->request, "users");

	add_in_list(sql, "user", users);
	add_in_list(sql, "account", egs_msg_get_str(r->request, "accounts"));
	add_in_list(sql, "partition",
		    egs_msg_get_str(r->request, "partitions"));
	if (!r->user)
		return;
	sqlite3_str_appendf(sql, " AND (k.user=%Q", r->user);
	if (!own && !users && !r->hide_usage) {
		sqlite3_str_appendall(sql, " OR k.team IN ");
		egs_report_add_own_teams(r, sql);
	}
	sqlite3_str_appendall(sql, ")");
}

int egs_report_format_job(const char *name, char *text, size_t size,
			  struct egs_err *err)
{
	unsigned int id, task;
	char more;

	if (name && sscanf(name, "%9u%c", &id, &more) == 1)
		snprintf(text, size, "job_id=%u", id);
	else if (name && sscanf(name, "%9u_%9u%c", &id, &task, &more) == 2)
		snprintf(text, size, "array_job_id=%u AND task=%u", id, task);
	else
		return egs_errf(err, "'%s' is not a job; use 81234 or 81234_7",
				egs_printable(name).text);
	return 0;
}

int egs_report_parse_keys(const char *list,
			  const char *keys[EGS_REPORT_KEYS_MAX],
			  struct egs_err *err)
{
	static const char *const known[EGS_REPORT_KEYS_MAX] = {
		"team", "user", "account",   "workload", "phase",
		"tier", "type", "partition", "qos",	 "loan",
	};
	char *copy = strdup(list), *rest = copy, *word;
	int n = 0;

	if (!copy)
		return egs_errf(err, "out of memory");
	while (n >= 0 && (word = strsep(&rest, ","))) {
		struct egs_err why;
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(known[i], word) != 0)
			i++;
		if (i < ARRAY_SIZE(known) && n < EGS_REPORT_KEYS_MAX) {
			keys[n++] = known[i];
			continue;
		}
		egs_err_unknown_name(word, "key", known, ARRAY_SIZE(known),
				     &why);
		n = egs_errf(err, "--by: '%s' %s", egs_printable(word).text,
			     why.msg);
	}
	free(copy);
	return n;
}

bool egs_report_is_personal(const char *const *keys, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(keys[i], "user") == 0 ||
		    strcmp(keys[i], "account") == 0 ||
		    strcmp(keys[i], "workload") == 0)
			return true;
	return false;
}

void egs_report_add_keys(sqlite3_str *sql, const char *words,
			 const char *const *keys, int n)
{
	sqlite3_str_appendall(sql, words);
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(sql, "%sk.%s", i ? "," : "", keys[i]);
}

void egs_report_format_headings(char *text, size_t size,
				const char *const *keys, int n)
{
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		const char *c = keys[i];

		for (; *c && at + 1 < size; c++)
			text[at++] = (char)(*c - 'a' + 'A');
		if (at + 1 < size)
			text[at++] = ',';
	}
	text[at] = '\0';
}

/* At most one piece of the first size, two of each other, and two ends. */
static int split_period(egs_time_t from, egs_time_t to, const int *sizes,
			int nsizes, struct egs_report_piece *piece, int n)
{
	egs_time_t first, last;

	if (from >= to)
		return n;
	if (!nsizes) {
		piece[n] = (struct egs_report_piece){ from, to, 0 };
		return n + 1;
	}
	first = (from + *sizes - 1) / *sizes * *sizes;
	last = to / *sizes * *sizes;
	if (last <= first)
		return split_period(from, to, sizes + 1, nsizes - 1, piece, n);
	n = split_period(from, first, sizes + 1, nsizes - 1, piece, n);
	piece[n++] = (struct egs_report_piece){ first, last, *sizes };
	return split_period(last, to, sizes + 1, nsizes - 1, piece, n);
}

int egs_report_split(egs_time_t from, egs_time_t to, const int *sizes,
		     int nsizes,
		     struct egs_report_piece piece[EGS_REPORT_PIECES_MAX])
{
	return split_period(from, to, sizes, nsizes, piece, 0);
}

int egs_report_bucket_sizes(const struct egs_report *r, const int **sizes)
{
	static const int all[] = { EGS_DAY_S, EGS_HOUR_S };

	*sizes = r->bucket_s == EGS_HOUR_S ? all + 1 : all;
	return r->bucket_s == EGS_HOUR_S ? 1 : 2;
}

static long long bucket_start(const struct egs_report *r, egs_time_t at)
{
	return r->bucket_s ? at / r->bucket_s * r->bucket_s : 0;
}

/* Spans that reach into piece 'p'.  No span is longer than a day. */
static void add_spans(const struct egs_report *r, sqlite3_str *sql,
		      const struct egs_report_piece *p)
{
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT %lld, kind, (NOT suspended)*gpus*s,"
		" (NOT suspended)*cpus*s, (NOT suspended)*mem_mb*s,"
		" suspended*gpus*s FROM (SELECT *,"
		" min(end, %lld)-max(start, %lld) AS s FROM span"
		" WHERE start>=%lld AND start<%lld AND end>%lld)",
		bucket_start(r, p->from), (long long)p->to, (long long)p->from,
		(long long)p->from - EGS_DAY_S, (long long)p->to,
		(long long)p->from);
}

static void add_rollups(const struct egs_report *r, sqlite3_str *sql,
			const struct egs_report_piece *p)
{
	char at[64] = "0";

	/* Rows of the requested size need no further sum. */
	if (r->bucket_s == p->bucket_s) {
		sqlite3_str_appendf(sql,
				    " UNION ALL SELECT at, kind, gpu_s, cpu_s,"
				    " mem_mb_s, suspended_s FROM rollup WHERE"
				    " bucket_s=%d AND at>=%lld AND at<%lld",
				    p->bucket_s, (long long)p->from,
				    (long long)p->to);
		return;
	}
	if (r->bucket_s)
		snprintf(at, sizeof(at), "at/%d*%d", r->bucket_s, r->bucket_s);
	sqlite3_str_appendf(
		sql,
		" UNION ALL SELECT %s, kind, sum(gpu_s), sum(cpu_s),"
		" sum(mem_mb_s), sum(suspended_s) FROM rollup"
		" WHERE bucket_s=%d AND at>=%lld AND at<%lld GROUP BY 1, kind",
		at, p->bucket_s, (long long)p->from, (long long)p->to);
}

/* Open spans, cut where an hour or a day begins.  Each span begins the list of
 * its own hours or days, so the cost is that of the result.
 */
static void add_open_spans(const struct egs_report *r, sqlite3_str *sql)
{
	const long long from = r->from, to = r->to;
	const long long step = r->bucket_s ? r->bucket_s : to + 1;

	sqlite3_str_appendf(
		sql,
		"WITH RECURSIVE piece (at, kind, start, gpus, cpus, mem_mb,"
		" suspended) AS (SELECT max(start, %lld)/%lld*%lld, kind,"
		" max(start, %lld), gpus, cpus, mem_mb, suspended FROM"
		" open_span WHERE start<%lld UNION ALL SELECT at+%lld, kind,"
		" at+%lld, gpus, cpus, mem_mb, suspended FROM piece WHERE"
		" at+%lld<%lld),"
		" part (at, kind, gpu_s, cpu_s, mem_mb_s, suspended_s) AS ("
		"SELECT at, kind, (NOT suspended)*gpus*s, (NOT suspended)*cpus"
		"*s, (NOT suspended)*mem_mb*s, suspended*gpus*s FROM (SELECT"
		" *, min(%lld, at+%lld)-start AS s FROM piece) WHERE s>0",
		from, step, step, from, to, step, step, step, to, to, step);
}

void egs_report_add_parts(const struct egs_report *r, sqlite3_str *sql)
{
	struct egs_report_piece piece[EGS_REPORT_PIECES_MAX];
	const int *sizes;
	int nsizes = egs_report_bucket_sizes(r, &sizes);
	int n = egs_report_split(r->from, r->to, sizes, nsizes, piece), i;

	add_open_spans(r, sql);
	for (i = 0; i < n; i++) {
		if (piece[i].bucket_s)
			add_rollups(r, sql, &piece[i]);
		else
			add_spans(r, sql, &piece[i]);
	}
	sqlite3_str_appendall(sql, ")");
}

void egs_report_add_hours(const struct egs_report *r, sqlite3_str *sql)
{
	struct egs_report_piece piece[EGS_REPORT_PIECES_MAX];
	const int *sizes;
	int nsizes = egs_report_bucket_sizes(r, &sizes);
	int n = egs_report_split(r->from / EGS_HOUR_S * EGS_HOUR_S,
				 (r->to + EGS_HOUR_S - 1) / EGS_HOUR_S *
					 EGS_HOUR_S,
				 sizes, nsizes, piece);

	sqlite3_str_appendall(sql, " (0");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(sql,
				    " OR bucket_s=%d AND at>=%lld AND at<%lld",
				    piece[i].bucket_s, (long long)piece[i].from,
				    (long long)piece[i].to);
	sqlite3_str_appendall(sql, ")");
}

void egs_report_add_in_unit(const struct egs_report *r, sqlite3_str *sql,
			    const char *seconds)
{
	const char *unit = egs_msg_get_str(r->request, "unit");

	if (unit && strcmp(unit, "seconds") == 0)
		sqlite3_str_appendf(sql, "%s", seconds);
	else if (unit && strcmp(unit, "minutes") == 0)
		sqlite3_str_appendf(sql, "printf('%%.2f', (%s)/60.0)", seconds);
	else if (unit && strcmp(unit, "percent") == 0)
		sqlite3_str_appendf(sql,
				    "printf('%%.2f', ifnull(100.0*(%s)/"
				    "sum(%s) OVER (), 0))",
				    seconds, seconds);
	else
		sqlite3_str_appendf(sql, "printf('%%.2f', (%s)/3600.0)",
				    seconds);
}
