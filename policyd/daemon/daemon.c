/* daemon.c - egs-policyd: set-up, timers, shutdown */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/conf/slurm_conf.h"
#include "common/ipc/trust.h"
#include "policyd/daemon/daemon.h"
#include "policyd/daemon/sd_notify.h"

enum {
	TICK_MS = 1000,
	RECOMPUTE_TICKS = 60,
	PRUNE_TICKS = 3600,
	/* Poll again if the worker never answers. */
	LOST_POLL_MS = 120 * 1000,
	MALLOC_TRIM_BYTES = 128 * 1024,
};

egs_time_t egs_daemon_now(void)
{
	return time(NULL);
}

const char *egs_daemon_format_time(egs_time_t t, char text[EGS_TIME_TEXT_SIZE])
{
	time_t when = t;
	struct tm tm;

	if (!t || !localtime_r(&when, &tm) ||
	    !strftime(text, EGS_TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(text, EGS_TIME_TEXT_SIZE, "-");
	return text;
}

void egs_daemon_changed(struct egs_daemon *d, unsigned int what)
{
	d->changed |= what & ~EGS_CHANGED_NOTICES;
	if (what & EGS_CHANGED_NOTICES)
		EGS_PARTS_CALL(d, jobs_changed, d);
}

static void apply_decisions(struct egs_daemon *d)
{
	egs_daemon_run_actions(d);
	if (d->changed & EGS_CHANGED_JOBS && egs_daemon_commit(d, NULL) == 0)
		d->changed &= ~EGS_CHANGED_JOBS;
	if (d->changed & EGS_CHANGED_NODES)
		egs_daemon_publish_nodes(d);
	if (d->changed & EGS_CHANGED_TABLE) {
		egs_daemon_changed(d, EGS_CHANGED_NOTICES);
		egs_daemon_publish_jobs(d);
		egs_daemon_touch_jobs(d);
	}
	EGS_PARTS_CALL(d, updated, d);
}

void egs_daemon_update(struct egs_daemon *d)
{
	if (d->slurmctld_down || !d->synced)
		return;
	egs_policy_update(d->policy, egs_daemon_now());
	apply_decisions(d);
}

void egs_daemon_recompute(struct egs_daemon *d)
{
	if (d->slurmctld_down || !d->synced)
		return;
	egs_policy_recompute_all(d->policy, egs_daemon_now());
	egs_daemon_changed(d, EGS_CHANGED_TABLE); /* costs grow with time */
	if (egs_daemon_begin(d, NULL) == 0)
		egs_daemon_changed(d, EGS_CHANGED_JOBS); /* so does usage */
	apply_decisions(d);
}

/* Somebody may have cut the file of the table short. */
static void check_table(struct egs_daemon *d)
{
	struct egs_err err;
	int rc = egs_table_repair(d->table, &err);

	if (rc < 0 && !d->table_failed)
		egs_log_error("table: %s; stock Slurm decides", err.msg);
	d->table_failed = rc < 0;
	if (rc <= 0)
		return;
	egs_log_error("%s/table: was cut short; written again", d->run_dir);
	egs_daemon_changed(d, EGS_CHANGED_TABLE | EGS_CHANGED_NODES);
}

static void on_tick(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;

	(void)events;
	egs_timer_start(d->tick_timer, TICK_MS);
	d->ticks++;
	egs_daemon_doorbell_tick(d);
	egs_daemon_check_polls(d);
	check_table(d);
	if (d->synced && !d->slurmctld_down) {
		d->heartbeat_at = egs_daemon_now();
		egs_table_heartbeat(d->table, d->heartbeat_at);
	}
	if (!d->store)
		egs_daemon_retry_state(d);
	else if (d->store_failed)
		egs_daemon_retry_store(d);
	if (d->ticks % RECOMPUTE_TICKS == 0)
		egs_daemon_recompute(d);
	else
		egs_daemon_update(d); /* a deadline may have passed */
	if (d->ticks % PRUNE_TICKS == 0)
		egs_daemon_prune_history(d);
	if (d->synced && !d->slurmctld_down) {
		egs_daemon_touch_tick(d);
		egs_daemon_observe_tick(d);
	}
	if (d->store)
		d->wal_bytes = egs_store_trim_wal(d->store);
	EGS_PARTS_CALL(d, tick, d);
	egs_notify_tick(d);
}

static void on_poll(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;

	(void)events;
	if (!d->store)
		return; /* egs_daemon_retry_state() starts the polls */
	egs_daemon_poll_in(d, LOST_POLL_MS);
	egs_worker_poll(d->worker, d->changed & EGS_CHANGED_CLUSTER);
	d->changed &= ~EGS_CHANGED_CLUSTER;
}

static void on_reload(void *arg, uint32_t signo)
{
	struct egs_err err;

	(void)signo;
	egs_daemon_begin_reload(arg, &err);
}

static void on_stop(void *arg, uint32_t signo)
{
	struct egs_daemon *d = arg;

	egs_log_info("egs-policyd: stops, signal %" PRIu32, signo);
	egs_sd_notify("STOPPING=1");
	if (d->synced)
		EGS_PARTS_CALL(d, ending, d);
	if (d->synced && egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);
	egs_loop_stop(d->loop);
}

static int make_policy(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);

	d->policy = egs_policy_new(c);
	if (d->policy)
		d->cluster = egs_cluster_new(d->policy, c,
					     &egs_daemon_cluster_ops, d);
	return d->cluster ? 0 : egs_errf(err, "out of memory");
}

/* Only its owner can read the table.  The plugins run as SlurmUser, and so
 * should we; a daemon of root gives the table to SlurmUser.
 */
static int create_table(struct egs_daemon *d, struct egs_err *err)
{
	char path[sizeof(d->run_dir) + 16];
	struct egs_slurm_conf slurm;
	uid_t owner;

	snprintf(path, sizeof(path), "%s/table", d->run_dir);
	d->table = egs_table_create(path, err);
	if (!d->table)
		return -1;
	if (geteuid() != 0)
		return 0;
	egs_slurm_conf_read(&slurm, NULL);
	owner = egs_trust_find_uid(slurm.user);
	if (owner != (uid_t)-1 && lchown(path, owner, (gid_t)-1) < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	return 0;
}

/* Lock first, so that we touch no files of another daemon.  The kernel drops
 * the locks when this process ends, however it ends.
 */
static int open_files(struct egs_daemon *d, struct egs_err *err)
{
	bool hopeless = false;

	d->run_lock_fd =
		egs_daemon_lock_dir("RunDir", d->run_dir, 0755, &hopeless, err);
	if (d->run_lock_fd < 0)
		return -1;
	if (egs_daemon_open_state(d, &hopeless, err) < 0) {
		if (hopeless)
			return -1;
		egs_daemon_run_without_state(d, err);
	}
	return create_table(d, err);
}

static int create_loop(struct egs_daemon *d, struct egs_err *err)
{
	d->loop = egs_loop_new(err);
	if (!d->loop)
		return -1;
	d->poll.timer = egs_loop_add_timer(d->loop, on_poll, d, err);
	d->tick_timer = egs_loop_add_timer(d->loop, on_tick, d, err);
	return d->poll.timer && d->tick_timer &&
			       egs_loop_add_signal(d->loop, SIGHUP, on_reload,
						   d, err) &&
			       egs_loop_add_signal(d->loop, SIGTERM, on_stop, d,
						   err) &&
			       egs_loop_add_signal(d->loop, SIGINT, on_stop, d,
						   err)
		       ? 0
		       : -1;
}

static int set_up_daemon(struct egs_daemon *d, const char *program,
			 struct egs_err *err)
{
	if (egs_daemon_load_conf(d, err) < 0 || egs_parts_init(d, err) < 0 ||
	    make_policy(d, err) < 0 || open_files(d, err) < 0 ||
	    create_loop(d, err) < 0 || egs_daemon_init_reload(d, err) < 0)
		return -1;
	d->worker = egs_worker_new(d->loop, program, &egs_daemon_worker_ops, d,
				   err);
	if (!d->worker || egs_daemon_doorbell_start(d, err) < 0)
		return -1;
	return egs_parts_start(d, err);
}

void egs_daemon_free(struct egs_daemon *d)
{
	if (!d)
		return;
	egs_daemon_doorbell_stop(d);
	egs_worker_free(d->worker);
	egs_parts_stop(d);
	egs_daemon_free_operators(d); /* before the loop: it has a watch */
	egs_daemon_free_reload(d);
	egs_notify_free(d);
	egs_table_close(d->table);
	egs_cluster_free(d->cluster);
	egs_policy_free(d->policy);
	egs_account_free(d->account);
	egs_idle_levels_free(d->idle_levels);
	egs_store_close(d->store);
	egs_loop_free(d->loop);
	egs_conf_free(d->conf);
	if (d->state_lock_fd >= 0)
		close(d->state_lock_fd);
	if (d->run_lock_fd >= 0)
		close(d->run_lock_fd);
	egs_daemon_free_saved_jobs(d);
	free(d->touches.sum);
	egs_daemon_free_observed(d);
	free(d);
}

static int run_loop(struct egs_daemon *d, struct egs_err *err)
{
	d->started_at = egs_daemon_now();
	egs_timer_start(d->tick_timer, TICK_MS);
	if (d->store)
		egs_daemon_poll_in(d, 0);
	egs_sd_notify("READY=1");
	egs_log_info("egs-policyd: epoch %" PRIu64 ", mode %s%s",
		     egs_store_epoch(d->store),
		     egs_daemon_mode(d) == EGS_MODE_ENFORCE ? "enforce"
							    : "observe",
		     d->paused ? ", paused" : "");
	return egs_loop_run(d->loop, err);
}

/* Each node keeps a connection open, and there may be thousands of nodes. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Return large blocks to the system when they are freed.  By default glibc
 * raises both thresholds over time, and the daemon runs for months.
 */
static void set_malloc_limits(void)
{
	mallopt(M_MMAP_THRESHOLD, MALLOC_TRIM_BYTES);
	mallopt(M_TRIM_THRESHOLD, MALLOC_TRIM_BYTES);
}

struct egs_daemon *egs_daemon_new(const char *conf_path, const char *program,
				  const struct egs_part *const *parts,
				  struct egs_err *err)
{
	struct egs_daemon *d = calloc(1, sizeof(*d));

	if (!d) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	d->conf_path = conf_path;
	d->parts = parts;
	d->state_lock_fd = d->run_lock_fd = d->operators.lookup.fd = -1;
	if (set_up_daemon(d, program, err) == 0)
		return d;
	egs_daemon_free(d);
	return NULL;
}

int egs_daemon_run(const char *conf_path, const char *program,
		   const struct egs_part *const *parts, struct egs_err *err)
{
	struct egs_daemon *d;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	set_malloc_limits();
	d = egs_daemon_new(conf_path, program, parts, err);
	if (!d)
		return -1;
	rc = run_loop(d, err);
	egs_daemon_free(d);
	return rc;
}
