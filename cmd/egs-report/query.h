/* query.h - a report from the daemon, or out of its file */
#ifndef EGS_EGS_REPORT_QUERY_H
#define EGS_EGS_REPORT_QUERY_H

#include "common/ipc/msg.h"

struct egs_report_source {
	const char *address, *cluster; /* of the daemon, NULL: the site's */
	const char *state_dir; /* StateDir to read, NULL: ask the daemon */
	const char *conf_path; /* egs.conf to go by then, NULL: the site's */
	int timeout_ms;
};

/* Ask for what 'request' says.  Where no daemon answers, and its file can be
 * read, that is read.  0 with '*answer', which is the caller's to free, or
 * what egs_client_call() returns.
 */
int egs_report_query_send(const struct egs_report_source *way,
			  struct egs_msg *request, struct egs_msg **answer,
			  struct egs_err *err);

#endif
