/* resize_job.c - a running job gets another number of GPUs */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policyd/slurm/grow_job.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/release_nodes.h"
#include "policyd/slurm/resize_job.h"

/* What one call works on. */
struct sizing {
	const struct egs_size_ask *ask;
	char *text;
	job_info_msg_t *msg; /* all jobs of the user */
	slurm_job_info_t *job, *helper;
	uint32_t held; /* GPUs */
};

__attribute__((format(printf, 3, 4))) static enum egs_sized
tell(struct sizing *s, enum egs_sized end, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->text, EGS_SIZED_MAX, fmt, args);
	va_end(args);
	return end;
}

/* The helper of a job that is not over yet. */
static bool is_helper(const struct sizing *s, const slurm_job_info_t *job)
{
	char name[32];

	snprintf(name, sizeof(name), "egs-grow:%" PRIu32, s->ask->job_id);
	return job->name && strcmp(job->name, name) == 0 &&
	       ((job->job_state & JOB_STATE_BASE) <= JOB_RUNNING ||
		job->job_state & JOB_COMPLETING);
}

static void find(struct sizing *s)
{
	s->job = s->helper = NULL;
	for (uint32_t i = 0; i < s->msg->record_count; i++) {
		slurm_job_info_t *job = &s->msg->job_array[i];

		if (job->job_id == s->ask->job_id)
			s->job = job;
		else if (is_helper(s, job))
			s->helper = job;
	}
	s->held = s->job ? egs_slurm_gpus(s->job) : 0;
}

static void unload(struct sizing *s)
{
	if (!s->msg)
		return;
	compat_free_jobs(s->msg);
	s->msg = NULL;
}

static int load(struct sizing *s)
{
	unload(s);
	if (slurm_load_job_user(&s->msg, s->ask->uid, SHOW_ALL | SHOW_DETAIL) !=
	    SLURM_SUCCESS) {
		s->msg = NULL;
		return -1;
	}
	find(s);
	return 0;
}

/* ---- giving back ---- */

/* Slurm's words for a refusal; from 23.02 on there are those of the plugin. */
static enum egs_sized refused(struct sizing *s, job_array_resp_msg_t *resp)
{
	const char *why = compat_refusal(resp);
	int code = resp && resp->job_array_count ? (int)resp->error_code[0]
						 : errno;
	enum egs_sized end =
		compat_is_later(code) ? EGS_SIZED_WAITS : EGS_SIZED_REFUSED;

	return tell(s, end, "job %" PRIu32 " keeps its %" PRIu32 " GPUs: %s%s",
		    s->ask->job_id, s->held, why ? why : slurm_strerror(code),
		    why ? "" : ", slurmctld's log says why");
}

/* An update that job_submit/egs understands. */
static int update(const char *mark, uint32_t job_id,
		  job_array_resp_msg_t **resp)
{
	job_desc_msg_t desc;
	char text[16];

	slurm_init_job_desc_msg(&desc);
	snprintf(text, sizeof(text), "%" PRIu32, job_id);
	desc.job_id_str = text;
	desc.admin_comment = (char *)mark;
	if (slurm_update_job2(&desc, resp))
		return -1;
	return *resp && (*resp)->job_array_count && (*resp)->error_code[0] ? -1
									   : 0;
}

static enum egs_sized resize(struct sizing *s, const char *mark)
{
	job_array_resp_msg_t *resp = NULL;
	enum egs_sized end = EGS_SIZED_DONE;

	if (update(mark, s->ask->job_id, &resp) < 0)
		end = refused(s, resp);
	if (resp)
		slurm_free_job_array_resp(resp);
	return end;
}

static enum egs_sized done(struct sizing *s)
{
	egs_slurm_variables(s->job, s->text, EGS_SIZED_MAX);
	if (s->ask->nodes)
		egs_slurm_node_variables(s->job, s->text, EGS_SIZED_MAX);
	return EGS_SIZED_DONE;
}

static enum egs_sized release(struct sizing *s, uint32_t keep)
{
	enum egs_sized end;
	char mark[EGS_OPEN_MAX + 64];

