/* select_egs.c - select plugin stacked on Slurm's own cons_tres
 *
 * The object is linked with the real select_cons_tres.so.  Slurm's loader calls
 * dlsym() for each function of the API, and dlsym() also searches the libraries
 * an object was linked with.  So everything that is not defined here is
 * cons_tres itself, init() and plugin_id included.  cons_tres reads plugin_type
 * from here.
 *
 * Up to 24.11 the file is called select_cons_tres.so and has its own directory.
 * If that directory is first in PluginDir, the file replaces the real one.
 * Every command and slurmd then load it, too.  So the file has no init() that
 * might print on a user's terminal.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "plugins/compat/compat.h"
#include "plugins/select/claims.h"
#include "plugins/select/free_gpus.h"
#include "plugins/select/job_exit.h"
#include "plugins/select/minimal_victims.h"
#include "plugins/select/node_choice.h"
#include "plugins/select/slurm_records.h"
#include "plugins/select/team_use.h"
#include "plugins/shared/db_index.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/job_stamp.h"
#include "plugins/shared/layout.h"
#include "plugins/shared/ring.h"

EGS_PLUGIN("EGS on top of select/cons_tres", EGS_SELECT_TYPE);

static struct {
	pthread_once_t once;
	/* functions of cons_tres */
	__typeof__(select_g_job_test) *job_test;
	__typeof__(select_g_job_begin) *job_begin;
	__typeof__(select_g_job_fini) *job_fini;
	__typeof__(select_g_job_suspend) *job_suspend;
	__typeof__(select_g_job_resume) *job_resume;
	__typeof__(select_g_job_resized) *job_resized;
	__typeof__(select_g_job_expand) *job_expand;
} self = { .once = PTHREAD_ONCE_INIT };

/* Called at the first job: commands load the plugin, too, and have no jobs. */
static void find_cons_tres(void)
{
	egs_decisions_init_if_conf("select/egs");
	self.job_test = dlsym(RTLD_NEXT, "select_p_job_test");
	self.job_begin = dlsym(RTLD_NEXT, "select_p_job_begin");
	self.job_fini = dlsym(RTLD_NEXT, "select_p_job_fini");
	self.job_suspend = dlsym(RTLD_NEXT, "select_p_job_suspend");
	self.job_resume = dlsym(RTLD_NEXT, "select_p_job_resume");
	self.job_resized = dlsym(RTLD_NEXT, "select_p_job_resized");
	self.job_expand = dlsym(RTLD_NEXT, "select_p_job_expand");
	if (!self.job_test || !self.job_begin || !self.job_fini)
		error("egs: no cons_tres below select/egs: %s", dlerror());
}

/* Can EGS read this job?  If not, only cons_tres is called. */
static bool is_readable(const job_record_t *job)
{
	pthread_once(&self.once, find_cons_tres);
	return egs_layout_is_ours(job);
}

/* Ring the daemon.  It reads the job once slurmctld releases its locks. */
static void ring_for_job(const job_record_t *job, enum egs_doorbell_event what)
{
	if (is_readable(job) && job->job_id)
		egs_ring_job(egs_decisions_run_dir(), job->job_id, what);
}

/* Test a job that the daemon decided about. */
static int test_decided_job(const struct egs_job_test *test,
			    const struct egs_table_job *row)
{
	int rc;

	egs_select_claims_filter(test);
	egs_node_choice_filter(test, row);
	if (egs_node_choice_prefer(test, row, self.job_test, &rc))
		return rc;
	return egs_minimal_victims_test(test, row, self.job_test);
}

/* The job would get more GPUs than its team may have: undo the test. */
static int refuse_selection(const struct egs_job_test *test)
{
	free_job_resources(&test->job->job_resrcs);
	if (test->victims)
		FREE_NULL_LIST(*test->victims);
	return SLURM_ERROR;
}

/* job_submit/egs gives a deferred job a later begin time; until it has done so,
 * the job is refused here.
 */
static bool is_held(const job_record_t *job, const struct egs_table_job *row)
{
	return egs_table_is_deferred(row) ||
	       egs_decision_is_outdated(job, row) ||
	       !egs_team_use_has_room(job, row);
}

/* Slurm starts the components of a heterogeneous job one by one, and kills
 * those that it has started if one is refused.  So all wait for the last.
 */
static bool is_component_held(const job_record_t *job)
{
	const job_record_t *other;
	struct egs_table_job row;

	for (uint32_t i = 0; (other = egs_slurm_records_component(job, i));
	     i++) {
		if (!IS_JOB_PENDING(other))
			continue;
		if (egs_decision_get(other, &row)
			    ? is_held(other, &row)
			    : egs_decision_must_come_first(other))
			return true;
	}
	return false;
}

static int test_within_limits(const struct egs_job_test *test,
			      const struct egs_table_job *row)
{
	int rc;

	if (is_held(test->job, row))
		return SLURM_ERROR;
	rc = test_decided_job(test, row);
	if (rc == SLURM_SUCCESS && !egs_team_use_allows(test, row))
		return refuse_selection(test);
	return rc;
}

