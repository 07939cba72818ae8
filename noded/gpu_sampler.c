/* gpu_sampler.c - a process that measures the GPUs of this node */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd.h"
#include "common/base/log.h"
#include "noded/gpu_sampler.h"
#include "noded/nvml_cap.h"

enum {
	PAUSE_MAX_MS = 600 * 1000,
	/* A child that was killed has usually ended by then. */
	REAP_MS = 100,
	/* A call that hangs in the kernel delays the end of the child. */
	REAP_AGAIN_MS = 2000,
	/* Time to restore power limits at the end. */
	RESTORE_MS = 5000,
	/* Batches in a row that end a series of failures. */
	GOOD_BATCHES = 10,
};

struct egs_gpu_sampler {
	struct egs_gpu_sampler_conf conf;
	struct egs_loop *loop;
	struct egs_watch *timer, *watch;
	pid_t pid; /* of the child, 0: none */
	int fd;	   /* the child sends batches here, -1: closed */
	uint32_t failures, good_batches;
	bool sampled;	    /* the last batch had samples */
	bool stuck;	    /* the child was killed and has not ended */
	struct egs_err why; /* the last failure, "": none */
	char *bytes;	    /* of EGS_MSG_REQUEST_MAX */
	struct egs_gpu_cap caps[EGS_GPU_SAMPLES_MAX]; /* power limits */
	uint32_t ncaps;
};

/* ---- in the child ---- */

/* The child may outlive egs-noded in the kernel.  Then it must not hold the
 * lock of egs-noded.
 */
static void prepare_child(pid_t parent, int fd)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "egs-gpu-sampler");
	egs_close_others(fd);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct egs_msg *new_batch(const struct egs_gpu_sampler_conf *conf)
{
	struct egs_msg *batch = egs_msg_new();

	if (batch) {
		egs_msg_set_str(batch, "verb", "node-gpus");
		egs_msg_set_str(batch, "node", conf->node);
		egs_msg_set_int(batch, "interval",
				(int64_t)(conf->interval_ms + 999) / 1000);
		egs_gpu_sample_begin(batch);
	}
	return batch;
}

/* The power limits that egs-noded orders, and those in force. */
struct cap_state {
	struct egs_nvml_caps caps;
	struct egs_gpu_cap order[EGS_GPU_SAMPLES_MAX];
	uint32_t n;
};

