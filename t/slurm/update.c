/* update.c - what job_submit/egs does to records of jobs in an update
 *
 * usage: update	prints TAP
 *
 * The functions of slurmctld that change a record stand in here, with what they
 * do to a job that has changed its size.
 */
#include "t/slurm/records.h"

#include "plugins/compat/gres.h"
#include "plugins/job_submit/daemon_update.h"
#include "plugins/job_submit/resize_acctg.h"
#include "plugins/job_submit/resize_checks.h"
#include "plugins/shared/decisions.h"
#include "t/lib/unit/tap.h"

#define MANAGED	  1
#define VICTIM	  2
#define UNMANAGED 3

/* Variables that slurmctld has for plugins. */
time_t last_job_update, last_node_update;
int slurmctld_tres_cnt;
slurmctld_config_t slurmctld_config;
#if EGS_SLURM_SINCE(23, 2)
list_t *job_list;
#else
List job_list;
#endif

static struct {
	job_record_t *first; /* of the array */
} self;

static int has_job_id(void *item, void *arg)
{
	return ((job_record_t *)item)->job_id == *(uint32_t *)arg;
}

job_record_t *find_job_record(uint32_t job_id)
{
	if (self.first && self.first->job_id == job_id)
		return self.first;
	return list_find_first(job_list, has_job_id, &job_id);
}

bool validate_operator(uid_t uid)
{
	(void)uid;
	return false;
}

void schedule(bool full_queue)
{
	(void)full_queue;
}

void job_end_time_reset(job_record_t *job)
{
	job->end_time = job->start_time + 60;
}

/* As job_completion_logger() of slurmctld does. */
void job_pre_resize_acctg(job_record_t *job)
{
	if (self.first) {
		self.first->array_recs->tot_run_tasks--;
		self.first->array_recs->max_exit_code = 9;
	}
	job->bit_flags &= ~(uint64_t)JOB_WAS_RUNNING;
#if EGS_SLURM_SINCE(24, 5)
	xfree(job->resv_ports);
#endif
}

void job_post_resize_acctg(job_record_t *job)
{
	(void)job;
}

/* ---- the stories ---- */

/* A job that waits and has chosen its victims. */
static job_record_t *make_requester(uint32_t id)
{
	job_record_t *job = make_job(id, JOB_PENDING);

	job->details->preempt_start_time = 500;
	list_append(job_list, job);
	return job;
}

/* The daemon withdraws the preemption of a job. */
static void withdrawing(void)
{
	struct egs_table_job row[] = { make_row(MANAGED), make_row(VICTIM) };
	job_record_t *managed = make_requester(MANAGED);
	job_record_t *unmanaged = make_requester(UNMANAGED);
	job_record_t *victim = make_job(VICTIM, JOB_RUNNING);

	row[1].fate_and_flags |= EGS_TABLE_WITHDRAWN;
	egs_table_publish(place.table, row, 2, time(NULL));
	victim->preempt_time = 400;
	list_append(job_list, victim);
	egs_daemon_update_apply(victim);
	is_int(victim->preempt_time, 0, "a preemption is withdrawn");
	is_int(managed->details->preempt_start_time, 0,
	       "a managed job chooses its victims again");
	is_int(unmanaged->details->preempt_start_time, 500,
	       "an unmanaged job keeps the victims it has chosen");
}

/* A task of an array changes its size. */
static void resizing(void)
{
	job_array_struct_t array = { .task_cnt = 2, .tot_run_tasks = 2 };
	job_record_t *job = make_job(20, JOB_RUNNING);
	struct egs_resize_acctg before;

	self.first = make_job(10, JOB_RUNNING);
	self.first->array_recs = &array;
	job->array_job_id = 10;
	job->bit_flags = JOB_WAS_RUNNING;
#if EGS_SLURM_SINCE(24, 5)
	job->resv_ports = xstrdup("12000-12001");
#endif
	before = egs_resize_acctg_begin(job);
	egs_resize_acctg_end(job, &before);
	is_int(array.tot_run_tasks, 2,
	       "a task that changes its size still counts as running");
	is_int(array.max_exit_code, 0,
	       "a task that changes its size has not failed");
	ok(job->bit_flags & JOB_WAS_RUNNING,
	   "a job that changes its size was running");
#if EGS_SLURM_SINCE(24, 5)
	is_str(job->resv_ports, "12000-12001",
	       "a job that changes its size keeps its ports");
#endif
	self.first = NULL;
}

/* A helper job of 'job', without nodes. */
static job_record_t *make_helper(const job_record_t *job)
{
	job_record_t *helper = make_job(job->job_id + 1, JOB_RUNNING);
	char comment[64];

	snprintf(comment, sizeof(comment), "egs:1;helper=%u", job->job_id);
	helper->admin_comment = xstrdup(comment);
	helper->job_resrcs = xmalloc(sizeof(*helper->job_resrcs));
	helper->job_resrcs->node_bitmap = bit_alloc(1);
	helper->step_list = list_create(NULL);
	return helper;
}

static bool is_usable(const job_record_t *helper, const job_record_t *job)
{
	uint32_t at[1];
	struct egs_err err = { "" };
	bool usable = egs_resize_check_helper(helper, job, at, &err) == 0;

	if (!usable)
		note("%s", err.msg);
	return usable;
}

static void helping(void)
{
	job_record_t *job = make_job(30, JOB_RUNNING);
	job_record_t *helper = make_helper(job);
	step_record_t step = { .step_id.step_id = SLURM_BATCH_SCRIPT };

	ok(is_usable(helper, job), "a helper job without steps is used");
	list_append(helper->step_list, &step);
	ok(is_usable(helper, job), "a helper job with its script is used");
	step.step_id.step_id = 0;
	ok(!is_usable(helper, job),
	   "a helper job is not used while a step of it has its GPUs");
}

int main(void)
{
	plan_none();
	job_list = list_create(NULL);
	if (make_place(VICTIM, "") < 0)
		return EXIT_FAILURE;
	egs_decisions_init("job_submit/egs");
	withdrawing();
	resizing();
	helping();
	remove_place();
	return done_testing();
}
