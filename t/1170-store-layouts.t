#!/bin/bash
# 1170-store-layouts.t - egs-policyd adds what an older state lacks, or refuses it
. "$(dirname "$0")/lib/sh/tree.sh"

# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"
export TZ=UTC

egsctl=$EGS_BUILD/cmd/egs-report/egs-report # for run
mkdir state
cat >egs.conf <<END
StateDir=$PWD/state
TierOrder=prod,research
Team=fraud Accounts=fraud Quota=a100:4 DefaultTier=research
END
cc -o sql "$srcdir/t/lib/data/sql.c" -lsqlite3 || exit 1

# import LINE: one more run of sacct, in the state
import()
{
	run import -f egs.conf - <<END
JobIDRaw|User|Account|Submit|Eligible|Start|End|State|AllocTRES
$1
END
}

# query STATEMENT: of SQL, to standard output
query()
{
	./sql state/state "$1" >out 2>err
}

# history REPORT ARGUMENT...: of those days
history()
{
	run "$@" --conf=egs.conf --file="$PWD/state" -S 11/01/26 -E 11/10/26
}

T=2026-11-02T
import "1|alice|fraud|${T}09:59:50|${T}09:59:50|${T}10:00:00|${T}11:30:00|COMPLETED|cpu=8,gres/gpu:a100=4"
ends 'egs-policyd makes a new state' 0
query 'PRAGMA user_version'
layout=$(cat out)
does 'a new state has a layout number' test "$layout" -gt 0
query "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master
	ORDER BY name)"
mv out made
query "SELECT value FROM value WHERE name='epoch'"
prints 'a new state has been opened once' <<<1

import "2|bob|fraud|${T}12:00:00|${T}12:00:00|${T}12:00:00|${T}13:00:00|COMPLETED|cpu=8,gres/gpu:a100=1"
ends 'egs-policyd opens its own state' 0
query "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master
	ORDER BY name)"
does 'opening a complete state changes no table' cmp made out

# As an older release would have left it: without these.
query 'DROP INDEX run_helped; ALTER TABLE run DROP COLUMN helped_run;
	ALTER TABLE run DROP COLUMN wait_reason; DROP TABLE wait_reason;
	ALTER TABLE job DROP COLUMN phase'
does 'columns and a table are removed from the state' test ! -s err
import "3|bob|fraud|${T}14:00:00|${T}14:00:00|${T}14:00:00|${T}15:00:00|COMPLETED|cpu=8,gres/gpu:a100=2"
ends 'a state that lacks columns and a table is opened' 0
query "SELECT job_id, helped_run, wait_reason, gpu_s FROM run ORDER BY job_id"
prints 'missing columns are added, other columns keep their values' <<'END'
1|0||21600
2|0||3600
3|0||7200
END
query 'SELECT count(*) FROM wait_reason'
does 'a missing table is made' test ! -s err
query "SELECT sql FROM sqlite_master WHERE name='run_helped'"
does 'a missing index is made' test -s out
query 'PRAGMA integrity_check'
prints 'the completed state is whole' <<<ok
history usage --by=user -P -t seconds -o user,gputime
prints 'reports read the completed state' <<'END'
USER|GPUTIME
alice|21600
bob|10800
END
history jobs -P -o jobid,user,gpus,start,elapsed,gpuseconds,state,exact
prints 'the attempts of the completed state are all there' <<'END'
JOBID|USER|GPUS|START|ELAPSED|GPUSECONDS|STATE|EXACT
1|alice|4|2026-11-02T10:00:00|5400|21600|COMPLETED|yes
2|bob|1|2026-11-02T12:00:00|3600|3600|COMPLETED|yes
3|bob|2|2026-11-02T14:00:00|3600|7200|COMPLETED|yes
END

# A backup of an older release is only read.
mkdir old && cp state/state old/state
./sql old/state 'DROP TABLE gpu_use; DROP TABLE wait_reason; DROP INDEX run_helped;
	ALTER TABLE run DROP COLUMN helped_run' >out 2>err
does 'a backup lacks tables and a column' test ! -s err
run jobs --conf=egs.conf --file="$PWD/old" -S 11/01/26 -E 11/10/26 -P \
	-o jobid,user,gpuseconds,sm,idle
prints 'reports read a backup of an older release' <<'END'
JOBID|USER|GPUSECONDS|SM|IDLE
1|alice|21600|-|-
2|bob|3600|-|-
3|bob|7200|-|-
END
./sql old/state "SELECT count(*) FROM sqlite_master WHERE name='gpu_use'" >out
prints 'a report adds nothing to a backup' <<<0

# A table has the name of an index, which comes after missing columns.
query 'ALTER TABLE job DROP COLUMN phase; DROP INDEX span_run;
	CREATE TABLE span_run (other INTEGER)'
query "SELECT group_concat(sql, ';') FROM sqlite_master"
mv out before
import ''
ends 'a state that cannot be completed is refused' 1
does 'the refusal names what is in the way' grep -q 'span_run' err
query "SELECT group_concat(sql, ';') FROM sqlite_master"
does 'a state that cannot be completed stays as it was' cmp before out
query "DROP TABLE span_run"
import ''
ends 'the state is completed once the obstacle is gone' 0

query 'PRAGMA user_version=1000'
import ''
ends 'a state of a newer layout is refused' 1
complains 'the refusal names both layouts' <<END
egs-report: $PWD/state/state: written by a newer egs-policyd (layout 1000, this one knows $layout)
END
query "PRAGMA user_version"
prints 'a refused state keeps its layout' <<<1000

query 'PRAGMA user_version=9'
import ''
ends 'a state of a development version is refused' 1
complains 'the refusal of a development version names the remedy' <<END
egs-report: $PWD/state/state: written by a development version before 0.1.0 (layout 9); move the file away, egs-policyd makes a new one
END

done_testing
