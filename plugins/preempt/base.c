/* base.c - Slurm's own preempt plugin below preempt/egs */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugins/preempt/base.h"

/* Without a base a job has Slurm's cluster-wide mode.  That mode is only
 * displayed: no job may preempt such a job.
 */
static struct {
	__typeof__(preempt_p_preemptable) *preemptable;
	__typeof__(preempt_p_job_preempt_check) *check;
#if EGS_PREEMPT_GETTERS
	__typeof__(preempt_p_get_mode) *mode;
	__typeof__(preempt_p_get_prio) *prio;
	__typeof__(preempt_p_get_grace_time) *grace;
#else
	__typeof__(preempt_p_get_data) *data;
#endif
} base;

/* Returns the name of the first missing function, NULL: none. */
static const char *find_symbols(void *so)
{
	const struct {
		const char *name;
		void *at;
	} want[] = {
		{ "preempt_p_preemptable", &base.preemptable },
		{ "preempt_p_job_preempt_check", &base.check },
#if EGS_PREEMPT_GETTERS
		{ "preempt_p_get_mode", &base.mode },
		{ "preempt_p_get_prio", &base.prio },
		{ "preempt_p_get_grace_time", &base.grace },
#else
		{ "preempt_p_get_data", &base.data },
#endif
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *found = dlsym(so, want[i].name);

		if (!found)
			return want[i].name;
		memcpy(want[i].at, &found, sizeof(found));
	}
	return NULL;
}

/* Do not use an incomplete plugin.  It could allow a preemption, and defaults
 * would decide the mode and the grace period.
 */
static void use_if_complete(const char *me, const char *type, void *so)
{
	const char *missing = find_symbols(so);

	if (!missing)
		return;
	memset(&base, 0, sizeof(base));
	dlclose(so);
	error("%s: PreemptBase=%s: no function %s(); the base is not used", me,
	      type, missing);
}

/* "preempt/qos" is preempt_qos.so in Slurm's plugin directory.  Its init() does
 * nothing in any release.  RTLD_LOCAL: its symbols must not meet ours.
 */
void egs_base_load(const char *me, const char *type)
{
	char path[4096], *slash;
	void *so;

	if (!type || base.preemptable)
		return;
	snprintf(path, sizeof(path), EGS_SLURM_PLUGINDIR "/%s.so", type);
	slash = strrchr(path, '/');
	*slash = '_';
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (so)
		use_if_complete(me, type, so);
	else
		error("%s: PreemptBase=%s: %s; the base is not used", me, type,
		      dlerror());
}

bool egs_base_is_loaded(void)
{
	return base.preemptable != NULL;
}

bool egs_base_is_preemptable(job_record_t *victim, job_record_t *requester)
{
	return base.preemptable && base.preemptable(victim, requester);
}

bool egs_base_preempt_check(job_queue_rec_t *requester, job_queue_rec_t *victim)
{
	return base.check && base.check(requester, victim);
}

#if EGS_PREEMPT_GETTERS

uint16_t egs_base_get_mode(job_record_t *job)
{
	return base.mode ? base.mode(job) : slurm_conf.preempt_mode;
}

uint32_t egs_base_get_prio(job_record_t *job)
{
	return base.prio ? base.prio(job) : UINT32_MAX;
}

uint32_t egs_base_get_grace_time(job_record_t *job)
{
	return base.grace ? base.grace(job) : 0;
}

#else

uint16_t egs_base_get_mode(job_record_t *job)
{
	uint16_t mode = slurm_conf.preempt_mode;

	if (base.data)
		base.data(job, PREEMPT_DATA_MODE, &mode);
	return mode;
}

uint32_t egs_base_get_prio(job_record_t *job)
{
	uint32_t prio = UINT32_MAX;

	if (base.data)
		base.data(job, PREEMPT_DATA_PRIO, &prio);
	return prio;
}

uint32_t egs_base_get_grace_time(job_record_t *job)
{
	uint32_t grace = 0;

	if (base.data)
		base.data(job, PREEMPT_DATA_GRACE_TIME, &grace);
	return grace;
}

#endif
