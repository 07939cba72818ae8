/* server_tcp.c - the daemon's door on TCP, with a munged of its own */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

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
	       EGS_CLIENT_REFUSED, "a request for another cluster is refused");
	is_str(err.msg,
	       "the request is meant for another daemon than " AUDIENCE,
	       "a refusal names the cluster of the daemon");
	other.address = "localhost";
	is_int(ask_for(&other, "ping", PATIENCE, &answer, &err),
	       EGS_CLIENT_UNREACHABLE,
	       "an address without a port is refused: %s", err.msg);
}

/* More at once than are decoded at a time. */
static void test_crowd(const struct egs_endpoint *tcp)
{
	enum { CROWD = 40 };
	pid_t pid[CROWD];
	int fine = 0;

	for (int i = 0; i < CROWD; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(is_alive(tcp) ? 0 : 1);
	}
	for (int i = 0; i < CROWD; i++) {
		int status = -1;

		waitpid(pid[i], &status, 0);
		fine += status == 0;
	}
	is_int(fine, CROWD, "40 TCP clients at once are all answered");
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
	       EGS_CLIENT_REFUSED,
	       "a daemon without munged refuses TCP requests");
	ok(strncmp(err.msg, "munged does not answer", 22) == 0, "%s", err.msg);
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
	test_down(&tcp);
	test_stuck(&m, &tcp, &local);
	is_int(test_server_stop(&t), 0, "the server exits with 0");
	test_munged_end(&m);
	return done_testing();
}
