/* egs-report.c - print reports of GPU use, waits, preemptions and waste
 *
 * To add a report, add a row to reports[], verb_help[] and
 * policyd/report/report.c, and a paragraph to egs-report(1).
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
#include "common/base/text.h"
#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"

#define TIMEOUT_MS 300000

enum { DONE = 0, FAILED = 1, UNREACHABLE = 2 };

struct report_options {
	const char *from, *to, *by, *unit;
	const char *users, *accounts, *partitions;
	const char *html_path, *every;
	struct egs_listing_style style;
	struct egs_report_source source;
};

/* 'default_from' is the default of -S; 'operand' follows the name; 'series':
 * has a plot over time; 'on_page': is on the page that --html writes without a
 * name.
 */
static const struct report_kind {
	const char *name, *default_from, *operand;
	bool series, on_page;
} reports[] = {
	{ "usage", "midnight", NULL, true, true },
	{ "jobs", "midnight", NULL, false, false },
	{ "mine", "now-7days", NULL, false, false },
	{ "teams", "midnight", NULL, false, true },
	{ "preemptions", "midnight", NULL, false, false },
	{ "waits", "midnight", NULL, false, true },
	{ "wastage", "midnight", NULL, true, true },
	{ "efficiency", "midnight", NULL, false, true },
	{ "idle", "now-7days", NULL, false, false },
	{ "samples", "now-14days", "JOBID", false, false },
	{ "workload", "now-30days", "NAME or NAME/STAGE", false, false },
	{ "life", "now-30days", "JOBID or NAME of a workload", false, false },
	{ "observed", "midnight", NULL, false, false },
	{ "remediation", "now-7days", NULL, false, false },
	{ "estimates", "now-30days", NULL, false, false },
};

/* The first sentences of each report in egs-report(1). */
static const struct egs_verb_help verb_help[] = {
	{ "usage", "usage [--by=KEYS] [OPTIONS]",
	  "GPU-hours, rated GPU-hours (times the Rating of the type), "
	  "CPU-hours,\nGPU-hours suspended, the cost, and the energy that GPUs "
	  "took.",
	  "egs-report usage --by=team,phase -S now-7days" },
	{ "jobs", "jobs [OPTIONS]",
	  "Every attempt of every job that ran in the period, by its start.",
	  "egs-report jobs -u alice -S 2026-11-01" },
	{ "mine", "mine [OPTIONS]",
	  "Your usage of the last seven days, by workload, phase, tier, type "
	  "and loan,\nand the GPU time that preemptions cost.",
	  "egs-report mine -S now-30days" },
	{ "teams", "teams [OPTIONS]",
	  "For each team: GPU-hours used, owned, on loan and unmanaged, its "
	  "quota, what it\nlent, and its share.",
	  "egs-report teams -S now-7days" },
	{ "preemptions", "preemptions [OPTIONS]",
	  "Every preemption: when the job got the notice, for which job, how "
	  "it "
	  "departed,\nand what that cost.",
	  "egs-report preemptions -S now-1day --long" },
	{ "waits", "waits [--by=KEYS] [OPTIONS]",
	  "How long jobs waited from eligible to start, in seconds, by tier "
	  "and "
	  "phase.",
	  "egs-report waits --by=team -S now-7days" },
	{ "wastage", "wastage [OPTIONS]",
	  "The Wastage Ratio, for all GPUs, by type and by partition, and for "
	  "cores.\nWith --long also its causes.",
	  "egs-report wastage -S now-7days --every=day" },
	{ "efficiency", "efficiency [--by=KEYS] [OPTIONS]",
	  "How well GPU time was used, by user: utilisation, memory, idle and "
	  "empty GPUs,\nenergy, and what to do next.",
	  "egs-report efficiency --by=team,phase -S now-7days" },
	{ "idle", "idle [--by=KEYS] [OPTIONS]",
	  "Attempts that held GPUs without using them, by user.",
	  "egs-report idle -S now-1day" },
	{ "samples", "samples JOBID [OPTIONS]",
	  "What each GPU of a job did, a row for five minutes.",
	  "egs-report samples 81234 -S now-1day" },
	{ "workload", "workload NAME [OPTIONS]",
	  "A workload, or one NAME/STAGE, phase by phase.",
	  "egs-report workload fraud/retrain" },
	{ "life", "life JOBID|NAME [OPTIONS]",
	  "The GPUs of a job, or of all jobs of a workload, over time: a row "
	  "for each\nchange.",
	  "egs-report life 81234" },
	{ "observed", "observed [OPTIONS]",
	  "What EGS would have done while it only observed, one row for each "
	  "job and each\npending job that would have preempted it.",
	  "egs-report observed -S now-14days" },
	{ "remediation", "remediation [OPTIONS]",
	  "What rules did about GPUs, or would have done, one row for each "
	  "rule, "
	  "GPU and\nremedy.",
	  "egs-report remediation -S now-1day --long" },
	{ "estimates", "estimates [OPTIONS]",
	  "How good predictions of run times were: how many jobs ended inside "
	  "their interval,\nand the error of the likely time.",
	  "egs-report estimates -S now-90days" },
	{ NULL, "--html=FILE [OPTIONS]", NULL, NULL },
	{ "rate", "rate TYPE=TOKENS[@PRICE]...",
	  "Print ratings from measured speeds, the tokens per second that one "
	  "GPU of each\ntype makes with the same model.",
	  "egs-report rate a100=1000@1.80 h100=2500@3.60" },
	{ "import", "import FILE|-",
	  "Import history from before EGS, as sacct prints it; - is standard "
	  "input.\nRuns that the history already has are skipped.",
	  "egs-report import year" },
	{ "backup", "backup FILE",
	  "Copy the state of egs-policyd, as it is at one moment.",
	  "egs-report backup /backup/egs.state" },
};

