/* resize_job.c - change the number of GPUs of a running job */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/hint/stamp.h"
#include "policyd/slurm/grow_job.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/release_nodes.h"
#include "policyd/slurm/resize_job.h"

/* State of one call. */
struct resize_state {
	const struct egs_resize_params *params;
	char *text;
	job_info_msg_t *jobs; /* all jobs of the user */
	slurm_job_info_t *job, *helper;
	uint32_t gpus_held; /* by the job, on all of its nodes */
};

__attribute__((format(printf, 3, 4))) static enum egs_resize_outcome
set_outcome(struct resize_state *s, enum egs_resize_outcome outcome,
	    const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->text, EGS_RESIZE_TEXT_MAX, fmt, args);
	va_end(args);
	return outcome;
}

/* Is this the helper job, and not ended? */
static bool is_helper(const struct resize_state *s, const slurm_job_info_t *job)
{
	return egs_stamp_read(job->admin_comment).helper_for ==
		       s->params->job_id &&
	       ((job->job_state & JOB_STATE_BASE) <= JOB_RUNNING ||
		job->job_state & JOB_COMPLETING);
}

static void find_jobs(struct resize_state *s)
{
	s->job = s->helper = NULL;
	for (uint32_t i = 0; i < s->jobs->record_count; i++) {
		slurm_job_info_t *job = &s->jobs->job_array[i];

		if (job->job_id == s->params->job_id)
			s->job = job;
		else if (is_helper(s, job))
			s->helper = job;
	}
	s->gpus_held = s->job ? egs_slurm_count_gpus(s->job) : 0;
}

static void free_jobs(struct resize_state *s)
{
	if (!s->jobs)
		return;
	compat_free_jobs(s->jobs);
	s->jobs = NULL;
}

