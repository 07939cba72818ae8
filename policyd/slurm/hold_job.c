/* hold_job.c - hold, release or cancel a job that has not started */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/slurm/hold_job.h"
#include "policyd/slurm/read_jobs.h"

/* Call slurmctld about the pending job 'name', or do nothing. */
typedef int change_fn(const slurm_job_info_t *job, char *name, bool by_admin,
		      job_array_resp_msg_t **resp);

static bool is_pending(const slurm_job_info_t *job)
{
	return (job->job_state & JOB_STATE_BASE) == JOB_PENDING;
}

/* The tasks of an array that have not started, as "12_[3-9]"; else the job as
 * it is written.  "%2" behind the list is not part of it.  NULL: out of
 * memory.
 */
static char *format_pending(const slurm_job_info_t *job)
{
	const char *tasks = job->array_task_str;
	size_t size = EGS_SLURM_JOB_ID_SIZE + (tasks ? strlen(tasks) : 0);
	char *name = malloc(size);

	if (!name)
		return NULL;
	if (job->array_task_id == NO_VAL && tasks && *tasks)
		snprintf(name, size, "%u_[%.*s]", job->array_job_id,
			 (int)strcspn(tasks, "%"), tasks);
	else
		egs_slurm_format_job_id(job, name);
	return name;
}

static int change_record(const slurm_job_info_t *job, change_fn *change,
			 bool by_admin, job_array_resp_msg_t **resp)
{
	char *name = format_pending(job);
	int rc;

	if (!name) {
		errno = ENOMEM;
		return -1;
	}
	rc = change(job, name, by_admin, resp);
	free(name);
	return rc;
}

/* Is this the record that 'job' names?  The rest of an array has the id of the
 * array, or that of one of its tasks.
 */
static bool is_record(const slurm_job_info_t *record, const char *job)
{
	char text[EGS_SLURM_JOB_ID_SIZE];

	egs_slurm_format_job_id(record, text);
	return strcmp(text, job) == 0;
}

static int change_pending(const char *job, change_fn *change, bool by_admin,
			  job_array_resp_msg_t **resp)
{
	job_info_msg_t *msg = NULL;
	int rc = 0;

	if (compat_load_job(&msg, (uint32_t)strtoul(job, NULL, 10)) !=
	    SLURM_SUCCESS)
		return errno == ESLURM_INVALID_JOB_ID ? 0 : -1;
	for (uint32_t i = 0; rc == 0 && i < msg->record_count; i++)
		if (is_record(&msg->job_array[i], job) &&
		    is_pending(&msg->job_array[i]))
			rc = change_record(&msg->job_array[i], change, by_admin,
					   resp);
	compat_free_jobs(msg);
	return rc;
}

static int cancel_record(const slurm_job_info_t *job, char *name, bool by_admin,
			 job_array_resp_msg_t **resp)
{
	(void)job;
	(void)by_admin;
	(void)resp;
	return slurm_kill_job2(name, SIGKILL, 0, NULL);
}

static int set_priority(char *name, uint32_t priority, uint32_t alloc_sid,
			job_array_resp_msg_t **resp)
{
	job_desc_msg_t desc;

	slurm_init_job_desc_msg(&desc);
	desc.job_id_str = name;
	desc.priority = priority;
	desc.alloc_sid = alloc_sid;
	return slurm_update_job2(&desc, resp);
}

/* slurmctld turns the hold of an operator into one of the owner if it is told
 * to (22.05 job_mgr.c:13507).
 */
static int hold_record(const slurm_job_info_t *job, char *name, bool by_admin,
		       job_array_resp_msg_t **resp)
{
	if (!job->priority && (!by_admin || !egs_slurm_is_held_by_user(job)))
		return 0;
	return set_priority(
		name, 0, by_admin ? ALLOC_SID_ADMIN_HOLD : ALLOC_SID_USER_HOLD,
		resp);
}

static int release_record(const slurm_job_info_t *job, char *name,
			  bool by_admin, job_array_resp_msg_t **resp)
{
	if (job->priority || (!by_admin && !egs_slurm_is_held_by_user(job)))
		return 0;
	return set_priority(name, INFINITE, NO_VAL, resp);
}

int egs_slurm_cancel_pending(const char *job)
{
	return change_pending(job, cancel_record, false, NULL);
}

int egs_slurm_hold_job(const char *job, bool by_admin,
		       job_array_resp_msg_t **resp)
{
	return change_pending(job, hold_record, by_admin, resp);
}

int egs_slurm_release_job(const char *job, bool by_admin,
			  job_array_resp_msg_t **resp)
{
	return change_pending(job, release_record, by_admin, resp);
}