/* Read the last order, if there is one. */
static void apply_orders(int fd, struct cap_state *state,
			 const struct egs_nvml_session *session)
{
	static char bytes[EGS_MSG_REQUEST_MAX];
	bool found = false;
	ssize_t len;

	while ((len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		struct egs_msg *msg =
			egs_msg_parse(bytes, (size_t)len, sizeof(bytes), NULL);
		int n = msg ? egs_gpu_cap_read(msg, state->order) : -1;

		egs_msg_free(msg);
		if (n < 0)
			continue;
		state->n = (uint32_t)n;
		found = true;
	}
	if (found)
		egs_nvml_caps_apply(&state->caps, session, state->order,
				    state->n);
}

static struct egs_msg *make_batch(const struct egs_gpu_sampler_conf *conf,
				  struct egs_nvml_session *session,
				  const struct cap_state *state)
{
	static struct egs_gpu_sample samples[EGS_NODE_GPUS_MAX];
	static struct egs_gpu_process ended[EGS_GPU_PROCESSES_MAX];
	struct egs_msg *batch = new_batch(conf);
	uint32_t n;

	egs_nvml_session_sample(session, samples);
	n = egs_nvml_session_read_ended(session, ended);
	if (!batch)
		return NULL;
	egs_msg_set_str(batch, "driver", session->driver);
	egs_msg_set_str(batch, "session", session->name);
	for (uint32_t i = 0; i < session->n; i++)
		egs_gpu_sample_add(batch, &samples[i]);
	egs_gpu_process_set(batch, ended, n);
	egs_gpu_cap_set(batch, state->order, state->n);
	return batch;
}

static struct egs_msg *make_error(const struct egs_gpu_sampler_conf *conf,
				  const struct egs_err *why)
{
	struct egs_msg *batch = new_batch(conf);

	if (batch)
		egs_msg_set_str(batch, "error", why->msg);
	return batch;
}

/* Send a batch and free it.  Returns -1 if egs-noded does not read any more. */
static int send_batch(int fd, struct egs_msg *batch)
{
	size_t len = 0;
	const char *text = batch ? egs_msg_to_text(batch, &len) : NULL;
	ssize_t n = text ? send(fd, text, len, MSG_NOSIGNAL) : -1;

	egs_msg_free(batch);
	return n < 0 ? -1 : 0;
}

/* All nodes may start at once.  So the first pause is shorter, by chance. */
static void sample_forever(int fd, const struct egs_gpu_sampler_conf *conf)
{
	static struct egs_nvml_session session;
	static struct cap_state state;
	struct egs_node_gpus gpus;
	struct egs_err err;
	uint64_t next_ms = egs_now_ms(), now_ms;

	egs_node_gpus_read(&gpus, conf->gres_conf, conf->node);
	if (egs_nvml_session_open(&session, conf->library, &gpus, &err) < 0) {
		send_batch(fd, make_error(conf, &err));
		return;
	}
	egs_nvml_caps_restore(&state.caps, &session, conf->caps_path);
	next_ms += (uint64_t)random() % (conf->interval_ms + 1);
	while (send_batch(fd, make_batch(conf, &session, &state)) == 0) {
		now_ms = egs_now_ms();
		while (next_ms <= now_ms)
			next_ms += conf->interval_ms;
		egs_nvml_session_wait(&session, next_ms - now_ms);
		apply_orders(fd, &state, &session);
	}
}

/* A child that gives the GPUs their power limits back. */
static void restore_limits(const struct egs_gpu_sampler_conf *conf)
{
	static struct egs_nvml_session session;
	static struct egs_nvml_caps caps;
	struct egs_node_gpus gpus;
	struct egs_err err;

	prctl(PR_SET_NAME, "egs-gpu-sampler");
	egs_close_others(-1);
	egs_node_gpus_read(&gpus, conf->gres_conf, conf->node);
	if (egs_nvml_session_open(&session, conf->library, &gpus, &err) == 0)
		egs_nvml_caps_restore(&caps, &session, conf->caps_path);
}

/* ---- in egs-noded ---- */

/* A child whose buffer is full hangs: the next one gets the order. */
static void send_caps(const struct egs_gpu_sampler *s)
{
	struct egs_msg *msg = s->fd < 0 ? NULL : egs_msg_new();
	const char *text;
	size_t len;

	if (!msg)
		return;
	egs_gpu_cap_set(msg, s->caps, s->ncaps);
	text = egs_msg_to_text(msg, &len);
	if (text)
		send(s->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	egs_msg_free(msg);
}

void egs_gpu_sampler_set_caps(struct egs_gpu_sampler *s,
			      const struct egs_gpu_cap *list, uint32_t n)
{
	bool same = n == s->ncaps;

	for (uint32_t i = 0; same && i < n; i++)
		same = list[i].gpu == s->caps[i].gpu &&
		       list[i].pct == s->caps[i].pct;
	if (same || n > EGS_GPU_SAMPLES_MAX)
		return;
	if (n)
		memcpy(s->caps, list, n * sizeof(list[0]));
	s->ncaps = n;
	send_caps(s);
}

static uint64_t choose_pause_ms(const struct egs_gpu_sampler *s,
				uint32_t failures)
{
	uint64_t ms = s->conf.interval_ms;

	for (uint32_t i = 0; i < failures && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

static void stop_child(struct egs_gpu_sampler *s)
{
	egs_watch_free(s->watch);
	s->watch = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->pid)
		kill(s->pid, SIGKILL);
}

/* Returns whether the child has ended.  It may still be in a call of the driver
 * that no signal ends.
 */
static bool reap_child(struct egs_gpu_sampler *s)
{
	if (s->pid && waitpid(s->pid, NULL, WNOHANG) == 0)
		return false;
	s->pid = 0;
	return true;
}

/* Log the reason if it is news, and pass it on, with the pause until the next
 * try.
 */
static void report_failure(struct egs_gpu_sampler *s, const char *why)
{
	uint64_t pause_ms = choose_pause_ms(s, s->failures + 1);
	struct egs_err new;
	struct egs_msg *batch;

	egs_errf(&new, "%s", why);
	if (strcmp(new.msg, s->why.msg) != 0)
		egs_log_warn("GPUs of %s are not sampled: %s", s->conf.node,
			     new.msg);
	s->why = new;
	s->sampled = false;
	batch = make_error(&s->conf, &new);
	if (batch) {
		egs_msg_set_int(batch, "interval",
				(int64_t)(pause_ms + 999) / 1000);
		s->conf.on_batch(s->conf.arg, batch);
	}
	egs_msg_free(batch);
}

static void count_failure(struct egs_gpu_sampler *s)
{
	stop_child(s);
	s->failures++;
	s->good_batches = 0;
	egs_timer_start(s->timer, REAP_MS);
}

static void wait_for_batch(struct egs_gpu_sampler *s)
{
	egs_timer_start(s->timer, s->conf.interval_ms + s->conf.patience_ms);
}

static void accept_batch(struct egs_gpu_sampler *s, struct egs_msg *batch)
{
	const char *driver = egs_msg_get_str(batch, "driver");

	if (!s->sampled)
		egs_log_info("GPUs of %s are sampled every %" PRIu64
			     " s, driver %s",
			     s->conf.node, (s->conf.interval_ms + 999) / 1000,
			     driver ? driver : "-");
	s->sampled = true;
	s->why.msg[0] = '\0';
	if (++s->good_batches >= GOOD_BATCHES)
		s->failures = 0;
	wait_for_batch(s);
	s->conf.on_batch(s->conf.arg, batch);
}

/* After an error the child ends, and another one tries again later. */
static void handle_batch(struct egs_gpu_sampler *s, size_t len)
{
	struct egs_err err = { "" };
	struct egs_msg *batch =
		egs_msg_parse(s->bytes, len, EGS_MSG_REQUEST_MAX, &err);
	const char *why = batch ? egs_msg_get_str(batch, "error") : err.msg;

	if (!why) {
		accept_batch(s, batch);
	} else {
		report_failure(s, why);
		count_failure(s);
	}
	egs_msg_free(batch);
}

/* Read all batches.  Returns whether there was one, or the child has ended. */
static bool read_batches(struct egs_gpu_sampler *s)
{
	bool found = false;
	ssize_t n;

	while (s->fd >= 0) {
		n = recv(s->fd, s->bytes, EGS_MSG_REQUEST_MAX, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		found = true;
		if (n > 0) {
			handle_batch(s, (size_t)n);
		} else {
			report_failure(s, "the sampler process has died in a "
					  "call of NVIDIA's driver");
			count_failure(s);
		}
	}
	return found;
}

static void on_batches(void *arg, uint32_t events)
{
	(void)events;
	read_batches(arg);
}

static int fork_child(struct egs_gpu_sampler *s, struct egs_err *err)
{
	pid_t parent = getpid();
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return egs_errf(err, "socketpair: %s", strerror(errno));
	s->pid = fork();
	if (s->pid == 0) {
		prepare_child(parent, fd[1]);
		sample_forever(fd[1], &s->conf);
		_exit(0);
	}
	close(fd[1]);
	s->fd = fd[0];
	if (s->pid > 0)
		return 0;
	egs_errf(err, "fork: %s", strerror(errno));
	s->pid = 0;
	return -1;
}

static void start_child(struct egs_gpu_sampler *s)
{
	struct egs_err err;

	if (fork_child(s, &err) == 0)
		s->watch = egs_loop_add_fd(s->loop, s->fd, EPOLLIN, on_batches,
					   s, &err);
	if (s->watch) {
		if (s->ncaps)
			send_caps(s);
		wait_for_batch(s);
		return;
	}
	report_failure(s, err.msg);
	count_failure(s);
	if (!s->pid)
		egs_timer_start(s->timer, choose_pause_ms(s, s->failures));
}

/* The child that was killed has ended: start another one after a pause. */
static void check_end(struct egs_gpu_sampler *s)
{
	bool ended = reap_child(s);

	if (!ended && !s->stuck)
		egs_log_warn("GPUs of %s are not sampled: the sampler process "
			     "hangs in the kernel, and SIGKILL does not end it",
			     s->conf.node);
	s->stuck = !ended;
	egs_timer_start(s->timer, ended ? choose_pause_ms(s, s->failures)
					: REAP_AGAIN_MS);
}

static void on_timer(void *arg, uint32_t events)
{
	struct egs_gpu_sampler *s = arg;
	struct egs_err why;

	(void)events;
	if (s->pid && s->fd < 0) {
		check_end(s);
	} else if (!s->pid) {
		start_child(s);
	} else if (!read_batches(s)) {
		egs_errf(&why,
			 "NVIDIA's driver has not answered for %" PRIu64 " s",
			 (s->conf.patience_ms + 999) / 1000);
		report_failure(s, why.msg);
		count_failure(s);
	}
}

struct egs_gpu_sampler *
egs_gpu_sampler_new(struct egs_loop *loop,
		    const struct egs_gpu_sampler_conf *conf,
		    struct egs_err *err)
{
	struct egs_gpu_sampler *s = calloc(1, sizeof(*s));

	if (!s) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	s->conf = *conf;
	s->loop = loop;
	s->fd = -1;
	s->bytes = malloc(EGS_MSG_REQUEST_MAX);
	s->timer = egs_loop_add_timer(loop, on_timer, s, err);
	if (s->timer && s->bytes) {
		egs_timer_start(s->timer, 0);
		return s;
	}
	if (!s->bytes)
		egs_errf(err, "out of memory");
	egs_gpu_sampler_free(s);
	return NULL;
}

/* A driver that hangs must not delay the end of egs-noded for long. */
static void restore_at_end(const struct egs_gpu_sampler *s)
{
	uint64_t end = egs_now_ms() + RESTORE_MS;
	pid_t pid;

	if (!s->conf.caps_path || access(s->conf.caps_path, F_OK) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		restore_limits(&s->conf);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 &&
	       egs_now_ms() < end)
		poll(NULL, 0, 10);
}

void egs_gpu_sampler_free(struct egs_gpu_sampler *sampler)
{
	if (!sampler)
		return;
	stop_child(sampler);
	reap_child(sampler);
	restore_at_end(sampler);
	egs_watch_free(sampler->timer);
	free(sampler->bytes);
	free(sampler);
}

pid_t egs_gpu_sampler_pid(const struct egs_gpu_sampler *sampler)
{
	return sampler->pid;
}
