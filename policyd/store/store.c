/* store.c - the file of the store: opening, layouts, transactions
 *
 * To change the layout: add a step to layouts[], never change one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/array.h"
#include "policyd/store/store_sql.h"

/* Each step brings the file from one layout to the next. */
static const char *const layouts[] = {
	"CREATE TABLE job ("
	" nonce INTEGER, job_id INTEGER, uid INTEGER, task INTEGER,"
	" het INTEGER, submit INTEGER, restarts INTEGER, first_seen INTEGER,"
	" started INTEGER, saved_at INTEGER, asked_at INTEGER, age_s INTEGER,"
	" preemptions INTEGER, request INTEGER, budget_from INTEGER,"
	" owned INTEGER, phase TEXT, tier TEXT,"
	" PRIMARY KEY (job_id, nonce, uid, task, het)) WITHOUT ROWID;"
	"CREATE TABLE value (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE deed (id INTEGER PRIMARY KEY, at INTEGER, nonce INTEGER,"
	" job_id INTEGER, what TEXT, who TEXT, reason TEXT);"
	"CREATE INDEX deed_job ON deed (job_id);"
	"CREATE INDEX deed_at ON deed (at);"
	"CREATE TABLE intent (id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" at INTEGER, nonce INTEGER, job_id INTEGER, restarts INTEGER,"
	" what TEXT, reason TEXT, how TEXT, settled_at INTEGER);"
	"CREATE INDEX intent_open ON intent (id) WHERE how IS NULL;"
	"CREATE TABLE usage (team TEXT PRIMARY KEY, units INTEGER,"
	" at INTEGER) WITHOUT ROWID;",
	"ALTER TABLE job ADD COLUMN asked INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN asked_by INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN loan_since INTEGER DEFAULT 0;"
	"ALTER TABLE usage ADD COLUMN gpu_s INTEGER DEFAULT 0;",
	"ALTER TABLE job ADD COLUMN born INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN saves INTEGER DEFAULT 0;"
	"CREATE TABLE meter (team TEXT, workload TEXT, phase TEXT, at INTEGER,"
	" gpu_s INTEGER, PRIMARY KEY (team, workload, phase)) WITHOUT ROWID;",
	"ALTER TABLE job ADD COLUMN asked_since INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN left INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN left_by INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN finished INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN release INTEGER DEFAULT 0;"
	"CREATE TABLE preemption ("
	" job_id INTEGER, nonce INTEGER, uid INTEGER, task INTEGER,"
	" het INTEGER, request INTEGER, restarts INTEGER,"
	" job TEXT, user TEXT, team TEXT, tier TEXT, gpus INTEGER,"
	" by_job INTEGER, by_team TEXT, reason TEXT,"
	" asked INTEGER, deadline INTEGER, saved INTEGER DEFAULT 0,"
	" yielded INTEGER DEFAULT 0, gone INTEGER DEFAULT 0,"
	" restarted INTEGER DEFAULT 0, how TEXT DEFAULT '',"
	" work_s INTEGER DEFAULT 0, held_s INTEGER DEFAULT 0,"
	" restart_s INTEGER DEFAULT 0,"
	" PRIMARY KEY (job_id, nonce, uid, task, het, request)) WITHOUT ROWID;"
	"CREATE INDEX preemption_asked ON preemption (asked);",
	/* What jobs say: the last of each, messages by id, ranks by request. */
	"CREATE TABLE said (nonce INTEGER, job_id INTEGER, uid INTEGER,"
	" task INTEGER, het INTEGER, path TEXT, step INTEGER,"
	" saved_at INTEGER, restarts INTEGER, ppm INTEGER, finished INTEGER,"
	" PRIMARY KEY (job_id, nonce, uid, task, het)) WITHOUT ROWID;"
	"CREATE TABLE heard (job_id INTEGER, id TEXT, at INTEGER, answer TEXT,"
	" PRIMARY KEY (job_id, id)) WITHOUT ROWID;"
	"CREATE INDEX heard_at ON heard (at);"
	"CREATE TABLE acked (job_id INTEGER, nonce INTEGER, request INTEGER,"
	" rank INTEGER, PRIMARY KEY (job_id, nonce, request, rank))"
	" WITHOUT ROWID;",
	egs_history_layout,
	egs_history_layout_2,
	egs_history_layout_3,
	egs_history_layout_4,
};

