/* server.c - the daemon's door, on the Unix socket, and its client
 *
 * Clients that are slow, silent, many or mad do not keep others from their
 * answers.
 */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "common/ipc/packet.h"
#include "t/lib/unit/server_fixture.h"
#include "t/lib/unit/tap.h"

enum { NOBODY = 65533 }; /* 65534 becomes an operator here */

static int dial(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = PATIENCE / 1000 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		note("connect: %s", strerror(errno));
	return fd;
}

/* Dial as user 'uid': the kernel tells the server who connected. */
static int dial_as(uid_t uid, const char *path)
{
	int fd;

	if (seteuid(uid) < 0)
		note("seteuid: %s", strerror(errno));
	fd = dial(path);
	if (seteuid(getuid()) < 0)
		exit(1);
	return fd;
}

static size_t packet(char *to, const char *text)
{
	size_t len = strlen(text);

	egs_packet_put_head(to, len);
	memcpy(to + EGS_PACKET_HEAD_SIZE, text, len);
	return EGS_PACKET_HEAD_SIZE + len;
}

static void put(int fd, const char *bytes, size_t len)
{
	if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		note("send: %s", strerror(errno));
}

/* The next packet's text, "" when the server has closed the connection. */
static const char *get(int fd)
{
	static char text[4096];
	char head[EGS_PACKET_HEAD_SIZE];
	size_t len;

	if (recv(fd, head, sizeof(head), MSG_WAITALL) != sizeof(head))
		return "";
	len = egs_packet_get_head(head);
	if (len >= sizeof(text) ||
	    recv(fd, text, len, MSG_WAITALL) != (ssize_t)len)
		return "";
	text[len] = '\0';
	return text;
}

static bool is_pong(const char *text)
{
	return strncmp(text, "{\"ok\":true,", 11) == 0;
}

/* Has the server closed the connection, or does it within a minute? */
static bool is_dropped(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, PATIENCE) == 1;
}

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 +
	       (now.tv_nsec - start->tv_nsec) / 1000000;
}

static void test_answers(const struct egs_endpoint *where)
{
	struct egs_msg *answer;
	struct egs_err err;
	int64_t uid = -1, gid = -1;
	size_t columns = 0, rows = 0;

	is_int(ask_for(where, "ping", PATIENCE, &answer, &err), 0,
	       "a request is answered %s", err.msg);
	if (!answer)
		return;
	ok(egs_msg_get_int(answer, "uid", &uid) && uid == getuid() &&
		   egs_msg_get_int(answer, "gid", &gid) && gid == getgid(),
	   "a local request has the uid and gid of the kernel");
	ok(egs_msg_is_true(answer, "local"),
	   "a request on the Unix socket is local");
	is_str(egs_msg_get_str(answer, "word"), "a\"\xc3\xa9",
	       "a request arrives unchanged");
	egs_msg_free(answer);

	is_int(ask_for(where, "fail", PATIENCE, &answer, &err),
	       EGS_CLIENT_REFUSED, "a verb that fails is a refusal");
	is_str(err.msg, "job 7 is not yours", "a refusal has the error");
	is_int(ask_for(where, "again", PATIENCE, &answer, &err),
	       EGS_CLIENT_RETRY, "a verb that fails for now is a retry");
	is_str(err.msg, "job 7 is not yours", "a retry has the error");
	is_int(ask_for(where, "pign", PATIENCE, &answer, &err),
	       EGS_CLIENT_REFUSED, "an unknown verb is refused");
	is_str(err.msg,
	       "'pign' is not a verb; did you mean 'ping'? "
	       "(verbs: ping, fail, again, big, promote, wait, news, pause, "
	       "mark)",
	       "an unknown verb is refused with a suggestion");
	ask_for(where, "frobnicate", PATIENCE, &answer, &err);
	is_str(err.msg,
	       "'frobnicate' is not a verb "
	       "(verbs: ping, fail, again, big, promote, wait, news, pause, "
	       "mark)",
	       "an unknown verb without a similar one has no suggestion");

	is_int(ask_for(where, "big", PATIENCE, &answer, &err), 0,
	       "a large answer arrives %s", err.msg);
	ok(answer && egs_msg_check_table(answer, &columns, &rows, &err) == 0 &&
		   rows == BIG_ROWS,
	   "a large answer is complete");
	egs_msg_free(answer);
}

