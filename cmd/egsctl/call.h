/* call.h - ask the daemon and print what it answers */
#ifndef EGS_EGSCTL_CALL_H
#define EGS_EGSCTL_CALL_H

#include "cmd/egsctl/egsctl.h"
#include "common/ipc/msg.h"

/* Send 'request' to the daemon of 'ctl', or else of the site.  A table in the
 * answer is printed with 'name' as what it is about; other answers as lines of
 * KEY=VALUE, and with --json as a whole.  Returns the exit code.
 */
int egsctl_call(const struct egs_msg *request, const char *name,
		const struct egsctl_options *ctl);

/* Print the table in 'answer', with 'name' as what it is about. */
int egsctl_print_table(const struct egs_msg *answer, const char *name,
		       const struct egs_listing_style *style,
		       struct egs_err *err);

#endif
