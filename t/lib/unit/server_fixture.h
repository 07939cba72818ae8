/* server_fixture.h - a server in a child process, for unit programs
 *
 * Its verbs: "ping" (answers with the peer), "fail", "again" (fails for now),
 * "big" (a table of BIG_ROWS rows), "promote" (makes the peer an operator),
 * "wait" (deferred until there is news, at most 'ms'; then wakes the requests
 * with the key 'wakes'), "news" (wakes those with key 7), "mark" (as ping, but
 * not for others), and for operators "pause".
 */
#ifndef EGS_T_SERVER_FIXTURE_H
#define EGS_T_SERVER_FIXTURE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/ipc/client.h"
#include "policyd/server/server.h"

#define BIG_ROWS  30000
#define PATIENCE  60000 /* ms; enough on a busy machine */
#define AUDIENCE  EGS_CRED_AUDIENCE_PREFIX "test"
#define PATH_SIZE 64

struct test_server {
	char dir[PATH_SIZE], path[PATH_SIZE];
	pid_t pid;
	int port;
};

static uid_t test_operator = (uid_t)-1;

static inline int verb_ping(void *arg, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	(void)arg;
	(void)err;
	egs_msg_set_int(answer, "uid", peer->uid);
	egs_msg_set_int(answer, "gid", peer->gid);
	egs_msg_set_bool(answer, "local", peer->local);
	egs_msg_set_str(answer, "word", egs_msg_get_str(request, "word"));
	return 0;
}

static inline int verb_fail(void *arg, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	(void)arg;
	(void)peer;
	(void)request;
	egs_msg_set_str(answer, "half", "done");
	return egs_errf(err, "job 7 is not yours");
}

static inline int verb_again(void *arg, const struct egs_peer *peer,
			     const struct egs_msg *request,
			     struct egs_msg *answer, struct egs_err *err)
{
	verb_fail(arg, peer, request, answer, err);
	return EGS_REPLY_RETRY;
}

static inline int verb_big(void *arg, const struct egs_peer *peer,
			   const struct egs_msg *request,
			   struct egs_msg *answer, struct egs_err *err)
{
	static const char *const columns[] = { "N", "TEXT" };

	(void)arg;
	(void)peer;
	(void)request;
	(void)err;
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	for (int i = 0; i < BIG_ROWS; i++) {
		egs_msg_add_row(answer);
		egs_msg_add_cell_int(answer, i);
		egs_msg_add_cell(answer,
				 "some words about a job that waits, long "
				 "enough to fill a socket or two");
	}
	return 0;
}

static inline int verb_promote(void *arg, const struct egs_peer *peer,
			       const struct egs_msg *request,
			       struct egs_msg *answer, struct egs_err *err)
{
	(void)arg;
	(void)request;
	(void)answer;
	(void)err;
	test_operator = peer->uid;
	return 0;
}

static struct egs_server *test_self;
static int64_t test_news;

/* Deferred until there is more news than the client has. */
static inline int verb_wait(void *arg, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	int64_t has = 0, ms = PATIENCE, key = 7, wakes = 8;

	(void)arg;
	(void)peer;
	(void)err;
	egs_msg_get_int(request, "has", &has);
	egs_msg_get_int(request, "ms", &ms);
	egs_msg_get_int(request, "key", &key);
	egs_msg_get_int(request, "wakes", &wakes);
	if (has == test_news && !egs_server_is_timed_out(test_self)) {
		egs_server_defer(test_self, (uint64_t)key, (uint32_t)ms);
		return EGS_REPLY_DEFERRED;
	}
	egs_server_wake(test_self, (uint64_t)wakes);
	egs_msg_set_int(answer, "news", test_news);
	return 0;
}

static inline int verb_news(void *arg, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	(void)arg;
	(void)peer;
	(void)request;
	(void)err;
	test_news++;
	egs_server_wake(test_self, 8); /* no request has this key */
	egs_server_wake(test_self, 7);
	egs_msg_set_int(answer, "waiting",
			(int64_t)egs_server_count_clients(test_self));
	return 0;
}

static inline bool is_test_operator(void *arg, uid_t uid)
{
	(void)arg;
	return uid == test_operator;
}

static inline void stop_loop(void *arg, uint32_t events)
{
	(void)events;
	egs_loop_stop(arg);
}

