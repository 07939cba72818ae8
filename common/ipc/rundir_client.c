/* rundir_client.c - the run directory as a job uses it
 *
 * inotify wakes the process if the file system supports it.  Not all file
 * systems of containers do, so the files are also checked every RECHECK_MS.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd.h"
#include "common/ipc/rundir_client.h"

#define RECHECK_MS 100

#define PATH_SIZE 4096

const char *egs_rundir_path(void)
{
	const char *dir = getenv(EGS_RUNDIR_ENV);
	struct stat st;

	if (!dir || *dir != '/' || strlen(dir) > PATH_SIZE / 2 ||
	    stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL;
	return dir;
}

bool egs_rundir_read_flag(const char *dir, struct egs_rundir_flag *flag)
{
	char path[PATH_SIZE];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/" EGS_RUNDIR_FLAG_FILE, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, flag, sizeof(*flag));
		close(fd);
	}
	return n == sizeof(*flag) && memcmp(flag->magic, EGS_RUNDIR_FLAG_MAGIC,
					    sizeof(flag->magic)) == 0;
}

int egs_rundir_new_id(char id[EGS_RUNDIR_ID_SIZE])
{
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -1;
	snprintf(id, EGS_RUNDIR_ID_SIZE, "%016llx", number);
	return 0;
}

static void format_path(char path[PATH_SIZE], const char *dir,
			const char *folder, const char *dot, const char *id)
{
	snprintf(path, PATH_SIZE, "%s/%s/%s%s", dir, folder, dot, id);
}

int egs_rundir_send(const char *dir, const char *id, const char *text,
		    size_t len, struct egs_err *err)
{
	char hidden[PATH_SIZE], path[PATH_SIZE];
	int fd, rc;

	format_path(hidden, dir, EGS_RUNDIR_OUT_DIR, ".", id);
	format_path(path, dir, EGS_RUNDIR_OUT_DIR, "", id);
	if (len > EGS_RUNDIR_MESSAGE_MAX)
		return egs_errf(err,
				"the message has %zu bytes, the longest has %d",
				len, EGS_RUNDIR_MESSAGE_MAX);
	fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return egs_errf(err, "%s: %s", hidden, strerror(errno));
	rc = egs_write_all(fd, text, len);
	if (rc == 0)
		rc = fsync(fd);
	if (close(fd) < 0 || rc < 0 || rename(hidden, path) < 0) {
		egs_errf(err, "%s: %s", path, strerror(errno));
		unlink(hidden);
		return -1;
	}
	return 0;
}

bool egs_rundir_is_taken(const char *dir, const char *id)
{
	char path[PATH_SIZE];

	format_path(path, dir, EGS_RUNDIR_OUT_DIR, "", id);
	return access(path, F_OK) < 0;
}

bool egs_rundir_cancel(const char *dir, const char *id)
{
	char path[PATH_SIZE];

	format_path(path, dir, EGS_RUNDIR_OUT_DIR, "", id);
	return unlink(path) == 0;
}

/* ---- waiting ---- */

void egs_rundir_sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* What is waited for. */
struct wait_target {
	bool (*is_there)(const struct wait_target *target);
	const char *dir, *id;
	char *answer;
	struct egs_rundir_flag *flag;
};

static int open_watch(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd >= 0)
		inotify_add_watch(fd, path,
				  IN_CREATE | IN_MOVED_TO | IN_MODIFY);
	return fd;
}

/* Wait for an event in the directory, or until the next check. */
static void wait_for_change(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char events[1024];

	if (poll(&p, 1, ms) > 0)
		while (read(fd, events, sizeof(events)) > 0)
			;
}

static bool wait_for_target(const struct wait_target *target,
			    const char *folder, int timeout_ms)
{
	int64_t end = (int64_t)egs_now_ms() + timeout_ms;
	char path[PATH_SIZE];
	bool found;
	int fd;

	snprintf(path, sizeof(path), "%s%s", target->dir, folder);
	fd = open_watch(path);
	while (!(found = target->is_there(target))) {
		int64_t left = timeout_ms < 0 ? RECHECK_MS
					      : end - (int64_t)egs_now_ms();

		if (left <= 0)
			break;
		wait_for_change(fd, left < RECHECK_MS ? (int)left : RECHECK_MS);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static bool has_answer(const struct wait_target *target)
{
	char path[PATH_SIZE];
	ssize_t n = -1;
	int fd;

	format_path(path, target->dir, EGS_RUNDIR_IN_DIR, "", target->id);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	n = read(fd, target->answer, EGS_RUNDIR_ANSWER_MAX - 1);
	close(fd);
	target->answer[n > 0 ? n : 0] = '\0';
	unlink(path);
	return true;
}

bool egs_rundir_wait_answer(const char *dir, const char *id,
			    char answer[EGS_RUNDIR_ANSWER_MAX], int timeout_ms)
{
	const struct wait_target target = {
		.is_there = has_answer, .dir = dir, .id = id, .answer = answer
	};

	return wait_for_target(&target, "/" EGS_RUNDIR_IN_DIR, timeout_ms);
}

static bool has_notice(const struct wait_target *target)
{
	return egs_rundir_read_flag(target->dir, target->flag) &&
	       target->flag->notice;
}

bool egs_rundir_wait_notice(const char *dir, struct egs_rundir_flag *flag,
			    int timeout_ms)
{
	const struct wait_target target = { .is_there = has_notice,
					    .dir = dir,
					    .flag = flag };

	return wait_for_target(&target, "", timeout_ms);
}