static int load_jobs(struct resize_state *s)
{
	free_jobs(s);
	if (slurm_load_job_user(&s->jobs, s->params->uid,
				SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
		s->jobs = NULL;
		return -1;
	}
	find_jobs(s);
	return 0;
}

/* ---- give GPUs back ---- */

static int get_error_code(const job_array_resp_msg_t *resp)
{
	return resp && resp->job_array_count ? (int)resp->error_code[0] : errno;
}

/* The message of the plugin (since 23.02), or else of slurmctld. */
static enum egs_resize_outcome explain_refusal(struct resize_state *s,
					       job_array_resp_msg_t *resp)
{
	const char *why = compat_refusal_text(resp);
	int code = get_error_code(resp);
	enum egs_resize_outcome outcome = compat_is_retryable(code)
						  ? EGS_RESIZE_WAITING
						  : EGS_RESIZE_REFUSED;

	return set_outcome(s, outcome,
			   "job %" PRIu32 " keeps its %" PRIu32 " GPUs: %s%s",
			   s->params->job_id, s->gpus_held,
			   why ? why : slurm_strerror(code),
			   why ? "" : "; see the log of slurmctld");
}

/* Send an update that job_submit/egs carries out. */
static int send_command(const struct egs_resize_command *command,
			const slurm_job_info_t *job,
			job_array_resp_msg_t **resp)
{
	char comment[EGS_RESIZE_COMMAND_MAX + 1];
	job_desc_msg_t desc;
	char id[EGS_SLURM_JOB_ID_SIZE];

	egs_resize_command_format(command, comment, sizeof(comment));
	slurm_init_job_desc_msg(&desc);
	egs_slurm_format_job_id(job, id);
	desc.job_id_str = id;
	desc.admin_comment = comment;
	if (slurm_update_job2(&desc, resp))
		return -1;
	return *resp && (*resp)->job_array_count && (*resp)->error_code[0] ? -1
									   : 0;
}

static enum egs_resize_outcome
request_resize(struct resize_state *s, const struct egs_resize_command *command)
{
	job_array_resp_msg_t *resp = NULL;
	enum egs_resize_outcome outcome = EGS_RESIZE_DONE;

	if (send_command(command, s->job, &resp) < 0) {
		outcome = explain_refusal(s, resp);
		if (get_error_code(resp) == EGS_ESLURM_NOT_LIVE)
			outcome = EGS_RESIZE_NOT_LIVE;
	}
	if (resp)
		slurm_free_job_array_resp(resp);
	return outcome;
}

/* Since 26.05 slurmctld lowers the memory of a smaller job by itself, unless
 * the job requests it for each CPU.  Until it has done so, and in that second,
 * no step can start.
 */
static bool is_mem_changing(const slurm_job_info_t *job)
{
	return job->job_state & JOB_RESIZING ||
	       (compat_lowers_mem() && !(job->pn_min_memory & MEM_PER_CPU) &&
		job->resize_time >= time(NULL));
}

static enum egs_resize_outcome finish_resize(struct resize_state *s)
{
	if (is_mem_changing(s->job))
		return set_outcome(s, EGS_RESIZE_WAITING,
				   "the memory is being given back");
	egs_slurm_format_env(s->job, s->text, EGS_RESIZE_TEXT_MAX);
	if (s->params->way == EGS_RESIZE_NODES)
		egs_slurm_append_node_env(s->job, s->text, EGS_RESIZE_TEXT_MAX);
	return EGS_RESIZE_DONE;
}

static enum egs_resize_outcome release_gpus(struct resize_state *s,
					    uint32_t keep)
{
	struct egs_resize_command command = { .gpus_per_node = keep,
					      .keep_cores =
						      s->params->keep_cores };
	enum egs_resize_outcome outcome;

	if (!s->params->gpus_scanned)
		return set_outcome(s, EGS_RESIZE_NEEDS_SCAN,
				   "open GPUs are unknown");
	memcpy(command.open_gpus, s->params->open_gpus,
	       sizeof(command.open_gpus));
	outcome = request_resize(s, &command);
	if (outcome != EGS_RESIZE_DONE)
		return outcome;
	if (load_jobs(s) < 0 || !s->job || s->gpus_held != s->params->gpus)
		return set_outcome(s, EGS_RESIZE_WAITING,
				   "the GPUs are being given back");
	return finish_resize(s);
}

/* ---- give whole nodes back ---- */

static enum egs_resize_outcome release_nodes(struct resize_state *s)
{
	uint32_t each = s->gpus_held / s->job->num_nodes;
	struct egs_err err;

	if (s->gpus_held == s->params->gpus)
		return finish_resize(s);
	if (!s->params->gpus_scanned)
		return set_outcome(s, EGS_RESIZE_NEEDS_SCAN,
				   "open GPUs are unknown");
	if (!each || s->params->gpus % each || s->params->gpus > s->gpus_held)
		return set_outcome(s, EGS_RESIZE_REFUSED,
				   "job %" PRIu32 " keeps its nodes: it can "
				   "give back multiples of %" PRIu32 " GPUs",
				   s->params->job_id, each);
	if (egs_slurm_release_nodes(s->job, s->params->gpus / each,
				    s->params->open_gpus, &err) < 0)
		return set_outcome(s, EGS_RESIZE_REFUSED,
				   "job %" PRIu32 " keeps its nodes: %s",
				   s->params->job_id, err.msg);
	if (load_jobs(s) < 0 || !s->job || s->gpus_held != s->params->gpus)
		return set_outcome(s, EGS_RESIZE_WAITING,
				   "the nodes are being given back");
	return finish_resize(s);
}

/* ---- get more GPUs ---- */

static void cancel_helper(const struct resize_state *s)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, s->helper->job_id);
	slurm_kill_job2(text, SIGKILL, 0, NULL);
}