/* In a child, as nobody: is refused, promoted and served. */
static int as_nobody(const struct egs_endpoint *where)
{
	struct egs_msg *answer;
	struct egs_err err;
	int rc = 0;

	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	if (ask_for(where, "pause", PATIENCE, &answer, &err) !=
		    EGS_CLIENT_REFUSED ||
	    strcmp(err.msg, "'pause' is for operators") != 0)
		rc = 2;
	else if (ask_for(where, "promote", PATIENCE, &answer, &err) < 0)
		rc = 3;
	egs_msg_free(answer);
	if (rc == 0 && ask_for(where, "pause", PATIENCE, &answer, &err) < 0)
		rc = 4;
	egs_msg_free(answer);
	return rc;
}

/* A listener of another user in the place of the daemon. */
static void test_listener(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX,
				    .sun_path = "/tmp/egs-listener.XXXXXX" };
	struct egs_endpoint where = { .address = addr.sun_path };
	struct egs_msg *answer;
	struct egs_err err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!mkdtemp(addr.sun_path) || rmdir(addr.sun_path) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    seteuid(65534) < 0 || listen(fd, 5) < 0 || seteuid(0) < 0)
		exit(1);
	is_int(ask_for(&where, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_FORGED,
	       "a Unix socket of another user is not believed");
	ok(strstr(err.msg, "it is of uid 65534"), "%s", err.msg);
	where.slurm_user = "65534";
	is_int(ask_for(&where, "ping", 200, &answer, &err),
	       EGS_CLIENT_UNREACHABLE,
	       "a Unix socket of SlurmUser is waited for: %s", err.msg);
	close(fd);
	unlink(addr.sun_path);
}

static void test_roles(const struct egs_endpoint *where)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(as_nobody(where));
	waitpid(pid, &status, 0);
	is_int(status, 0, "only operators may call a verb for operators");
}

static void test_packets(const struct test_server *t)
{
	char bytes[256];
	size_t len = packet(bytes, "{\"verb\":\"ping\"}");
	int fd = dial(t->path);

	for (size_t i = 0; i < len; i++)
		put(fd, bytes + i, 1);
	ok(is_pong(get(fd)), "a request that arrives byte by byte is answered");
	for (int i = 0; i < 20; i++)
		put(fd, bytes, len);
	for (int i = 0; i < 19; i++)
		get(fd);
	ok(is_pong(get(fd)),
	   "a request sent before the last answer is answered");
	len = packet(bytes, "{\"verb\":");
	put(fd, bytes, len);
	is_str(get(fd), "{\"error\":\"the message is not JSON\"}",
	       "a request that is not JSON is refused");
	len = packet(bytes, "{}");
	put(fd, bytes, len);
	is_str(get(fd), "{\"error\":\"the request has no verb\"}",
	       "a request after a refused one is served");
	put(fd, bytes, len - 1);
	shutdown(fd, SHUT_WR);
	is_str(get(fd), "", "half a request gets no answer");
	close(fd);
	fd = dial(t->path);
	put(fd, bytes, len);
	shutdown(fd, SHUT_WR);
	is_str(get(fd), "{\"error\":\"the request has no verb\"}",
	       "a client that has shut down writing gets its answer");
	close(fd);
}

