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
	MARGIN_S = 15,
	/* Nobody needs longer to make a directory. */
	NEW_S = 300,
	/* From a change to a look at it, and from one look to the next. */
	SOON_MS = 20,
	LATER_MS = 10000,
};

/* Which request is in a directory that an earlier one of us has seen. */
#define NOT_KNOWN UINT32_MAX

static void look_soon(struct egs_noded *noded)
{
	if (!noded->soon)
		egs_timer_in(noded->scan, SOON_MS);
	noded->soon = true;
}

struct egs_here *egs_noded_find(struct egs_noded *noded, uint32_t job)
{
	for (size_t i = 0; i < noded->nhere; i++)
		if (noded->here[i].job == job)
			return &noded->here[i];
	return NULL;
}

static void forget(struct egs_noded *noded, struct egs_here *here)
{
	if (here->out >= 0)
		inotify_rm_watch(noded->inotify, here->out);
	egs_rundir_close(&here->dir);
	*here = noded->here[--noded->nhere];
}

void egs_noded_forget_all(struct egs_noded *noded)
{
	while (noded->nhere)
		forget(noded, &noded->here[noded->nhere - 1]);
	free(noded->here);
}

/* By its file, for the path may lead elsewhere by now. */
static int watch_out(struct egs_noded *noded, const struct egs_rundir *dir)
{
	int fd = egs_rundir_out(dir), wd = -1;
	char path[40];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(noded->inotify, path, IN_MOVED_TO);
	close(fd);
	return wd;
}

static void add(struct egs_noded *noded, uint32_t job,
		const struct egs_rundir *dir)
{
	size_t room = 2 * noded->here_room + 8;
	struct egs_here *more;

	if (noded->nhere == noded->here_room) {
		more = realloc(noded->here, room * sizeof(*more));
		if (!more) {
			close(dir->fd);
			return;
		}
		noded->here = more;
		noded->here_room = room;
	}
	noded->here[noded->nhere++] = (struct egs_here){
		.job = job,
		.dir = *dir,
		.out = watch_out(noded, dir),
		.told.request = NOT_KNOWN,
		.seen = true,
	};
}

/* Another directory under this name: the one we know was put aside. */
static void see_job(struct egs_noded *noded, uint32_t job)
{
	struct egs_here *here = egs_noded_find(noded, job);
	struct egs_rundir dir;

	if (egs_rundir_open(noded->dirs, job, &dir) < 0)
		return;
	if (here && here->dir.inode == dir.inode && here->dir.uid == dir.uid) {
		here->dir.changed_s = dir.changed_s;
		here->seen = true;
		if (here->out < 0)
			here->out = watch_out(noded, &here->dir);
		egs_rundir_close(&dir);
		return;
	}
	if (here)
		forget(noded, here);
	add(noded, job, &dir);
}

/* ---- removal, one at a time, aside ---- */

struct to_remove {
	int dirs;
	const char *name;
};

static int remove_aside(const void *arg, char **bytes, size_t *len,
			struct egs_err *err)
{
	const struct to_remove *what = arg;

	(void)bytes;
	(void)len;
	return egs_rundir_remove(what->dirs, what->name, err);
}

/* It stays, under a name that nobody looks at. */
static void put_up_with(struct egs_noded *noded, const struct egs_err *why)
{
	char name[sizeof(noded->removing) + 8];

	snprintf(name, sizeof(name), ".stuck%s", noded->removing);
	renameat(noded->dirs, noded->removing, noded->dirs, name);
	egs_warning("a run directory cannot be removed and is %s now: %s", name,
		    why->msg);
}

static void on_removed(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;
	struct egs_err err;
	int rc = egs_aside_read(&noded->removal, &err);

	(void)events;
	if (rc > 0)
		return;
	egs_watch_free(noded->removed);
	noded->removed = NULL;
	egs_aside_end(&noded->removal);
	if (rc < 0)
		put_up_with(noded, &err);
	look_soon(noded);
}

static void remove_gone(struct egs_noded *noded, const char *name)
{
	const struct to_remove what = { noded->dirs, name };

	if (noded->removed)
		return;
	snprintf(noded->removing, sizeof(noded->removing), "%s", name);
	if (egs_aside_start(&noded->removal, remove_aside, &what, NULL) < 0)
		return;
	noded->removed = egs_loop_fd(noded->loop, noded->removal.fd, EPOLLIN,
				     on_removed, noded, NULL);
	if (!noded->removed)
		egs_aside_end(&noded->removal);
}