static int print_error(const struct egs_err *err)
{
	fprintf(stderr, "egs-report: %s\n", err->msg);
	return FAILED;
}

static int set_times(const struct report_options *o, const char *default_from,
		     struct egs_msg *request, struct egs_err *err)
{
	time_t now = time(NULL), from, to = now;

	if (egs_parse_time(o->from ? o->from : default_from, now, &from, err) <
		    0 ||
	    (o->to && egs_parse_time(o->to, now, &to, err) < 0))
		return -1;
	if (from > to)
		return egs_errf(
			err, "-S %s is after -E %s",
			egs_printable(o->from ? o->from : default_from).text,
			egs_printable(o->to ? o->to : "now").text);
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

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i]) == 0) {
			egs_msg_set_str(request, "unit", unit);
			return 0;
		}
	egs_err_unknown_name(unit, "time unit", units, ARRAY_SIZE(units), &why);
	return egs_errf(err, "-t '%s' %s", egs_printable(unit).text, why.msg);
}

static int set_every(const char *every, struct egs_msg *request,
		     struct egs_err *err)
{
	if (every && strcmp(every, "hour") != 0 && strcmp(every, "day") != 0)
		return egs_errf(err, "--every '%s' is neither hour nor day",
				egs_printable(every).text);
	if (every)
		egs_msg_set_int(request, "every", *every == 'h' ? 3600 : 86400);
	return 0;
}

static int fill_request(const struct report_options *o,
			const struct report_kind *report, char **operands,
			struct egs_msg *request, struct egs_err *err)
{
	const char *extra = report->operand ? operands[0] : NULL;

	if (report->operand && !extra)
		return egs_errf(err, "%s: %s is missing", report->name,
				report->operand);
	if (operands[extra ? 1 : 0])
		return egs_errf(err, "'%s' is one operand too many",
				egs_printable(operands[extra ? 1 : 0]).text);
	egs_msg_set_str(request, "verb", "report");
	egs_msg_set_str(request, "report", report->name);
	egs_msg_set_str(request, "name", extra);
	egs_msg_set_str(request, "by", o->by);
	egs_msg_set_str(request, "users", o->users);
	egs_msg_set_str(request, "accounts", o->accounts);
	egs_msg_set_str(request, "partitions", o->partitions);
	if (set_unit(o->unit, request, err) < 0 ||
	    set_every(o->html_path ? NULL : o->every, request, err) < 0)
		return -1;
	return set_times(o, report->default_from, request, err);
}

