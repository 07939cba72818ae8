/* relay.c - what jobs say, on its way to egs-policyd and back */
#include <inttypes.h>
#include <string.h>

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

/* 0 if it can be sent, else it has its answer. */
static int check_message(const struct spool_source *p, const char *name,
			 const char *text, size_t len)
{
	struct egs_err err;
	struct egs_msg *msg =
		egs_msg_parse(text, len, EGS_RUNDIR_MESSAGE_MAX, &err);

	if (msg) {
		egs_msg_free(msg);
		return 0;
	}
	write_refusal(&p->rundir->dir, name, err.msg);
	egs_rundir_drop_message(&p->rundir->dir, name);
	return -1;
}

static void warn_once(struct egs_local_rundir *here, const char *name,
		      const char *why)
{
	if (!here->warned)
		egs_log_warn("job %" PRIu32 ": its message %s: %s", here->job,
			     name, why);
	here->warned = true;
}

/* Ours is on disk before the job's is removed; and one that cannot be removed
 * would be sent again and again.
 */
static void spool_message(void *arg, const char *name)
{
	const struct spool_source *p = arg;
	struct egs_noded *noded = p->noded;
	struct egs_local_rundir *here = p->rundir;
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];
	struct egs_spool_message *said =
		egs_spool_find(&noded->spool, here->job, here->dir.uid, name);
	struct egs_err err;
	ssize_t len;

	if (said) {
		egs_rundir_drop_message(&here->dir, name);
		return;
	}
	if (!egs_spool_has_room(&noded->spool, here->job))
		return;
	len = egs_rundir_read_message(&here->dir, name, text);
	if (len < 0) {
		warn_once(here, name, "it is no file, another's or too long");
		return;
	}
	if (check_message(p, name, text, (size_t)len) < 0)
		return;
	said = egs_spool_add(&noded->spool, here->job, here->dir.uid, name,
			     text, &err);
	if (!said) {
		warn_once(here, name, err.msg);
	} else if (egs_rundir_drop_message(&here->dir, name) < 0) {
		warn_once(here, name, "it cannot be removed");
		egs_spool_drop(&noded->spool, said);
	}
}

void egs_noded_spool_messages(struct egs_noded *noded,
			      struct egs_local_rundir *here)
{
	struct spool_source p = { noded, here };

	egs_rundir_each_message(&here->dir, spool_message, &p);
}

/* ---- from the spool to egs-policyd ---- */

/* What a job says arrives in the order in which it was said. */
static bool has_older_message(const struct egs_spool_message *said)
{
	const struct egs_spool_message *elder;

	for (elder = TAILQ_PREV(said, egs_spool_queue, link); elder;
	     elder = TAILQ_PREV(elder, egs_spool_queue, link))
		if (elder->job == said->job)
			return true;
	return false;
}

/* The next one to send, or how long there is none. */
static struct egs_spool_message *choose_message(struct egs_noded *noded,
						uint64_t *in_ms)
{
	uint64_t now = egs_noded_now_ms(), next = UINT64_MAX;
	struct egs_spool_message *said;

	for (said = TAILQ_FIRST(&noded->spool.list); said;
	     said = TAILQ_NEXT(said, link)) {
		if (has_older_message(said))
			continue;
		if (said->not_before_ms <= now)
			return said;
		if (said->not_before_ms < next)
			next = said->not_before_ms;
	}
	*in_ms = next == UINT64_MAX ? 0 : next - now;
	return NULL;
}

void egs_noded_relay_next(struct egs_noded *noded)
{
	struct egs_spool_message *said;
	struct egs_msg *request;
	uint64_t in_ms = 0;

	if (noded->relay_call.busy || noded->policyd_down)
		return; /* who asks in vain knows when that is over */
	said = choose_message(noded, &in_ms);
	request = said ? egs_msg_new() : NULL;
	if (!request) {
		if (in_ms)
			egs_timer_start(noded->relay_timer, in_ms);
		return;
	}
	egs_msg_set_str(request, "verb", "relay");
	egs_msg_set_str(request, "node", noded->node);
	egs_msg_set_int(request, "job", said->job);
	egs_msg_set_int(request, "uid", said->uid);
	egs_msg_set_int(request, "age", egs_noded_now_s() - said->received_s);
	egs_msg_set_str(request, "request", said->text);
	noded->relay_message = said;
	egs_policyd_call_start(&noded->relay_call, request, ANSWER_MS);
	egs_msg_free(request);
}

/* ---- and back ---- */

static void deliver_answer(struct egs_noded *noded,
			   struct egs_spool_message *said, const char *text)
{
	struct egs_local_rundir *here = egs_noded_find_rundir(noded, said->job);

	if (here && here->dir.uid == said->uid)
		egs_rundir_write_answer(&here->dir, said->name, text,
					strlen(text));
	egs_spool_drop(&noded->spool, said);
}

/* A refusal of the question is not one of the message: munged may be away. */
void egs_noded_on_relay_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err)
{
	struct egs_spool_message *said = noded->relay_message;
	const char *text = rc == 0 ? egs_msg_get_str(answer, "answer") : NULL;

	(void)err; /* it is said by long_poll.c, once */
	noded->relay_message = NULL;
	if (text) {
		deliver_answer(noded, said, text);
	} else {
		if (rc == EGS_CLIENT_RETRY)
			said->tries++;
		said->not_before_ms =
			egs_noded_now_ms() +
			egs_noded_backoff_ms(
				rc == EGS_CLIENT_RETRY ? said->tries : 3);
	}
	egs_noded_relay_next(noded);
}