/* In the child: write the port to 'pipe_fd', then serve until SIGTERM. */
static inline int serve_test(const struct egs_server_conf *conf, int pipe_fd)
{
	struct egs_loop *loop = egs_loop_new(NULL);
	struct egs_err err = { "" };
	struct egs_server *server = egs_server_new(loop, conf, &err);
	int port = server ? egs_server_get_port(server) : -1;

	test_self = server;
	if (!server)
		fprintf(stderr, "%s\n", err.msg);
	egs_loop_add_signal(loop, SIGTERM, stop_loop, loop, NULL);
	if (write(pipe_fd, &port, sizeof(port)) == sizeof(port) && server)
		egs_loop_run(loop, NULL);
	egs_server_free(server);
	egs_loop_free(loop);
	return server ? 0 : 1;
}

/* The client that may ask for other users. */
enum { TEST_WEB_USER = 65532 };

static inline bool is_test_web_user(void *arg, uid_t uid)
{
	(void)arg;
	return uid == TEST_WEB_USER;
}

/* A server in a new directory; 'port' as in its configuration. */
static inline void test_server_start(struct test_server *t, int port,
				     uint32_t timeout_ms, const char *munged)
{
	static const struct egs_verb verbs[] = {
		{ "ping", EGS_ROLE_VIEWER, verb_ping },
		{ "fail", EGS_ROLE_ANYONE, verb_fail },
		{ "again", EGS_ROLE_ANYONE, verb_again },
		{ "big", EGS_ROLE_ANYONE, verb_big },
		{ "promote", EGS_ROLE_ANYONE, verb_promote },
		{ "wait", EGS_ROLE_ANYONE, verb_wait },
		{ "news", EGS_ROLE_ANYONE, verb_news },
		{ "pause", EGS_ROLE_OPERATOR, verb_ping },
		{ "mark", EGS_ROLE_ANYONE, verb_ping },
	};
	struct egs_server_conf conf = {
		.socket_path = t->path,
		.port = port,
		.audience = AUDIENCE,
		.munge_socket = munged,
		.timeout_ms = timeout_ms,
		.verbs = verbs,
		.nverbs = ARRAY_SIZE(verbs),
		.is_operator = is_test_operator,
		.asks_for = is_test_web_user,
	};
	int fds[2];

	snprintf(t->dir, sizeof(t->dir), "/tmp/egs-server.XXXXXX");
	if (!mkdtemp(t->dir) || chmod(t->dir, 0755) < 0 || pipe(fds) < 0)
		abort();
	snprintf(t->path, sizeof(t->path), "%.40s/sock", t->dir);
	t->pid = fork();
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		exit(serve_test(&conf, fds[1]));
	}
	close(fds[1]);
	if (read(fds[0], &t->port, sizeof(t->port)) != sizeof(t->port))
		abort();
	close(fds[0]);
}

/* Stop the server.  Returns its exit status, which sanitizers set too. */
static inline int test_server_stop(struct test_server *t)
{
	int status = -1;

	kill(t->pid, SIGTERM);
	waitpid(t->pid, &status, 0);
	unlink(t->path);
	rmdir(t->dir);
	return status;
}

/* Send 'verb' to 'where', a daemon of this user unless it names another; as
 * egs_client_call(), with '*err' "" on success.
 */
static inline int ask_for(const struct egs_endpoint *where, const char *verb,
			  int timeout_ms, struct egs_msg **answer,
			  struct egs_err *err)
{
	struct egs_msg *request = egs_msg_new();
	struct egs_endpoint by_uid = *where;
	char uid[16];
	int rc;

	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	if (!by_uid.slurm_user)
		by_uid.slurm_user = uid;
	*answer = NULL;
	err->msg[0] = '\0';
	egs_msg_set_str(request, "verb", verb);
	egs_msg_set_str(request, "word", "a\"\xc3\xa9");
	rc = egs_client_call(&by_uid, request, answer, timeout_ms, err);
	egs_msg_free(request);
	return rc;
}

/* Does the server answer? */
static inline bool is_alive(const struct egs_endpoint *where)
{
	struct egs_msg *answer;
	struct egs_err err;
	int rc = ask_for(where, "ping", PATIENCE, &answer, &err);

	egs_msg_free(answer);
	return rc == 0;
}

#endif
