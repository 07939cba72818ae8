/* report_readers.c - how many reports run at once, and what ends them
 *
 * The daemon runs /proc/self/exe for a report, so that is this program.  It
 * answers a report at once, but the report "slow" writes its pid and never
 * ends.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/client.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

#define ALICE	 2001
#define BOB	 2002
#define PATIENCE 60000 /* ms; enough on a busy machine */

/* ---- the report ---- */

static int fake_report(void)
{
	char text[4096];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text) - 1);
	FILE *f;

	text[n > 0 ? n : 0] = '\0';
	if (strstr(text, "slow")) {
		f = fopen("slow.new", "we");
		if (!f || fprintf(f, "%d", (int)getpid()) < 0 ||
		    fclose(f) != 0 || rename("slow.new", "slow") < 0)
			return 1;
		for (;;)
			pause();
	}
	return printf("{\"ok\":true,\"quick\":\"yes\"}") > 0 ? 0 : 1;
}

/* The pid of the slow report, when it runs. */
static pid_t wait_for_slow(void)
{
	char text[32] = "";

	for (int i = 0; i < PATIENCE / 10; i++) {
		int fd = open("slow", O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0) {
			close(fd);
			unlink("slow");
			return (pid_t)strtol(text, NULL, 10);
		}
		poll(NULL, 0, 10);
	}
	return 0;
}

/* A zombie has ended, too: this process does not reap it. */
static bool has_ended(pid_t pid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < PATIENCE / 10; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || strstr(text, ") Z"))
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

/* ---- requests without a client ---- */

static struct egs_err why;

static int ask_as(uid_t uid, const char *name)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_new(), *answer = egs_msg_new();
	int rc;

	egs_msg_set_str(request, "report", "usage");
	egs_msg_set_str(request, "name", name);
	rc = egs_verb_report(d, &peer, request, answer, &why);
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc;
}

static void tick(void)
{
	egs_report_part.tick(d);
}

static void test_room(void)
{
	int rc = 0;
	pid_t pid;

	is_int(ask_as(ALICE, "slow"), EGS_REPLY_DEFERRED,
	       "a client waits for its report");
	pid = wait_for_slow();
	ok(pid > 0, "a process of its own reads the report");
	is_int(ask_as(ALICE, "slow"), EGS_REPLY_DEFERRED,
	       "an equal request of the same user waits for the same report");
	is_int(ask_as(ALICE, "b"), EGS_REPLY_DEFERRED,
	       "a user may have two reports at a time");
	is_int(ask_as(ALICE, "c"), -1, "a third report of a user is refused");
	is_str(why.msg,
	       "2 of your reports are being read; wait until one of them ends",
	       "the refusal of a third report says what to wait for");
	is_int(ask_as(BOB, "b"), EGS_REPLY_DEFERRED,
	       "another user still gets a report");
	for (uid_t uid = 3000; uid < 3003; uid++)
		rc |= ask_as(uid, "b") != EGS_REPLY_DEFERRED;
	is_int(rc, 0, "users may have six reports in all");
	is_int(ask_as(4000, "b"), -1, "a seventh report of users is refused");
	is_int(ask_as(0, "b"), EGS_REPLY_DEFERRED,
	       "root gets a report while users have all of theirs");
	tick();
	ok(has_ended(pid), "a report ends when its last client has left");
	is_int(ask_as(ALICE, "c"), EGS_REPLY_DEFERRED,
	       "a report that has ended makes room for another");
	tick();
}

/* ---- requests of a client ---- */

static struct egs_watch *timer;
static pid_t client;

/* Send a request from a child, which writes its answer to a file. */
static void start_client(const char *name)
{
	const struct egs_endpoint where = { .address = "./door" };
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	struct egs_err refusal = { "" };
	FILE *f;

	unlink("answer");
	client = fork();
	if (client) {
		egs_msg_free(request);
		return;
	}
	egs_msg_set_str(request, "verb", "report");
	egs_msg_set_str(request, "name", name);
	egs_client_call(&where, request, &answer, PATIENCE, &refusal);
	f = fopen("answer.new", "we");
	fprintf(f, "%s",
		answer ? egs_msg_get_str(answer, "quick") : refusal.msg);
	_exit(fclose(f) == 0 && rename("answer.new", "answer") == 0 ? 0 : 1);
}

static const char *awaited; /* the file that the loop waits for */
static int rounds;

static void on_timer(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	tick();
	if (access(awaited, F_OK) == 0 || rounds-- == 0)
		egs_loop_stop(d->loop);
	else
		egs_timer_start(timer, 10);
}

/* Serve clients until 'file' is there, in at most 'max' rounds. */
static void serve_until(const char *file, int max)
{
	awaited = file;
	rounds = max;
	egs_timer_start(timer, 0);
	egs_loop_run(d->loop, NULL);
}

static const char *read_answer(void)
{
	static char text[256];
	int fd, status;
	ssize_t n;

	serve_until("answer", PATIENCE / 10);
	waitpid(client, &status, 0);
	fd = open("answer", O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static void test_answers(void)
{
	pid_t pid;

	start_client("quick");
	is_str(read_answer(), "yes", "a client gets the report");

	start_client("slow");
	serve_until("slow", PATIENCE / 10);
	pid = wait_for_slow();
	d->wal_bytes = EGS_STORE_WAL_MAX + 1;
	is_str(read_answer(),
	       "the store is written too fast for this report; try again, or "
	       "choose a shorter time",
	       "the client of a report that keeps the WAL too long is told so");
	ok(has_ended(pid), "a report that keeps the WAL too long is ended");
}

static void test_long_wal(void)
{
	d->wal_bytes = EGS_STORE_WAL_LONG + 1;
	start_client("slow");
	serve_until("slow", 30);
	ok(access("slow", F_OK) < 0, "no report begins while the WAL is long");
	d->wal_bytes = 0;
	serve_until("slow", PATIENCE / 10);
	ok(wait_for_slow() > 0, "a report begins when the WAL is short again");
	kill(client, SIGKILL);
	waitpid(client, NULL, 0);
}

static int start_server(struct egs_daemon *daemon, struct egs_err *err)
{
	static const struct egs_verb verbs[] = {
		{ "report", EGS_ROLE_ANYONE, egs_verb_report },
	};
	const struct egs_server_conf door = { .socket_path = "./door",
					      .verbs = verbs,
					      .nverbs = ARRAY_SIZE(verbs),
					      .arg = daemon };

	daemon->requests->server = egs_server_new(daemon->loop, &door, err);
	return daemon->requests->server ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[3], "--report") == 0)
		return fake_report();
	plan_none();
	conf_enter();
	daemon_serve = start_server;
	daemon_start();
	timer = egs_loop_add_timer(d->loop, on_timer, NULL, NULL);
	test_room();
	test_answers();
	test_long_wal();
	daemon_stop();
	daemon_leave();
	return done_testing();
}
