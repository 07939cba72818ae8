/* free_gpus.h - nodes by the GPUs that nobody holds there
 *
 * Backfill tests hundreds of jobs between two changes, so this is counted when
 * something has changed, and once in a second besides: a node may have come
 * back with other GPUs.  It is for preferences; what is right is cons_tres's
 * to know.
 */
#ifndef EGS_SELECT_FREE_GPUS_H
#define EGS_SELECT_FREE_GPUS_H

#include "plugins/compat/compat.h"

/* Keep those of 'nodes' with the fewest free GPUs of a type (0: of any) that
 * are 'gpus' or more.  False if these are all, or none: nothing has happened.
 * For one thread at a time.
 */
bool egs_free_gpus_best_fit(bitstr_t *nodes, uint32_t type_id, uint32_t gpus);

/* A job got GPUs or gave some back. */
void egs_free_gpus_invalidate(void);

#endif
