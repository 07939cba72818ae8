/* resize.c - release and transfer GPUs of running jobs, inside slurmctld */
#include <string.h>

#include "common/hint/stamp.h"
#include "plugins/job_submit/resize.h"
#include "plugins/job_submit/resize_checks.h"
#include "plugins/job_submit/resize_cores.h"
#include "plugins/job_submit/resize_records.h"
#include "plugins/shared/job_stamp.h"

/* Slurm's own functions around a change of size end the job in accounting and
 * start it again.  Since 24.11 they replace the requested TRES by the allocated
 * ones, which a requeued job would then request.  So save and restore them.
 */
struct saved_tres {
	uint64_t *req_cnt;
	char *req_str;
	char *fmt_req_str;
};

static struct saved_tres begin_resize_acctg(job_record_t *job)
{
	size_t size = slurmctld_tres_cnt * sizeof(uint64_t);
	struct saved_tres asked = {
		.req_cnt = xmalloc(size),
		.req_str = xstrdup(job->tres_req_str),
		.fmt_req_str = xstrdup(job->tres_fmt_req_str),
	};

	if (job->tres_req_cnt)
		memcpy(asked.req_cnt, job->tres_req_cnt, size);
	job_pre_resize_acctg(job);
	return asked;
}

static void end_resize_acctg(job_record_t *job, struct saved_tres *asked)
{
	job_post_resize_acctg(job);
	if (!slurm_with_slurmdbd())
		EGS_CLEAR_DB_INDEX(job);
	if (job->tres_req_cnt)
		memcpy(job->tres_req_cnt, asked->req_cnt,
		       slurmctld_tres_cnt * sizeof(uint64_t));
	xfree(asked->req_cnt);
	xfree(job->tres_req_str);
	job->tres_req_str = asked->req_str;
	xfree(job->tres_fmt_req_str);
	job->tres_fmt_req_str = asked->fmt_req_str;
	last_job_update = last_node_update = time(NULL);
}

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

static int plan_node_release(struct release_plan *plan, uint32_t n,
			     const struct egs_resize_request *request,
			     struct egs_err *err)
{
	bitstr_t *held = egs_resize_records_held(&plan->records, n);
	uint32_t count = (uint32_t)bit_set_count(held);

	bit_free(held);
	if (count < request->command.gpus_per_node)
		return egs_errf(
			err,
			"job %u has %u GPUs on %s; use `egs phase --gpus=%u` "
			"to get more",
			plan->records.job->job_id, count,
			egs_resize_records_node(&plan->records, n)->name,
			request->command.gpus_per_node);
	if (count == request->command.gpus_per_node)
		return 0;
	plan->released[n] = choose_gpus(&plan->records, n, request, err);
	if (!plan->released[n])
		return -1;
	plan->gpu_count += count - request->command.gpus_per_node;
	if (!request->command.keep_cores)
		egs_resize_cores_add(&plan->cores, &plan->records, n,
				     request->command.gpus_per_node, count,
				     plan->released[n]);
	return 0;
}

static void commit_release(struct release_plan *plan)
{
	job_record_t *job = plan->records.job;
	struct saved_tres asked = begin_resize_acctg(job);
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
	end_resize_acctg(job, &asked);
}

static int release_gpus(job_record_t *job,
			const struct egs_resize_request *request,
			struct egs_err *err)
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
	if (rc == 0 && plan.gpu_count > 0) {
		commit_release(&plan);
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
	    egs_resize_records_match(&t->to, &t->from, err) < 0)
		return -1;
	return check_even_spread(t, err);
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
	struct saved_tres asked = begin_resize_acctg(job);
	struct saved_tres lent = begin_resize_acctg(helper);
	struct egs_job_size size;

	egs_job_stamp_save_size(job, t->to.requested);
	for (uint32_t m = 0; m < t->from.nnodes; m++)
		egs_resize_records_move(&t->to, t->node_map[m], &t->from, m);
	egs_resize_cores_move(job, helper, t->node_map);
	size = egs_gpu_request_from_held(t->to.requested);
	egs_gpu_request_set(job, t->to.requested, &size);
	clear_helper_gres(helper);
	egs_job_build_details(job);
	end_resize_acctg(helper, &lent);
	end_resize_acctg(job, &asked);
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

int egs_submit_resize(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
		      struct egs_err *err)
{
	struct egs_resize_request request;
	int rc;

	if (!egs_resize_check_is_allowed(job, uid)) {
		egs_errf(err, "job %u belongs to another user", job->job_id);
		return ESLURM_USER_ID_MISSING;
	}
	rc = egs_resize_request_read(&request, desc, err);
	if (rc == 0)
		rc = egs_resize_check_job(job, err);
	if (rc == 0)
		rc = request.command.helper_job_id
			     ? transfer_gpus(job, &request, err)
			     : release_gpus(job, &request, err);
	if (rc < 0)
		return rc == EGS_RESIZE_CHECK_NOT_LIVE ? EGS_ESLURM_NOT_LIVE
						       : ESLURM_DISABLED;
	egs_resize_request_remove(desc);
	return SLURM_SUCCESS;
}
