/* resize_checks.c - which jobs can be resized, and by whom */
#include <inttypes.h>
#include <string.h>

#include "common/hint/stamp.h"
#include "plugins/compat/gres.h"
#include "plugins/job_submit/resize_checks.h"
#include "plugins/shared/db_index.h"

int egs_resize_check_sender(const job_record_t *job, uint32_t uid,
			    struct egs_err *err)
{
	if (validate_operator(uid))
		return 0;
	return egs_errf(err,
			"job %u: GPUs of a running job change by 'egs phase "
			"PHASE --gpus=N', which checks that no process has "
			"them open",
			job->job_id);
}

/* A plugin after ours might refuse the update after we have acted. */
static bool is_last_submit_plugin(void)
{
	const char *all = slurm_conf.job_submit_plugins;
	const char *comma = all ? strrchr(all, ',') : NULL;

	return !xstrcmp(comma ? comma + 1 : all, "egs");
}

/* By the name of Slurm's plugin, or by ours, which begins with it. */
static bool is_cons_tres(void)
{
	static const char name[] = "select/cons_tres";

	return slurm_conf.select_type &&
	       strncmp(slurm_conf.select_type, name, strlen(name)) == 0;
}

static bool has_lost_nodes(const struct job_resources *res)
{
	for (uint32_t n = 0; n < res->nhosts; n++)
		if (res->cpus[n] == 0)
			return true;
	return false;
}

static const char *find_job_problem(const job_record_t *job)
{
	const struct job_resources *res = job->job_resrcs;

	if (EGS_IS_MEM_CHANGING(job))
		return "is getting another amount of memory";
	if (job->job_state != JOB_RUNNING)
		return "is starting or ending";
	if (job->preempt_time)
		return "is being preempted";
	if (job->het_job_id)
		return "is part of a heterogeneous job";
	if (job->bit_flags & EGS_STEPMGR_ENABLED)
		return "has its own step manager";
	if (!res || !res->core_bitmap || !res->cpus || !res->memory_allocated ||
	    !job->details || !job->part_ptr)
		return "has no resources that slurmctld knows";
	if (job->details->whole_node || res->whole_node)
		return "has whole nodes";
	if (job->details->expanding_jobid || has_lost_nodes(res))
		return "has lost or gained nodes";
	return NULL;
}

int egs_resize_check_refuse(const job_record_t *job, const char *why,
			    struct egs_err *err)
{
	egs_errf(err, "job %u %s and cannot be resized while it runs",
		 job->job_id, why);
	return EGS_RESIZE_CHECK_NOT_LIVE;
}

int egs_resize_check_job(const job_record_t *job, struct egs_err *err)
{
	const char *why = find_job_problem(job);

	if (why)
		return egs_resize_check_refuse(job, why, err);
	if (!is_cons_tres())
		return egs_errf(err, "SelectType=%s cannot resize running jobs",
				slurm_conf.select_type);
	if (!is_last_submit_plugin())
		return egs_errf(err, "egs must be the last of JobSubmitPlugins "
				     "to resize running jobs");
	return 0;
}

int egs_resize_check_record(const job_record_t *job, struct egs_err *err)
{
	if (egs_db_index_is_ready(job))
		return 0;
	egs_errf(err,
		 "slurmdbd has not stored the present size of job %u yet; "
		 "try again",
		 job->job_id);
	return EGS_RESIZE_CHECK_NOT_READY;
}

/* The index among the job's nodes of the cluster's node 'index', or -1. */
static int find_node_index(const job_record_t *job, bitoff_t index)
{
	bitstr_t *nodes = job->job_resrcs->node_bitmap;

	if (!bit_test(nodes, index))
		return -1;
	return (int)bit_set_count_range(nodes, 0, (int32_t)index);
}

