/* import_sacct.c - import history that sacct printed
 *
 * A run that was resized has several lines: all but the last have the state
 * RESIZING, and lines of other jobs may be between them.
 *
 * The first line names the columns; unknown columns are ignored.  To read
 * another column: a member of struct sacct_row, a row in columns[].
 */
#include <ctype.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/idmap.h"
#include "common/conf/conf.h"
#include "common/hint/gpu_count.h"
#include "common/hint/stamp.h"
#include "common/rules/standing.h"
#include "policyd/accounting/import_sacct.h"
#include "policyd/slurm/facts.h"
#include "policyd/store/history.h"

/* Beside a daemon, short transactions with pauses: the daemon waits for them.
 */
enum {
	COLUMNS_MAX = 128,
	LINES_PER_COMMIT = 1000,
	LINES_BESIDE_DAEMON = 20,
	COMMIT_PAUSE_MS = 5
};

/* A line of sacct; "" where it has no such column. */
struct sacct_row {
	const char *job, *user, *account, *partition, *qos, *name, *state;
	const char *submit, *eligible, *start, *end, *suspended;
	const char *tres, *cpus, *nodes, *comment;
};

#define OFFSET(member) offsetof(struct sacct_row, member)

static const struct {
	const char *name;
	size_t at;
} columns[] = {
	{ "JobIDRaw", OFFSET(job) },	  { "User", OFFSET(user) },
	{ "Account", OFFSET(account) },	  { "Partition", OFFSET(partition) },
	{ "QOS", OFFSET(qos) },		  { "JobName", OFFSET(name) },
	{ "State", OFFSET(state) },	  { "Submit", OFFSET(submit) },
	{ "Eligible", OFFSET(eligible) }, { "Start", OFFSET(start) },
	{ "End", OFFSET(end) },		  { "Suspended", OFFSET(suspended) },
	{ "AllocTRES", OFFSET(tres) },	  { "AllocCPUS", OFFSET(cpus) },
	{ "NNodes", OFFSET(nodes) },	  { "AdminComment", OFFSET(comment) },
};

/* The last run of a job in the file. */
struct last_run {
	egs_time_t start, end; /* 'end' of the last line of the run */
	uint32_t runs;	       /* of the job, with this one */
	bool resized;	       /* at 'end': more lines follow */
	bool in_history;       /* was there before the import */
};

struct import_sacct {
	struct egs_store *store;
	const struct egs_policy_conf *conf;
	bool daemon_runs;
	size_t column[COLUMNS_MAX]; /* in columns[], ARRAY_SIZE: unknown */
	size_t ncolumns;
	struct egs_idmap jobs;
	struct last_run *last_run; /* by slot of 'jobs' */
	uint32_t last_run_room;
	unsigned long lines, imported, skipped;
};

/* 2026-11-16T10:30:00 in local time, or seconds since the epoch; else 0. */
static egs_time_t parse_time(const char *text)
{
	struct tm tm = { .tm_isdst = -1 };
	int *const part[] = { &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			      &tm.tm_hour, &tm.tm_min, &tm.tm_sec };
	const char *between = "--T::";
	char *end;

	if (isdigit((unsigned char)*text) &&
	    text[strspn(text, "0123456789")] == '\0')
		return strtoll(text, NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		*part[i] = (int)strtol(text, &end, 10);
		if (end == text || *end != between[i])
			return 0;
		text = end + 1;
	}
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return mktime(&tm);
}

/* [D-]HH:MM:SS */
static egs_time_t parse_duration(const char *text)
{
	long n[4] = { 0 };
	size_t i = 0;
	char *end;

	while (isdigit((unsigned char)*text) && i < ARRAY_SIZE(n)) {
		n[i++] = strtol(text, &end, 10);
		text = *end ? end + 1 : end;
	}
	if (i == 4)
		return ((n[0] * 24 + n[1]) * 60 + n[2]) * 60 + n[3];
	return i == 3 ? (n[0] * 60 + n[1]) * 60 + n[2] : n[0] * 60 + n[1];
}

