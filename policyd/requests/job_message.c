/* job_message.c - check, store and apply a message of a job
 *
 * Slurm's record of a job shows its owner and its state.  The daemon's copy may
 * be two seconds old.  If a message contradicts the copy, the daemon polls the
 * job, and the job sends the message again.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/ipc/job_request.h"
#include "policyd/requests/job_message.h"
#include "policyd/requests/resize.h"

static const struct message_kind {
	const char *name;
	egs_job_message_fn *fn;
	bool slurm_first; /* answer only after slurmctld has confirmed */
	bool takes_own;	  /* 'fn' takes tokens of another kind */
} message_kinds[] = {
	{ "phase", egs_job_message_phase, false, false },
	{ "saved", egs_job_message_saved, false, false },
	{ "yield", egs_job_message_yield, false, true },
	{ "finished", egs_job_message_finished, true, false },
	{ "progress", egs_job_message_progress, false, false },
	{ "request", egs_job_message_request, false, false },
};

static const struct message_kind *find_kind(const char *verb)
{
	for (size_t i = 0; verb && i < ARRAY_SIZE(message_kinds); i++)
		if (strcmp(message_kinds[i].name, verb) == 0)
			return &message_kinds[i];
	return NULL;
}

/* ---- find the job and check the run ---- */

void egs_requests_read_job(struct egs_daemon *d, uid_t uid, uint32_t job_id)
{
	if (egs_rate_limit_take(d->requests->rate_limit, uid, EGS_RATE_READ, 1,
				egs_daemon_now()))
		egs_worker_read_job(d->worker, job_id);
}

/* Read the job, unless a later poll has already shown the same state. */
static int poll_and_retry(struct egs_daemon *d, uid_t uid, uint32_t job_id,
			  const struct egs_err *why, struct egs_err *err)
{
	egs_errf(err, "%s", why->msg);
	if (!egs_rate_limit_may_retry(d->requests->rate_limit, uid, job_id,
				      d->poll_count, egs_daemon_now()))
		return -1;
	egs_requests_read_job(d, uid, job_id);
	return EGS_REPLY_RETRY;
}

/* An unknown job may have just started, so poll it. */
static int retry_unknown(struct egs_daemon *d, const struct egs_peer *peer,
			 const struct egs_msg *request,
			 const struct egs_err *why, struct egs_err *err)
{
	const char *text = egs_msg_get_str(request, "job");
	unsigned long long id = text ? strtoull(text, NULL, 10) : 0;

	if (!d->synced) {
		egs_errf(err, "%s", why->msg);
		return EGS_REPLY_RETRY;
	}
	if (!id || id > UINT32_MAX)
		return egs_errf(err, "%s", why->msg);
	return poll_and_retry(d, peer->uid, (uint32_t)id, why, err);
}

static int check_attempt(struct egs_daemon *d, const struct egs_job *j,
			 const struct egs_msg *request, struct egs_err *err)
{
	int64_t restarts = 0;
	struct egs_err why;

	egs_msg_get_int(request, "restarts", &restarts);
	if (restarts < j->ident.restarts)
		return egs_errf(err,
				"job %" PRIu32
				": the message is from run %" PRId64
				", but this is run %" PRIu32,
				j->ident.job_id, restarts, j->ident.restarts);
	if (restarts == j->ident.restarts && j->running)
		return 0;
	egs_errf(&why, "job %" PRIu32 " is not running", j->ident.job_id);
	return poll_and_retry(d, j->ident.uid, j->ident.job_id, &why, err);
}

static int find_job(struct egs_daemon *d, const struct egs_peer *peer,
		    const struct egs_msg *request, const struct egs_job **job,
		    struct egs_err *err)
{
	struct egs_err why;

	*job = egs_requests_find_job(d, request, &why);
	if (!*job)
		return retry_unknown(d, peer, request, &why, err);
	if (egs_requests_check_owner(d, peer, (*job)->ident.job_id,
				     (*job)->ident.uid, err) < 0)
		return -1;
	return check_attempt(d, *job, request, err);
}

/* ---- messages received before ---- */

static int read_id(struct egs_job_message *s, struct egs_err *err)
{
	size_t i;

	s->id = egs_msg_get_str(s->request, "id");
	if (!s->id)
		return 0;
	for (i = 0; isxdigit((unsigned char)s->id[i]); i++)
		;
	if (i != EGS_MESSAGE_ID_LEN || s->id[i])
		return egs_errf(err, "id='%s' is not %d hex digits",
				egs_printable(s->id).text, EGS_MESSAGE_ID_LEN);
	return 0;
}