/* srun and salloc are scheduled at once, before the daemon can decide.  If the
 * team of the job has a limit, the job waits for the decision.
 */
static int test_undecided_job(const struct egs_job_test *test)
{
	if (egs_decision_must_come_first(test->job))
		return SLURM_ERROR;
	if (test->job->details) {
		egs_select_claims_filter(test);
		egs_node_choice_filter_new(test);
	}
	return self.job_test(EGS_JOB_TEST_OF(test));
}

/* A job got or released GPUs: count again. */
static int invalidate_counts(int rc)
{
	egs_free_gpus_invalidate();
	egs_team_use_invalidate();
	return rc;
}

/* Since 24.11 a new reservation looks for nodes with a job that has no id. */
int select_p_job_test(EGS_JOB_TEST_PARAMS)
{
	const struct egs_job_test test = { EGS_JOB_TEST_ARGS };
	struct egs_table_job row;
	int rc;

	pthread_once(&self.once, find_cons_tres);
	if (!self.job_test)
		return SLURM_ERROR;
	if (mode == SELECT_MODE_TEST_ONLY || !is_readable(job) || !job->job_id)
		return self.job_test(EGS_JOB_TEST_ARGS);
	if (is_component_held(job))
		return SLURM_ERROR;
	rc = egs_decision_get(job, &row) ? test_within_limits(&test, &row)
					 : test_undecided_job(&test);
	if (rc != SLURM_SUCCESS || mode != SELECT_MODE_RUN_NOW)
		return rc;
	egs_select_claims_make(&test);
	return invalidate_counts(rc);
}

static void begin_run(job_record_t *job)
{
	ring_for_job(job, EGS_DOORBELL_BEGIN);
	egs_select_claims_end(job);
	job->bit_flags &= ~(uint64_t)EGS_GRACE_PREEMPT;
	egs_job_stamp_set_departed(job, false);
}

int select_p_job_begin(job_record_t *job)
{
	if (is_readable(job))
		begin_run(job);
	return self.job_begin ? self.job_begin(job) : SLURM_ERROR;
}

static void end_run(job_record_t *job)
{
	struct egs_doorbell_msg bell = {
		.event = job->preempt_time ? EGS_DOORBELL_PREEMPTED
					   : EGS_DOORBELL_END,
		.job_id = job->job_id,
		.start = job->start_time,
		.end = job->end_time,
	};

	bool by_operator;

	egs_ring_send(egs_decisions_run_dir(), &bell);
	by_operator = egs_job_exit_handle(job);
	egs_job_stamp_restore_size(job);
	if (by_operator)
		egs_select_claims_keep(job);
	egs_db_index_end_run(job);
}

/* Job id 0 is memory that a running job releases (resize_cores.c). */
int select_p_job_fini(job_record_t *job)
{
	if (is_readable(job) && job->job_id)
		end_run(job);
	return self.job_fini ? invalidate_counts(self.job_fini(job))
			     : SLURM_ERROR;
}

/* A resize suspends and resumes the job inside cons_tres (resize_cores.h). That
 * is not a suspension; job_submit/egs rings after an update by a user.
 */
static void ring_suspend_or_resume(const job_record_t *job,
				   enum egs_doorbell_event what)
{
	if (is_readable(job) && job->resize_time != time(NULL))
		ring_for_job(job, what);
}

int select_p_job_suspend(job_record_t *job, bool indefinite)
{
	ring_suspend_or_resume(job, EGS_DOORBELL_SUSPEND);
	return self.job_suspend
		       ? invalidate_counts(self.job_suspend(job, indefinite))
		       : SLURM_ERROR;
}

int select_p_job_resume(job_record_t *job, bool indefinite)
{
	ring_suspend_or_resume(job, EGS_DOORBELL_RESUME);
	return self.job_resume
		       ? invalidate_counts(self.job_resume(job, indefinite))
		       : SLURM_ERROR;
}

/* When an exclusive job releases a node, Slurm does not mark the node as
 * shareable again (make_node_idle(), 22.05 node_mgr.c:4250, as in 24.11): no
 * job would start there until the node registers.  The bitmap is in slurmctld;
 * commands that load the plugin have none.
 */
static void mark_node_shareable(const job_record_t *job, node_record_t *node)
{
	bitstr_t **shared = dlsym(RTLD_DEFAULT, "share_node_bitmap");

	if (!is_readable(job) || !shared || !*shared || !job->details ||
	    job->details->share_res || node->run_job_cnt)
		return;
	node->no_share_job_cnt = 0;
	bit_set(*shared, node->index);
}

int select_p_job_resized(job_record_t *job, node_record_t *node)
{
	ring_for_job(job, EGS_DOORBELL_RESIZE);
	mark_node_shareable(job, node);
	return self.job_resized ? invalidate_counts(self.job_resized(job, node))
				: SLURM_ERROR;
}

int select_p_job_expand(job_record_t *from, job_record_t *to)
{
	ring_for_job(from, EGS_DOORBELL_RESIZE);
	ring_for_job(to, EGS_DOORBELL_RESIZE);
	return self.job_expand ? invalidate_counts(self.job_expand(from, to))
			       : SLURM_ERROR;
}
