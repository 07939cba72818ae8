/* rundirs.c - the run directories on this node
 *
 * spank_egs makes a run directory.  egs-noded removes the directory when no job
 * with that id runs here.  That is known when egs-policyd has polled Slurm
 * after the last change of the directory, and its orders do not include the
 * job.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "noded/noded.h"

enum {
	/* Longest time of a poll of Slurm and of the start of a step. */
	ORDERS_MARGIN_S = 15,
	/* Time from a change to the scan, and from one scan to the next. */
	SCAN_DELAY_MS = 20,
	SCAN_PERIOD_MS = 10000,
	/* Until a notice is written that could not be written. */
	RETRY_MS = 1000,
};

/* The directory may have a notice of an earlier egs-noded. */
#define NOTICE_UNKNOWN UINT32_MAX

static void schedule_scan(struct egs_noded *noded)
{
	if (!noded->scan_scheduled)
		egs_timer_start(noded->scan_timer, SCAN_DELAY_MS);
	noded->scan_scheduled = true;
}

struct egs_local_rundir *egs_noded_find_rundir(struct egs_noded *noded,
					       uint32_t job)
{
	for (size_t i = 0; i < noded->nrundirs; i++)
		if (noded->rundirs[i].job == job)
			return &noded->rundirs[i];
	return NULL;
}

static void forget_rundir(struct egs_noded *noded,
			  struct egs_local_rundir *rundir)
{
	if (rundir->out_watch >= 0)
		inotify_rm_watch(noded->inotify_fd, rundir->out_watch);
	egs_rundir_close(&rundir->dir);
	*rundir = noded->rundirs[--noded->nrundirs];
}

void egs_noded_close_rundirs(struct egs_noded *noded)
{
	while (noded->nrundirs)
		forget_rundir(noded, &noded->rundirs[noded->nrundirs - 1]);
	free(noded->rundirs);
}

/* Watch the open directory, because its path may now be another directory. */
static int watch_out_dir(struct egs_noded *noded, const struct egs_rundir *dir)
{
	int fd = egs_rundir_open_out(dir), wd = -1;
	char path[40];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(noded->inotify_fd, path, IN_MOVED_TO);
	close(fd);
	return wd;
}

static void add_rundir(struct egs_noded *noded, uint32_t job,
		       const struct egs_rundir *dir)
{
	if (egs_grow(&noded->rundirs, &noded->rundirs_room,
		     noded->nrundirs + 1) < 0) {
		close(dir->fd);
		return;
	}
	noded->rundirs[noded->nrundirs++] = (struct egs_local_rundir){
		.job = job,
		.dir = *dir,
		.out_watch = watch_out_dir(noded, dir),
		.notice.number = NOTICE_UNKNOWN,
		.seen = true,
	};
}

/* If a new directory has this name, the known directory was retired.  Forget
 * the known directory.
 */
static void refresh_rundir(struct egs_noded *noded, uint32_t job)
{
	struct egs_local_rundir *rundir = egs_noded_find_rundir(noded, job);
	struct egs_rundir dir;

	if (egs_rundir_open(noded->rundirs_fd, job, &dir) < 0) {
		egs_rundir_retire_unusable(noded->rundirs_fd, job);
		return;
	}
	if (rundir && rundir->dir.device == dir.device &&
	    rundir->dir.inode == dir.inode && rundir->dir.uid == dir.uid) {
		rundir->dir.changed_s = dir.changed_s;
		rundir->seen = true;
		if (rundir->out_watch < 0)
			rundir->out_watch = watch_out_dir(noded, &rundir->dir);
		egs_rundir_close(&dir);
		return;
	}
	if (rundir)
		forget_rundir(noded, rundir);
	add_rundir(noded, job, &dir);
}

/* ---- removal, in a child process ---- */

static int remove_in_child(const void *arg, char **bytes, size_t *len,
			   struct egs_err *err)
{
	(void)bytes;
	(void)len;
	return egs_rundirs_clean(*(const int *)arg, err);
}

/* What is left is tried again with a later scan.  Log that once. */
static void note_left_dirs(struct egs_noded *noded, int rc,
			   const struct egs_err *err)
{
	noded->next_removal_ms = rc < 0 ? egs_now_ms() + SCAN_PERIOD_MS : 0;
	if (rc < 0 && !noded->removal_failed)
		egs_log_info("run directory not removed yet: %s", err->msg);
	noded->removal_failed = rc < 0;
}

static void on_removed(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;
	struct egs_err err;
	int rc = egs_child_read(&noded->remove_child, &err);

	(void)events;
	if (rc > 0)
		return;
	egs_watch_free(noded->remove_watch);
	noded->remove_watch = NULL;
	egs_child_stop(&noded->remove_child);
	note_left_dirs(noded, rc, &err);
}

static void start_removal(struct egs_noded *noded)
{
	if (noded->remove_watch || egs_now_ms() < noded->next_removal_ms)
		return;
	if (egs_child_start(&noded->remove_child, remove_in_child,
			    &noded->rundirs_fd, NULL) < 0)
		return;
	noded->remove_watch =
		egs_loop_add_fd(noded->loop, noded->remove_child.fd, EPOLLIN,
				on_removed, noded, NULL);
	if (!noded->remove_watch)
		egs_child_stop(&noded->remove_child);
}

/* ---- scan ---- */

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void scan_entry(struct egs_noded *noded, const char *name)
{
	unsigned long long job;
	char *end;

	if (egs_rundirs_is_removable(noded->rundirs_fd, name))
		noded->removal_due = true;
	if (has_prefix(name, EGS_RUNDIRS_REPORT))
		egs_noded_send_report(noded, name);
	if (has_prefix(name, EGS_RUNDIRS_CLEAN))
		egs_noded_start_cleaning(noded, name);
	if (!isdigit((unsigned char)name[0]))
		return;
	job = strtoull(name, &end, 10);
	if (!*end && job > 0 && job <= UINT32_MAX)
		refresh_rundir(noded, (uint32_t)job);
}

