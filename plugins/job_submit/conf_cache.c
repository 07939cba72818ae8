/* conf_cache.c - the current egs.conf, inside slurmctld
 *
 * The thread checks the file once a second, and at once when inotify reports a
 * change in its directory; inotify does not see changes on a file server.  The
 * lock is held for microseconds.
 */
#define _GNU_SOURCE /* pthread_timedjoin_np() */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "plugins/compat/compat.h"
#include "plugins/job_submit/conf_cache.h"

#define CONF_PATH EGS_SYSCONFDIR "/egs.conf"

enum { CHECK_MS = 1000, JOIN_S = 2 };

static struct {
	pthread_mutex_t lock; /* of 'conf' */
	struct egs_conf *conf;
	pthread_t thread;
	bool started;		 /* the thread runs */
	int stop_fd;		 /* readable: the thread must end */
	struct stat loaded_stat; /* of the thread */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER, .stop_fd = -1 };

static bool is_unchanged(const struct stat *now)
{
	return now->st_ino == self.loaded_stat.st_ino &&
	       now->st_size == self.loaded_stat.st_size &&
	       now->st_mtim.tv_sec == self.loaded_stat.st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == self.loaded_stat.st_mtim.tv_nsec;
}

/* Replace the file; returns whether there was one. */
static bool replace_conf(struct egs_conf *new)
{
	struct egs_conf *old;

	pthread_mutex_lock(&self.lock);
	old = self.conf;
	self.conf = new;
	pthread_mutex_unlock(&self.lock);
	egs_conf_free(old);
	return old;
}

static void load_conf(void)
{
	struct egs_conf_problems *problems = calloc(1, sizeof(*problems));
	struct egs_conf *new = NULL;

	if (problems && egs_conf_load(&new, CONF_PATH, problems) == 0) {
		replace_conf(new);
		info("egs: " CONF_PATH " is loaded");
	} else {
		error("egs: %s (%zu in all); %s",
		      problems ? problems->list[0].err.msg : "out of memory",
		      problems ? problems->count : 1,
		      self.conf ? "the previous file stays in effect"
				: "hints are checked for syntax only");
	}
	free(problems);
}

static void drop_conf(void)
{
	if (replace_conf(NULL))
		info("egs: " CONF_PATH " was removed; hints are checked for "
		     "syntax only");
	self.loaded_stat = (struct stat){ 0 };
}

static void reload_if_changed(void)
{
	struct stat st;

	if (stat(CONF_PATH, &st) < 0) {
		if (errno == ENOENT)
			drop_conf();
		return;
	}
	if (is_unchanged(&st))
		return;
	self.loaded_stat = st;
	load_conf();
}

/* Wait for a change, the next check or the end; false: the end. */
static bool wait_for_change(int notify_fd)
{
	struct pollfd fds[] = { { .fd = self.stop_fd, .events = POLLIN },
				{ .fd = notify_fd, .events = POLLIN } };
	char events[4096];

	poll(fds, 2, CHECK_MS);
	while (read(notify_fd, events, sizeof(events)) > 0)
		; /* an event only wakes the thread */
	return !fds[0].revents;
}

static void *run_thread(void *arg)
{
	int notify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (notify_fd >= 0)
		inotify_add_watch(notify_fd, EGS_SYSCONFDIR,
				  IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE |
					  IN_MOVED_FROM);
	do
		reload_if_changed();
	while (wait_for_change(notify_fd));
	if (notify_fd >= 0)
		close(notify_fd);
	return arg;
}

/* slurmctld's own threads handle its signals. */
static int start_thread(void)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&self.thread, NULL, run_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

void egs_conf_cache_start(void)
{
	eventfd_t ignored;

	if (self.started) {
		eventfd_read(self.stop_fd, &ignored);
		return;
	}
	reload_if_changed();
	self.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self.started = self.stop_fd >= 0 && start_thread() == 0;
	if (!self.started)
		error("egs: no thread to read " CONF_PATH
		      ": changes take effect with a restart");
}

const struct egs_policy_conf *egs_conf_cache_lock(void)
{
	pthread_mutex_lock(&self.lock);
	return self.conf ? egs_conf_policy(self.conf) : NULL;
}

void egs_conf_cache_unlock(void)
{
	pthread_mutex_unlock(&self.lock);
}

/* A thread that a file server holds up keeps its file and goes on if the plugin
 * is started again.
 */
void egs_conf_cache_stop(void)
{
	struct timespec until;

	if (self.started) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += JOIN_S;
		eventfd_write(self.stop_fd, 1);
		if (pthread_timedjoin_np(self.thread, NULL, &until) != 0)
			return;
		self.started = false;
	}
	if (self.stop_fd >= 0)
		close(self.stop_fd);
	self.stop_fd = -1;
	drop_conf();
}
