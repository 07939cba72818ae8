/* cache_entries.c - entries of the cache, and the share of each viewer */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/web/cache_entries.h"
#include "cmd/web/headers.h"

/* ---- viewers ---- */

static struct egs_cache_viewer *find_viewer(struct egs_web_cache *cache,
					    const char *name)
{
	struct egs_cache_viewer *v = NULL;

	TAILQ_FOREACH(v, &cache->viewers, link)
	{
		if (strcmp(v->name, name) == 0)
			return v;
	}
	return NULL;
}

static struct egs_cache_viewer *add_viewer(struct egs_web_cache *cache,
					   const char *name)
{
	struct egs_cache_viewer *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->cache = cache;
	snprintf(v->name, sizeof(v->name), "%s", name);
	TAILQ_INIT(&v->entries);
	TAILQ_INSERT_TAIL(&cache->viewers, v, link);
	cache->nviewers++;
	return v;
}

static void remove_empty_viewer(struct egs_cache_viewer *v)
{
	if (v->nentries || v->bytes)
		return;
	TAILQ_REMOVE(&v->cache->viewers, v, link);
	v->cache->nviewers--;
	free(v);
}

/* ---- bodies ---- */

/* The body of a response; its viewer pays for it until it is sent. */
struct cache_body {
	struct egs_cache_viewer *viewer;
	size_t len;
	char bytes[];
};

/* MHD calls this when the last answer with these bytes is sent. */
static void free_body(void *bytes)
{
	struct cache_body *b =
		(void *)((char *)bytes - offsetof(struct cache_body, bytes));
	struct egs_cache_viewer *v = b->viewer;

	v->bytes -= b->len;
	v->cache->bytes -= b->len;
	free(b);
	remove_empty_viewer(v);
}

struct MHD_Response *
egs_cache_entries_respond(struct egs_cache_viewer *v,
			  const struct egs_cache_part *part, size_t n,
			  const char **text)
{
	struct cache_body *b;
	struct MHD_Response *r;
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += part[i].len;
	b = malloc(sizeof(*b) + len);
	if (!b)
		return NULL;
	*b = (struct cache_body){ .viewer = v, .len = len };
	for (size_t i = 0, at = 0; i < n; at += part[i++].len)
		memcpy(b->bytes + at, part[i].bytes, part[i].len);
	r = MHD_create_response_from_buffer_with_free_callback(len, b->bytes,
							       free_body);
	if (!r) {
		free(b);
		return NULL;
	}
	v->bytes += b->len;
	v->cache->bytes += b->len;
	egs_web_add_headers(r, "application/json");
	*text = b->bytes;
	return r;
}

void egs_cache_entries_drop(struct MHD_Response **response)
{
	if (*response)
		MHD_destroy_response(*response);
	*response = NULL;
}

/* ---- entries ---- */

bool egs_cache_entries_is_report(const struct egs_cache_entry *e)
{
	return e->doc.kind != EGS_DOCUMENT_NOW;
}

void egs_cache_entries_end_child(struct egs_cache_entry *e)
{
	if (e->watch) {
		e->viewer->nchildren--;
		e->viewer->cache->nchildren--;
		e->viewer->cache->nreports -= egs_cache_entries_is_report(e);
	}
	egs_watch_free(e->watch);
	e->watch = NULL;
	egs_child_stop(&e->child);
}

static struct egs_cache_entry *add_entry(struct egs_cache_viewer *v,
					 const struct egs_document *doc)
{
	struct egs_cache_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->viewer = v;
	e->doc = *doc;
	e->child.fd = -1;
	TAILQ_INSERT_HEAD(&v->entries, e, link);
	v->nentries++;
	v->cache->nentries++;
	return e;
}

void egs_cache_entries_remove(struct egs_cache_entry *e)
{
	struct egs_cache_viewer *v = e->viewer;

	egs_cache_entries_end_child(e);
	egs_cache_entries_drop(&e->response);
	egs_cache_entries_drop(&e->away);
	TAILQ_REMOVE(&v->entries, e, link);
	v->nentries--;
	v->cache->nentries--;
	free(e);
	remove_empty_viewer(v);
}

/* ---- room ---- */

/* The entry of the viewer that was wanted longest ago, but not 'kept'. */
static struct egs_cache_entry *find_oldest(const struct egs_cache_viewer *v,
					   const struct egs_cache_entry *kept)
{
	struct egs_cache_entry *oldest = NULL, *e = NULL;

	TAILQ_FOREACH(e, &v->entries, link)
	{
		if (e != kept)
			oldest = e;
	}
	return oldest;
}