static int parse_header(struct import_sacct *im, char *line,
			struct egs_err *err)
{
	bool seen[ARRAY_SIZE(columns)] = { false };
	char *word;
	size_t i;

	while ((word = strsep(&line, "|")) && im->ncolumns < COLUMNS_MAX) {
		for (i = 0; i < ARRAY_SIZE(columns); i++)
			if (strcasecmp(word, columns[i].name) == 0)
				break;
		im->column[im->ncolumns++] = i;
		if (i < ARRAY_SIZE(columns))
			seen[i] = true;
	}
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		if (!seen[i] &&
		    strstr("JobIDRaw User Start End AllocTRES State",
			   columns[i].name))
			return egs_errf(err, "column %s is missing",
					columns[i].name);
	return 0;
}

static struct sacct_row parse_row(const struct import_sacct *im, char *line)
{
	struct sacct_row row = { .job = "" };
	char *word;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		*(const char **)((char *)&row + columns[i].at) = "";
	for (size_t i = 0; i < im->ncolumns && (word = strsep(&line, "|")); i++)
		if (im->column[i] < ARRAY_SIZE(columns))
			*(const char **)((char *)&row +
					 columns[im->column[i]].at) = word;
	return row;
}

/* sacct counts typed GPUs twice: "gres/gpu=3,gres/gpu:a100=2" is 3 GPUs. */
static struct egs_gpu_count parse_gpus(const char *tres)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };
	uint32_t i, named = 0;

	egs_gpu_count_add(&gpus, tres, 1);
	for (i = 0; i < gpus.ntypes; i++)
		named += gpus.by_type[i].type[0] ? gpus.by_type[i].count : 0;
	for (i = 0; i < gpus.ntypes; i++)
		if (!gpus.by_type[i].type[0])
			gpus.by_type[i].count -=
				named < gpus.by_type[i].count
					? named
					: gpus.by_type[i].count;
	return gpus;
}

static struct egs_standing find_standing(const struct import_sacct *im,
					 const struct sacct_row *row,
					 const struct egs_stamp *stamp)
{
	const struct egs_standing_input in = { .account = row->account,
					       .user = row->user,
					       .qos = row->qos,
					       .partitions = row->partition,
					       .tier = stamp->hint.tier };

	return egs_standing_get(im->conf, &in);
}

/* GPUs of a type that the team owns some of are owned; before EGS no GPU was on
 * loan.
 */
static const char *find_loan(const struct egs_policy_conf *conf,
			     struct egs_standing s, const char *type)
{
	return s.team >= 0 && s.tier >= 0 &&
			       conf->tier[s.tier].loan != EGS_LOAN_ALWAYS &&
			       conf->team[s.team]
				       .quota[egs_conf_match_type(conf, type)]
		       ? "owned"
		       : "-";
}

static struct egs_usage_kind make_kind(const struct import_sacct *im,
				       const struct sacct_row *row,
				       const struct egs_stamp *stamp,
				       struct egs_standing s)
{
	return (struct egs_usage_kind){
		.user = row->user,
		.account = row->account,
		.team = s.team < 0 ? "" : im->conf->team[s.team].name,
		.workload = stamp->hint.workload,
		.phase = stamp->hint.phase,
		.tier = s.tier < 0 ? "" : im->conf->tier[s.tier].name,
		.partition = row->partition,
		.qos = row->qos,
		.type = "",
		.loan = "-",
	};
}

/* sacct shows how long a run was suspended, but not when: put it at the end. */
static int add_spans(const struct import_sacct *im, int64_t id,
		     const struct egs_usage_kind *kind, struct egs_span span,
		     egs_time_t suspended_s, struct egs_err *err)
{
	egs_time_t end = span.end, suspended_at = end - suspended_s;

	span.end = suspended_at > span.start ? suspended_at : span.start;
	if (egs_history_span_add(im->store, id, kind, &span, err) < 0)
		return -1;
	span.start = span.end;
	span.end = end;
	span.suspended = true;
	return egs_history_span_add(im->store, id, kind, &span, err);
}

