/* resume.c - give resume info to a restarted batch script
 *
 * This runs in the process that becomes the script, as its user and with its
 * files.  Usually Slurm delivers the resume info (common/hint/resume_info.h).
 * If not, this code asks egs-policyd, which may be down: the wait has a limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/spank/read_line.h"
#include "plugins/spank/spank_egs.h"

/* EGS may delay the start of a job by 100 ms at most. */
enum { ANSWER_WAIT_MS = 60 };

static pid_t start_egs_resume(const char *job, int *answer)
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

/* Parse "PHASE PATH", as egs-resume prints it. */
static void parse_answer(struct egs_resume_info *info, char *line)
{
	char *path = strchr(line, ' ');

	if (!path)
		return;
	*path++ = '\0';
	if (strcmp(line, "-") != 0)
		snprintf(info->phase, sizeof(info->phase), "%s", line);
	snprintf(info->path, sizeof(info->path), "%s", path);
}

/* Get phase and last checkpoint; "" without an answer in time. */
static void ask_policyd(spank_t sp, struct egs_resume_info *info)
{
	char line[EGS_RESUME_INFO_PHASE_MAX + EGS_RESUME_INFO_PATH_MAX + 3] =
		"";
	uint32_t id = 0;
	int answer = -1;
	char job[16];
	pid_t pid;

	if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS)
		return;
	snprintf(job, sizeof(job), "%" PRIu32, id);
	pid = start_egs_resume(job, &answer);
	if (pid < 0)
		return;
	egs_read_line(answer, line, sizeof(line), ANSWER_WAIT_MS,
		      &egs_read_line_clock);
	parse_answer(info, line);
	close(answer);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void egs_spank_resume_announce(spank_t sp, uint32_t restarts,
			       const struct egs_resume_info *delivered)
{
	struct egs_resume_info info = { .restarts = restarts };

	if (delivered->restarts == restarts)
		info = *delivered;
	else
		ask_policyd(sp, &info);
	if (*info.message.msg)
		fprintf(stderr, "egs: %s\n", info.message.msg);
	if (*info.path)
		spank_setenv(sp, EGS_SPANK_LAST_CKPT_ENV, info.path, 1);
	if (*info.phase)
		spank_setenv(sp, EGS_SPANK_PHASE_ENV, info.phase, 1);
}
