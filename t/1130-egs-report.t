#!/bin/bash
# 1130-egs-report.t - egs-report prints reports of a history made by hand
. "$(dirname "$0")/lib/sh/tree.sh"

# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"
export TZ=UTC

egsctl=$EGS_BUILD/cmd/egs-report/egs-report # for run
mkdir state
cat >egs.conf <<END
StateDir=$PWD/state
Currency=EUR
TierOrder=prod,research
GpuType=a100 Rating=1.0 Price=1.80
GpuType=h100 Rating=2.5 Price=3.60
Team=fraud Accounts=fraud Quota=a100:4 DefaultTier=research
Team=vision Accounts=vision Quota=a100:12 DefaultTier=research
END

# ask REPORT ARGUMENT...: from the file, as root does when no daemon runs
ask()
{
	run "$@" -f egs.conf --file state -S 2026-11-01 -E 2026-11-10
}

# Job 2 was requeued; 3 was suspended for half an hour of its two; 4 crosses
# midnight; 5 never ran and 6 still does.
cat >sacct <<'END'
JobIDRaw|User|Account|Partition|QOS|JobName|State|Submit|Eligible|Start|End|Suspended|AllocTRES|AllocCPUS|NNodes|AdminComment
1|alice|fraud|gpu|normal|a|COMPLETED|2026-11-02T09:59:50|2026-11-02T09:59:50|2026-11-02T10:00:00|2026-11-02T11:30:00|00:00:00|billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=4G,node=1|8|1|egs:1;phase=train,workload=fraud/train;id=0000000000000001
1.batch||fraud||||COMPLETED|||2026-11-02T10:00:00|2026-11-02T11:30:00|||8|1|
2|bob|vision|gpu|normal|b|REQUEUED|2026-11-02T10:00:00|2026-11-02T10:00:00|2026-11-02T10:01:00|2026-11-02T10:31:00|00:00:00|cpu=2,gres/gpu:h100=2,gres/gpu=2,node=1|2|1|
2|bob|vision|gpu|normal|b|CANCELLED by 0|2026-11-02T10:31:00|2026-11-02T10:31:00|2026-11-02T10:41:00|2026-11-02T11:11:00|00:00:00|cpu=2,gres/gpu:h100=2,gres/gpu=2,node=1|2|1|
3|bob|vision|gpu|low|c|FAILED|2026-11-03T00:00:00|2026-11-03T00:00:00|2026-11-03T00:00:30|2026-11-03T02:00:30|00:30:00|cpu=1,gres/gpu:a100=1,gres/gpu=1,node=1|1|1|
4|carol|other|cpu|normal|d|TIMEOUT|2026-11-03T22:00:00|2026-11-03T22:00:00|2026-11-03T23:00:00|2026-11-04T01:00:00|00:00:00|cpu=16,node=2|16|2|
5|carol|other|cpu|normal|e|CANCELLED|2026-11-03T22:00:00|2026-11-03T22:00:00|Unknown|Unknown|00:00:00||0|0|
6|carol|other|cpu|normal|f|RUNNING|2026-11-03T22:00:00|2026-11-03T22:00:00|2026-11-03T23:00:00|Unknown|00:00:00|cpu=1,node=1|1|1|
END
run import -f egs.conf sacct
ends 'import reads the output of sacct' 0
prints 'import counts the runs it adds' <<'END'
5 runs imported, 0 already in the history
END
run import -f egs.conf sacct
prints 'a second import of the same file adds no run' <<'END'
0 runs imported, 5 already in the history
END
# A run of 100 s with 4 GPUs, then 50 s with 1, and 20 s with 3; others between;
# then it is requeued, and runs for 10 s with 3 more.
mkdir resized
sed "s|$PWD/state|$PWD/resized|" egs.conf >resized.conf
cat >lines <<'END'
JobIDRaw|User|Account|State|Submit|Start|End|AllocTRES|AllocCPUS|NNodes
1|alice|fraud|RESIZING|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T10:01:40|cpu=8,gres/gpu:a100=4,gres/gpu=4|8|1
2|bob|vision|COMPLETED|2026-11-02T10:00:00|2026-11-02T10:01:00|2026-11-02T10:02:00|cpu=2,gres/gpu:a100=2,gres/gpu=2|2|1
1|alice|fraud|RESIZING|2026-11-02T10:01:40|2026-11-02T10:01:40|2026-11-02T10:02:30|cpu=2,gres/gpu:a100=1,gres/gpu=1|2|1
1|alice|fraud|REQUEUED|2026-11-02T10:02:30|2026-11-02T10:00:00|2026-11-02T10:02:50|cpu=6,gres/gpu:a100=3,gres/gpu=3|6|1
1|alice|fraud|COMPLETED|2026-11-02T10:02:50|2026-11-02T10:03:00|2026-11-02T10:03:10|cpu=6,gres/gpu:a100=3,gres/gpu=3|6|1
END
run import -f resized.conf lines
prints 'import counts a resized run once' <<'END'
3 runs imported, 0 already in the history
END
{ head -n 1 lines; tail -n 4 lines; } | run import -f resized.conf -
prints 'importing only the last lines of a resized run adds no run' <<'END'
0 runs imported, 3 already in the history
END
run jobs -f resized.conf --file resized -S 2026-11-02 -E 2026-11-03 -P \
	-o jobid,restarts,gpus,start,end,elapsed,gpuseconds,state
