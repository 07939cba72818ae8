/* report.c - reports, read by a process of their own
 *
 * The loop starts egs-policyd --report aside and goes on; the client's request
 * is held until that has ended, and what it wrote is the answer.  Who asks the
 * same at the same time gets the same answer.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/child.h"
#include "common/base/fd.h"
#include "common/base/hash.h"
#include "common/conf/slurm_conf.h"
#include "policyd/requests/requests.h"
#include "policyd/slurm/user_cache.h"

enum {
	READERS_MAX = 4,
	REPORT_TIMEOUT_MS = 300 * 1000,
};

/* What is asked: the child knows more than the client says. */
struct report_query {
	const char *conf_path, *dir;
	const struct egs_msg *request;
	uid_t uid;
	bool all; /* an operator */
};

struct report_reader {
	struct egs_daemon *d;
	uint64_t key; /* of who asks what; 0: it is free */
	struct egs_child child;
	struct egs_watch *watch;
	struct egs_err err;
	int rc; /* 1: it is reading */
};

struct egs_report_readers {
	struct report_reader list[READERS_MAX];
};

/* ---- in the child, which may block ---- */

static void exec_report(const struct report_query *ask, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execl("/proc/self/exe", "egs-policyd", "-f", ask->conf_path,
		      "--report", (char *)NULL);
	_exit(127);
}

/* The client's words that mean something, and who he is. */
static struct egs_msg *build_request(const struct report_query *ask)
{
	static const char *const words[] = { "report", "by",	    "unit",
					     "users",  "name",	    "accounts",
					     "cause",  "partitions" };
	static const char *const numbers[] = { "from", "to", "after", "every" };
	const char *me = egs_user_cache_name(ask->uid, time(NULL));
	struct egs_msg *full = egs_msg_new();
	struct egs_slurm_conf slurm;
	int64_t value;
	size_t i;

	for (i = 0; full && i < ARRAY_SIZE(words); i++)
		egs_msg_set_str(full, words[i],
				egs_msg_get_str(ask->request, words[i]));
	for (i = 0; full && i < ARRAY_SIZE(numbers); i++)
		if (egs_msg_get_int(ask->request, numbers[i], &value))
			egs_msg_set_int(full, numbers[i], value);
	if (!full)
		return NULL;
	egs_msg_set_str(full, "dir", ask->dir);
	egs_msg_set_str(full, "me", me ? me : "?");
	if (ask->all)
		return full;
	egs_slurm_conf_read(&slurm, NULL);
	egs_msg_set_str(full, "user", me ? me : "?");
	egs_msg_set_str(full, "private", slurm.private_data);
	return full;
}

static int exchange_report(pid_t pid, int to, int from,
			   const struct egs_msg *request, struct egs_buf *got,
			   struct egs_err *err)
{
	size_t len = 0;
	const char *text = egs_msg_to_text(request, &len);
	int rc = text ? egs_write_all(to, text, len) : -1;
	int status;

	close(to);
	if (rc == 0)
		rc = egs_buf_read_fd(got, from, EGS_MSG_ANSWER_MAX);
	close(from);
	if (rc != 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && status == 0 && got->used)
		return 0;
	return egs_errf(err,
			rc > 0 ? "the report is too long; use a shorter time"
			       : "the report could not be read");
}

static int run_report(const void *arg, char **bytes, size_t *len,
		      struct egs_err *err)
{
	const struct report_query *ask = arg;
	struct egs_msg *request = build_request(ask);
	struct egs_buf got = { .used = 0 };
	int to[2], from[2], rc;
	pid_t pid;

	if (!request || pipe(to) < 0 || pipe(from) < 0)
		return egs_errf(err, "the report could not be started");
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		exec_report(ask, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	rc = pid < 0 ? egs_errf(err, "fork: %s", strerror(errno))
		     : exchange_report(pid, to[1], from[0], request, &got, err);
	*bytes = got.bytes;
	*len = got.used;
	return rc;
}

/* ---- in the daemon ---- */

static void stop_reader(struct report_reader *r)
{
	egs_watch_free(r->watch);
	r->watch = NULL;
	if (r->key)
		egs_child_stop(&r->child);
	r->key = 0;
}

static void stop_readers(struct egs_daemon *d)
{
	struct egs_report_readers *readers =
		d->requests ? d->requests->report_readers : NULL;

	for (size_t i = 0; readers && i < READERS_MAX; i++)
		stop_reader(&readers->list[i]);
	free(readers);
}

const struct egs_part egs_report_part = {
	.name = "reports",
	.stop = stop_readers,
};

static void on_report_read(void *arg, uint32_t events)
{
	struct report_reader *r = arg;

	(void)events;
	r->rc = egs_child_read(&r->child, &r->err);
	if (r->rc > 0)
		return;
	egs_server_wake(r->d->requests->server, r->key);
	stop_reader(r);
}

/* A checksum of the request and the user who sends it. */
static uint64_t request_key(const struct egs_msg *request, uid_t uid)
{
	uint64_t key = egs_hash_u64(EGS_HASH_START, uid);
	size_t len = 0;
	const char *text = egs_msg_to_text(request, &len);

	if (text)
		key = egs_hash(key, text, len);
	return key | UINT64_C(1) << 63; /* nodes have the small ones */
}

static struct report_reader *find_reader(struct egs_daemon *d, uint64_t key)
{
	size_t i;

	if (!d->requests->report_readers)
		d->requests->report_readers =
			calloc(1, sizeof(*d->requests->report_readers));
	for (i = 0; d->requests->report_readers && i < READERS_MAX; i++)
		if (d->requests->report_readers->list[i].key == key)
			return &d->requests->report_readers->list[i];
	return NULL;
}

static int start_reader(struct egs_daemon *d, uint64_t key,
			const struct egs_peer *peer,
			const struct egs_msg *request, struct egs_err *err)
{
	const struct report_query ask = {
		.conf_path = d->conf_path,
		.dir = d->state_dir,
		.request = request,
		.uid = peer->uid,
		.all = peer->uid == 0 || egs_daemon_operator_name(d, peer->uid),
	};
	struct report_reader *r = find_reader(d, 0);

	/* What has passed since something last changed is part of it. */
	if (egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);

	if (!r)
		return egs_errf(err,
				"%d reports are being read; try again later",
				READERS_MAX);
	if (egs_child_start(&r->child, run_report, &ask, err) < 0)
		return -1;
	r->d = d;
	r->rc = 1;
	r->key = key;
	r->watch = egs_loop_add_fd(d->loop, r->child.fd, EPOLLIN,
				   on_report_read, r, err);
	if (r->watch)
		return 0;
	stop_reader(r);
	return -1;
}

int egs_verb_report(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	uint64_t key = request_key(request, peer->uid);
	const struct report_reader *r = find_reader(d, key);
	char *copy;

	if (r && r->rc < 0)
		return egs_errf(err, "%s", r->err.msg);
	if (r && r->rc == 0) {
		copy = r->child.bytes ? strdup(r->child.bytes) : NULL;
		if (!copy)
			return egs_errf(err, "out of memory");
		egs_msg_set_raw(answer, copy, r->child.len);
		return 0;
	}
	if (egs_server_is_timed_out(d->requests->server))
		return egs_errf(err, "the report takes longer than %d s",
				REPORT_TIMEOUT_MS / 1000);
	if (!r && start_reader(d, key, peer, request, err) < 0)
		return -1;
	egs_server_defer(d->requests->server, key, REPORT_TIMEOUT_MS);
	return EGS_REPLY_DEFERRED;
}
