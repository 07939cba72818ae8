/* free_gpus.h - nodes by their number of free GPUs
 *
 * Backfill tests hundreds of jobs between two changes.  So free GPUs are
 * counted after a change, and once a second: a node may be back with other
 * GPUs.  The numbers are used for preferences only; cons_tres decides.
 */
#ifndef EGS_SELECT_FREE_GPUS_H
#define EGS_SELECT_FREE_GPUS_H

#include "plugins/compat/compat.h"

/* Reduce 'nodes' to the nodes with the fewest free GPUs of a type (0: of any),
 * but at least 'gpus'.  False if these are all nodes or none: 'nodes' is
 * unchanged.  For one thread at a time.
 */
bool egs_free_gpus_best_fit(bitstr_t *nodes, uint32_t type_id, uint32_t gpus);

/* A job got or released GPUs. */
void egs_free_gpus_invalidate(void);

#endif