static int map_helper_nodes(const job_record_t *helper, const job_record_t *job,
			    uint32_t *at, struct egs_err *err)
{
	bitstr_t *nodes = helper->job_resrcs->node_bitmap;
	bitoff_t last = bit_fls(nodes);
	uint32_t found = 0;

	for (bitoff_t i = bit_ffs(nodes); i >= 0 && i <= last; i++) {
		int n;

		if (!bit_test(nodes, i))
			continue;
		n = find_node_index(job, i);
		if (n < 0)
			return egs_errf(err, "job %u is not on %s", job->job_id,
					node_record_table_ptr[i]->name);
		at[found++] = (uint32_t)n;
	}
	return 0;
}

/* Its owner can change a helper job.  GPUs of another partition, QOS or
 * reservation must not get into the job by it.
 */
static bool has_same_place(const job_record_t *helper, const job_record_t *job)
{
	return helper->part_ptr == job->part_ptr &&
	       helper->qos_id == job->qos_id &&
	       !xstrcmp(helper->resv_name, job->resv_name);
}

static int match_normal_step(void *item, void *arg)
{
	const step_record_t *step = item;

	(void)arg;
	return step->step_id.step_id <= SLURM_MAX_NORMAL_STEP_ID;
}

int egs_resize_check_helper(const job_record_t *helper, const job_record_t *job,
			    uint32_t *at, struct egs_err *err)
{
	if (helper->user_id != job->user_id ||
	    xstrcmp(helper->account, job->account) ||
	    egs_stamp_read(helper->admin_comment).helper_for != job->job_id)
		return egs_errf(err, "job %u is not a helper job of job %u",
				helper->job_id, job->job_id);
	if (!has_same_place(helper, job))
		return egs_errf(err,
				"helper job %u has another partition, QOS or "
				"reservation than job %u",
				helper->job_id, job->job_id);
	if (helper->step_list &&
	    list_find_first(helper->step_list, match_normal_step, NULL))
		return egs_errf(err,
				"helper job %u has a step, which may use its "
				"GPUs; end the step and retry",
				helper->job_id);
	return map_helper_nodes(helper, job, at, err);
}

static bool is_over_limit(const uint64_t *limit, const job_record_t *job,
			  const job_record_t *helper, int i)
{
	return limit && limit[i] != INFINITE64 &&
	       job->tres_alloc_cnt[i] + helper->tres_alloc_cnt[i] > limit[i];
}

/* Both jobs use the same nodes; energy and billing follow from the rest. */
static bool is_summed_tres(int i)
{
	return i != TRES_ARRAY_NODE && i != TRES_ARRAY_ENERGY &&
	       i != TRES_ARRAY_BILLING;
}

int egs_resize_check_limits(const job_record_t *job, const job_record_t *helper,
			    struct egs_err *err)
{
	assoc_mgr_lock_t locks = { .assoc = READ_LOCK,
				   .qos = READ_LOCK,
				   .tres = READ_LOCK };
	const slurmdb_qos_rec_t *qos;
	int rc = 0;

	if (!(slurm_conf.accounting_storage_enforce &
	      ACCOUNTING_ENFORCE_LIMITS) ||
	    !job->tres_alloc_cnt || !helper->tres_alloc_cnt)
		return 0;
	assoc_mgr_lock(&locks);
	qos = job->qos_ptr;
	for (int i = 0; i < slurmctld_tres_cnt && rc == 0; i++) {
		const slurmdb_assoc_rec_t *assoc = job->assoc_ptr;

		if (!is_summed_tres(i))
			continue;
		if (qos && is_over_limit(qos->max_tres_pj_ctld, job, helper, i))
			rc = egs_errf(err,
				      "job %u would exceed MaxTRESPerJob "
				      "of QOS %s",
				      job->job_id, qos->name);
		else if (assoc &&
			 is_over_limit(assoc->max_tres_ctld, job, helper, i))
			rc = egs_errf(err,
				      "job %u would exceed MaxTRESPerJob "
				      "of account %s",
				      job->job_id, assoc->acct);
	}
	assoc_mgr_unlock(&locks);
	return rc;
}
