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
#include "common/conf/slurm_conf.h"
#include "policyd/requests/requests.h"
#include "policyd/slurm/user_names.h"

enum {
	READERS = 4,
	PATIENCE_MS = 300 * 1000,
};

/* What is asked: the child knows more than the client says. */
struct ask {
	const char *conf_path, *dir;
	const struct egs_msg *request;
	uid_t uid;
	bool all; /* an operator */
};

struct reader {
	struct egs_daemon *d;
	uint64_t key; /* of who asks what; 0: it is free */
	struct egs_aside aside;
	struct egs_watch *news;
	struct egs_err err;
	int rc; /* 1: it is reading */
};

struct egs_readers {
	struct reader list[READERS];
};

/* ---- in the child, which may block ---- */

static void become_report(const struct ask *ask, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execl("/proc/self/exe", "egs-policyd", "-f", ask->conf_path,
		      "--report", (char *)NULL);
	_exit(127);
}

/* The client's words that mean something, and who he is. */
static struct egs_msg *full_request(const struct ask *ask)
{
	static const char *const words[] = { "report", "by",	    "unit",
					     "users",  "name",	    "accounts",
					     "cause",  "partitions" };
	static const char *const numbers[] = { "from", "to", "after", "every" };
	const char *me = egs_user_name(ask->uid, time(NULL));
	struct egs_msg *full = egs_msg_new();
	struct egs_slurm_conf slurm;
	int64_t value;
	size_t i;

	for (i = 0; full && i < ARRAY_SIZE(words); i++)
		egs_msg_set_str(full, words[i],
				egs_msg_str(ask->request, words[i]));
	for (i = 0; full && i < ARRAY_SIZE(numbers); i++)
		if (egs_msg_int(ask->request, numbers[i], &value))
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

static int converse(pid_t pid, int to, int from, const struct egs_msg *request,
		    struct egs_buf *got, struct egs_err *err)
{
	size_t len = 0;
	const char *text = egs_msg_text(request, &len);
	ssize_t n = text ? write(to, text, len) : -1;
	int status;

	close(to);
	while (n > 0 && got->used < EGS_ANSWER_MAX &&
	       egs_buf_room(got, 64 << 10)) {
		n = read(from, got->bytes + got->used, 64 << 10);
		got->used += n > 0 ? (size_t)n : 0;
	}
	close(from);
	if (n != 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n == 0 && status == 0 && got->used)
		return 0;
	return egs_errf(err, n > 0 ? "the report is too long; ask for less "
				     "time"
				   : "the report could not be read");
}

static int run_report(const void *arg, char **bytes, size_t *len,
		      struct egs_err *err)
{
	const struct ask *ask = arg;
	struct egs_msg *request = full_request(ask);
	struct egs_buf got = { .used = 0 };
	int to[2], from[2], rc;
	pid_t pid;

	if (!request || pipe(to) < 0 || pipe(from) < 0)
		return egs_errf(err, "the report could not be started");
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		become_report(ask, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	rc = pid < 0 ? egs_errf(err, "fork: %s", strerror(errno))
		     : converse(pid, to[1], from[0], request, &got, err);
	*bytes = got.bytes;
	*len = got.used;
	return rc;
}

/* ---- in the daemon ---- */

static void end_reader(struct reader *r)
{
	egs_watch_free(r->news);
	r->news = NULL;
	if (r->key)
		egs_aside_end(&r->aside);
	r->key = 0;
}

void egs_readers_free(struct egs_readers *readers)
{
	size_t i;

	for (i = 0; readers && i < READERS; i++)
		end_reader(&readers->list[i]);
	free(readers);
}

static void on_news(void *arg, uint32_t events)
{
	struct reader *r = arg;

	(void)events;
	r->rc = egs_aside_read(&r->aside, &r->err);
	if (r->rc > 0)
		return;
	egs_server_wake(r->d->server, r->key);
	end_reader(r);
}

/* FNV-1a over the request and who asks it. */
static uint64_t key_of(const struct egs_msg *request, uid_t uid)
{
	uint64_t key = UINT64_C(14695981039346656037) ^ uid;
	size_t len = 0, i;
	const char *text = egs_msg_text(request, &len);

	for (i = 0; text && i < len; i++)
		key = (key ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return key | UINT64_C(1) << 63; /* nodes have the small ones */
}

static struct reader *find(struct egs_daemon *d, uint64_t key)
{
	size_t i;

	if (!d->readers)
		d->readers = calloc(1, sizeof(*d->readers));
	for (i = 0; d->readers && i < READERS; i++)
		if (d->readers->list[i].key == key)
			return &d->readers->list[i];
	return NULL;
}

static int start(struct egs_daemon *d, uint64_t key,
		 const struct egs_peer *peer, const struct egs_msg *request,
		 struct egs_err *err)
{
	const struct ask ask = {
		.conf_path = d->conf_path,
		.dir = d->state_dir,
		.request = request,
		.uid = peer->uid,
		.all = peer->uid == 0 || egs_daemon_operator(d, peer->uid),
	};
	struct reader *r = find(d, 0);

	/* What has passed since something last changed is part of it. */
	if (egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);

	if (!r)
		return egs_errf(err, "%d reports are being read; ask again",
				READERS);
	if (egs_aside_start(&r->aside, run_report, &ask, err) < 0)
		return -1;
	r->d = d;
	r->rc = 1;
	r->key = key;
	r->news = egs_loop_fd(d->loop, r->aside.fd, EPOLLIN, on_news, r, err);
	if (r->news)
		return 0;
	end_reader(r);
	return -1;
}

int egs_verb_report(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	uint64_t key = key_of(request, peer->uid);
	const struct reader *r = find(d, key);
	char *copy;

	if (r && r->rc < 0)
		return egs_errf(err, "%s", r->err.msg);
	if (r && r->rc == 0) {
		copy = r->aside.bytes ? strdup(r->aside.bytes) : NULL;
		if (!copy)
			return egs_errf(err, "out of memory");
		egs_msg_say(answer, copy, r->aside.len);
		return 0;
	}
	if (egs_server_is_last(d->server))
		return egs_errf(err, "the report takes longer than %d s",
				PATIENCE_MS / 1000);
	if (!r && start(d, key, peer, request, err) < 0)
		return -1;
	egs_server_hold(d->server, key, PATIENCE_MS);
	return EGS_VERB_LATER;
}
