/* web_cache.c - documents of the page: the share of a viewer, and when they go
 *
 * The name of a job says what its document is: "fail", "hang", "refuse", or how
 * many megabytes it has.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/web/cache.h"
#include "common/base/clock.h"
#include "t/lib/unit/tap.h"

enum { MEGABYTE = 1 << 20, DEADLINE_MS = 60000, SECOND = 1000 };

static struct egs_loop *loop;
static struct egs_web_cache *cache;
static struct egs_err err;

static int read_document(const struct egs_document *doc,
			 const struct egs_document_source *source,
			 struct egs_document_text *text, struct egs_err *why)
{
	size_t len = 10 + strtoul(doc->arg, NULL, 10) * MEGABYTE;

	(void)source;
	if (strcmp(doc->arg, "fail") == 0)
		return egs_errf(why, "no daemon");
	while (strcmp(doc->arg, "hang") == 0)
		pause();
	text->bytes = malloc(len);
	if (!text->bytes)
		return egs_errf(why, "out of memory");
	memset(text->bytes, 'x', len);
	text->len = len;
	text->has_refusal = strncmp(doc->arg, "refuse", 6) == 0;
	return 0;
}

static struct egs_document
make_document(const char *viewer, enum egs_document_kind kind, const char *arg)
{
	struct egs_document doc = { .kind = kind };

	snprintf(doc.viewer, sizeof(doc.viewer), "%s", viewer);
	snprintf(doc.arg, sizeof(doc.arg), "%s", arg);
	return doc;
}

/* Ask once.  1: it is there, 0: not yet, -1: refused. */
static int ask(const char *viewer, enum egs_document_kind kind, const char *arg)
{
	const struct egs_document doc = make_document(viewer, kind, arg);
	struct MHD_Response *r = NULL;
	int rc = egs_web_cache_get(cache, &doc, &r, &err);

	return rc < 0 ? -1 : r != NULL;
}

static void stop_loop(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	egs_loop_stop(loop);
}

static void run_loop(uint64_t ms)
{
	struct egs_watch *timer =
		egs_loop_add_timer(loop, stop_loop, NULL, &err);

	egs_timer_start(timer, ms);
	egs_loop_run(loop, &err);
	egs_watch_free(timer);
}

/* When wait_for() asked first and last. */
static uint64_t first_ask_ms, last_ask_ms;

/* Ask until it is there. */
static int wait_for(const char *viewer, enum egs_document_kind kind,
		    const char *arg)
{
	uint64_t end = egs_now_ms() + DEADLINE_MS;
	int rc = 0;

	first_ask_ms = egs_now_ms();
	while (rc != 1 && egs_now_ms() < end) {
		last_ask_ms = egs_now_ms();
		rc = ask(viewer, kind, arg);
		if (rc != 1)
			run_loop(5);
	}
	return rc;
}

static void begin_story(void)
{
	egs_web_cache_free(cache);
	cache = egs_web_cache_new(loop, read_document, NULL, &err);
}

static struct egs_web_cache_use count(void)
{
	return egs_web_cache_count(cache);
}

static void test_share(void)
{
	char arg[16];

	begin_story();
	for (int i = 0; i < EGS_WEB_CACHE_VIEWER_DOCUMENTS; i++) {
		snprintf(arg, sizeof(arg), "0-%d", i);
		ask("mallory", EGS_DOCUMENT_JOB, arg);
	}
	is_int((int)count().documents, EGS_WEB_CACHE_VIEWER_DOCUMENTS,
	       "a viewer has as many documents as the share");
	is_int(ask("mallory", EGS_DOCUMENT_JOB, "more"), -1,
	       "a viewer beyond the share is refused: %s", err.msg);
	is_int(wait_for("mallory", EGS_DOCUMENT_JOB, "0-3"), 1,
	       "a viewer beyond the share sees the documents that are there");
	is_int(wait_for("alice", EGS_DOCUMENT_NOW, ""), 1,
	       "another viewer is served beside one who wants too much");
}

static void test_all_places(void)
{
	char name[16];
	int first = 0;

	begin_story();
	for (int i = 0; i < EGS_WEB_CACHE_DOCUMENTS / 2; i++) {
		snprintf(name, sizeof(name), "u%d", i);
		ask(name, EGS_DOCUMENT_NOW, "");
		ask(name, EGS_DOCUMENT_TODAY, "");
	}
	is_int((int)count().documents, EGS_WEB_CACHE_DOCUMENTS,
	       "many viewers have a document each");
	first = ask("alice", EGS_DOCUMENT_NOW, "");
	ok(first >= 0, "one viewer more is served when all places are taken");
	is_int((int)count().documents, EGS_WEB_CACHE_DOCUMENTS,
	       "the number of documents has a limit");
}

