/* verbs_job_phase.c - a job enters another phase of its work */
#include <inttypes.h>
#include <string.h>

#include "policyd/core/array.h"
#include "policyd/verbs_job.h"
#include "policyd/wire/hint.h"
#include "policyd/wire/suggest.h"

static const char *name_of(const struct egs_daemon *d, int phase)
{
	return phase < 0 ? "" : egs_daemon_policy(d)->phase[phase].name;
}

/* The row of what was typed, which may be another spelling; -1 with 'err'. */
static int read_phase(const struct egs_daemon *d, const char *typed,
		      struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	const struct egs_hint_site any = { .any_phase = true };
	const char *names[EGS_PHASES_MAX];
	struct egs_hint hint = { .phase = "" };
	struct egs_err why;
	int i, phase;

	if (egs_hint_set(&hint, "phase", typed, &any, err) < 0)
		return -1;
	phase = egs_conf_phase(c, hint.phase);
	if (phase >= 0)
		return phase;
	for (i = 0; i < c->nphases; i++)
		names[i] = c->phase[i].name;
	egs_not_among(typed, "phase", names, (size_t)c->nphases, &why);
	return egs_errf(err, "'%s' %s", egs_show(typed).text, why.msg);
}

static void answer_phase(struct egs_speech *s, int phase)
{
	egs_msg_set_str(s->answer, "phase", name_of(s->d, phase));
	egs_msg_set_int(s->answer, "gpus", s->job->gpus);
	if (phase >= 0)
		egs_msg_set_str(s->answer, "export:EGS_PHASE",
				name_of(s->d, phase));
}

static int set_phase(struct egs_speech *s)
{
	return egs_world_set_phase(s->d->world, s->job->ident.job_id,
				   name_of(s->d, s->phase), egs_daemon_now());
}

static void set_back(struct egs_speech *s)
{
	egs_world_set_phase(s->d->world, s->job->ident.job_id,
			    name_of(s->d, s->phase_before), egs_daemon_now());
}

/* GPUs that the job asks for with its phase.  As long as they are those it has
 * the phase is a label.
 */
static int check_size(const struct egs_speech *s, struct egs_err *err)
{
	int64_t gpus;

	if (!egs_msg_int(s->request, "gpus", &gpus) || gpus == s->job->gpus)
		return 0;
	return egs_errf(err,
			"gpus=%" PRId64 ": job %" PRIu32 " has %" PRIu32
			", and GPUs of a running job are not moved here",
			gpus, s->job->ident.job_id, s->job->gpus);
}

int egs_speech_phase(struct egs_speech *s, struct egs_err *err)
{
	const char *typed = egs_msg_str(s->request, "phase");
	struct egs_known known = { .phase = "" };

	if (!typed) {
		s->only_asks = true;
		answer_phase(s, s->job->facts.phase);
		return 0;
	}
	s->phase = read_phase(s->d, typed, err);
	if (s->phase < 0 || check_size(s, err) < 0)
		return -1;
	egs_world_known(s->d->world, s->job->ident.job_id, &known);
	s->phase_before = egs_conf_phase(egs_daemon_policy(s->d), known.phase);
	if (s->phase != s->job->facts.phase)
		egs_errf(&s->what, "phase %s", name_of(s->d, s->phase));
	s->effect = set_phase;
	s->undo = set_back;
	s->look = true;
	answer_phase(s, s->phase);
	return 0;
}