/* Returns 1 if the message was received before; 'answer' is its first answer.
 */
static int answer_duplicate(struct egs_job_message *s, struct egs_err *err)
{
	struct egs_msg *then;
	char *text;
	int rc;

	if (!s->id)
		return 0;
	rc = egs_store_answer_get(s->d->store, &s->job->ident, s->id, &text,
				  err);
	if (egs_daemon_check_store(s->d, rc, err) < 0)
		return EGS_REPLY_RETRY;
	if (!text)
		return 0;
	then = egs_msg_parse(text, strlen(text), EGS_MSG_REQUEST_MAX, err);
	free(text);
	if (!then)
		return -1;
	egs_msg_replace(s->answer, then);
	return 1;
}

/* The message may come from a spool, and the clock of the node may be wrong. */
static int read_time(struct egs_job_message *s, struct egs_err *err)
{
	egs_time_t now = egs_daemon_now();
	int64_t at = now;

	egs_msg_get_int(s->request, "at", &at);
	if (at < now - EGS_MESSAGE_MAX_AGE_S)
		return egs_errf(err,
				"job %" PRIu32 ": the message is %" PRId64
				" s old; the limit is %d s",
				s->job->ident.job_id, now - at,
				EGS_MESSAGE_MAX_AGE_S);
	if (at < s->job->started)
		at = s->job->started;
	s->sent_at = at < now ? at : now;
	return 0;
}

/* ---- store and apply ---- */

/* A job that was preempted in its last run works again, at the latest now. */
static int record_restart_time(struct egs_job_message *s, struct egs_err *err)
{
	const struct egs_job *j = s->job;
	struct egs_preemption p = { .job = j->ident, .notice = j->request_no };

	if (!s->shows_progress || !j->ident.restarts ||
	    s->sent_at >= j->started + EGS_RESTART_S)
		return 0;
	p.job.restarts--;
	p.restart_s = (uint32_t)(s->sent_at - j->started);
	return egs_daemon_check_store(
		s->d, egs_store_preempt_working(s->d->store, &p, err), err);
}

static int store_message(struct egs_job_message *s, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	const struct egs_identity *job = &s->job->ident;
	struct egs_job_info known = { .user = "?" };
	size_t len;
	const char *text = egs_msg_to_text(s->answer, &len);

	if (!text)
		return egs_errf(err, "out of memory");
	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_check_store(
		    d, egs_store_job_report_set(d->store, job, &s->report, err),
		    err) < 0 ||
	    egs_daemon_check_store(d,
				   egs_store_answer_set(d->store, job, s->id,
							text, egs_daemon_now(),
							err),
				   err) < 0 ||
	    record_restart_time(s, err) < 0)
		return -1;
	egs_cluster_lookup(d->cluster, job->job_id, &known);
	return *s->log_text.msg ? egs_daemon_log_report(d, job, s->log_text.msg,
							known.user, err)
				: 0;
}

static int refuse_no_disk(struct egs_err *err)
{
	egs_errf(err, "egs-policyd cannot write to its disk");
	return EGS_REPLY_RETRY;
}

/* The same transaction has the intents of the actions that follow.  So these
 * actions are carried out even if the daemon or the worker is killed.  While
 * the store fails, the message is refused.
 */
static int apply_message(struct egs_job_message *s, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	const struct egs_identity job = s->job->ident; /* it may end now */
	uint32_t losses = d->store_failures;

	if (d->store_failed)
		return refuse_no_disk(err);
	if (store_message(s, err) < 0)
		return EGS_REPLY_RETRY;
	if (s->effect && s->effect(s) < 0) {
		egs_errf(err, "out of memory");
		return EGS_REPLY_RETRY;
	}
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	egs_daemon_update(d);
	if (d->store_failures == losses)
		egs_daemon_commit(d, err);
	if (d->store_failures != losses) {
		if (s->undo)
			s->undo(s);
		return refuse_no_disk(err);
	}
	if (s->poll_job)
		egs_requests_read_job(d, job.uid, job.job_id);
	return 0;
}

