#!/bin/bash
# 1135-egs-report-gpus.t - egs-report prints what the GPUs of jobs did
. "$(dirname "$0")/lib/sh/tree.sh"

# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"
export TZ=UTC

egsctl=$EGS_BUILD/cmd/egs-report/egs-report # for run
mkdir state
cat >egs.conf <<END
StateDir=$PWD/state
GpuType=a100 Price=1.80
GpuType=h100 Price=3.60
TierOrder=prod,research
Team=fraud Accounts=fraud Quota=a100:4 DefaultTier=research
Team=vision Accounts=vision Quota=a100:12 DefaultTier=research
END
run import -f egs.conf - <<'END'
JobIDRaw|User|Account|State|Submit|Start|End|AllocTRES|AllocCPUS|NNodes|AdminComment
1|alice|fraud|COMPLETED|2026-11-02T09:59:50|2026-11-02T10:00:00|2026-11-02T11:30:00|cpu=8,gres/gpu:a100=4,gres/gpu=4|8|1|egs:1;phase=train;id=0000000000000001
2|bob|vision|FAILED|2026-11-02T10:00:00|2026-11-02T10:01:00|2026-11-02T11:01:00|cpu=2,gres/gpu:h100=2,gres/gpu=2|2|1|
3|bob|vision|FAILED|2026-11-03T00:00:00|2026-11-03T00:00:30|2026-11-03T01:30:30|cpu=1,gres/gpu:a100=1,gres/gpu=1|1|1|
4|carol|other|TIMEOUT|2026-11-03T22:00:00|2026-11-03T23:00:00|2026-11-04T01:00:00|cpu=16,node=2|16|2|
END
ends 'import reads jobs with GPUs' 0
cc -o sql "$srcdir/t/lib/data/sql.c" -lsqlite3 || exit 1

# Job 1 never used one of its four GPUs, one was busy for half of the time; job 2
# has no samples; job 3 was empty.
cp -r state measured
./sql measured/state "INSERT INTO gpu_use (job_id, restarts, start, node, gpu,
		at, sampled_s, sm_s, sm_percent_s, idle_s, process_s, empty_s)
	SELECT 1, 0, r.start, 'n1', gpu, r.end, 5400, 5400, 5400*sm, idle, 5400, 0
	FROM run r, (SELECT 0 AS gpu, 80 AS sm, 0 AS idle UNION SELECT 1, 80, 0
		UNION SELECT 2, 40, 2700 UNION SELECT 3, 0, 5400)
	WHERE r.job_id=1;
	INSERT INTO gpu_rollup (bucket_s, at, kind, sampled_s, sm_s, sm_percent_s,
		mem_s, max_mem_mb, mem_total_mb, process_s, idle_s, empty_s, energy_s,
		energy_j)
	SELECT bucket_s, at, kind, gpu_s, gpu_s, gpu_s*50, gpu_s, 61440, 81920,
		gpu_s, gpu_s*3/8, 0, gpu_s, gpu_s*500
	FROM rollup JOIN kind k ON k.id=kind WHERE k.user='alice';
	INSERT INTO gpu_rollup (bucket_s, at, kind, sampled_s, process_s, empty_s)
	SELECT bucket_s, at, kind, gpu_s, gpu_s, gpu_s
	FROM rollup JOIN kind k ON k.id=kind WHERE k.user='bob' AND k.type='a100';
	INSERT INTO node_name (name) VALUES ('n1');
	INSERT INTO gpu_cell (id, run, node, gpu, sampled_s, sm, idle_s, empty_s)
	SELECT (r.start/300<<20)+gpu, r.id, 1, gpu, 300, 80, iif(gpu=3, 300, 0), -1
	FROM run r, (SELECT 2 AS gpu UNION SELECT 3) WHERE r.job_id=1;
	INSERT INTO gpu_cell (id, run, node, gpu, sampled_s, sm, idle_s, empty_s)
	SELECT (r.start/300<<20)+9, r.id, 1, 0, 300, -1, -1, 240
	FROM run r WHERE r.job_id=3"

# ask_measured REPORT ARGUMENT...
ask_measured()
{
	run "$@" -f egs.conf --file measured -S 2026-11-01 -E 2026-11-10
}
ask_measured usage --by=user -o user,cost,energy -n -P
prints 'usage has the energy in kWh beside the cost' <<'END'
alice|10.80|3.000
bob|9.90|-
carol|0.00|-
END
ask_measured usage --by=user --every=hour -o time,energy -n -P -u alice
prints 'usage --every=hour has the energy of each hour' <<'END'
2026-11-02T10:00:00|2.000
2026-11-02T11:00:00|1.000
END
ask_measured efficiency
prints 'efficiency tells how GPU time was used, and what to do next' <<'END'
USER  GPUTIME(h) SM(%) MAXMEM(%) IDLE(h) EMPTY(h) ENERGY(kWh) ADVICE
alice       6.00    50        75    2.25     0.00       3.000 job 1: 1 of 4 GPUs was never used: ask for --gres=gpu:3
bob         3.50     -         -       -     1.50           - no process in 100 % of the time: end jobs that are done
END
ask_measured efficiency --by=team,phase -P -n -o team,phase,sm,empty
prints 'efficiency adds up by any keys' <<'END'
fraud|train|50|0.00
vision|-|-|1.50
END
cp -r measured hollow
./sql hollow/state "INSERT INTO gpu_rollup (bucket_s, at, kind, sampled_s, sm_s,
		sm_percent_s, power_s, power_ws, power_limit_w, low_power_s,
		low_power_ws)
	SELECT bucket_s, at, kind, gpu_s, gpu_s, gpu_s*100, gpu_s, gpu_s*62, 700,
		gpu_s, gpu_s*62
	FROM rollup JOIN kind k ON k.id=kind WHERE k.type='h100'"
