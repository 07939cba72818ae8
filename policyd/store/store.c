/* store.c - the file of the store: opening, layout, transactions */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/fd.h"
#include "policyd/store/store_sql.h"

int egs_store_begin(struct egs_store *store, struct egs_err *err)
{
	if (store->in_transaction)
		return 0;
	if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return egs_sql_fail(store, "beginning", err);
	store->in_transaction = true;
	return 0;
}

int egs_store_commit(struct egs_store *store, struct egs_err *err)
{
	if (!store->in_transaction)
		return egs_errf(err, "store: nothing to commit, an earlier "
				     "write failed");
	if (sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return egs_sql_fail(store, "committing", err);
	store->in_transaction = false;
	return 0;
}

static int exec_sql(struct egs_store *store, const char *sql,
		    struct egs_err *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return egs_sql_fail(store, "setting up", err);
	return 0;
}

static int read_layout(struct egs_store *store, struct egs_err *err)
{
	sqlite3_stmt *stmt;
	int layout = -1;

	if (sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &stmt,
			       NULL) != SQLITE_OK)
		return egs_sql_fail(store, "reading its layout", err);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		layout = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return layout < 0 ? egs_sql_fail(store, "reading its layout", err)
			  : layout;
}

/* Number of the layout, PRAGMA user_version of the file.  1 to 9 are of
 * development versions before 0.1.0, with other tables.
 */
enum { LAYOUT = 10 };

/* Layout 0 is a new file. */
static int check_layout(int layout, const char *path, struct egs_err *err)
{
	if (layout > LAYOUT)
		return egs_errf(err,
				"%s: written by a newer egs-policyd (layout "
				"%d, this one knows %d)",
				path, layout, LAYOUT);
	if (layout > 0 && layout < LAYOUT)
		return egs_errf(err,
				"%s: written by a development version before "
				"0.1.0 (layout %d); move the file away, "
				"egs-policyd makes a new one",
				path, layout);
	return 0;
}

/* One transaction, so that a crash leaves the file as it was. */
static int make_layout(struct egs_store *store, const char *path,
		       bool *hopeless, struct egs_err *err)
{
	int layout = read_layout(store, err);
	char set[64];

	if (layout < 0)
		return -1;
	*hopeless = check_layout(layout, path, err) < 0;
	if (*hopeless)
		return -1;
	snprintf(set, sizeof(set), "PRAGMA user_version=%d", LAYOUT);
	if (egs_store_begin(store, err) < 0 ||
	    egs_sql_make_tables(store, err) < 0 ||
	    (layout != LAYOUT && exec_sql(store, set, err) < 0))
		return -1;
	return egs_store_commit(store, err);
}

static int advance_epoch(struct egs_store *store, struct egs_err *err)
{
	char text[32];

	if (egs_store_get(store, "epoch", text, sizeof(text), err) < 0)
		return -1;
	store->epoch = strtoull(text, NULL, 10) + 1;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)store->epoch);
	if (egs_store_begin(store, err) < 0 ||
	    egs_store_set(store, "epoch", text, err) < 0)
		return -1;
	return egs_store_commit(store, err);
}

/* The store needs locks and syncs, which these file systems do not guarantee.
 */
static int check_local_fs(const char *path, bool *hopeless, struct egs_err *err)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} remote[] = {
		{ NFS_SUPER_MAGIC, "NFS" },   { SMB_SUPER_MAGIC, "SMB" },
		{ CIFS_SUPER_MAGIC, "CIFS" }, { SMB2_SUPER_MAGIC, "SMB" },
		{ AFS_SUPER_MAGIC, "AFS" },   { CEPH_SUPER_MAGIC, "Ceph" },
		{ V9FS_MAGIC, "9P" },	      { 0x0bd00bd0, "Lustre" },
		{ 0x47504653, "GPFS" },	      { 0x19830326, "BeeGFS" },
	};
	char dir[4096];
	struct statfs fs;
	char *slash;
	size_t i = 0;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (statfs(slash ? dir : ".", &fs) < 0)
		return egs_errf(err, "%s: %s", dir, strerror(errno));
	while (i < ARRAY_SIZE(remote) &&
	       (unsigned long)fs.f_type != remote[i].magic)
		i++;
	*hopeless = i < ARRAY_SIZE(remote);
	return !*hopeless ? 0
			  : egs_errf(err,
				     "%s: on a network file system (%s); "
				     "StateDir must be on a local disk",
				     dir, remote[i].name);
}

