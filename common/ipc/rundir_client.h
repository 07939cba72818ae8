/* rundir_client.h - the run directory (rundir.h) as a job uses it
 *
 * The road of messages that needs no network, no munge and no library: for the
 * commands and for libegs.
 */
#ifndef EGS_IPC_RUNDIR_CLIENT_H
#define EGS_IPC_RUNDIR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/ipc/rundir_layout.h"

/* The run directory of this process, borrowed from its environment; NULL if
 * there is none.
 */
const char *egs_rundir_path(void);

/* Read the flag: true with '*flag' filled in if there is one. */
bool egs_rundir_read_flag(const char *dir, struct egs_rundir_flag *flag);

/* A name for a message, which is its id too: 16 hex digits.  -1: the kernel has
 * no random numbers.
 */
#define EGS_RUNDIR_ID_SIZE 17
int egs_rundir_new_id(char id[EGS_RUNDIR_ID_SIZE]);

/* Leave a message in out/; 0, or -1 with 'err' set. */
int egs_rundir_send(const char *dir, const char *id, const char *text,
		    size_t len, struct egs_err *err);

/* Has egs-noded taken it? */
bool egs_rundir_is_taken(const char *dir, const char *id);

/* Take it back: true if nobody has taken it, and nobody will. */
bool egs_rundir_cancel(const char *dir, const char *id);

/* Wait for its answer: true with 'answer', a string.  What is in in/ is gone
 * then.
 */
bool egs_rundir_wait_answer(const char *dir, const char *id,
			    char answer[EGS_RUNDIR_ANSWER_MAX], int timeout_ms);

/* The steady clock in ms, and waiting for so long. */
int64_t egs_rundir_now_ms(void);
void egs_rundir_sleep_ms(int ms);

/* Wait until a request is open: true with '*flag'.  A negative time is
 * forever.
 */
bool egs_rundir_wait_notice(const char *dir, struct egs_rundir_flag *flag,
			    int timeout_ms);

#endif
