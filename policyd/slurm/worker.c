/* worker.c - the daemon's side of its worker process */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policyd/slurm/frame.h"
#include "policyd/slurm/worker.h"

enum {
	READ_SIZE = 256 * 1024,
	/* libslurm gives up on a dead slurmctld after ten seconds. */
	TIMEOUT_MS = 30 * 1000,
	/* A worker that cannot start must not be started in a circle. */
	RESPAWN_MS = 1000,
};

/* A request, and what is needed to answer it if the worker cannot. */
struct worker_request {
	enum egs_frame_kind kind;
	bool full_poll;
	uint32_t job_id;
	uint64_t action_id;
	uint32_t action;
	struct egs_resize_params resize;
	char *job, *resume_info;
	STAILQ_ENTRY(worker_request) link;
};

struct egs_worker {
	struct egs_loop *loop;
	const char *program;
	const struct egs_worker_ops *ops;
	void *arg;
	pid_t pid;
	int fd;
	bool busy;	     /* the first of 'asks' is under way */
	bool death_reported; /* its death was said, and nothing answered since
			      */
	bool in_callback;    /* inside a callback, which borrows from 'in' */
	uint32_t timeout_ms;
	struct egs_watch *watch, *hang_timer, *respawn_timer;
	struct egs_buf in;
	STAILQ_HEAD(worker_queue, worker_request) queue;
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

static void free_request(struct worker_request *ask)
{
	free(ask->job);
	free(ask->resume_info);
	free(ask);
}

/* Take the request under way off the queue. */
static struct worker_request *pop_request(struct egs_worker *w)
{
	struct worker_request *ask = STAILQ_FIRST(&w->queue);

	STAILQ_REMOVE_HEAD(&w->queue, link);
	w->busy = false;
	egs_timer_stop(w->hang_timer);
	return ask;
}

static void fail_request(struct egs_worker *w, const char *why)
{
	struct egs_poll_result end = { .ok = false, .error = why };
	struct worker_request *ask = pop_request(w);

	if (ask->kind == EGS_FRAME_POLL)
		w->ops->poll_done(w->arg, &end);
	else if (ask->kind == EGS_FRAME_ACT)
		w->ops->act_done(w->arg, ask->action_id, why);
	else if (ask->kind == EGS_FRAME_RESIZE)
		w->ops->resize_step(w->arg, ask->resize.job_id,
				    EGS_RESIZE_WAITING, why);
	free_request(ask);
}

/* The worker is of no use any more: end it, and start another in a while. */
static void restart_later(struct egs_worker *w, const char *why)
{
	if (!w->death_reported)
		w->ops->warn(w->arg, why);
	w->death_reported = true;
	kill_worker(w);
	egs_timer_start(w->respawn_timer, RESPAWN_MS);
	if (w->busy)
		fail_request(w, why);
}

static void on_timeout(void *arg, uint32_t events)
{
	(void)events;
	restart_later(arg,
		      "worker: no answer from slurmctld, starting it again");
}

/* There is none and none can be made: who waits is told, or the daemon would
 * go on deciding by what it saw long ago.
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
	while (!STAILQ_EMPTY(&w->queue))
		fail_request(w, err.msg);
}

static void put_request(struct egs_buf *buf, const struct worker_request *ask)
{
	egs_frame_begin(buf, ask->kind);
	switch (ask->kind) {
	case EGS_FRAME_READ_JOB:
		egs_buf_put_u32(buf, ask->job_id);
		break;
	case EGS_FRAME_ACT:
		egs_buf_put_u64(buf, ask->action_id);
		egs_buf_put_u32(buf, ask->action);
		egs_buf_put_str(buf, ask->job);
		egs_buf_put_str(buf, ask->resume_info);
		break;
	case EGS_FRAME_RESIZE:
		egs_buf_put_u32(buf, ask->resize.job_id);
		egs_buf_put_u32(buf, ask->resize.uid);
		egs_buf_put_u32(buf, ask->resize.gpus);
		egs_buf_put_u32(buf, ask->resize.keep_cores);
		egs_buf_put_u32(buf, ask->resize.whole_nodes);
		egs_buf_put_u32(buf, ask->resize.cancel);
		egs_buf_put_u32(buf, ask->resize.on_restart);
		egs_buf_put_u32(buf, ask->resize.gpus_scanned);
		egs_buf_put_str(buf, ask->resize.open_gpus);
		break;
	default:
		egs_buf_put_u32(buf, ask->full_poll);
		break;
	}
	egs_frame_end(buf);
}

/* Send the first request in the queue, if the worker is free.  It fits in the
 * socket: nothing else is under way.
 */
static void send_next(struct egs_worker *w)
{
	struct egs_buf buf = { .used = 0 };
	ssize_t sent;

	if (w->busy || w->in_callback || w->pid < 0 || STAILQ_EMPTY(&w->queue))
		return;
	put_request(&buf, STAILQ_FIRST(&w->queue));
	w->busy = true;
	egs_timer_start(w->hang_timer, w->timeout_ms);
	sent = buf.failed ? -1
			  : send(w->fd, buf.bytes, buf.used,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent != (ssize_t)buf.used)
		restart_later(w, "worker: gone, starting it again");
	egs_buf_clear(&buf);
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

static int handle_poll_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	struct egs_poll_result end = {
		.ok = egs_buf_get_u32(in),
		.unchanged = egs_buf_get_u32(in),
		.slurmctld_ms = egs_buf_get_u32(in),
		.error = egs_buf_get_str(in),
		.cluster_name = egs_buf_get_str(in),
	};

	if (in->failed || !w->busy)
		return -1;
	free_request(pop_request(w));
	w->ops->poll_done(w->arg, &end);
	return 0;
}

static int handle_read_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t job_id = egs_buf_get_u32(in), known = egs_buf_get_u32(in);
	struct egs_job_fact fact;

