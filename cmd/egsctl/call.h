/* call.h - send a request to the daemon and print the answer */
#ifndef EGS_EGSCTL_CALL_H
#define EGS_EGSCTL_CALL_H

#include "cmd/egsctl/egsctl.h"
#include "common/ipc/msg.h"

/* Send 'request' to the daemon that the options name, or the site's.  Returns
 * the exit code: EGSCTL_DONE with '*answer', which the caller frees, else with
 * 'err' set.  A 'request' of NULL is out of memory.
 */
int egsctl_ask(const struct egs_msg *request, const struct egsctl_options *ctl,
	       struct egs_msg **answer, struct egs_err *err);

/* Print an answer.  A table in it is printed under 'name'; other answers as
 * lines of KEY=VALUE, or with --json unchanged.  Returns 0, or -1 with 'err'
 * set.
 */
int egsctl_print_answer(const struct egs_msg *answer, const char *name,
			const struct egs_listing_style *style,
			struct egs_err *err);

/* Send a request and print the answer.  Returns the exit code. */
int egsctl_call(const struct egs_msg *request, const char *name,
		const struct egsctl_options *ctl);

#endif
