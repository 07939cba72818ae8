#!/bin/bash
# 8000-report.t - reports of many jobs agree with slurmdbd and with a watcher
# long: 110 s, a cluster with slurmdbd for each Slurm with plugins
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='every second of every job is reported exactly once'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >egs.conf <<-'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research,scavenge
PollInterval=1s
Currency=EUR
GpuType=a100 Rating=1.5 Price=36.00
Tier=research MinRuntime=0s MaxPreemptions=none \
	GraceMin=1s GraceMax=300s GraceNoAck=300s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
Team=vision Users=bob,carol Quota=a100:2 DefaultTier=research
END

# egs_report ARGUMENT...: egs-report as root, without a header, parsable
egs_report()
{
	as root egs-report "$@" -n -P
}

# reported JOB STATE: a run of JOB is in the report with STATE
reported()
{
	egs_report jobs -o jobid,state >jobs.now &&
	grep -qx "$1|$2" jobs.now
}

wait_reported()
{
	wait_until 90 "job $1 is reported as $2" reported "$1" "$2" || {
		cat jobs.now
		return 1
	}
}

# as_accounted: slurmdbd and the report have the same runs; slurmctld sends its
# records to slurmdbd with a delay
as_accounted()
{
	as root env SLURM_TIME_FORMAT=%s sacct -a -D -X -n -P \
		-o jobidraw,start,end,elapsedraw,alloctres,submit,state,jobname \
		>sacct.out &&
	! grep -q '|Unknown|' sacct.out &&
	as root env TZ=UTC egs-report jobs -n -P \
		-o jobid,start,end,elapsed,gpuseconds,state,exact >jobs.out &&
	"$srcdir/t/lib/check/compare-runs" sacct.out jobs.out >compared
}

# as_watched: the report agrees with the records of the watcher
as_watched()
{
	as root env TZ=UTC egs-report jobs -n -P -o jobid,start,gpuseconds \
		>jobs.out &&
	"$srcdir/t/lib/check/compare-watched" "$watched" jobs.out >compared
}

# rested JOB: the report has at least two seconds of suspension
rested()
{
	egs_report jobs -o jobid,suspended |
		awk -F'|' -v job="$1" '$1 == job && $2 >= 2 { n++ } END { exit !n }'
}

# back NODE: resume NODE, which may also have come back by itself; it is idle
back()
{
	as root scontrol update "nodename=$1" state=resume 2>/dev/null
	[ "$(node_field "$1" State)" = IDLE ]
}

# held USER FILE OPTION...: submit a job that runs until there is ~/FILE
held()
{
	local user=$1 file=$2

	shift 2
	submit --user="$user" "$@" \
		--wrap="until [ -e \$HOME/$file ]; do sleep 0.2; done"
}

# seconds_of JOB GPUS: GPU-seconds from its start and end times
seconds_of()
{
	local start end

	start=$(as root date -d "$(job_field "$1" StartTime)" +%s) &&
	end=$(as root date -d "$(job_field "$1" EndTime)" +%s) &&
	echo "$1|$(($2 * (end - start)))"
}

# resize JOB NODES: scontrol writes its scripts to /run/sandbox
resize()
{
	as root sh -c "cd /run/sandbox && scontrol update jobid=$1 numnodes=$2" &&
	wait_until 60 "job $1 has $2 nodes" has_nodes "$1" "$2"
}

has_nodes()
{
	[ "$(job_field "$1" NumNodes)" = "$2" ]
}

# wasted CAUSE: the report has GPU wastage of that cause
wasted()
{
	egs_report wastage -t seconds -o "scope,$1" >wastage.now &&
	awk -F"|" '$1 == "gpu" && $2 > 0 { n++ } END { exit !n }' wastage.now
}

# on_loan: the report has GPU time of the guest on loan, and of fraud as lender
on_loan()
{
	egs_report usage --by=workload,loan -t seconds -o workload,loan,gputime |
		awk -F'|' '$1 == "guest" && $2 == "loan" && $3 > 0 { n++ }
			END { exit !n }' &&
	egs_report teams -t seconds -o team,lent | grep -q "^fraud|[1-9]"
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

# phase JOB PHASE: run egs phase as if inside the job
phase()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase "$2"
}

# lasts WORKLOAD PHASE: the report has GPU time of that phase
lasts()
{
	egs_report workload "$1" -t seconds -o phase,gputime |
		awk -F'|' -v phase="$2" '$1 == phase && $2 > 0 { n++ }
			END { exit !n }'
}

