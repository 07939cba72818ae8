/* cache.c - the documents that viewers ask for, each read once for all */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "cmd/web/cache.h"
#include "cmd/web/headers.h"
#include "common/base/child.h"
#include "common/base/clock.h"
#include "common/ipc/msg.h"

enum {
	ENTRIES_MAX = 128,
	CHILDREN_MAX = 4,
	TICK_MS = 250,
	/* A document that nobody has wanted for this long is read no more. */
	WANTED_MS = 10000,
	/* After a failure, try again in this time. */
	RETRY_MS = 2000,
};

struct cache_entry {
	struct egs_web_cache *cache;
	struct egs_document doc;
	bool used;
	uint64_t wanted_ms; /* the last time */
	uint64_t begun_ms;  /* the last reading, 0: never */
	uint64_t good_ms;   /* for how long */
	char *text;	    /* the last document, NULL: none yet */
	size_t len;
	struct MHD_Response *response; /* NULL: none yet */
	struct egs_child child;
	struct egs_watch *watch; /* of the child, NULL: none */
};

struct egs_web_cache {
	struct egs_loop *loop;
	const struct egs_document_source *source;
	struct egs_watch *timer;
	unsigned int nchildren;
	struct cache_entry entry[ENTRIES_MAX];
};

/* What a child needs. */
struct reading {
	const struct egs_document *doc;
	const struct egs_document_source *source;
};

static int read_in_child(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err)
{
	const struct reading *r = arg;

	return egs_document_read(r->doc, r->source, bytes, len, err);
}

static void end_child(struct cache_entry *e)
{
	if (e->watch)
		e->cache->nchildren--;
	egs_watch_free(e->watch);
	e->watch = NULL;
	egs_child_stop(&e->child);
}

/* Take over 'text', which is JSON. */
static void set_response(struct cache_entry *e, char *text, size_t len)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		len, text, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(text);
		return;
	}
	egs_web_add_headers(r, "application/json");
	if (e->response)
		MHD_destroy_response(e->response);
	e->response = r;
}

static void set_document(struct cache_entry *e)
{
	char *text = malloc(e->child.len), *copy = malloc(e->child.len);

	if (!text || !copy) {
		free(text);
		free(copy);
		return;
	}
	memcpy(text, e->child.bytes, e->child.len);
	memcpy(copy, e->child.bytes, e->child.len);
	free(e->text);
	e->text = copy;
	e->len = e->child.len;
	e->good_ms = egs_document_good_ms(e->doc.kind);
	set_response(e, text, e->len);
}

static void set_away(struct cache_entry *e, const char *why)
{
	struct egs_msg *head = egs_msg_new();
	char *text = NULL;
	size_t head_len = 0, len = 0;
	const char *start = NULL;
	FILE *out;

	if (head) {
		egs_msg_set_str(head, "away", why);
		start = egs_msg_to_text(head, &head_len);
	}
	out = start ? open_memstream(&text, &len) : NULL;
	if (out) {
		fprintf(out, "%.*s,\"last\":%.*s}", (int)head_len - 1, start,
			e->text ? (int)e->len : 4, e->text ? e->text : "null");
		fclose(out);
		set_response(e, text, len);
	}
	egs_msg_free(head);
	if (e->good_ms > RETRY_MS || !e->good_ms)
		e->good_ms = RETRY_MS;
}

static void read_child(void *arg, uint32_t events)
{
	struct cache_entry *e = arg;
	struct egs_err err;
	int rc = egs_child_read(&e->child, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc == 0)
		set_document(e);
	else
		set_away(e, err.msg);
	end_child(e);
}

static void begin_reading(struct cache_entry *e, uint64_t now_ms)
{
	struct reading r = { &e->doc, e->cache->source };
	struct egs_err err;

	if (e->cache->nchildren >= CHILDREN_MAX ||
	    egs_child_start(&e->child, read_in_child, &r, &err) < 0)
		return;
	e->watch = egs_loop_add_fd(e->cache->loop, e->child.fd, EPOLLIN,
				   read_child, e, &err);
	if (!e->watch) {
		egs_child_stop(&e->child);
		return;
	}
	e->cache->nchildren++;
	e->begun_ms = now_ms;
}

static bool is_due(const struct cache_entry *e, uint64_t now_ms)
{
	return e->used && !e->watch && now_ms - e->wanted_ms < WANTED_MS &&
	       (!e->begun_ms || now_ms - e->begun_ms >= e->good_ms);
}

static void check_entry(struct cache_entry *e, uint64_t now_ms)
{
	if (is_due(e, now_ms))
		begin_reading(e, now_ms);
	if (e->watch &&
	    now_ms - e->begun_ms > egs_document_limit_ms(e->doc.kind)) {
		set_away(e, "egs-policyd takes too long to answer");
		end_child(e);
	}
}

static void check_entries(void *arg, uint32_t events)
{
	struct egs_web_cache *cache = arg;
	uint64_t now_ms = egs_now_ms();

	(void)events;
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		check_entry(&cache->entry[i], now_ms);
	egs_timer_start(cache->timer, TICK_MS);
}

static void clear_entry(struct cache_entry *e)
{
	end_child(e);
	if (e->response)
		MHD_destroy_response(e->response);
	free(e->text);
	*e = (struct cache_entry){ .cache = e->cache, .child.fd = -1 };
}

static bool is_same(const struct egs_document *a, const struct egs_document *b)
{
	return a->kind == b->kind && strcmp(a->arg, b->arg) == 0 &&
	       strcmp(a->viewer, b->viewer) == 0;
}

/* The entry of a document; else a free one, or the one that was wanted longest
 * ago.  NULL if all are still wanted.
 */
static struct cache_entry *find_entry(struct egs_web_cache *cache,
				      const struct egs_document *doc,
				      uint64_t now_ms)
{
	struct cache_entry *oldest = &cache->entry[0];

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct cache_entry *e = &cache->entry[i];

		if (e->used && is_same(&e->doc, doc))
			return e;
		if (oldest->used &&
		    (!e->used || e->wanted_ms < oldest->wanted_ms))
			oldest = e;
	}
	if (oldest->used && now_ms - oldest->wanted_ms < WANTED_MS)
		return NULL;
	clear_entry(oldest);
	oldest->used = true;
	oldest->doc = *doc;
	return oldest;
}

struct MHD_Response *egs_web_cache_get(struct egs_web_cache *cache,
				       const struct egs_document *doc)
{
	uint64_t now_ms = egs_now_ms();
	struct cache_entry *e = find_entry(cache, doc, now_ms);

	if (!e)
		return NULL;
	e->wanted_ms = now_ms;
	check_entry(e, now_ms);
	return e->response;
}

struct egs_web_cache *
egs_web_cache_new(struct egs_loop *loop,
		  const struct egs_document_source *source, struct egs_err *err)
{
	struct egs_web_cache *cache = calloc(1, sizeof(*cache));

	if (!cache) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	cache->loop = loop;
	cache->source = source;
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		cache->entry[i] =
			(struct cache_entry){ .cache = cache, .child.fd = -1 };
	cache->timer = egs_loop_add_timer(loop, check_entries, cache, err);
	if (!cache->timer) {
		free(cache);
		return NULL;
	}
	egs_timer_start(cache->timer, TICK_MS);
	return cache;
}

void egs_web_cache_free(struct egs_web_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		clear_entry(&cache->entry[i]);
	egs_watch_free(cache->timer);
	free(cache);
}