static void test_oversize(const struct test_server *t)
{
	char *bytes = calloc(1, 1U << 20);
	int fd = dial(t->path);

	egs_packet_put_head(bytes, 1U << 20);
	put(fd, bytes, 1U << 20);
	is_str(get(fd),
	       "{\"error\":\"the request has 1048576 bytes, "
	       "the limit is 65536\"}",
	       "a request that is too long is refused while it arrives");
	is_str(get(fd), "",
	       "a connection is closed after a request that is too long");
	close(fd);
	free(bytes);
}

/* Wrong lengths and damaged texts, the same bytes every time. */
static void test_fuzz(const struct egs_endpoint *where)
{
	uint32_t r = 7;
	char bytes[300];

	for (int i = 0; i < 400; i++) {
		int fd = dial(where->address);
		size_t len = packet(bytes, "{\"verb\":\"ping\",\"a\":[1,{}]}");

		for (int k = 0; k <= i % 5; k++) {
			r = r * 1664525 + 1013904223;
			bytes[(r >> 16) % len] = (char)(r >> 8);
		}
		if (i % 2)
			egs_packet_put_head(bytes, (r >> 20) % len);
		put(fd, bytes, i % 3 ? len : (r >> 16) % len);
		if (i % 7 == 0)
			shutdown(fd, SHUT_RDWR);
		close(fd);
	}
	ok(is_alive(where),
	   "a request is answered after 400 clients sent damaged bytes");
}

static void test_crowd(const struct egs_endpoint *where)
{
	enum { CROWD = 300, IDLE = 600 };
	static int fd[IDLE];
	char bytes[64];
	size_t len = packet(bytes, "{\"verb\":\"ping\"}");
	int pongs = 0, dropped = 0;

	for (int i = 0; i < CROWD; i++)
		fd[i] = dial(where->address);
	for (int i = 0; i < CROWD; i++)
		put(fd[i], bytes, len);
	for (int i = 0; i < CROWD; i++)
		pongs += is_pong(get(fd[i]));
	is_int(pongs, CROWD, "300 clients at once are all answered");
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	for (int i = 0; i < IDLE; i++)
		fd[i] = dial_as(NOBODY, where->address);
	ok(is_alive(where),
	   "root is answered while 600 clients of a user are idle");
	for (int i = 0; i < IDLE - 512; i++)
		dropped += is_dropped(fd[i]);
	is_int(dropped, IDLE - 512,
	       "clients of a user that are idle for longest are dropped");
	put(fd[IDLE - 1], bytes, len);
	ok(is_pong(get(fd[IDLE - 1])),
	   "the last client of a user is not dropped");
	for (int i = 0; i < IDLE; i++)
		close(fd[i]);
}

/* Requests of one user that wait for an answer. */
static void test_held(const struct egs_endpoint *where)
{
	enum { USER_MAX = 256, KEY_MAX = 8, MANY = 300 };
	static int fd[MANY];
	static const char busy[] =
		"{\"error\":\"too many requests of this user wait for an "
		"answer\",\"again\":true}";
	char bytes[64];

	for (int i = 0; i <= KEY_MAX; i++) {
		fd[i] = dial_as(NOBODY, where->address);
		put(fd[i], bytes, packet(bytes, "{\"verb\":\"wait\"}"));
	}
	is_str(get(fd[KEY_MAX]), busy,
	       "a user has %d waiting requests for one thing", KEY_MAX);
	for (int i = 0; i <= KEY_MAX; i++)
		close(fd[i]);
	for (int i = 0; i < MANY; i++) {
		snprintf(bytes + 32, 32, "{\"verb\":\"wait\",\"key\":%d}",
			 100 + i);
		fd[i] = dial_as(NOBODY, where->address);
		put(fd[i], bytes, packet(bytes, bytes + 32));
	}
	is_str(get(fd[MANY - 1]), busy, "a user has %d waiting requests",
	       USER_MAX);
	close(fd[0]);
	fd[0] = dial_as(NOBODY - 1, where->address);
	put(fd[0], bytes, packet(bytes, "{\"verb\":\"wait\",\"ms\":1}"));
	is_str(get(fd[0]), "{\"ok\":true,\"news\":0}",
	       "a request of another user may wait then");
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
}