run efficiency -f egs.conf --file hollow -S 2026-11-01 -E 2026-11-10 -u bob -n -P \
	-o user,sm,advice
prints 'efficiency tells of a kernel that keeps a GPU busy and does nothing' <<'END'
bob|100|busy by utilisation, but 62 W of 700 W in 100 % of the time
END
run efficiency -f egs.conf --file state -S 2026-11-01 -E 2026-11-10 -P -n \
	-o user,gputime,measured,sm,maxmem,idle,empty,energy,advice
prints 'efficiency without samples has no values instead of 0' <<'END'
alice|6.00|-|-|-|-|-|-|-
bob|3.50|-|-|-|-|-|-|-
END
ask_measured idle -t seconds
prints 'idle lists attempts that held GPUs without using them' <<'END'
JOBID USER  TEAM   PHASE TYPE GPUS HELD(s) IDLE(s) EMPTY(s) SHARE(%) STATE
1     alice fraud  train -       2     600     300        -       50 COMPLETED
3     bob   vision -     -       1     300       -      240        - FAILED
END
run idle -f egs.conf --file measured -S 2026-11-02T12:00 -E 2026-11-10 -n -P -o jobid
prints 'idle begins at -S' <<'END'
3
END
ask_measured jobs -n -P -o jobid,sm,idle,empty,advice -u alice
prints 'jobs has advice for each attempt' <<'END'
1|50|8100|0|job 1: 1 of 4 GPUs was never used: ask for --gres=gpu:3
END
ask_measured samples 1 -n -P
prints 'samples prints each GPU of a job, five minutes a row' <<'END'
2026-11-02T10:00:00|0|n1|2|300|80|0|0|0|0|0|0|-
2026-11-02T10:00:00|0|n1|3|300|80|0|0|0|0|0|300|-
END
ask_measured samples 1
prints 'samples has whole times in a line of 120 characters' <<'END'
TIME                RESTARTS NODE GPU MEASURED(s) SM(%) MEM(MiB) MAXMEM(MiB) POWER(W) IDLE(s) EMPTY(s)
2026-11-02T10:00:00        0 n1     2         300    80        0           0        0       0 -
2026-11-02T10:00:00        0 n1     3         300    80        0           0        0     300 -
END
ask_measured idle --by=user -n -P
prints 'idle adds up by keys' <<'END'
alice|6.00|2.25|0.00|37
bob|1.50|-|1.50|-
END

# What rules did about GPUs.
cp -r state rules
./sql rules/state "INSERT INTO remediation (at, rule, node, gpu, subject, xid,
	value, remedy, job_text, user, reason, outcome, undone_at, undone) VALUES
	(1793620800, 'fault', 'n1', 3, 'xid', 79, 0, 'drain', '', '',
	'GPU 3 of n1: XID 79', '', 0, ''),
	(1793624400, 'hot', 'n2', 0, 'temperature', 0, 91, 'warn', '1', 'alice',
	'GPU 0 of n2: temperature 91 C', 'would', 1793628000,
	'the reason is gone')"
run remediation -f egs.conf --file rules -S 2026-11-01 -E 2026-11-10 -P \
	-o time,node,gpu,rule,on,value,do,how,jobid,user,undone,why
prints 'remediation prints what rules did, and when it was undone' <<'END'
TIME|NODE|GPU|RULE|ON|VALUE|DO|HOW|JOBID|USER|UNDONE|WHY
2026-11-02T12:00:00|n1|3|fault|xid|79|drain|sent|-|-|-|-
2026-11-02T13:00:00|n2|0|hot|temperature|91|warn|would|1|alice|2026-11-02T14:00:00|the reason is gone
END

state=measured
does 'bob gets efficiency by team' as_user bob '' efficiency ', "by": "team"'
does 'efficiency shows a user only the row of his team' grep -q '"rows":\[\["vision",[^[]*$' out
does 'bob gets idle' as_user bob '' idle ''
does 'idle shows a user no job of others' grep -q '"rows":\[\["3",[^[]*$' out
does 'bob gets samples of a job of alice' as_user bob '' samples ', "name": "1"'
does 'samples shows a user no job of others' grep -q '"rows":\[\]' out
run samples 12x --file state
complains 'samples of no job are refused' <<'END'
egs-report: '12x' is not a job; use 81234 or 81234_7
END

done_testing
