/* backup.c - copy the state, also while the daemon writes it */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "policyd/store/backup.h"

enum { PAGES_PER_STEP = 1000, PAUSE_MS = 5, BUSY_MS = 10000 };

/* Copy in steps, so that the daemon can write between them.  A write of
 * the daemon restarts the copy.
 */
static int copy_pages(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc = SQLITE_OK;

	while (b &&
	       (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)) {
		rc = sqlite3_backup_step(b, PAGES_PER_STEP);
		if (rc != SQLITE_DONE)
			sqlite3_sleep(PAUSE_MS);
	}
	return b && sqlite3_backup_finish(b) == SQLITE_OK ? 0 : -1;
}

static int back_up_state(const char *state, const char *path)
{
	sqlite3 *from = NULL, *to = NULL;
	mode_t old = umask(0077);
	int rc = -1;

	if (sqlite3_open_v2(state, &from, SQLITE_OPEN_READONLY, NULL) !=
		    SQLITE_OK ||
	    sqlite3_busy_timeout(from, BUSY_MS) != SQLITE_OK ||
	    sqlite3_exec(from, "BEGIN; SELECT 1 FROM value", NULL, NULL,
			 NULL) != SQLITE_OK)
		fprintf(stderr, "egs-report: %s: %s\n", state,
			sqlite3_errmsg(from));
	else if (sqlite3_open(path, &to) != SQLITE_OK ||
		 copy_pages(from, to) < 0)
		fprintf(stderr, "egs-report: %s: %s\n", path,
			sqlite3_errmsg(to));
	else
		rc = 0;
	umask(old);
	sqlite3_close(from);
	if (sqlite3_close(to) != SQLITE_OK)
		rc = -1;
	/* Half a copy is none; its name is free for the next attempt. */
	if (rc < 0 && to)
		unlink(path);
	return rc;
}

int egs_backup_main(const char *conf_path, const char *path)
{
	struct egs_conf *conf = egs_conf_open(conf_path, NULL);
	char state[4096];
	int rc;

	snprintf(state, sizeof(state), "%s/state",
		 egs_conf_dir(egs_conf_policy(conf), EGS_STATE_DIR));
	if (access(path, F_OK) == 0) {
		fprintf(stderr, "egs-report: %s exists already\n", path);
		rc = -1;
	} else {
		rc = back_up_state(state, path);
	}
	if (rc == 0)
		printf("%s is a copy of %s\n", path, state);
	egs_conf_free(conf);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