watch()
{
	watched=$EGS_SANDBOX_DIR/$cluster/run/sandbox/watched
	as root /srv/egs/t/lib/check/watch-jobs /run/sandbox/watched \
		>watcher.err 2>&1 &
	watcher=$!
}

# elsewhere USER CMD...: run CMD without the socket and the state of the daemon
elsewhere()
{
	local user=$1

	shift
	as root unshare -m sh -c "mount -t tmpfs none /run/egs &&
		mount -t tmpfs none /var/lib/egs &&
		exec setpriv --reuid=$user --regid=$user --init-groups \
			-- \"\$@\"" sh "$@"
}

check_states()
{
	test_expect_success "$version: the watcher records the jobs" '
		wait_until 60 "the watcher has a record" grep -q look "$watched"
	'

	test_expect_success "$version: jobs of all kinds run" '
		plain=$(held alice plain --gres=gpu:a100:2 -c2 --phase=train \
			--workload=fraud) &&
		wait_state "$plain" RUNNING &&
		cut=$(held bob cut --gres=gpu:a100:1) &&
		rests=$(held carol rests --gres=gpu:a100:1) &&
		again=$(held bob again --gres=gpu:a100:1) &&
		none=$(submit --user=carol --wrap=true) &&
		for job in $cut $rests $again; do
			wait_state "$job" RUNNING || return
		done &&
		wait_state "$none" COMPLETED
	'

	test_expect_success "$version: running jobs are in the report" '
		for job in $plain $cut $rests $again; do
			wait_reported "$job" RUNNING || return
		done &&
		egs_report usage --by=team,phase,workload,type | sort >got &&
		grep "^fraud|train|fraud|a100|" got &&
		grep "^vision|-|-|a100|" got
	'

	test_expect_success "$version: the report has ended, cancelled, suspended and requeued jobs" '
		as root scontrol suspend "$rests" &&
		wait_state "$rests" SUSPENDED &&
		as root scontrol requeue "$again" &&
		as root scancel "$cut" &&
		as alice touch plain &&
		wait_state "$plain" COMPLETED &&
		wait_state "$cut" CANCELLED &&
		wait_state "$again" PENDING &&
		wait_reported "$again" REQUEUED &&
		egs_report jobs -o jobid,state,exact >got &&
		grep -x "$again|REQUEUED|yes" got &&
		wait_until 90 "job $rests has rested" rested "$rests" &&
		as root scontrol resume "$rests" &&
		wait_state "$rests" RUNNING &&
		as bob touch again &&
		wait_until 90 "job $again may start again" \
			as root scontrol update "jobid=$again" StartTime=now &&
		wait_state "$again" COMPLETED &&
		as carol touch rests &&
		wait_state "$rests" COMPLETED
	'
}

check_loans_and_resizes()
{
	test_expect_success "$version: a job on loan is reported until and after its preemption" '
		as bob rm -f go leave &&
		guest=$(submit --user=bob -N2 --gres=gpu:a100:4 --workload=guest \
			--signal=B:USR1@60 asked.sh eval \
			"/opt/egs/bin/egs yield --path=/ckpt/17; sleep 600") &&
		wait_state "$guest" RUNNING &&
		wait_until 90 "eight GPUs are on loan" on_loan &&
		owner=$(held alice owner --gres=gpu:a100:4 -N1 --workload=owner) &&
		wait_until 90 "job $guest gets its signal" \
			says "$guest" asked &&
		as bob touch leave &&
		wait_state "$owner" RUNNING &&
		wait_reported "$guest" REQUEUED &&
		as alice touch owner &&
		wait_state "$owner" COMPLETED &&
		wait_until 90 "job $guest runs again" says "$guest" \
			"run 1 resume=1 last=/ckpt/17" &&
		as bob touch go &&
		wait_state "$guest" COMPLETED &&
		wait_reported "$guest" COMPLETED
	'

	test_expect_success "$version: the report has each phase of a resized job" '
		grows=$(held alice grows --gres=gpu:a100:4 -c8 --mem=4000 \
			--workload=grows --phase=train \
			--phase-gpus=train:4,infer:1,retrain:4) &&
		wait_state "$grows" RUNNING &&
		wait_until 90 "job $grows trains" lasts grows train &&
		phase "$grows" infer && test "$(gpus "$grows")" = 0 &&
		wait_until 90 "job $grows serves" lasts grows infer &&
		phase "$grows" retrain && test "$(gpus "$grows")" = 0-3 &&
		wait_until 90 "job $grows retrains" lasts grows retrain &&
		stop_policyd KILL && policyd_up &&
		phase "$grows" infer && test "$(gpus "$grows")" = 0 &&
		as alice touch grows &&
		wait_state "$grows" COMPLETED &&
		wait_reported "$grows" COMPLETED &&
		as root sacct -X -n -P -o jobname >got &&
		grep -x "egs-grow:$grows" got &&
		egs_report jobs -o name >got &&
		! grep egs-grow got &&
		egs_report jobs -o jobid,gpuseconds | sed -n "s/^$grows|//p" >want &&
		egs_report workload grows -t seconds -o phase,runs,gputime >got &&
		awk -F"|" "{ n += \$3 } END { print n }" got >sum &&
		test_cmp want sum &&
		cut -d"|" -f1,2 got | sort >got.phases &&
		printf "%s\n" "infer|1" "retrain|1" "train|1" >want &&
		test_cmp want got.phases
	'
}

