/* resume.c - spank_egs in a batch script that runs again: why, and where it was
 *
 * This runs in the process that becomes the script, as its user and with its
 * files.  Mostly Slurm has brought the answer along (wire/again.h).  Where it
 * has not, egs-policyd is asked, who may be away: then the script waits for so
 * long, no longer.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/spank/line.h"
#include "plugins/spank/spank_egs.h"

/* A job may start 100 ms later than without us, not more. */
enum { PATIENCE_MS = 60 };

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

/* The path of the last checkpoint, "" if nobody says one in time. */
static void ask_policyd(spank_t sp, char path[EGS_AGAIN_PATH_MAX + 2])
{
	uint32_t id = 0;
	int answer = -1;
	char job[16];
	pid_t pid;

	*path = '\0';
	if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS)
		return;
	snprintf(job, sizeof(job), "%" PRIu32, id);
	pid = ask(job, &answer);
	if (pid < 0)
		return;
	egs_line_read(answer, path, EGS_AGAIN_PATH_MAX + 2, PATIENCE_MS,
		      &egs_line_clock);
	close(answer);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void egs_resume_tell(spank_t sp, uint32_t restarts,
		     const struct egs_again *again)
{
	char path[EGS_AGAIN_PATH_MAX + 2];

	if (again->restarts != restarts)
		ask_policyd(sp, path);
	else
		snprintf(path, sizeof(path), "%s", again->path);
	if (again->restarts == restarts && *again->story.msg)
		fprintf(stderr, "egs: %s\n", again->story.msg);
	if (*path)
		spank_setenv(sp, EGS_SPANK_LAST_CKPT, path, 1);
}