static void scan_rundirs(struct egs_noded *noded)
{
	int fd = openat(noded->rundirs_fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t i;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (i = 0; i < noded->nrundirs; i++)
		noded->rundirs[i].seen = false;
	noded->removal_due = false;
	while ((entry = readdir(list)))
		scan_entry(noded, entry->d_name);
	closedir(list);
	if (noded->removal_due)
		start_removal(noded);
	for (i = noded->nrundirs; i-- > 0;)
		if (!noded->rundirs[i].seen)
			forget_rundir(noded, &noded->rundirs[i]);
	for (i = 0; i < noded->nrundirs; i++)
		egs_noded_spool_messages(noded, &noded->rundirs[i]);
	egs_noded_start_gpu_scans(noded);
	egs_noded_apply_orders(noded);
	egs_noded_relay_next(noded);
}

void egs_noded_scan_rundirs(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;

	(void)events;
	noded->scan_scheduled = false;
	egs_timer_start(noded->scan_timer, SCAN_PERIOD_MS);
	scan_rundirs(noded);
}

/* A scan of all directories costs less than finding the changed directory.  The
 * delay of the scan limits the work if a user makes many changes in a second.
 */
void egs_noded_on_inotify(void *arg, uint32_t events)
{
	/* Large enough for any event, and aligned for it. */
	char bytes[4096] __attribute__((aligned(8)));
	struct egs_noded *noded = arg;

	(void)events;
	while (read(noded->inotify_fd, bytes, sizeof(bytes)) > 0)
		;
	schedule_scan(noded);
}

/* ---- carry out the orders ---- */

static const struct egs_job_orders *
find_orders(const struct egs_noded *noded,
	    const struct egs_local_rundir *rundir)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].job == rundir->job)
			return &noded->orders[i];
	return NULL;
}

static bool is_same_notice(const struct egs_rundir_notice *a,
			   const struct egs_rundir_notice *b)
{
	return a->number == b->number && a->kind == b->kind &&
	       a->gpus == b->gpus && a->deadline_s == b->deadline_s;
}

/* Start the save program once for each notice, even if the deadline changes. */
static void start_saver_once(struct egs_noded *noded,
			     struct egs_local_rundir *rundir,
			     const struct egs_job_orders *orders)
{
	const struct egs_rundir_notice *r = &orders->notice;

	if (!orders->has_saver || r->kind != EGS_NOTICE_YIELD || !r->number ||
	    rundir->saved_number == r->number)
		return;
	rundir->saved_number = r->number;
	egs_noded_start_saver(noded, orders);
}

static void write_notice(struct egs_noded *noded,
			 struct egs_local_rundir *rundir,
			 const struct egs_job_orders *orders)
{
	struct egs_rundir_notice notice = orders->notice;

	notice.reason = orders->reason.msg;
	if (egs_rundir_write_notice(&rundir->dir, &notice) < 0) {
		if (!rundir->notice_failed)
			egs_log_warn("job %" PRIu32 ": notice %" PRIu32
				     " not written to its run directory",
				     rundir->job, notice.number);
		rundir->notice_failed = true;
		egs_timer_start(noded->scan_timer, RETRY_MS);
		return;
	}
	rundir->notice_failed = false;
	rundir->notice = orders->notice;
	if (notice.number && notice.deadline_s)
		egs_log_info("job %" PRIu32 ": notice %" PRIu32 " delivered, "
			     "deadline in %" PRId64 " s",
			     rundir->job, notice.number,
			     notice.deadline_s - time(NULL));
}

/* A notice that could not be written is written with the next scan. */
static void deliver_notice(struct egs_noded *noded,
			   struct egs_local_rundir *rundir,
			   const struct egs_job_orders *orders)
{
	if (orders->uid != rundir->dir.uid)
		return;
	if (!is_same_notice(&orders->notice, &rundir->notice))
		write_notice(noded, rundir, orders);
	start_saver_once(noded, rundir, orders);
}

/* Wake a job that waits if there is news, so that the job sends its message
 * again.  Without news the job sends the message again after EGS_JOB_HOLD_S.
 */
static void wake_job(struct egs_local_rundir *rundir,
		     const struct egs_job_orders *orders)
{
	static const char text[] = "{\"ok\":true,\"waits\":true,\"news\":true}";

	if (!*rundir->waiting_name || orders->uid != rundir->dir.uid ||
	    orders->news <= rundir->waiting_news)
		return;
	egs_rundir_write_answer(&rundir->dir, rundir->waiting_name, text,
				strlen(text));
	rundir->waiting_name[0] = '\0';
}

void egs_noded_apply_orders(struct egs_noded *noded)
{
	noded->removal_pending = false;
	for (size_t i = noded->nrundirs; noded->has_orders && i-- > 0;) {
		struct egs_local_rundir *rundir = &noded->rundirs[i];
		const struct egs_job_orders *orders =
			find_orders(noded, rundir);

		if (orders) {
			deliver_notice(noded, rundir, orders);
			wake_job(rundir, orders);
			continue;
		}
		if (rundir->dir.changed_s + ORDERS_MARGIN_S >=
		    noded->orders_as_of_s) {
			noded->removal_pending = true;
			continue;
		}
		if (egs_rundir_retire(noded->rundirs_fd, rundir->job) == 0)
			forget_rundir(noded, rundir);
	}
}