/* Send 'text' on each of 'n' new connections. */
static void ask_many(const struct egs_endpoint *where, const char *text,
		     int *fd, int n)
{
	char bytes[64];
	size_t len = packet(bytes, text);

	for (int i = 0; i < n; i++) {
		fd[i] = dial(where->address);
		put(fd[i], bytes, len);
	}
}

static int count_answers(const int *fd, int n, const char *want)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += strcmp(get(fd[i]), want) == 0;
	return count;
}

/* Answers that are deferred until there is news. */
static void test_deferred(const struct egs_endpoint *where)
{
	enum { MANY = 700, GONE = 100 };
	static int fd[MANY];
	struct egs_msg *answer;
	struct egs_err err;
	int64_t clients = 0;

	ask_many(where, "{\"verb\":\"wait\"}", fd, MANY);
	ok(is_alive(where),
	   "a request is answered while 700 requests are deferred");
	for (int i = 0; i < GONE; i++)
		close(fd[i]);
	is_int(ask_for(where, "news", PATIENCE, &answer, &err), 0,
	       "a verb that wakes deferred requests is answered %s", err.msg);
	is_int(count_answers(fd + GONE, MANY - GONE,
			     "{\"ok\":true,\"news\":1}"),
	       MANY - GONE,
	       "deferred requests are answered when they are woken");
	egs_msg_free(answer);
	for (int i = GONE; i < MANY; i++)
		close(fd[i]);
	for (int i = 0; i < 600 && clients != 1; i++) {
		ask_for(where, "news", PATIENCE, &answer, &err);
		if (!answer || !egs_msg_get_int(answer, "waiting", &clients))
			clients = -1;
		egs_msg_free(answer);
		poll(NULL, 0, 100);
	}
	is_int(clients, 1, "clients that hung up are dropped");
}

/* A deferred request that wakes the next one in the server's list. */
static void test_nested_wake(void)
{
	static const char *const requests[] = {
		"{\"verb\":\"wait\",\"wakes\":9}",
		"{\"verb\":\"wait\",\"key\":9}",
		"{\"verb\":\"wait\",\"ms\":600000}",
	};
	struct test_server t = { .pid = -1 };
	struct egs_endpoint where = { .address = t.path };
	struct egs_msg *answer;
	struct egs_err err;
	int fd[3];

	test_server_start(&t, 0, PATIENCE, NULL);
	for (int i = 0; i < 3; i++) {
		ask_many(&where, requests[i], &fd[i], 1);
		is_alive(&where); /* so it is deferred before the next */
	}
	ask_for(&where, "news", PATIENCE, &answer, &err);
	egs_msg_free(answer);
	is_int(count_answers(fd, 3, "{\"ok\":true,\"news\":1}"), 3,
	       "all deferred requests are answered if one wakes another");
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	is_int(test_server_stop(&t), 0,
	       "a server whose requests wake each other exits with 0");
}

/* With a server of little patience. */
static void test_slow(void)
{
	struct test_server t = { .pid = -1 };
	char bytes[64] = "";
	struct pollfd p = { .events = 0 };
	size_t len;
	int fd;

	test_server_start(&t, 0, 300, NULL);
	fd = dial(t.path);
	ok(is_dropped(fd), "a client that sends nothing is dropped");
	close(fd);

	p.fd = fd = dial(t.path);
	egs_packet_put_head(bytes, EGS_MSG_REQUEST_MAX);
	put(fd, bytes, EGS_PACKET_HEAD_SIZE);
	for (int i = 0; i < 6000 && poll(&p, 1, 10) == 0; i++)
		send(fd, " ", 1, MSG_NOSIGNAL);
	ok(p.revents, "a client that never completes a request is dropped");
	close(fd);

	ask_many(&(struct egs_endpoint){ .address = t.path },
		 "{\"verb\":\"wait\",\"ms\":1}", &fd, 1);
	is_int(count_answers(&fd, 1, "{\"ok\":true,\"news\":0}"), 1,
	       "a deferred request is answered at its deadline");
	close(fd);

	fd = dial(t.path);
	len = packet(bytes, "{\"verb\":\"big\"}");
	put(fd, bytes, len);
	ok(is_dropped(fd), "a client that does not read its answer is dropped");
	close(fd);
	is_int(test_server_stop(&t), 0, "the server exits with 0");
}

