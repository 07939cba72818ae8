/* resume_info.c - what a job is told when it runs again, on its way through
 * Slurm
 *
 * Slurm keeps these variables with the job, over its own restarts, and has them
 * in the launch of every batch script (slurm-22.05 job_mgr.c:8352).
 */
#include "plugins/job_submit/resume_info.h"
#include "common/hint/resume_info.h"

static bool is_resume_info(const char *variable)
{
	return !xstrncmp(variable, EGS_RESUME_INFO_ENV "=",
			 sizeof(EGS_RESUME_INFO_ENV));
}

static void set_env_var(job_record_t *job, const char *variable)
{
	uint16_t n = job->details->env_cnt, i = 0;

	while (i < n && !is_resume_info(job->details->env_sup[i]))
		i++;
	if (i == n) {
		xrealloc(job->details->env_sup, (n + 1U) * sizeof(char *));
		job->details->env_sup[i] = NULL;
		job->details->env_cnt++;
	}
	xfree(job->details->env_sup[i]);
	job->details->env_sup[i] = xstrdup(variable);
}

void egs_update_resume_info(const job_desc_msg_t *desc, job_record_t *job)
{
	for (uint32_t i = 0; job->details && i < desc->env_size; i++)
		if (is_resume_info(desc->environment[i]) &&
		    strlen(desc->environment[i]) < EGS_RESUME_INFO_MAX)
			set_env_var(job, desc->environment[i]);
}