/* Add a run, or the part of it from 'from' on. */
static int add_run(const struct import_sacct *im, const struct sacct_row *row,
		   const struct egs_job_run *run, egs_time_t from,
		   const struct egs_stamp *stamp, struct egs_err *err)
{
	struct egs_gpu_count gpus = parse_gpus(row->tres);
	struct egs_standing standing = find_standing(im, row, stamp);
	struct egs_usage_kind kind = make_kind(im, row, stamp, standing);
	struct egs_span span = {
		.start = from,
		.end = run->end,
		.cpus = (uint32_t)strtoul(row->cpus, NULL, 10),
		.nodes = (uint32_t)strtoul(row->nodes, NULL, 10),
		.mem_mb = egs_fact_parse_mem_mb(row->tres),
	};
	egs_time_t suspended_s = parse_duration(row->suspended);
	int64_t id;

	span.nodes = span.nodes ? span.nodes : 1;
	if (egs_gpu_count_total(&gpus))
		kind.loan = find_loan(im->conf, standing, gpus.by_type[0].type);
	if (egs_history_run_save(im->store, run, &kind, &id, err) < 0 ||
	    (from == run->start &&
	     egs_history_wait_add(im->store, run, &kind, err) < 0))
		return -1;
	for (uint32_t i = 0; i < (gpus.ntypes ? gpus.ntypes : 1); i++) {
		if (gpus.ntypes && !gpus.by_type[i].count)
			continue;
		kind.type = gpus.ntypes ? gpus.by_type[i].type : "";
		span.gpus = gpus.ntypes ? gpus.by_type[i].count : 0;
		kind.loan = span.gpus ? find_loan(im->conf, standing, kind.type)
				      : "-";
		if (add_spans(im, id, &kind, span, suspended_s, err) < 0)
			return -1;
		span.cpus = span.nodes = 0;
		span.mem_mb = 0;
	}
	return 0;
}

/* CANCELLED of "CANCELLED by 0" */
static void copy_first_word(const char *text, char *word, size_t size)
{
	snprintf(word, size, "%.*s", (int)strcspn(text, " "), text);
}

static struct last_run *find_last_run(struct import_sacct *im, uint32_t job_id)
{
	uint32_t slot = egs_idmap_add(&im->jobs, job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (egs_grow(&im->last_run, &im->last_run_room, slot + 1) < 0)
		return NULL;
	return &im->last_run[slot];
}

/* Add the next run of a job, or another part of its last run. */
static int add_or_extend_run(struct import_sacct *im,
			     const struct sacct_row *row, struct last_run *past,
			     struct egs_job_run *run,
			     const struct egs_stamp *stamp, struct egs_err *err)
{
	bool more = past->resized && past->end <= run->end;
	egs_time_t from = more ? past->end : run->start;
	int known;

	past->runs += !more;
	past->end = run->end;
	past->resized = strcmp(run->end_state, "RESIZING") == 0;
	run->restarts = past->runs - 1;
	if (more) {
		run->start = past->start;
		return past->in_history
			       ? 0
			       : add_run(im, row, run, from, stamp, err);
	}
	past->start = run->start;
	known = egs_history_run_is_known(im->store, run, err);
	if (known < 0)
		return -1;
	past->in_history = known > 0;
	im->skipped += past->in_history;
	im->imported += !past->in_history;
	return past->in_history ? 0 : add_run(im, row, run, from, stamp, err);
}

static int import_row(struct import_sacct *im, const struct sacct_row *row,
		      struct egs_err *err)
{
	struct egs_gpu_count gpus = parse_gpus(row->tres);
	struct egs_stamp stamp = egs_stamp_read(row->comment);
	struct last_run *past;
	char end_state[32];
	struct egs_job_run run = {
		.job_id = (uint32_t)strtoul(row->job, NULL, 10),
		.start = parse_time(row->start),
		.end = parse_time(row->end),
		.task = UINT32_MAX,
		.gpus = egs_gpu_count_total(&gpus),
		.helper_for = stamp.helper_for,
		.submit = parse_time(row->submit),
		.eligible = parse_time(row->eligible),
		.nonce = stamp.nonce,
		.name = row->name,
		.end_state = end_state,
		.wait_reason = "",
	};

