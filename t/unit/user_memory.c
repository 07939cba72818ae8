/* user_memory.c - egs-noded counts the memory of all processes of a user */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noded/user_memory.h"
#include "t/lib/unit/tap.h"

#define NOBODY_ELSE 54321 /* a uid that has no process */
#define MB	    (1024 * 1024)

/* Start a process of the user that holds 'mb' of memory until it is killed. */
static pid_t hold(size_t mb, bool dumpable)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		exit(1);
	if (pid == 0) {
		char *memory = malloc(mb * MB);

		if (!memory || setuid(NOBODY_ELSE) < 0)
			_exit(1);
		memset(memory, 1, mb * MB);
		prctl(PR_SET_DUMPABLE, dumpable);
		if (write(ready[1], memory, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ok(read(ready[0], &byte, 1) == 1, "a process holds %zu MB", mb);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A process has some memory beside what it holds. */
static void counts(size_t mb, const char *title)
{
	uint32_t got = egs_user_memory_mb(NOBODY_ELSE);

	ok(got >= mb && got < mb + 32, "%s (%u MB)", title, got);
}

int main(void)
{
	pid_t one, other;

	if (geteuid() != 0) {
		printf("1..0 # SKIP only root can be another user\n");
		return EXIT_SUCCESS;
	}
	plan_none();
	is_int(egs_user_memory_mb(NOBODY_ELSE), 0,
	       "a user without processes has no memory");
	one = hold(64, true);
	counts(64, "the memory of a process counts");
	other = hold(100, false);
	counts(164, "the memory of a process that allows no core dump counts");
	end(one);
	counts(100, "the memory of a process that has ended does not count");
	end(other);
	return done_testing();
}
