/* node_choice.h - nodes on which a job may run, and nodes it prefers
 *
 * The daemon publishes which nodes are fenced, and which belong to a tier or a
 * phase.  This concerns only jobs with a row in the decision table, and never
 * nodes that a job requires itself.
 */
#ifndef EGS_SELECT_NODE_CHOICE_H
#define EGS_SELECT_NODE_CHOICE_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Remove fenced nodes from the test, and nodes outside of the job's tier or
 * phase if that may not spill.  A job that was requeued gets no node that has
 * not answered since slurmctld started, for two minutes at most.
 */
void egs_node_choice_filter(const struct egs_job_test *test,
			    const struct egs_table_job *row);

/* The same for a job that has no row yet.  It may be managed, so it must not
 * start on a fenced node before the daemon has seen it.
 */
void egs_node_choice_filter_new(const struct egs_job_test *test);

/* Test the job on the nodes it prefers: nodes of its tier, among these nodes
 * of its phase, and among these the nodes with the fewest free GPUs that
 * suffice, so that other nodes stay empty.  True if the job can start there,
 * with the answer of cons_tres in '*rc'; else nothing has changed.
 */
bool egs_node_choice_prefer(const struct egs_job_test *test,
			    const struct egs_table_job *row,
			    __typeof__(select_g_job_test) *cons_tres, int *rc);

#endif
