/* worker.c - the daemon's side of its worker process */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policyd/slurm/worker_queue.h"

enum {
	READ_SIZE = 256 * 1024,
	/* libslurm gives up on a dead slurmctld after ten seconds. */
	TIMEOUT_MS = 30 * 1000,
	/* Delay between two starts, in case the worker cannot start. */
	RESPAWN_MS = 1000,
};

struct egs_worker {
	struct egs_loop *loop;
	const char *program;
	const struct egs_worker_ops *ops;
	void *arg;
	pid_t pid;
	int fd;
	bool busy;	     /* 'current' is under way */
	bool death_reported; /* warned, and no answer since */
	bool in_callback;    /* a callback borrows from 'in' */
	uint32_t timeout_ms;
	struct egs_watch *watch, *hang_timer, *respawn_timer;
	struct egs_buf in;
	struct egs_worker_request current;
	struct egs_worker_queue queue;
};

static void exec_worker(const char *program, pid_t parent, int fd)
{
	egs_loop_unblock_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(fd, STDIN_FILENO) == STDIN_FILENO)
		execl(program, program, "--worker", (char *)NULL);
	_exit(127);
}

static void on_ready(void *arg, uint32_t events);
static void send_next(struct egs_worker *w);

static int spawn_worker(struct egs_worker *w, struct egs_err *err)
{
	pid_t parent = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return egs_errf(err, "worker: %s", strerror(errno));
	w->pid = fork();
	if (w->pid == 0)
		exec_worker(w->program, parent, fds[1]);
	close(fds[1]);
	w->fd = fds[0];
	if (w->pid < 0)
		return egs_errf(err, "worker: fork: %s", strerror(errno));
	w->watch = egs_loop_add_fd(w->loop, w->fd, EPOLLIN, on_ready, w, err);
	return w->watch ? 0 : -1;
}

static void kill_worker(struct egs_worker *w)
{
	egs_watch_free(w->watch);
	w->watch = NULL;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	w->pid = -1;
	egs_buf_clear(&w->in);
}

static void end_current(struct egs_worker *w)
{
	w->busy = false;
	egs_timer_stop(w->hang_timer);
}

static void fail_request(struct egs_worker *w,
			 const struct egs_worker_request *request,
			 const char *why)
{
	struct egs_poll_result result = { .ok = false, .error = why };

	switch (request->kind) {
	case EGS_WORKER_POLL:
		w->ops->poll_done(w->arg, &result);
		break;
	case EGS_WORKER_READ_JOB:
		break;
	case EGS_WORKER_ACT:
		w->ops->act_done(w->arg, request->action_id, why);
		break;
	case EGS_WORKER_RESIZE:
		w->ops->resize_step(w->arg, &request->resize,
				    EGS_RESIZE_WAITING, why);
		break;
	case EGS_WORKER_DRAIN:
		w->ops->node_drained(w->arg, &request->drain, EGS_DRAIN_FAILED,
				     why);
		break;
	}
}

/* A callback may queue further requests; the next round fails those. */
static void fail_queue(struct egs_worker *w, const char *why)
{
	struct egs_worker_request request;
	size_t n = w->queue.nacts + w->queue.nreads;

	while (n-- > 0 && egs_worker_queue_take(&w->queue, &request))
		fail_request(w, &request, why);
}

/* End the worker, and start another after a delay. */
static void restart_later(struct egs_worker *w, const char *why)
{
	if (!w->death_reported)
		w->ops->warn(w->arg, why);
	w->death_reported = true;
	kill_worker(w);
	egs_timer_start(w->respawn_timer, RESPAWN_MS);
	if (!w->busy)
		return;
	end_current(w);
	fail_request(w, &w->current, why);
}

static void on_timeout(void *arg, uint32_t events)
{
	(void)events;
	restart_later(
		arg, "worker: no answer from slurmctld, starting a new worker");
}

/* If no worker can be started, all requests fail.  Otherwise the daemon would
 * continue to decide by an old poll.
 */
static void on_respawn(void *arg, uint32_t events)
{
	struct egs_worker *w = arg;
	struct egs_err err;

	(void)events;
	if (spawn_worker(w, &err) == 0) {
		send_next(w);
		return;
	}
	restart_later(w, err.msg);
	fail_queue(w, err.msg);
}

/* Send the next request, if the worker is idle.  The socket has room for it:
 * nothing else is under way.
 */