static enum egs_resize_outcome submit_helper(struct resize_state *s,
					     uint32_t more)
{
	struct egs_err err;

	if (egs_slurm_submit_helper(s->job, more, s->params->keep_cores, &err) <
	    0)
		return set_outcome(s, EGS_RESIZE_REFUSED,
				   "job %" PRIu32 " gets no GPUs: %s",
				   s->params->job_id, err.msg);
	return set_outcome(s, EGS_RESIZE_WAITING,
			   "job %" PRIu32 " waits for %" PRIu32 " more GPUs",
			   s->params->job_id, more * s->job->num_nodes);
}

/* If the helper job needs more CPUs than the node has, 24.11 refuses it, and
 * 26.05 lets it wait for ever.
 */
static enum egs_resize_outcome wait_for_helper(struct resize_state *s)
{
	const char *limit = egs_slurm_limit_reason(s->helper);

	if (s->helper->state_reason == WAIT_PART_CONFIG) {
		cancel_helper(s);
		return set_outcome(
			s, EGS_RESIZE_REFUSED,
			"job %" PRIu32 " gets no GPUs: %s", s->params->job_id,
			slurm_strerror(
				ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE));
	}
	return set_outcome(s, EGS_RESIZE_WAITING,
			   "job %" PRIu32 " waits for GPUs (helper job %" PRIu32
			   " is pending%s%s)",
			   s->params->job_id, s->helper->job_id,
			   limit ? ", Slurm has a limit: " : "",
			   limit ? limit : "");
}

/* The resize is done only when the helper job has ended on its nodes.  Its
 * epilog may clean GPUs, and the growing job must not use them yet.
 */
static enum egs_resize_outcome follow_helper(struct resize_state *s)
{
	uint32_t base = s->helper->job_state & JOB_STATE_BASE;
	enum egs_resize_outcome outcome = EGS_RESIZE_DONE;
	const struct egs_resize_command take = { .helper_job_id =
							 s->helper->job_id };

	if (base == JOB_PENDING && !(s->helper->job_state & JOB_COMPLETING))
		return wait_for_helper(s);
	if (base == JOB_RUNNING && egs_slurm_count_gpus(s->helper))
		outcome = request_resize(s, &take);
	if (outcome == EGS_RESIZE_WAITING)
		return outcome;
	if (base == JOB_RUNNING)
		cancel_helper(s);
	if (outcome != EGS_RESIZE_DONE)
		return outcome;
	return set_outcome(s, EGS_RESIZE_FINISHING,
			   "job %" PRIu32 ": GPUs allocated, finishing",
			   s->params->job_id);
}

static enum egs_resize_outcome run_resize_step(struct resize_state *s)
{
	uint32_t nodes = s->job ? s->job->num_nodes : 0;

	if (s->params->way == EGS_RESIZE_CANCEL || !s->job ||
	    (s->job->job_state & JOB_STATE_BASE) != JOB_RUNNING || !nodes) {
		if (s->helper)
			cancel_helper(s);
		return set_outcome(s, EGS_RESIZE_REFUSED,
				   "job %" PRIu32 " keeps its GPUs",
				   s->params->job_id);
	}
	if (s->job->job_state & JOB_RESIZING)
		return set_outcome(s, EGS_RESIZE_WAITING,
				   "the memory of the job is being changed");
	if (s->params->way == EGS_RESIZE_NODES)
		return release_nodes(s);
	if (s->params->gpus % nodes || s->gpus_held % nodes)
		return set_outcome(
			s, EGS_RESIZE_NOT_LIVE,
			"job %" PRIu32 " cannot be resized while it runs: "
			"%" PRIu32 " GPUs cannot be divided evenly among "
			"%" PRIu32 " nodes",
			s->params->job_id, s->params->gpus, nodes);
	if (s->helper)
		return follow_helper(s);
	if (s->gpus_held > s->params->gpus)
		return release_gpus(s, s->params->gpus / nodes);
	if (s->gpus_held < s->params->gpus)
		return submit_helper(s,
				     (s->params->gpus - s->gpus_held) / nodes);
	return finish_resize(s);
}