	if (!s->ask->looked)
		return tell(s, EGS_SIZED_LOOK, "who has GPUs open?");
	snprintf(mark, sizeof(mark), "egs:resize gpus=%" PRIu32 "%s%s%s", keep,
		 s->ask->keep_cores ? " keep-cores" : "",
		 *s->ask->open ? " open=" : "", s->ask->open);
	end = resize(s, mark);
	if (end != EGS_SIZED_DONE)
		return end;
	if (load(s) < 0 || !s->job || s->held != s->ask->gpus)
		return tell(s, EGS_SIZED_WAITS, "the GPUs are given back");
	return done(s);
}

/* ---- giving back whole nodes ---- */

static enum egs_sized shed(struct sizing *s)
{
	uint32_t each = s->held / s->job->num_nodes;
	struct egs_err err;

	if (s->held == s->ask->gpus)
		return done(s);
	if (!s->ask->looked)
		return tell(s, EGS_SIZED_LOOK, "who has GPUs open?");
	if (!each || s->ask->gpus % each || s->ask->gpus > s->held)
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " has %" PRIu32 " GPUs on each node",
			    s->ask->job_id, each);
	if (egs_slurm_shed(s->job, s->ask->gpus / each, s->ask->open, &err) < 0)
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " keeps its nodes: %s",
			    s->ask->job_id, err.msg);
	if (load(s) < 0 || !s->job || s->held != s->ask->gpus)
		return tell(s, EGS_SIZED_WAITS, "the nodes are given back");
	return done(s);
}

/* ---- getting more ---- */

static void cancel(const struct sizing *s)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, s->helper->job_id);
	slurm_kill_job2(text, SIGKILL, 0, NULL);
}

static enum egs_sized submit(struct sizing *s, uint32_t more)
{
	struct egs_err err;

	if (egs_slurm_submit_helper(s->job, more, s->ask->keep_cores, &err) < 0)
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " gets no GPUs: %s", s->ask->job_id,
			    err.msg);
	return tell(s, EGS_SIZED_WAITS,
		    "job %" PRIu32 " waits for %" PRIu32 " more GPUs",
		    s->ask->job_id, more * s->job->num_nodes);
}

/* A job with more CPUs than its node has is refused by 24.11 and waits for
 * ever on 26.05.
 */
static enum egs_sized wait_on(struct sizing *s)
{
	const char *limit = egs_slurm_limit(s->helper);

	if (s->helper->state_reason == WAIT_PART_CONFIG) {
		cancel(s);
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " gets no GPUs: %s", s->ask->job_id,
			    slurm_strerror(
				    ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE));
	}
	return tell(s, EGS_SIZED_WAITS,
		    "job %" PRIu32 " waits for GPUs (job %" PRIu32
		    " in the queue%s%s)",
		    s->ask->job_id, s->helper->job_id,
		    limit ? ", and Slurm has a limit: " : "",
		    limit ? limit : "");
}

/* The job is told only when the helper has left its nodes: an epilog that
 * cleans up must find nobody at work.
 */
static enum egs_sized follow(struct sizing *s)
{
	uint32_t base = s->helper->job_state & JOB_STATE_BASE;
	enum egs_sized end = EGS_SIZED_DONE;
	char mark[64];

	if (base == JOB_PENDING && !(s->helper->job_state & JOB_COMPLETING))
		return wait_on(s);
	if (base == JOB_RUNNING && egs_slurm_gpus(s->helper)) {
		snprintf(mark, sizeof(mark), "egs:resize take=%" PRIu32,
			 s->helper->job_id);
		end = resize(s, mark);
	}
	if (end == EGS_SIZED_WAITS)
		return end;
	if (base == JOB_RUNNING)
		cancel(s);
	if (end == EGS_SIZED_REFUSED)
		return end;
	return tell(s, EGS_SIZED_WAITS,
		    "job %" PRIu32 " has its GPUs in a moment", s->ask->job_id);
}

static enum egs_sized step(struct sizing *s)
{
	uint32_t nodes = s->job ? s->job->num_nodes : 0;

