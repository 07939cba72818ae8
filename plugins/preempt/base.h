/* base.h - Slurm's own preempt plugin below preempt/egs
 *
 * Without a base, or with one that cannot be loaded, only decisions of EGS
 * preempt jobs.
 */
#ifndef EGS_PLUGINS_PREEMPT_BASE_H
#define EGS_PLUGINS_PREEMPT_BASE_H

#include "plugins/compat/compat.h"

/* Load 'type', such as "preempt/qos"; NULL: none.  A failure is logged with
 * 'me', the name of the plugin.
 */
void egs_base_load(const char *me, const char *type);

/* Is a base loaded? */
bool egs_base_is_loaded(void);

bool egs_base_is_preemptable(job_record_t *victim, job_record_t *requester);
bool egs_base_preempt_check(job_queue_rec_t *requester,
			    job_queue_rec_t *victim);
uint16_t egs_base_get_mode(job_record_t *job);
uint32_t egs_base_get_prio(job_record_t *job);
uint32_t egs_base_get_grace_time(job_record_t *job);

#endif
