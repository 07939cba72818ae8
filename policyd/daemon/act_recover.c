/* act_recover.c - close intents whose outcome is not known
 *
 * A killed daemon or a dead worker leaves intents open.  After the next
 * complete poll the state of the jobs shows their outcome.  Slurm ignores a
 * requeue, a cancel or a release of a job that has already ended or started.
 * So the next daemon may send an unfinished action again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* Intents are collected first, because closing one changes the list in the
 * store.
 */
struct open_intent {
	uint64_t id;
	struct egs_identity job;
	enum egs_action_kind kind;
	const char *outcome; /* NULL: send the action again */
};

struct open_intents {
	struct egs_daemon *d;
	struct open_intent *list;
	size_t n, room;
};

/* A later job without a stamp may have the same id.  Such a job was submitted
 * after the intent was written.
 */
static bool is_same_attempt(const struct egs_job *j, const struct egs_intent *i)
{
	return j && j->ident.nonce == i->nonce &&
	       j->ident.restarts == i->restarts && j->ident.submit <= i->at;
}

/* Returns "done", "failed" or "dropped"; NULL: not done, send it again. */
static const char *find_outcome(const struct egs_daemon *d,
				const struct egs_job *j,
				const struct egs_intent *i,
				enum egs_action_kind kind)
{
	if (!is_same_attempt(j, i))
		return "done"; /* the job ended or was requeued */
	if (kind != EGS_ACT_RELEASE && !j->running)
		return "done";
	if (kind == EGS_ACT_WITHDRAW && !j->preempting)
		return "done";
	if (kind == EGS_ACT_RELEASE && j->running)
		return "done";
	if (kind == EGS_ACT_NONE || !d->intents.inherited)
		return "failed";
	if (!egs_daemon_is_acting(d, j->facts.team))
		return "dropped";
	return NULL;
}

static void collect_intent(void *arg, const struct egs_intent *i)
{
	struct open_intents *all = arg;
	const struct egs_job *j = egs_policy_job(all->d->policy, i->job_id);
	struct open_intent *one;

	if (egs_grow(&all->list, &all->room, all->n + 1) < 0)
		return; /* the intent stays open until the next poll */
	one = &all->list[all->n++];
	*one = (struct open_intent){
		.id = i->id, .kind = egs_daemon_action_kind(i->action)
	};
	if (j)
		one->job = j->ident;
	one->outcome = find_outcome(all->d, j, i, one->kind);
}

static int close_intent(struct egs_daemon *d, const struct open_intent *one)
{
	struct egs_err err;

	if (!one->outcome)
		return 0;
	egs_log_info("intent %" PRIu64 ": Slurm shows it %s", one->id,
		     one->outcome);
	if (egs_daemon_begin(d, &err) < 0)
		return -1;
	return egs_daemon_check_store(
		d,
		egs_store_intent_done(d->store, one->id, one->outcome,
				      egs_daemon_now(), &err),
		&err);
}

static int close_intents(struct egs_daemon *d, const struct open_intents *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (close_intent(d, &all->list[i]) < 0)
			return -1;
	return egs_daemon_commit(d, NULL);
}

static void resend_intents(struct egs_daemon *d, const struct open_intents *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct open_intent *one = &all->list[i];

		if (one->outcome)
			continue;
		egs_log_info("intent %" PRIu64
			     ": not done by the last daemon, sent again",
			     one->id);
		egs_daemon_send_action(d, one->id, one->kind, &one->job);
	}
}

void egs_daemon_recover_intents(struct egs_daemon *d)
{
	struct open_intents all = { .d = d };
	struct egs_err err;

	if (!d->intents.open || d->intents.pending)
		return;
	if (egs_daemon_check_store(
		    d,
		    egs_store_intent_each(d->store, collect_intent, &all, &err),
		    &err) == 0 &&
	    close_intents(d, &all) == 0) {
		resend_intents(d, &all);
		d->intents.open = d->intents.inherited = false;
	}
	free(all.list);
}
