/* server_tcp.c - the daemon's door on TCP, with a munged of its own */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "common/ipc/packet.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/server_fixture.h"
#include "t/lib/unit/tap.h"

static void test_answers(const struct egs_endpoint *tcp)
{
	struct egs_endpoint other = *tcp;
	struct egs_msg *answer;
	struct egs_err err;
	int64_t uid = -1;
	size_t columns = 0, rows = 0;

	is_int(ask_for(tcp, "ping", PATIENCE, &answer, &err), 0,
	       "a request over TCP is answered %s", err.msg);
	ok(answer && egs_msg_get_int(answer, "uid", &uid) && uid == getuid(),
	   "a TCP request has the uid of its credential");
	ok(answer && !egs_msg_is_true(answer, "local"),
	   "a TCP request is not local");
	egs_msg_free(answer);
	is_int(ask_for(tcp, "fail", PATIENCE, &answer, &err),
	       EGS_CLIENT_REFUSED, "a verb that fails over TCP is a refusal");
	is_str(err.msg, "job 7 is not yours",
	       "a refusal over TCP has the error");
	is_int(ask_for(tcp, "big", PATIENCE, &answer, &err), 0,
	       "a large answer arrives over TCP %s", err.msg);
	ok(answer && egs_msg_check_table(answer, &columns, &rows, &err) == 0 &&
		   rows == BIG_ROWS,
	   "a large answer over TCP is complete");
	egs_msg_free(answer);

	other.cred.audience = EGS_CRED_AUDIENCE_PREFIX "other";
	is_int(ask_for(&other, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_FORGED, "a request for another cluster is refused");
	ok(strstr(err.msg,
		  "the request is meant for another daemon than " AUDIENCE),
	   "the refusal names the cluster of the daemon: %s", err.msg);
	other.address = "localhost";
	is_int(ask_for(&other, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_UNREACHABLE,
	       "an address without a port is refused: %s", err.msg);
}

/* More at once than are decoded at a time. */
static void test_crowd(const struct egs_endpoint *tcp)
{
	enum { CLIENTS = 40 };
	pid_t pid[CLIENTS];
	int fine = 0;

	for (int i = 0; i < CLIENTS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(is_alive(tcp) ? 0 : 1);
	}
	for (int i = 0; i < CLIENTS; i++) {
		int status = -1;

		waitpid(pid[i], &status, 0);
		fine += status == 0;
	}
	is_int(fine, CLIENTS, "40 TCP clients at once are all answered");
}

/* Two controllers, of which one is dead. */
static void test_backup(const struct egs_endpoint *tcp)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int dead = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);
	struct egs_endpoint where = *tcp;
	struct egs_msg *answer;
	struct egs_err err;
	char at[512];

	/* A port that is bound and has no listener. */
	if (bind(dead, (struct sockaddr *)&addr, len) < 0 ||
	    getsockname(dead, (struct sockaddr *)&addr, &len) < 0)
		exit(1);
	snprintf(at, sizeof(at), "127.0.0.1:%d,%s", ntohs(addr.sin_port),
		 tcp->address);
	where.address = at;
	ok(is_alive(&where), "a dead controller before a live one is skipped");
	snprintf(at, sizeof(at), "%s,127.0.0.1:%d", tcp->address,
		 ntohs(addr.sin_port));
	ok(is_alive(&where),
	   "a dead controller after a live one does not matter");
	snprintf(at, sizeof(at), "127.0.0.1:%d,127.0.0.1:%d",
		 ntohs(addr.sin_port), ntohs(addr.sin_port));
	is_int(ask_for(&where, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_UNREACHABLE, "two dead controllers are unreachable");
	ok(strstr(err.msg, "Connection refused"), "%s", err.msg);
	close(dead);
}

/* ---- a listener that is not the daemon ---- */

struct fake {
	int port;
	pid_t pid;
};

/* Answer each client with the packet 'text' of 'len' bytes, cut after 'cut'. */
static void run_fake(int listener, const char *text, size_t len, size_t cut)
{
	char head[EGS_PACKET_HEAD_SIZE], request[16384];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	egs_packet_put_head(head, len);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		/* The whole request is in the socket before the answer. */
		recv(fd, request, sizeof(request), 0);
		send(fd, head, sizeof(head), MSG_NOSIGNAL);
		send(fd, text, cut, MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		while (recv(fd, request, sizeof(request), 0) > 0)
			;
		close(fd);
	}
}

static struct fake start_fake(const char *text, size_t len, size_t cut)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(addr);
	struct fake fake;

	if (bind(fd, (struct sockaddr *)&addr, size) < 0 || listen(fd, 5) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &size) < 0)
		exit(1);
	fake.port = ntohs(addr.sin_port);
	fake.pid = fork();
	if (fake.pid == 0)
		run_fake(fd, text, len, cut);
	close(fd);
	return fake;
}

