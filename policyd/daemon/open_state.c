/* open_state.c - lock and open StateDir, or run without it for now
 *
 * StateDir may be missing, read-only or full, perhaps only for a while.
 * Without its saved state the daemon decides nothing: it does not poll Slurm,
 * does not publish the table, and refuses requests until StateDir works.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

int egs_daemon_lock_dir(const char *key, const char *dir, mode_t mode,
			bool *hopeless, struct egs_err *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/.lock", dir);
	if (mkdir(dir, mode) < 0 && errno != EEXIST)
		return egs_errf(err, "%s=%s: %s", key, dir, strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return egs_errf(err, "%s=%s: %s", key, dir, strerror(errno));
	if (egs_lock_file(fd) < 0) {
		*hopeless = errno == EWOULDBLOCK;
		egs_errf(err, "%s=%s: %s", key, dir,
			 *hopeless ? "another egs-policyd is running"
				   : strerror(errno));
	} else if (access(dir, W_OK) < 0) {
		egs_errf(err, "%s=%s: %s", key, dir, strerror(errno));
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

static void close_state(struct egs_daemon *d)
{
	egs_account_free(d->account);
	d->account = NULL;
	egs_store_close(d->store);
	d->store = NULL;
	egs_daemon_drop_restored(d);
	if (d->state_lock_fd >= 0)
		close(d->state_lock_fd);
	d->state_lock_fd = -1;
}

int egs_daemon_open_state(struct egs_daemon *d, bool *hopeless,
			  struct egs_err *err)
{
	char path[sizeof(d->state_dir) + 16];

	*hopeless = false;
	d->state_lock_fd = egs_daemon_lock_dir("StateDir", d->state_dir, 0700,
					       hopeless, err);
	if (d->state_lock_fd < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/state", d->state_dir);
	d->store = egs_store_open(path, hopeless, err);
	if (d->store && egs_daemon_restore(d, err) == 0 &&
	    egs_daemon_restore_usage(d, err) == 0 &&
	    egs_daemon_restore_account(d, err) == 0)
		return 0;
	close_state(d);
	return -1;
}

void egs_daemon_run_without_state(struct egs_daemon *d,
				  const struct egs_err *why)
{
	egs_log_error("%s; nothing is decided until it works", why->msg);
	d->store_failed = true;
}

void egs_daemon_retry_state(struct egs_daemon *d)
{
	struct egs_err err;
	bool hopeless;

	if (egs_daemon_open_state(d, &hopeless, &err) == 0) {
		d->store_failed = false;
		egs_log_info("StateDir=%s: works, epoch %" PRIu64, d->state_dir,
			     egs_store_epoch(d->store));
		egs_daemon_poll_in(d, 0);
	} else if (hopeless) {
		egs_log_error("%s", err.msg);
		egs_loop_stop(d->loop);
	}
}
