/* document.h - what the page reads: answers of egs-policyd as one JSON object
 *
 *	now       the cluster at this moment
 *	today     reports of the last hours and days
 *	job       one job
 *	workload  one workload
 *
 * The object has "made" (the time), "zone_s" (what local time is ahead of UTC),
 * "cluster", "viewer" (the user whose rights the answers have, "": nobody's),
 * and the answer to each request under a name of its own.  An answer may be
 * {"error": "one sentence"}.  "again_s" is the time after which it is worth
 * reading the document again.
 */
#ifndef EGS_WEB_DOCUMENT_H
#define EGS_WEB_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define EGS_DOCUMENT_ARG_MAX 128

enum egs_document_kind {
	EGS_DOCUMENT_NOW,
	EGS_DOCUMENT_TODAY,
	EGS_DOCUMENT_JOB,
	EGS_DOCUMENT_WORKLOAD,
	EGS_DOCUMENT_KINDS
};

/* All bytes after the NUL of a text are 0, so that documents can be compared.
 */
struct egs_document {
	enum egs_document_kind kind;
	char arg[EGS_DOCUMENT_ARG_MAX]; /* job id or name of the workload */
	char viewer[64]; /* the user who looks, "": nobody in particular */
};

/* Where egs-policyd is, as in find_daemon.h; and whether it is asked for the
 * viewer, as only WebUser= of egs.conf may.
 */
struct egs_document_source {
	const char *address, *cluster;
	bool for_viewer;
};

/* The kind by its name: EGS_DOCUMENT_KINDS if there is none. */
enum egs_document_kind egs_document_find_kind(const char *name);

/* The name of the argument in an address, "id"; NULL: it has none. */
const char *egs_document_arg_name(enum egs_document_kind kind);

/* For how long a document is good, and how long it may take to read.  If an
 * answer in it is refused, it is good for some seconds only: the reason may be
 * over soon.
 */
uint64_t egs_document_good_ms(enum egs_document_kind kind, bool has_refusal);
uint64_t egs_document_limit_ms(enum egs_document_kind kind);

/* A document as it was read. */
struct egs_document_text {
	char *bytes; /* the caller frees them */
	size_t len;
	bool has_refusal; /* an answer in it is an error */
};

/* Ask egs-policyd.  The call blocks for as long as the limit.  Returns 0 with
 * '*text', or -1 with 'err' set if there is no daemon.
 */
typedef int egs_document_fn(const struct egs_document *doc,
			    const struct egs_document_source *source,
			    struct egs_document_text *text,
			    struct egs_err *err);
egs_document_fn egs_document_read;

#endif