prints 'a resized run has the GPU-seconds of all its sizes' <<'END'
JOBID|RESTARTS|GPUS|START|END|ELAPSED|GPUSECONDS|STATE
1|0|4|2026-11-02T10:00:00|2026-11-02T10:02:50|170|510|REQUEUED
2|0|2|2026-11-02T10:01:00|2026-11-02T10:02:00|60|120|COMPLETED
1|1|3|2026-11-02T10:03:00|2026-11-02T10:03:10|10|30|COMPLETED
END
run life 1 -f resized.conf --file resized -S 2026-11-02 -E 2026-11-03 -P \
	-t seconds -o jobid,restarts,type,start,end,gpus,suspended,gputime
prints 'life shows the sizes of a job, a row for each change' <<'END'
JOBID|RESTARTS|TYPE|START|END|GPUS|SUSPENDED|GPUTIME
1|0|a100|2026-11-02T10:00:00|2026-11-02T10:01:40|4|no|400
1|0|a100|2026-11-02T10:01:40|2026-11-02T10:02:30|1|no|50
1|0|a100|2026-11-02T10:02:30|2026-11-02T10:02:50|3|no|60
1|1|a100|2026-11-02T10:03:00|2026-11-02T10:03:10|3|no|30
END
run life 1 -f resized.conf --file resized -S 2026-11-02T10:01:45 \
	-E 2026-11-02T10:02:31 -n -P -o gpus
prints 'life shows what a job had between -S and -E' <<'END'
1
3
END
run waits -f resized.conf --file resized -S 2026-11-02 -E 2026-11-03 -P \
	--by=team -o team,starts,max
prints 'a resized run counts as one wait' <<'END'
TEAM|STARTS|MAX
fraud|2|3711
vision|1|60
END
# Students own no GPUs, vision no h100, and no job of a tier that is always on
# loan is owned.
mkdir unowned
cat >unowned.conf <<END
StateDir=$PWD/unowned
TierOrder=prod,low
Tier=low Loan=always Qos=low
GpuType=a100
GpuType=h100
Team=students Accounts=students Quota=none DefaultTier=prod
Team=vision Accounts=vision Quota=a100:4 Tiers=prod,low DefaultTier=prod
END
cat >lines <<'END'
JobIDRaw|User|Account|QOS|State|Submit|Start|End|AllocTRES|AllocCPUS|NNodes
1|alice|students|normal|COMPLETED|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T11:00:00|cpu=1,gres/gpu:a100=1,gres/gpu=1|1|1
2|bob|vision|normal|COMPLETED|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T11:00:00|cpu=2,gres/gpu:a100=2,gres/gpu=2|2|1
3|bob|vision|low|COMPLETED|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T11:00:00|cpu=3,gres/gpu:a100=3,gres/gpu=3|3|1
4|bob|vision|normal|COMPLETED|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T11:00:00|cpu=4,gres/gpu:h100=4,gres/gpu=4|4|1
END
run import -f unowned.conf lines
run teams -f unowned.conf --file unowned -S 2026-11-01 -E 2026-11-10 -n -P \
	-o team,used,owned,loan,unmanaged
