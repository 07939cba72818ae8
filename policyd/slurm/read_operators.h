/* read_operators.h - whom Slurm calls operator or administrator */
#ifndef EGS_SLURM_READ_OPERATORS_H
#define EGS_SLURM_READ_OPERATORS_H

#include "common/base/buf.h"

/* Ask slurmctld, and write a frame for each of them and one for the end of the
 * list.  If it does not answer nothing is written.  Without slurmdbd there are
 * none.
 */
void egs_slurm_put_operators(struct egs_buf *out);

#endif