check_failures()
{
	test_expect_success "$version: jobs that ended while egs-policyd was down are reported" '
		over=$(held alice over --gres=gpu:a100:1) &&
		wait_state "$over" RUNNING &&
		wait_reported "$over" RUNNING &&
		stop_policyd KILL &&
		as alice touch over &&
		wait_state "$over" COMPLETED &&
		unseen=$(submit --user=bob --gres=gpu:a100:2 --wrap="sleep 2") &&
		wait_state "$unseen" COMPLETED &&
		policyd_up &&
		wait_reported "$over" COMPLETED &&
		wait_reported "$unseen" COMPLETED
	'

	test_expect_success "$version: a job whose node failed is reported as NODE_FAIL" '
		lost=$(held alice lost --gres=gpu:a100:4 -w n2 --no-requeue) &&
		wait_state "$lost" RUNNING &&
		as root scontrol update nodename=n2 state=down reason=test &&
		wait_state "$lost" NODE_FAIL &&
		wait_reported "$lost" NODE_FAIL &&
		wait_until 90 "n2 is back" back n2 &&
		wait_queue_empty
	'

	test_expect_success "$version: a shrunk job is reported exactly after a restart of slurmctld" '
		big=$(held alice big -N2 --gres=gpu:a100:2 --phase=train \
			--workload=big) &&
		wait_state "$big" RUNNING &&
		wait_reported "$big" RUNNING &&
		resize "$big" 1 &&
		as alice env SLURM_JOB_ID=$big egs phase eval --no-wait &&
		restart_slurmctld &&
		wait_policyd slurmctld up &&
		as alice touch big &&
		wait_state "$big" COMPLETED &&
		wait_reported "$big" COMPLETED &&
		egs_report jobs -o jobid,gpuseconds | sed -n "s/^$big|//p" >want &&
		egs_report workload big -t seconds -o phase,gputime >got &&
		grep "^train|" got && grep "^eval|" got &&
		awk -F"|" "{ n += \$2 } END { print n }" got >sum &&
		test_cmp want sum
	'
}