static const char *const sql_text[SQL_HISTORY] = {
	[SQL_JOB_PUT] = "INSERT OR REPLACE INTO job VALUES"
			" (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
			"?,?,?,?,?,?,?)",
	[SQL_JOB_DROP] = "DELETE FROM job WHERE nonce=? AND job_id=? AND uid=?"
			 " AND task=? AND het=?",
	[SQL_JOBS] = "SELECT * FROM job ORDER BY job_id, nonce",
	[SQL_VALUE_PUT] = "INSERT OR REPLACE INTO value VALUES (?,?)",
	[SQL_VALUE_DROP] = "DELETE FROM value WHERE name=?",
	[SQL_VALUE] = "SELECT value FROM value WHERE name=?",
	[SQL_LOG_PUT] = "INSERT INTO deed (at,nonce,job_id,what,who,reason)"
			" VALUES (?,?,?,?,?,?)",
	[SQL_LOG_ENTRIES] = "SELECT at,nonce,job_id,what,who,reason FROM deed"
			    " WHERE ?1=0 OR (job_id=?1 AND nonce=?2 AND at>=?3)"
			    " ORDER BY id DESC LIMIT ?4",
	[SQL_INTENT_PUT] = "INSERT INTO intent"
			   " (at,nonce,job_id,restarts,what,reason)"
			   " VALUES (?,?,?,?,?,?)",
	[SQL_INTENT_DONE] = "UPDATE intent SET how=?, settled_at=?"
			    " WHERE id=? AND how IS NULL",
	[SQL_INTENTS] = "SELECT id,at,nonce,job_id,restarts,what,reason"
			" FROM intent WHERE how IS NULL ORDER BY id",
	[SQL_USAGE_PUT] = "INSERT OR REPLACE INTO usage VALUES (?,?,?,?)",
	[SQL_USAGES] = "SELECT team,units,at,gpu_s FROM usage ORDER BY team",
	[SQL_METER_PUT] = "INSERT OR REPLACE INTO meter VALUES (?,?,?,?,?)",
	[SQL_METERS] = "SELECT team,workload,phase,at,gpu_s FROM meter",
	[SQL_PREEMPTION_PUT] =
		"INSERT INTO preemption (job_id,nonce,uid,task,het,"
		"request,restarts,job,user,team,tier,gpus,by_job,by_team,"
		"reason,asked,deadline) VALUES"
		" (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id,nonce,uid,task,het,request) DO UPDATE"
		" SET by_job=excluded.by_job, by_team=excluded.by_team,"
		" reason=excluded.reason WHERE gone=0 AND excluded.by_job<>0"
		" AND by_job<>excluded.by_job",
	[SQL_PREEMPTION_DEPARTED] =
		"UPDATE preemption SET gone=?, saved=?, yielded=?, how=?,"
		" work_s=?, held_s=?, restart_s=? WHERE job_id=? AND nonce=?"
		" AND uid=? AND task=? AND het=? AND request=? AND gone=0",
	[SQL_PREEMPTION_RESTARTED] =
		"UPDATE preemption SET restarted=? WHERE job_id=? AND nonce=?"
		" AND uid=? AND task=? AND het=? AND request=? AND restarted=0",
	[SQL_PREEMPTION_WORKING] =
		"UPDATE preemption SET restart_s=min(restart_s, ?) WHERE"
		" job_id=? AND nonce=? AND uid=? AND task=? AND het=?"
		" AND request=? AND restarts=? AND restarted>0",
	[SQL_PREEMPTIONS] =
		"SELECT * FROM preemption WHERE (?1=0 OR job_id=?1) AND"
		" asked>=?2 ORDER BY asked DESC, job_id LIMIT ?3",
	[SQL_PRUNE_PREEMPTIONS] = "DELETE FROM preemption WHERE asked<?",
	[SQL_JOB_REPORT] = "SELECT path,step,saved_at,restarts,ppm,finished"
			   " FROM said WHERE nonce=? AND job_id=? AND uid=?"
			   " AND task=? AND het=?",
	[SQL_JOB_REPORT_PUT] = "INSERT OR REPLACE INTO said VALUES"
			       " (?,?,?,?,?,?,?,?,?,?,?)",
	[SQL_JOB_REPORT_DROP] = "DELETE FROM said WHERE nonce=? AND job_id=?"
				" AND uid=? AND task=? AND het=?",
	[SQL_ANSWER] = "SELECT answer FROM heard WHERE job_id=? AND id=?",
	[SQL_ANSWER_PUT] = "INSERT INTO heard VALUES (?,?,?,?)",
	[SQL_ACK_PUT] = "INSERT OR IGNORE INTO acked VALUES (?,?,?,?)",
	[SQL_ACK_COUNT] =
		"SELECT count(*) FROM acked WHERE job_id=? AND nonce=?"
		" AND request=?",
	[SQL_ACK_DROP] = "DELETE FROM acked WHERE job_id=? AND nonce=?",
	[SQL_PRUNE_ANSWERS] = "DELETE FROM heard WHERE at<?",
	[SQL_PRUNE_LOG] = "DELETE FROM deed WHERE at<?",
	[SQL_PRUNE_INTENTS] = "DELETE FROM intent WHERE settled_at<?",
};