static void test_children(void)
{
	begin_story();
	ask("mallory", EGS_DOCUMENT_JOB, "hang");
	ask("mallory", EGS_DOCUMENT_WORKLOAD, "hang");
	ask("mallory", EGS_DOCUMENT_JOB, "0");
	ask("mallory", EGS_DOCUMENT_NOW, "");
	is_int((int)count().children, 2, "a viewer has two readings at a time");
	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		ask(name, EGS_DOCUMENT_JOB, "hang");
		ask(name, EGS_DOCUMENT_WORKLOAD, "hang");
	}
	is_int((int)count().children, 6, "reports leave two readings free");
	is_int(wait_for("alice", EGS_DOCUMENT_NOW, ""), 1,
	       "the present is read while reports hang");
}

static void test_expiry(void)
{
	uint64_t now_ms;

	begin_story();
	wait_for("alice", EGS_DOCUMENT_JOB, "1");
	wait_for("alice", EGS_DOCUMENT_TODAY, "");
	now_ms = egs_now_ms();
	ok(count().bytes > MEGABYTE, "documents have bytes");
	egs_web_cache_check(cache, now_ms + 11 * SECOND);
	is_int((int)count().documents, 1,
	       "a document that nobody wants for ten seconds goes");
	ok(count().bytes < MEGABYTE, "its bytes go with a document");
	egs_web_cache_check(cache, now_ms + 61 * SECOND);
	is_int((int)count().documents, 0,
	       "reports go when they are no longer good");
	is_int((int)count().viewers, 0, "a viewer goes with the last document");
	is_int((int)count().bytes, 0, "an empty cache has no bytes");
}

static void test_bytes(void)
{
	begin_story();
	for (int i = 0; i < 5; i++) {
		char arg[16];

		snprintf(arg, sizeof(arg), "10-%d", i);
		is_int(wait_for("mallory", EGS_DOCUMENT_JOB, arg), 1,
		       "large document %d of a viewer is read", i);
	}
	ok(count().bytes <= EGS_WEB_CACHE_VIEWER_BYTES,
	   "a viewer has no more bytes than the share: %zu", count().bytes);
	is_int(wait_for("mallory", EGS_DOCUMENT_JOB, "40"), 1,
	       "a document larger than the share has an answer");
	ok(count().bytes <= EGS_WEB_CACHE_VIEWER_BYTES,
	   "a document larger than the share is not kept: %zu", count().bytes);
	for (int i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		wait_for(name, EGS_DOCUMENT_JOB, "14");
		wait_for(name, EGS_DOCUMENT_JOB, "15");
	}
	is_int(wait_for("alice", EGS_DOCUMENT_NOW, ""), 1,
	       "a viewer is served beside six who want much");
	ok(count().bytes <= EGS_WEB_CACHE_BYTES,
	   "all viewers have no more bytes than the limit: %zu", count().bytes);
}

/* Is the document read again so many seconds after it was wanted? */
static bool is_read_again(const char *arg, uint64_t after_s)
{
	begin_story();
	wait_for("alice", EGS_DOCUMENT_WORKLOAD, arg);
	egs_web_cache_check(cache, last_ask_ms + after_s * SECOND);
	return count().children;
}

/* Is it still good so many seconds after it was read? */
static bool is_kept(const char *arg, uint64_t after_s)
{
	begin_story();
	wait_for("alice", EGS_DOCUMENT_WORKLOAD, arg);
	egs_web_cache_check(cache, first_ask_ms + after_s * SECOND);
	return !count().children && count().documents == 1;
}

static void test_refusal(void)
{
	ok(is_kept("0", 50), "a document is good for a minute");
	ok(is_read_again("refuse", 6),
	   "a document with a refusal is read again after five seconds");
	ok(is_kept("refuse", 3),
	   "a document with a refusal is good for some seconds");
	ok(is_read_again("fail", 3), "a failed reading is tried again soon");
}

int main(void)
{
	plan_none();
	loop = egs_loop_new(&err);
	test_share();
	test_all_places();
	test_children();
	test_expiry();
	test_bytes();
	test_refusal();
	egs_web_cache_free(cache);
	egs_loop_free(loop);
	return done_testing();
}