static void send_next(struct egs_worker *w)
{
	if (w->busy || w->in_callback || w->pid < 0 ||
	    !egs_worker_queue_take(&w->queue, &w->current))
		return;
	w->busy = true;
	egs_timer_start(w->hang_timer, w->timeout_ms);
	if (send(w->fd, &w->current, sizeof(w->current),
		 MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(w->current))
		restart_later(w, "worker: ended, starting a new worker");
}

/* ---- frames ---- */

enum { HEAD_SIZE = 2 * sizeof(uint32_t) };

void egs_frame_begin(struct egs_buf *buf, enum egs_frame_kind kind)
{
	buf->frame_start = buf->used;
	egs_buf_put_u32(buf, 0);
	egs_buf_put_u32(buf, kind);
}

void egs_frame_end(struct egs_buf *buf)
{
	uint32_t len = (uint32_t)(buf->used - buf->frame_start);

	if (!buf->failed)
		memcpy(buf->bytes + buf->frame_start, &len, sizeof(len));
}

long egs_frame_parse(const char *bytes, size_t n, enum egs_frame_kind *kind,
		     struct egs_buf_reader *in)
{
	struct egs_buf_reader head = { .at = bytes, .left = n };
	uint32_t len = egs_buf_get_u32(&head), number = egs_buf_get_u32(&head);

	if (head.failed)
		return 0;
	if (len < HEAD_SIZE || len > EGS_FRAME_MAX || number < EGS_FRAME_JOB ||
	    number > EGS_FRAME_DRAIN_DONE)
		return -1;
	if (n < len)
		return 0;
	*kind = number;
	*in = (struct egs_buf_reader){ .at = bytes + HEAD_SIZE,
				       .left = len - HEAD_SIZE };
	return len;
}

static int handle_job(struct egs_worker *w, struct egs_buf_reader *in)
{
	struct egs_job_fact fact;

	if (egs_fact_get_job(in, &fact) < 0)
		return -1;
	w->ops->job(w->arg, &fact);
	return 0;
}

static int handle_node(struct egs_worker *w, struct egs_buf_reader *in)
{
	struct egs_node_fact fact;

	if (egs_fact_get_node(in, &fact) < 0)
		return -1;
	w->ops->node(w->arg, &fact);
	return 0;
}

static int handle_operator(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t uid = egs_buf_get_u32(in);
	const char *name = egs_buf_get_str(in);

	if (in->failed)
		return -1;
	w->ops->operator(w->arg, uid, name);
	return 0;
}

static int handle_coordinator(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t uid = egs_buf_get_u32(in);
	const char *name = egs_buf_get_str(in);
	const char *account = egs_buf_get_str(in);

	if (in->failed || (name && !account))
		return -1;
	w->ops->coordinator(w->arg, uid, name, account);
	return 0;
}

static int handle_name(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t kind = egs_buf_get_u32(in);
	const char *name = egs_buf_get_str(in);

	if (in->failed || kind >= EGS_NAME_KINDS)
		return -1;
	w->ops->name(w->arg, kind, name);
	return 0;
}

static int handle_poll_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	struct egs_poll_result result = {
		.ok = egs_buf_get_u32(in),
		.unchanged = egs_buf_get_u32(in),
		.slurmctld_ms = egs_buf_get_u32(in),
		.error = egs_buf_get_str(in),
		.cluster_name = egs_buf_get_str(in),
		.full = w->current.full_poll,
	};

	if (in->failed || !w->busy)
		return -1;
	end_current(w);
	w->ops->poll_done(w->arg, &result);
	return 0;
}

static int handle_read_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t job_id = egs_buf_get_u32(in), known = egs_buf_get_u32(in);
	struct egs_job_fact fact;

	if (in->failed || !w->busy ||
	    (known == 1 && egs_fact_get_job(in, &fact) < 0))
		return -1;
	end_current(w);
	if (known < 2)
		w->ops->job_read(w->arg, job_id, known ? &fact : NULL);
	return 0;
}

static int handle_act_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint64_t id = egs_buf_get_u64(in);
	const char *why = egs_buf_get_str(in);

	if (in->failed || !w->busy)
		return -1;
	end_current(w);
	w->ops->act_done(w->arg, id, why);
	return 0;
}

static int handle_resize_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t job_id = egs_buf_get_u32(in);
	enum egs_resize_outcome outcome = egs_buf_get_u32(in);
	const char *text = egs_buf_get_str(in);

	if (in->failed || !w->busy || outcome > EGS_RESIZE_NOT_LIVE ||
	    w->current.kind != EGS_WORKER_RESIZE ||
	    w->current.resize.job_id != job_id)
		return -1;
	end_current(w);
	w->ops->resize_step(w->arg, &w->current.resize, outcome,
			    text ? text : "");
	return 0;
}

static int handle_drain_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	enum egs_drain_outcome outcome = egs_buf_get_u32(in);
	const char *text = egs_buf_get_str(in);

	if (in->failed || !w->busy || outcome > EGS_DRAIN_FAILED)
		return -1;
	end_current(w);
	w->ops->node_drained(w->arg, &w->current.drain, outcome,
			     text ? text : "");
	return 0;
}

static int handle_frame(struct egs_worker *w, enum egs_frame_kind kind,
			struct egs_buf_reader *in)
{
	static int (*const handler[])(struct egs_worker *,
				      struct egs_buf_reader *) = {
		[EGS_FRAME_JOB] = handle_job,
		[EGS_FRAME_NODE] = handle_node,
		[EGS_FRAME_OPERATOR] = handle_operator,
		[EGS_FRAME_COORDINATOR] = handle_coordinator,
		[EGS_FRAME_NAME] = handle_name,
		[EGS_FRAME_POLL_DONE] = handle_poll_done,
		[EGS_FRAME_READ_DONE] = handle_read_done,
		[EGS_FRAME_ACT_DONE] = handle_act_done,
		[EGS_FRAME_RESIZE_DONE] = handle_resize_done,
		[EGS_FRAME_DRAIN_DONE] = handle_drain_done,
	};