static int fetch_all_pages(const struct report_options *o,
			   struct egs_msg *request, bool plain,
			   struct egs_report_table *table, struct egs_err *err)
{
	int64_t next = 0;
	int rc;

	do {
		struct egs_msg *answer = NULL;

		if (next)
			egs_msg_set_int(request, "after", next);
		next = 0;
		rc = egs_report_query_send(&o->source, request, &answer, err);
		if (rc == 0)
			rc = egs_report_table_add(table, answer, plain, err);
		if (rc == 0)
			egs_msg_get_int(answer, "next", &next);
		egs_msg_free(answer);
	} while (rc == 0 && next);
	return rc;
}

/* Hours for four days or less, else days. */
static const char *choose_step(const struct report_options *o,
			       const struct egs_report_table *t)
{
	return o->every				       ? o->every
	       : t->to - t->from <= 4 * INT64_C(86400) ? "hour"
						       : "day";
}

/* The command that prints a report of the page. */
static void format_command(const struct report_options *o,
			   const struct report_kind *report, char **operands,
			   struct egs_text *text)
{
	egs_textf(text, "egs-report %s", report->name);
	if (report->operand && operands[0])
		egs_text_append(text, " %s", operands[0]);
	if (o->by && (strcmp(report->name, "usage") == 0 ||
		      strcmp(report->name, "waits") == 0))
		egs_text_append(text, " --by=%s", o->by);
	egs_text_append(text, " -S %s",
			o->from ? o->from : report->default_from);
	if (o->to)
		egs_text_append(text, " -E %s", o->to);
	if (strcmp(o->unit, "hours") != 0)
		egs_text_append(text, " -t %s", o->unit);
}

/* Query a report, and the same over time, and add both to the page. */
static int add_to_page(const struct report_options *o,
		       const struct report_kind *report, char **operands,
		       struct egs_html_page *page, struct egs_err *err)
{
	struct egs_report_table table = { .name_buf = NULL };
	struct egs_report_table series = { .name_buf = NULL };
	struct egs_msg *request = egs_msg_new();
	int rc = request ? fill_request(o, report, operands, request, err)
			 : egs_errf(err, "out of memory");

	struct egs_text command;

	if (rc == 0)
		rc = fetch_all_pages(o, request, true, &table, err);
	if (rc == 0 && report->series)
		rc = set_every(choose_step(o, &table), request, err);
	if (rc == 0 && report->series)
		rc = fetch_all_pages(o, request, true, &series, err);
	format_command(o, report, operands, &command);
	if (rc == 0)
		egs_html_add_report(page, &table,
				    report->series ? &series : NULL, o->unit,
				    command.text);
	egs_report_table_clear(&table);
	egs_report_table_clear(&series);
	egs_msg_free(request);
	return rc;
}

/* Write a page of one report, or of all that are 'on_page' (NULL). */
static int write_page(const struct report_options *o,
		      const struct report_kind *only, char **operands,
		      struct egs_err *err)
{
	struct egs_slurm_conf slurm;
	struct egs_html_page *page;
	struct egs_text title;
	int rc = 0;

	egs_textf(&title, "GPU report%s%s%s%s%s%s", only ? ": " : "",
		  only ? only->name : "",
		  only && only->operand && operands[0] ? " " : "",
		  only && only->operand && operands[0] ? operands[0] : "",
		  o->by ? " by " : "", o->by ? o->by : "");
	egs_slurm_conf_read(&slurm, NULL);
	page = egs_html_begin(
		o->html_path, title.text,
		o->source.cluster ? o->source.cluster : slurm.cluster, err);
	if (!page)
		return -1;
	if (only)
		rc = add_to_page(o, only, operands, page, err);
	for (size_t i = 0; !only && rc == 0 && i < ARRAY_SIZE(reports); i++)
		if (reports[i].on_page)
			rc = add_to_page(o, &reports[i], operands, page, err);
	if (rc == 0)
		return egs_html_end(page, err);
	egs_html_discard(page);
	return rc;
}

