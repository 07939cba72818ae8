/* egs-report.c - where the GPU-hours went
 *
 * To add a report: a row in reports[] and in policyd/report/report.c, a
 * paragraph in egs-report(1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egs-report/backup_import.h"
#include "cmd/egs-report/html.h"
#include "cmd/egs-report/parse_time.h"
#include "cmd/egs-report/query.h"
#include "cmd/egs-report/text.h"
#include "cmd/lib/options.h"
#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/ipc/client.h"

#define TIMEOUT_MS 300000

enum { DONE = 0, FAILED = 1, UNREACHABLE = 2 };

/* What the command line says. */
struct order {
	const char *from, *to, *by, *unit;
	const char *users, *accounts, *partitions;
	const char *html, *every;
	struct egs_listing_style style;
	struct egs_report_way way;
};

/* 'since' is -S where it is not given, 'operand' what follows the name;
 * 'series': it is plotted over time; 'paged': on the page of all.
 */
static const struct report {
	const char *name, *since, *operand;
	bool series, paged;
} reports[] = {
	{ "usage", "midnight", NULL, true, true },
	{ "jobs", "midnight", NULL, false, false },
	{ "mine", "now-7days", NULL, false, false },
	{ "teams", "midnight", NULL, false, true },
	{ "preemptions", "midnight", NULL, false, false },
	{ "waits", "midnight", NULL, false, true },
	{ "wastage", "midnight", NULL, true, true },
	{ "workload", "now-30days", "NAME or NAME/STAGE", false, false },
	{ "observed", "midnight", NULL, false, false },
};

static const char usage[] =
	"usage|waits [--by=KEYS] [OPTIONS]\n"
	"jobs|mine|teams|preemptions|wastage|observed [OPTIONS]\n"
	"workload NAME [OPTIONS]\n"
	"--html=FILE [OPTIONS]\n"
	"rate TYPE=TOKENS[@PRICE]...\n"
	"import FILE|-\n"
	"backup FILE\n";

static int complain(const struct egs_err *err)
{
	fprintf(stderr, "egs-report: %s\n", err->msg);
	return FAILED;
}

static int set_times(const struct order *o, const char *since,
		     struct egs_msg *request, struct egs_err *err)
{
	time_t now = time(NULL), from, to = now;

	if (egs_when(o->from ? o->from : since, now, &from, err) < 0 ||
	    (o->to && egs_when(o->to, now, &to, err) < 0))
		return -1;
	if (from > to)
		return egs_errf(err, "-S %s is after -E %s",
				egs_show(o->from ? o->from : since).text,
				egs_show(o->to ? o->to : "now").text);
	egs_msg_set_int(request, "from", from);
	egs_msg_set_int(request, "to", to);
	return 0;
}

static int set_unit(const char *unit, struct egs_msg *request,
		    struct egs_err *err)
{
	static const char *const units[] = { "seconds", "minutes", "hours",
					     "percent" };
	struct egs_err why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i]) == 0) {
			egs_msg_set_str(request, "unit", unit);
			return 0;
		}
	egs_not_among(unit, "time unit", units, ARRAY_SIZE(units), &why);
	return egs_errf(err, "-t '%s' %s", egs_show(unit).text, why.msg);
}

static int set_every(const char *every, struct egs_msg *request,
		     struct egs_err *err)
{
	if (every && strcmp(every, "hour") != 0 && strcmp(every, "day") != 0)
		return egs_errf(err, "--every '%s' is neither hour nor day",
				egs_show(every).text);
	if (every)
		egs_msg_set_int(request, "every", *every == 'h' ? 3600 : 86400);
	return 0;
}

