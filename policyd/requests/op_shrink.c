/* op_shrink.c - jobs that are asked to go on with fewer GPUs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/requests.h"

#define NAME "shrinks" /* of the value on disk */

enum { LINE_SIZE = EGS_REASON_MAX + 128 };

static bool is_for(const struct egs_shrink *s, const struct egs_job *j)
{
	return s->job_id == j->ident.job_id && s->nonce == j->ident.nonce &&
	       s->restarts == j->ident.restarts && j->running;
}

const struct egs_shrink *egs_shrink_find(const struct egs_daemon *d,
					 const struct egs_job *j)
{
	if (!d->shrink || j->asked)
		return NULL;
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (d->shrink[i].job_id && is_for(&d->shrink[i], j))
			return &d->shrink[i];
	return NULL;
}

/* ---- on disk, a line each ---- */

static int write_down(struct egs_daemon *d, struct egs_err *err)
{
	static char text[EGS_SHRINKS_MAX * LINE_SIZE];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++) {
		const struct egs_shrink *s = &d->shrink[i];

		if (s->job_id)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used,
				"%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32
				" %" PRIu32 " %" PRIu32 " %" PRId64 " %s\n",
				s->job_id, s->restarts, s->nonce, s->request,
				s->gpus, s->by, s->deadline, s->reason);
	}
	return egs_daemon_set(d, NAME, *text ? text : NULL, err);
}

static void read_line(const char *line, struct egs_shrink *s)
{
	int at = 0;

	if (sscanf(line,
		   "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32
		   " %" SCNu32 " %" SCNd64 " %n",
		   &s->job_id, &s->restarts, &s->nonce, &s->request, &s->gpus,
		   &s->by, &s->deadline, &at) == 7 &&
	    at > 0)
		snprintf(s->reason, sizeof(s->reason), "%s", line + at);
	else
		s->job_id = 0;
}

int egs_shrinks_recall(struct egs_daemon *d, struct egs_err *err)
{
	static char text[EGS_SHRINKS_MAX * LINE_SIZE];
	char *rest = text, *line;
	size_t n = 0;

	if (egs_store_get(d->store, NAME, text, sizeof(text), err) < 0)
		return -1;
	while (n < EGS_SHRINKS_MAX && (line = strsep(&rest, "\n")))
		if (*line)
			read_line(line, &d->shrink[n++]);
	return 0;
}

/* ---- the end ---- */

int egs_shrink_end(struct egs_daemon *d, uint32_t job_id, struct egs_err *err)
{
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (d->shrink[i].job_id == job_id)
			d->shrink[i].job_id = 0;
	egs_nodes_changed(d, NULL);
	return write_down(d, err);
}

/* Why it is over, or NULL. */
static const char *is_over(const struct egs_daemon *d,
			   const struct egs_shrink *s)
{
	const struct egs_job *j = egs_policy_job(d->policy, s->job_id);

	if (!j || !is_for(s, j))
		return "the job has gone";
	if (j->asked)
		return "it is asked to go altogether";
	if (s->deadline < egs_daemon_now() || (s->by && j->shrink_no))
		return "it has not answered";
	return s->by && !j->shrink_for ? "nobody needs them any more" : NULL;
}

void egs_shrinks_tick(struct egs_daemon *d)
{
	for (size_t i = 0; d->whole && i < EGS_SHRINKS_MAX; i++) {
		const struct egs_shrink *s = &d->shrink[i];
		const char *why = s->job_id ? is_over(d, s) : NULL;
		uint32_t job_id = s->job_id;

		if (!why)
			continue;
		egs_info("job %" PRIu32 ": no longer asked to go on with "
			 "%" PRIu32 " GPUs, %s",
			 job_id, s->gpus, why);
		if (egs_shrink_end(d, job_id, NULL) == 0)
			egs_daemon_commit(d, NULL);
		egs_nodes_tell(d);
	}
}

/* ---- the beginning ---- */

static int check(const struct egs_daemon *d, const struct egs_job *j,
		 int64_t gpus, struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (egs_verbs_may_ask(d, j, err) < 0)
		return -1;
	if (!egs_daemon_policy(d)->live_resize)
		return egs_errf(err, "LiveResize=no: a running job keeps what "
				     "it has, see 'egsctl preempt'");
	if (j->asked || egs_shrink_find(d, j))
		return egs_errf(err, "job %" PRIu32 " was asked already", id);
	if (gpus < 1 || gpus >= (int64_t)j->gpus)
		return egs_errf(err,
				"gpus=%" PRId64 ": job %" PRIu32 " has %" PRIu32
				" GPUs and can be asked to keep fewer, at "
				"least one",
				gpus, id, j->gpus);
	return 0;
}