static int print_table(const struct report_options *o,
		       const struct report_kind *report, char **operands,
		       struct egs_err *err)
{
	struct egs_report_table table = { .name_buf = NULL };
	struct egs_msg *request = egs_msg_new();
	int rc = request ? fill_request(o, report, operands, request, err)
			 : egs_errf(err, "out of memory");

	if (rc == 0)
		rc = fetch_all_pages(o, request, o->style.json, &table, err);
	if (rc == 0)
		rc = egs_report_table_print(&table, &o->style, err);
	egs_report_table_clear(&table);
	egs_msg_free(request);
	return rc;
}

static int run_report(const struct report_options *o,
		      const struct report_kind *report, char **operands)
{
	struct egs_err err;
	int rc = o->html_path ? write_page(o, report, operands, &err)
			      : print_table(o, report, operands, &err);

	if (rc == 0)
		return DONE;
	print_error(&err);
	return rc == EGS_CLIENT_UNREACHABLE ? UNREACHABLE : FAILED;
}

static int run_command(const struct report_options *o, char **operands)
{
	const char *names[ARRAY_SIZE(reports)];
	struct egs_err why, err;

	if (!operands[0] && o->html_path)
		return run_report(o, NULL, operands);
	if (!operands[0]) {
		egs_errf(&err, "a report is missing; see egs-report --help");
		return print_error(&err);
	}
	if (strcmp(operands[0], "import") == 0)
		return egs_report_run_import(operands + 1, o->source.conf_path);
	if (strcmp(operands[0], "backup") == 0)
		return egs_report_run_backup(operands + 1, o->source.conf_path);
	if (strcmp(operands[0], "rate") == 0)
		return egs_report_run_rate(operands + 1, o->source.conf_path,
					   &o->style);
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		if (strcmp(operands[0], reports[i].name) == 0)
			return run_report(o, &reports[i], operands + 1);
		names[i] = reports[i].name;
	}
	egs_err_unknown_name(operands[0], "report", names, ARRAY_SIZE(names),
			     &why);
	egs_errf(&err, "'%s' %s", egs_printable(operands[0]).text, why.msg);
	return print_error(&err);
}

int main(int argc, char **argv)
{
	struct report_options o = { .unit = "hours",
				    .source.timeout_ms = TIMEOUT_MS };
	const struct egs_option rows[] = {
		{ 'S', "starttime", NULL, &o.from, "TIME",
		  "begin of the report" },
		{ 'E', "endtime", NULL, &o.to, "TIME",
		  "end of the report (now)" },
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
		{ 0, "long", &o.style.all, NULL, NULL,
		  "print all columns, and no text cut" },
		{ 'n', "noheader", &o.style.no_header, NULL, NULL,
		  "print no header" },
		{ 'P', "parsable2", &o.style.parsable, NULL, NULL,
		  "print | between columns" },
		{ 0, "csv", &o.style.csv, NULL, NULL, "print CSV" },
		{ 0, "json", &o.style.json, NULL, NULL, "print JSON" },
		{ 0, "html", NULL, &o.html_path, "FILE",
		  "write one page with plots to FILE" },
		{ 0, "file", NULL, &o.source.state_dir, "DIR",
		  "read the state in DIR, ask no daemon" },
		{ 'f', "conf", NULL, &o.source.conf_path, "FILE",
		  "the egs.conf to use without a daemon" },
		{ 0, "socket", NULL, &o.source.address, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &o.source.cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	const struct egs_options options = { "egs-report", verb_help,
					     ARRAY_SIZE(verb_help), rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err = { "" };

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_BAD:
		return print_error(&err);
	case EGS_OPTIONS_DONE:
		return DONE;
	default:
		return run_command(&o, argv);
	}
}