prints 'imported GPU time is owned only if the team owns such GPUs' <<'END'
vision|9.00|2.00|0.00|7.00
students|1.00|0.00|0.00|1.00
END
# Job 2 is a helper job of job 1; it still has a core after its GPUs are job 1's.
mkdir helped
sed "s|$PWD/state|$PWD/helped|" egs.conf >helped.conf
cat >lines <<'END'
JobIDRaw|User|Account|State|Submit|Start|End|AllocTRES|AllocCPUS|NNodes|AdminComment
1|alice|fraud|COMPLETED|2026-11-02T09:00:00|2026-11-02T10:00:00|2026-11-02T11:00:00|cpu=8,gres/gpu:a100=4,gres/gpu=4|8|1|egs:1;phase=infer,workload=fraud/serve;id=0000000000000001
2|alice|fraud|RESIZING|2026-11-02T10:00:00|2026-11-02T10:30:00|2026-11-02T10:36:00|cpu=6,gres/gpu:a100=3,gres/gpu=3|6|1|egs:1;phase=infer,workload=fraud/serve;id=0000000000000002;helper=1
2|alice|fraud|CANCELLED|2026-11-02T10:36:00|2026-11-02T10:30:00|2026-11-02T10:36:30|cpu=1|1|1|egs:1;phase=infer,workload=fraud/serve;id=0000000000000002;helper=1
END
run import -f helped.conf lines
ends 'import reads a helper job' 0
run workload fraud -f helped.conf --file helped -S 2026-11-02 -E 2026-11-03 \
	-P -o phase,type,runs,gputime
prints 'a helper job adds GPU time to its workload, but no run' <<'END'
PHASE|TYPE|RUNS|GPUTIME
infer|a100|1|4.30
END
for whose in fraud 1; do
	run life $whose -f helped.conf --file helped -S 2026-11-02 -E 2026-11-03 \
		-n -P -t seconds -o jobid,workload,phase,start,end,gpus,gputime
	prints "life $whose counts the GPUs of a helper job for its job" <<'END'
1|fraud/serve|infer|2026-11-02T10:00:00|2026-11-02T11:00:00|4|14400
1|fraud/serve|infer|2026-11-02T10:30:00|2026-11-02T10:36:00|3|1080
END
done
run life frau -f helped.conf --file helped -S 2026-11-02 -E 2026-11-03 -n -P
prints 'life of the begin of a name has no rows' </dev/null
echo 'JobIDRaw|User|Start|End|State' >less
run import -f egs.conf - <less
ends 'import refuses a file without AllocTRES' 1
complains 'the refusal names the missing column' <<'END'
egs-report: column AllocTRES is missing
END