static struct egs_shrink *room(struct egs_daemon *d)
{
	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (!d->shrink[i].job_id)
			return &d->shrink[i];
	return NULL;
}

/* Two in one second differ, and so do those of two daemons. */
static uint32_t next_number(const struct egs_daemon *d)
{
	uint32_t next = EGS_SHRINK_FROM |
			((uint32_t)egs_daemon_now() & (EGS_SHRINK_FROM - 1));

	for (size_t i = 0; i < EGS_SHRINKS_MAX; i++)
		if (d->shrink[i].request >= next)
			next = d->shrink[i].request + 1;
	return next;
}

static int ask(struct egs_daemon *d, const struct egs_job *j,
	       const struct egs_shrink *what, const char *who,
	       struct egs_err *err)
{
	struct egs_shrink *s = room(d);
	struct egs_err words;

	if (!s)
		return egs_errf(err, "%d jobs are asked already",
				EGS_SHRINKS_MAX);
	*s = *what;
	s->request = next_number(d);
	s->job_id = j->ident.job_id;
	s->restarts = j->ident.restarts;
	s->nonce = j->ident.nonce;
	egs_errf(&words, "asked to go on with %" PRIu32 " GPUs", s->gpus);
	if (egs_daemon_deed(d, &j->ident, words.msg, who, s->reason, err) < 0 ||
	    write_down(d, err) < 0 || egs_daemon_commit(d, err) < 0) {
		s->job_id = 0;
		return -1;
	}
	egs_nodes_changed(d, &j->ident);
	egs_nodes_tell(d);
	return 0;
}

/* One that is open stays as it is: the job may be about to answer. */
void egs_shrink_act(struct egs_daemon *d, const struct egs_action *a, bool act)
{
	const struct egs_job *j = egs_policy_job(d->policy, a->job.job_id);
	struct egs_err why = egs_daemon_wanted(d, a->by), words, err;
	struct egs_shrink what = { .gpus = a->notice.gpus,
				   .by = a->by,
				   .deadline = a->notice.deadline };

	if (!j || egs_shrink_find(d, j))
		return;
	snprintf(what.reason, sizeof(what.reason), "%.*s", EGS_REASON_MAX - 1,
		 why.msg);
	egs_errf(&words, "%sask to go on with %" PRIu32 " GPUs",
		 act ? "" : "would ", what.gpus);
	egs_info("job %" PRIu32 ": %s, %s", a->job.job_id, words.msg, why.msg);
	if (!act)
		egs_daemon_deed(d, &a->job, words.msg, "policy", why.msg, &err);
	else if (ask(d, j, &what, "policy", &err) < 0)
		egs_warning("job %" PRIu32 ": %s", a->job.job_id, err.msg);
}

int egs_verb_shrink(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_verbs_job(d, request, err);
	const char *said = egs_msg_str(request, "gpus");
	int64_t gpus = said ? strtoll(said, NULL, 10) : 0;
	struct egs_shrink what = { .by = 0 };
	struct egs_err clean, words;
	const char *reason;

	if (!j || check(d, j, gpus, err) < 0 ||
	    !(reason = egs_verbs_reason(request, &clean, err)))
		return -1;
	what.gpus = (uint32_t)gpus;
	what.deadline =
		egs_daemon_now() + egs_policy_grace(d->policy, j->ident.job_id);
	snprintf(what.reason, sizeof(what.reason), "%s", reason);
	if (ask(d, j, &what, egs_verbs_who(d, peer), err) < 0)
		return -1;
	egs_errf(&words,
		 "job %" PRIu32 ": asked to go on with %" PRId64 " of its "
		 "%" PRIu32 " GPUs; it has %" PRIu32 " s to answer",
		 j->ident.job_id, gpus, j->gpus,
		 egs_policy_grace(d->policy, j->ident.job_id));
	egs_info("%s", words.msg);
	egs_msg_set_str(answer, "message", words.msg);
	return 0;
}
