/* leftovers.h - kill what ended jobs have left on the GPUs of a starting step
 *
 * A process is a leftover if its job has no slurmstepd on this node.  Processes
 * of root, of the step's own job and of no job are left alone, and so are those
 * in no step whose environment was not read (EGS_GPU_USER_UNCLEAR).
 */
#ifndef EGS_NODE_LEFTOVERS_H
#define EGS_NODE_LEFTOVERS_H

#include "common/node/gpu_users.h"

/* A step of 'job' of 'uid' starts.  Kill all leftovers among the identified
 * users, wait 'wait_ms' at most until they have ended, and set 'fate' of each
 * user.
 */
void egs_leftovers_kill(struct egs_gpu_users *users, uint32_t job, uid_t uid,
			uint32_t wait_ms);

#endif
