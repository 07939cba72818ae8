/* daemon_update.c - what an update by egs-policyd does to a job */
#include <string.h>

#include "common/hint/resume_info.h"
#include "plugins/compat/gres.h"
#include "plugins/job_submit/daemon_update.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/ring.h"

enum {
	DEFER_S = EGS_DEFER_S,
	DEFER_ALL_PERIOD_S = 3,
};

static struct {
	time_t deferred_all_at;
} self;

/* ---- the preemption is withdrawn, or an exit is final ---- */

/* Undo what Slurm did for the preemption.  Slurm computes the end from start
 * and limit only for a job without preempt_time, and does not add the time the
 * job was suspended (22.05 job_mgr.c:18605).  Clear WARN_SENT: the job must
 * still get its signal before the time limit.
 */
static int withdraw_component(void *item, void *arg)
{
	job_record_t *job = item;

	(void)arg;
	if (!job->preempt_time ||
	    !(IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)))
		return 0;
	job->preempt_time = 0;
	job_end_time_reset(job);
	job->end_time += job->tot_sus_time;
	job->end_time_exp = job->end_time;
	job->bit_flags &= ~(uint64_t)EGS_GRACE_PREEMPT;
	job->warn_flags &= (uint16_t)~WARN_SENT;
	last_job_update = time(NULL);
	info("%pJ: preemption withdrawn, time limit restored", job);
	return 0;
}

/* A job that has chosen victims chooses no others for a while (22.05
 * node_scheduler.c:2553).  The requester of this victim must choose again.  A
 * job that EGS does not manage keeps its victims: stock Slurm would keep them.
 */
static int reset_victim_choice(void *item, void *arg)
{
	job_record_t *job = item;
	struct egs_table_job row;

	(void)arg;
	if (IS_JOB_PENDING(job) && job->details &&
	    job->details->preempt_start_time && egs_decision_get(job, &row))
		job->details->preempt_start_time = 0;
	return 0;
}

static void withdraw_preemption(job_record_t *job)
{
	if (job->het_job_list)
		list_for_each(job->het_job_list, withdraw_component, NULL);
	else
		withdraw_component(job, NULL);
	list_for_each(job_list, reset_victim_choice, NULL);
	schedule(false); /* only wakes the scheduler */
	egs_ring_job(egs_decisions_run_dir(), job->job_id, EGS_DOORBELL_MODIFY);
}

/* ---- the job is deferred ---- */

/* Defer one job, unless its begin time is later anyway. */
static int defer_if_over_limit(void *item, void *arg)
{
	job_record_t *job = item;
	time_t now = *(time_t *)arg;
	struct egs_table_job row;

	if (!IS_JOB_PENDING(job) || !job->details ||
	    job->details->begin_time >= now + DEFER_S ||
	    !egs_decision_get(job, &row) || !egs_table_is_deferred(&row))
		return 0;
	job->details->begin_time = now + DEFER_S;
	last_job_update = now;
	if (!job->priority)
		return 0; /* the job is held and keeps that reason */
	job->state_reason = WAIT_TIME;
	xfree(job->state_desc);
	return 0;
}

static void defer_jobs(job_record_t *job)
{
	time_t now = time(NULL);
	time_t last = self.deferred_all_at;

	defer_if_over_limit(job, &now);
	if (now >= last && now < last + DEFER_ALL_PERIOD_S)
		return;
	self.deferred_all_at = now;
	list_for_each(job_list, defer_if_over_limit, &now);
}

/* Since 24.05 Slurm requeues a job that exits in its grace period, with any
 * exit code, if the job has GRACE_PREEMPT.
 */
void egs_daemon_update_apply(job_record_t *job)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return;
	if (row.fate_and_flags & EGS_TABLE_WITHDRAWN)
		withdraw_preemption(job);
	else if (job->preempt_time &&
		 !(row.fate_and_flags & EGS_TABLE_REQUEUE_ON_EXIT))
		job->bit_flags &= ~(uint64_t)EGS_GRACE_PREEMPT;
	if (egs_table_is_deferred(&row))
		defer_jobs(job);
}

/* ---- resume info ---- */

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

/* slurmctld saves these variables with the job and sends them with every launch
 * of its batch script (22.05 job_mgr.c:8352).
 */
void egs_daemon_update_resume_info(const job_desc_msg_t *desc,
				   job_record_t *job)
{
	for (uint32_t i = 0; job->details && i < desc->env_size; i++)
		if (is_resume_info(desc->environment[i]) &&
		    strlen(desc->environment[i]) < EGS_RESUME_INFO_MAX)
			set_env_var(job, desc->environment[i]);
}
