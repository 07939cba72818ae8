/* resize.c - release and transfer GPUs of running jobs, inside slurmctld */
#include <string.h>

#include "common/hint/stamp.h"
#include "plugins/job_submit/resize.h"
#include "plugins/job_submit/resize_acctg.h"
#include "plugins/job_submit/resize_checks.h"
#include "plugins/job_submit/resize_cores.h"
#include "plugins/job_submit/resize_records.h"
#include "plugins/shared/job_stamp.h"

/* The GPUs of the job on node 'n' that steps or processes use. */
static bitstr_t *find_used_gpus(const struct egs_resize_records *r, uint32_t n,
				const struct egs_resize_request *request,
				bitstr_t *held)
{
	bitstr_t *used = egs_resize_records_in_steps(r, n);
	uint64_t open = egs_resize_request_open_gpus(
		request, egs_resize_records_node(r, n)->name);

	for (bitoff_t i = 0; i < bit_size(used) && i < 64; i++)
		if (open >> i & 1)
			bit_set(used, i);
	bit_and(used, held);
	return used;
}

/* Choose unused GPUs of node 'n' to release, the last ones first.  NULL with
 * 'err' set if there are too few.
 */
static bitstr_t *choose_gpus(const struct egs_resize_records *r, uint32_t n,
			     const struct egs_resize_request *request,
			     struct egs_err *err)
{
	bitstr_t *held = egs_resize_records_held(r, n);
	bitstr_t *used = find_used_gpus(r, n, request, held);
	bitstr_t *gone = bit_alloc(bit_size(held));
	uint32_t go =
		(uint32_t)bit_set_count(held) - request->command.gpus_per_node;

	bit_and_not(held, used);
	for (bitoff_t i = bit_size(held) - 1; i >= 0 && go > 0; i--) {
		if (!bit_test(held, i))
			continue;
		bit_set(gone, i);
		go--;
	}
	bit_free(held);
	if (go > 0) {
		egs_errf(err,
			 "job %u uses %d GPUs of %s in steps or in processes "
			 "that have them open; it cannot keep only %u",
			 r->job->job_id, bit_set_count(used),
			 egs_resize_records_node(r, n)->name,
			 request->command.gpus_per_node);
		FREE_NULL_BITMAP(gone);
	}
	bit_free(used);
	return gone;
}

/* A planned release: GPUs by node, NULL: none of that node. */
struct release_plan {
	struct egs_resize_records records;
	struct egs_resize_cores cores;
	bitstr_t **released;
	uint32_t gpu_count;
};

/* slurmctld does not know the memory of a batch script, whose limit stays as
 * it was.  If egs-noded has not reported it, all of it stays.
 */
static uint64_t get_batch_mem(const job_record_t *job, const char *node,
			      const struct egs_resize_request *request)
{
	if (!job->batch_flag || xstrcmp(job->batch_host, node))
		return 0;
	return egs_resize_request_used_mem(request, node);
}

static int plan_node_release(struct release_plan *plan, uint32_t n,
			     const struct egs_resize_request *request,
			     struct egs_err *err)
{
	const char *name = egs_resize_records_node(&plan->records, n)->name;
	bitstr_t *held = egs_resize_records_held(&plan->records, n);
	uint32_t count = (uint32_t)bit_set_count(held);

	bit_free(held);
	if (count < request->command.gpus_per_node)
		return egs_errf(
			err,
			"job %u has %u GPUs on %s; use `egs phase --gpus=%u` "
			"to get more",
			plan->records.job->job_id, count, name,
			request->command.gpus_per_node);
	if (count == request->command.gpus_per_node)
		return 0;
	plan->released[n] = choose_gpus(&plan->records, n, request, err);
	if (!plan->released[n])
		return -1;
	plan->gpu_count += count - request->command.gpus_per_node;
	if (!request->command.keep_cores)
		egs_resize_cores_add(
			&plan->cores, &plan->records, n,
			request->command.gpus_per_node, count,
			plan->released[n],
			get_batch_mem(plan->records.job, name, request));
	return 0;
}

