/* job_desc.h - Slurm's description of a job: what it says, and what we change
 *
 * Strings of a description are Slurm's own (xmalloc); those of a request are
 * borrowed from it, or from what slurmctld keeps.
 */
#ifndef EGS_JOB_SUBMIT_JOB_DESC_H
#define EGS_JOB_SUBMIT_JOB_DESC_H

#include "plugins/compat/compat.h"
#include "plugins/job_submit/check.h"
#include "plugins/job_submit/hint_sources.h"

/* Where its hint may be. */
struct egs_hint_sources egs_job_desc_hint_sources(const job_desc_msg_t *desc);

/* Its own --signal, all zero if it has none. */
struct egs_save_signal egs_job_desc_signal(const job_desc_msg_t *desc);

/* What it asks for, but for the hint.  'job' is the job that is to be changed,
 * for all that 'desc' leaves as it is, or NULL for a new one.  'user' has room
 * for a name if rules need it, else it is NULL.
 */
void egs_job_desc_check_input(const job_desc_msg_t *desc,
			      const job_record_t *job, bool user,
			      struct egs_check_input *request);

/* Does the update 'desc' change anything that was judged when 'job' was
 * submitted?
 */
bool egs_job_desc_needs_check(const job_desc_msg_t *desc,
			      const job_record_t *job);

/* Ask for 'gpus' in all instead.  -1 with 'err' set if that cannot be said in
 * the same words, and nothing is changed.
 */
int egs_job_desc_set_gpus(job_desc_msg_t *desc, uint32_t gpus,
			  struct egs_err *err);

/* Take every hint out of the environment of a batch job, and put 'hint' in if
 * it is not empty: the node hears what slurmctld has understood.
 */
void egs_job_desc_set_hint(job_desc_msg_t *desc, const struct egs_hint *hint);

/* What a managed job needs to be asked and to run again: as a batch job requeue
 * and append unless it chose otherwise, and the signal it declared; else a
 * harmless one, where Slurm would send SIGTERM when it has none.
 */
void egs_job_desc_set_defaults(job_desc_msg_t *desc,
			       const struct egs_hint *hint,
			       const struct egs_save_signal *own);

#endif
