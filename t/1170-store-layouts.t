#!/bin/bash
# 1170-store-layouts.t - a state of an older egs-policyd goes on with all it had
. "$(dirname "$0")/lib/sh/tree.sh"

# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"
export TZ=UTC

egsctl=$EGS_BUILD/cmd/egs-report/egs-report # for run
mkdir state
cat >egs.conf <<END
StateDir=$PWD/state
TierOrder=prod,research
GpuType=a100 Price=1.80
GpuType=h100 Price=3.60
Team=fraud Accounts=fraud Quota=a100:4 DefaultTier=research
Team=vision Accounts=vision Quota=a100:12 DefaultTier=research
END
cc -o sql "$srcdir/t/lib/data/sql.c" -lsqlite3 || exit 1

# left N: the state is what layout N left behind
left()
{
	rm -f state/*
	./sql state/state "BEGIN; $(grep -v '^--' "$srcdir/t/lib/data/state-$1.sql")
		COMMIT"
}

# from_file STATEMENT: of SQL, to standard output
from_file()
{
	./sql state/state "$1" >out 2>err
}

# go_on: as the next egs-policyd does, to have no more to take in
go_on()
{
	run import -f egs.conf - <<<'JobIDRaw|User|Start|End|State|AllocTRES'
}

# history REPORT ARGUMENT...: of those days
history()
{
	run "$@" --conf=egs.conf --file="$PWD/state" -S 11/01/26 -E 11/10/26
}

left 6
go_on
ends 'a history of layout 6 is taken over' 0
from_file 'PRAGMA user_version'
newest=$(cat out)
does 'and is of the newest' test "$newest" -gt 6
from_file 'PRAGMA integrity_check'
prints 'and whole' <<<ok
history usage --by=user,loan -P -t seconds
prints 'what was used' <<'END'
USER|LOAN|GPUTIME|NORMTIME|CPUTIME|SUSPENDED|COST
alice|owned|21600|21600|43200|0|10.80
bob|loan|14400|14400|14400|0|14.40
END
history jobs -P -o jobid,user,gpus,start,elapsed,gpuseconds,state,waited,exact
prints 'attempts' <<'END'
JOBID|USER|GPUS|START|ELAPSED|GPUSECONDS|STATE|WAITED|EXACT
1|alice|4|2026-11-02T10:00:00|5400|21600|COMPLETED|Resources|yes
2|bob|2|2026-11-02T23:00:00|7200|14400|FAILED|Priority|yes
END
history waits --by=user -P
prints 'waits' <<'END'
USER|STARTS|MEAN|P50|P95|MAX|CAUSE
alice|1|10|10|10|10|Resources
bob|1|600|607|607|607|Priority
END
history workload fraud -P
prints 'the life of a workload' <<'END'
WORKLOAD|PHASE|TIER|TYPE|RUNS|FIRST|LAST|GPUS|GPUTIME|COST
fraud/train|train|research|a100|1|2026-11-02T10:00:00|2026-11-02T11:30:00|4|6.00|10.80
END
history wastage -P -t seconds -o scope,wr,wrfit,wrgpu,seen,capacity,idle,wasted,gang
prints 'and what was wasted: a quarter, an eighth, an eighth' <<'END'
SCOPE|WR|WRFIT|WRGPU|SEEN|CAPACITY|IDLE|WASTED|GANG
gpu|0.2500|0.1250|0.1250|3600|28800|14400|3600|3600
END
from_file "SELECT value FROM value WHERE name='epoch'"
prints 'it was opened once more' <<<42
go_on
from_file 'PRAGMA user_version'
prints 'and again changes nothing' <<<"$newest"

left 1
go_on
ends 'a state of layout 1 is taken over' 0
from_file "SELECT phase, tier, preemptions, asked, born, finished FROM job
	UNION ALL SELECT team, units, gpu_s, '', '', '' FROM usage"
prints 'with its jobs and teams' <<'END'
train|prod|2|0|0|0
fraud|5000|0|||
END

# Something of the next layouts is in the way of the last steps.
left 6
from_file 'CREATE TABLE cause (nobody INTEGER)'
from_file "SELECT group_concat(sql, ';') FROM sqlite_master"
mv out before
go_on
ends 'steps that fail' 1
does 'say so' grep -q 'table cause already exists' err
from_file "SELECT group_concat(sql, ';') FROM sqlite_master"
does 'leave all as it was' cmp before out
from_file 'PRAGMA user_version'
prints 'of its own layout' <<<6

from_file 'PRAGMA user_version=1000'
go_on
ends 'a newer one is left alone' 1
complains 'with a sentence' <<END
egs-report: $PWD/state/state: layout 1000, this egs-policyd has $newest: it was written by another version
END

done_testing
