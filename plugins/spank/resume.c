/* resume.c - spank_egs in a batch script that runs again: why, and where it was
 *
 * This runs in the process that becomes the script, as its user and with its
 * files.  Whoever is asked may be away: the script waits for so long, no
 * longer.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/spank/spank_egs.h"

enum { PATIENCE_MS = 3000, PATH_SIZE = 1100 };

static pid_t ask(const char *job, int *answer)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(EGS_LIBEXECDIR "/egs-resume", "egs-resume", job,
		      (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	*answer = ends[0];
	return pid;
}

/* One line, or "" if there is none in time. */
static void read_line(int fd, char line[PATH_SIZE])
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n = 0;

	if (poll(&wait, 1, PATIENCE_MS) > 0)
		n = read(fd, line, PATH_SIZE - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

void egs_resume_tell(spank_t sp)
{
	char job[16], path[PATH_SIZE];
	uint32_t id = 0;
	int answer = -1;
	pid_t pid;

	if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS)
		return;
	snprintf(job, sizeof(job), "%" PRIu32, id);
	pid = ask(job, &answer);
	if (pid <= 0)
		return;
	read_line(answer, path);
	close(answer);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (*path)
		spank_setenv(sp, EGS_SPANK_LAST_CKPT, path, 1);
}
