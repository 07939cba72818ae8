/* cache.c - the documents that viewers ask for, each read once for all */
#include <malloc.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "cmd/web/cache_entries.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/ipc/msg.h"

enum {
	/* Two of a viewer, so that reports do not delay the present; and two of
	 * all for the present alone.
	 */
	CHILDREN_MAX = 8,
	REPORT_CHILDREN_MAX = 6,
	VIEWER_CHILDREN_MAX = 2,
	TICK_MS = 250,
	/* After a failure, try again in this time. */
	RETRY_MS = 2000,
	/* Blocks of this size go back to the system when they are freed. */
	MMAP_BYTES = 64 << 10,
};

/* ---- what was read ---- */

/* No other entry goes for that: without room the last document is left out. */
static void set_away(struct egs_cache_entry *e, const char *why)
{
	struct egs_msg *head = egs_msg_new();
	struct egs_cache_part part[] = {
		{ NULL, 0 }, { ",\"last\":", 8 }, { "null", 4 }, { "}", 1 }
	};
	const char *text;

	egs_cache_entries_drop(&e->away);
	if (head) {
		egs_msg_set_str(head, "away", why);
		part[0].bytes = egs_msg_to_text(head, &part[0].len);
	}
	if (e->response && egs_cache_entries_has_room(e->viewer, e->len + 1024))
		part[2] = (struct egs_cache_part){ e->text, e->len };
	if (part[0].bytes && part[0].len--)
		e->away = egs_cache_entries_respond(e->viewer, part,
						    ARRAY_SIZE(part), &text);
	egs_msg_free(head);
	e->good_ms = RETRY_MS;
}

/* The last byte of what a child writes: is an answer in it refused? */
enum { COMPLETE = '0', REFUSED = '1' };

static int read_in_child(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err)
{
	const struct egs_cache_entry *e = arg;
	const struct egs_web_cache *cache = e->viewer->cache;
	struct egs_document_text text = { .bytes = NULL };
	char *more;

	if (cache->read(&e->doc, cache->source, &text, err) < 0)
		return -1;
	more = realloc(text.bytes, text.len + 1);
	if (!more) {
		free(text.bytes);
		return egs_errf(err, "out of memory");
	}
	more[text.len] = text.has_refusal ? REFUSED : COMPLETE;
	*bytes = more;
	*len = text.len + 1;
	return 0;
}

static void set_document(struct egs_cache_entry *e)
{
	struct egs_cache_part part = { e->child.bytes, e->child.len - 1 };
	bool has_refusal = e->child.bytes[part.len] == REFUSED;

	egs_cache_entries_drop(&e->response);
	if (!egs_cache_entries_make_room(e, part.len)) {
		set_away(e, "there is no room for so much data at present");
		return;
	}
	egs_cache_entries_drop(&e->away);
	e->response = egs_cache_entries_respond(e->viewer, &part, 1, &e->text);
	e->len = part.len;
	e->good_ms = egs_document_good_ms(e->doc.kind, has_refusal);
}

static void begin_due(struct egs_web_cache *cache, uint64_t now_ms);

static void read_child(void *arg, uint32_t events)
{
	struct egs_cache_entry *e = arg;
	struct egs_web_cache *cache = e->viewer->cache;
	struct egs_err err;
	int rc = egs_child_read(&e->child, &err);

	(void)events;
	if (rc > 0 && e->child.len > EGS_WEB_CACHE_VIEWER_BYTES)
		rc = egs_errf(&err, "the answer is too long for a page");
	if (rc > 0)
		return;
	if (rc == 0 && e->child.len)
		set_document(e);
	else
		set_away(e, rc < 0 ? err.msg : "no answer");
	egs_cache_entries_end_child(e);
	begin_due(cache, egs_now_ms());
}

/* ---- readings ---- */

static void begin_reading(struct egs_cache_entry *e, uint64_t now_ms)
{
	struct egs_web_cache *cache = e->viewer->cache;
	struct egs_err err;

	e->begun_ms = now_ms;
	if (egs_child_start(&e->child, read_in_child, e, &err) == 0)
		e->watch = egs_loop_add_fd(cache->loop, e->child.fd, EPOLLIN,
					   read_child, e, &err);
	if (!e->watch) {
		set_away(e, err.msg);
		egs_child_stop(&e->child);
		return;
	}
	e->viewer->nchildren++;
	cache->nchildren++;
	cache->nreports += egs_cache_entries_is_report(e);
}

static bool is_wanted(const struct egs_cache_entry *e, uint64_t now_ms)
{
	return now_ms - e->wanted_ms < EGS_CACHE_WANTED_MS;
}

static bool is_good(const struct egs_cache_entry *e, uint64_t now_ms)
{
	return e->begun_ms && now_ms - e->begun_ms < e->good_ms;
}