static void commit_release(struct release_plan *plan)
{
	job_record_t *job = plan->records.job;
	struct egs_resize_acctg acctg = egs_resize_acctg_begin(job);
	struct egs_job_size size;

	egs_job_stamp_save_size(job, plan->records.requested);
	for (uint32_t n = 0; n < plan->records.nnodes; n++)
		if (plan->released[n])
			egs_resize_records_release(&plan->records, n,
						   plan->released[n]);
	egs_resize_cores_release(&plan->cores, job);
	size = egs_gpu_request_from_held(plan->records.requested);
	egs_gpu_request_set(job, plan->records.requested, &size);
	egs_job_build_details(job);
	egs_resize_acctg_end(job, &acctg);
}

/* 'lower_mem_mb': set if slurmctld is to lower the memory to it. */
static int release_gpus(job_record_t *job,
			const struct egs_resize_request *request,
			uint64_t *lower_mem_mb, struct egs_err *err)
{
	struct release_plan plan = { .gpu_count = 0 };
	int rc = egs_resize_records_find(&plan.records, job, err);

	if (rc == 0 && *request->type)
		rc = egs_resize_records_check_type(&plan.records, request->type,
						   err);
	if (rc < 0)
		return rc;
	plan.cores = egs_resize_cores_new(job);
	plan.released = xcalloc(plan.records.nnodes, sizeof(*plan.released));
	for (uint32_t n = 0; n < plan.records.nnodes && rc == 0; n++)
		rc = plan_node_release(&plan, n, request, err);
	if (rc == 0 && plan.gpu_count > 0)
		rc = egs_resize_check_record(job, err);
	if (rc == 0 && plan.gpu_count > 0) {
		egs_resize_cores_find_limit(&plan.cores, job);
		commit_release(&plan);
		if (plan.cores.limit_mb)
			*lower_mem_mb = plan.cores.limit_mb;
		schedule(false); /* only wakes the scheduler */
		info("egs: job %u: released %u GPUs, keeps %u on each node",
		     job->job_id, plan.gpu_count,
		     request->command.gpus_per_node);
	}
	for (uint32_t n = 0; n < plan.records.nnodes; n++)
		FREE_NULL_BITMAP(plan.released[n]);
	xfree(plan.released);
	egs_resize_cores_free(&plan.cores);
	return rc;
}

/* A planned transfer: node m of the helper job is node_map[m] of the job. */
struct transfer_plan {
	struct egs_resize_records to, from;
	uint32_t *node_map;
};

static uint32_t count_held_gpus(const struct egs_resize_records *r, uint32_t n)
{
	bitstr_t *held = egs_resize_records_held(r, n);
	uint32_t count = (uint32_t)bit_set_count(held);

	bit_free(held);
	return count;
}

/* After a restart slurmctld counts GPUs by the request per node (22.05
 * gres_ctld.c:840).  So every node must have that number.
 */
static int check_even_spread(const struct transfer_plan *t, struct egs_err *err)
{
	uint32_t first = 0;

	if (!egs_gpu_request_size(t->to.requested).gpus_per_node)
		return 0;
	for (uint32_t n = 0; n < t->to.nnodes; n++) {
		uint32_t count = count_held_gpus(&t->to, n);

		for (uint32_t m = 0; m < t->from.nnodes; m++)
			if (t->node_map[m] == n)
				count += count_held_gpus(&t->from, m);
		if (n == 0)
			first = count;
		if (count != first)
			return egs_errf(err,
					"job %u would have %u GPUs on one "
					"node and %u on another",
					t->to.job->job_id, first, count);
	}
	return 0;
}

/* A step of the helper job would keep GPUs that the job now has. */
static int check_helper_is_idle(const struct transfer_plan *t,
				struct egs_err *err)
{
	for (uint32_t m = 0; m < t->from.nnodes; m++) {
		bitstr_t *used = egs_resize_records_in_steps(&t->from, m);
		bool is_idle = bit_ffs(used) < 0;

		bit_free(used);
		if (!is_idle)
			return egs_errf(err,
					"a step of helper job %u uses its GPUs",
					t->from.job->job_id);
	}
	return 0;
}