check_agreement()
{
	# Slurm shows the end of a requeued run only as the submit time in the next
	# record of the job.
	test_expect_success "$version: each run in the report agrees with slurmdbd" '
		wait_until 90 "the report agrees with slurmdbd" \
			as_accounted || {
			cat sacct.out jobs.out compared
			return 1
		}
	'

	test_expect_success "$version: each job in the report agrees with the watcher of scontrol" '
		wait_until 90 "the report agrees with the watcher" \
			as_watched || {
			cat "$watched" jobs.out compared watcher.err
			return 1
		}
	'

	test_expect_success "$version: GPU-seconds in the report agree with start and end times" '
		seconds_of "$plain" 2 >want &&
		seconds_of "$owner" 4 >>want &&
		seconds_of "$lost" 4 >>want &&
		egs_report jobs -o jobid,gpuseconds |
			grep -E "^($plain|$owner|$lost)\|" >got &&
		test_cmp want got
	'

	test_expect_success "$version: sums over teams, users, types and jobs agree" '
		egs_report jobs -o gpuseconds | awk "{ n += \$1 } END { print n }" >want &&
		for by in team user type loan,phase partition; do
			egs_report usage -t seconds --by=$by -o gputime |
				awk "{ n += \$1 } END { print n }" >got &&
			test_cmp want got || return
		done
	'

	test_expect_success "$version: the report has the victim, the requester and the cost of a preemption" '
		egs_report preemptions -o jobid,user,team,gpus,byjob,byteam >got &&
		echo "$guest|bob|vision|8|$owner|fraud" >want &&
		test_cmp want got &&
		egs_report preemptions -o lost,gpus,lostwork,held,restart >lost &&
		awk -F"|" "{ exit !(\$1 > 0 && \$1 == \$2 * (\$3 + \$4 + \$5)) }" lost &&
		as bob egs-report mine -t seconds -n -P -o lost,workload |
			sed -n "s/|guest$//p" | sort -n | tail -n 1 >got &&
		cut -d"|" -f1 lost >want &&
		test_cmp want got &&
		as alice egs-report mine -t seconds -n -P -o took,workload |
			sed -n "s/|owner$//p" >got &&
		test_cmp want got
	'

	test_expect_success "$version: the report separates owned, borrowed and lent GPU time" '
		egs_report jobs -o jobid,state,gpuseconds,exact >got &&
		sed -n "s/^$guest|[A-Z]*|\([0-9]*\)|yes$/\1/p" got |
			awk "{ n += \$1 } END { print n }" >want &&
		egs_report usage --by=workload,loan -t seconds -o workload,loan,gputime |
			sed -n "s/^guest|loan|//p" >got &&
		test_cmp want got &&
		egs_report teams -t seconds -o team,used,owned,loan,unmanaged,lent >got &&
		awk -F"|" "\$1 == \"fraud\" && \$6 > 0 { n++ }
			\$1 == \"vision\" && \$4 > 0 { n++ }
			\$2 != \$3 + \$4 + \$5 { n = -9 }
			END { exit n != 2 }" got || { cat got; return 1; }
	'
}

