/* decisions.h - read the daemon's decisions inside slurmctld
 *
 * Each plugin has its own copy of this code, because Slurm loads them
 * separately.  Nothing here waits or locks.  The table is mapped once it
 * exists; a lookup needs no system call.
 */
#ifndef EGS_SHARED_DECISIONS_H
#define EGS_SHARED_DECISIONS_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Read from egs.conf where the table is and how old it may be.  If the file is
 * missing or invalid, log that; the last valid file counts (settings.h).
 * Without one no job has a row, and everything is as on stock Slurm.
 */
void egs_decisions_init(const char *plugin_name);

/* Likewise for a plugin that also works without egs.conf: a missing file is not
 * logged.
 */
void egs_decisions_init_if_conf(const char *plugin_name);

/* PreemptBase= of the last valid egs.conf, such as "preempt/qos"; NULL: none.
 */
const char *egs_decisions_preempt_base(void);

/* RunDir= of egs.conf, for egs_ring_job(); NULL: no egs.conf. */
const char *egs_decisions_run_dir(void);

/* Get the row of a job.  False unless the table is fresh, the row belongs to
 * this very job, and the job is managed by a team in enforce mode.  A task of
 * an array is looked up by its own id, then by the id of the array.
 */
bool egs_decision_get(const job_record_t *job, struct egs_table_job *row);

/* Has the daemon, which is alive, not yet seen this job?  True only for a job
 * with a stamp: the daemon may decide about it.
 */
bool egs_decision_is_pending(const job_record_t *job);

/* Was the job changed by an update that the daemon had not read when it
 * published 'row'?  False after StaleAfter.
 */
bool egs_decision_is_outdated(const job_record_t *job,
			      const struct egs_table_job *row);

/* Has the daemon not yet seen this job, or its last update, and does its stamp
 * say that it must not start before?
 */
bool egs_decision_must_come_first(const job_record_t *job);

/* egs_decision_get() for a job that is being preempted.  This decision stays
 * valid while the daemon is down.
 */
bool egs_decision_while_preempted(const job_record_t *job,
				  struct egs_table_job *row);

/* The decision about a pending job that may preempt others. */
struct egs_pending_decision {
	struct egs_table_job row;
	bool has_row;  /* as egs_decision_get() */
	bool may_take; /* there may be a victim for it */
};

/* Get the decision about the pending job for which Slurm examines all others.
 */
struct egs_pending_decision egs_decision_for_pending(const job_record_t *job);

/* Was this the last job for which egs_decision_for_pending() returned
 * 'may_take' false, with nothing published since?  This is the cheapest lookup.
 */
bool egs_decision_cannot_take(const job_record_t *job);

/* Is there any job that a pending job may preempt? */
bool egs_decisions_has_victim(void);

/* What is left of a quota (egs_table_read_quota()). */
bool egs_decisions_quota_left(const struct egs_quota_key *place,
			      uint32_t *left);

/* The number of the last publication, 0: the table is not fresh. */
uint64_t egs_decisions_seq(void);

/* The mode for jobs of a team of 'policy' (-1: none), as the daemon applies it.
 * INHERIT: unknown, the table is not fresh.
 */
enum egs_mode egs_decisions_mode(const struct egs_policy_conf *policy,
				 int team);

/* Is the table fresh?  The sequence number of its node marks, 0: none.  A copy
 * of the marks, false: not available now.
 */
bool egs_decisions_are_fresh(void);
uint64_t egs_decisions_marks_seq(void);
bool egs_decisions_get_marks(struct egs_table_marks *marks);

#endif
