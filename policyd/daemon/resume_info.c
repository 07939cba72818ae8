/* resume_info.c - resume info: a restarted job learns about the runs before
 *
 * The update that releases the job also sets its resume info, and so does the
 * touch of a job that others requeued (touch_jobs.c).  Without such an update
 * the job's node requests the resume info (requests/job_resume.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/daemon/daemon.h"
#include "policyd/store/store_messages.h"

struct last_preemption {
	const struct egs_identity *job;
	struct egs_err *message; /* "": not found */
};

/* The newest row comes first.  An earlier job with the same id has another
 * nonce.
 */
static void find_last_preemption(void *arg, const struct egs_preemption *p)
{
	struct last_preemption *last = arg;
	char text[EGS_TIME_TEXT_SIZE];

	if (*last->message->msg || p->job.nonce != last->job->nonce ||
	    !p->departed_at || strcmp(p->outcome, "spared") == 0)
		return;
	egs_errf(last->message,
		 "preempted at %s: %s; %" PRIu32 " s of work lost on %" PRIu32
		 " GPUs; the job left %" PRIu32 " s after its notice",
		 egs_daemon_format_time(p->requested_at, text), p->reason,
		 egs_preemption_lost_s(p), p->gpus, p->held_s);
}

int egs_daemon_get_resume_info(struct egs_daemon *d,
			       const struct egs_identity *job,
			       struct egs_resume_info *info)
{
	struct last_preemption last = { .job = job, .message = &info->message };
	struct egs_job_info known = { .phase_override = "" };
	struct egs_job_report report;
	struct egs_err err;
	int rc;

	*info = (struct egs_resume_info){ .restarts = job->restarts };
	if (!d->store)
		return -1;
	rc = egs_store_job_report_get(d->store, job, &report, &err);
	if (rc == 0)
		rc = egs_store_preempt_each(d->store, job->job_id, 0, 16,
					    find_last_preemption, &last, &err);
	/* A read that fails undoes the open transaction. */
	if (egs_daemon_check_store(d, rc, &err) < 0)
		return -1;
	snprintf(info->path, sizeof(info->path), "%s", report.path);
	egs_cluster_lookup(d->cluster, job->job_id, &known);
	snprintf(info->phase, sizeof(info->phase), "%s", known.phase_override);
	return 0;
}

int egs_daemon_format_resume_info(struct egs_daemon *d,
				  const struct egs_identity *job,
				  char text[EGS_RESUME_INFO_MAX])
{
	struct egs_resume_info info;

	if (egs_daemon_get_resume_info(d, job, &info) < 0)
		return -1;
	egs_resume_info_format(&info, text);
	return 0;
}