	if (in->failed || !w->busy ||
	    (known == 1 && egs_fact_get_job(in, &fact) < 0))
		return -1;
	free_request(pop_request(w));
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
	free_request(pop_request(w));
	w->ops->act_done(w->arg, id, why);
	return 0;
}

static int handle_resize_done(struct egs_worker *w, struct egs_buf_reader *in)
{
	uint32_t job_id = egs_buf_get_u32(in);
	enum egs_resize_outcome end = egs_buf_get_u32(in);
	const char *text = egs_buf_get_str(in);

	if (in->failed || !w->busy || end > EGS_RESIZE_NOT_LIVE)
		return -1;
	free_request(pop_request(w));
	w->ops->resize_step(w->arg, job_id, end, text ? text : "");
	return 0;
}

static int handle_frame(struct egs_worker *w, enum egs_frame_kind kind,
			struct egs_buf_reader *in)
{
	static int (*const on[])(struct egs_worker *,
				 struct egs_buf_reader *) = {
		[EGS_FRAME_JOB] = handle_job,
		[EGS_FRAME_NODE] = handle_node,
		[EGS_FRAME_OPERATOR] = handle_operator,
		[EGS_FRAME_POLL_DONE] = handle_poll_done,
		[EGS_FRAME_READ_DONE] = handle_read_done,
		[EGS_FRAME_ACT_DONE] = handle_act_done,
		[EGS_FRAME_RESIZE_DONE] = handle_resize_done,
	};

	return kind >= EGS_FRAME_JOB ? on[kind](w, in) : -1;
}

/* Hand over every complete frame.  Strings are borrowed from the buffer, so
 * it is cut only after the last.
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

/* Until the next look nobody needs the room for all jobs. */
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
		restart_later(w, "worker: ended, starting it again");
		return;
	}
	w->death_reported = false;
	w->in.used += (size_t)n;
	w->in_callback = true;
	n = handle_frames(w);
	w->in_callback = false;
	if (n < 0)
		restart_later(
			w, "worker: sent what is no answer, starting it again");
	else if (w->busy)
		egs_timer_start(w->hang_timer, w->timeout_ms); /* it is at it */
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
	STAILQ_INIT(&w->queue);
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
	struct worker_request *ask;

	if (!worker)
		return;
	kill_worker(worker);
	egs_watch_free(worker->hang_timer);
	egs_watch_free(worker->respawn_timer);
	while ((ask = STAILQ_FIRST(&worker->queue))) {
		STAILQ_REMOVE_HEAD(&worker->queue, link);
		free_request(ask);
	}
	free(worker);
}

static void queue_request(struct egs_worker *w, struct worker_request ask)
{
	struct worker_request *copy = malloc(sizeof(*copy));

	if (!copy) {
		w->ops->warn(w->arg,
			     "worker: out of memory, a request is lost");
		free(ask.job);
		free(ask.resume_info);
		return;
	}
	*copy = ask;
	STAILQ_INSERT_TAIL(&w->queue, copy, link);
	send_next(w);
}

void egs_worker_poll(struct egs_worker *worker, bool anew)
{
	queue_request(worker, (struct worker_request){ .kind = EGS_FRAME_POLL,
						       .full_poll = anew });
}

void egs_worker_read_job(struct egs_worker *worker, uint32_t job_id)
{
	queue_request(worker,
		      (struct worker_request){ .kind = EGS_FRAME_READ_JOB,
					       .job_id = job_id });
}

void egs_worker_act(struct egs_worker *worker, uint64_t id, uint32_t act,
		    const char *job, const char *again)
{
	queue_request(worker,
		      (struct worker_request){
			      .kind = EGS_FRAME_ACT,
			      .action_id = id,
			      .action = act,
			      .job = strdup(job),
			      .resume_info = again ? strdup(again) : NULL });
}

void egs_worker_set_timeout(struct egs_worker *worker, uint32_t ms)
{
	worker->timeout_ms = ms;
}

void egs_worker_resize(struct egs_worker *worker,
		       const struct egs_resize_params *ask)
{
	queue_request(worker, (struct worker_request){ .kind = EGS_FRAME_RESIZE,
						       .resize = *ask });
}
