/* efficiency.c - how well GPU time was used, and what to do next
 *
 * To add advice: a function, and its place in advisers[].
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/report/report_internal.h"

#define SUM_COLUMNS "GPUTIME,MEASURED,SM,MAXMEM,IDLE,EMPTY,ENERGY"
#define SHOWN	    "GPUTIME,SM,MAXMEM,IDLE,EMPTY,ENERGY,ADVICE"

enum {
	/* Shares, in percent, from which on advice is given. */
	QUIET_PERCENT = 20,
	LOW_SM_PERCENT = 30,
};

/* ---- advice ---- */

/* Sums that advice is about, in the order of the SQL function. */
enum sum {
	SM_S,
	SM_PERCENT_S,
	IDLE_S,
	PROCESS_S,
	EMPTY_S,
	POWER_S,
	LOW_POWER_S,
	LOW_POWER_WS,
	POWER_LIMIT_W,
	SUMS
};

static const char *const sums[SUMS] = {
	[SM_S] = "sum(%s.sm_s)",
	[SM_PERCENT_S] = "sum(%s.sm_percent_s)",
	[IDLE_S] = "sum(%s.idle_s)",
	[PROCESS_S] = "sum(%s.process_s)",
	[EMPTY_S] = "sum(%s.empty_s)",
	[POWER_S] = "sum(%s.power_s)",
	[LOW_POWER_S] = "sum(%s.low_power_s)",
	[LOW_POWER_WS] = "sum(%s.low_power_ws)",
	[POWER_LIMIT_W] = "max(%s.power_limit_w)",
};

static_assert(SUMS + 1 == EGS_REPORT_ADVICE_ARGS, "as registered");

/* The attempt with most time of GPUs that it never used. */
struct unused_gpus {
	long long job_id, gpus, unused, nodes; /* job_id 0: none */
};

struct advice {
	int64_t sum[SUMS];
	struct unused_gpus worst;
};

static int64_t get_percent(int64_t part, int64_t whole)
{
	return whole ? (100 * part + whole / 2) / whole : 0;
}

/* Returns whether there is something to say; 'text' has it. */
typedef bool adviser_fn(const struct advice *a, struct egs_text *text);

/* --gres counts the GPUs of one node. */
static bool advise_unused(const struct advice *a, struct egs_text *text)
{
	const struct unused_gpus *w = &a->worst;

	if (!w->job_id)
		return false;
	if (w->unused == w->gpus)
		egs_textf(text, "job %lld never used its %lld GPU%s", w->job_id,
			  w->gpus, w->gpus == 1 ? "" : "s");
	else
		egs_textf(text,
			  "job %lld: %lld of %lld GPUs %s never used: "
			  "ask for %s%lld%s",
			  w->job_id, w->unused, w->gpus,
			  w->unused == 1 ? "was" : "were",
			  w->nodes > 1 ? "" : "--gres=gpu:",
			  w->gpus - w->unused, w->nodes > 1 ? " GPUs" : "");
	return true;
}

/* A kernel that does nothing keeps the utilisation at 100 %. */
static bool advise_low_power(const struct advice *a, struct egs_text *text)
{
	int64_t seconds = a->sum[LOW_POWER_S];
	int64_t percent = get_percent(seconds, a->sum[POWER_S]);

	if (!seconds || percent < QUIET_PERCENT)
		return false;
	egs_textf(text,
		  "busy by utilisation, but %" PRId64 " W of %" PRId64
		  " W in %" PRId64 " %% of the time",
		  (a->sum[LOW_POWER_WS] + seconds / 2) / seconds,
		  a->sum[POWER_LIMIT_W], percent);
	return true;
}

static bool advise_empty(const struct advice *a, struct egs_text *text)
{
	int64_t percent = get_percent(a->sum[EMPTY_S], a->sum[PROCESS_S]);

	egs_textf(text,
		  "no process in %" PRId64 " %% of the time: end jobs that are "
		  "done",
		  percent);
	return percent >= QUIET_PERCENT;
}