static int plan_transfer(struct transfer_plan *t, job_record_t *job,
			 job_record_t *helper, struct egs_err *err)
{
	int rc = egs_resize_check_job(helper, err);

	if (rc == 0)
		rc = egs_resize_records_find(&t->to, job, err);
	if (rc == 0)
		rc = egs_resize_records_find(&t->from, helper, err);
	if (rc != 0)
		return rc;
	t->node_map = xcalloc(t->from.nnodes, sizeof(*t->node_map));
	if (egs_resize_check_helper(helper, job, t->node_map, err) < 0 ||
	    egs_resize_check_limits(job, helper, err) < 0 ||
	    egs_resize_records_match(&t->to, &t->from, err) < 0 ||
	    check_helper_is_idle(t, err) < 0)
		return -1;
	rc = check_even_spread(t, err);
	if (rc == 0)
		rc = egs_resize_check_record(helper, err);
	if (rc == 0)
		rc = egs_resize_check_record(job, err);
	return rc;
}

/* The helper job's epilog gets these lists and must not reset moved GPUs. */
static void clear_helper_gres(job_record_t *helper)
{
	FREE_NULL_LIST(helper->gres_list_req);
	FREE_NULL_LIST(helper->gres_list_alloc);
	xfree(helper->tres_per_node);
	xfree(helper->tres_per_job);
	egs_job_build_details(helper);
}

static void commit_transfer(struct transfer_plan *t)
{
	job_record_t *job = t->to.job;
	job_record_t *helper = t->from.job;
	struct egs_resize_acctg acctg = egs_resize_acctg_begin(job);
	struct egs_resize_acctg helper_acctg = egs_resize_acctg_begin(helper);
	struct egs_job_size size;

	egs_job_stamp_save_size(job, t->to.requested);
	for (uint32_t m = 0; m < t->from.nnodes; m++)
		egs_resize_records_move(&t->to, t->node_map[m], &t->from, m);
	egs_resize_cores_move(job, helper, t->node_map);
	size = egs_gpu_request_from_held(t->to.requested);
	egs_gpu_request_set(job, t->to.requested, &size);
	clear_helper_gres(helper);
	egs_job_build_details(job);
	egs_resize_acctg_end(helper, &helper_acctg);
	egs_resize_acctg_end(job, &acctg);
}

static int transfer_gpus(job_record_t *job,
			 const struct egs_resize_request *request,
			 struct egs_err *err)
{
	job_record_t *helper = find_job_record(request->command.helper_job_id);
	struct transfer_plan t = { .node_map = NULL };
	int rc;

	if (!helper || helper == job)
		return egs_errf(err, "there is no job %u",
				request->command.helper_job_id);
	rc = plan_transfer(&t, job, helper, err);
	if (rc == 0) {
		commit_transfer(&t);
		info("egs: job %u: got the GPUs of helper job %u", job->job_id,
		     helper->job_id);
	}
	xfree(t.node_map);
	return rc;
}

static int get_slurm_code(int rc)
{
	if (rc == EGS_RESIZE_CHECK_NOT_LIVE)
		return EGS_ESLURM_NOT_LIVE;
	if (rc == EGS_RESIZE_CHECK_NOT_READY)
		return EGS_ESLURM_TRY_AGAIN;
	return ESLURM_DISABLED;
}

int egs_submit_resize(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
		      struct egs_err *err)
{
	struct egs_resize_request request;
	int rc;

	if (egs_resize_check_sender(job, uid, err) < 0)
		return ESLURM_ACCESS_DENIED;
	rc = egs_resize_request_read(&request, desc, job, err);
	if (rc == 0)
		rc = egs_resize_check_job(job, err);
	if (rc == 0)
		rc = request.command.helper_job_id
			     ? transfer_gpus(job, &request, err)
			     : release_gpus(job, &request, &desc->pn_min_memory,
					    err);
	if (rc < 0)
		return get_slurm_code(rc);
	egs_resize_request_remove(desc);
	return SLURM_SUCCESS;
}