static bool may_begin(const struct egs_cache_entry *e, uint64_t now_ms)
{
	return !e->watch && is_wanted(e, now_ms) && !is_good(e, now_ms) &&
	       e->viewer->nchildren < VIEWER_CHILDREN_MAX &&
	       (!egs_cache_entries_is_report(e) ||
		e->viewer->cache->nreports < REPORT_CHILDREN_MAX);
}

/* The entry whose last reading is longest ago. */
static struct egs_cache_entry *find_due(const struct egs_web_cache *cache,
					uint64_t now_ms)
{
	const struct egs_cache_viewer *v = NULL;
	struct egs_cache_entry *due = NULL, *e = NULL;

	TAILQ_FOREACH(v, &cache->viewers, link)
	{
		TAILQ_FOREACH(e, &v->entries, link)
		{
			if (may_begin(e, now_ms) &&
			    (!due || e->begun_ms < due->begun_ms))
				due = e;
		}
	}
	return due;
}

static void begin_due(struct egs_web_cache *cache, uint64_t now_ms)
{
	struct egs_cache_entry *e;

	while (cache->nchildren < CHILDREN_MAX && (e = find_due(cache, now_ms)))
		begin_reading(e, now_ms);
}

static void check_entry(struct egs_cache_entry *e, uint64_t now_ms)
{
	if (e->watch &&
	    now_ms - e->begun_ms > egs_document_limit_ms(e->doc.kind)) {
		set_away(e, "egs-policyd takes too long to answer");
		egs_cache_entries_end_child(e);
	}
	if (!e->watch && !is_wanted(e, now_ms) && !is_good(e, now_ms))
		egs_cache_entries_remove(e);
}

/* A viewer may go with the last entry. */
static void check_viewer(struct egs_cache_viewer *v, uint64_t now_ms)
{
	struct egs_cache_entry *next;

	for (struct egs_cache_entry *e = TAILQ_FIRST(&v->entries); e;
	     e = next) {
		next = TAILQ_NEXT(e, link);
		check_entry(e, now_ms);
	}
}

void egs_web_cache_check(struct egs_web_cache *cache, uint64_t now_ms)
{
	struct egs_cache_viewer *next;

	for (struct egs_cache_viewer *v = TAILQ_FIRST(&cache->viewers); v;
	     v = next) {
		next = TAILQ_NEXT(v, link);
		check_viewer(v, now_ms);
	}
	begin_due(cache, now_ms);
}

static void check_in_time(void *arg, uint32_t events)
{
	struct egs_web_cache *cache = arg;

	(void)events;
	egs_web_cache_check(cache, egs_now_ms());
	egs_timer_start(cache->timer, TICK_MS);
}

/* ---- what a viewer wants ---- */

int egs_web_cache_get(struct egs_web_cache *cache,
		      const struct egs_document *doc,
		      struct MHD_Response **response, struct egs_err *err)
{
	uint64_t now_ms = egs_now_ms();
	struct egs_cache_entry *e =
		egs_cache_entries_get(cache, doc, now_ms, err);

	if (!e)
		return -1;
	e->wanted_ms = now_ms;
	if (!is_good(e, now_ms))
		begin_due(cache, now_ms);
	*response = e->away ? e->away : e->response;
	return 0;
}

struct egs_web_cache_use egs_web_cache_count(const struct egs_web_cache *cache)
{
	return (struct egs_web_cache_use){ cache->nviewers, cache->nentries,
					   cache->nchildren, cache->bytes };
}

struct egs_web_cache *
egs_web_cache_new(struct egs_loop *loop, egs_document_fn *read,
		  const struct egs_document_source *source, struct egs_err *err)
{
	struct egs_web_cache *cache = calloc(1, sizeof(*cache));

	if (!cache) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	cache->loop = loop;
	cache->read = read;
	cache->source = source;
	TAILQ_INIT(&cache->viewers);
	cache->timer = egs_loop_add_timer(loop, check_in_time, cache, err);
	if (!cache->timer) {
		free(cache);
		return NULL;
	}
	egs_timer_start(cache->timer, TICK_MS);
	return cache;
}

static void remove_viewer(struct egs_cache_viewer *v)
{
	struct egs_cache_entry *next;

	for (struct egs_cache_entry *e = TAILQ_FIRST(&v->entries); e;
	     e = next) {
		next = TAILQ_NEXT(e, link);
		egs_cache_entries_remove(e);
	}
}

void egs_web_cache_free(struct egs_web_cache *cache)
{
	struct egs_cache_viewer *next;

	if (!cache)
		return;
	for (struct egs_cache_viewer *v = TAILQ_FIRST(&cache->viewers); v;
	     v = next) {
		next = TAILQ_NEXT(v, link);
		remove_viewer(v);
	}
	egs_watch_free(cache->timer);
	free(cache);
}
