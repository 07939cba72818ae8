-- state-6.sql - what an egs-policyd of layout 6 left behind
--
-- Job 1 of alice had four GPUs from 10:00 to 11:30 of 2026-11-02 and had waited
-- for ten seconds; job 2 of bob, two h100 from 23:00 to 01:00 of the next day,
-- and had waited for ten minutes.  A quarter of an hour was wasted.
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
ALTER TABLE job ADD COLUMN asked INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN asked_by INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN loan_since INTEGER DEFAULT 0;
ALTER TABLE usage ADD COLUMN gpu_s INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN born INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN saves INTEGER DEFAULT 0;
CREATE TABLE meter (team TEXT, workload TEXT, phase TEXT, at INTEGER, gpu_s
  INTEGER, PRIMARY KEY (team, workload, phase)) WITHOUT ROWID;
ALTER TABLE job ADD COLUMN asked_since INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN left INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN left_by INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN finished INTEGER DEFAULT 0;
ALTER TABLE job ADD COLUMN release INTEGER DEFAULT 0;
CREATE TABLE preemption ( job_id INTEGER, nonce INTEGER, uid INTEGER, task
  INTEGER, het INTEGER, request INTEGER, restarts INTEGER, job TEXT, user
  TEXT, team TEXT, tier TEXT, gpus INTEGER, by_job INTEGER, by_team TEXT,
  reason TEXT, asked INTEGER, deadline INTEGER, saved INTEGER DEFAULT 0,
  yielded INTEGER DEFAULT 0, gone INTEGER DEFAULT 0, restarted INTEGER DEFAULT
  0, how TEXT DEFAULT '', work_s INTEGER DEFAULT 0, held_s INTEGER DEFAULT 0,
  restart_s INTEGER DEFAULT 0, PRIMARY KEY (job_id, nonce, uid, task, het,
  request)) WITHOUT ROWID;
CREATE INDEX preemption_asked ON preemption (asked);
CREATE TABLE said (nonce INTEGER, job_id INTEGER, uid INTEGER, task INTEGER,
  het INTEGER, path TEXT, step INTEGER, saved_at INTEGER, restarts INTEGER,
  ppm INTEGER, finished INTEGER, PRIMARY KEY (job_id, nonce, uid, task, het))
  WITHOUT ROWID;
CREATE TABLE heard (job_id INTEGER, id TEXT, at INTEGER, answer TEXT, PRIMARY
  KEY (job_id, id)) WITHOUT ROWID;
CREATE INDEX heard_at ON heard (at);
CREATE TABLE acked (job_id INTEGER, nonce INTEGER, request INTEGER, rank
  INTEGER, PRIMARY KEY (job_id, nonce, request, rank)) WITHOUT ROWID;
CREATE TABLE kind (id INTEGER PRIMARY KEY, user TEXT, account TEXT, team TEXT,
  workload TEXT, phase TEXT, tier TEXT, partition TEXT, qos TEXT, type TEXT,
  loan TEXT);
CREATE UNIQUE INDEX kind_all ON kind (user, account, team, workload, phase,
  tier, partition, qos, type, loan);
CREATE TABLE run (id INTEGER PRIMARY KEY, job_id INTEGER, restarts INTEGER,
  start INTEGER, end INTEGER, array_job_id INTEGER, task INTEGER, uid INTEGER,
  nonce INTEGER, gpus INTEGER, submit INTEGER, eligible INTEGER, name TEXT,
  how TEXT, cause TEXT, guess INTEGER, kind INTEGER, gpu_s INTEGER DEFAULT 0,
  cpu_s INTEGER DEFAULT 0, suspended_s INTEGER DEFAULT 0);
CREATE UNIQUE INDEX run_job ON run (job_id, restarts, start);
CREATE INDEX run_end ON run (end);
CREATE INDEX run_start ON run (start);
CREATE TABLE span (id INTEGER PRIMARY KEY, start INTEGER, end INTEGER, run
  INTEGER, kind INTEGER, gpus INTEGER, cpus INTEGER, mem_mb INTEGER, nodes
  INTEGER, suspended INTEGER);
CREATE INDEX span_start ON span (start);
CREATE TABLE open (run INTEGER, kind INTEGER, start INTEGER, idle_s INTEGER,
  gpus INTEGER, cpus INTEGER, mem_mb INTEGER, nodes INTEGER, suspended
  INTEGER, PRIMARY KEY (run, kind)) WITHOUT ROWID;
CREATE TABLE roll (size INTEGER, at INTEGER, kind INTEGER, gpu_s INTEGER,
  cpu_s INTEGER, mem_mb_s INTEGER, suspended_s INTEGER, PRIMARY KEY (size, at,
  kind)) WITHOUT ROWID;
CREATE TABLE wait (at INTEGER, kind INTEGER, cause TEXT, class INTEGER, n
  INTEGER, sum_s INTEGER, PRIMARY KEY (at, kind, cause, class)) WITHOUT ROWID;
CREATE TABLE tally (size INTEGER, at INTEGER, scope TEXT, metric TEXT, amount
  INTEGER, PRIMARY KEY (size, at, scope, metric)) WITHOUT ROWID;
INSERT INTO value VALUES ('epoch', '41');
INSERT INTO usage VALUES ('fraud', 5000, 1793619000, 21600);
INSERT INTO kind VALUES (1, 'alice', 'fraud', 'fraud', 'fraud/train', 'train',
  'research', 'gpu', 'normal', 'a100', 'owned'),
  (2, 'bob', 'vision', 'vision', '', '', 'research', 'gpu', 'normal', 'h100',
  'loan');
INSERT INTO run VALUES (1, 1, 0, 1793613600, 1793619000, 0, 4294967295, 2001, 1, 4, 1793613590,
  1793613590, 'a', 'COMPLETED', 'Resources', 0, 1, 21600, 43200, 0),
  (2, 2, 0, 1793660400, 1793667600, 0, 4294967295, 2002, 2, 2, 1793659800,
  1793659800, 'b', 'FAILED', 'Priority', 0, 2, 14400, 14400, 0);
INSERT INTO span VALUES (1, 1793613600, 1793619000, 1, 1, 4, 8, 4096, 1, 0),
  (2, 1793660400, 1793664000, 2, 2, 2, 2, 0, 1, 0),
  (3, 1793664000, 1793667600, 2, 2, 2, 2, 0, 1, 0);
INSERT INTO roll VALUES (3600, 1793613600, 1, 14400, 28800, 14745600, 0),
  (3600, 1793617200, 1, 7200, 14400, 7372800, 0),
  (86400, 1793577600, 1, 21600, 43200, 22118400, 0),
  (3600, 1793660400, 2, 7200, 7200, 0, 0),
  (3600, 1793664000, 2, 7200, 7200, 0, 0),
  (86400, 1793577600, 2, 7200, 7200, 0, 0),
  (86400, 1793664000, 2, 7200, 7200, 0, 0);
INSERT INTO wait VALUES (1793613600, 1, 'Resources', 10, 1, 10),
  (1793660400, 2, 'Priority', 162, 1, 600);
INSERT INTO tally SELECT column1, 1793613600/column1*column1, 'gpu', column2, column3
  FROM (VALUES (3600, 'seen', 3600), (3600, 'capacity', 28800),
  (3600, 'idle', 14400), (3600, 'wr', 900), (3600, 'fit', 450),
  (3600, 'gang', 3600), (86400, 'seen', 3600), (86400, 'capacity', 28800),
  (86400, 'idle', 14400), (86400, 'wr', 900), (86400, 'fit', 450),
  (86400, 'gang', 3600));
PRAGMA user_version=6;
