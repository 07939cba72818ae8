/* node_filter.h - the nodes that a job may use: sbatch -w, -x and -C
 *
 * A filter is one text.  A job without a filter may use every node.
 */
#ifndef EGS_SLURM_NODE_FILTER_H
#define EGS_SLURM_NODE_FILTER_H

#include <stdbool.h>

/* The text of a filter: nodes the job is restricted to, nodes it excludes, both
 * as Slurm writes them ("n[1-4]"), and features ("a&b|c").  Each may be NULL or
 * "".  The caller frees it.  NULL if every node is allowed, or without memory.
 */
char *egs_node_filter_format(const char *nodes, const char *excluded,
			     const char *features);

/* Parse the text; NULL without memory. */
struct egs_node_filter *egs_node_filter_parse(const char *text);
void egs_node_filter_free(struct egs_node_filter *f);

/* May the job use the node 'name', which has these features, "a,b"?  Requests
 * with parentheses are not parsed and allow every node.
 */
bool egs_node_filter_may_use(const struct egs_node_filter *f, const char *name,
			     const char *features);

#endif
