/* resize.c - GPUs of running jobs change hands, inside slurmctld */
#include <string.h>

#include "plugins/job_submit/resize.h"
#include "plugins/job_submit/resize_checks.h"
#include "plugins/job_submit/resize_cores.h"
#include "plugins/job_submit/resize_records.h"
#include "plugins/shared/submitted_size.h"

/* Slurm's own bracket around a change of size ends the job in accounting and
 * starts it again.  Since 24.11 it takes what the job holds for what it asked
 * for, which a requeued job would then ask for.
 */
struct bracket {
	uint64_t *req_cnt;
	char *req_str;
	char *fmt_req_str;
};

static struct bracket open_bracket(job_record_t *job)
{
	size_t size = slurmctld_tres_cnt * sizeof(uint64_t);
	struct bracket asked = {
		.req_cnt = xmalloc(size),
		.req_str = xstrdup(job->tres_req_str),
		.fmt_req_str = xstrdup(job->tres_fmt_req_str),
	};

	if (job->tres_req_cnt)
		memcpy(asked.req_cnt, job->tres_req_cnt, size);
	job_pre_resize_acctg(job);
	return asked;
}

static void close_bracket(job_record_t *job, struct bracket *asked)
{
	job_post_resize_acctg(job);
	if (!slurm_with_slurmdbd())
		EGS_NO_DB_INDEX(job);
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

/* Of the GPUs it holds there, those that steps or processes use. */
static bitstr_t *find_used(const struct egs_records *r, uint32_t n,
			   const struct egs_resize_request *request,
			   bitstr_t *held)
{
	bitstr_t *used = egs_records_in_steps(r, n);
	uint64_t open = egs_resize_open(request, egs_records_node(r, n)->name);

	for (bitoff_t i = 0; i < bit_size(used) && i < 64; i++)
		if (open >> i & 1)
			bit_set(used, i);
	bit_and(used, held);
	return used;
}

/* The GPUs of node 'n' that go when the others stay, the last ones first:
 * nobody uses them.  NULL with 'err' set if there are too few.
 */
static bitstr_t *choose(const struct egs_records *r, uint32_t n,
			const struct egs_resize_request *request,
			struct egs_err *err)
{
	bitstr_t *held = egs_records_held(r, n);
	bitstr_t *used = find_used(r, n, request, held);
	bitstr_t *gone = bit_alloc(bit_size(held));
	uint32_t go = (uint32_t)bit_set_count(held) - request->gpus;

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
			 "job %u uses %d GPUs of %s, in steps or processes "
			 "that have them open, so %u cannot be all that stay",
			 r->job->job_id, bit_set_count(used),
			 egs_records_node(r, n)->name, request->gpus);
		FREE_NULL_BITMAP(gone);
	}
	bit_free(used);
	return gone;
}

/* A release while it is prepared: what goes, by node; NULL where nothing. */
struct release {
	struct egs_records records;
	struct egs_share share;
	bitstr_t **gone;
	uint32_t count;
};

static int plan_node(struct release *plan, uint32_t n,
		     const struct egs_resize_request *request,
		     struct egs_err *err)
{
	bitstr_t *held = egs_records_held(&plan->records, n);
	uint32_t count = (uint32_t)bit_set_count(held);

	bit_free(held);
	if (count < request->gpus)
		return egs_errf(err,
				"job %u has %u GPUs on %s, `egs phase "
				"--gpus=%u` asks for more",
				plan->records.job->job_id, count,
				egs_records_node(&plan->records, n)->name,
				request->gpus);
	if (count == request->gpus)
		return 0;
	plan->gone[n] = choose(&plan->records, n, request, err);
	if (!plan->gone[n])
		return -1;
	plan->count += count - request->gpus;
	if (!request->keep_cores)
		egs_share_add(&plan->share, &plan->records, n, request->gpus,
			      count, plan->gone[n]);
	return 0;
}

static void commit_release(struct release *plan)
{
	job_record_t *job = plan->records.job;
	struct bracket asked = open_bracket(job);
	struct egs_size size;

	egs_submitted_note(job, plan->records.asked);
	for (uint32_t n = 0; n < plan->records.nodes; n++)
		if (plan->gone[n])
			egs_records_release(&plan->records, n, plan->gone[n]);
	egs_share_release(&plan->share, job);
	size = egs_asked_held(plan->records.asked);
	egs_asked_set(job, plan->records.asked, &size);
	egs_job_build_details(job);
	close_bracket(job, &asked);
}

static int release(job_record_t *job, const struct egs_resize_request *request,
		   struct egs_err *err)
{
	struct release plan = { .count = 0 };
	int rc = egs_records_find(&plan.records, job, err);

