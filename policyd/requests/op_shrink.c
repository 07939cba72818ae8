/* op_shrink.c - ask jobs to shrink, for an operator or for the policy */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/requests.h"

enum { KEY_SIZE = 16, LINE_SIZE = EGS_REASON_MAX + 128 };

static bool is_for_job(const struct egs_shrink_notice *s,
		       const struct egs_job *j)
{
	return s->job_id == j->ident.job_id && s->nonce == j->ident.nonce &&
	       s->restarts == j->ident.restarts && j->running;
}

const struct egs_shrink_notice *egs_op_shrink_find(const struct egs_daemon *d,
						   const struct egs_job *j)
{
	if (!d->requests->shrinks || j->preempting)
		return NULL;
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (d->requests->shrinks[i].job_id &&
		    is_for_job(&d->requests->shrinks[i], j))
			return &d->requests->shrinks[i];
	return NULL;
}

static int init_shrinks(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->shrinks =
		calloc(EGS_SHRINKS_MAX, sizeof(*d->requests->shrinks));
	return d->requests->shrinks ? 0 : egs_errf(err, "out of memory");
}

static void free_shrinks(struct egs_daemon *d)
{
	if (d->requests)
		free(d->requests->shrinks);
}

/* ---- disk: one value for each slot ---- */

static void make_key(const struct egs_daemon *d,
		     const struct egs_shrink_notice *s, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "shrink.%d", (int)(s - d->requests->shrinks));
}

/* Save or delete a request, in a transaction that stays open. */
static int save_shrink(struct egs_daemon *d, const struct egs_shrink_notice *s,
		       struct egs_err *err)
{
	char key[KEY_SIZE], text[LINE_SIZE];

	make_key(d, s, key);
	snprintf(text, sizeof(text),
		 "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32
		 " %" PRIu32 " %" PRId64 " %s",
		 s->job_id, s->restarts, s->nonce, s->number, s->gpus,
		 s->requester, s->deadline, s->reason);
	return egs_daemon_save_value(d, key, s->job_id ? text : NULL, err);
}

static void parse_shrink(const char *line, struct egs_shrink_notice *s)
{
	int at = 0;

	if (sscanf(line,
		   "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32
		   " %" SCNu32 " %" SCNd64 " %n",
		   &s->job_id, &s->restarts, &s->nonce, &s->number, &s->gpus,
		   &s->requester, &s->deadline, &at) == 7 &&
	    at > 0)
		snprintf(s->reason, sizeof(s->reason), "%s", line + at);
	else
		s->job_id = 0;
}

static int restore_shrinks(struct egs_daemon *d, struct egs_err *err)
{
	char key[KEY_SIZE], text[LINE_SIZE];

	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++) {
		struct egs_shrink_notice *s = &d->requests->shrinks[i];

		make_key(d, s, key);
		if (egs_store_get(d->store, key, text, sizeof(text), err) < 0)
			return -1;
		parse_shrink(text, s);
	}
	return 0;
}

/* ---- end ---- */

int egs_op_shrink_end(struct egs_daemon *d, uint32_t job_id,
		      struct egs_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < EGS_SHRINKS_MAX; i++) {
		struct egs_shrink_notice *s = &d->requests->shrinks[i];

		if (s->job_id != job_id)
			continue;
		s->job_id = 0;
		rc = save_shrink(d, s, err);
	}
	egs_nodes_mark_changed(d);
	return rc;
}

/* Returns why the request ends; NULL: the request stays open. */
static const char *find_end_reason(const struct egs_daemon *d,
				   const struct egs_shrink_notice *s)
{
	const struct egs_job *j = egs_policy_job(d->policy, s->job_id);

	if (!j || !is_for_job(s, j))
		return "the job has ended";
	if (j->preempting)
		return "the job is preempted";
	if (s->deadline < egs_daemon_now() ||
	    (s->requester && j->shrink_refused))
		return "the job has not answered";
	return s->requester && !j->shrink_for
		       ? "the job that needed the GPUs is gone"
		       : NULL;
}

static void on_tick(struct egs_daemon *d)
{
	for (size_t i = 0; d->synced && i < EGS_SHRINKS_MAX; i++) {
		const struct egs_shrink_notice *s = &d->requests->shrinks[i];
		const char *why = s->job_id ? find_end_reason(d, s) : NULL;
		uint32_t job_id = s->job_id;

		if (!why)
			continue;
		egs_log_info("job %" PRIu32 ": request to shrink to %" PRIu32
			     " GPUs withdrawn: %s",
			     job_id, s->gpus, why);
		if (egs_op_shrink_end(d, job_id, NULL) == 0)
			egs_daemon_commit(d, NULL);
		egs_nodes_wake(d);
	}
}

/* ---- begin ---- */

