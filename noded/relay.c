/* relay.c - relay messages of jobs to egs-policyd, and the answers back */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "noded/noded.h"

enum { ANSWER_MS = 20000 };

/* ---- from the run directory to the spool ---- */

struct spool_source {
	struct egs_noded *noded;
	struct egs_local_rundir *rundir;
};

static void write_refusal(const struct egs_rundir *dir, const char *name,
			  const char *why)
{
	struct egs_msg *answer = egs_msg_new();
	const char *text;
	size_t len;

	if (answer)
		egs_msg_set_str(answer, "error", why);
	text = answer ? egs_msg_to_text(answer, &len) : NULL;
	if (text)
		egs_rundir_write_answer(dir, name, text, len);
	egs_msg_free(answer);
}

/* Returns 0 if the message is valid.  Else refuse the message and return -1. */
static int check_message(const struct spool_source *source, const char *name,
			 const char *text, size_t len)
{
	struct egs_err err;
	struct egs_msg *msg =
		egs_msg_parse(text, len, EGS_RUNDIR_MESSAGE_MAX, &err);

	if (msg) {
		egs_msg_free(msg);
		return 0;
	}
	write_refusal(&source->rundir->dir, name, err.msg);
	egs_rundir_drop_message(&source->rundir->dir, name);
	return -1;
}

static void warn_once(struct egs_local_rundir *rundir, const char *name,
		      const char *why)
{
	if (!rundir->warned)
		egs_log_warn("job %" PRIu32 ": message %s not accepted: %s",
			     rundir->job, name, why);
	rundir->warned = true;
}

/* The copy in the spool is on disk before the job's file is removed.  A message
 * whose file cannot be removed is not sent, because every scan would send it
 * again.
 */
static void move_to_spool(const struct spool_source *source, const char *name,
			  const char *text, struct egs_spool_message *replaced)
{
	struct egs_noded *noded = source->noded;
	struct egs_local_rundir *rundir = source->rundir;
	struct egs_err err;
	struct egs_spool_message *message = egs_spool_add(
		&noded->spool, rundir->job, rundir->dir.uid, name, text, &err);

	if (!message) {
		warn_once(rundir, name, err.msg);
	} else if (egs_rundir_drop_message(&rundir->dir, name) < 0) {
		warn_once(rundir, name, "its file cannot be removed");
		egs_spool_drop(&noded->spool, message);
	} else if (replaced) {
		egs_spool_drop(&noded->spool, replaced);
	}
}

/* A job sends a message again under its name until there is an answer.  If the
 * text has changed, for example because the job no longer waits, the new text
 * replaces the old one.  While the old one is on its way, the new file stays
 * where it is.
 */
static void spool_message(void *arg, const char *name)
{
	const struct spool_source *source = arg;
	struct egs_noded *noded = source->noded;
	struct egs_local_rundir *rundir = source->rundir;
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];
	struct egs_spool_message *old = egs_spool_find(
		&noded->spool, rundir->job, rundir->dir.uid, name);
	ssize_t len;

	if (!old && !egs_spool_has_room(&noded->spool, rundir->job))
		return;
	len = egs_rundir_read_message(&rundir->dir, name, text);
	if (len < 0)
		warn_once(rundir, name,
			  "not a regular file, of another user, or too long");
	else if (old && !strcmp(old->text, text))
		egs_rundir_drop_message(&rundir->dir, name);
	else if ((!old || old != noded->relay_message) &&
		 check_message(source, name, text, (size_t)len) == 0)
		move_to_spool(source, name, text, old);
}

void egs_noded_spool_messages(struct egs_noded *noded,
			      struct egs_local_rundir *rundir)
{
	struct spool_source source = { noded, rundir };

	egs_rundir_each_message(&rundir->dir, spool_message, &source);
}

/* ---- from the spool to egs-policyd ---- */