int egs_job_message_take(const struct egs_job_message *s,
			 enum egs_rate_kind kind, struct egs_err *err)
{
	if (egs_rate_limit_take(s->d->requests->rate_limit, s->job->ident.uid,
				kind, 1, egs_daemon_now()))
		return 0;
	egs_errf(err,
		 "job %" PRIu32 ": the jobs of its user send too many "
		 "messages; try again later",
		 s->job->ident.job_id);
	return EGS_REPLY_RETRY;
}

static int handle_message(struct egs_job_message *s,
			  const struct message_kind *kind, struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	int rc = kind->takes_own
			 ? 0
			 : egs_job_message_take(s, EGS_RATE_MESSAGE, err);

	if (rc < 0)
		return rc;
	rc = egs_store_job_report_get(d->store, &s->job->ident, &s->report,
				      err);
	if (egs_daemon_check_store(d, rc, err) < 0)
		return EGS_REPLY_RETRY;
	rc = kind->fn(s, err);
	if (rc < 0 || s->is_query)
		return rc;
	if (!s->id)
		return egs_errf(err, "the message has no id");
	return apply_message(s, err);
}

/* ---- wait for slurmctld ---- */

struct intent_search {
	const struct egs_identity *job;
	bool found;
};

static void find_final_exit(void *arg, const struct egs_intent *intent)
{
	struct intent_search *search = arg;

	search->found |=
		intent->job_id == search->job->job_id &&
		intent->nonce == search->job->nonce &&
		intent->restarts == search->job->restarts &&
		egs_daemon_action_kind(intent->action) == EGS_ACT_EXIT_IS_FINAL;
}

/* Slurm requeues a job that exits during the grace period, unless slurmctld
 * knows that the exit is final.  Until slurmctld knows, the job sends the
 * message again.
 */
static int wait_for_slurm(const struct egs_job_message *s, struct egs_err *err)
{
	struct intent_search search = { .job = &s->job->ident };
	int rc = egs_store_intent_each(s->d->store, find_final_exit, &search,
				       err);

	if (egs_daemon_check_store(s->d, rc, err) < 0)
		return EGS_REPLY_RETRY;
	if (!search.found || s->d->slurmctld_down)
		return 0;
	egs_errf(err, "job %" PRIu32 ": slurmctld has not confirmed it yet",
		 s->job->ident.job_id);
	return EGS_REPLY_RETRY;
}

int egs_job_message_handle(void *arg, const struct egs_peer *peer,
			   const struct egs_msg *request,
			   struct egs_msg *answer, struct egs_err *err)
{
	struct egs_job_message s = { .d = arg,
				     .request = request,
				     .answer = answer };
	const char *verb = egs_msg_get_str(request, "verb");
	const struct message_kind *kind = find_kind(verb);
	int rc;

	if (verb && strcmp(verb, "why") == 0)
		return egs_verb_why(arg, peer, request, answer, err);
	if (!kind)
		return egs_errf(err, "'%s' is not a verb for jobs",
				egs_printable(verb).text);
	rc = find_job(s.d, peer, request, &s.job, err);
	if (rc < 0)
		return rc;
	if (read_id(&s, err) < 0)
		return -1;
	rc = answer_duplicate(&s, err);
	if (rc == 0 && read_time(&s, err) < 0)
		return -1;
	else if (rc == 1)
		s.may_hold = egs_msg_is_true(answer, "waits");
	if (rc == 0)
		rc = handle_message(&s, kind, err);
	if (rc < 0)
		return rc;
	if (kind->slurm_first)
		return wait_for_slurm(&s, err);
	return s.may_hold ? EGS_REPLY_DEFERRED : 0;
}

int egs_verb_job_message(void *arg, const struct egs_peer *peer,
			 const struct egs_msg *request, struct egs_msg *answer,
			 struct egs_err *err)
{
	struct egs_daemon *d = arg;
	bool timed_out = egs_server_is_timed_out(d->requests->server);
	int rc = egs_job_message_handle(arg, peer, request, answer, err);
	const struct egs_job *j;
	int64_t wait_s = 0;

	if (rc != EGS_REPLY_DEFERRED)
		return rc;
	j = egs_requests_find_job(d, request, err);
	egs_msg_get_int(request, "wait", &wait_s);
	if (timed_out || !j || wait_s < 1)
		return 0;
	if (wait_s > EGS_JOB_HOLD_S)
		wait_s = EGS_JOB_HOLD_S;
	egs_server_defer(d->requests->server,
			 egs_resize_wait_key(j->ident.job_id),
			 (uint32_t)wait_s * 1000);
	return EGS_REPLY_DEFERRED;
}
