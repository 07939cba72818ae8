/* show_list.c - several tables in one answer
 *
 * A live view asks for all that it shows at once: {"what": "ping,map,teams"}.
 * The answer has a key for each, with the answer to that one as text.  So a
 * view of one moment costs one request.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/list.h"
#include "policyd/requests/requests.h"

enum { TABLES_MAX = 8 };

static int show_table(struct egs_daemon *d, const struct egs_peer *peer,
		      const struct egs_msg *request, struct egs_msg *answer,
		      struct egs_err *err)
{
	const char *what = egs_msg_get_str(request, "what");

	if (what && strcmp(what, "ping") == 0)
		return egs_verb_ping(d, peer, request, answer, err);
	return egs_verb_show(d, peer, request, answer, err);
}

static int add_table(struct egs_daemon *d, const struct egs_peer *peer,
		     const char *what, struct egs_msg *answer,
		     struct egs_err *err)
{
	struct egs_msg *request = egs_msg_new(), *table = egs_msg_new();
	size_t len;
	int rc = egs_errf(err, "out of memory");

	if (request && table) {
		egs_msg_set_str(request, "what", what);
		rc = show_table(d, peer, request, table, err);
	}
	if (rc == 0)
		egs_msg_set_str(answer, what, egs_msg_to_text(table, &len));
	egs_msg_free(request);
	egs_msg_free(table);
	return rc;
}

int egs_show_list(struct egs_daemon *d, const struct egs_peer *peer,
		  const char *list, struct egs_msg *answer, struct egs_err *err)
{
	const char *name;
	char what[32];
	size_t len;
	int n = 0, rc = 0;

	while (rc == 0 && (name = egs_list_next(&list, &len))) {
		if (++n > TABLES_MAX)
			return egs_errf(err, "more than %d tables at once",
					TABLES_MAX);
		snprintf(what, sizeof(what), "%.*s",
			 len < sizeof(what) ? (int)len : 0, name);
		rc = add_table(d, peer, what, answer, err);
	}
	return rc;
}
