/* conf_cache.c - the current egs.conf, inside slurmctld
 *
 * Since 23.02 slurmctld calls the plugin from several threads, hence the lock.
 * The lock is held for microseconds, or a millisecond to read a new file.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/conf/conf.h"
#include "plugins/compat/compat.h"
#include "plugins/job_submit/conf_cache.h"

#define CONF_PATH EGS_SYSCONFDIR "/egs.conf"

static struct {
	pthread_mutex_t lock;
	struct egs_conf *conf;
	struct stat loaded_stat;
	time_t last_check;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_unchanged(const struct stat *now)
{
	return now->st_ino == self.loaded_stat.st_ino &&
	       now->st_size == self.loaded_stat.st_size &&
	       now->st_mtim.tv_sec == self.loaded_stat.st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == self.loaded_stat.st_mtim.tv_nsec;
}

static void load_conf(void)
{
	struct egs_conf_problems *problems = calloc(1, sizeof(*problems));

	if (problems && egs_conf_load(&self.conf, CONF_PATH, problems) == 0)
		info("egs: " CONF_PATH " is loaded");
	else
		error("egs: %s (%zu in all); %s",
		      problems ? problems->list[0].err.msg : "out of memory",
		      problems ? problems->count : 1,
		      self.conf ? "the previous file stays in effect"
				: "hints are checked for syntax only");
	free(problems);
}

static void drop_conf(void)
{
	if (self.conf)
		info("egs: " CONF_PATH " was removed; hints are checked for "
		     "syntax only");
	egs_conf_free(self.conf);
	self.conf = NULL;
	self.loaded_stat = (struct stat){ 0 };
}

static void reload_if_changed(void)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec == self.last_check)
		return;
	self.last_check = now.tv_sec;
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

const struct egs_policy_conf *egs_conf_cache_lock(void)
{
	pthread_mutex_lock(&self.lock);
	reload_if_changed();
	return self.conf ? egs_conf_policy(self.conf) : NULL;
}

void egs_conf_cache_unlock(void)
{
	pthread_mutex_unlock(&self.lock);
}

void egs_conf_cache_free(void)
{
	pthread_mutex_lock(&self.lock);
	egs_conf_free(self.conf);
	self.conf = NULL;
	self.loaded_stat = (struct stat){ 0 };
	pthread_mutex_unlock(&self.lock);
}
