/* query.h - a report from the daemon, or out of its file */
#ifndef EGS_EGS_REPORT_QUERY_H
#define EGS_EGS_REPORT_QUERY_H

#include "common/ipc/msg.h"

struct egs_report_way {
	const char *at, *cluster; /* of the daemon, NULL: the site's */
	const char *dir;	  /* StateDir to read, NULL: ask the daemon */
	const char *conf;	  /* egs.conf to go by then, NULL: the site's */
	int timeout_ms;
};

/* Ask for what 'request' says.  Where no daemon answers, and its file can be
 * read, that is read.  0 with '*answer', which is the caller's to free, or
 * what egs_client_call() returns.
 */
int egs_report_ask(const struct egs_report_way *way, struct egs_msg *request,
		   struct egs_msg **answer, struct egs_err *err);

#endif