/* The listener gives this answer alone, then before the daemon in a list. */
static void try_fake(const struct egs_endpoint *tcp, const char *what,
		     const char *text, size_t len, size_t cut, int want,
		     const char *why)
{
	struct fake fake = start_fake(text, len, cut);
	struct egs_endpoint where = *tcp;
	struct egs_msg *answer = NULL;
	struct egs_err err;
	char at[128];

	snprintf(at, sizeof(at), "127.0.0.1:%d", fake.port);
	where.address = at;
	is_int(ask_for(&where, "ping", PATIENCE, &answer, &err), want,
	       "%s is not believed", what);
	ok(!answer && strstr(err.msg, why), "%s: %s", what, err.msg);
	snprintf(at, sizeof(at), "127.0.0.1:%d,%s", fake.port, tcp->address);
	ok(is_alive(&where), "after %s the next controller is asked", what);
	kill(fake.pid, SIGKILL);
	waitpid(fake.pid, NULL, 0);
}

static void test_fakes(const struct egs_endpoint *tcp)
{
	static const char yes[] = "{\"ok\":true}";
	static const char no[] = "{\"error\":\"go \\u001b]0;away\"}";
	struct egs_err err;
	char *cred = NULL;
	uint64_t id;

	try_fake(tcp, "an answer without a credential", yes, strlen(yes),
		 strlen(yes), EGS_CLIENT_FORGED,
		 "the answer is not authentic: it has no credential");
	try_fake(tcp, "a refusal without a credential", no, strlen(no),
		 strlen(no), EGS_CLIENT_FORGED, "it says: go ?]0;away");
	egs_cred_encode(&tcp->cred, yes, strlen(yes), &cred, &id, &err);
	try_fake(tcp, "a request as an answer", cred, strlen(cred),
		 strlen(cred), EGS_CLIENT_FORGED, "is not authentic");
	try_fake(tcp, "half an answer", cred, strlen(cred), strlen(cred) / 2,
		 EGS_CLIENT_UNREACHABLE, "connection closed");
	try_fake(tcp, "an answer of 4 GB", yes, 0xfffffff0, strlen(yes),
		 EGS_CLIENT_FORGED, "its length is not valid");
	free(cred);
}

/* ---- clients that never finish their request ---- */

static int dial_tcp(const struct egs_endpoint *tcp)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port =
			htons((uint16_t)atoi(strrchr(tcp->address, ':') + 1)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		note("connect failed");
	return fd;
}

/* Is an ordinary user of this host served? */
static bool is_user_served(const struct egs_endpoint *tcp)
{
	struct egs_endpoint where = *tcp;
	int status = -1;
	pid_t pid = fork();

	where.slurm_user = geteuid() == 0 ? "root" : NULL;
	if (pid == 0)
		_exit((geteuid() == 0 && setuid(65534) < 0) ||
		      !is_alive(&where));
	waitpid(pid, &status, 0);
	return status == 0;
}

