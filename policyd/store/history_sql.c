/* history_sql.c - the tables of the history and what is done with them */
#include "policyd/store/store_sql.h"

const char egs_history_layout[] =
	"CREATE TABLE kind (id INTEGER PRIMARY KEY, user TEXT, account TEXT,"
	" team TEXT, workload TEXT, phase TEXT, tier TEXT, partition TEXT,"
	" qos TEXT, type TEXT, loan TEXT);"
	"CREATE UNIQUE INDEX kind_all ON kind (user, account, team, workload,"
	" phase, tier, partition, qos, type, loan);"
	"CREATE TABLE run (id INTEGER PRIMARY KEY, job_id INTEGER,"
	" restarts INTEGER, start INTEGER, end INTEGER, array_job_id INTEGER,"
	" task INTEGER, uid INTEGER, nonce INTEGER, gpus INTEGER,"
	" submit INTEGER, eligible INTEGER, name TEXT, how TEXT, cause TEXT,"
	" guess INTEGER, kind INTEGER, gpu_s INTEGER DEFAULT 0,"
	" cpu_s INTEGER DEFAULT 0, suspended_s INTEGER DEFAULT 0);"
	"CREATE UNIQUE INDEX run_job ON run (job_id, restarts, start);"
	"CREATE INDEX run_end ON run (end);"
	"CREATE INDEX run_start ON run (start);"
	"CREATE TABLE span (id INTEGER PRIMARY KEY, start INTEGER,"
	" end INTEGER, run INTEGER, kind INTEGER, gpus INTEGER, cpus INTEGER,"
	" mem_mb INTEGER, nodes INTEGER, suspended INTEGER);"
	"CREATE INDEX span_start ON span (start);"
	"CREATE TABLE open (run INTEGER, kind INTEGER, start INTEGER,"
	" idle_s INTEGER, gpus INTEGER, cpus INTEGER, mem_mb INTEGER,"
	" nodes INTEGER, suspended INTEGER, PRIMARY KEY (run, kind))"
	" WITHOUT ROWID;"
	"CREATE TABLE roll (size INTEGER, at INTEGER, kind INTEGER,"
	" gpu_s INTEGER, cpu_s INTEGER, mem_mb_s INTEGER,"
	" suspended_s INTEGER, PRIMARY KEY (size, at, kind)) WITHOUT ROWID;"
	"CREATE TABLE wait (at INTEGER, kind INTEGER, cause TEXT,"
	" class INTEGER, n INTEGER, sum_s INTEGER,"
	" PRIMARY KEY (at, kind, cause, class)) WITHOUT ROWID;"
	"CREATE TABLE tally (size INTEGER, at INTEGER, scope TEXT,"
	" metric TEXT, amount INTEGER,"
	" PRIMARY KEY (size, at, scope, metric)) WITHOUT ROWID;";

/* Attempts and time of some kinds alone, whose attempt a deed was about, and
 * waits added up over weeks.
 */
const char egs_history_layout_2[] =
	"CREATE INDEX run_kind ON run (kind, start);"
	"CREATE INDEX run_deed ON run (job_id, nonce, start, end, kind);"
	"CREATE INDEX span_run ON span (run);"
	"CREATE INDEX span_kind ON span (kind, start, end, run, gpus,"
	" suspended);"
	"CREATE TABLE waits (size INTEGER, at INTEGER, kind INTEGER,"
	" classes TEXT, PRIMARY KEY (size, at, kind)) WITHOUT ROWID;"
	"CREATE TABLE cause (size INTEGER, at INTEGER, kind INTEGER,"
	" cause TEXT, n INTEGER, sum_s INTEGER,"
	" PRIMARY KEY (size, at, kind, cause)) WITHOUT ROWID;"
	"CREATE TEMP TABLE size AS SELECT 86400 AS size UNION ALL"
	" SELECT 691200 UNION ALL SELECT 5529600;"
	"INSERT INTO waits SELECT size, at, kind, group_concat(class||':'||n,"
	" ' ') FROM (SELECT size, at/size*size AS at, kind, class, sum(n) AS n"
	" FROM wait, size GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4)"
	" GROUP BY 1, 2, 3;"
	"INSERT INTO cause SELECT size, at/size*size, kind, cause, sum(n),"
	" sum(sum_s) FROM wait, size GROUP BY 1, 2, 3, 4;"
	"DROP TABLE size;"
	"DROP TABLE wait;"
	"ALTER TABLE waits RENAME TO wait;";

