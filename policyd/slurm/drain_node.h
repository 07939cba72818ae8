/* drain_node.h - drain a node, and undo that if the drain is still ours
 *
 * In the worker process only.  A drain is ours if its reason begins with
 * EGS_DRAIN_PREFIX.  A node that an operator has drained, or set down with a
 * reason, is left alone.
 */
#ifndef EGS_SLURM_DRAIN_NODE_H
#define EGS_SLURM_DRAIN_NODE_H

#include "policyd/slurm/worker.h"

/* Drain the node, or undo the drain.  'text' gets the reason of an operator
 * (EGS_DRAIN_OTHERS) or the error of slurmctld (EGS_DRAIN_FAILED), else "".
 */
enum egs_drain_outcome
egs_slurm_drain_node(const struct egs_drain_params *params,
		     char text[EGS_DRAIN_TEXT_MAX]);

#endif
