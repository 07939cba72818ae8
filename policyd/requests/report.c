/* report.c - answer reports with a separate process
 *
 * The daemon starts egs-policyd --report and holds the client's request until
 * that process ends.  The output of the process is the answer.  Equal requests
 * of a user at the same time share one process.
 *
 * A user has few such processes, and operators have their own.  A process ends
 * when its last client leaves, and after a minute.  While a report reads the
 * store, SQLite cannot shorten the store's write-ahead log (WAL).  So no report
 * starts while the log is long, and all reports end when it is too long.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/child.h"
#include "common/base/clock.h"
#include "common/base/fd.h"
#include "common/base/hash.h"
#include "common/conf/slurm_conf.h"
#include "policyd/requests/requests.h"
#include "policyd/slurm/user_cache.h"

enum {
	/* Processes of a user, of all users, and of all operators. */
	USER_READERS = 2,
	USERS_READERS = 6,
	OPERATORS_READERS = 4,
	READERS_MAX = USERS_READERS + OPERATORS_READERS,
	/* The process ends itself, else the daemon kills it, else the client
	 * gets no answer.
	 */
	REPORT_LIMIT_S = 60,
	KILL_AFTER_MS = 65 * 1000,
	DEFER_MS = 70 * 1000,
	/* The answers of users are in the daemon's memory until sent. */
	USER_ANSWER_MAX = 8 << 20,
	READER_NICE = 10,
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
	uid_t uid;
	bool is_operator;
	bool started; /* else it waits until the WAL is short */
	uint64_t deadline_ms;
	struct egs_child child;
	struct egs_watch *watch;
	struct egs_err err;
	int rc; /* 1: the process runs */
};

struct egs_report_readers {
	struct report_reader list[READERS_MAX];
};

/* ---- in the child process, which may block ---- */

