/* job_report.c - saved, finished, progress: what a job reports */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policyd/requests/job_message.h"

#define PPM_MAX 1000000

int egs_speech_path(struct egs_speech *s, struct egs_err *err)
{
	const char *path = egs_msg_str(s->request, "path");
	char clean[EGS_SAID_PATH_MAX + 1];

	if (!path)
		return 0;
	if (!*path || strlen(path) > EGS_SAID_PATH_MAX)
		return egs_errf(err,
				"the path has %zu bytes, it may have 1 to %d",
				strlen(path), EGS_SAID_PATH_MAX);
	snprintf(clean, sizeof(clean), "%s", path);
	egs_show_all(clean);
	if (strcmp(clean, path) != 0)
		return egs_errf(err,
				"path='%s' has a character that cannot be "
				"shown",
				egs_show(path).text);
	snprintf(s->said.path, sizeof(s->said.path), "%s", path);
	return 0;
}

static int tell(struct egs_speech *s, enum egs_event_kind kind)
{
	struct egs_event ev = { .kind = kind,
				.job = s->job->ident,
				.since = s->at };

	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static int tell_saved(struct egs_speech *s)
{
	return tell(s, EGS_EV_SAVED);
}

static int tell_finished(struct egs_speech *s)
{
	return tell(s, EGS_EV_FINISHED);
}

void egs_speech_unsay(struct egs_speech *s, uint32_t request)
{
	struct egs_event ev = { .kind = EGS_EV_UNSAID,
				.job = s->job->ident,
				.request = request };

	egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static void untell_finished(struct egs_speech *s)
{
	egs_speech_unsay(s, 0);
}

int egs_speech_saved(struct egs_speech *s, struct egs_err *err)
{
	int64_t step = EGS_NO_STEP;

	if (egs_msg_int(s->request, "step", &step) && step < 0)
		return egs_errf(err, "step=%" PRId64 " is below 0", step);
	if (egs_speech_path(s, err) < 0)
		return -1;
	s->said.step = step;
	s->said.saved_at = s->at;
	s->works = true;
	s->effect = tell_saved;
	return 0;
}

int egs_speech_finished(struct egs_speech *s, struct egs_err *err)
{
	(void)err;
	if (!s->said.finished)
		egs_errf(&s->what, "finished");
	s->said.finished = true;
	s->effect = tell_finished;
	s->undo = untell_finished;
	return 0;
}

int egs_speech_progress(struct egs_speech *s, struct egs_err *err)
{
	int64_t ppm;

	if (!egs_msg_int(s->request, "ppm", &ppm) || ppm < 0 || ppm > PPM_MAX)
		return egs_errf(err, "say how much is done: from 0 to 1");
	s->said.ppm = ppm;
	s->works = true;
	return 0;
}