	if (s->ask->cancel || !s->job ||
	    (s->job->job_state & JOB_STATE_BASE) != JOB_RUNNING || !nodes) {
		if (s->helper)
			cancel(s);
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " keeps its GPUs", s->ask->job_id);
	}
	if (s->ask->nodes)
		return shed(s);
	if (s->ask->gpus % nodes || s->held % nodes)
		return tell(s, EGS_SIZED_REFUSED,
			    "job %" PRIu32 " cannot be resized while it runs: "
			    "%" PRIu32 " GPUs are not the same on each of "
			    "%" PRIu32 " nodes",
			    s->ask->job_id, s->ask->gpus, nodes);
	if (s->helper)
		return follow(s);
	if (s->held > s->ask->gpus)
		return release(s, s->ask->gpus / nodes);
	if (s->held < s->ask->gpus)
		return submit(s, (s->ask->gpus - s->held) / nodes);
	return done(s);
}

/* ---- when it runs again ---- */

/* The word in the AdminComment of the job that says so, NULL: none. */
static const char *find_next(const slurm_job_info_t *job)
{
	return job->admin_comment ? strstr(job->admin_comment, EGS_NEXT_MARK)
				  : NULL;
}

static enum egs_sized send_update(struct sizing *s, job_desc_msg_t *desc)
{
	job_array_resp_msg_t *resp = NULL;
	enum egs_sized end = EGS_SIZED_DONE;
	char id[16];

	snprintf(id, sizeof(id), "%" PRIu32, s->ask->job_id);
	desc->job_id_str = id;
	if (slurm_update_job2(desc, &resp) ||
	    (resp && resp->job_array_count && resp->error_code[0]))
		end = refused(s, resp);
	if (resp)
		slurm_free_job_array_resp(resp);
	return end;
}

/* It runs, and will not for long: the word stays with it in the queue. */
static enum egs_sized note_next(struct sizing *s)
{
	const char *old = s->job->admin_comment;
	char comment[4096];
	job_desc_msg_t desc;

	if (find_next(s->job))
		return EGS_SIZED_DONE;
	snprintf(comment, sizeof(comment), "%s%s" EGS_NEXT_MARK "%" PRIu32,
		 old ? old : "", old && *old ? " " : "", s->ask->gpus);
	slurm_init_job_desc_msg(&desc);
	desc.admin_comment = comment;
	return send_update(s, &desc);
}

/* It is back in the queue: "gres:gpu:a100:4" gets another number, and the word
 * goes, with the space before it.
 */
static enum egs_sized take_next(struct sizing *s)
{
	const char *word = find_next(s->job), *asks = s->job->tres_per_node;
	const char *colon = asks ? strrchr(asks, ':') : NULL;
	uint32_t nodes = s->job->num_nodes ? s->job->num_nodes : 1;
	char comment[4096], gres[256];
	unsigned long gpus;
	job_desc_msg_t desc;
	char *end;

	if (!word)
		return EGS_SIZED_DONE;
	gpus = strtoul(word + strlen(EGS_NEXT_MARK), &end, 10);
	slurm_init_job_desc_msg(&desc);
	snprintf(comment, sizeof(comment), "%.*s%s",
		 (int)(word - s->job->admin_comment) -
			 (word > s->job->admin_comment),
		 s->job->admin_comment, end);
	desc.admin_comment = comment;
	if (colon && !strchr(asks, ',') && colon[1] >= '1' && colon[1] <= '9' &&
	    gpus >= nodes) {
		snprintf(gres, sizeof(gres), "%.*s:%lu", (int)(colon - asks),
			 asks, gpus / nodes);
		desc.tres_per_node = gres;
	}
	return send_update(s, &desc);
}

static enum egs_sized next_time(struct sizing *s)
{
	uint32_t base = s->job ? s->job->job_state & JOB_STATE_BASE : JOB_END;

	if (base == JOB_RUNNING)
		return note_next(s);
	return base == JOB_PENDING ? take_next(s) : EGS_SIZED_DONE;
}

enum egs_sized egs_slurm_size(const struct egs_size_ask *ask,
			      char text[EGS_SIZED_MAX])
{
	struct sizing s = { .ask = ask, .text = text };
	enum egs_sized end;

	*text = '\0';
	if (load(&s) < 0)
		return tell(&s, EGS_SIZED_WAITS, "slurmctld does not answer");
	end = ask->next ? next_time(&s) : step(&s);
	unload(&s);
	return end;
}