static bool advise_idle(const struct advice *a, struct egs_text *text)
{
	int64_t percent = get_percent(a->sum[IDLE_S], a->sum[SM_S]);

	egs_textf(text,
		  "idle in %" PRId64 " %% of the time: give GPUs back with egs "
		  "phase",
		  percent);
	return percent >= QUIET_PERCENT;
}

static bool advise_low_sm(const struct advice *a, struct egs_text *text)
{
	int64_t percent = get_percent(a->sum[SM_PERCENT_S], a->sum[SM_S] * 100);

	egs_textf(text, "SM %" PRId64 " %%: try larger batches or fewer GPUs",
		  percent);
	return a->sum[SM_S] && percent < LOW_SM_PERCENT;
}

void egs_report_sql_advice(sqlite3_context *c, int n, sqlite3_value **arg)
{
	static adviser_fn *const advisers[] = { advise_unused, advise_low_power,
						advise_empty, advise_idle,
						advise_low_sm };

	const char *words = (const char *)sqlite3_value_text(arg[0]);
	struct advice a = { .worst = { .job_id = 0 } };
	struct egs_text text;
	size_t i = 0;

	for (int k = 1; k < n; k++)
		a.sum[k - 1] = sqlite3_value_int64(arg[k]);
	if (words)
		sscanf(words, "%lld %lld %lld %lld", &a.worst.job_id,
		       &a.worst.gpus, &a.worst.unused, &a.worst.nodes);
	while (i < ARRAY_SIZE(advisers) && !advisers[i](&a, &text))
		i++;
	sqlite3_result_text(c, i < ARRAY_SIZE(advisers) ? text.text : "-", -1,
			    SQLITE_TRANSIENT);
}

void egs_report_add_advice(sqlite3_str *sql, const char *words,
			   const char *table)
{
	sqlite3_str_appendf(sql, "advice(%s", words);
	for (int i = 0; i < SUMS; i++) {
		sqlite3_str_appendall(sql, ", ");
		sqlite3_str_appendf(sql, sums[i], table);
	}
	sqlite3_str_appendall(sql, ")");
}

/* ---- the query ---- */

/* Attempts with GPUs that were never used while the report was on, and of each
 * group the attempt with most of that.  A user sees advice about his own jobs
 * only.
 */
static void add_worst(const struct egs_report *r, sqlite3_str *sql,
		      const char *const *keys, int n)
{
	sqlite3_str_appendf(
		sql,
		", unused AS (SELECT g.job_id||' '||g.gpus||' '||n||' "
		"'||g.nodes AS"
		" words, unused_s, w.* FROM (SELECT job_id, restarts, start,"
		" count(*) AS gpus, count(DISTINCT node) AS nodes,"
		" sum(" EGS_REPORT_IS_UNUSED ") AS n,"
		" sum(" EGS_REPORT_IS_UNUSED "*sm_s) AS unused_s FROM"
		" gpu_use g WHERE at>=%lld AND start<%lld GROUP BY job_id,"
		" restarts, start HAVING n>0) g JOIN run r ON"
		" r.job_id=g.job_id AND r.restarts=g.restarts AND"
		" r.start=g.start JOIN kind w ON w.id=r.kind WHERE 1",
		(long long)r->from, (long long)r->to);
	if (r->user)
		sqlite3_str_appendf(sql, " AND w.user=%Q", r->user);
	/* The words are those of the row with the maximum. */
	egs_report_add_keys(sql, "), worst AS (SELECT ", keys, n);
	egs_report_add_keys(
		sql, ", words, max(unused_s) FROM unused k GROUP BY ", keys, n);
	sqlite3_str_appendall(sql, ")");
}

/* 'seconds' in the unit of the request, "-" if 'known' is 0. */
static void add_known(const struct egs_report *r, sqlite3_str *sql,
		      const char *known, const char *seconds)
{
	sqlite3_str_appendf(sql, ", iif(sum(p.%s), ", known);
	egs_report_add_in_unit(r, sql, seconds);
	sqlite3_str_appendall(sql, ", '-')");
}

