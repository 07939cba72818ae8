/* node_filter.h - nodes that a job has ruled out: sbatch -w, -x and -C
 *
 * One text says all of it; none: the job may go anywhere.
 */
#ifndef EGS_SLURM_NODE_FILTER_H
#define EGS_SLURM_NODE_FILTER_H

#include <stdbool.h>

/* The text for nodes it must have, nodes it must not have, both as Slurm writes
 * them ("n[1-4]"), and features ("a&b|c"); each may be NULL or "" for none. The
 * caller frees it.  NULL if nothing is ruled out, or without memory.
 */
char *egs_node_filter_format(const char *with, const char *without,
			     const char *features);

/* The text, read; NULL without memory. */
struct egs_node_filter *egs_node_filter_parse(const char *text);
void egs_node_filter_free(struct egs_node_filter *w);

/* May it use the node 'name', which has these features, "a,b"?  Parentheses in
 * what it asks for are beyond us and rule nothing out.
 */
bool egs_node_filter_may_use(const struct egs_node_filter *w, const char *name,
			     const char *features);

#endif
