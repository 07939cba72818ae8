/* document.c - what the page reads: answers of egs-policyd as one JSON object
 *
 * To show something new, add a row to requests[] and a panel to panels.js.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/lib/find_daemon.h"
#include "cmd/web/document.h"
#include "common/base/array.h"
#include "common/base/clock.h"

enum { HOUR_S = 3600, DAY_S = 86400, REFUSED_MS = 5000 };

static const struct {
	const char *name, *arg_name;
	uint64_t good_ms, limit_ms;
} kinds[] = {
	[EGS_DOCUMENT_NOW] = { "now", NULL, 2000, 10000 },
	[EGS_DOCUMENT_TODAY] = { "today", NULL, 60000, 60000 },
	[EGS_DOCUMENT_JOB] = { "job", "id", 3000, 30000 },
	[EGS_DOCUMENT_WORKLOAD] = { "workload", "name", 60000, 60000 },
};

/* A request of a document; its answer has the name 'key'. */
static const struct doc_request {
	enum egs_document_kind kind;
	const char *key, *verb;
	const char *what;    /* of show */
	const char *report;  /* of report, with: */
	const char *by;	     /* NULL: the report's own */
	int every_s, back_s; /* 0: no series; 0: since midnight */
	const char *arg_key; /* the argument goes here, NULL: nowhere */
} requests[] = {
	{ EGS_DOCUMENT_NOW, "ping", "ping", .what = NULL },
	{ EGS_DOCUMENT_NOW, "teams", "show", .what = "teams" },
	{ EGS_DOCUMENT_NOW, "tiers", "show", .what = "tiers" },
	{ EGS_DOCUMENT_NOW, "map", "show", .what = "map" },
	{ EGS_DOCUMENT_NOW, "waiting", "show", .what = "waiting" },
	{ EGS_DOCUMENT_NOW, "preemptions", "show", .what = "preemptions" },
	{ EGS_DOCUMENT_TODAY, "wastage", "report", .report = "wastage" },
	{ EGS_DOCUMENT_TODAY, "wastage_hours", "report", .report = "wastage",
	  .every_s = HOUR_S, .back_s = DAY_S },
	{ EGS_DOCUMENT_TODAY, "usage", "report", .report = "usage",
	  .by = "team", .every_s = HOUR_S, .back_s = DAY_S },
	{ EGS_DOCUMENT_TODAY, "workloads", "report", .report = "usage",
	  .by = "workload,phase", .every_s = HOUR_S, .back_s = 2 * DAY_S },
	{ EGS_DOCUMENT_JOB, "why", "why", .arg_key = "job" },
	{ EGS_DOCUMENT_JOB, "gpus", "show", .what = "gpus", .arg_key = "job" },
	{ EGS_DOCUMENT_JOB, "life", "report", .report = "life",
	  .back_s = 30 * DAY_S, .arg_key = "name" },
	{ EGS_DOCUMENT_JOB, "losses", "report", .report = "preemptions",
	  .back_s = 7 * DAY_S },
	{ EGS_DOCUMENT_WORKLOAD, "workload", "report", .report = "workload",
	  .back_s = 30 * DAY_S, .arg_key = "name" },
	{ EGS_DOCUMENT_WORKLOAD, "workload_life", "report", .report = "life",
	  .back_s = 7 * DAY_S, .arg_key = "name" },
	{ EGS_DOCUMENT_WORKLOAD, "workload_usage", "report", .report = "usage",
	  .by = "workload,phase", .every_s = HOUR_S, .back_s = 7 * DAY_S },
};

enum egs_document_kind egs_document_find_kind(const char *name)
{
	int kind = 0;

	while (kind < EGS_DOCUMENT_KINDS &&
	       (!name || strcmp(kinds[kind].name, name) != 0))
		kind++;
	return (enum egs_document_kind)kind;
}

const char *egs_document_arg_name(enum egs_document_kind kind)
{
	return kinds[kind].arg_name;
}

uint64_t egs_document_good_ms(enum egs_document_kind kind, bool has_refusal)
{
	uint64_t good_ms = kinds[kind].good_ms;

	return has_refusal && good_ms > REFUSED_MS ? REFUSED_MS : good_ms;
}

uint64_t egs_document_limit_ms(enum egs_document_kind kind)
{
	return kinds[kind].limit_ms;
}

/* The user for whom egs-policyd is asked. */
struct viewer {
	bool is_named; /* false: for this process */
	uid_t uid;
};