check_wastage()
{
	test_expect_success "$version: idle GPUs beside a blocked job are reported as wastage, by cause" '
		one=$(held alice never --gres=gpu:a100:1 -w n1) &&
		two=$(held alice never --gres=gpu:a100:1 -w n2) &&
		wait_state "$one" RUNNING &&
		wait_state "$two" RUNNING &&
		four=$(held bob never --gres=gpu:a100:4 -N1) &&
		wait_until 90 "fragmentation is reported" \
			wasted fragmentation &&
		as root scancel "$four" &&
		more=$(held bob never --gres=gpu:a100:4 -N2) &&
		wait_until 90 "gang wastage is reported" wasted gang &&
		as root scancel "$more" &&
		there=$(held bob never --gres=gpu:a100:4 -w n1) &&
		wait_until 90 "constraint wastage is reported" \
			wasted constraint &&
		as root scancel "$one" "$two" "$there" &&
		wait_queue_empty
	'

	test_expect_success "$version: causes, types and partitions of wastage add up" '
		egs_report wastage -t seconds >got &&
		awk -F"|" "
			{ n = 0; for (i = 11; i <= NF; i++) n += \$i }
			n != \$9 { print \"causes of \" \$0; bad++ }
			{ split(\$1, name, \" \"); sum[name[1] \" \" name[2]] += \$9 }
			\$2 > 1 || \$3 > \$2 || \$9 > \$8 || \$8 > \$7 { print; bad++ }
			END {
				if (!sum[\"gpu \"] || sum[\"gpu \"] != sum[\"gpu type\"] ||
				    sum[\"gpu \"] != sum[\"gpu partition\"] ||
				    sum[\"cpu \"] != sum[\"cpu partition\"])
					bad++
				exit bad
			}" got || { cat got; return 1; }
	'

	test_expect_success "$version: cost and normalized time follow egs.conf" '
		egs_report usage -t seconds --by=type -o type,gputime,rated,cost |
			grep ^a100 >got &&
		awk -F"|" "{ printf \"a100|%d|%d|%.2f\\n\", \$2,
			int(\$2 * 1.5), \$2 / 100 }" got >want &&
		test_cmp want got
	'
}

check_access()
{
	test_expect_success "$version: users see their own jobs and the sums of their team" '
		as bob egs-report jobs -n -P -o user | sort -u >got &&
		echo bob >want &&
		test_cmp want got &&
		as bob egs-report usage -n -P -o team >got &&
		echo vision >want &&
		test_cmp want got &&
		as bob egs-report usage --by=user -n -P -o user >got &&
		echo bob >want &&
		test_cmp want got &&
		as carol egs-report usage -t seconds -n -P -o gputime >sum &&
		egs_report usage -t seconds -o team,gputime | sed -n "s/^vision|//p" >want &&
		test_cmp want sum &&
		as bob egs-report mine -n -P -o type | sort -u >got &&
		grep a100 got
	'

	test_expect_success "$version: a user cannot read the decision table" '
		test_must_fail as bob head -c 1 /run/egs/table 2>err &&
		grep "Permission denied" err &&
		as root setpriv --reuid=slurm --regid=slurm --clear-groups \
			head -c 1 /run/egs/table >got &&
		test -s got &&
		as bob egsctl show teams
	'

	test_expect_success "$version: a series of half a million hours is refused" '
		test_must_fail as bob egs-report usage -S 1970-01-02 \
			--every=hour 2>err &&
		grep "choose --every=day or a later -S" err
	'

	test_expect_success "$version: a host without egs-policyd gets the same report" '
		as carol egs-report usage -t seconds -n -P >want &&
		elsewhere carol egs-report usage -t seconds -n -P >got &&
		test_cmp want got &&
		egs_report jobs >want &&
		elsewhere root egs-report jobs -n -P >got &&
		test_cmp want got
	'

	test_expect_success "$version: without egs-policyd root reads the same report from the state file" '
		egs_report jobs >want &&
		stop_policyd TERM &&
		egs_report jobs >got 2>err &&
		test_cmp want got &&
		grep "reading /var/lib/egs/state" err &&
		as root setpriv --reuid=slurm --regid=slurm --clear-groups \
			egs-report jobs -n -P >got &&
		test_cmp want got &&
		test_must_fail as bob egs-report jobs 2>err &&
		grep "egs-policyd at" err
	'

	test_expect_success "$version: PrivateData of slurm.conf holds for the report" '
		printf "%s\n" "Include /etc/slurm/slurm.conf" \
			"PrivateData=jobs,usage" |
			as root sh -c "cat >/run/sandbox/private.conf" &&
		policyd_up SLURM_CONF=/run/sandbox/private.conf &&
		as carol egs-report usage -t seconds -n -P -o gputime >got &&
		egs_report usage -t seconds -u carol -o gputime >want &&
		test_cmp want got &&
		test_must_fail as carol egs-report teams 2>err &&
		grep "PrivateData=usage" err &&
		egs_report teams -o team | sort >got &&
		printf "%s\n" fraud vision >want &&
		test_cmp want got
	'
}

check_history()
{
	# The runs of slurmdbd are in the state already; the old job is not.
	test_expect_success "$version: egs-report import adds each old run once" '
		as root sacct -a -D -X -P -o jobidraw,user,account,partition,qos,jobname,state,submit,eligible,start,end,suspended,alloctres,alloccpus,nnodes >history &&
		echo "900001|alice|||normal|old|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|2026-01-05T10:00:00|2026-01-05T11:00:00|00:00:00|cpu=1,gres/gpu:a100=2,gres/gpu=2,node=1|1|1" >>history &&
		as root egs-report import - <history >got &&
		grep "^1 runs imported, [1-9][0-9]* already in the history" got &&
		as root egs-report import - <history >got &&
		grep "^0 runs imported, [1-9][0-9]* already in the history" got &&
		egs_report jobs -S 2026-01-05 -E 2026-01-06 -o jobid,gpuseconds >got &&
		echo "900001|7200" >want &&
		test_cmp want got &&
		last=$(submit --user=alice --gres=gpu:a100:1 --wrap=true) &&
		wait_reported "$last" COMPLETED
	'

	test_expect_success "$version: a backup made while egs-policyd runs can replace the state" '
		as root mkdir /run/sandbox/copy &&
		as root egs-report backup /run/sandbox/copy/state &&
		egs_report jobs >want &&
		egs_report jobs --file=/run/sandbox/copy >got &&
		test_cmp want got &&
		stop_policyd TERM &&
		as root sh -c "rm -f /var/lib/egs/state* &&
			cp /run/sandbox/copy/state /var/lib/egs/state &&
			chown slurm: /var/lib/egs/state" &&
		policyd_up &&
		egs_report jobs >got &&
		test_cmp want got
	'
}

run_all()
{
	cluster_up "slurm=$version" dbd nodes=2 gpus=4 egs-conf="$PWD/egs.conf"
	# The test sets a node down under a job and kills egs-policyd.
	allow_error '^error: slurm_receive_msg \[[0-9.:]*\]: Zero Bytes'
	allow_error 'Nodes n2 not responding'
	allow_error '^error: Node n2'
	watch
	check_states
	check_loans_and_resizes
	check_failures
	check_agreement
	check_wastage
	check_access
	check_history
	as root pkill -x watch-jobs
	wait "$watcher"
	cluster_down
}

each_version run_all
test_done
