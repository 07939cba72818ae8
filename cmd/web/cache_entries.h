/* cache_entries.h - entries of the cache, and the share of each viewer
 *
 * For cache.c only.  An entry is a document that a viewer wants.  It belongs to
 * its viewer, who pays for its bytes until the last answer with them is sent.
 */
#ifndef EGS_WEB_CACHE_ENTRIES_H
#define EGS_WEB_CACHE_ENTRIES_H

#include <stdbool.h>
#include <sys/queue.h>

#include "cmd/web/cache.h"
#include "common/base/child.h"

struct egs_cache_entry {
	TAILQ_ENTRY(egs_cache_entry) link;
	struct egs_cache_viewer *viewer;
	struct egs_document doc;
	uint64_t wanted_ms;	       /* the last time */
	uint64_t begun_ms;	       /* the last reading, 0: never */
	uint64_t good_ms;	       /* for how long */
	struct MHD_Response *response; /* the last document, NULL: none yet */
	const char *text;	       /* of 'response', and its length */
	size_t len;
	struct MHD_Response *away; /* NULL: egs-policyd answered */
	struct egs_child child;
	struct egs_watch *watch; /* of the child, NULL: none */
};
TAILQ_HEAD(egs_cache_list, egs_cache_entry);

struct egs_cache_viewer {
	TAILQ_ENTRY(egs_cache_viewer) link;
	struct egs_web_cache *cache;
	char name[64];
	struct egs_cache_list entries; /* the last wanted first */
	unsigned int nentries, nchildren;
	size_t bytes; /* of all responses, also of those being sent */
};
TAILQ_HEAD(egs_cache_viewers, egs_cache_viewer);

struct egs_web_cache {
	struct egs_loop *loop;
	egs_document_fn *read;
	const struct egs_document_source *source;
	struct egs_watch *timer;
	struct egs_cache_viewers viewers;
	unsigned int nviewers, nentries, nchildren, nreports;
	size_t bytes;
};

/* A document that nobody has wanted for this long is read no more. */
#define EGS_CACHE_WANTED_MS 10000

/* The entry of the document, a new one if there is none.  NULL with 'err' set:
 * its viewer, or all viewers, have too many that are wanted.
 */
struct egs_cache_entry *egs_cache_entries_get(struct egs_web_cache *cache,
					      const struct egs_document *doc,
					      uint64_t now_ms,
					      struct egs_err *err);

/* Remove an entry with its child.  The viewer goes with the last one. */
void egs_cache_entries_remove(struct egs_cache_entry *e);

/* End the child of an entry, if there is one. */
void egs_cache_entries_end_child(struct egs_cache_entry *e);

/* Is this a report?  Reports may take long. */
bool egs_cache_entries_is_report(const struct egs_cache_entry *e);

/* Is there room for 'len' more bytes?  The second function makes room: other
 * entries go, of the same viewer or of the one who has most.
 */
bool egs_cache_entries_has_room(const struct egs_cache_viewer *v, size_t len);
bool egs_cache_entries_make_room(const struct egs_cache_entry *e, size_t len);

/* A response of all parts, one after the other; '*text' is its bytes.  NULL: no
 * memory.
 */
struct egs_cache_part {
	const char *bytes;
	size_t len;
};
struct MHD_Response *
egs_cache_entries_respond(struct egs_cache_viewer *v,
			  const struct egs_cache_part *part, size_t n,
			  const char **text);

/* Destroy '*response' and set it to NULL, which is allowed. */
void egs_cache_entries_drop(struct MHD_Response **response);

#endif