static int fail_and_roll_back(struct egs_store *store, const char *what,
			      struct egs_err *err)
{
	const char *why = sqlite3_errmsg(store->db);

	/* Said of the log's index, which has no room. */
	if (sqlite3_extended_errcode(store->db) == SQLITE_IOERR_SHMSIZE)
		why = sqlite3_errstr(SQLITE_FULL);
	egs_errf(err, "store: %s: %s", what, why);
	if (store->in_transaction)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	store->in_transaction = false;
	return -1;
}

sqlite3_stmt *egs_sql_bind(struct egs_store *store, enum egs_sql sql,
			   struct egs_err *err, const char *types, ...)
{
	sqlite3_stmt **stmt = &store->stmt[sql];
	const char *text = sql < SQL_HISTORY
				   ? sql_text[sql]
				   : egs_history_sql[sql - SQL_HISTORY];
	int rc = SQLITE_OK, i;
	va_list ap;

	if (!*stmt &&
	    sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT,
			       stmt, NULL) != SQLITE_OK) {
		fail_and_roll_back(store, "preparing", err);
		return NULL;
	}
	va_start(ap, types);
	for (i = 1; types[i - 1] && rc == SQLITE_OK; i++)
		rc = types[i - 1] == 'i'
			     ? sqlite3_bind_int64(*stmt, i, va_arg(ap, int64_t))
			     : sqlite3_bind_text(*stmt, i,
						 va_arg(ap, const char *), -1,
						 SQLITE_STATIC);
	va_end(ap);
	if (rc != SQLITE_OK) {
		fail_and_roll_back(store, "binding", err);
		return NULL;
	}
	return *stmt;
}

