/* decisions.h - what the daemon decided, as the plugins inside slurmctld see it
 *
 * Each plugin has a copy of its own: Slurm loads them apart.  Nothing here
 * waits or locks; the table is mapped when it is first there to be mapped,
 * and a look costs no system call.
 */
#ifndef EGS_SHARED_DECISIONS_H
#define EGS_SHARED_DECISIONS_H

#include "common/ipc/table.h"
#include "plugins/compat/compat.h"

/* Read egs.conf, for where the table is and how old it may be.  A file that
 * is missing or wrong is said in the log, and no job has a row: everything is
 * then as on stock Slurm.  'me' is the plugin's name, for the log.
 */
void egs_decisions_init(const char *me);

/* The same for a plugin that is loaded without being chosen to decide: a site
 * without the file is no mistake.
 */
void egs_decisions_init_if_conf(const char *me);

/* PreemptBase= of egs.conf, such as "preempt/qos"; NULL: none. */
const char *egs_decisions_preempt_base(void);

/* RunDir= of egs.conf, for egs_ring_job(); NULL: there is no egs.conf. */
const char *egs_decisions_run_dir(void);

/* The row of a job, if it may be acted on: the table is fresh, the row is of
 * this very job, the job is managed and its team is not only observed.  An
 * array's element is looked up by its own id, then by that of the array.
 */
bool egs_decision_get(const job_record_t *job, struct egs_table_job *row);

/* Is the daemon alive and has not seen the job yet, which has a stamp and so
 * may be one that it decides about?
 */
bool egs_decision_is_pending(const job_record_t *job);

/* egs_decision_get() of a job that Slurm has asked to leave: that it was asked,
 * and how, stays true while the daemon is away.
 */
bool egs_decision_while_preempted(const job_record_t *job,
				  struct egs_table_job *row);

/* What is known of a job that may take from others. */
struct egs_pending_decision {
	struct egs_table_job row;
	bool has_row;  /* egs_decision_get(): 'row' is there */
	bool may_take; /* there may be somebody it takes from */
};

/* The same of the job for which Slurm looks at all others, one after the
 * other.
 */
struct egs_pending_decision egs_decision_for_pending(const job_record_t *job);

/* Was the last such job this one, its 'any' false, and nothing published since?
 * That costs least.
 */
bool egs_decision_cannot_take(const job_record_t *job);

/* Is there a job at all that one of those who wait may take from? */
bool egs_decisions_has_victim(void);

/* What is left of a quota (egs_table_read_quota()). */
bool egs_decisions_quota_left(const struct egs_quota_key *place,
			      uint32_t *left);

/* Is the table fresh?  The number of its marks, 0: there are none; a copy of
 * them, false: not now.
 */
bool egs_decisions_are_fresh(void);
uint64_t egs_decisions_marks_seq(void);
bool egs_decisions_get_marks(struct egs_table_marks *marks);

#endif