/* Of each day and kind: attempts that became so then ("so" is the workload,
 * phase, tier and type), the first second and the last, the most GPUs.
 */
const char egs_history_layout_3[] =
	"ALTER TABLE roll ADD COLUMN runs INTEGER DEFAULT 0;"
	"ALTER TABLE roll ADD COLUMN first INTEGER DEFAULT 0;"
	"ALTER TABLE roll ADD COLUMN last INTEGER DEFAULT 0;"
	"ALTER TABLE roll ADD COLUMN gpus INTEGER DEFAULT 0;"
	"UPDATE roll SET (first, last, gpus)=(SELECT min(start), max(end),"
	" max(gpus) FROM span s WHERE s.kind=roll.kind AND s.start>=roll.at"
	" AND s.start<roll.at+86400) WHERE size=86400;"
	"INSERT INTO roll (size, at, kind, runs) SELECT 86400,"
	" start/86400*86400, kind, count(*) FROM (SELECT s.kind,"
	" min(s.start) AS start FROM span s JOIN kind k ON k.id=s.kind"
	" GROUP BY s.run, k.workload, k.phase, k.tier, k.type)"
	" WHERE 1 GROUP BY 2, 3 ON CONFLICT (size, at, kind)"
	" DO UPDATE SET runs=excluded.runs;";

/* Whose helper an attempt was: the attempt it queued for. */
const char egs_history_layout_4[] =
	"ALTER TABLE run ADD COLUMN helps INTEGER DEFAULT 0;"
	"CREATE INDEX run_helps ON run (helps) WHERE helps>0;";

#define PRUNE_LIMIT " LIMIT 5000)"

