/* layout.h - are slurmctld's job records laid out as this plugin expects?
 *
 * A plugin has the offsets of one exact source of Slurm.  Slurm compares only
 * the number of the version, and 26.05.4-0pre1 has the number of 26.05.4.  With
 * other offsets a plugin would read and write anything.
 */
#ifndef EGS_SHARED_LAYOUT_H
#define EGS_SHARED_LAYOUT_H

#include "plugins/compat/compat.h"

/* Is 'job' laid out as expected?  The first record that slurmctld finds by its
 * id decides for all; until then the answer is no.  If the layout is another,
 * slurmctld's log says so, once.  After a no the caller does what stock Slurm
 * would do.  Needs slurmctld's lock for jobs, and makes no system call.
 */
bool egs_layout_is_ours(const job_record_t *job);

#endif
