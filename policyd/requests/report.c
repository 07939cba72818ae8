/* report.c - answer reports with a separate process
 *
 * The daemon starts egs-policyd --report and holds the client's request until
 * that process ends.  The output of the process is the answer.  Equal requests
 * of a user at the same time share one process.
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

/* The request of a client, and values that the daemon adds. */
struct report_query {
	const char *conf_path, *dir;
	const struct egs_msg *request;
	uid_t uid;
	bool all; /* the client is an operator */
};

struct report_reader {
	struct egs_daemon *d;
	uint64_t key; /* checksum of request and client; 0: this reader is free
		       */
	struct egs_child child;
	struct egs_watch *watch;
	struct egs_err err;
	int rc; /* 1: the process runs */
};

struct egs_report_readers {
	struct report_reader list[READERS_MAX];
};

/* ---- in the child process, which may block ---- */

static void exec_report(const struct report_query *query, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execl("/proc/self/exe", "egs-policyd", "-f", query->conf_path,
		      "--report", (char *)NULL);
	_exit(127);
}

/* Returns the known keys of the client's request, and the name of the user. */
static struct egs_msg *build_request(const struct report_query *query)
{
	static const char *const keys[] = { "report", "by",	   "unit",
					    "users",  "name",	   "accounts",
					    "cause",  "partitions" };
	static const char *const numbers[] = { "from", "to", "after", "every" };
	const char *user = egs_user_cache_name(query->uid, time(NULL));
	struct egs_msg *full = egs_msg_new();
	struct egs_slurm_conf slurm;
	int64_t value;
	size_t i;

	for (i = 0; full && i < ARRAY_SIZE(keys); i++)
		egs_msg_set_str(full, keys[i],
				egs_msg_get_str(query->request, keys[i]));
	for (i = 0; full && i < ARRAY_SIZE(numbers); i++)
		if (egs_msg_get_int(query->request, numbers[i], &value))
			egs_msg_set_int(full, numbers[i], value);
	if (!full)
		return NULL;
	egs_msg_set_str(full, "dir", query->dir);
	egs_msg_set_str(full, "me", user ? user : "?");
	if (query->all)
		return full;
	egs_slurm_conf_read(&slurm, NULL);
	egs_msg_set_str(full, "user", user ? user : "?");
	egs_msg_set_str(full, "private", slurm.private_data);
	return full;
}

static int exchange_report(pid_t pid, int to, int from,
			   const struct egs_msg *request,
			   struct egs_buf *output, struct egs_err *err)
{
	size_t len = 0;
	const char *text = egs_msg_to_text(request, &len);
	int rc = text ? egs_write_all(to, text, len) : -1;
	int status;

	close(to);
	if (rc == 0)
		rc = egs_buf_read_fd(output, from, EGS_MSG_ANSWER_MAX);
	close(from);
	if (rc != 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && status == 0 && output->used)
		return 0;
	return egs_errf(err,
			rc > 0 ? "the report is too long; use a shorter time"
			       : "the report could not be read");
}

static int run_report(const void *arg, char **bytes, size_t *len,
		      struct egs_err *err)
{
	const struct report_query *query = arg;
	struct egs_msg *request = build_request(query);
	struct egs_buf output = { .used = 0 };
	int to[2], from[2], rc;
	pid_t pid;

	if (!request || pipe(to) < 0 || pipe(from) < 0)
		return egs_errf(err, "the report could not be started");
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		exec_report(query, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	rc = pid < 0 ? egs_errf(err, "fork: %s", strerror(errno))
		     : exchange_report(pid, to[1], from[0], request, &output,
				       err);
	*bytes = output.bytes;
	*len = output.used;
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

/* Returns a checksum of the request and its client. */
static uint64_t request_key(const struct egs_msg *request, uid_t uid)
{
	uint64_t key = egs_hash_u64(EGS_HASH_START, uid);
	size_t len = 0;
	const char *text = egs_msg_to_text(request, &len);

	if (text)
		key = egs_hash(key, text, len);
	return key | UINT64_C(1) << 63; /* nodes use small keys */
}

static struct report_reader *find_reader(struct egs_daemon *d, uint64_t key)
{
	if (!d->requests->report_readers)
		d->requests->report_readers =
			calloc(1, sizeof(*d->requests->report_readers));
	for (size_t i = 0; d->requests->report_readers && i < READERS_MAX; i++)
		if (d->requests->report_readers->list[i].key == key)
			return &d->requests->report_readers->list[i];
	return NULL;
}

static int start_reader(struct egs_daemon *d, uint64_t key,
			const struct egs_peer *peer,
			const struct egs_msg *request, struct egs_err *err)
{
	const struct report_query query = {
		.conf_path = d->conf_path,
		.dir = d->state_dir,
		.request = request,
		.uid = peer->uid,
		.all = peer->uid == 0 || egs_daemon_operator_name(d, peer->uid),
	};
	struct report_reader *r = find_reader(d, 0);

	/* Save levels until now, because the report includes this time. */
	if (egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);

	if (!r)
		return egs_errf(err,
				"%d reports are being read; try again later",
				READERS_MAX);
	if (egs_child_start(&r->child, run_report, &query, err) < 0)
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
