/* report.c - answer one request for a report
 *
 * To add a report: a function, a row in reports[], a paragraph in
 * egs-report(1), a case in t/1130-egs-report.t or
 * t/1135-egs-report-gpus.t.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/suggest.h"
#include "common/rules/standing.h"
#include "policyd/report/report.h"
#include "policyd/report/report_internal.h"
#include "policyd/slurm/user_cache.h"
#include "policyd/store/store_sql.h"
#include "policyd/store/wait_classes.h"

static const struct {
	const char *name;
	egs_report_fn *fn;
	bool series; /* has sums of hours and days */
} reports[] = {
	{ "usage", egs_report_usage, true },
	{ "mine", egs_report_mine, false },
	{ "jobs", egs_report_jobs, false },
	{ "teams", egs_report_teams, false },
	{ "workload", egs_report_workload, false },
	{ "life", egs_report_life, false },
	{ "waits", egs_report_waits, false },
	{ "preemptions", egs_report_preemptions, false },
	{ "observed", egs_report_observed, false },
	{ "remediation", egs_report_remediation, false },
	{ "wastage", egs_report_wastage, true },
	{ "efficiency", egs_report_efficiency, false },
	{ "idle", egs_report_idle, false },
	{ "samples", egs_report_samples, false },
	{ "estimates", egs_report_estimates, false },
};

static int find_type(const struct egs_report *r, sqlite3_value *type)
{
	const char *name = (const char *)sqlite3_value_text(type);

	return egs_conf_match_type(r->conf, name ? name : "");
}

/* rating('h100') in thousandths, price('h100') in millionths an hour. */
static void sql_rating(sqlite3_context *c, int n, sqlite3_value **arg)
{
	const struct egs_report *r = sqlite3_user_data(c);
	int type = find_type(r, arg[0]);

	(void)n;
	sqlite3_result_int64(c, type < r->conf->ntypes
					? r->conf->type[type].rating
					: EGS_MILLI_ONE);
}

static void sql_price(sqlite3_context *c, int n, sqlite3_value **arg)
{
	const struct egs_report *r = sqlite3_user_data(c);
	int type = find_type(r, arg[0]);

	(void)n;
	sqlite3_result_int64(c, type < r->conf->ntypes
					? (int64_t)r->conf->type[type].price
					: 0);
}

static void sql_wait_class(sqlite3_context *c, int n, sqlite3_value **arg)
{
	(void)n;
	sqlite3_result_int64(
		c, egs_wait_class_of((uint64_t)sqlite3_value_int64(arg[0])));
}

/* SQLite calls this after some steps and stops when it returns 1. */
enum { STEPS_PER_CHECK = 10000 };

static int is_time_over(void *arg)
{
	const struct egs_report *r = arg;

	return egs_now_ms() >= r->deadline_ms;
}

static void limit_time(struct egs_report *r)
{
	if (!egs_msg_get_int(r->request, "limit_s", &r->limit_s))
		return;
	r->deadline_ms = egs_now_ms() + (uint64_t)r->limit_s * 1000;
	sqlite3_progress_handler(r->db, STEPS_PER_CHECK, is_time_over, r);
}

static int open_database(struct egs_report *r, const char *dir,
			 struct egs_err *err)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	char path[4096 + 16];

	snprintf(path, sizeof(path), "%s/state", dir);
	if (sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY, NULL) !=
		    SQLITE_OK ||
	    sqlite3_busy_timeout(r->db, 5000) != SQLITE_OK ||
	    sqlite3_create_function(r->db, "rating", 1, flags, r, sql_rating,
				    NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(r->db, "price", 1, flags, r, sql_price,
				    NULL, NULL) != SQLITE_OK ||
	    sqlite3_create_function(r->db, "advice", EGS_REPORT_ADVICE_ARGS,
				    flags, NULL, egs_report_sql_advice, NULL,
				    NULL) != SQLITE_OK ||
	    sqlite3_create_function(r->db, "wait_class", 1, flags, NULL,
				    sql_wait_class, NULL, NULL) != SQLITE_OK ||
	    /* Map the file, the most that SQLite maps: without that each
	     * lookup is a system call.
	     */
	    sqlite3_exec(r->db,
			 "PRAGMA mmap_size=2147418112;"
			 "PRAGMA temp_store=MEMORY; BEGIN",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    egs_sql_complete_old_file(r->db) != SQLITE_OK)
		return egs_errf(err, "%s: %s", path, sqlite3_errmsg(r->db));
	limit_time(r);
	return 0;
}

static int run_report(struct egs_report *r, struct egs_err *err)
{
	const char *name = egs_msg_get_str(r->request, "report");
	const char *names[ARRAY_SIZE(reports)];
	struct egs_err why;

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		if (name && strcmp(name, reports[i].name) == 0) {
			if (r->bucket_s && !reports[i].series)
				return egs_errf(err,
						"%s has no sums of hours or "
						"days; --every is for usage "
						"and wastage",
						name);
			return reports[i].fn(r, err);
		}
		names[i] = reports[i].name;
	}
	egs_err_unknown_name(name ? name : "", "report", names,
			     ARRAY_SIZE(names), &why);
	return egs_errf(err, "'%s' %s", egs_printable(name).text, why.msg);
}

