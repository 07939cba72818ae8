/* base.h - the preempt plugin below ours: Slurm's own
 *
 * Without one, or with one that cannot be loaded, nobody is preempted beside
 * our own decisions.
 */
#ifndef EGS_PLUGINS_PREEMPT_BASE_H
#define EGS_PLUGINS_PREEMPT_BASE_H

#include "plugins/compat/compat.h"

/* Load 'type', such as "preempt/qos"; NULL: none.  What goes wrong is said in
 * the log in the name of 'me'.
 */
void egs_base_load(const char *me, const char *type);

/* Is there one? */
bool egs_base_is_loaded(void);

bool egs_base_is_preemptable(job_record_t *victim, job_record_t *taker);
bool egs_base_preempt_check(job_queue_rec_t *taker, job_queue_rec_t *victim);
uint16_t egs_base_get_mode(job_record_t *job);
uint32_t egs_base_get_prio(job_record_t *job);
uint32_t egs_base_get_grace_time(job_record_t *job);

#endif