const char *const egs_history_sql[SQL_COUNT - SQL_HISTORY] = {
	[SQL_KIND_PUT - SQL_HISTORY] =
		"INSERT OR IGNORE INTO kind (user,account,team,workload,phase,"
		"tier,partition,qos,type,loan) VALUES (?,?,?,?,?,?,?,?,?,?)",
	[SQL_KIND - SQL_HISTORY] =
		"SELECT id FROM kind WHERE user=? AND account=? AND team=? AND"
		" workload=? AND phase=? AND tier=? AND partition=? AND qos=?"
		" AND type=? AND loan=?",
	[SQL_RUN_PUT - SQL_HISTORY] =
		"INSERT INTO run (job_id,restarts,start,end,array_job_id,task,"
		"uid,nonce,gpus,submit,eligible,name,how,cause,guess,kind,"
		"helps) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
		"ifnull((SELECT id FROM run WHERE job_id=?"
		" ORDER BY start DESC LIMIT 1), 0))"
		" ON CONFLICT (job_id, restarts, start) DO UPDATE SET"
		" end=excluded.end, how=excluded.how, guess=excluded.guess,"
		" gpus=max(gpus, excluded.gpus) RETURNING id",
	[SQL_RUN_IS_KNOWN - SQL_HISTORY] =
		"SELECT count(*) FROM run WHERE job_id=?1 AND start<=?2 AND"
		" (start=?2 OR end>?2 OR end=0)",
	[SQL_RUN_HAS_ENDED - SQL_HISTORY] =
		"SELECT count(*) FROM run WHERE job_id=? AND start=? AND end>0",
	[SQL_RUN_ADD_USAGE - SQL_HISTORY] =
		"UPDATE run SET gpu_s=gpu_s+?, cpu_s=cpu_s+?,"
		" suspended_s=suspended_s+? WHERE id=?",
	[SQL_SPAN_PUT - SQL_HISTORY] =
		"INSERT INTO span (start,end,run,kind,gpus,cpus,mem_mb,nodes,"
		"suspended) VALUES (?,?,?,?,?,?,?,?,?)",
	[SQL_SPAN_SAME_KIND - SQL_HISTORY] =
		"SELECT count(*) FROM span s JOIN kind k ON k.id=s.kind"
		" JOIN kind n ON n.id=?2 AND n.workload=k.workload AND"
		" n.phase=k.phase AND n.tier=k.tier AND n.type=k.type"
		" WHERE s.run=?1 UNION ALL SELECT helps FROM run WHERE id=?1"
		" AND helps>0",
	[SQL_ROLLUP_ADD - SQL_HISTORY] =
		"INSERT INTO roll VALUES (?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (size, at, kind) DO UPDATE SET"
		" runs=runs+excluded.runs, first=min(first, excluded.first),"
		" last=max(last, excluded.last), gpus=max(gpus, excluded.gpus),"
		" gpu_s=gpu_s+excluded.gpu_s, cpu_s=cpu_s+excluded.cpu_s,"
		" mem_mb_s=mem_mb_s+excluded.mem_mb_s,"
		" suspended_s=suspended_s+excluded.suspended_s",
	[SQL_WAIT - SQL_HISTORY] =
		"SELECT classes FROM wait WHERE size=? AND at=? AND kind=?",
	[SQL_WAIT_PUT - SQL_HISTORY] =
		"INSERT OR REPLACE INTO wait VALUES (?,?,?,?)",
	[SQL_CAUSE_ADD - SQL_HISTORY] =
		"INSERT INTO cause VALUES (?,?,?,?,1,?)"
		" ON CONFLICT (size, at, kind, cause) DO UPDATE SET n=n+1,"
		" sum_s=sum_s+excluded.sum_s",
	[SQL_TALLY_ADD - SQL_HISTORY] =
		"INSERT INTO tally VALUES (?,?,?,?,?)"
		" ON CONFLICT (size, at, scope, metric) DO UPDATE SET"
		" amount=amount+excluded.amount",
	[SQL_OPEN_SPAN_PUT - SQL_HISTORY] =
		"INSERT OR REPLACE INTO open VALUES (?,?,?,?,?,?,?,?,?)",
	[SQL_OPEN_SPAN_DROP - SQL_HISTORY] = "DELETE FROM open WHERE run=?",
	[SQL_OPEN_SPANS - SQL_HISTORY] =
		"SELECT r.job_id,r.restarts,r.start,r.array_job_id,r.task,"
		"r.uid,r.nonce,r.gpus,r.submit,r.eligible,r.name,r.cause,"
		"k.user,k.account,k.team,k.workload,k.phase,k.tier,"
		"k.partition,k.qos,k.type,k.loan,o.start,o.idle_s,o.gpus,"
		"o.cpus,o.mem_mb,o.nodes,o.suspended,(SELECT job_id FROM run"
		" h WHERE h.id=r.helps) FROM open o"
		" JOIN run r ON r.id=o.run JOIN kind k ON k.id=o.kind"
		" ORDER BY o.run, o.cpus DESC, o.kind",
	[SQL_PRUNE_FIRST - SQL_HISTORY] =
		"DELETE FROM span WHERE id IN"
		" (SELECT id FROM span WHERE start<?1-86400 AND "
		"end<?1" PRUNE_LIMIT,
	[SQL_PRUNE_FIRST + 1 - SQL_HISTORY] =
		"DELETE FROM run WHERE id IN"
		" (SELECT id FROM run WHERE end<?1 AND end>0" PRUNE_LIMIT,
	[SQL_PRUNE_FIRST + 2 - SQL_HISTORY] =
		"DELETE FROM roll WHERE size=3600 AND at<?1-3600",
	[SQL_PRUNE_FIRST + 3 - SQL_HISTORY] =
		"DELETE FROM roll WHERE size=86400 AND at<?1-86400",
	[SQL_PRUNE_FIRST + 4 - SQL_HISTORY] =
		"DELETE FROM tally WHERE size IN (3600, 86400)"
		" AND at<?1-86400",
	[SQL_PRUNE_FIRST + 5 - SQL_HISTORY] =
		"DELETE FROM wait WHERE size=86400 AND at<?1-86400",
	[SQL_PRUNE_FIRST + 6 - SQL_HISTORY] =
		"DELETE FROM wait WHERE size=691200 AND at<?1-691200",
	[SQL_PRUNE_FIRST + 7 - SQL_HISTORY] =
		"DELETE FROM wait WHERE size=5529600 AND at<?1-5529600",
	[SQL_PRUNE_FIRST + 8 - SQL_HISTORY] =
		"DELETE FROM cause WHERE size=86400 AND at<?1-86400",
	[SQL_PRUNE_FIRST + 9 - SQL_HISTORY] =
		"DELETE FROM cause WHERE size=691200 AND at<?1-691200",
	[SQL_PRUNE_FIRST + 10 - SQL_HISTORY] =
		"DELETE FROM cause WHERE size=5529600 AND at<?1-5529600",
};