static int set_up_database(struct egs_store *store, const char *path,
			   bool *hopeless, struct egs_err *err)
{
	/* WAL: reports, in other processes, read while the daemon writes.
	 * Small cache: the kernel has the file in memory.
	 */
	if (exec_sql(store,
		     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		     "PRAGMA cache_size=-256; PRAGMA "
		     "journal_size_limit=4194304;",
		     err) < 0 ||
	    make_layout(store, path, hopeless, err) < 0)
		return -1;
	return advance_epoch(store, err);
}

/* Close this descriptor only after the database.  SQLite uses POSIX locks,
 * which end when the process closes any descriptor of the same file.
 */
static int lock_file(struct egs_store *store, const char *path, bool *hopeless,
		     struct egs_err *err)
{
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock_fd < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (egs_lock_file(store->lock_fd) == 0)
		return 0;
	*hopeless = errno == EWOULDBLOCK;
	return egs_errf(err, "%s: %s", path,
			*hopeless ? "another egs-policyd has it open"
				  : strerror(errno));
}

/* An import beside the daemon holds the file for some milliseconds. */
enum { BUSY_MS = 2000, SHARED_BUSY_MS = 60000 };

static int64_t measure_wal(const struct egs_store *store)
{
	const char *path =
		sqlite3_filename_wal(sqlite3_db_filename(store->db, "main"));
	struct stat is;

	return path && stat(path, &is) == 0 ? is.st_size : 0;
}

/* Without a busy timeout SQLite does not wait for readers. */
int64_t egs_store_trim_wal(struct egs_store *store)
{
	int64_t bytes = measure_wal(store);

	if (bytes <= EGS_STORE_WAL_SHORT || store->in_transaction)
		return bytes;
	sqlite3_busy_timeout(store->db, 0);
	sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				  NULL, NULL);
	sqlite3_busy_timeout(store->db, BUSY_MS);
	return measure_wal(store);
}

struct egs_store *egs_store_open_shared(const char *path, struct egs_err *err)
{
	struct egs_store *store = calloc(1, sizeof(*store));
	int layout = -1;

	if (!store) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	store->lock_fd = -1;
	if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE, NULL) !=
		    SQLITE_OK ||
	    sqlite3_busy_timeout(store->db, SHARED_BUSY_MS) != SQLITE_OK)
		egs_errf(err, "%s: %s", path, sqlite3_errmsg(store->db));
	else if (exec_sql(store,
			  "PRAGMA synchronous=NORMAL; PRAGMA "
			  "wal_autocheckpoint=0;",
			  err) == 0)
		layout = read_layout(store, err);
	if (layout == LAYOUT)
		return store;
	if (layout >= 0 && check_layout(layout, path, err) == 0)
		egs_errf(err, "%s: the daemon is still setting it up", path);
	egs_store_close(store);
	return NULL;
}

struct egs_store *egs_store_open(const char *path, bool *hopeless,
				 struct egs_err *err)
{
	struct egs_store *store = calloc(1, sizeof(*store));
	mode_t old;
	int rc;

	if (!store) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	store->lock_fd = -1;
	if (check_local_fs(path, hopeless, err) < 0 ||
	    lock_file(store, path, hopeless, err) < 0)
		goto fail;
	old = umask(0077);
	rc = sqlite3_open(path, &store->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(store->db, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = set_up_database(store, path, hopeless, err);
	else
		egs_errf(err, "%s: %s", path, sqlite3_errmsg(store->db));
	umask(old);
	if (rc == 0)
		return store;
fail:
	egs_store_close(store);
	return NULL;
}

void egs_store_close(struct egs_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->nstatements; i++)
		sqlite3_finalize(store->statement[i].stmt);
	free(store->statement);
	sqlite3_close(store->db);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	free(store);
}

uint64_t egs_store_epoch(const struct egs_store *store)
{
	return store ? store->epoch : 0;
}
