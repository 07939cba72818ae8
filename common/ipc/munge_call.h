/* munge_call.h - encode and decode bytes with munged
 *
 * Both calls may block for seconds: see child.h.
 */
#ifndef EGS_IPC_MUNGE_CALL_H
#define EGS_IPC_MUNGE_CALL_H

#include "common/ipc/cred.h"

#define EGS_MUNGE_ANY_UID ((uid_t)-1)

/* Encode 'len' bytes: '*text' is malloc'ed.  Only processes of 'only_for' can
 * decode them.  Returns 0, or EGS_CRED_BAD or EGS_CRED_NO_MUNGED with 'err'
 * set.
 */
int egs_munge_call_encode(const char *socket, uid_t only_for, const char *bytes,
			  size_t len, char **text, struct egs_err *err);

/* Decode 'text'; 'id' of the credential stays 0.  Returns as above, also if
 * the credential is too old or was decoded before.
 */
int egs_munge_call_decode(const char *socket, const char *text,
			  struct egs_cred *cred, struct egs_err *err);

#endif
