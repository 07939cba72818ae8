/* relay.c - what jobs say, on its way to egs-policyd and back */
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "noded/noded.h"

enum { ANSWER_MS = 20000 };

/* ---- from the run directory to the spool ---- */

struct picking {
	struct egs_noded *noded;
	struct egs_here *here;
};

static void answer_no(const struct egs_rundir *dir, const char *name,
		      const char *why)
{
	struct egs_msg *answer = egs_msg_new();
	const char *text;
	size_t len;

	if (answer)
		egs_msg_set_str(answer, "error", why);
	text = answer ? egs_msg_text(answer, &len) : NULL;
	if (text)
		egs_rundir_answer(dir, name, text, len);
	egs_msg_free(answer);
}

/* 0 if it can be sent, else it has its answer. */
static int check(const struct picking *p, const char *name, const char *text,
		 size_t len)
{
	struct egs_err err;
	struct egs_msg *msg =
		egs_msg_parse(text, len, EGS_RUNDIR_MESSAGE_MAX, &err);

	if (msg) {
		egs_msg_free(msg);
		return 0;
	}
	answer_no(&p->here->dir, name, err.msg);
	egs_rundir_drop(&p->here->dir, name);
	return -1;
}

static void complain(struct egs_here *here, const char *name, const char *why)
{
	if (!here->complains)
		egs_warning("job %" PRIu32 ": its message %s: %s", here->job,
			    name, why);
	here->complains = true;
}

/* Ours is on disk before the job's is removed; and one that cannot be removed
 * would be sent again and again.
 */
static void pick(void *arg, const char *name)
{
	const struct picking *p = arg;
	struct egs_noded *noded = p->noded;
	struct egs_here *here = p->here;
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];
	struct egs_spooled *said =
		egs_spool_find(&noded->spool, here->job, here->dir.uid, name);
	struct egs_err err;
	ssize_t len;

	if (said) {
		egs_rundir_drop(&here->dir, name);
		return;
	}
	if (!egs_spool_room(&noded->spool, here->job))
		return;
	len = egs_rundir_read(&here->dir, name, text);
	if (len < 0) {
		complain(here, name, "it is no file, another's or too long");
		return;
	}
	if (check(p, name, text, (size_t)len) < 0)
		return;
	said = egs_spool_add(&noded->spool, here->job, here->dir.uid, name,
			     text, &err);
	if (!said) {
		complain(here, name, err.msg);
	} else if (egs_rundir_drop(&here->dir, name) < 0) {
		complain(here, name, "it cannot be removed");
		egs_spool_drop(&noded->spool, said);
	}
}

void egs_noded_pick(struct egs_noded *noded, struct egs_here *here)
{
	struct picking p = { noded, here };

	egs_rundir_each(&here->dir, pick, &p);
}

/* ---- from the spool to egs-policyd ---- */

/* What a job says arrives in the order in which it was said. */
static bool has_elder(const struct egs_spooled *said)
{
	const struct egs_spooled *elder;

	for (elder = TAILQ_PREV(said, egs_spooled_list, link); elder;
	     elder = TAILQ_PREV(elder, egs_spooled_list, link))
		if (elder->job == said->job)
			return true;
	return false;
}

/* The next one to send, or how long there is none. */
static struct egs_spooled *choose(struct egs_noded *noded, uint64_t *in_ms)
{
	uint64_t now = egs_noded_now_ms(), next = UINT64_MAX;
	struct egs_spooled *said;

	for (said = TAILQ_FIRST(&noded->spool.list); said;
	     said = TAILQ_NEXT(said, link)) {
		if (has_elder(said))
			continue;
		if (said->not_before_ms <= now)
			return said;
		if (said->not_before_ms < next)
			next = said->not_before_ms;
	}
	*in_ms = next == UINT64_MAX ? 0 : next - now;
	return NULL;
}

void egs_noded_relay(struct egs_noded *noded)
{
	struct egs_spooled *said;
	struct egs_msg *request;
	uint64_t in_ms = 0;

	if (noded->relay.busy || noded->away)
		return; /* who asks in vain knows when that is over */
	said = choose(noded, &in_ms);
	request = said ? egs_msg_new() : NULL;
	if (!request) {
		if (in_ms)
			egs_timer_in(noded->relay_again, in_ms);
		return;
	}
	egs_msg_set_str(request, "verb", "relay");
	egs_msg_set_str(request, "node", noded->node);
	egs_msg_set_int(request, "job", said->job);
	egs_msg_set_int(request, "uid", said->uid);
	egs_msg_set_int(request, "age", egs_noded_now_s() - said->at_s);
	egs_msg_set_str(request, "request", said->text);
	noded->relaying = said;
	egs_talk_ask(&noded->relay, request, ANSWER_MS);
	egs_msg_free(request);
}

/* ---- and back ---- */

static void hand_back(struct egs_noded *noded, struct egs_spooled *said,
		      const char *text)
{
	struct egs_here *here = egs_noded_find(noded, said->job);

	if (here && here->dir.uid == said->uid)
		egs_rundir_answer(&here->dir, said->name, text, strlen(text));
	egs_spool_drop(&noded->spool, said);
}

/* A refusal of the question is not one of the message: munged may be away. */
void egs_noded_relayed(struct egs_noded *noded, int rc,
		       const struct egs_msg *answer, const struct egs_err *err)
{
	struct egs_spooled *said = noded->relaying;
	const char *text = rc == 0 ? egs_msg_str(answer, "answer") : NULL;

	(void)err; /* it is said by long_poll.c, once */
	noded->relaying = NULL;
	if (text) {
		hand_back(noded, said, text);
	} else {
		if (rc == EGS_CLIENT_AGAIN)
			said->tries++;
		said->not_before_ms =
			egs_noded_now_ms() +
			egs_noded_backoff_ms(
				rc == EGS_CLIENT_AGAIN ? said->tries : 3);
	}
	egs_noded_relay(noded);
}
