/* query.h - get a report from the daemon, or from its file */
#ifndef EGS_EGS_REPORT_QUERY_H
#define EGS_EGS_REPORT_QUERY_H

#include "common/ipc/msg.h"

struct egs_report_source {
	const char *address, *cluster; /* of the daemon, NULL: the site's */
	const char *state_dir; /* StateDir to read, NULL: ask the daemon */
	const char *conf_path; /* egs.conf for that, NULL: the site's */
	int timeout_ms;
};

/* Send 'request'.  If no daemon answers, read its file if the user may read it.
 * Returns 0 with '*answer', which the caller frees, or the result of
 * egs_client_call().
 */
int egs_report_query_send(const struct egs_report_source *source,
			  struct egs_msg *request, struct egs_msg **answer,
			  struct egs_err *err);

#endif