/* Somebody was killed while he made it. */
static bool is_abandoned(const struct egs_noded *noded, const char *name)
{
	struct stat is;

	return fstatat(noded->dirs, name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is.st_ctime + NEW_S < egs_noded_now_s();
}

/* ---- looking ---- */

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void see(struct egs_noded *noded, const char *name)
{
	unsigned long long job;
	char *end;

	if (starts(name, EGS_RUNDIRS_GONE) ||
	    (starts(name, EGS_RUNDIRS_NEW) && is_abandoned(noded, name)))
		remove_gone(noded, name);
	if (starts(name, EGS_RUNDIRS_UNCLEAN))
		egs_noded_unclean(noded, name);
	if (!isdigit((unsigned char)name[0]))
		return;
	job = strtoull(name, &end, 10);
	if (!*end && job > 0 && job <= UINT32_MAX)
		see_job(noded, (uint32_t)job);
}

static void look(struct egs_noded *noded)
{
	int fd = openat(noded->dirs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t i;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (i = 0; i < noded->nhere; i++)
		noded->here[i].seen = false;
	while ((entry = readdir(list)))
		see(noded, entry->d_name);
	closedir(list);
	for (i = noded->nhere; i-- > 0;)
		if (!noded->here[i].seen)
			forget(noded, &noded->here[i]);
	for (i = 0; i < noded->nhere; i++)
		egs_noded_pick(noded, &noded->here[i]);
	egs_noded_follow(noded);
	egs_noded_relay(noded);
}

void egs_noded_look(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;

	(void)events;
	noded->soon = false;
	egs_timer_in(noded->scan, LATER_MS);
	look(noded);
}

/* Whatever it was, a look at all costs less than to find out; but a user who
 * makes a thousand changes a second gets no thousand looks.
 */
void egs_noded_changes(void *arg, uint32_t events)
{
	/* Large enough for any event, and aligned for it. */
	char bytes[4096] __attribute__((aligned(8)));
	struct egs_noded *noded = arg;

	(void)events;
	while (read(noded->inotify, bytes, sizeof(bytes)) > 0)
		;
	look_soon(noded);
}

/* ---- following what was told ---- */

static const struct egs_told *told_of(const struct egs_noded *noded,
				      const struct egs_here *here)
{
	for (size_t i = 0; i < noded->ntold; i++)
		if (noded->told[i].job == here->job)
			return &noded->told[i];
	return NULL;
}

static bool is_same(const struct egs_rundir_request *a,
		    const struct egs_rundir_request *b)
{
	return a->request == b->request && a->kind == b->kind &&
	       a->gpus == b->gpus && a->deadline == b->deadline;
}

/* Once for each request: its deadline may change meanwhile. */
static void save(struct egs_noded *noded, struct egs_here *here,
		 const struct egs_told *told)
{
	const struct egs_rundir_request *r = &told->request;

	if (!*told->program || r->kind != EGS_REQUEST_YIELD || !r->request ||
	    here->saved == r->request)
		return;
	here->saved = r->request;
	egs_noded_save(noded, told);
}

static void deliver(struct egs_noded *noded, struct egs_here *here,
		    const struct egs_told *told)
{
	struct egs_rundir_request request = told->request;

	if (told->uid != here->dir.uid || is_same(&request, &here->told))
		return;
	here->told = request;
	request.reason = told->reason.msg;
	if (egs_rundir_tell(&here->dir, &request) < 0 && !here->complains) {
		egs_warning("job %" PRIu32 ": its run directory does not take "
			    "a request",
			    here->job);
		here->complains = true;
	}
	if (request.request && request.deadline)
		egs_info("job %" PRIu32 ": request %" PRIu32 " delivered, "
			 "%" PRId64 " s until its deadline",
			 here->job, request.request,
			 request.deadline - egs_noded_now_s());
	save(noded, here, told);
}

void egs_noded_follow(struct egs_noded *noded)
{
	noded->leftovers = false;
	for (size_t i = noded->nhere; noded->is_told && i-- > 0;) {
		struct egs_here *here = &noded->here[i];
		const struct egs_told *told = told_of(noded, here);

		if (told) {
			deliver(noded, here, told);
			continue;
		}
		if (here->dir.changed_s + MARGIN_S >= noded->told_at_s) {
			noded->leftovers = true;
			continue;
		}
		if (egs_rundir_retire(noded->dirs, here->job) == 0)
			forget(noded, here);
	}
}