/* ---- resize at the next run ---- */

static enum egs_resize_outcome send_update(struct resize_state *s,
					   job_desc_msg_t *desc)
{
	job_array_resp_msg_t *resp = NULL;
	enum egs_resize_outcome outcome = EGS_RESIZE_DONE;
	char id[EGS_SLURM_JOB_ID_SIZE];

	egs_slurm_format_job_id(s->job, id);
	desc->job_id_str = id;
	if (slurm_update_job2(desc, &resp) ||
	    (resp && resp->job_array_count && resp->error_code[0]))
		outcome = explain_refusal(s, resp);
	if (resp)
		slurm_free_job_array_resp(resp);
	return outcome;
}

/* Update the job with "next=" of its stamp changed to 'gpus'. */
static enum egs_resize_outcome
update_next_gpus(struct resize_state *s, uint32_t gpus, job_desc_msg_t *desc)
{
	struct egs_stamp stamp = egs_stamp_read(s->job->admin_comment);
	enum egs_resize_outcome outcome;

	stamp.next_gpus = gpus;
	desc->admin_comment = egs_stamp_insert(s->job->admin_comment, &stamp);
	if (!desc->admin_comment)
		return set_outcome(s, EGS_RESIZE_WAITING, "out of memory");
	outcome = send_update(s, desc);
	free(desc->admin_comment);
	return outcome;
}

/* The job still runs: write the number of GPUs into its stamp. */
static enum egs_resize_outcome store_next_gpus(struct resize_state *s)
{
	job_desc_msg_t desc;

	if (egs_stamp_read(s->job->admin_comment).next_gpus)
		return EGS_RESIZE_DONE;
	slurm_init_job_desc_msg(&desc);
	return update_next_gpus(s, s->params->gpus, &desc);
}

/* The job is requeued: put the number into its request "gres:gpu:a100:4", and
 * remove it from the stamp.
 */
static enum egs_resize_outcome apply_next_gpus(struct resize_state *s)
{
	const char *request = s->job->tres_per_node;
	const char *colon = request ? strrchr(request, ':') : NULL;
	uint32_t nodes = s->job->num_nodes ? s->job->num_nodes : 1;
	uint32_t gpus = egs_stamp_read(s->job->admin_comment).next_gpus;
	char gres[256];
	job_desc_msg_t desc;

	if (!gpus)
		return EGS_RESIZE_DONE;
	slurm_init_job_desc_msg(&desc);
	if (colon && !strchr(request, ',') && colon[1] >= '1' &&
	    colon[1] <= '9' && gpus >= nodes) {
		snprintf(gres, sizeof(gres), "%.*s:%" PRIu32,
			 (int)(colon - request), request, gpus / nodes);
		desc.tres_per_node = gres;
	}
	return update_next_gpus(s, 0, &desc);
}

static enum egs_resize_outcome resize_on_restart(struct resize_state *s)
{
	uint32_t base = s->job ? s->job->job_state & JOB_STATE_BASE : JOB_END;

	if (base == JOB_RUNNING)
		return store_next_gpus(s);
	return base == JOB_PENDING ? apply_next_gpus(s) : EGS_RESIZE_DONE;
}

enum egs_resize_outcome
egs_slurm_resize_job(const struct egs_resize_params *params,
		     char text[EGS_RESIZE_TEXT_MAX])
{
	struct resize_state s = { .params = params, .text = text };
	enum egs_resize_outcome outcome;

	*text = '\0';
	if (load_jobs(&s) < 0)
		return set_outcome(&s, EGS_RESIZE_WAITING,
				   "slurmctld does not answer");
	outcome = params->way == EGS_RESIZE_AT_RESTART ? resize_on_restart(&s)
						       : run_resize_step(&s);
	free_jobs(&s);
	return outcome;
}
