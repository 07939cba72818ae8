/* node_choice.h - nodes a job may have, and those it had better have
 *
 * What the daemon says of nodes: which are fenced, and which are those of a
 * tier or a phase.  Only jobs it decided about are concerned, 'row' is that of
 * the job, and never the nodes that a job requires itself.
 */
#ifndef EGS_SELECT_NODE_CHOICE_H
#define EGS_SELECT_NODE_CHOICE_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Take out of the test what is fenced, and what is not of the job's tier or
 * phase if that does not spill.
 */
void egs_node_choice_filter(const struct egs_job_test *test,
			    const struct egs_table_job *row);

/* The same of one without a row: if it may get one, it is no quicker than the
 * fence.
 */
void egs_node_choice_filter_new(const struct egs_job_test *test);

/* Try it first where the job had better run: on the nodes of its tier,
 * of these on those of its phase, and there on those with the fewest free GPUs
 * that suffice, so that others stay whole.  True if it can start there, with
 * the answer of cons_tres in '*rc'; else nothing has happened.
 */
bool egs_node_choice_prefer(const struct egs_job_test *test,
			    const struct egs_table_job *row,
			    __typeof__(select_g_job_test) *cons_tres, int *rc);

#endif