	if (rc == 0 && *request->type)
		rc = egs_records_are(&plan.records, request->type, err);
	if (rc < 0)
		return -1;
	plan.share = egs_share_new(job);
	plan.gone = xcalloc(plan.records.nodes, sizeof(*plan.gone));
	for (uint32_t n = 0; n < plan.records.nodes && rc == 0; n++)
		rc = plan_node(&plan, n, request, err);
	if (rc == 0 && plan.count > 0) {
		commit_release(&plan);
		schedule(false); /* as when a job ends; it only rings */
		info("egs: job %u gives back %u GPUs, %u on each node stay",
		     job->job_id, plan.count, request->gpus);
	}
	for (uint32_t n = 0; n < plan.records.nodes; n++)
		FREE_NULL_BITMAP(plan.gone[n]);
	xfree(plan.gone);
	egs_share_free(&plan.share);
	return rc;
}

/* A transfer while it is prepared: node m of the helper is at[m] of the job. */
struct transfer {
	struct egs_records to, from;
	uint32_t *at;
};

static uint32_t held_on(const struct egs_records *r, uint32_t n)
{
	bitstr_t *held = egs_records_held(r, n);
	uint32_t count = (uint32_t)bit_set_count(held);

	bit_free(held);
	return count;
}

/* A restart of slurmctld counts by what is asked for per node (22.05
 * gres_ctld.c:840), so that has to be true of every node.
 */
static int check_even(const struct transfer *t, struct egs_err *err)
{
	uint32_t first = 0;

	if (!egs_asked_size(t->to.asked).per_node)
		return 0;
	for (uint32_t n = 0; n < t->to.nodes; n++) {
		uint32_t count = held_on(&t->to, n);

		for (uint32_t m = 0; m < t->from.nodes; m++)
			if (t->at[m] == n)
				count += held_on(&t->from, m);
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

static int plan_transfer(struct transfer *t, job_record_t *job,
			 job_record_t *helper, struct egs_err *err)
{
	if (egs_may_be_resized(helper, err) < 0 ||
	    egs_records_find(&t->to, job, err) < 0 ||
	    egs_records_find(&t->from, helper, err) < 0)
		return -1;
	t->at = xcalloc(t->from.nodes, sizeof(*t->at));
	if (egs_may_give(helper, job, t->at, err) < 0 ||
	    egs_may_hold(job, helper, err) < 0 ||
	    egs_records_match(&t->to, &t->from, err) < 0)
		return -1;
	return check_even(t, err);
}

/* The helper's end must reset no GPU: its epilog hears of what is in these. */
static void empty(job_record_t *helper)
{
	FREE_NULL_LIST(helper->gres_list_req);
	FREE_NULL_LIST(helper->gres_list_alloc);
	xfree(helper->tres_per_node);
	xfree(helper->tres_per_job);
	egs_job_build_details(helper);
}

static void commit_transfer(struct transfer *t)
{
	job_record_t *job = t->to.job;
	job_record_t *helper = t->from.job;
	struct bracket asked = open_bracket(job);
	struct bracket lent = open_bracket(helper);
	struct egs_size size;

	egs_submitted_note(job, t->to.asked);
	for (uint32_t m = 0; m < t->from.nodes; m++)
		egs_records_move(&t->to, t->at[m], &t->from, m);
	egs_share_move(job, helper, t->at);
	size = egs_asked_held(t->to.asked);
	egs_asked_set(job, t->to.asked, &size);
	empty(helper);
	egs_job_build_details(job);
	close_bracket(helper, &lent);
	close_bracket(job, &asked);
}

static int transfer(job_record_t *job, const struct egs_resize_request *request,
		    struct egs_err *err)
{
	job_record_t *helper = find_job_record(request->helper);
	struct transfer t = { .at = NULL };
	int rc;

	if (!helper || helper == job)
		return egs_errf(err, "there is no job %u", request->helper);
	rc = plan_transfer(&t, job, helper, err);
	if (rc == 0) {
		commit_transfer(&t);
		info("egs: job %u has the GPUs of job %u", job->job_id,
		     helper->job_id);
	}
	xfree(t.at);
	return rc;
}

int egs_resize_update(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
		      struct egs_err *err)
{
	struct egs_resize_request request;
	int rc;

	if (!egs_may_resize(job, uid)) {
		egs_errf(err, "job %u is another user's", job->job_id);
		return ESLURM_USER_ID_MISSING;
	}
	rc = egs_resize_read(&request, desc, err);
	if (rc == 0)
		rc = egs_may_be_resized(job, err);
	if (rc == 0)
		rc = request.helper ? transfer(job, &request, err)
				    : release(job, &request, err);
	if (rc < 0)
		return ESLURM_NOT_SUPPORTED;
	egs_resize_done(desc);
	return SLURM_SUCCESS;
}