ask usage --by=team,type
prints 'usage prints hours, rated hours and cost' <<'END'
TEAM   TYPE GPUTIME(h) RATED(h) CPUTIME(h) SUSPENDED(h) COST(EUR) ENERGY(kWh)
fraud  a100       6.00     6.00      12.00         0.00     10.80 -
vision h100       2.00     5.00       2.00         0.00      7.20 -
vision a100       1.50     1.50       1.50         0.50      2.70 -
-      -          0.00     0.00      32.00         0.00      0.00 -
END
ask usage --by=user -t seconds -o user,gputime,cputime -n -P
prints 'usage prints seconds and selected columns for a script' <<'END'
alice|21600|43200
bob|12600|12600
carol|0|115200
END
ask usage --by=phase,workload,tier -t percent --csv
prints 'usage prints percent as CSV' <<'END'
PHASE,WORKLOAD,TIER,GPUTIME,RATED,CPUTIME,SUSPENDED,COST,ENERGY
train,fraud/train,research,63.16,48.00,25.26,0.00,10.80,-
-,-,research,36.84,52.00,7.37,100.00,9.90,-
-,-,-,0.00,0.00,67.37,0.00,0.00,-
END
run usage -f egs.conf --file state --by=user -t seconds -n -P \
	-o user,gputime,cputime \
	-S 2026-11-02T10:15:10 -E 2026-11-04T00:00:40
prints 'a report may begin and end at any second' <<'END'
alice|17960|35920
bob|10900|10900
carol|0|58240
END
run usage -f egs.conf --file state -n -P -o gputime -t seconds \
	-S 2026-11-02T10:10:10 -E 2026-11-02T10:10:11
prints 'a report of one second counts both running jobs' <<'END'
4
2
END
ask usage -A vision -u bob -p gpu -n -P -o team,gputime
prints 'usage is limited to accounts, users and partitions' <<'END'
vision|3.50
END

ask jobs -P -o jobid,restarts,user,gpus,start,elapsed,suspended,gpuseconds,state
prints 'jobs prints every attempt' <<'END'
JOBID|RESTARTS|USER|GPUS|START|ELAPSED|SUSPENDED|GPUSECONDS|STATE
1|0|alice|4|2026-11-02T10:00:00|5400|0|21600|COMPLETED
2|0|bob|2|2026-11-02T10:01:00|1800|0|3600|REQUEUED
2|1|bob|2|2026-11-02T10:41:00|1800|0|3600|CANCELLED
3|0|bob|1|2026-11-03T00:00:30|5400|1800|5400|FAILED
4|0|carol|0|2026-11-03T23:00:00|7200|0|0|TIMEOUT
END
ask waits --by=team -P
prints 'waits prints mean and percentiles, long waits by class' <<'END'
TEAM|STARTS|MEAN|P50|P95|MAX|CAUSE
-|1|3600|3711|3711|3711|-
fraud|1|10|10|10|10|-
vision|3|230|60|607|607|-
END
ask workload fraud -P -o workload,phase,runs,first,last,gpus,gputime,cost
prints 'workload prints phases with their first and last second' <<'END'
WORKLOAD|PHASE|RUNS|FIRST|LAST|GPUS|GPUTIME|COST
fraud/train|train|1|2026-11-02T10:00:00|2026-11-02T11:30:00|4|6.00|10.80
END
ask teams -P -o team,used,share,used_share,below_share
prints 'teams prints the share by quota and the share used' <<'END'
TEAM|USED|SHARE|USED_SHARE|BELOW_SHARE
fraud|6.00|0.2500|0.4800|-0.2300
vision|3.50|0.7500|0.5200|0.2300
END
# alice runs nightly-N for an hour, the last time for six; a requeue divides one run;
# a crash loop and a preempted run teach nothing.
mkdir predicted
sed "s|$PWD/state|$PWD/predicted|" egs.conf >predicted.conf
{
	echo 'JobIDRaw|User|Account|Partition|JobName|State|Start|End|AllocTRES'
	for h in 10 11 12 13 14 15 16 17; do
		echo "$h|alice|fraud|gpu|nightly-$h|COMPLETED|2026-11-02T$h:00:00|2026-11-02T$((h + 1)):00:00|cpu=8,gres/gpu=4"
	done
	cat <<'END'
20|alice|fraud|gpu|nightly-9|REQUEUED|2026-11-03T10:00:00|2026-11-03T10:30:00|cpu=8,gres/gpu=4
20|alice|fraud|gpu|nightly-9|COMPLETED|2026-11-03T11:00:00|2026-11-03T11:30:00|cpu=8,gres/gpu=4
21|alice|fraud|gpu|nightly-10|FAILED|2026-11-03T12:00:00|2026-11-03T12:00:20|cpu=8,gres/gpu=4
22|alice|fraud|gpu|nightly-11|PREEMPTED|2026-11-03T12:00:00|2026-11-03T12:05:00|cpu=8,gres/gpu=4
23|bob|fraud|gpu|other|COMPLETED|2026-11-03T12:00:00|2026-11-03T13:00:00|cpu=8,gres/gpu=4
24|alice|fraud|gpu|nightly-12|COMPLETED|2026-11-04T10:00:00|2026-11-04T16:00:00|cpu=8,gres/gpu=4
END
} >lines
run import -f predicted.conf lines
ends 'import reads runs for predictions' 0
run estimates -f predicted.conf --file predicted -S 2026-11-01 -E 2026-11-10
prints 'estimates prints how many runs ended inside their interval' <<'END'
BY            RUNS INSIDE(%) EARLIER(%) LATER(%) ERROR(%) FAILED
user+name        7      85.7        0.0     14.3      0.0      1
account+phase    1     100.0        0.0      0.0      0.0      0
none             3         -          -        -        -      0
all              8      87.5        0.0     12.5      0.0      1
END
run estimates -f predicted.conf --file predicted -S 2026-11-01 -E 2026-11-10 \
	-u bob -P -o by,runs,inside
