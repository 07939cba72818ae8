/* noded.c - egs-noded: set up, run, tear down */
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
	/* Wait for an earlier egs-noded that is about to end. */
	LOCK_TRIES = 50,
	LOCK_PAUSE_MS = 100,
	/* Allow slurmd time to restart. */
	SLURMD_CHECK_MS = 2000,
	SLURMD_MISSES_MAX = 5,
};

/* Without egs.conf, or with a bad one, use the built-in defaults. */
static void read_conf(struct egs_noded *noded)
{
	struct egs_err err;
	struct egs_conf *conf = egs_conf_open(noded->conf_path, &err);
	const struct egs_policy_conf *c = egs_conf_policy(conf);

	if (!conf)
		egs_log_warn("%s; using defaults", err.msg);
	snprintf(noded->node_dir, sizeof(noded->node_dir), "%s",
		 egs_conf_dir(c, EGS_NODE_DIR));
	snprintf(noded->spool_dir, sizeof(noded->spool_dir), "%s",
		 egs_conf_dir(c, EGS_NODE_SPOOL));
	noded->port = c ? c->port : EGS_PORT;
	noded->sample_interval_s =
		c ? c->sample_interval_s : EGS_SAMPLE_INTERVAL_S;
	if (c && c->dcgm_map_dir)
		snprintf(noded->dcgm_map_dir, sizeof(noded->dcgm_map_dir), "%s",
			 c->dcgm_map_dir);
	egs_conf_free(conf);
}

/* Returns 0 with the lock, 1 if another egs-noded of this node has the lock, or
 * -1 with 'err' set.
 */
