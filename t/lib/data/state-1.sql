-- state-1.sql - what an egs-policyd of layout 1 left behind
CREATE TABLE job ( nonce INTEGER, job_id INTEGER, uid INTEGER, task INTEGER,
  het INTEGER, submit INTEGER, restarts INTEGER, first_seen INTEGER, started
  INTEGER, saved_at INTEGER, asked_at INTEGER, age_s INTEGER, preemptions
  INTEGER, request INTEGER, budget_from INTEGER, owned INTEGER, phase TEXT,
  tier TEXT, PRIMARY KEY (job_id, nonce, uid, task, het)) WITHOUT ROWID;
CREATE TABLE value (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE deed (id INTEGER PRIMARY KEY, at INTEGER, nonce INTEGER, job_id
  INTEGER, what TEXT, who TEXT, reason TEXT);
CREATE INDEX deed_job ON deed (job_id);
CREATE INDEX deed_at ON deed (at);
CREATE TABLE intent (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, nonce
  INTEGER, job_id INTEGER, restarts INTEGER, what TEXT, reason TEXT, how TEXT,
  settled_at INTEGER);
CREATE INDEX intent_open ON intent (id) WHERE how IS NULL;
CREATE TABLE usage (team TEXT PRIMARY KEY, units INTEGER, at INTEGER) WITHOUT
  ROWID;
INSERT INTO value VALUES ('epoch', '7'), ('paused', 'NFS');
INSERT INTO job VALUES (9, 7, 2001, 4294967295, 0, 1000, 1, 900, 1100, 0, 0, 0,
  2, 3, 0, 1, 'train', 'prod');
INSERT INTO usage VALUES ('fraud', 5000, 1200);
PRAGMA user_version=1;