prints 'estimates prints runs of one user, predicted from all runs' <<'END'
BY|RUNS|INSIDE
account+phase|1|100.0
all|1|100.0
END
run estimates -f predicted.conf --file predicted -S 2026-11-01 -E 2026-11-10 \
	--every=day
ends 'estimates has no sums of days' 1

for report in preemptions observed remediation wastage; do
	ask $report -P -n
	ends "$report accepts a history without events" 0
	prints "$report prints an empty table if nothing happened" </dev/null
done

ask preemptions
prints 'a report without rows prints no header' </dev/null
complains 'a report without rows says so' <<'END'
egs-report: preemptions: no rows from 2026-11-01T00:00:00 to 2026-11-10T00:00:00
END
for report in usage jobs mine teams waits 'workload fraud'; do
	# shellcheck disable=SC2086 # a report and its name
	ask $report
	does "$report fits 120 columns" test "$(wc -L <out)" -le 120
done
ask jobs
does 'jobs shows the columns that a person needs' grep -xE \
	'JOBID USER  TEAM   TIER     PHASE TYPE LOAN  GPUS START  +END  +GPUSECONDS STATE' out
ask jobs --long
does 'jobs --long shows all columns' grep -qE '^JOBID RESTARTS .* EXACT .* EMPTY\(s\) ADVICE$' out
ask usage --by=user -t percent -o user,gputime
prints 'the header has the unit of -t' <<'END'
USER  GPUTIME(%)
alice      63.16
bob        36.84
carol       0.00
END

ask usage --by=user --json -o user,gputime
prints 'JSON has a version and unquoted numbers' <<'END'
{"version": 1, "from": 1793491200, "to": 1794268800, "currency": "EUR", "usage": [
  {"user": "alice", "gputime": 6.00},
  {"user": "bob", "gputime": 3.50},
  {"user": "carol", "gputime": 0.00}
]}
END
ask usage --by=user -o gputime%9,user%3 -n
prints 'columns have the requested width' <<'END'
     6.00 ali
     3.50 bob
     0.00 car
END
ask usage --by=user -o user%-7,gputime%-5,cost%6
prints 'a negative width aligns to the left, as in sacct' <<'END'
USER    GPUTI   COST
alice   6.00   10.80
bob     3.50    9.90
carol   0.00    0.00
END
run usage -f egs.conf --file state --by=team --every=day -t seconds -P \
	-o time,team,gputime -S 2026-11-02T10:15:10 -E 2026-11-04
