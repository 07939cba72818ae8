/* daemon.c - egs-policyd: setting up, the clock, the end */
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
#include "policyd/daemon/daemon.h"
#include "policyd/daemon/sd_notify.h"
#include "policyd/requests/node.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/requests.h"
#include "policyd/requests/resize.h"
#include "policyd/server/rate_limit.h"

enum {
	TICK_MS = 1000,
	PASS_TICKS = 60,
	PRUNE_TICKS = 3600,
	/* A look that was never answered does not keep the next one away. */
	LOST_LOOK_MS = 120 * 1000,
	LARGE = 128 * 1024,
};

egs_time_t egs_daemon_now(void)
{
	return time(NULL);
}

static void settled(struct egs_daemon *d)
{
	egs_daemon_act(d);
	if (d->unkept && egs_daemon_commit(d, NULL) == 0)
		d->unkept = false;
	if (d->marks_stale)
		egs_daemon_publish_marks(d);
	if (d->stale) {
		egs_nodes_changed(d, NULL);
		egs_daemon_publish(d);
		egs_daemon_rank(d);
	}
	egs_nodes_tell(d);
}

void egs_daemon_settle(struct egs_daemon *d)
{
	if (d->frozen || !d->whole)
		return;
	egs_policy_settle(d->policy, egs_daemon_now());
	settled(d);
}

void egs_daemon_pass(struct egs_daemon *d)
{
	if (d->frozen || !d->whole)
		return;
	egs_policy_pass(d->policy, egs_daemon_now());
	d->stale = true; /* costs grow with time */
	if (egs_daemon_begin(d, NULL) == 0)
		d->unkept = true; /* and so does usage */
	settled(d);
}

static void on_tick(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;

	(void)events;
	egs_timer_in(d->tick, TICK_MS);
	d->ticks++;
	egs_daemon_tick_bell(d);
	if (d->whole && !d->frozen)
		egs_table_beat(d->table, egs_daemon_now());
	if (!d->store)
		egs_daemon_retry_state(d);
	else if (d->store_failed)
		egs_daemon_retry(d);
	if (d->ticks % PASS_TICKS == 0)
		egs_daemon_pass(d);
	else
		egs_daemon_settle(d); /* a deadline may have passed */
	if (d->ticks % PRUNE_TICKS == 0)
		egs_daemon_prune(d);
	if (d->whole && !d->frozen)
		egs_daemon_tick_rank(d);
	egs_resize_tick(d);
	egs_shrinks_tick(d);
}

static void on_poll(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;

	(void)events;
	if (!d->store)
		return; /* egs_daemon_retry_state() goes on from here */
	egs_daemon_look_in(d, LOST_LOOK_MS);
	egs_worker_poll(d->worker, d->anew);
	d->anew = false;
}

static void on_reload(void *arg, uint32_t signo)
{
	struct egs_err err;

	(void)signo;
	egs_notify("RELOADING=1");
	egs_daemon_reload(arg, &err);
	egs_notify("READY=1");
}

static void on_stop(void *arg, uint32_t signo)
{
	struct egs_daemon *d = arg;

	egs_info("egs-policyd: ends, signal %" PRIu32, signo);
	egs_notify("STOPPING=1");
	if (d->whole && egs_daemon_begin(d, NULL) == 0)
		egs_daemon_commit(d, NULL);
	egs_loop_stop(d->loop);
}

static int make_policy(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);

	d->policy = egs_policy_new(c);
	if (d->policy)
		d->world =
			egs_world_new(d->policy, c, &egs_daemon_world_ops, d);
	return d->world ? 0 : egs_errf(err, "out of memory");
}

/* Locks first: nothing of another daemon is touched.  The kernel drops them
 * with us, however we end.
 */
static int open_files(struct egs_daemon *d, struct egs_err *err)
{
	char path[sizeof(d->run_dir) + 16];
	bool hopeless = false;

	d->run_fd =
		egs_daemon_lock_dir("RunDir", d->run_dir, 0755, &hopeless, err);
	if (d->run_fd < 0)
		return -1;
	if (egs_daemon_open_state(d, &hopeless, err) < 0) {
		if (hopeless)
			return -1;
		egs_daemon_without_state(d, err);
	}
	snprintf(path, sizeof(path), "%s/table", d->run_dir);
	d->table = egs_table_create(path, err);
	return d->table ? 0 : -1;
}

