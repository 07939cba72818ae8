/* cache.h - the documents that viewers ask for, each read once for all
 *
 * A document is read when the first viewer wants it, and again when it is no
 * longer good, as long as somebody wants it.  So 200 viewers cost egs-policyd
 * no more than one.  Each is read in a child process: no viewer waits.
 *
 * If egs-policyd is away, the document is {"away": "one sentence", "last": the
 * last document, or null}.
 */
#ifndef EGS_WEB_CACHE_H
#define EGS_WEB_CACHE_H

#include <microhttpd.h>

#include "cmd/web/document.h"
#include "common/base/loop.h"

struct egs_web_cache;

/* 'loop' and 'source' must outlive the cache.  NULL with 'err' set. */
struct egs_web_cache *
egs_web_cache_new(struct egs_loop *loop,
		  const struct egs_document_source *source,
		  struct egs_err *err);
void egs_web_cache_free(struct egs_web_cache *cache);

/* The document, borrowed until the loop runs again; NULL: it is not read yet,
 * or too many others are wanted at present.
 */
struct MHD_Response *egs_web_cache_get(struct egs_web_cache *cache,
				       const struct egs_document *doc);

#endif
