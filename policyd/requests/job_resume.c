/* job_resume.c - a job runs again: why it had to go, and where it was
 *
 * Mostly it is told when we let it start; else its node asks for it, before
 * Slurm may have shown us that it runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/requests/requests.h"
#include "policyd/store/store_messages.h"

struct last_preemption {
	const struct egs_identity *job;
	struct egs_err *story; /* "" until it is found */
};

/* The newest row comes first; a job that had this id before is another. */
static void add_story(void *arg, const struct egs_preemption *p)
{
	struct last_preemption *last = arg;
	char text[EGS_TIME_TEXT_SIZE];

	if (*last->story->msg || p->job.nonce != last->job->nonce ||
	    !p->departed_at || strcmp(p->outcome, "spared") == 0)
		return;
	egs_errf(last->story,
		 "preempted at %s: %s; %" PRIu32 " s of work lost, %" PRIu32
		 " s to save and go, on %" PRIu32 " GPUs",
		 egs_requests_format_time(p->requested_at, text), p->reason,
		 p->lost_work_s, p->held_s, p->gpus);
}

int egs_daemon_get_resume_info(struct egs_daemon *d,
			       const struct egs_identity *job,
			       struct egs_resume_info *again)
{
	struct last_preemption last = { .job = job, .story = &again->message };
	struct egs_job_info known = { .phase_override = "" };
	struct egs_job_report said;

	*again = (struct egs_resume_info){ .restarts = job->restarts };
	if (!d->store ||
	    egs_store_job_report_get(d->store, job, &said, NULL) < 0 ||
	    egs_store_preempt_each(d->store, job->job_id, 0, 16, add_story,
				   &last, NULL) < 0)
		return -1;
	snprintf(again->path, sizeof(again->path), "%s", said.path);
	egs_cluster_lookup(d->cluster, job->job_id, &known);
	snprintf(again->phase, sizeof(again->phase), "%s",
		 known.phase_override);
	return 0;
}

int egs_verb_resume(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	struct egs_resume_info again;

	if (!j)
		return -1;
	if (j->ident.uid != peer->uid &&
	    !egs_daemon_operator_name(d, peer->uid))
		return egs_errf(err, "job %" PRIu32 " is not yours",
				j->ident.job_id);
	if (egs_daemon_get_resume_info(d, &j->ident, &again) < 0)
		return egs_errf(err, "egs-policyd cannot read its disk");
	egs_msg_set_str(answer, "story", again.message.msg);
	egs_msg_set_str(answer, "path", again.path);
	egs_msg_set_str(answer, "phase", again.phase);
	return 0;
}