static int watch(struct egs_daemon *d, struct egs_err *err)
{
	d->loop = egs_loop_new(err);
	if (!d->loop)
		return -1;
	d->poll = egs_loop_timer(d->loop, on_poll, d, err);
	d->tick = egs_loop_timer(d->loop, on_tick, d, err);
	return d->poll && d->tick &&
			       egs_loop_signal(d->loop, SIGHUP, on_reload, d,
					       err) &&
			       egs_loop_signal(d->loop, SIGTERM, on_stop, d,
					       err) &&
			       egs_loop_signal(d->loop, SIGINT, on_stop, d, err)
		       ? 0
		       : -1;
}

static int set_up(struct egs_daemon *d, const char *program,
		  struct egs_err *err)
{
	d->shrink = calloc(EGS_SHRINKS_MAX, sizeof(*d->shrink));
	if (!d->shrink)
		return egs_errf(err, "out of memory");
	if (egs_daemon_load(d, err) < 0 || make_policy(d, err) < 0 ||
	    open_files(d, err) < 0 || watch(d, err) < 0)
		return -1;
	d->worker = egs_worker_new(d->loop, program, &egs_daemon_worker_ops, d,
				   err);
	if (!d->worker || egs_daemon_hang_bell(d, err) < 0)
		return -1;
	d->nodes = egs_nodes_new();
	d->addresses = egs_addresses_new();
	d->patience = egs_patience_new();
	d->resizes = egs_resizes_new();
	if (!d->nodes || !d->addresses || !d->patience || !d->resizes)
		return egs_errf(err, "out of memory");
	d->server = egs_verbs_serve(d, err);
	return d->server ? 0 : -1;
}

static void tear_down(struct egs_daemon *d)
{
	egs_verbs_end(d->server);
	egs_daemon_unhang_bell(d);
	egs_nodes_free(d->nodes);
	egs_addresses_free(d->addresses);
	egs_patience_free(d->patience);
	egs_readers_free(d->readers);
	egs_worker_free(d->worker);
	egs_resizes_free(d->resizes);
	free(d->shrink);
	egs_daemon_end_operators(d);
	egs_table_close(d->table);
	egs_world_free(d->world);
	egs_policy_free(d->policy);
	egs_account_free(d->account);
	egs_levels_free(d->levels);
	egs_store_close(d->store);
	egs_loop_free(d->loop);
	egs_conf_free(d->conf);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	if (d->run_fd >= 0)
		close(d->run_fd);
	free(d->operators.list);
	free(d->slurms.list);
	free(d->slurms_next.list);
	free(d->kept);
	free(d->forget);
	free(d->sum);
	free(d->rank);
	free(d);
}

static int serve(struct egs_daemon *d, struct egs_err *err)
{
	d->started = egs_daemon_now();
	egs_timer_in(d->tick, TICK_MS);
	if (d->store)
		egs_daemon_look_in(d, 0);
	egs_notify("READY=1");
	egs_info("egs-policyd: epoch %" PRIu64 ", mode %s%s",
		 egs_store_epoch(d->store),
		 egs_daemon_mode(d) == EGS_MODE_ENFORCE ? "enforce" : "observe",
		 d->paused ? ", paused" : "");
	return egs_loop_run(d->loop, err);
}

/* Each node keeps a connection, and there may be thousands. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* What is large goes back to the system when it is freed.  Left alone the
 * library keeps ever larger pieces, and the daemon lives for months.
 */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, LARGE);
}

int egs_daemon_run(const char *conf_path, const char *program,
		   struct egs_err *err)
{
	struct egs_daemon *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return egs_errf(err, "out of memory");
	d->conf_path = conf_path;
	d->lock_fd = d->run_fd = d->names.fd = -1;
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	give_memory_back();
	rc = set_up(d, program, err);
	if (rc == 0)
		rc = serve(d, err);
	tear_down(d);
	return rc;
}