/* SQLite sorts in memory and in temporary files. */
static void limit_reader(void)
{
	static const struct {
		int what;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_CPU, REPORT_LIMIT_S },
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
		{ RLIMIT_DATA, 1U << 30 },
#endif
		{ RLIMIT_FSIZE, 256U << 20 },
		{ RLIMIT_CORE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		setrlimit(limits[i].what,
			  &(struct rlimit){ limits[i].max, limits[i].max });
	setpriority(PRIO_PROCESS, 0, READER_NICE);
}

static void exec_report(const struct report_query *query, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_reader();
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
	egs_msg_set_int(full, "limit_s", REPORT_LIMIT_S);
	egs_msg_set_str(full, "me", user ? user : "?");
	if (query->all)
		return full;
	egs_slurm_conf_read(&slurm, NULL);
	egs_msg_set_str(full, "user", user ? user : "?");
	egs_msg_set_str(full, "private", slurm.private_data);
	return full;
}

static int exchange_report(pid_t pid, int to, int from,
			   const struct egs_msg *request, size_t max,
			   struct egs_buf *output, struct egs_err *err)
{
	size_t len = 0;
	const char *text = egs_msg_to_text(request, &len);
	int rc = text ? egs_write_all(to, text, len) : -1;
	int status;

	close(to);
	if (rc == 0)
		rc = egs_buf_read_fd(output, from, max);
	close(from);
	if (rc != 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && status == 0 && output->used)
		return 0;
	return egs_errf(err,
			rc > 0 ? "the report is too long; choose a shorter "
				 "time, or fewer keys with --by"
			       : "the report could not be read; choose a "
				 "shorter time");
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
		     : exchange_report(pid, to[1], from[0], request,
				       query->all ? EGS_MSG_ANSWER_MAX
						  : USER_ANSWER_MAX,
				       &output, err);
	*bytes = output.bytes;
	*len = output.used;
	return rc;
}

/* ---- in the daemon ---- */

static void stop_reader(struct report_reader *r)
{
	egs_watch_free(r->watch);
	r->watch = NULL;
	if (r->started)
		egs_child_stop(&r->child);
	r->started = false;
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

/* Answer all clients of the reader; 'rc' and 'err' are its result. */
static void finish_reader(struct report_reader *r)
{
	egs_server_wake(r->d->requests->server, r->key);
	stop_reader(r);
}

static void fail_reader(struct report_reader *r, const char *why)
{
	r->rc = egs_errf(&r->err, "%s", why);
	finish_reader(r);
}

static void check_reader(struct report_reader *r)
{
	struct egs_server *server = r->d->requests->server;

	if (!egs_server_is_awaited(server, r->key))
		stop_reader(r);
	else if (r->deadline_ms <= egs_now_ms())
		fail_reader(r, "the report takes longer than a minute; choose "
			       "a shorter time with -S and -E");
	else if (r->started && r->d->wal_bytes > EGS_STORE_WAL_MAX)
		fail_reader(r, "the store is written too fast for this "
			       "report; try again, or choose a shorter time");
	else if (!r->started)
		egs_server_wake(server, r->key);
}

static void check_readers(struct egs_daemon *d)
{
	struct egs_report_readers *readers = d->requests->report_readers;

	for (size_t i = 0; readers && i < READERS_MAX; i++)
		if (readers->list[i].key)
			check_reader(&readers->list[i]);
}

const struct egs_part egs_report_part = {
	.name = "reports",
	.stop = stop_readers,
	.tick = check_readers,
};

static void on_report_read(void *arg, uint32_t events)
{
	struct report_reader *r = arg;

	(void)events;
	r->rc = egs_child_read(&r->child, &r->err);
	if (r->rc <= 0)
		finish_reader(r);
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

/* Is there room for a reader of this user? */
static int check_room(const struct egs_daemon *d, uid_t uid, bool is_operator,
		      struct egs_err *err)
{
	const struct report_reader *list = d->requests->report_readers->list;
	int own = 0, all = 0;
	int max = is_operator ? OPERATORS_READERS : USERS_READERS;

	for (size_t i = 0; i < READERS_MAX; i++) {
		if (!list[i].key || list[i].is_operator != is_operator)
			continue;
		all++;
		own += list[i].uid == uid;
	}
	if (!is_operator && own >= USER_READERS)
		return egs_errf(err,
				"%d of your reports are being read; wait until "
				"one of them ends",
				own);
	if (all >= max)
		return egs_errf(
			err, "%d reports are being read; try again later", all);
	return 0;
}

/* Take a free reader.  Returns NULL with 'err' set if there is none. */
static struct report_reader *take_reader(struct egs_daemon *d, uint64_t key,
					 uid_t uid, struct egs_err *err)
{
	bool is_operator = uid == 0 || egs_daemon_operator_name(d, uid);
	struct report_reader *r = find_reader(d, 0);

	if (!d->requests->report_readers) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	if (check_room(d, uid, is_operator, err) < 0)
		return NULL;
	*r = (struct report_reader){
		.d = d,
		.key = key,
		.uid = uid,
		.is_operator = is_operator,
		.deadline_ms = egs_now_ms() + KILL_AFTER_MS,
		.rc = 1,
	};
	return r;
}

static int start_reader(struct report_reader *r, const struct egs_msg *request,
			struct egs_err *err)
{
	struct egs_daemon *d = r->d;
	const struct report_query query = {
		.conf_path = d->conf_path,
		.dir = d->state_dir,
		.request = request,
		.uid = r->uid,
		.all = r->is_operator,
	};

	/* Save levels until now, because the report includes this time. */
	if (egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);

	if (egs_child_start(&r->child, run_report, &query, err) < 0)
		return -1;
	r->started = true;
	r->watch = egs_loop_add_fd(d->loop, r->child.fd, EPOLLIN,
				   on_report_read, r, err);
	return r->watch ? 0 : -1;
}

static int answer_report(const struct report_reader *r, struct egs_msg *answer,
			 struct egs_err *err)
{
	char *copy;

	if (r->rc < 0)
		return egs_errf(err, "%s", r->err.msg);
	copy = r->child.bytes ? strdup(r->child.bytes) : NULL;
	if (!copy)
		return egs_errf(err, "out of memory");
	egs_msg_set_raw(answer, copy, r->child.len);
	return 0;
}

int egs_verb_report(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	uint64_t key = request_key(request, peer->uid);
	struct report_reader *r = find_reader(d, key);

	if (r && r->rc <= 0)
		return answer_report(r, answer, err);
	if (egs_server_is_timed_out(d->requests->server))
		return egs_errf(err, "the report takes longer than %d s",
				DEFER_MS / 1000);
	if (!r && !(r = take_reader(d, key, peer->uid, err)))
		return -1;
	if (!r->started && d->wal_bytes <= EGS_STORE_WAL_LONG &&
	    start_reader(r, request, err) < 0) {
		stop_reader(r);
		return -1;
	}
	egs_server_defer(d->requests->server, key, DEFER_MS);
	return EGS_REPLY_DEFERRED;
}
