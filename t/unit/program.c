/* program.c - a program of the site is run without a shell and without waiting
 *
 * The programs are scripts in a directory of the test.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/program.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

enum { LONG_MS = 60 * 1000 };

static struct egs_err why;

static const char *path_of(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", conf_dir, name);
	return path;
}

/* A program that writes into the directory of the test. */
static const char *make_program(const char *name, const char *script,
				mode_t mode)
{
	char text[1024];

	snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\n%s\n", conf_dir,
		 script);
	conf_write(name, text);
	if (chmod(name, mode) < 0)
		err(1, "%s", name);
	return path_of(name);
}

static const char *read_text(const char *name)
{
	static char text[1024];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

/* Run a program to its end, as a loop would. */
static int run(const char *path, const char *input, uint64_t limit_ms)
{
	struct egs_program program = { .pid = 0 };
	int rc = egs_program_start(&program, path, input, strlen(input),
				   limit_ms, &why);

	while (rc == 0 && (rc = egs_program_check_end(&program, &why)) == 1) {
		poll(NULL, 0, 10);
		rc = 0;
	}
	return rc;
}

/* The signals that a program ignores, as bits.  glibc keeps 32 and 33 for
 * itself and resets them for nobody; some versions of make leave them ignored.
 */
static uint64_t read_ignored(void)
{
	const char *text = strchr(read_text("signals"), '\t');

	return text ? strtoull(text, NULL, 16) & ~(UINT64_C(3) << 31)
		    : UINT64_MAX;
}

static void it_gets_only_its_input(void)
{
	/* An inherited file, a signal that is ignored, an environment. */
	int open_fd = open("/dev/null", O_RDONLY);

	signal(SIGUSR1, SIG_IGN);
	setenv("SECRET", "x", 1);
	is_int(run(make_program("good",
				"cat >got; ls /proc/$$/fd >fds; "
				"env >environment; "
				"grep SigIgn /proc/$$/status >signals",
				0755),
		   "{\"kind\":\"idle\"}\n", LONG_MS),
	       0, "a program that ends well is no failure");
	is_str(read_text("got"), "{\"kind\":\"idle\"}\n",
	       "a program gets all of its input");
	ok(!strchr(read_text("fds"), '3' + (open_fd > 3)),
	   "a program has no file of its parent");
	ok(!strstr(read_text("environment"), "SECRET") &&
		   strstr(read_text("environment"), "PATH="),
	   "a program has its own small environment");
	ok(!read_ignored(), "a program ignores no signal");
	close(open_fd);
	signal(SIGUSR1, SIG_DFL);
}

static void its_failure_is_told(void)
{
	is_int(run(make_program("fails", "exit 3", 0755), "", LONG_MS), -1,
	       "an exit code other than 0 is a failure");
	is_str(why.msg, "has ended with exit code 3", "the exit code is told");
	is_int(run(path_of("missing"), "", LONG_MS), -1,
	       "a program that does not exist is a failure");
	is_int(run(make_program("dies", "kill -SEGV $$", 0755), "", LONG_MS),
	       -1, "a program that dies is a failure");
	is_str(why.msg, "was ended by signal 11", "the signal is told");
}

static bool is_gone(const char *pid)
{
	return kill((pid_t)atoi(pid), 0) < 0;
}

static void it_is_killed(void)
{
	uint64_t begin = egs_now_ms();
	char child[64];

	is_int(run(make_program("hangs",
				"trap '' TERM HUP INT\n"
				"sleep 1000 & echo $! >child; sleep 1000",
				0755),
		   "", 2000),
	       -1, "a program that hangs is killed");
	is_str(why.msg, "was killed after 2 s", "the limit is told");
	ok(egs_now_ms() - begin < LONG_MS, "a program is killed in time");
	snprintf(child, sizeof(child), "%.63s", read_text("child"));
	for (int i = 0; i < 6000 && !is_gone(child); i++)
		poll(NULL, 0, 10);
	ok(is_gone(child), "processes that a program has started are killed");
}

static bool may_run(const char *path)
{
	why.msg[0] = '\0';
	return egs_program_check(path, &why) == 0;
}

static void only_safe_programs_are_run(void)
{
	make_program("good", "true", 0755);
	ok(may_run(path_of("good")), "a program of the own user may run%s",
	   why.msg);
	ok(may_run("/bin/true"), "a program of root may run%s", why.msg);
	ok(!may_run("good"), "a relative path is refused: %s", why.msg);
	ok(!may_run(conf_dir), "a directory is refused: %s", why.msg);
	ok(!may_run("/dev/null"), "a device is refused: %s", why.msg);
	ok(!may_run(path_of("missing")), "a missing file is refused: %s",
	   why.msg);
	ok(!may_run(make_program("open", "true", 0777)),
	   "a file that all can write is refused: %s", why.msg);
	ok(!may_run(make_program("group", "true", 0775)),
	   "a file that a group can write is refused: %s", why.msg);
	ok(!may_run(make_program("text", "true", 0644)),
	   "a file that cannot be executed is refused: %s", why.msg);
	make_program("theirs", "true", 0755);
	if (geteuid() == 0 && chown("theirs", 12345, (gid_t)-1) == 0)
		ok(!may_run(path_of("theirs")),
		   "a file of another user is refused: %s", why.msg);
	chmod(".", 0777);
	ok(!may_run(path_of("good")),
	   "a file in a directory of all users is refused: %s", why.msg);
	chmod(".", 01777);
	ok(may_run(path_of("good")), "a sticky directory is accepted%s",
	   why.msg);
	chmod(".", 0700);
}

int main(void)
{
	plan_none();
	conf_enter();
	it_gets_only_its_input();
	its_failure_is_told();
	it_is_killed();
	only_safe_programs_are_run();
	conf_leave();
	return done_testing();
}