prints '--every=day prints sums of each day' <<'END'
TIME|TEAM|GPUTIME
2026-11-02T00:00:00|fraud|17960
2026-11-02T00:00:00|vision|5500
2026-11-03T00:00:00|vision|5400
2026-11-03T00:00:00|-|0
END
ask usage --by=team --every=hour -t seconds -n -P -o time,gputime -u alice
prints '--every=hour prints sums of each hour' <<'END'
2026-11-02T10:00:00|14400
2026-11-02T11:00:00|7200
END
ask teams --every=hour
complains '--every is refused for a report without series' <<'END'
egs-report: teams has no sums of hours or days; --every is for usage and wastage
END

run usage -f egs.conf --file state --every=hour -S 1970-01-02 -E 2026-11-10
ends 'a series of half a million hours is refused' 1
complains 'the refusal of a long series says what to choose' <<'END'
egs-report: --every=hour is for 10000 hours at most, and this time has 498384; choose --every=day or a later -S
END
run usage -f egs.conf --file state --every=day -S 2000-01-01 -E 2026-11-10
ends 'a series of ten thousand days is printed' 0
# report_for LIMIT: the report that the daemon requests, with LIMIT seconds
report_for()
{
	echo "{\"report\": \"usage\", \"dir\": \"$PWD/many\", \"limit_s\": $1,
		\"every\": 3600, \"from\": 1793491200, \"to\": 1794268800}" |
		"$EGS_BUILD/policyd/egs-policyd" -f egs.conf --report >out
}
# Many short runs: SQLite needs some thousand steps to read them.
cc -o sql "$srcdir/t/lib/data/sql.c" -lsqlite3
cp -r state many
./sql many/state "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
	WHERE i < 20000) INSERT INTO rollup (bucket_s, at, kind, gpu_s)
	SELECT 3600, 1793491200 + i % 200 * 3600, 1000 + i, 1 FROM n"
does 'a report of many rows is made in time' report_for 60
does 'a report in time has no error' grep -q '"ok":true' out
does 'a report that takes too long is answered' report_for 0
does 'a report that takes too long says what to choose' grep -q \
	'"error":"the report takes longer than 0 s; choose a shorter time with -S and -E"' out

# Names that a user chose.
cp -r state hostile
./sql hostile/state "UPDATE run SET name='a|root|x' WHERE job_id=1;
	UPDATE run SET name='=cmd|''/c calc''!A0' WHERE job_id=2;
	UPDATE run SET name='-' WHERE job_id=3;
	UPDATE run SET name='@SUM(1+1)*cmd' WHERE job_id=4;
	UPDATE kind SET user='+alice' WHERE user='alice'"
run jobs -f egs.conf --file hostile -S 2026-11-01 -E 2026-11-10 -P \
	-o jobid,name,user,state
prints '-P prints a | in a name as ?' <<'END'
JOBID|NAME|USER|STATE
1|a?root?x|+alice|COMPLETED
2|=cmd?'/c calc'!A0|bob|REQUEUED
2|=cmd?'/c calc'!A0|bob|CANCELLED
3|-|bob|FAILED
4|@SUM(1+1)*cmd|carol|TIMEOUT
END
run jobs -f egs.conf --file hostile -S 2026-11-01 -E 2026-11-10 --csv \
	-o jobid,name,user,state
prints '--csv prints no name that a spreadsheet takes for a formula' <<'END'
JOBID,NAME,USER,STATE
1,a|root|x,'+alice,COMPLETED
2,'=cmd|'/c calc'!A0,bob,REQUEUED
2,'=cmd|'/c calc'!A0,bob,CANCELLED
3,-,bob,FAILED
4,'@SUM(1+1)*cmd,carol,TIMEOUT
END
ask teams --csv -o team,below_share
does '--csv prints a number below 0 as a number' grep -q '^[a-z]*,-0' out
sed 's/Currency=EUR/Currency=E"U/' egs.conf >currency.conf
run usage -f currency.conf --file state --json -o team -S 2026-11-01 -E 2026-11-10
does 'a quote in Currency= is valid JSON' python3 -c \
	'import json; assert json.load(open("out"))["currency"] == "E\"U"'