/* Each client sends 'bytes' of a credential of 100 kB. */
static void test_half_open(const struct egs_endpoint *tcp, int clients,
			   size_t bytes, const char *what)
{
	static char half[100 << 10];
	static int fd[1200];
	int served = 0;

	egs_packet_put_head(half, sizeof(half));
	for (int i = 0; i < clients; i++) {
		fd[i] = dial_tcp(tcp);
		send(fd[i], half, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	for (int i = 0; i < 5; i++)
		served += is_user_served(tcp);
	is_int(served, 5, "a user is served beside %s", what);
	for (int i = 0; i < clients; i++)
		close(fd[i]);
}

/* Send a request on a connection that was opened before.  Returns whether there
 * is an answer.
 */
static bool is_answered_on(const struct egs_endpoint *tcp, int fd)
{
	static const char ping[] = "{\"verb\":\"ping\"}";
	char packet[4096], *cred = NULL;
	struct egs_err err;
	size_t len;
	uint64_t id;

	if (egs_cred_encode(&tcp->cred, ping, strlen(ping), &cred, &id, &err) <
	    0)
		return false;
	len = strlen(cred);
	egs_packet_put_head(packet, len);
	memcpy(packet + EGS_PACKET_HEAD_SIZE, cred, len);
	free(cred);
	return send(fd, packet, EGS_PACKET_HEAD_SIZE + len, MSG_NOSIGNAL) > 0 &&
	       recv(fd, packet, sizeof(packet), 0) > 0;
}

/* A client waits for its munged while others of its host send half a credential
 * each, more than the server keeps.
 */
static void test_silent(const struct egs_endpoint *tcp)
{
	enum { CLIENTS = 1200 };
	struct rlimit files = { 2000, 2000 };
	static char half[100] = "";
	static int fd[CLIENTS];
	int first;

	if (setrlimit(RLIMIT_NOFILE, &files) < 0) {
		ok(true, "no more than 1024 files here # SKIP");
		return;
	}
	first = dial_tcp(tcp);
	egs_packet_put_head(half, 50000);
	for (int i = 0; i < CLIENTS; i++) {
		fd[i] = dial_tcp(tcp);
		send(fd[i], half, sizeof(half), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	ok(is_user_served(tcp), "a user is served beside half credentials");
	ok(is_answered_on(tcp, first),
	   "a client that has sent nothing yet does not make room for half "
	   "credentials");
	close(first);
	for (int i = 0; i < CLIENTS; i++)
		close(fd[i]);
}

/* Clients that are refused keep their connections. */
static void test_refused(const struct egs_endpoint *tcp)
{
	enum { CLIENTS = 300 };
	char junk[EGS_PACKET_HEAD_SIZE + 4] = "", byte;
	int fd[CLIENTS], served = 0;

	egs_packet_put_head(junk, 4);
	for (int i = 0; i < CLIENTS; i++) {
		fd[i] = dial_tcp(tcp);
		send(fd[i], junk, sizeof(junk), MSG_NOSIGNAL);
		recv(fd[i], &byte, 1, 0);
	}
	for (int i = 0; i < 5; i++)
		served += is_user_served(tcp);
	is_int(served, 5,
	       "a user is served beside 300 clients that were refused");
	for (int i = 0; i < CLIENTS; i++)
		close(fd[i]);
}

static void test_stuck(struct test_munged *m, const struct egs_endpoint *tcp,
		       const struct egs_endpoint *local)
{
	struct egs_msg *answer;
	struct egs_err err;

	kill(m->pid, SIGSTOP);
	is_int(ask_for(tcp, "ping", 300, &answer, &err), EGS_CLIENT_UNREACHABLE,
	       "a stopped munged is a timeout");
	ok(strstr(err.msg, "no answer within 0.300 s"), "%s", err.msg);
	ok(is_alive(local), "local clients are served while munged is stopped");
	kill(m->pid, SIGCONT);
	ok(is_alive(tcp), "TCP clients are served when munged continues");

	test_munged_stop(m);
	is_int(ask_for(tcp, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_UNREACHABLE, "a client without munged is told so");
	ok(strstr(err.msg, "munged does not answer"), "%s", err.msg);
	ok(is_alive(local), "local clients are served without munged");
}

/* A server without munged, and a client with another munged. */
static void test_down(const struct egs_endpoint *tcp)
{
	struct test_server t = { .pid = -1 };
	struct egs_endpoint where = *tcp;
	struct egs_msg *answer;
	struct egs_err err;
	char at[32];

	test_server_start(&t, EGS_PORT_ANY, PATIENCE, "/nonexistent/munged");
	snprintf(at, sizeof(at), "localhost:%d", t.port);
	where.address = at;
	is_int(ask_for(&where, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_FORGED,
	       "a daemon without munged refuses TCP requests");
	ok(strstr(err.msg, "it says: munged does not answer"), "%s", err.msg);
	is_int(test_server_stop(&t), 0, "a daemon without munged exits with 0");
}

int main(void)
{
	struct test_munged m = { .pid = -1 };
	struct test_server t = { .pid = -1 };
	char at[32];
	struct egs_endpoint tcp = { .address = at,
				    .cred = { m.socket, AUDIENCE } };
	struct egs_endpoint local = { .address = t.path };

	plan_none();
	if (!ok(test_munged_start(&m), "munged starts"))
		return done_testing();
	test_server_start(&t, EGS_PORT_ANY, PATIENCE, m.socket);
	snprintf(at, sizeof(at), "127.0.0.1:%d", t.port);
	test_answers(&tcp);
	test_crowd(&tcp);
	test_backup(&tcp);
	test_fakes(&tcp);
	test_half_open(&tcp, 1000, 5, "1000 clients that send one byte");
	test_half_open(&tcp, 100, 90 << 10, "9 MB of half credentials");
	test_refused(&tcp);
	test_silent(&tcp);
	test_down(&tcp);
	test_stuck(&m, &tcp, &local);
	is_int(test_server_stop(&t), 0, "the server exits with 0");
	test_munged_end(&m);
	return done_testing();
}
