/* db_index.h - the number of a job's record in slurmdbd
 *
 * Before 24.11 slurmdbd numbers its records, and a resize starts a new one.
 * Slurm's own resize waits for the number under slurmctld's locks, up to 15
 * minutes.  EGS sends the new record and goes on; until the number is known,
 * job->db_index is 0, and slurmdbd finds the record by the time of the resize.
 * Only the next resize needs the number.  A thread that holds no lock asks for
 * it then, and slurmctld repeats the update after a second by itself.
 *
 * Call these with slurmctld's write lock on jobs.  From 24.11 on, and without
 * slurmdbd, they have nothing to do.
 */
#ifndef EGS_SHARED_DB_INDEX_H
#define EGS_SHARED_DB_INDEX_H

#include "plugins/compat/compat.h"

/* Can a running job get a new record now?  If not, slurmdbd is asked, and the
 * caller returns EGS_ESLURM_TRY_AGAIN.
 */
bool egs_db_index_is_ready(const job_record_t *job);

/* The job has ended, and slurmctld has sent its end.  Forget the resize: a
 * requeued job is a new record with a new price.
 */
void egs_db_index_end_run(job_record_t *job);

#endif