# on_terminal ARGUMENT...: print a report on a terminal
on_terminal()
{
	script -qec "'$EGS_BUILD/cmd/egs-report/egs-report' $* -f egs.conf \
		--file state -S 2026-11-01 -E 2026-11-10" /dev/null >out
}
# decorated: lines with bars or escape sequences
decorated()
{
	grep -e '█' -e "$(printf '\\033')" out
	[ $? -le 1 ]
}
does 'usage prints on a terminal' on_terminal usage --by=user
does 'a table on a terminal has bars' grep -q '█' out
does 'a table on a terminal has a bold header' grep -q "$(printf '\033')" out
does 'usage -P prints on a terminal' on_terminal usage --by=user -P
holds 'output of -P on a terminal has no decoration' decorated
ask usage --by=user
holds 'output to a file has no decoration' decorated

does 'carol, without a team, gets usage' as_user carol '' usage ''
does 'a user without a team sees only his own usage' grep -q '"rows":\[\["-",0,' out
does 'bob gets usage by team' as_user bob '' usage ', "by": "team"'
does 'a user sees the sum of his team' grep -q '\["vision",12600,' out
does 'bob gets usage with PrivateData=jobs' as_user bob jobs usage ', "by": "team"'
does 'PrivateData=jobs does not hide the sum of the own team' grep -q '\["vision",12600,' out
sed 's/Accounts=vision/Users=bob,dave/' egs.conf >by-name.conf
conf=by-name.conf
does 'dave, who has used nothing, gets usage' as_user dave '' usage ', "by": "team"'
does 'a member by name who has used nothing sees the sum of the team' grep -q '\["vision",12600,' out
does 'bob gets life of a job of alice' as_user bob '' life ', "name": "1"'
does 'life shows a user no job of others' grep -q '"rows":\[\]' out
does 'bob gets life of a workload of alice' as_user bob '' life ', "name": "fraud"'
does 'life shows a user no workload of others' grep -q '"rows":\[\]' out
does 'alice gets life of her workload' as_user alice '' life ', "name": "fraud"'
does 'life shows a user her workload' grep -q '"rows":\[\["1",' out
does 'dave gets teams' as_user dave '' teams ''
does 'teams shows a user only the row of his team' grep -q '"rows":\[\["vision",[^[]*$' out
does 'dave gets jobs' as_user dave '' jobs ''
does 'jobs shows a user no job of others' grep -q '"rows":\[\]' out
conf=
does 'dave gets usage with PrivateData=usage' as_user dave usage usage ', "by": "team"'
does 'PrivateData=usage hides the sum of the own team' grep -q '"rows":\[\]' out
does 'bob gets an answer for teams with PrivateData=jobs,Usage' as_user bob jobs,Usage teams ''
does 'PrivateData=usage refuses the report teams' grep -q 'PrivateData=usage' out

ask usage --by=user --html page.html
ends '--html writes a page' 0
# numbers_of: the sums in the data of the page, one a line
numbers_of()
{
	perl -MJSON::PP -0777 -ne '
		my ($data) = /id="egs-data">(.*?)<\/script>/s or die;
		my $usage = decode_json($data)->{sections}[0];
		for my $row (@{ $usage->{rows} }) {
			print "$_\n" for @$row[1 .. 6];
		}' page.html
}
ask usage --by=user --json
perl -MJSON::PP -0777 -ne 'for my $r (@{ decode_json($_)->{usage} }) {
	print "$r->{$_}\n" for qw(gputime rated cputime suspended cost energy) }' \
	out >want