static void add_shown(const struct egs_report *r, sqlite3_str *sql)
{
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_in_unit(r, sql, "sum(p.gpu_s)");
	add_known(r, sql, "sampled_s", "sum(p.sampled_s)");
	sqlite3_str_appendall(
		sql,
		", iif(sum(p.sm_s), (sum(p.sm_percent_s)+sum(p.sm_s)/2)"
		"/sum(p.sm_s), '-'), ifnull(max(iif(p.mem_s AND p.mem_total_mb,"
		" (100*p.max_mem_mb+p.mem_total_mb/2)/p.mem_total_mb, NULL)),"
		" '-')");
	add_known(r, sql, "sm_s", "sum(p.idle_s)");
	add_known(r, sql, "process_s", "sum(p.empty_s)");
	sqlite3_str_appendall(sql, ", iif(sum(p.energy_s), printf('%.3f',"
				   " sum(p.energy_j)/3.6e6), '-')");
}

/* Use by kind: allocated as in the report usage, and measured in its hours. */
static void add_source(const struct egs_report *r, sqlite3_str *sql,
		       const char *const *keys, int n)
{
	sqlite3_str_appendall(
		sql,
		" FROM (SELECT kind, sum(gpu_s) AS gpu_s, 0 AS sampled_s,"
		" 0 AS sm_s, 0 AS sm_percent_s, 0 AS mem_s, 0 AS max_mem_mb,"
		" 0 AS mem_total_mb, 0 AS idle_s, 0 AS process_s, 0 AS empty_s,"
		" 0 AS energy_s, 0 AS energy_j, 0 AS power_s, 0 AS low_power_s,"
		" 0 AS low_power_ws, 0 AS power_limit_w FROM part GROUP BY kind"
		" UNION ALL SELECT kind, 0, sampled_s, sm_s, sm_percent_s,"
		" mem_s, max_mem_mb, mem_total_mb, idle_s, process_s, empty_s,"
		" energy_s, energy_j, power_s, low_power_s, low_power_ws,"
		" power_limit_w FROM gpu_rollup WHERE");
	egs_report_add_hours(r, sql);
	sqlite3_str_appendall(
		sql, ") p JOIN kind k ON k.id=p.kind LEFT JOIN worst w ON 1");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(sql, " AND w.%s=k.%s", keys[i], keys[i]);
	sqlite3_str_appendall(sql, " WHERE 1");
}

/* Without --long, ADVICE has the room of MEASURED. */
static void set_columns(struct egs_report *r, const char *const *keys, int n)
{
	char columns[256];
	size_t len;

	egs_report_format_headings(columns, sizeof(columns), keys, n);
	len = strlen(columns);
	snprintf(columns + len, sizeof(columns) - len, SUM_COLUMNS ",ADVICE");
	egs_report_set_columns(r, columns, SUM_COLUMNS, "");
	snprintf(columns + len, sizeof(columns) - len, SHOWN);
	egs_report_set_view(r, columns,
			    "GPUTIME=t,MEASURED=t,SM=%,MAXMEM=%,IDLE=t,EMPTY=t,"
			    "ENERGY=kWh");
}

int egs_report_efficiency(struct egs_report *r, struct egs_err *err)
{
	const char *by = egs_msg_get_str(r->request, "by");
	const char *keys[EGS_REPORT_KEYS_MAX];
	int n = egs_report_parse_keys(by ? by : "user", keys, err);
	sqlite3_str *sql;

	if (n < 0)
		return -1;
	set_columns(r, keys, n);
	sql = sqlite3_str_new(r->db);
	egs_report_add_parts(r, sql);
	add_worst(r, sql, keys, n);
	egs_report_add_keys(sql, " SELECT ", keys, n);
	add_shown(r, sql);
	sqlite3_str_appendall(sql, ", ");
	egs_report_add_advice(sql, "max(w.words)", "p");
	add_source(r, sql, keys, n);
	egs_report_add_filter(r, sql, egs_report_is_personal(keys, n));
	egs_report_add_keys(sql, " GROUP BY ", keys, n);
	egs_report_add_keys(
		sql, " HAVING sum(p.gpu_s)>0 ORDER BY sum(p.gpu_s) DESC,", keys,
		n);
	return egs_report_add_rows(r, sql, err) < 0 ? -1 : 0;
}