static int check_shrink(const struct egs_daemon *d, const struct egs_job *j,
			int64_t gpus, struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (egs_requests_check_preemptible(d, j, err) < 0)
		return -1;
	if (!egs_daemon_conf(d)->live_resize)
		return egs_errf(err, "LiveResize=no: a running job cannot "
				     "shrink; use 'egsctl preempt'");
	if (j->preempting || egs_op_shrink_find(d, j))
		return egs_errf(err, "job %" PRIu32 " has a notice already",
				id);
	if (gpus < 1 || gpus >= (int64_t)j->gpus)
		return egs_errf(err,
				"gpus=%" PRId64 ": job %" PRIu32 " has %" PRIu32
				" GPUs; use fewer, at least 1",
				gpus, id, j->gpus);
	return 0;
}

static struct egs_shrink_notice *find_unused(struct egs_daemon *d)
{
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (!d->requests->shrinks[i].job_id)
			return &d->requests->shrinks[i];
	return NULL;
}

/* Returns a number that is new within one second and after a restart of the
 * daemon.
 */
static uint32_t next_number(const struct egs_daemon *d)
{
	uint32_t next =
		EGS_SHRINK_FIRST_NUMBER |
		((uint32_t)egs_daemon_now() & (EGS_SHRINK_FIRST_NUMBER - 1));

	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (d->requests->shrinks[i].number >= next)
			next = d->requests->shrinks[i].number + 1;
	return next;
}

static int start_shrink(struct egs_daemon *d, const struct egs_job *j,
			const struct egs_shrink_notice *what, const char *who,
			struct egs_err *err)
{
	struct egs_shrink_notice *s = find_unused(d);
	struct egs_err text;

	if (!s)
		return egs_errf(err, "%d jobs have a request to shrink already",
				EGS_SHRINKS_MAX);
	*s = *what;
	s->number = next_number(d);
	s->job_id = j->ident.job_id;
	s->restarts = j->ident.restarts;
	s->nonce = j->ident.nonce;
	egs_errf(&text, "asked to shrink to %" PRIu32 " GPUs", s->gpus);
	if (egs_daemon_log_event(d, &j->ident, text.msg, who, s->reason, err) <
		    0 ||
	    save_shrink(d, s, err) < 0 || egs_daemon_commit(d, err) < 0) {
		s->job_id = 0;
		return -1;
	}
	egs_nodes_mark_changed(d);
	egs_nodes_wake(d);
	return 0;
}

/* An open request stays as it is, because the job may be about to answer. */
static void on_shrink_action(struct egs_daemon *d, const struct egs_action *a,
			     bool act)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err why = egs_daemon_action_reason(d, a), text, err;
	struct egs_shrink_notice what = { .gpus = a->preempt.gpus,
					  .requester = a->requester,
					  .deadline = a->preempt.deadline };

	if (!j || egs_op_shrink_find(d, j))
		return;
	snprintf(what.reason, sizeof(what.reason), "%.*s", EGS_REASON_MAX - 1,
		 why.msg);
	egs_errf(&text, "%sask to shrink to %" PRIu32 " GPUs",
		 act ? "" : "would ", what.gpus);
	egs_log_info("job %" PRIu32 ": %s, %s", a->job.job_id, text.msg,
		     why.msg);
	if (!act && a->idle.gpus)
		egs_daemon_observe_idle(d, a);
	if (!act)
		egs_daemon_log_event(d, &a->job, text.msg, "policy", why.msg,
				     &err);
	else if (start_shrink(d, j, &what, "policy", &err) < 0)
		egs_log_warn("job %" PRIu32 ": %s", a->job.job_id, err.msg);
}

int egs_verb_shrink(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	const char *gpus_text = egs_msg_get_str(request, "gpus");
	int64_t gpus = gpus_text ? strtoll(gpus_text, NULL, 10) : 0;
	struct egs_shrink_notice what = { .requester = 0 };
	struct egs_err clean, text;
	const char *reason;

	if (!j || check_shrink(d, j, gpus, err) < 0 ||
	    !(reason = egs_requests_read_reason(request, &clean, err)))
		return -1;
	what.gpus = (uint32_t)gpus;
	what.deadline = egs_daemon_now() +
			egs_policy_answer_time(d->policy, j->ident.job_id);
	snprintf(what.reason, sizeof(what.reason), "%s", reason);
	if (start_shrink(d, j, &what, egs_requests_caller_name(d, peer), err) <
	    0)
		return -1;
	egs_errf(&text,
		 "job %" PRIu32 ": asked to shrink to %" PRId64
		 " of its %" PRIu32 " GPUs; it has %" PRIu32 " s to answer",
		 j->ident.job_id, gpus, j->gpus,
		 egs_policy_answer_time(d->policy, j->ident.job_id));
	egs_log_info("%s", text.msg);
	egs_msg_set_str(answer, "message", text.msg);
	return 0;
}

const struct egs_part egs_shrink_part = {
	.name = "shrink",
	.init = init_shrinks,
	.restore = restore_shrinks,
	.stop = free_shrinks,
	.tick = on_tick,
	.shrink_job = on_shrink_action,
};