static int fill(const struct order *o, const struct report *report,
		char **operands, struct egs_msg *request, struct egs_err *err)
{
	const char *extra = report->operand ? operands[0] : NULL;

	if (report->operand && !extra)
		return egs_errf(err, "%s of what? Say %s", report->name,
				report->operand);
	if (operands[extra ? 1 : 0])
		return egs_errf(err, "'%s' is one operand too many",
				egs_show(operands[extra ? 1 : 0]).text);
	egs_msg_set_str(request, "verb", "report");
	egs_msg_set_str(request, "report", report->name);
	egs_msg_set_str(request, "name", extra);
	egs_msg_set_str(request, "by", o->by);
	egs_msg_set_str(request, "users", o->users);
	egs_msg_set_str(request, "accounts", o->accounts);
	egs_msg_set_str(request, "partitions", o->partitions);
	if (set_unit(o->unit, request, err) < 0 ||
	    set_every(o->html ? NULL : o->every, request, err) < 0)
		return -1;
	return set_times(o, report->since, request, err);
}

/* All pages. */
static int ask_all(const struct order *o, struct egs_msg *request, bool plain,
		   struct egs_report_table *table, struct egs_err *err)
{
	int64_t next = 0;
	int rc;

	do {
		struct egs_msg *answer = NULL;

		if (next)
			egs_msg_set_int(request, "after", next);
		next = 0;
		rc = egs_report_ask(&o->way, request, &answer, err);
		if (rc == 0)
			rc = egs_report_add(table, answer, plain, err);
		if (rc == 0)
			egs_msg_int(answer, "next", &next);
		egs_msg_free(answer);
	} while (rc == 0 && next);
	return rc;
}

/* Hours of four days or less, else days. */
static const char *step(const struct order *o, const struct egs_report_table *t)
{
	return o->every				       ? o->every
	       : t->to - t->from <= 4 * INT64_C(86400) ? "hour"
						       : "day";
}

/* Ask for it, and for it over time, and put both on the page. */
static int add_to_page(const struct order *o, const struct report *report,
		       char **operands, FILE *page, struct egs_err *err)
{
	struct egs_report_table table = { .columns = NULL };
	struct egs_report_table series = { .columns = NULL };
	struct egs_msg *request = egs_msg_new();
	int rc = request ? fill(o, report, operands, request, err)
			 : egs_errf(err, "out of memory");

	if (rc == 0)
		rc = ask_all(o, request, false, &table, err);
	if (rc == 0 && report->series)
		rc = set_every(step(o, &table), request, err);
	if (rc == 0 && report->series)
		rc = ask_all(o, request, true, &series, err);
	if (rc == 0)
		egs_page_report(page, &table, report->series ? &series : NULL,
				o->unit);
	egs_report_clear(&table);
	egs_report_clear(&series);
	egs_msg_free(request);
	return rc;
}

/* One report, or those of the page of all. */
static int print_page(const struct order *o, const struct report *only,
		      char **operands, struct egs_err *err)
{
	char title[256];
	FILE *page;
	int rc = 0;
	size_t i;

	snprintf(title, sizeof(title), "egs-report%s%s%s%s from %s to %s",
		 only ? " " : "", only ? only->name : "", o->by ? " by " : "",
		 o->by ? o->by : "",
		 o->from ? o->from : (only ? only : reports)->since,
		 o->to ? o->to : "now");
	page = egs_page_begin(o->html, title, err);
	if (!page)
		return -1;
	if (only)
		rc = add_to_page(o, only, operands, page, err);
	for (i = 0; !only && rc == 0 && i < ARRAY_SIZE(reports); i++)
		if (reports[i].paged)
			rc = add_to_page(o, &reports[i], operands, page, err);
	if (rc == 0)
		return egs_page_end(page, o->html, err);
	egs_page_drop(page, o->html);
	return rc;
}

static int print_table(const struct order *o, const struct report *report,
		       char **operands, struct egs_err *err)
{
	struct egs_report_table table = { .columns = NULL };
	struct egs_msg *request = egs_msg_new();
	int rc = request ? fill(o, report, operands, request, err)
			 : egs_errf(err, "out of memory");

	if (rc == 0)
		rc = ask_all(o, request, o->style.json, &table, err);
	if (rc == 0)
		rc = egs_report_print(&table, &o->style, err);
	egs_report_clear(&table);
	egs_msg_free(request);
	return rc;
}