	if (strchr(row->job, '.') || !run.job_id || !run.start ||
	    run.end < run.start || !*row->tres)
		return 0; /* a step, or a job that never ran or still runs */
	copy_first_word(row->state, end_state, sizeof(end_state));
	past = find_last_run(im, run.job_id);
	return past ? add_or_extend_run(im, row, past, &run, &stamp, err)
		    : egs_errf(err, "out of memory");
}

static int import_line(struct import_sacct *im, char *line, struct egs_err *err)
{
	struct sacct_row row;

	line[strcspn(line, "\r\n")] = '\0';
	if (im->lines++ == 0)
		return parse_header(im, line, err);
	row = parse_row(im, line);
	if (egs_store_begin(im->store, err) < 0 ||
	    import_row(im, &row, err) < 0)
		return -1;
	if (im->lines %
	    (im->daemon_runs ? LINES_BESIDE_DAEMON : LINES_PER_COMMIT))
		return 0;
	if (egs_store_commit(im->store, err) < 0)
		return -1;
	if (im->daemon_runs)
		sqlite3_sleep(COMMIT_PAUSE_MS);
	return 0;
}

/* Tell a daemon that runs meanwhile: the value is another after each import. */
static int mark_imported(const struct import_sacct *im, struct egs_err *err)
{
	char old[EGS_STORE_IMPORTED_SIZE], count[EGS_STORE_IMPORTED_SIZE];

	if (!im->imported)
		return 0;
	if (egs_store_get(im->store, EGS_STORE_IMPORTED, old, sizeof(old),
			  err) < 0)
		return -1;
	snprintf(count, sizeof(count), "%llu", strtoull(old, NULL, 10) + 1);
	return egs_store_set(im->store, EGS_STORE_IMPORTED, count, err);
}

static int import_sacct(struct import_sacct *im, struct egs_err *err)
{
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &room, stdin) > 0)
		rc = import_line(im, line, err);
	free(line);
	if (rc < 0 || egs_store_begin(im->store, err) < 0 ||
	    mark_imported(im, err) < 0)
		return -1;
	return egs_store_commit(im->store, err);
}

int egs_import_sacct_main(const char *conf_path)
{
	struct egs_conf *conf;
	struct import_sacct im = { .lines = 0 };
	struct egs_err err;
	bool hopeless = false;
	char path[4096];
	int rc;

	conf = egs_conf_open(conf_path, &err);
	if (!conf) {
		fprintf(stderr, "egs-report: %s\n", err.msg);
		return EXIT_FAILURE;
	}
	im.conf = egs_conf_policy(conf);
	snprintf(path, sizeof(path), "%s/state",
		 egs_conf_dir(im.conf, EGS_STATE_DIR));
	im.store = egs_store_open(path, &hopeless, &err);
	im.daemon_runs = !im.store && hopeless;
	if (im.daemon_runs)
		im.store = egs_store_open_shared(path, &err);
	rc = im.store ? import_sacct(&im, &err) : -1;
	if (rc < 0)
		fprintf(stderr, "egs-report: %s\n", err.msg);
	else
		printf("%lu runs imported, %lu already in the history\n",
		       im.imported, im.skipped);
	egs_store_close(im.store);
	egs_idmap_clear(&im.jobs);
	free(im.last_run);
	egs_conf_free(conf);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
