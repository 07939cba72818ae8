/* resize_acctg.c - a change of a running job's size in the accounting */
#include <string.h>

#include "plugins/compat/dbd.h"
#include "plugins/job_submit/resize_acctg.h"

/* The counters of the array that the job is a task of, or NULL. */
static job_array_struct_t *find_array(const job_record_t *job)
{
	const job_record_t *first =
		job->array_job_id ? find_job_record(job->array_job_id) : NULL;

	return first ? first->array_recs : NULL;
}

/* Slurm would count a task as ended, with exit code 9 (22.05 job_mgr.c:16221):
 * its array would start one more, and dependent jobs would be wrong.
 */
static void close_record(job_record_t *job)
{
	job_array_struct_t *array = find_array(job);
	job_array_struct_t counters = { .task_cnt = 0 };
	uint64_t was_running = job->bit_flags & JOB_WAS_RUNNING;
	char *ports = EGS_TAKE_PORTS(job);

	if (array)
		counters = *array;
	job_pre_resize_acctg(job);
	if (array)
		*array = counters;
	job->bit_flags |= was_running;
	EGS_RETURN_PORTS(job, ports);
}

struct egs_resize_acctg egs_resize_acctg_begin(job_record_t *job)
{
	size_t size = slurmctld_tres_cnt * sizeof(uint64_t);
	struct egs_resize_acctg before = {
		.req_cnt = xmalloc(size),
		.req_str = xstrdup(job->tres_req_str),
		.fmt_req_str = xstrdup(job->tres_fmt_req_str),
	};

	if (job->tres_req_cnt)
		memcpy(before.req_cnt, job->tres_req_cnt, size);
	close_record(job);
	return before;
}

/* Before 24.11 the accounting plugin waits for slurmdbd if the job has the flag
 * JOB_RESIZING (22.05 accounting_storage_slurmdbd.c:2831).  So send the start
 * of a job without the flag, with the times that slurmdbd would derive from it.
 */
static void open_record(job_record_t *job)
{
#if EGS_DBD_NUMBERS_RECORDS
	time_t submitted = job->details->submit_time;
	time_t started = job->start_time;

	job->job_state &= ~(uint32_t)JOB_RESIZING;
	job->details->submit_time = job->resize_time;
	job->start_time = job->resize_time;
	job_post_resize_acctg(job);
	job->start_time = started;
	job->details->submit_time = submitted;
	job->db_index = 0;
#else
	job_post_resize_acctg(job);
#endif
}

/* Since 24.11 Slurm replaces the requested TRES by the allocated ones, which a
 * requeued job would then request.
 */
void egs_resize_acctg_end(job_record_t *job, struct egs_resize_acctg *before)
{
	open_record(job);
	if (job->tres_req_cnt)
		memcpy(job->tres_req_cnt, before->req_cnt,
		       slurmctld_tres_cnt * sizeof(uint64_t));
	xfree(before->req_cnt);
	xfree(job->tres_req_str);
	job->tres_req_str = before->req_str;
	xfree(job->tres_fmt_req_str);
	job->tres_fmt_req_str = before->fmt_req_str;
	last_job_update = last_node_update = time(NULL);
}