static int run(const struct order *o, const struct report *report,
	       char **operands)
{
	struct egs_err err;
	int rc = o->html ? print_page(o, report, operands, &err)
			 : print_table(o, report, operands, &err);

	if (rc == 0)
		return DONE;
	complain(&err);
	return rc == EGS_CLIENT_UNREACHABLE ? UNREACHABLE : FAILED;
}

static int run_named(const struct order *o, char **operands)
{
	const char *names[ARRAY_SIZE(reports)];
	struct egs_err why, err;
	size_t i;

	if (!operands[0] && o->html)
		return run(o, NULL, operands);
	if (!operands[0]) {
		egs_errf(&err, "a report is missing; see egs-report --help");
		return complain(&err);
	}
	if (strcmp(operands[0], "import") == 0)
		return egs_report_import(operands + 1, o->way.conf);
	if (strcmp(operands[0], "backup") == 0)
		return egs_report_backup(operands + 1, o->way.conf);
	if (strcmp(operands[0], "rate") == 0)
		return egs_report_rate(operands + 1, o->way.conf, &o->style);
	for (i = 0; i < ARRAY_SIZE(reports); i++) {
		if (strcmp(operands[0], reports[i].name) == 0)
			return run(o, &reports[i], operands + 1);
		names[i] = reports[i].name;
	}
	egs_not_among(operands[0], "report", names, ARRAY_SIZE(names), &why);
	egs_errf(&err, "'%s' %s", egs_show(operands[0]).text, why.msg);
	return complain(&err);
}

int main(int argc, char **argv)
{
	struct order o = { .unit = "hours", .way.timeout_ms = TIMEOUT_MS };
	const struct egs_option rows[] = {
		{ 'S', "starttime", NULL, &o.from, "TIME", "from then" },
		{ 'E', "endtime", NULL, &o.to, "TIME", "to then (now)" },
		{ 0, "by", NULL, &o.by, "KEYS",
		  "sums by team,user,phase,tier,type,..." },
		{ 0, "every", NULL, &o.every, "STEP",
		  "sums of each hour or each day" },
		{ 't', "time", NULL, &o.unit, "UNIT",
		  "seconds, minutes, hours or percent" },
		{ 'A', "accounts", NULL, &o.accounts, "LIST",
		  "only these accounts" },
		{ 'u', "user", NULL, &o.users, "LIST", "only these users" },
		{ 'p', "partition", NULL, &o.partitions, "LIST",
		  "only these partitions" },
		{ 'o', "format", NULL, &o.style.fields, "FIELDS",
		  "print these columns, NAME or NAME%WIDTH" },
		{ 'n', "noheader", &o.style.no_header, NULL, NULL,
		  "print no header" },
		{ 'P', "parsable2", &o.style.parsable, NULL, NULL,
		  "print | between columns" },
		{ 0, "csv", &o.style.csv, NULL, NULL, "print CSV" },
		{ 0, "json", &o.style.json, NULL, NULL, "print JSON" },
		{ 0, "html", NULL, &o.html, "FILE",
		  "write one page with plots to FILE" },
		{ 0, "file", NULL, &o.way.dir, "DIR",
		  "read the state in DIR, ask no daemon" },
		{ 'f', "conf", NULL, &o.way.conf, "FILE",
		  "the egs.conf to go by without a daemon" },
		{ 0, "socket", NULL, &o.way.at, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &o.way.cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	const struct egs_options options = { "egs-report", usage, rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err = { "" };

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_BAD:
		return complain(&err);
	case EGS_OPTIONS_DONE:
		return DONE;
	default:
		return run_named(&o, argv);
	}
}
