/* rundirs.c - the run directories that are here
 *
 * spank_egs makes them.  One goes when egs-policyd, having looked at Slurm
 * after it was used last, does not name its job: then no job with that id runs
 * here.
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

#include "common/base/log.h"
#include "noded/noded.h"

enum {
	/* How long a look at Slurm may take, and a step to start. */
	ORDERS_MARGIN_S = 15,
	/* Nobody needs longer to make a directory. */
	ABANDONED_S = 300,
	/* From a change to a look at it, and from one look to the next. */
	SCAN_DELAY_MS = 20,
	SCAN_PERIOD_MS = 10000,
};

/* Which request is in a directory that an earlier one of us has seen. */
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
			  struct egs_local_rundir *here)
{
	if (here->out_watch >= 0)
		inotify_rm_watch(noded->inotify_fd, here->out_watch);
	egs_rundir_close(&here->dir);
	*here = noded->rundirs[--noded->nrundirs];
}

void egs_noded_close_rundirs(struct egs_noded *noded)
{
	while (noded->nrundirs)
		forget_rundir(noded, &noded->rundirs[noded->nrundirs - 1]);
	free(noded->rundirs);
}

/* By its file, for the path may lead elsewhere by now. */
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
	size_t room = 2 * noded->rundirs_room + 8;
	struct egs_local_rundir *more;

	if (noded->nrundirs == noded->rundirs_room) {
		more = realloc(noded->rundirs, room * sizeof(*more));
		if (!more) {
			close(dir->fd);
			return;
		}
		noded->rundirs = more;
		noded->rundirs_room = room;
	}
	noded->rundirs[noded->nrundirs++] = (struct egs_local_rundir){
		.job = job,
		.dir = *dir,
		.out_watch = watch_out_dir(noded, dir),
		.notice.number = NOTICE_UNKNOWN,
		.seen = true,
	};
}

/* Another directory under this name: the one we know was put aside. */
static void refresh_rundir(struct egs_noded *noded, uint32_t job)
{
	struct egs_local_rundir *here = egs_noded_find_rundir(noded, job);
	struct egs_rundir dir;

	if (egs_rundir_open(noded->rundirs_fd, job, &dir) < 0)
		return;
	if (here && here->dir.inode == dir.inode && here->dir.uid == dir.uid) {
		here->dir.changed_s = dir.changed_s;
		here->seen = true;
		if (here->out_watch < 0)
			here->out_watch = watch_out_dir(noded, &here->dir);
		egs_rundir_close(&dir);
		return;
	}
	if (here)
		forget_rundir(noded, here);
	add_rundir(noded, job, &dir);
}

/* ---- removal, one at a time, aside ---- */

struct remove_args {
	int dirs;
	const char *name;
};

static int remove_in_child(const void *arg, char **bytes, size_t *len,
			   struct egs_err *err)
{
	const struct remove_args *what = arg;

	(void)bytes;
	(void)len;
	return egs_rundir_remove(what->dirs, what->name, err);
}

/* It stays, under a name that nobody looks at. */
static void rename_stuck(struct egs_noded *noded, const struct egs_err *why)
{
	char name[sizeof(noded->remove_name) + 8];

	snprintf(name, sizeof(name), ".stuck%s", noded->remove_name);
	renameat(noded->rundirs_fd, noded->remove_name, noded->rundirs_fd,
		 name);
	egs_log_warn("a run directory cannot be removed and is %s now: %s",
		     name, why->msg);
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
	if (rc < 0)
		rename_stuck(noded, &err);
	schedule_scan(noded);
}

static void start_removal(struct egs_noded *noded, const char *name)
{
	const struct remove_args what = { noded->rundirs_fd, name };

	if (noded->remove_watch)
		return;
	snprintf(noded->remove_name, sizeof(noded->remove_name), "%s", name);
	if (egs_child_start(&noded->remove_child, remove_in_child, &what,
			    NULL) < 0)
		return;
	noded->remove_watch =
		egs_loop_add_fd(noded->loop, noded->remove_child.fd, EPOLLIN,
				on_removed, noded, NULL);
	if (!noded->remove_watch)
		egs_child_stop(&noded->remove_child);
}