/* The team of the user by egs.conf: by his name or his groups.  The user may
 * have no job yet, so his accounts are unknown.
 */
static const char *find_team(const struct egs_report *r)
{
	const struct egs_standing_input input = {
		.user = r->user,
		.groups = egs_user_cache_groups(r->user, time(NULL)),
	};
	int team = egs_standing_get(r->conf, &input).team;

	return team < 0 ? NULL : r->conf->team[team].name;
}

static void set_user(struct egs_report *r)
{
	const char *hidden = egs_msg_get_str(r->request, "private");
	bool all = egs_list_has_word(hidden, "all");

	r->user = egs_msg_get_str(r->request, "user");
	r->team = r->user ? find_team(r) : NULL;
	r->hide_jobs = r->user && (all || egs_list_has_word(hidden, "jobs"));
	r->hide_usage = r->user && (all || egs_list_has_word(hidden, "usage"));
}

static int set_times(struct egs_report *r, struct egs_err *err)
{
	int64_t every = 0;

	r->now = time(NULL);
	r->to = r->now;
	egs_msg_get_int(r->request, "from", &r->from);
	egs_msg_get_int(r->request, "to", &r->to);
	if (r->to > r->now)
		r->to = r->now;
	if (r->from < 0 || r->from > r->to)
		return egs_errf(err, "the report begins after it ends");
	egs_msg_get_int(r->request, "every", &every);
	r->bucket_s =
		every == EGS_HOUR_S || every == EGS_DAY_S ? (int)every : 0;
	if (!r->bucket_s ||
	    (r->to - r->from) / r->bucket_s < EGS_REPORT_BUCKETS_MAX)
		return 0;
	return egs_errf(err,
			"--every=%s is for %d %ss at most, and this time has "
			"%lld; choose %sa later -S",
			every == EGS_HOUR_S ? "hour" : "day",
			EGS_REPORT_BUCKETS_MAX,
			every == EGS_HOUR_S ? "hour" : "day",
			(long long)(r->to - r->from) / r->bucket_s,
			every == EGS_HOUR_S ? "--every=day or " : "");
}

static int fill_answer(struct egs_report *r, struct egs_err *err)
{
	const char *dir = egs_msg_get_str(r->request, "dir");
	int rc;

	if (set_times(r, err) < 0)
		return -1;
	set_user(r);
	egs_msg_set_int(r->answer, "version", 1);
	egs_msg_set_str(r->answer, "report",
			egs_msg_get_str(r->request, "report"));
	egs_msg_set_int(r->answer, "from", r->from);
	egs_msg_set_int(r->answer, "to", r->to);
	if (r->bucket_s)
		egs_msg_set_int(r->answer, "every", r->bucket_s);
	egs_msg_set_str(r->answer, "currency",
			r->conf->currency ? r->conf->currency : "");
	rc = open_database(r, dir ? dir : "", err);
	if (rc == 0)
		rc = run_report(r, err);
	sqlite3_close(r->db);
	return rc;
}

static int write_answer(struct egs_report *r, struct egs_err *err)
{
	size_t len = 0;
	const char *text;

	egs_msg_set_bool(r->answer, "ok", true);
	if (fill_answer(r, err) < 0) {
		egs_msg_free(r->answer);
		r->answer = egs_msg_new();
		egs_msg_set_str(r->answer, "error", err->msg);
	}
	text = egs_msg_to_text(r->answer, &len);
	return text && fwrite(text, 1, len, stdout) == len &&
			       fflush(stdout) == 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}

int egs_report_main(const char *conf_path)
{
	struct egs_err err = { "cannot read the request" };
	struct egs_conf *file = egs_conf_open(conf_path, NULL);
	/* Without a valid egs.conf, ratings are 1 and prices 0. */
	struct egs_policy_conf *none = egs_policy_conf_new();
	struct egs_report r = { .answer = egs_msg_new(), .conf = none };
	struct egs_msg *request = NULL;
	struct egs_buf in = { .used = 0 };
	int code = EXIT_FAILURE;

	if (file)
		r.conf = egs_conf_policy(file);
	if (egs_buf_read_fd(&in, STDIN_FILENO, EGS_MSG_REQUEST_MAX) == 0)
		request = egs_msg_parse(in.bytes, in.used, EGS_MSG_REQUEST_MAX,
					&err);
	r.request = request;
	if (request && r.answer && r.conf)
		code = write_answer(&r, &err);
	else
		fprintf(stderr, "egs-policyd: %s\n", err.msg);
	egs_buf_clear(&in);
	egs_msg_free(request);
	egs_msg_free(r.answer);
	egs_policy_conf_free(none);
	egs_conf_free(file);
	return code;
}
