/* doorbell.c - the doorbell: what happens inside slurmctld is looked at now
 *
 * Rings are gathered for a moment and each job is looked at once.  A look costs
 * slurmctld a lock, so there are only so many in a second; what is left over
 * waits for the next look at all jobs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/ipc/doorbell.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/resize.h"
#include "policyd/server/rate_limit.h"

enum {
	GATHER_MS = 50,
	AT_ONCE = 32,	  /* looks after a quiet time */
	IN_A_SECOND = 16, /* and as many more in each */
	SEEN_S = 60,	  /* by then what rang was looked at */
	REFUSED_COST = EGS_PATIENCE_MAX / 5 /* who asks again and again */
};

struct egs_doorbell {
	int fd;
	struct egs_watch *watch, *timer;
	uint32_t job_id[AT_ONCE];
	uint32_t n;
	uint32_t left; /* looks that may be asked for */
	bool gathering;
	struct egs_bell_claim got;
};

static bool is_asked_for(const struct egs_doorbell *b, uint32_t job_id)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->job_id[i] == job_id)
			return true;
	return false;
}

static void ask_for(struct egs_doorbell *b, uint32_t job_id)
{
	if (b->n < b->left && !is_asked_for(b, job_id))
		b->job_id[b->n++] = job_id;
	if (b->n && !b->gathering) {
		b->gathering = true;
		egs_timer_in(b->timer, GATHER_MS);
	}
}

/* One that got no time to save was never seen to be asked: it would wait out
 * the delay of a requeue.  The look that follows sees it gone.
 */
static void note_preempted(struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	struct egs_event ev = { .kind = EGS_EV_ASKED,
				.until = egs_daemon_now() + SEEN_S };

	if (!j || !j->running || j->asked)
		return;
	ev.job = j->ident;
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* Of such a key there is no job: updates do not tire us of what a job says. */
#define UPDATES_OF(job_id) ((job_id) | UINT32_C(0x80000000))

/* An update that slurmctld refused: its owner finds why in 'egs why'. */
static void note_refused(struct egs_daemon *d, uint32_t job_id,
			 const char *words)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	struct egs_err err;

	if (!j || !egs_patience_spend(d->patience, UPDATES_OF(job_id),
				      REFUSED_COST, egs_daemon_now()))
		return;
	if (egs_daemon_deed(d, &j->ident, "update refused", "slurmctld", words,
			    &err) < 0 ||
	    egs_daemon_commit(d, &err) < 0)
		egs_warning("job %" PRIu32 ": %s", job_id, err.msg);
}

static void take_words(struct egs_daemon *d, const struct egs_bell *bell)
{
	struct egs_bell_words words;

	memcpy(&words, bell, sizeof(words));
	words.text[sizeof(words.text) - 1] = '\0';
	if (egs_resize_find(d, bell->job_id))
		egs_resize_said(d, bell->job_id, words.text);
	else
		note_refused(d, bell->job_id, words.text);
}

static void on_timer(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_doorbell *b = d->bell;

	(void)events;
	b->gathering = false;
	for (uint32_t i = 0; i < b->n; i++)
		egs_worker_look(d->worker, b->job_id[i]);
	b->left -= b->n;
	b->n = 0;
}

/* While nothing is known or slurmctld is away a whole look comes first. */
static void on_ring(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_doorbell *b = d->bell;

	(void)events;
	while (egs_bell_next(b->fd, &b->got)) {
		if (b->got.bell.end)
			egs_account_ended(d->account, b->got.bell.job_id,
					  b->got.bell.start, b->got.bell.end);
		if (!d->whole || d->frozen)
			continue;
		if (b->got.bell.what == EGS_BELL_PREEMPTED)
			note_preempted(d, b->got.bell.job_id);
		if (b->got.bell.what == EGS_BELL_CLAIM)
			egs_daemon_claimed(d, &b->got);
		else if (b->got.bell.what == EGS_BELL_WORDS)
			take_words(d, &b->got.bell);
		else
			ask_for(b, b->got.bell.job_id);
	}
}

int egs_daemon_hang_bell(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_doorbell *b = calloc(1, sizeof(*b));

	if (!b)
		return egs_errf(err, "out of memory");
	d->bell = b;
	b->left = AT_ONCE;
	b->fd = egs_bell_hang(d->run_dir, err);
	if (b->fd < 0)
		return -1;
	b->watch = egs_loop_fd(d->loop, b->fd, EPOLLIN, on_ring, d, err);
	b->timer = egs_loop_timer(d->loop, on_timer, d, err);
	return b->watch && b->timer ? 0 : -1;
}

void egs_daemon_tick_bell(struct egs_daemon *d)
{
	struct egs_doorbell *b = d->bell;

	b->left += IN_A_SECOND;
	if (b->left > AT_ONCE)
		b->left = AT_ONCE;
}

void egs_daemon_unhang_bell(struct egs_daemon *d)
{
	if (!d->bell)
		return;
	egs_watch_free(d->bell->watch);
	egs_watch_free(d->bell->timer);
	if (d->bell->fd >= 0)
		close(d->bell->fd);
	free(d->bell);
	d->bell = NULL;
}
