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
	PATIENCE_MS = 30 * 1000,
	/* A worker that cannot start must not be started in a circle. */
	RESPAWN_MS = 1000,
};

/* A request, and what is needed to answer it if the worker cannot. */
struct ask {
	enum egs_frame kind;
	bool anew;
	uint32_t job_id;
	uint64_t id;
	uint32_t act;
	struct egs_size_ask size;
	char *job, *again;
	STAILQ_ENTRY(ask) link;
};

struct egs_worker {
	struct egs_loop *loop;
	const char *program;
	const struct egs_worker_ops *ops;
	void *arg;
	pid_t pid;
	int fd;
	bool busy;   /* the first of 'asks' is under way */
	bool ailing; /* its death was said, and nothing answered since */
	bool saying; /* inside a callback, which borrows from 'in' */
	uint32_t patience_ms;
	struct egs_watch *watch, *hang, *respawn;
	struct egs_buf in;
	STAILQ_HEAD(asks, ask) asks;
};

static void child(const char *program, pid_t parent, int fd)
{
	egs_signals_unblock();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(fd, STDIN_FILENO) == STDIN_FILENO)
		execl(program, program, "--worker", (char *)NULL);
	_exit(127);
}

static void on_ready(void *arg, uint32_t events);
static void next(struct egs_worker *w);

static int spawn(struct egs_worker *w, struct egs_err *err)
{
	pid_t parent = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return egs_errf(err, "worker: %s", strerror(errno));
	w->pid = fork();
	if (w->pid == 0)
		child(w->program, parent, fds[1]);
	close(fds[1]);
	w->fd = fds[0];
	if (w->pid < 0)
		return egs_errf(err, "worker: fork: %s", strerror(errno));
	w->watch = egs_loop_fd(w->loop, w->fd, EPOLLIN, on_ready, w, err);
	return w->watch ? 0 : -1;
}

static void reap(struct egs_worker *w)
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

static void ask_free(struct ask *ask)
{
	free(ask->job);
	free(ask->again);
	free(ask);
}

/* Take the request under way off the queue. */
static struct ask *finish(struct egs_worker *w)
{
	struct ask *ask = STAILQ_FIRST(&w->asks);

	STAILQ_REMOVE_HEAD(&w->asks, link);
	w->busy = false;
	egs_timer_stop(w->hang);
	return ask;
}

static void fail(struct egs_worker *w, const char *why)
{
	struct egs_polled end = { .ok = false, .why = why };
	struct ask *ask = finish(w);

	if (ask->kind == EGS_ASK_POLL)
		w->ops->polled(w->arg, &end);
	else if (ask->kind == EGS_ASK_ACT)
		w->ops->acted(w->arg, ask->id, why);
	else if (ask->kind == EGS_ASK_SIZE)
		w->ops->sized(w->arg, ask->size.job_id, EGS_SIZED_WAITS, why);
	ask_free(ask);
}

/* The worker is of no use any more: end it, and start another in a while. */
static void give_up(struct egs_worker *w, const char *why)
{
	if (!w->ailing)
		w->ops->warn(w->arg, why);
	w->ailing = true;
	reap(w);
	egs_timer_in(w->respawn, RESPAWN_MS);
	if (w->busy)
		fail(w, why);
}

static void on_hang(void *arg, uint32_t events)
{
	(void)events;
	give_up(arg, "worker: no answer from slurmctld, starting it again");
}

/* There is none and none can be made: who waits is told, or the daemon would
 * go on deciding by what it saw long ago.
 */
static void on_respawn(void *arg, uint32_t events)
{
	struct egs_worker *w = arg;
	struct egs_err err;

	(void)events;
	if (spawn(w, &err) == 0) {
		next(w);
		return;
	}
	give_up(w, err.msg);
	while (!STAILQ_EMPTY(&w->asks))
		fail(w, err.msg);
}

