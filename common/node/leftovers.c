/* leftovers.c - kill what ended jobs have left on the GPUs of a starting step
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/node/leftovers.h"
#include "common/node/proc.h"

enum { PAUSE_MS = 10 };

/* The fate of a process that is in a group of the starting job, or says so. */
static enum egs_gpu_user_fate choose_own_fate(const struct egs_gpu_user *user,
					      uid_t uid)
{
	if (user->step.source != EGS_STEP_CLAIMED || user->uid == uid)
		return EGS_GPU_USER_IGNORED;
	return EGS_GPU_USER_STAYS; /* another user's claim is false */
}

static enum egs_gpu_user_fate choose_fate(const struct egs_gpu_users *users,
					  const struct egs_gpu_user *user,
					  uint32_t job, uid_t uid)
{
	const struct egs_step *step = &user->step;

	if (!user->uid || step->source == EGS_STEP_UNKNOWN)
		return EGS_GPU_USER_IGNORED;
	if (step->source == EGS_STEP_UNREAD)
		return EGS_GPU_USER_UNCLEAR;
	if (step->job == job)
		return choose_own_fate(user, uid);
	if (step->source == EGS_STEP_RUNNING ||
	    (step->job && egs_stepds_have_job(&users->stepds, step->job)))
		return EGS_GPU_USER_RUNS;
	return EGS_GPU_USER_STAYS; /* until it has ended */
}

/* Is this still the process that was found? */
static bool is_alive(const struct egs_gpu_user *user)
{
	struct egs_proc_stat stat;

	if (egs_proc_stat(user->pid, &stat) < 0)
		return !egs_proc_is_gone(errno);
	/* The main thread of a process may end before the others. */
	return stat.start == user->start &&
	       (!(stat.state == 'Z' || stat.state == 'X') || stat.threads > 1);
}

/* The file descriptor holds the process, so that its number cannot become that
 * of another one between the comparison and the signal.
 */
static void kill_user(const struct egs_gpu_user *user)
{
	int fd = (int)syscall(SYS_pidfd_open, user->pid, 0);
	bool is_missing = fd < 0 && errno == ENOSYS; /* Linux before 5.3 */

	if (is_alive(user)) {
		if (fd >= 0)
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		else if (is_missing)
			kill(user->pid, SIGKILL);
	}
	if (fd >= 0)
		close(fd);
}

/* Returns the number of leftovers that have not ended. */
static size_t count_alive(struct egs_gpu_users *users)
{
	size_t n = 0;

	for (size_t i = 0; i < users->n; i++) {
		struct egs_gpu_user *user = &users->list[i];

		if (user->fate != EGS_GPU_USER_STAYS)
			continue;
		if (is_alive(user))
			n++;
		else
			user->fate = EGS_GPU_USER_KILLED;
	}
	return n;
}

void egs_leftovers_kill(struct egs_gpu_users *users, uint32_t job, uid_t uid,
			uint32_t wait_ms)
{
	uint64_t end = egs_now_ms() + wait_ms;

	for (size_t i = 0; i < users->n; i++) {
		struct egs_gpu_user *user = &users->list[i];

		user->fate = choose_fate(users, user, job, uid);
		if (user->fate == EGS_GPU_USER_STAYS)
			kill_user(user);
	}
	while (count_alive(users) && egs_now_ms() < end)
		poll(NULL, 0, PAUSE_MS);
}