numbers_of >got
does 'the page has the numbers of the report' cmp want got
# reaches_out: what a browser would fetch
reaches_out()
{
	grep -noiE '<(i?frame|img|object|embed|base|form)|<link rel="style|<script src|@import|url\(["a-z]' \
		page.html
	[ $? -le 1 ]
}
holds 'the page refers to nothing outside of itself' reaches_out

run rate -f egs.conf a100=1000 h100=2500 cpu=20@0.05 -P
prints 'rate prints ratings and the price of a million tokens' <<'END'
TYPE|TOKENS|RATING|PRICE|MTOKENS|LINE
a100|1000.0|1.000|1.80|0.5000|GpuType=a100 Rating=1.000 Price=1.80
h100|2500.0|2.500|3.60|0.4000|GpuType=h100 Rating=2.500 Price=3.60
cpu|20.0|0.020|0.05|0.6944|GpuType=cpu Rating=0.020 Price=0.05
END

for bad in a100 =5 a100= a100=5@ a100=5@-1 a100=5@x a100=5@1x a100=nan \
	a100=-1 a100=inf a100=5@inf a100=0; do
	run rate "$bad"
	ends "rate $bad is refused" 1
	does "the refusal of rate $bad quotes it" \
		grep -q "^egs-report: '$bad'[: ]" err
done
run rate -f nowhere a100=5
complains 'rate -f refuses a missing egs.conf' <<'END'
egs-report: nowhere cannot be read: No such file or directory
END
mkdir copy
run backup -f egs.conf copy/state
ends 'backup copies the state' 0
ask jobs -P
mv out want
run jobs -f egs.conf --file copy -S 2026-11-01 -E 2026-11-10 -P
does 'a report of the copy is the same' cmp want out
run backup -f egs.conf copy/state
complains 'backup does not overwrite a file' <<'END'
egs-report: copy/state exists already
END
# The disk is full after 8 kB.
(ulimit -f 8; trap '' XFSZ; run backup -f egs.conf copy/half; exit "$rc")
rc=$?
ends 'a backup that fails says so' 1
holds 'a backup that fails leaves no file' find copy -name "half*"

# refused TITLE ARGUMENT...: with the sentence on standard input
refused()
{
	run "${@:2}"
	ends "$1" 1
	complains "$1: the sentence names cause and remedy"
}
refused 'an unknown report is refused' usag <<'END'
egs-report: 'usag' is not a report; did you mean 'usage'? (reports: usage, jobs, mine, teams, preemptions, waits, wastage, efficiency, idle, samples, workload, life, observed, remediation, estimates)
END
refused 'an invalid time is refused' usage -S soon <<'END'
egs-report: 'soon' is not a time; use 2026-11-16, 2026-11-16T10:30, 10:30, now-7days or midnight
END
refused 'a begin after the end is refused' usage -S now -E now-1days <<'END'
egs-report: -S now is after -E now-1days
END
refused 'an unknown unit is refused' usage -t hour <<'END'
egs-report: -t 'hour' is not a time unit; did you mean 'hours'? (time units: seconds, minutes, hours, percent)
END
refused 'an unknown key is refused' usage --by=teams --file state <<'END'
egs-report: --by: 'teams' is not a key; did you mean 'team'? (keys: team, user, account, workload, phase, tier, type, partition, qos, loan)
END
refused 'workload without a name is refused' workload <<'END'
egs-report: workload: NAME or NAME/STAGE is missing
END
refused 'an unknown column is refused' usage --file state -o gputim <<'END'
egs-report: 'gputim' is not a field; did you mean 'GPUTIME'? (fields: TEAM, GPUTIME, RATED, CPUTIME, SUSPENDED, COST, ENERGY)
END
refused 'a missing state is refused' usage --file nowhere <<'END'
egs-report: nowhere/state: unable to open database file
END
run usage --socket "$PWD/nobody.sock"
ends 'a daemon that cannot be reached is exit code 2' 2

done_testing