static void put_ask(struct egs_buf *buf, const struct ask *ask)
{
	egs_frame_begin(buf, ask->kind);
	switch (ask->kind) {
	case EGS_ASK_LOOK:
		egs_buf_u32(buf, ask->job_id);
		break;
	case EGS_ASK_ACT:
		egs_buf_u64(buf, ask->id);
		egs_buf_u32(buf, ask->act);
		egs_buf_str(buf, ask->job);
		egs_buf_str(buf, ask->again);
		break;
	case EGS_ASK_SIZE:
		egs_buf_u32(buf, ask->size.job_id);
		egs_buf_u32(buf, ask->size.uid);
		egs_buf_u32(buf, ask->size.gpus);
		egs_buf_u32(buf, ask->size.keep_cores);
		egs_buf_u32(buf, ask->size.nodes);
		egs_buf_u32(buf, ask->size.cancel);
		egs_buf_u32(buf, ask->size.next);
		egs_buf_u32(buf, ask->size.looked);
		egs_buf_str(buf, ask->size.open);
		break;
	default:
		egs_buf_u32(buf, ask->anew);
		break;
	}
	egs_frame_end(buf);
}

/* Send the first request in the queue, if the worker is free.  It fits in the
 * socket: nothing else is under way.
 */
static void next(struct egs_worker *w)
{
	struct egs_buf buf = { .used = 0 };
	ssize_t sent;

	if (w->busy || w->saying || w->pid < 0 || STAILQ_EMPTY(&w->asks))
		return;
	put_ask(&buf, STAILQ_FIRST(&w->asks));
	w->busy = true;
	egs_timer_in(w->hang, w->patience_ms);
	sent = buf.failed ? -1
			  : send(w->fd, buf.bytes, buf.used,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent != (ssize_t)buf.used)
		give_up(w, "worker: gone, starting it again");
	egs_buf_clear(&buf);
}

static int say_job(struct egs_worker *w, struct egs_read *in)
{
	struct egs_job_fact fact;

	if (egs_job_fact_get(in, &fact) < 0)
		return -1;
	w->ops->job(w->arg, &fact);
	return 0;
}

static int say_node(struct egs_worker *w, struct egs_read *in)
{
	struct egs_node_fact fact;

	if (egs_node_fact_get(in, &fact) < 0)
		return -1;
	w->ops->node(w->arg, &fact);
	return 0;
}

static int say_operator(struct egs_worker *w, struct egs_read *in)
{
	uint32_t uid = egs_read_u32(in);
	const char *name = egs_read_str(in);

	if (in->failed)
		return -1;
	w->ops->operator(w->arg, uid, name);
	return 0;
}

static int say_polled(struct egs_worker *w, struct egs_read *in)
{
	struct egs_polled end = {
		.ok = egs_read_u32(in),
		.unchanged = egs_read_u32(in),
		.ms = egs_read_u32(in),
		.why = egs_read_str(in),
		.cluster = egs_read_str(in),
	};

	if (in->failed || !w->busy)
		return -1;
	ask_free(finish(w));
	w->ops->polled(w->arg, &end);
	return 0;
}

static int say_looked(struct egs_worker *w, struct egs_read *in)
{
	uint32_t job_id = egs_read_u32(in), known = egs_read_u32(in);
	struct egs_job_fact fact;

	if (in->failed || !w->busy ||
	    (known == 1 && egs_job_fact_get(in, &fact) < 0))
		return -1;
	ask_free(finish(w));
	if (known < 2)
		w->ops->looked(w->arg, job_id, known ? &fact : NULL);
	return 0;
}

static int say_acted(struct egs_worker *w, struct egs_read *in)
{
	uint64_t id = egs_read_u64(in);
	const char *why = egs_read_str(in);

	if (in->failed || !w->busy)
		return -1;
	ask_free(finish(w));
	w->ops->acted(w->arg, id, why);
	return 0;
}

static int say_sized(struct egs_worker *w, struct egs_read *in)
{
	uint32_t job_id = egs_read_u32(in);
	enum egs_sized end = egs_read_u32(in);
	const char *text = egs_read_str(in);

	if (in->failed || !w->busy || end > EGS_SIZED_REFUSED)
		return -1;
	ask_free(finish(w));
	w->ops->sized(w->arg, job_id, end, text ? text : "");
	return 0;
}

