/* job_message.c - a message of a job: who, which attempt, heard before?
 *
 * Slurm's own record decides whose a job is and whether it runs.  What we have
 * of it may be two seconds old: where a message knows better we look again and
 * let it come back.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/job_message.h"
#include "policyd/server/rate_limit.h"

static const struct speech {
	const char *name;
	egs_speech_fn *fn;
	bool slurm_first; /* answered when slurmctld has heard of it, too */
} speeches[] = {
	{ "phase", egs_speech_phase, false },
	{ "saved", egs_speech_saved, false },
	{ "yield", egs_speech_yield, false },
	{ "finished", egs_speech_finished, true },
	{ "progress", egs_speech_progress, false },
	{ "request", egs_speech_request, false },
};

static const struct speech *speech_of(const char *verb)
{
	for (size_t i = 0; verb && i < ARRAY_SIZE(speeches); i++)
		if (strcmp(speeches[i].name, verb) == 0)
			return &speeches[i];
	return NULL;
}

/* ---- which job, which attempt ---- */

/* Ask Slurm, unless that was done and it said no better. */
static int look_again(struct egs_daemon *d, uint32_t key, uint32_t job_id,
		      const struct egs_err *why, struct egs_err *err)
{
	egs_errf(err, "%s", why->msg);
	if (!egs_patience_waits(d->patience, job_id, d->looks) ||
	    !egs_patience_spend(d->patience, key, 1, egs_daemon_now()))
		return -1;
	egs_worker_look(d->worker, job_id);
	return EGS_VERB_AGAIN;
}

/* A job we do not know may have started a moment ago. */
static int unknown(struct egs_daemon *d, const struct egs_peer *peer,
		   const struct egs_msg *request, const struct egs_err *why,
		   struct egs_err *err)
{
	const char *text = egs_msg_str(request, "job");
	unsigned long long id = text ? strtoull(text, NULL, 10) : 0;

	if (!d->whole) {
		egs_errf(err, "%s", why->msg);
		return EGS_VERB_AGAIN;
	}
	if (!id || id > UINT32_MAX)
		return egs_errf(err, "%s", why->msg);
	return look_again(d, ~(uint32_t)peer->uid, (uint32_t)id, why, err);
}

static int check_attempt(struct egs_daemon *d, const struct egs_job *j,
			 const struct egs_msg *request, struct egs_err *err)
{
	int64_t restarts = 0;
	struct egs_err why;

	egs_msg_int(request, "restarts", &restarts);
	if (restarts < j->ident.restarts)
		return egs_errf(err,
				"job %" PRIu32 ": the message is of an earlier "
				"run, %" PRId64 ", this is run %" PRIu32,
				j->ident.job_id, restarts, j->ident.restarts);
	if (restarts == j->ident.restarts && j->running)
		return 0;
	egs_errf(&why, "job %" PRIu32 " does not run", j->ident.job_id);
	return look_again(d, j->ident.job_id, j->ident.job_id, &why, err);
}

static int find_job(struct egs_daemon *d, const struct egs_peer *peer,
		    const struct egs_msg *request, const struct egs_job **job,
		    struct egs_err *err)
{
	struct egs_err why;

	*job = egs_verbs_job(d, request, &why);
	if (!*job)
		return unknown(d, peer, request, &why, err);
	if ((*job)->ident.uid != peer->uid &&
	    !egs_daemon_operator(d, peer->uid))
		return egs_errf(err, "job %" PRIu32 " is not yours",
				(*job)->ident.job_id);
	return check_attempt(d, *job, request, err);
}

/* ---- heard before ---- */

static int read_id(struct egs_speech *s, struct egs_err *err)
{
	size_t i;

	s->id = egs_msg_str(s->request, "id");
	if (!s->id)
		return 0;
	for (i = 0; isxdigit((unsigned char)s->id[i]); i++)
		;
	if (i != EGS_HEARD_ID_LEN || s->id[i])
		return egs_errf(err, "id='%s' is not %d hex digits",
				egs_show(s->id).text, EGS_HEARD_ID_LEN);
	return 0;
}

/* 1: it was heard, and the answer is what it was then. */
static int heard_before(struct egs_speech *s, struct egs_err *err)
{
	struct egs_msg *then;
	char *text;
	int rc;

	if (!s->id)
		return 0;
	rc = egs_store_heard(s->d->store, &s->job->ident, s->id, &text, err);
	if (egs_daemon_stored(s->d, rc, err) < 0)
		return EGS_VERB_AGAIN;
	if (!text)
		return 0;
	then = egs_msg_parse(text, strlen(text), EGS_REQUEST_MAX, err);
	free(text);
	if (!then)
		return -1;
	egs_msg_become(s->answer, then);
	return 1;
}

/* A spool may have kept it; a clock may be wrong. */
static int read_time(struct egs_speech *s, struct egs_err *err)
{
	egs_time_t now = egs_daemon_now();
	int64_t at = now;

	egs_msg_int(s->request, "at", &at);
	if (at < now - EGS_HEARD_MAX_S)
		return egs_errf(err,
				"job %" PRIu32 ": the message is %" PRId64
				" s old, the oldest heard is %d s",
				s->job->ident.job_id, now - at,
				EGS_HEARD_MAX_S);
	if (at < s->job->started)
		at = s->job->started;
	s->at = at < now ? at : now;
	return 0;
}