int egs_sql_next_row(struct egs_store *store, sqlite3_stmt *stmt,
		     struct egs_err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		fail_and_roll_back(store, "running", err);
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int egs_sql_run(struct egs_store *store, sqlite3_stmt *stmt,
		struct egs_err *err)
{
	return stmt ? egs_sql_next_row(store, stmt, err) : -1;
}

int egs_store_begin(struct egs_store *store, struct egs_err *err)
{
	if (store->in_transaction)
		return 0;
	if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return fail_and_roll_back(store, "beginning", err);
	store->in_transaction = true;
	return 0;
}

int egs_store_commit(struct egs_store *store, struct egs_err *err)
{
	if (!store->in_transaction)
		return egs_errf(err, "store: nothing to keep, an earlier "
				     "write failed");
	if (sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return fail_and_roll_back(store, "committing", err);
	store->in_transaction = false;
	return 0;
}

static int exec_sql(struct egs_store *store, const char *sql,
		    struct egs_err *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail_and_roll_back(store, "setting up", err);
	return 0;
}

static int read_layout(struct egs_store *store, struct egs_err *err)
{
	sqlite3_stmt *stmt;
	int layout = -1;

	if (sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &stmt,
			       NULL) != SQLITE_OK)
		return fail_and_roll_back(store, "reading its layout", err);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		layout = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return layout < 0 ? fail_and_roll_back(store, "reading its layout", err)
			  : layout;
}

/* All steps in one transaction: a crash leaves the old layout. */
static int upgrade_layout(struct egs_store *store, const char *path,
			  bool *hopeless, struct egs_err *err)
{
	const int ours = ARRAY_SIZE(layouts);
	int layout = read_layout(store, err);
	char set[64];

	if (layout < 0)
		return -1;
	*hopeless = layout > ours;
	if (*hopeless)
		return egs_errf(err,
				"%s: layout %d, this egs-policyd knows up to "
				"%d: it was written by a newer one",
				path, layout, ours);
	if (layout == ours)
		return 0;
	if (egs_store_begin(store, err) < 0)
		return -1;
	for (; layout < ours; layout++)
		if (exec_sql(store, layouts[layout], err) < 0)
			return -1;
	snprintf(set, sizeof(set), "PRAGMA user_version=%d", ours);
	return exec_sql(store, set, err) < 0 ? -1
					     : egs_store_commit(store, err);
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

/* A lock or a sync on these may be a lie, and then so is "acknowledged". */
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
	size_t i;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (statfs(slash ? dir : ".", &fs) < 0)
		return egs_errf(err, "%s: %s", dir, strerror(errno));
	for (i = 0; i < ARRAY_SIZE(remote); i++)
		if ((unsigned long)fs.f_type == remote[i].magic)
			break;
	*hopeless = i < ARRAY_SIZE(remote);
	return !*hopeless ? 0
			  : egs_errf(err,
				     "%s: a file system of the network (%s), "
				     "StateDir must be on a local disk",
				     dir, remote[i].name);
}

static int set_up_database(struct egs_store *store, const char *path,
			   bool *hopeless, struct egs_err *err)
{
	/* Reports read the file while it is written, in processes of their
	 * own.  The kernel has it in memory anyhow: a small cache will do.
	 */
	if (exec_sql(store,
		     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		     "PRAGMA cache_size=-256;",
		     err) < 0 ||
	    upgrade_layout(store, path, hopeless, err) < 0)
		return -1;
	return advance_epoch(store, err);
}

/* Closed only after the database: SQLite's own locks are of the kind that ends
 * when any file of the same name is closed.
 */
static int lock_file(struct egs_store *store, const char *path, bool *hopeless,
		     struct egs_err *err)
{
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock_fd < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	*hopeless = errno == EWOULDBLOCK;
	return egs_errf(err, "%s: %s", path,
			*hopeless ? "another egs-policyd has it open"
				  : strerror(errno));
}

/* A short while, which is longer than who adds history holds the file. */
enum { BUSY_MS = 2000, SHARED_BUSY_MS = 60000 };

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
	if (layout == ARRAY_SIZE(layouts))
		return store;
	if (layout >= 0)
		egs_errf(err,
			 "%s: layout %d, this egs-policyd has %d: it was "
			 "written by another version",
			 path, layout, (int)ARRAY_SIZE(layouts));
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
	int i;

	if (!store)
		return;
	for (i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(store->stmt[i]);
	sqlite3_close(store->db);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	free(store);
}

uint64_t egs_store_epoch(const struct egs_store *store)
{
	return store ? store->epoch : 0;
}
