/* noded.c - egs-noded: setting up, and the end */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/conf/conf.h"
#include "noded/noded.h"

enum {
	/* An earlier one may be on its way out. */
	LOCK_TRIES = 50,
	LOCK_PAUSE_MS = 100,
	/* slurmd may be on its way back. */
	SLURMD_MS = 2000,
	SLURMD_LOOKS = 5,
};

uint64_t egs_noded_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int64_t egs_noded_now_s(void)
{
	return time(NULL);
}

/* A node without the file, or with a bad one, goes by what is built in. */
static void read_conf(struct egs_noded *noded)
{
	static struct egs_conf_problems problems;
	const struct egs_policy_conf *c = NULL;
	struct egs_conf *conf = NULL;

	if (egs_conf_load(&conf, noded->conf_path, &problems) == 0)
		c = egs_conf_policy(conf);
	else
		egs_warning("%s; defaults are used", problems.list[0].err.msg);
	snprintf(noded->node_dir, sizeof(noded->node_dir), "%s",
		 c && c->node_dir ? c->node_dir : EGS_NODE_DIR);
	snprintf(noded->spool_dir, sizeof(noded->spool_dir), "%s",
		 c && c->node_spool ? c->node_spool : EGS_NODE_SPOOL);
	noded->port = c ? c->port : EGS_PORT;
	egs_conf_free(conf);
}

/* 0: it is ours, 1: another one has it. */
static int take_lock(struct egs_noded *noded, struct egs_err *err)
{
	int tries;

	noded->lock = openat(noded->dirs, EGS_RUNDIRS_LOCK,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (noded->lock < 0)
		return egs_errf(err, "%s/%s/%s: %s", noded->node_dir,
				noded->node, EGS_RUNDIRS_LOCK, strerror(errno));
	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(noded->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 1;
}

/* ---- the end ---- */

static void on_stop(void *arg, uint32_t signo)
{
	struct egs_noded *noded = arg;

	egs_info("egs-noded of %s: ends, signal %" PRIu32, noded->node, signo);
	egs_loop_stop(noded->loop);
}

/* slurmd holds a lock for as long as it lives, and so does one that follows
 * it.
 */
static bool slurmd_is_here(const struct egs_noded *noded)
{
	int fd = openat(noded->dirs, EGS_RUNDIRS_SLURMD,
			O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool is_here = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return is_here;
}

static void on_slurmd(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;

	(void)events;
	egs_timer_in(noded->slurmd, SLURMD_MS);
	if (slurmd_is_here(noded)) {
		noded->slurmd_gone = 0;
	} else if (++noded->slurmd_gone == SLURMD_LOOKS) {
		egs_info("egs-noded of %s: ends with slurmd", noded->node);
		egs_loop_stop(noded->loop);
	}
}

/* ---- setting up ---- */

static void on_ask_again(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_wait(arg);
}

static void on_relay_again(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_relay(arg);
}

static int watch_files(struct egs_noded *noded, struct egs_err *err)
{
	char path[40];

	noded->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", noded->dirs);
	if (noded->inotify < 0 ||
	    inotify_add_watch(noded->inotify, path,
			      IN_CREATE | IN_MOVE | IN_DELETE) < 0)
		return egs_errf(err, "inotify: %s", strerror(errno));
	noded->changes = egs_loop_fd(noded->loop, noded->inotify, EPOLLIN,
				     egs_noded_changes, noded, err);
	return noded->changes ? 0 : -1;
}

static int make_timers(struct egs_noded *noded, struct egs_err *err)
{
	struct egs_loop *loop = noded->loop;

	noded->scan = egs_loop_timer(loop, egs_noded_look, noded, err);
	noded->slurmd = egs_loop_timer(loop, on_slurmd, noded, err);
	noded->ask_again = egs_loop_timer(loop, on_ask_again, noded, err);
	noded->relay_again = egs_loop_timer(loop, on_relay_again, noded, err);
	return noded->scan && noded->slurmd && noded->ask_again &&
			       noded->relay_again
		       ? 0
		       : -1;
}

static int watch(struct egs_noded *noded, struct egs_err *err)
{
	noded->loop = egs_loop_new(err);
	if (!noded->loop || make_timers(noded, err) < 0 ||
	    watch_files(noded, err) < 0)
		return -1;
	noded->wait.done = egs_noded_waited;
	noded->relay.done = egs_noded_relayed;
	noded->open.done = egs_noded_said_open;
	if (egs_talk_open(&noded->wait, noded, err) < 0 ||
	    egs_talk_open(&noded->open, noded, err) < 0 ||
	    egs_talk_open(&noded->relay, noded, err) < 0)
		return -1;
	return egs_loop_signal(noded->loop, SIGTERM, on_stop, noded, err) &&
			       egs_loop_signal(noded->loop, SIGINT, on_stop,
					       noded, err)
		       ? 0
		       : -1;
}

static int serve(struct egs_noded *noded, struct egs_err *err)
{
	egs_info("egs-noded of %s: asks %s, %zu messages in the spool",
		 noded->node, noded->at, noded->spool.n);
	egs_timer_in(noded->scan, 0);
	egs_timer_in(noded->ask_again, 0);
	if (noded->with_slurmd)
		egs_timer_in(noded->slurmd, SLURMD_MS);
	return egs_loop_run(noded->loop, err);
}

/* 0, -1, or 1: there is one already. */
static int set_up(struct egs_noded *noded, struct egs_err *err)
{
	int rc;

	read_conf(noded);
	noded->dirs = egs_rundirs_open(noded->node_dir, noded->node, err);
	if (noded->dirs < 0)
		return -1;
	rc = take_lock(noded, err);
	if (rc != 0)
		return rc;
	if (egs_spool_open(&noded->spool, noded->spool_dir, noded->node, err) <
	    0)
		return -1;
	egs_noded_find_hosts(noded);
	return watch(noded, err);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void tear_down(struct egs_noded *noded)
{
	egs_noded_forget_all(noded);
	egs_noded_save_end(noded);
	egs_talk_close(&noded->wait);
	egs_talk_close(&noded->relay);
	egs_talk_close(&noded->open);
	egs_watch_free(noded->looked);
	egs_aside_end(&noded->looking);
	egs_watch_free(noded->removed);
	egs_aside_end(&noded->removal);
	egs_loop_free(noded->loop);
	if (noded->spool.fd >= 0)
		egs_spool_close(&noded->spool);
	close_file(noded->inotify);
	close_file(noded->lock);
	close_file(noded->dirs);
	free(noded->told);
	free(noded);
}

int egs_noded_run(const char *conf_path, const char *node, bool with_slurmd,
		  struct egs_err *err)
{
	struct egs_noded *noded = calloc(1, sizeof(*noded));
	int rc;

	if (!noded)
		return egs_errf(err, "out of memory");
	noded->conf_path = conf_path;
	noded->node = node;
	noded->with_slurmd = with_slurmd;
	noded->dirs = noded->lock = noded->inotify = -1;
	noded->spool.fd = noded->removal.fd = noded->looking.fd = -1;
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	srandom((unsigned)getpid() ^ (unsigned)time(NULL));
	/* As a user we have that user's powers, and no group's of root. */
	if (geteuid() == 0)
		setgroups(0, NULL);
	rc = set_up(noded, err);
	if (rc == 0)
		rc = serve(noded, err);
	tear_down(noded);
	return rc > 0 ? 0 : rc;
}
