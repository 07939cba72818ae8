/* requeue.c - a job that has saved goes back to the queue
 *
 * Since 24.05 Slurm remembers that it has asked a job to go, over a requeue as
 * well, and takes the next normal end of the job for an exit in its grace
 * (24.11 preempt.c:459, proc_req.c:2139).  job_submit/egs makes it forget that;
 * where it is not loaded the job has to exit by itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/slurm/requeue.h"

/* Slurm does not change its plugins while it runs. */
static bool can_forget_preempt(void)
{
	static bool known, egs;
	slurm_conf_t *conf = NULL;

	if (!compat_requeues_in_grace())
		return true;
	if (!known && slurm_load_ctl_conf(0, &conf) == SLURM_SUCCESS) {
		known = true;
		egs = conf->job_submit_plugins &&
		      strstr(conf->job_submit_plugins, "egs");
		compat_free_conf(conf);
	}
	return egs;
}

static bool is_named(const slurm_job_info_t *job, const char *name)
{
	char text[32];

	if (job->array_task_id == NO_VAL)
		snprintf(text, sizeof(text), "%u", job->job_id);
	else
		snprintf(text, sizeof(text), "%u_%u", job->array_job_id,
			 job->array_task_id);
	return strcmp(text, name) == 0;
}

static bool is_in_grace(const char *name)
{
	job_info_msg_t *msg = NULL;
	bool asked = false;
	uint32_t i;

	if (compat_load_job(&msg, (uint32_t)strtoul(name, NULL, 10)) !=
	    SLURM_SUCCESS)
		return false;
	for (i = 0; i < msg->record_count; i++)
		if (is_named(&msg->job_array[i], name))
			asked = msg->job_array[i].preempt_time != 0;
	compat_free_jobs(msg);
	return asked;
}

/* JOB_RUNNING: a plain requeue would revive a job that was cancelled and is
 * still completing; with it anything but a running job is left alone.
 */
int egs_slurm_requeue(char *job, job_array_resp_msg_t **resp)
{
	if (can_forget_preempt() || !is_in_grace(job))
		return slurm_requeue2(job, JOB_RUNNING, resp);
	return slurm_kill_job2(job, SIGTERM, KILL_FULL_JOB, NULL);
}