static int say(struct egs_worker *w, enum egs_frame kind, struct egs_read *in)
{
	static int (*const on[])(struct egs_worker *, struct egs_read *) = {
		[EGS_SAY_JOB] = say_job,
		[EGS_SAY_NODE] = say_node,
		[EGS_SAY_OPERATOR] = say_operator,
		[EGS_SAY_POLLED] = say_polled,
		[EGS_SAY_LOOKED] = say_looked,
		[EGS_SAY_ACTED] = say_acted,
		[EGS_SAY_SIZED] = say_sized,
	};

	return kind >= EGS_SAY_JOB ? on[kind](w, in) : -1;
}

/* Hand over every complete frame.  Strings are borrowed from the buffer, so
 * it is cut only after the last.
 */
static int say_all(struct egs_worker *w)
{
	size_t done = 0;
	enum egs_frame kind;
	struct egs_read in;
	long len;

	while ((len = egs_frame_next(w->in.bytes + done, w->in.used - done,
				     &kind, &in)) > 0) {
		if (say(w, kind, &in) < 0)
			return -1;
		done += (size_t)len;
	}
	egs_buf_drop(&w->in, done);
	return len < 0 ? -1 : 0;
}

/* Until the next look nobody needs the room for all jobs. */
static void rest(struct egs_worker *w)
{
	if (!w->in.used)
		egs_buf_clear(&w->in);
	next(w);
}

static void on_ready(void *arg, uint32_t events)
{
	struct egs_worker *w = arg;
	char *to = egs_buf_room(&w->in, READ_SIZE);
	ssize_t n = to ? recv(w->fd, to, READ_SIZE, MSG_DONTWAIT) : -1;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		give_up(w, "worker: ended, starting it again");
		return;
	}
	w->ailing = false;
	w->in.used += (size_t)n;
	w->saying = true;
	n = say_all(w);
	w->saying = false;
	if (n < 0)
		give_up(w, "worker: sent what is no answer, starting it again");
	else if (w->busy)
		egs_timer_in(w->hang, w->patience_ms); /* it is at it */
	else
		rest(w);
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
	w->patience_ms = PATIENCE_MS;
	STAILQ_INIT(&w->asks);
	w->hang = egs_loop_timer(loop, on_hang, w, err);
	w->respawn = egs_loop_timer(loop, on_respawn, w, err);
	if (!w->hang || !w->respawn || spawn(w, err) < 0) {
		egs_worker_free(w);
		return NULL;
	}
	return w;
}

void egs_worker_free(struct egs_worker *worker)
{
	struct ask *ask;

	if (!worker)
		return;
	reap(worker);
	egs_watch_free(worker->hang);
	egs_watch_free(worker->respawn);
	while ((ask = STAILQ_FIRST(&worker->asks))) {
		STAILQ_REMOVE_HEAD(&worker->asks, link);
		ask_free(ask);
	}
	free(worker);
}

static void put_in_queue(struct egs_worker *w, struct ask ask)
{
	struct ask *copy = malloc(sizeof(*copy));

	if (!copy) {
		w->ops->warn(w->arg,
			     "worker: out of memory, a request is lost");
		free(ask.job);
		free(ask.again);
		return;
	}
	*copy = ask;
	STAILQ_INSERT_TAIL(&w->asks, copy, link);
	next(w);
}

void egs_worker_poll(struct egs_worker *worker, bool anew)
{
	put_in_queue(worker,
		     (struct ask){ .kind = EGS_ASK_POLL, .anew = anew });
}

void egs_worker_look(struct egs_worker *worker, uint32_t job_id)
{
	put_in_queue(worker,
		     (struct ask){ .kind = EGS_ASK_LOOK, .job_id = job_id });
}

void egs_worker_act(struct egs_worker *worker, uint64_t id, uint32_t act,
		    const char *job, const char *again)
{
	put_in_queue(worker,
		     (struct ask){ .kind = EGS_ASK_ACT,
				   .id = id,
				   .act = act,
				   .job = strdup(job),
				   .again = again ? strdup(again) : NULL });
}

void egs_worker_patience(struct egs_worker *worker, uint32_t ms)
{
	worker->patience_ms = ms;
}

void egs_worker_size(struct egs_worker *worker, const struct egs_size_ask *ask)
{
	put_in_queue(worker,
		     (struct ask){ .kind = EGS_ASK_SIZE, .size = *ask });
}