/* In a child: a daemon that says a byte now and then. */
static void trickle(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char head[EGS_PACKET_HEAD_SIZE];

	egs_packet_put_head(head, 1000);
	put(fd, head, sizeof(head));
	while (send(fd, " ", 1, MSG_NOSIGNAL) == 1)
		usleep(20000);
}

static void test_unreachable(struct test_server *t)
{
	struct egs_endpoint where = { .address = "/nonexistent/sock" };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct egs_msg *answer;
	struct timespec start;
	struct egs_err err;
	pid_t pid;

	is_int(ask_for(&where, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_UNREACHABLE, "a missing socket is unreachable");
	is_str(err.msg,
	       "egs-policyd at /nonexistent/sock: No such file or directory",
	       "a missing socket is named");

	where.address = t->path;
	kill(t->pid, SIGSTOP);
	clock_gettime(CLOCK_MONOTONIC, &start);
	is_int(ask_for(&where, "ping", 300, &answer, &err),
	       EGS_CLIENT_UNREACHABLE,
	       "a stopped daemon is unreachable after the timeout");
	ok(strstr(err.msg, "no answer within 0.300 s"), "%s", err.msg);
	ok(ms_since(&start) < PATIENCE / 2, "the timeout of 300 ms took %ld ms",
	   ms_since(&start));
	kill(t->pid, SIGCONT);
	ok(is_alive(&where), "a daemon that continues answers");

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.t", t->path);
	where.address = addr.sun_path;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, 5) < 0)
		note("listen: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		trickle(fd);
		_exit(0);
	}
	is_int(ask_for(&where, "ping", 300, &answer, &err),
	       EGS_CLIENT_UNREACHABLE,
	       "a daemon that answers byte by byte is unreachable after the "
	       "timeout");
	ok(strstr(err.msg, "no answer within 0.300 s"), "%s", err.msg);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	unlink(addr.sun_path);
}

static void test_end(struct test_server *t)
{
	struct egs_loop *loop = egs_loop_new(NULL);
	struct egs_server_conf conf = { .socket_path = "/nonexistent/sock" };
	int fd = dial(t->path);
	struct egs_err err;

	is_int(test_server_stop(t), 0,
	       "the server exits with 0 while it has clients");
	is_str(get(fd), "", "a server that ends closes its connections");
	close(fd);
	ok(access(t->path, F_OK) < 0, "a server that ends removes its socket");
	ok(!egs_server_new(loop, &conf, &err),
	   "a server in a missing directory is refused: %s", err.msg);
	egs_loop_free(loop);
}

int main(void)
{
	struct rlimit files;
	struct test_server t = { .pid = -1 };
	struct egs_endpoint where = { .address = t.path };

	plan_none();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 1024) {
		files.rlim_cur = files.rlim_max < 1024 ? files.rlim_max : 1024;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	test_server_start(&t, 0, PATIENCE, NULL);
	test_answers(&where);
	if (geteuid() == 0)
		test_listener();
	test_roles(&where);
	test_packets(&t);
	test_oversize(&t);
	test_fuzz(&where);
	test_crowd(&where);
	test_held(&where);
	test_deferred(&where);
	test_nested_wake();
	test_slow();
	test_unreachable(&t);
	test_end(&t);
	return done_testing();
}