/* Somebody was killed while he made it. */
static bool is_abandoned(const struct egs_noded *noded, const char *name)
{
	struct stat is;

	return fstatat(noded->rundirs_fd, name, &is, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       is.st_ctime + ABANDONED_S < egs_noded_now_s();
}

/* ---- looking ---- */

static bool has_prefix(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void scan_entry(struct egs_noded *noded, const char *name)
{
	unsigned long long job;
	char *end;

	if (has_prefix(name, EGS_RUNDIRS_RETIRED) ||
	    (has_prefix(name, EGS_RUNDIRS_NEW) && is_abandoned(noded, name)))
		start_removal(noded, name);
	if (has_prefix(name, EGS_RUNDIRS_GPU_REPORT))
		egs_noded_send_gpu_report(noded, name);
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
	while ((entry = readdir(list)))
		scan_entry(noded, entry->d_name);
	closedir(list);
	for (i = noded->nrundirs; i-- > 0;)
		if (!noded->rundirs[i].seen)
			forget_rundir(noded, &noded->rundirs[i]);
	for (i = 0; i < noded->nrundirs; i++)
		egs_noded_spool_messages(noded, &noded->rundirs[i]);
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

/* Whatever it was, a look at all costs less than to find out; but a user who
 * makes a thousand changes a second gets no thousand looks.
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

/* ---- following what was told ---- */

static const struct egs_job_orders *
find_orders(const struct egs_noded *noded, const struct egs_local_rundir *here)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].job == here->job)
			return &noded->orders[i];
	return NULL;
}

static bool is_same_notice(const struct egs_rundir_notice *a,
			   const struct egs_rundir_notice *b)
{
	return a->number == b->number && a->kind == b->kind &&
	       a->gpus == b->gpus && a->deadline_s == b->deadline_s;
}

/* Once for each request: its deadline may change meanwhile. */
static void start_saver_once(struct egs_noded *noded,
			     struct egs_local_rundir *here,
			     const struct egs_job_orders *told)
{
	const struct egs_rundir_notice *r = &told->notice;

	if (!*told->save_program || r->kind != EGS_NOTICE_YIELD || !r->number ||
	    here->saved_number == r->number)
		return;
	here->saved_number = r->number;
	egs_noded_start_saver(noded, told);
}

static void deliver_notice(struct egs_noded *noded,
			   struct egs_local_rundir *here,
			   const struct egs_job_orders *told)
{
	struct egs_rundir_notice request = told->notice;

	if (told->uid != here->dir.uid ||
	    is_same_notice(&request, &here->notice))
		return;
	here->notice = request;
	request.reason = told->reason.msg;
	if (egs_rundir_write_notice(&here->dir, &request) < 0 &&
	    !here->warned) {
		egs_log_warn("job %" PRIu32 ": its run directory does not take "
			     "a request",
			     here->job);
		here->warned = true;
	}
	if (request.number && request.deadline_s)
		egs_log_info("job %" PRIu32 ": request %" PRIu32 " delivered, "
			     "%" PRId64 " s until its deadline",
			     here->job, request.number,
			     request.deadline_s - egs_noded_now_s());
	start_saver_once(noded, here, told);
}

void egs_noded_apply_orders(struct egs_noded *noded)
{
	noded->removal_pending = false;
	for (size_t i = noded->nrundirs; noded->has_orders && i-- > 0;) {
		struct egs_local_rundir *here = &noded->rundirs[i];
		const struct egs_job_orders *told = find_orders(noded, here);

		if (told) {
			deliver_notice(noded, here, told);
			continue;
		}
		if (here->dir.changed_s + ORDERS_MARGIN_S >=
		    noded->orders_as_of_s) {
			noded->removal_pending = true;
			continue;
		}
		if (egs_rundir_retire(noded->rundirs_fd, here->job) == 0)
			forget_rundir(noded, here);
	}
}
