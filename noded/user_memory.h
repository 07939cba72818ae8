/* user_memory.h - the memory that a user's processes have on this node */
#ifndef EGS_NODED_USER_MEMORY_H
#define EGS_NODED_USER_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Resident memory of all processes of 'uid', in MB, rounded up.  That is more
 * than one job uses if the user has several here: a process can hide its job,
 * but not its user.  Shared pages count once for each process.
 */
uint32_t egs_user_memory_mb(uid_t uid);

#endif