	return handler[kind](w, in);
}

/* Handle every complete frame.  The callbacks borrow strings from the buffer,
 * so it is cut only after the last frame.
 */
static int handle_frames(struct egs_worker *w)
{
	size_t done = 0;
	enum egs_frame_kind kind;
	struct egs_buf_reader in;
	long len;

	while ((len = egs_frame_parse(w->in.bytes + done, w->in.used - done,
				      &kind, &in)) > 0) {
		if (handle_frame(w, kind, &in) < 0)
			return -1;
		done += (size_t)len;
	}
	egs_buf_consume(&w->in, done);
	return len < 0 ? -1 : 0;
}

/* Free the room for all jobs until the next poll. */
static void end_request(struct egs_worker *w)
{
	if (!w->in.used)
		egs_buf_clear(&w->in);
	send_next(w);
}

static void on_ready(void *arg, uint32_t events)
{
	struct egs_worker *w = arg;
	char *to = egs_buf_reserve(&w->in, READ_SIZE);
	ssize_t n = to ? recv(w->fd, to, READ_SIZE, MSG_DONTWAIT) : -1;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		restart_later(w, "worker: ended, starting a new worker");
		return;
	}
	w->death_reported = false;
	w->in.used += (size_t)n;
	w->in_callback = true;
	n = handle_frames(w);
	w->in_callback = false;
	if (n < 0)
		restart_later(w,
			      "worker: invalid answer, starting a new worker");
	else if (w->busy)
		egs_timer_start(w->hang_timer, w->timeout_ms);
	else
		end_request(w);
}

struct egs_worker *egs_worker_new(struct egs_loop *loop, const char *program,
				  const struct egs_worker_ops *ops, void *arg,
				  struct egs_err *err)
{
	struct egs_worker *w = calloc(1, sizeof(*w));

	if (!w) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	w->loop = loop;
	w->program = program;
	w->ops = ops;
	w->arg = arg;
	w->pid = -1;
	w->fd = -1;
	w->timeout_ms = TIMEOUT_MS;
	egs_worker_queue_init(&w->queue);
	w->hang_timer = egs_loop_add_timer(loop, on_timeout, w, err);
	w->respawn_timer = egs_loop_add_timer(loop, on_respawn, w, err);
	if (!w->hang_timer || !w->respawn_timer || spawn_worker(w, err) < 0) {
		egs_worker_free(w);
		return NULL;
	}
	return w;
}

void egs_worker_free(struct egs_worker *worker)
{
	if (!worker)
		return;
	kill_worker(worker);
	egs_watch_free(worker->hang_timer);
	egs_watch_free(worker->respawn_timer);
	egs_worker_queue_clear(&worker->queue);
	free(worker);
}

/* The next poll shows a job whose read is lost, so nobody is told of that. */
static void queue_request(struct egs_worker *w,
			  const struct egs_worker_request *request)
{
	if (egs_worker_queue_add(&w->queue, request) == 0)
		send_next(w);
	else if (request->kind != EGS_WORKER_READ_JOB)
		fail_request(w, request, "the queue of the worker is full");
}

void egs_worker_poll(struct egs_worker *worker, bool full)
{
	queue_request(worker,
		      &(struct egs_worker_request){ .kind = EGS_WORKER_POLL,
						    .full_poll = full });
}

void egs_worker_read_job(struct egs_worker *worker, uint32_t job_id)
{
	queue_request(worker,
		      &(struct egs_worker_request){ .kind = EGS_WORKER_READ_JOB,
						    .job_id = job_id });
}

void egs_worker_act(struct egs_worker *worker, uint64_t id, uint32_t action,
		    const char *job, const char *resume_info)
{
	struct egs_worker_request r = {
		.kind = EGS_WORKER_ACT,
		.action_id = id,
		.action = action,
	};

	snprintf(r.job, sizeof(r.job), "%s", job);
	snprintf(r.resume_info, sizeof(r.resume_info), "%s",
		 resume_info ? resume_info : "");
	queue_request(worker, &r);
}

void egs_worker_resize(struct egs_worker *worker,
		       const struct egs_resize_params *params)
{
	queue_request(worker,
		      &(struct egs_worker_request){ .kind = EGS_WORKER_RESIZE,
						    .resize = *params });
}

bool egs_worker_has_resize(const struct egs_worker *worker, uint32_t job_id)
{
	return (worker->busy && worker->current.kind == EGS_WORKER_RESIZE &&
		worker->current.resize.job_id == job_id) ||
	       egs_worker_queue_has_resize(&worker->queue, job_id);
}

void egs_worker_drain(struct egs_worker *worker,
		      const struct egs_drain_params *params)
{
	queue_request(worker,
		      &(struct egs_worker_request){ .kind = EGS_WORKER_DRAIN,
						    .drain = *params });
}

void egs_worker_set_timeout(struct egs_worker *worker, uint32_t ms)
{
	worker->timeout_ms = ms;
}