static int64_t find_midnight(time_t now)
{
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

static struct egs_msg *make_request(const struct doc_request *r,
				    const struct egs_document *doc,
				    const struct viewer *viewer)
{
	struct egs_msg *request = egs_msg_new();
	time_t now = time(NULL);

	if (!request)
		return NULL;
	egs_msg_set_str(request, "verb", r->verb);
	egs_msg_set_str(request, "what", r->what);
	egs_msg_set_str(request, "report", r->report);
	egs_msg_set_str(request, "by", r->by);
	if (viewer->is_named)
		egs_msg_set_int(request, "viewer", viewer->uid);
	if (r->arg_key)
		egs_msg_set_str(request, r->arg_key, doc->arg);
	if (!r->report)
		return request;
	egs_msg_set_str(request, "unit", "hours");
	egs_msg_set_int(request, "to", now);
	egs_msg_set_int(request, "from",
			r->back_s ? now - r->back_s : find_midnight(now));
	if (r->every_s)
		egs_msg_set_int(request, "every", r->every_s);
	return request;
}

/* Find the viewer if egs-policyd is to be asked for him. */
static int find_viewer(const struct egs_document *doc,
		       const struct egs_document_source *source,
		       struct viewer *viewer, struct egs_err *err)
{
	const struct passwd *user;

	*viewer = (struct viewer){ .is_named =
					   source->for_viewer && *doc->viewer };
	if (!viewer->is_named)
		return 0;
	user = getpwnam(doc->viewer);
	if (!user)
		return egs_errf(err, "this host has no user '%s'", doc->viewer);
	viewer->uid = user->pw_uid;
	return 0;
}

/* What is left of the time for a document. */
static int time_left(const struct egs_document *doc, uint64_t began_ms)
{
	int64_t left = (int64_t)(began_ms + kinds[doc->kind].limit_ms) -
		       (int64_t)egs_now_ms();

	return left > 100 ? (int)left : 100;
}

/* Where a document goes, and where it is from. */
struct writing {
	FILE *out;
	const struct egs_document *doc;
	struct egs_daemon_addr address;
	struct egs_endpoint daemon;
	struct viewer viewer;
	uint64_t began_ms;
	bool has_refusal;
};

/* Append ,"KEY":ANSWER.  A refusal is an answer too. */
static int add_answer(struct writing *w, const struct doc_request *r,
		      struct egs_err *err)
{
	struct egs_msg *request = make_request(r, w->doc, &w->viewer);
	struct egs_msg *answer = NULL;
	const char *text = NULL;
	size_t len = 0;
	int rc = EGS_CLIENT_REFUSED;

	egs_errf(err, "out of memory");
	if (request)
		rc = egs_client_call(&w->daemon, request, &answer,
				     time_left(w->doc, w->began_ms), err);
	if (rc == EGS_CLIENT_REFUSED || rc == EGS_CLIENT_RETRY) {
		answer = egs_msg_new();
		if (answer)
			egs_msg_set_str(answer, "error", err->msg);
		w->has_refusal = true;
		rc = 0;
	}
	if (answer)
		text = egs_msg_to_text(answer, &len);
	if (rc == 0)
		fprintf(w->out, ",\"%s\":%.*s", r->key, text ? (int)len : 2,
			text ? text : "{}");
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc;
}

/* The first keys, without the '}' at the end. */
static void add_head(FILE *out, const struct egs_document *doc,
		     const char *cluster)
{
	struct egs_msg *head = egs_msg_new();
	time_t now = time(NULL);
	const char *text = NULL;
	struct tm tm = { 0 };
	size_t len = 0;

	if (head) {
		egs_msg_set_int(head, "made", now);
		egs_msg_set_int(head, "zone_s",
				localtime_r(&now, &tm)->tm_gmtoff);
		egs_msg_set_str(head, "cluster", cluster);
		egs_msg_set_str(head, "viewer", doc->viewer);
		text = egs_msg_to_text(head, &len);
	}
	if (text && len)
		fwrite(text, 1, len - 1, out);
	egs_msg_free(head);
}

static int write_document(FILE *out, const struct egs_document *doc,
			  const struct egs_document_source *source,
			  bool *has_refusal, struct egs_err *err)
{
	struct writing w = { .out = out, .doc = doc, .began_ms = egs_now_ms() };

	if (find_viewer(doc, source, &w.viewer, err) < 0 ||
	    egs_find_daemon(&w.address, source->address, source->cluster,
			    &w.daemon, err) < 0)
		return -1;
	add_head(out, doc, w.address.slurm.cluster);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i].kind == doc->kind &&
		    add_answer(&w, &requests[i], err) < 0)
			return -1;
	*has_refusal = w.has_refusal;
	fprintf(out, ",\"again_s\":%d}",
		(int)(egs_document_good_ms(doc->kind, w.has_refusal) / 1000));
	return 0;
}

int egs_document_read(const struct egs_document *doc,
		      const struct egs_document_source *source,
		      struct egs_document_text *text, struct egs_err *err)
{
	FILE *out = open_memstream(&text->bytes, &text->len);
	bool failed;
	int rc;

	if (!out)
		return egs_errf(err, "out of memory");
	rc = write_document(out, doc, source, &text->has_refusal, err);
	failed = ferror(out);
	if (fclose(out) != 0 || failed)
		rc = rc < 0 ? rc : egs_errf(err, "out of memory");
	if (rc == 0)
		return 0;
	free(text->bytes);
	text->bytes = NULL;
	return -1;
}