/* The viewer with most bytes who has an entry besides 'kept'. */
static struct egs_cache_viewer *find_richest(struct egs_web_cache *cache,
					     const struct egs_cache_entry *kept)
{
	struct egs_cache_viewer *richest = NULL, *v = NULL;

	TAILQ_FOREACH(v, &cache->viewers, link)
	{
		if (find_oldest(v, kept) &&
		    (!richest || v->bytes > richest->bytes))
			richest = v;
	}
	return richest;
}

bool egs_cache_entries_has_room(const struct egs_cache_viewer *v, size_t len)
{
	return v->bytes + len <= EGS_WEB_CACHE_VIEWER_BYTES &&
	       v->cache->bytes + len <= EGS_WEB_CACHE_BYTES;
}

/* Make room for 'len' more bytes of this entry: others go.  False: in vain. */
bool egs_cache_entries_make_room(const struct egs_cache_entry *e, size_t len)
{
	struct egs_cache_viewer *v = e->viewer, *richest;
	struct egs_cache_entry *old;

	while (v->bytes + len > EGS_WEB_CACHE_VIEWER_BYTES &&
	       (old = find_oldest(v, e)))
		egs_cache_entries_remove(old);
	while (v->cache->bytes + len > EGS_WEB_CACHE_BYTES &&
	       (richest = find_richest(v->cache, e)))
		egs_cache_entries_remove(find_oldest(richest, e));
	return egs_cache_entries_has_room(v, len);
}

/* The viewer with most entries, and more than one. */
static struct egs_cache_viewer *find_greediest(struct egs_web_cache *cache)
{
	struct egs_cache_viewer *most = NULL, *v = NULL;

	TAILQ_FOREACH(v, &cache->viewers, link)
	{
		if (v->nentries > (most ? most->nentries : 1))
			most = v;
	}
	return most;
}

/* May the viewer (NULL: a new one) have another entry? */
static int make_place(struct egs_web_cache *cache, struct egs_cache_viewer *v,
		      uint64_t now_ms, struct egs_err *err)
{
	struct egs_cache_viewer *most;

	if (v && v->nentries >= EGS_WEB_CACHE_VIEWER_DOCUMENTS) {
		struct egs_cache_entry *old = find_oldest(v, NULL);

		if (now_ms - old->wanted_ms < EGS_CACHE_WANTED_MS)
			return egs_errf(err,
					"you look at %d things at a time; try "
					"again in some seconds",
					EGS_WEB_CACHE_VIEWER_DOCUMENTS);
		egs_cache_entries_remove(old);
		return 0;
	}
	if (cache->nentries < EGS_WEB_CACHE_DOCUMENTS)
		return 0;
	most = find_greediest(cache);
	if (!most || (v && most->nentries <= v->nentries + 1))
		return egs_errf(err, "too many people look at present");
	egs_cache_entries_remove(find_oldest(most, NULL));
	return 0;
}

/* ---- entries by document ---- */

static struct egs_cache_entry *find_entry(const struct egs_cache_viewer *v,
					  const struct egs_document *doc)
{
	struct egs_cache_entry *e = NULL;

	TAILQ_FOREACH(e, &v->entries, link)
	{
		if (e->doc.kind == doc->kind &&
		    strcmp(e->doc.arg, doc->arg) == 0)
			return e;
	}
	return NULL;
}

struct egs_cache_entry *egs_cache_entries_get(struct egs_web_cache *cache,
					      const struct egs_document *doc,
					      uint64_t now_ms,
					      struct egs_err *err)
{
	struct egs_cache_viewer *v = find_viewer(cache, doc->viewer);
	struct egs_cache_entry *e = v ? find_entry(v, doc) : NULL;

	if (e) {
		TAILQ_REMOVE(&v->entries, e, link);
		TAILQ_INSERT_HEAD(&v->entries, e, link);
		return e;
	}
	if (make_place(cache, v, now_ms, err) < 0)
		return NULL;
	if (!v)
		v = add_viewer(cache, doc->viewer);
	e = v ? add_entry(v, doc) : NULL;
	if (!e)
		egs_errf(err, "out of memory");
	if (v)
		remove_empty_viewer(v);
	return e;
}
