/* job_report.c - a job reports: saved, finished, progress */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/requests/job_message.h"

#define PPM_MAX 1000000

int egs_job_message_read_path(struct egs_job_message *s, struct egs_err *err)
{
	const char *path = egs_msg_get_str(s->request, "path");
	char clean[EGS_CKPT_PATH_MAX + 1];

	if (!path)
		return 0;
	if (!*path || strlen(path) > EGS_CKPT_PATH_MAX)
		return egs_errf(err,
				"the path has %zu bytes, it may have 1 to %d",
				strlen(path), EGS_CKPT_PATH_MAX);
	snprintf(clean, sizeof(clean), "%s", path);
	egs_make_printable(clean);
	if (strcmp(clean, path) != 0)
		return egs_errf(err,
				"path='%s' has a character that cannot be "
				"shown",
				egs_printable(path).text);
	snprintf(s->report.path, sizeof(s->report.path), "%s", path);
	return 0;
}

static int apply_event(struct egs_job_message *s, enum egs_event_kind kind)
{
	struct egs_event ev = { .kind = kind,
				.job = s->job->ident,
				.since = s->sent_at };

	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static int apply_saved(struct egs_job_message *s)
{
	return apply_event(s, EGS_EV_SAVED);
}

static int apply_finished(struct egs_job_message *s)
{
	return apply_event(s, EGS_EV_FINISHED);
}

void egs_job_message_revoke(struct egs_job_message *s, uint32_t request)
{
	struct egs_event ev = { .kind = EGS_EV_REVOKED,
				.job = s->job->ident,
				.request_no = request };

	egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static int apply_progress(struct egs_job_message *s)
{
	return apply_event(s, EGS_EV_PROGRESS);
}

static void undo_finished(struct egs_job_message *s)
{
	egs_job_message_revoke(s, 0);
}

int egs_job_message_saved(struct egs_job_message *s, struct egs_err *err)
{
	int64_t step = EGS_NO_STEP;

	if (egs_msg_get_int(s->request, "step", &step) && step < 0)
		return egs_errf(err, "step=%" PRId64 " is below 0", step);
	if (egs_job_message_read_path(s, err) < 0)
		return -1;
	s->report.step = step;
	s->report.saved_at = s->sent_at;
	s->shows_progress = true;
	s->effect = apply_saved;
	return 0;
}

int egs_job_message_finished(struct egs_job_message *s, struct egs_err *err)
{
	(void)err;
	if (!s->report.finished)
		egs_errf(&s->log_text, "finished");
	s->report.finished = true;
	s->effect = apply_finished;
	s->undo = undo_finished;
	return 0;
}

/* The speed of a job is measured from its start.  After a restart, or when
 * progress falls, it is measured from this report on.
 */
static void set_progress(struct egs_job_message *s, int64_t ppm)
{
	struct egs_job_report *r = &s->report;
	const bool is_first = r->progress_ppm == EGS_NO_PROGRESS;

	if (is_first && !s->job->ident.restarts) {
		r->first_ppm = 0;
		r->first_at = s->job->started;
	} else if (is_first || ppm < r->progress_ppm) {
		r->first_ppm = ppm;
		r->first_at = s->sent_at;
	}
	if (ppm != r->progress_ppm)
		r->progress_at = s->sent_at;
	r->progress_ppm = ppm;
}

int egs_job_message_progress(struct egs_job_message *s, struct egs_err *err)
{
	int64_t ppm;

	if (!egs_msg_get_int(s->request, "ppm", &ppm) || ppm < 0 ||
	    ppm > PPM_MAX)
		return egs_errf(err, "progress is a number from 0 to 1");
	set_progress(s, ppm);
	s->shows_progress = true;
	s->effect = apply_progress;
	return 0;
}