/* ---- kept and done ---- */

/* A job that was preempted in its run before this is where it was, at the
 * latest now.
 */
static int note_work(struct egs_speech *s, struct egs_err *err)
{
	const struct egs_job *j = s->job;
	struct egs_preemption p = { .job = j->ident, .request = j->request };

	if (!s->works || !j->ident.restarts ||
	    s->at >= j->started + EGS_RESTART_S)
		return 0;
	p.job.restarts--;
	p.restart_s = (uint32_t)(s->at - j->started);
	return egs_daemon_stored(s->d, egs_store_works(s->d->store, &p, err),
				 err);
}

static int write_down(struct egs_speech *s, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	const struct egs_ident *job = &s->job->ident;
	struct egs_known known = { .user = "?" };
	size_t len;
	const char *text = egs_msg_text(s->answer, &len);

	if (!text)
		return egs_errf(err, "out of memory");
	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_stored(d, egs_store_say(d->store, job, &s->said, err),
			      err) < 0 ||
	    egs_daemon_stored(d,
			      egs_store_hear(d->store, job, s->id, text,
					     egs_daemon_now(), err),
			      err) < 0 ||
	    note_work(s, err) < 0)
		return -1;
	egs_world_known(d->world, job->job_id, &known);
	return *s->what.msg ? egs_daemon_deed(d, job, s->what.msg, known.user,
					      "said by the job", err)
			    : 0;
}

static int no_disk(struct egs_err *err)
{
	egs_errf(err, "egs-policyd cannot write to its disk");
	return EGS_VERB_AGAIN;
}

/* Actions that follow are intended in the same transaction: whoever is killed
 * then, they are done.  While the store fails none would follow.
 */
static int carry_out(struct egs_speech *s, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	uint32_t job_id = s->job->ident.job_id;
	uint32_t losses = d->store_losses;

	if (d->store_failed)
		return no_disk(err);
	if (write_down(s, err) < 0)
		return EGS_VERB_AGAIN;
	if (s->effect && s->effect(s) < 0) {
		egs_errf(err, "out of memory");
		return EGS_VERB_AGAIN;
	}
	d->unkept = true;
	egs_daemon_settle(d);
	if (d->store_losses == losses)
		egs_daemon_commit(d, err);
	if (d->store_losses != losses) {
		if (s->undo)
			s->undo(s);
		return no_disk(err);
	}
	if (s->look)
		egs_worker_look(d->worker, job_id);
	return 0;
}

static int hear(struct egs_speech *s, egs_speech_fn *fn, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	int rc;

	if (!egs_patience_spend(d->patience, s->job->ident.job_id, 1,
				egs_daemon_now())) {
		egs_errf(err, "job %" PRIu32 " speaks too often",
			 s->job->ident.job_id);
		return EGS_VERB_AGAIN;
	}
	rc = egs_store_said(d->store, &s->job->ident, &s->said, err);
	if (egs_daemon_stored(d, rc, err) < 0)
		return EGS_VERB_AGAIN;
	rc = fn(s, err);
	if (rc < 0 || s->only_asks)
		return rc;
	if (!s->id)
		return egs_errf(err, "the message has no id");
	return carry_out(s, err);
}

/* ---- what slurmctld has to know first ---- */

struct search {
	const struct egs_ident *job;
	bool found;
};

static void find_stand(void *arg, const struct egs_intent *intent)
{
	struct search *search = arg;

	search->found |= intent->job_id == search->job->job_id &&
			 intent->nonce == search->job->nonce &&
			 intent->restarts == search->job->restarts &&
			 strcmp(intent->what, "stand") == 0;
}

/* Slurm runs a job again that exits when it was asked to go, until it is told
 * that this is its end.  It is under way: let the message come back.
 */
static int wait_for_slurm(const struct egs_speech *s, struct egs_err *err)
{
	struct search search = { .job = &s->job->ident };
	int rc = egs_store_intents(s->d->store, find_stand, &search, err);

	if (egs_daemon_stored(s->d, rc, err) < 0)
		return EGS_VERB_AGAIN;
	if (!search.found || s->d->frozen)
		return 0;
	egs_errf(err, "job %" PRIu32 ": slurmctld has not heard of it yet",
		 s->job->ident.job_id);
	return EGS_VERB_AGAIN;
}

int egs_verb_of_job(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_speech s = { .d = arg,
				.request = request,
				.answer = answer };
	const char *verb = egs_msg_str(request, "verb");
	const struct speech *speech = speech_of(verb);
	int rc;

	if (verb && strcmp(verb, "why") == 0)
		return egs_verb_why(arg, peer, request, answer, err);
	if (!speech)
		return egs_errf(err, "'%s' is no verb of a job",
				egs_show(verb).text);
	rc = find_job(s.d, peer, request, &s.job, err);
	if (rc < 0)
		return rc;
	if (read_id(&s, err) < 0)
		return -1;
	rc = heard_before(&s, err);
	if (rc == 0 && read_time(&s, err) < 0)
		return -1;
	if (rc == 0)
		rc = hear(&s, speech->fn, err);
	if (rc < 0 || !speech->slurm_first)
		return rc < 0 ? rc : 0;
	return wait_for_slurm(&s, err);
}
