/* rundir_client.h - the run directory (rundir_layout.h) as a job uses it
 *
 * Messages through the run directory need no network, no munge and no library.
 * The commands and libegs use it.
 */
#ifndef EGS_IPC_RUNDIR_CLIENT_H
#define EGS_IPC_RUNDIR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* The run directory of this process, borrowed from its environment; NULL: none.
 */
const char *egs_rundir_path(void);

/* Read the flag.  True with '*flag' filled in, false if there is no flag. */
bool egs_rundir_read_flag(const char *dir, struct egs_rundir_flag *flag);

/* A new id of a message, 16 hex digits, which is also its name.  -1: the kernel
 * has no random numbers.
 */
#define EGS_RUNDIR_ID_SIZE 17
int egs_rundir_new_id(char id[EGS_RUNDIR_ID_SIZE]);

/* Write a message to out/.  Returns 0, or -1 with 'err' set. */
int egs_rundir_send(const char *dir, const char *id, const char *text,
		    size_t len, struct egs_err *err);

/* Has egs-noded read and removed the message? */
bool egs_rundir_is_taken(const char *dir, const char *id);

/* Remove the message.  True if egs-noded has not read the message, and will
 * not.
 */
bool egs_rundir_cancel(const char *dir, const char *id);

/* Wait for the answer.  True with the answer, a string; its file is removed. */
bool egs_rundir_wait_answer(const char *dir, const char *id,
			    char answer[EGS_RUNDIR_ANSWER_MAX], int timeout_ms);

void egs_rundir_sleep_ms(int ms);

/* Wait for a preemption notice.  True with '*flag'.  A negative time: forever.
 */
bool egs_rundir_wait_notice(const char *dir, struct egs_rundir_flag *flag,
			    int timeout_ms);

#endif