/* Messages of one job are sent in the order in which they were written. */
static bool has_older_message(const struct egs_spool_message *message)
{
	const struct egs_spool_message *older;

	for (older = TAILQ_PREV(message, egs_spool_queue, link); older;
	     older = TAILQ_PREV(older, egs_spool_queue, link))
		if (older->job == message->job)
			return true;
	return false;
}

/* Returns the message to send now; or NULL with the time until the next message
 * is due in 'in_ms' (0: no message).
 */
static struct egs_spool_message *choose_message(struct egs_noded *noded,
						uint64_t *in_ms)
{
	uint64_t now = egs_now_ms(), next = UINT64_MAX;
	struct egs_spool_message *message;

	for (message = TAILQ_FIRST(&noded->spool.list); message;
	     message = TAILQ_NEXT(message, link)) {
		if (has_older_message(message))
			continue;
		if (message->not_before_ms <= now)
			return message;
		if (message->not_before_ms < next)
			next = message->not_before_ms;
	}
	*in_ms = next == UINT64_MAX ? 0 : next - now;
	return NULL;
}

void egs_noded_relay_next(struct egs_noded *noded)
{
	struct egs_spool_message *message;
	struct egs_msg *request;
	uint64_t in_ms = 0;

	if (noded->relay_call.busy || noded->policyd_down)
		return; /* long_poll.c calls again when egs-policyd answers */
	message = choose_message(noded, &in_ms);
	request = message ? egs_msg_new() : NULL;
	if (!request) {
		if (in_ms)
			egs_timer_start(noded->relay_timer, in_ms);
		return;
	}
	egs_msg_set_str(request, "verb", "relay");
	egs_msg_set_str(request, "node", noded->node);
	egs_msg_set_int(request, "job", message->job);
	egs_msg_set_int(request, "uid", message->uid);
	egs_msg_set_int(request, "age", time(NULL) - message->received_s);
	egs_msg_set_str(request, "request", message->text);
	noded->relay_message = message;
	egs_policyd_call_start(&noded->relay_call, request, ANSWER_MS);
	egs_msg_free(request);
}

/* ---- from egs-policyd to the run directory ---- */

/* With "news" in the answer the job must wait.  egs-noded wakes the job when
 * the orders have later news.  The present orders may already have later news.
 */
static void deliver_answer(struct egs_noded *noded,
			   struct egs_spool_message *message,
			   const struct egs_msg *answer)
{
	struct egs_local_rundir *rundir =
		egs_noded_find_rundir(noded, message->job);
	const char *text = egs_msg_get_str(answer, "answer");
	bool waits = false;

	if (rundir && rundir->dir.uid == message->uid) {
		egs_rundir_write_answer(&rundir->dir, message->name, text,
					strlen(text));
		waits = egs_msg_get_int(answer, "news", &rundir->waiting_news);
	}
	if (waits)
		snprintf(rundir->waiting_name, sizeof(rundir->waiting_name),
			 "%s", message->name);
	egs_spool_drop(&noded->spool, message);
	if (waits)
		egs_noded_apply_orders(noded);
}

/* An error of the relay is not a refusal of the message.  For example, munged
 * may be down.  Send the message again later.
 */
void egs_noded_on_relay_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err)
{
	struct egs_spool_message *message = noded->relay_message;
	struct egs_local_rundir *rundir;
	uint32_t job = message->job;

	(void)err; /* long_poll.c logs it */
	noded->relay_message = NULL;
	if (rc == 0 && egs_msg_get_str(answer, "answer")) {
		deliver_answer(noded, message, answer);
	} else {
		if (rc == EGS_CLIENT_RETRY)
			message->tries++;
		message->not_before_ms =
			egs_now_ms() +
			egs_noded_backoff_ms(
				rc == EGS_CLIENT_RETRY ? message->tries : 3,
				EGS_BACKOFF_MAX_MS);
	}
	rundir = egs_noded_find_rundir(noded, job);
	if (rundir)
		egs_noded_spool_messages(noded, rundir);
	egs_noded_relay_next(noded);
}
