/* cache.h - the documents that viewers ask for, each read once for all
 *
 * A document is read when the first viewer wants it, and again when it is no
 * longer good, as long as somebody wants it.  So 200 viewers cost egs-policyd
 * no more than one.  Each is read in a child process: no viewer waits.
 *
 * A viewer has a share of documents, of their bytes and of the children, so
 * nobody takes the room of others.  If all room is taken, the viewer who has
 * most loses the document that was wanted longest ago.  A document is freed
 * when it is no longer good and nobody has wanted it for ten seconds.  What a
 * slow reader still reads counts until it is sent.
 *
 * If egs-policyd is away, the document is {"away": "one sentence", "last": the
 * last document, or null}.
 */
#ifndef EGS_WEB_CACHE_H
#define EGS_WEB_CACHE_H

#include <microhttpd.h>

#include "cmd/web/document.h"
#include "common/base/loop.h"

enum {
	/* Of one viewer, and of all. */
	EGS_WEB_CACHE_VIEWER_DOCUMENTS = 16,
	EGS_WEB_CACHE_DOCUMENTS = 1024,
	EGS_WEB_CACHE_VIEWER_BYTES = 32 << 20,
	EGS_WEB_CACHE_BYTES = 128 << 20,
};

struct egs_web_cache;

/* 'read' runs in a child process.  'loop' and 'source' must outlive the cache.
 * NULL with 'err' set.
 */
struct egs_web_cache *
egs_web_cache_new(struct egs_loop *loop, egs_document_fn *read,
		  const struct egs_document_source *source,
		  struct egs_err *err);

/* All responses that were given out must be sent or destroyed. */
void egs_web_cache_free(struct egs_web_cache *cache);

/* '*response' is the document, borrowed until the loop runs again; NULL: it is
 * not read yet.  Returns 0, or -1 with 'err' set if this viewer, or all
 * viewers, want too many others at present.
 */
int egs_web_cache_get(struct egs_web_cache *cache,
		      const struct egs_document *doc,
		      struct MHD_Response **response, struct egs_err *err);

/* Free what is not wanted any more at 'now_ms', and read what is due.  A timer
 * of the cache calls this.
 */
void egs_web_cache_check(struct egs_web_cache *cache, uint64_t now_ms);

/* What the cache has at present. */
struct egs_web_cache_use {
	unsigned int viewers, documents, children;
	size_t bytes;
};
struct egs_web_cache_use egs_web_cache_count(const struct egs_web_cache *cache);

#endif