static int take_lock(struct egs_noded *noded, struct egs_err *err)
{
	int tries;

	noded->lock_fd =
		openat(noded->rundirs_fd, EGS_RUNDIRS_LOCK,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (noded->lock_fd < 0)
		return egs_errf(err, "%s/%s/%s: %s", noded->node_dir,
				noded->node, EGS_RUNDIRS_LOCK, strerror(errno));
	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(noded->lock_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 1;
}

/* ---- end ---- */

static void on_signal(void *arg, uint32_t signo)
{
	struct egs_noded *noded = arg;

	egs_log_info("egs-noded of %s: ending, signal %" PRIu32, noded->node,
		     signo);
	egs_loop_stop(noded->loop);
}

/* spank_egs in slurmd locks a file; the lock lasts until slurmd ends. */
static bool is_slurmd_running(const struct egs_noded *noded)
{
	int fd = openat(noded->rundirs_fd, EGS_RUNDIRS_SLURMD_LOCK,
			O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return is_locked;
}

static void on_slurmd_timer(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;

	(void)events;
	egs_timer_start(noded->slurmd_timer, SLURMD_CHECK_MS);
	if (is_slurmd_running(noded)) {
		noded->slurmd_misses = 0;
	} else if (++noded->slurmd_misses == SLURMD_MISSES_MAX) {
		egs_log_info("egs-noded of %s: ending, slurmd has ended",
			     noded->node);
		egs_loop_stop(noded->loop);
	}
}

/* ---- set up ---- */

static void on_poll_timer(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_poll_orders(arg);
}

static void on_relay_timer(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_relay_next(arg);
}

static int watch_rundirs(struct egs_noded *noded, struct egs_err *err)
{
	char path[40];

	noded->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", noded->rundirs_fd);
	if (noded->inotify_fd < 0 ||
	    inotify_add_watch(noded->inotify_fd, path,
			      IN_CREATE | IN_MOVE | IN_DELETE) < 0)
		return egs_errf(err, "inotify: %s", strerror(errno));
	noded->inotify_watch =
		egs_loop_add_fd(noded->loop, noded->inotify_fd, EPOLLIN,
				egs_noded_on_inotify, noded, err);
	return noded->inotify_watch ? 0 : -1;
}

static int make_timers(struct egs_noded *noded, struct egs_err *err)
{
	struct egs_loop *loop = noded->loop;

	noded->scan_timer =
		egs_loop_add_timer(loop, egs_noded_scan_rundirs, noded, err);
	noded->slurmd_timer =
		egs_loop_add_timer(loop, on_slurmd_timer, noded, err);
	noded->poll_timer = egs_loop_add_timer(loop, on_poll_timer, noded, err);
	noded->relay_timer =
		egs_loop_add_timer(loop, on_relay_timer, noded, err);
	return noded->scan_timer && noded->slurmd_timer && noded->poll_timer &&
			       noded->relay_timer
		       ? 0
		       : -1;
}

static int set_up_loop(struct egs_noded *noded, struct egs_err *err)
{
	noded->loop = egs_loop_new(err);
	if (!noded->loop || make_timers(noded, err) < 0 ||
	    watch_rundirs(noded, err) < 0)
		return -1;
	noded->poll_call.done = egs_noded_on_poll_answer;
	noded->relay_call.done = egs_noded_on_relay_answer;
	noded->report_call.done = egs_noded_on_report_answer;
	noded->clean_call.done = egs_noded_on_clean_answer;
	noded->sample_call.done = egs_noded_on_sample_answer;
	if (egs_policyd_call_open(&noded->poll_call, noded, err) < 0 ||
	    egs_policyd_call_open(&noded->report_call, noded, err) < 0 ||
	    egs_policyd_call_open(&noded->clean_call, noded, err) < 0 ||
	    egs_policyd_call_open(&noded->sample_call, noded, err) < 0 ||
	    egs_policyd_call_open(&noded->relay_call, noded, err) < 0 ||
	    egs_noded_start_sampling(noded, err) < 0)
		return -1;
	return egs_loop_add_signal(noded->loop, SIGTERM, on_signal, noded,
				   err) &&
			       egs_loop_add_signal(noded->loop, SIGINT,
						   on_signal, noded, err)
		       ? 0
		       : -1;
}

static int run_loop(struct egs_noded *noded, struct egs_err *err)
{
	egs_log_info(
		"egs-noded of %s: egs-policyd is at %s, %zu messages in the "
		"spool",
		noded->node, noded->policyd_addr, noded->spool.n);
	egs_timer_start(noded->scan_timer, 0);
	egs_timer_start(noded->poll_timer, 0);
	if (noded->with_slurmd)
		egs_timer_start(noded->slurmd_timer, SLURMD_CHECK_MS);
	return egs_loop_run(noded->loop, err);
}

/* Returns 0, -1 with 'err' set, or 1 if another egs-noded is running. */
static int set_up_noded(struct egs_noded *noded, struct egs_err *err)
{
	int rc;

	read_conf(noded);
	noded->rundirs_fd =
		egs_rundir_open_node_dir(noded->node_dir, noded->node, err);
	if (noded->rundirs_fd < 0)
		return -1;
	rc = take_lock(noded, err);
	if (rc != 0)
		return rc;
	if (egs_spool_open(&noded->spool, noded->spool_dir, noded->node, err) <
	    0)
		return -1;
	egs_noded_read_hosts(noded);
	egs_noded_open_map(noded);
	return set_up_loop(noded, err);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void free_noded(struct egs_noded *noded)
{
	egs_noded_close_rundirs(noded);
	egs_noded_stop_savers(noded);
	egs_policyd_call_close(&noded->poll_call);
	egs_policyd_call_close(&noded->relay_call);
	egs_policyd_call_close(&noded->report_call);
	egs_policyd_call_close(&noded->clean_call);
	egs_policyd_call_close(&noded->sample_call);
	egs_gpu_sampler_free(noded->sampler);
	egs_dcgm_map_close(&noded->dcgm_map);
	egs_timed_child_stop(&noded->clean_child);
	egs_noded_stop_gpu_scans(noded);
	egs_noded_stop_locks(noded);
	egs_watch_free(noded->remove_watch);
	egs_child_stop(&noded->remove_child);
	egs_loop_free(noded->loop);
	if (noded->spool.fd >= 0)
		egs_spool_close(&noded->spool);
	close_file(noded->inotify_fd);
	close_file(noded->lock_fd);
	close_file(noded->rundirs_fd);
	free(noded->orders);
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
	noded->rundirs_fd = noded->lock_fd = noded->inotify_fd = -1;
	noded->spool.fd = noded->remove_child.fd = noded->dcgm_map.fd = -1;
	noded->gpu_locks = (struct egs_gpu_locks)EGS_GPU_LOCKS_NONE;
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	srandom((unsigned)getpid() ^ (unsigned)time(NULL));
	/* Drop the supplementary groups of root, because egs_as_user_begin()
	 * does not change them.
	 */
	if (geteuid() == 0)
		setgroups(0, NULL);
	rc = set_up_noded(noded, err);
	if (rc == 0)
		rc = run_loop(noded, err);
	free_noded(noded);
	return rc > 0 ? 0 : rc;
}
