/* doorbell.c - rings of plugins inside slurmctld, to read some jobs now
 *
 * The daemon gathers rings for a moment and reads each job once.  Reading a job
 * costs slurmctld a lock, so the number per second is limited.  The next poll
 * of all jobs covers the rest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/ipc/doorbell.h"
#include "policyd/daemon/daemon.h"

enum {
	GATHER_MS = 50,
	POLLS_BURST = 32, /* jobs read after a quiet time */
	POLLS_PER_S = 16, /* further jobs in each second */
	POLLED_WITHIN_S =
		60, /* a ring is followed by a poll within this time */
};

struct egs_daemon_doorbell {
	int fd;
	struct egs_watch *watch, *timer;
	uint32_t job_id[POLLS_BURST];
	uint32_t njobs;
	uint32_t polls_left; /* jobs that may be read */
	bool gathering;
	struct egs_doorbell_claim received;
};

static bool is_queued(const struct egs_daemon_doorbell *b, uint32_t job_id)
{
	for (uint32_t i = 0; i < b->njobs; i++)
		if (b->job_id[i] == job_id)
			return true;
	return false;
}

static void queue_poll(struct egs_daemon_doorbell *b, uint32_t job_id)
{
	if (b->njobs < b->polls_left && !is_queued(b, job_id))
		b->job_id[b->njobs++] = job_id;
	if (b->njobs && !b->gathering) {
		b->gathering = true;
		egs_timer_start(b->timer, GATHER_MS);
	}
}

/* A job without grace period ends before the daemon sees it preempted.  Record
 * the preemption, so that the job does not wait for Slurm's requeue delay.  The
 * following poll shows that the job is gone.
 */
static void apply_preempted(struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	struct egs_event ev = { .kind = EGS_EV_PREEMPTING,
				.until = egs_daemon_now() + POLLED_WITHIN_S };

	if (!j || !j->running || j->preempting)
		return;
	ev.job = j->ident;
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

static void record_refusal(struct egs_daemon *d,
			   const struct egs_doorbell_msg *bell)
{
	struct egs_doorbell_refusal refusal;

	memcpy(&refusal, bell, sizeof(refusal));
	refusal.reason[sizeof(refusal.reason) - 1] = '\0';
	EGS_PARTS_CALL(d, update_refused, d, bell->job_id, refusal.reason);
}

static void on_gathered(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_daemon_doorbell *b = d->doorbell;

	(void)events;
	b->gathering = false;
	for (uint32_t i = 0; i < b->njobs; i++)
		egs_worker_read_job(d->worker, b->job_id[i]);
	b->polls_left -= b->njobs;
	b->njobs = 0;
}

/* Before the first poll, and while slurmctld is down, ignore rings.  The next
 * complete poll shows the jobs.
 */
static void on_ring(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_daemon_doorbell *b = d->doorbell;

	(void)events;
	while (egs_doorbell_read(b->fd, &b->received)) {
		if (b->received.msg.end)
			egs_account_set_run_end(
				d->account, b->received.msg.job_id,
				b->received.msg.start, b->received.msg.end);
		if (!d->synced || d->slurmctld_down)
			continue;
		if (b->received.msg.event == EGS_DOORBELL_PREEMPTED)
			apply_preempted(d, b->received.msg.job_id);
		if (b->received.msg.event == EGS_DOORBELL_CLAIM)
			egs_daemon_add_claim(d, &b->received);
		else if (b->received.msg.event == EGS_DOORBELL_REFUSED)
			record_refusal(d, &b->received.msg);
		else
			queue_poll(b, b->received.msg.job_id);
	}
}

int egs_daemon_doorbell_start(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_daemon_doorbell *b = calloc(1, sizeof(*b));

	if (!b)
		return egs_errf(err, "out of memory");
	d->doorbell = b;
	b->polls_left = POLLS_BURST;
	b->fd = egs_doorbell_listen(d->run_dir, err);
	if (b->fd < 0)
		return -1;
	b->watch = egs_loop_add_fd(d->loop, b->fd, EPOLLIN, on_ring, d, err);
	b->timer = egs_loop_add_timer(d->loop, on_gathered, d, err);
	return b->watch && b->timer ? 0 : -1;
}

void egs_daemon_doorbell_tick(struct egs_daemon *d)
{
	struct egs_daemon_doorbell *b = d->doorbell;

	b->polls_left += POLLS_PER_S;
	if (b->polls_left > POLLS_BURST)
		b->polls_left = POLLS_BURST;
}

void egs_daemon_doorbell_stop(struct egs_daemon *d)
{
	if (!d->doorbell)
		return;
	egs_watch_free(d->doorbell->watch);
	egs_watch_free(d->doorbell->timer);
	if (d->doorbell->fd >= 0)
		close(d->doorbell->fd);
	free(d->doorbell);
	d->doorbell = NULL;
}
