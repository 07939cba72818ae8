#!/bin/bash
# 6040-save-program.t - a save program makes the checkpoint of a job
# long: 90 s, a cluster for each Slurm, and deadlines that pass
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='the save program of --ckpt=cmd: runs on each node as the user'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=research Partitions=gpu Loan=always MinRuntime=0s MaxPreemptions=none \
	GraceMin=10m GraceMax=10m
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	MaxPreemptions=none GraceMin=10s GraceMax=10s
Team=fraud Users=alice
Team=vision Users=bob Quota=a100:8
END

criu=${EGS_CRIU:-/usr/sbin/criu}

# home NAME TEXT: write a shell program to alice's home
home()
{
	as alice sh -c 'printf "#!/bin/sh\n%s\n" "$2" >"$1" && chmod 755 "$1"' - "$@"
}

# A save program that records its user, open files and the job's processes.
saver='
cp "counter.$EGS_JOB_ID.$SLURMD_NODENAME" "$EGS_CKPT_DIR/$SLURMD_NODENAME"
id >"$EGS_CKPT_DIR/id"
ls /proc/self/fd >"$EGS_CKPT_DIR/files"
ps -o ppid=,args= -p "$(echo "$EGS_PIDS" | tr " " ,)" >"$EGS_CKPT_DIR/pids"
echo "saved on $SLURMD_NODENAME"
'

# start_counting PROGRAM PARTITION: a job on both nodes, with save program PROGRAM
start_counting()
{
	job=$(submit --partition="$2" -N2 --gres=gpu:a100:4 \
		--ckpt="cmd:$1" counts.sh) &&
	wait_until 60 "job $job counts on n1" \
		says "$job" "run 0 on n1 from 0" &&
	wait_until 60 "job $job counts on n2" says "$job" "run 0 on n2 from 0"
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

# preempt: run a job that owns the GPUs
preempt()
{
	requester=$(submit --user=bob --partition=serve -N2 --gres=gpu:a100:4 \
		hold.sh) &&
	wait_state "$requester" RUNNING 120 &&
	as bob touch go && wait_state "$requester" COMPLETED && as bob rm go
}

# saved FILE: print a file of the checkpoint
saved()
{
	as alice cat "egs-ckpt-$job/0/$1"
}

# continues_from NODE COUNT: the restarted job counts from COUNT
continues_from()
{
	wait_until 90 "job $job counts on $1 from $2" \
		says "$job" "run 1 on $1 from $2"
}

ends_once()
{
	as alice touch go && wait_state "$job" COMPLETED &&
	test "$(restarts "$job")" = 1 && as alice rm go
}

check_saving()
{
	test_expect_success "$version: a job with a save program is preempted and requeued" '
		home save "$saver" && start_counting ./save gpu && preempt
	'
	test_expect_success "$version: the save program ran on each node of the job" '
		saved n1 && saved n2 && test "$(saved n1)" -gt 0 &&
		says "$job" "^saved on n1" && says "$job" "^saved on n2"
	'
	test_expect_success "$version: the save program ran as the user, without open files of egs-noded" '
		as alice id >mine && saved id >its && test_cmp mine its &&
		saved files >files && test "$(wc -l <files)" -le 4
	'
	test_expect_success "$version: the save program got the process ids of the job" '
		saved pids >pids && cat pids && grep "sh -c" pids
	'
	test_expect_success "$version: the job continues from the checkpoint on both nodes" '
		continues_from n1 "$(saved n1)" && continues_from n2 "$(saved n2)" &&
		ends_once
	'
}

check_failures()
{
	test_expect_success "$version: a save program that fails leaves no checkpoint" '
		home bad "exit 3" && start_counting ./bad scavenge && preempt &&
		wait_why alice "$job" " late " &&
		grep "job $job: not saved: ./bad exited with status 3" \
			"$EGS_SANDBOX_DIR/$cluster"/log/egs-noded-n1.log &&
		continues_from n1 0 && ends_once
	'
	test_expect_success "$version: a save program that does not end is killed" '
		home slow "echo slow; sleep 4000 & sleep 4000" &&
		start_counting ./slow scavenge && preempt &&
		wait_why alice "$job" " late " && says "$job" slow &&
		wait_until 60 "the save program is killed" no_sleep_left &&
		continues_from n1 0 && ends_once
	'
	test_expect_success "$version: a missing save program leaves no checkpoint" '
		start_counting ./none scavenge && preempt &&
		wait_why alice "$job" " late " && continues_from n1 0 &&
		ends_once
	'
}

no_sleep_left()
{
	! as root pgrep -f "sleep 4000"
}

# CRIU needs root; a site lets its users call it.
may_call_criu()
{
	local helper=$EGS_SANDBOX_DIR/$cluster/run/sandbox/criu

	cc -DPROGRAM="\"$criu\"" -o "$helper" "$srcdir/t/lib/fake/as-root.c" &&
	chmod 4755 "$helper"
}

# criu_works: CRIU can save and restore a process of a user here, which depends
# on the kernel and on the rights of root.
criu_works()
{
	may_call_criu && as alice srun sh -c 'mkdir -p probe && cd probe || exit
		setsid sleep 4001 </dev/null >/dev/null 2>&1 &
		criu="/run/sandbox/criu" rc=1
		for try in $(seq 100); do
			! pgrep -f "^sleep 4001" >/dev/null || break
			sleep 0.1
		done
		if $criu dump --tree "$!" --images-dir . --log-file 1.log; then
			wait "$!"
			$criu restore --images-dir . --restore-detached \
				--log-file 2.log && rc=0
		fi
		pkill -KILL -f "^sleep 4001"
		exit "$rc"'
}

# why_not: the last error of CRIU
why_not()
{
	as root sh -c 'cat /home/alice/probe/*.log' 2>/dev/null | grep Error |
		tail -n 1
}

counts()
{
	[ "$(as alice cat count 2>/dev/null)" -gt 0 ] 2>/dev/null
}

# has_restored: the program counts on and did not start again
has_restored()
{
	as alice rm -f count && wait_until 60 "the program counts" counts &&
	as alice cat program.out >out && cat out && test "$(cat out)" = begins
}

# A program without checkpoint code, where CRIU works.  Under its unit egs-noded
# gives no program the rights of a setuid bit: the next step starts another one.
check_criu()
{
	kill_noded n1
	kill_noded n2
	if ! criu_works >/dev/null 2>&1; then
		say "# skip: CRIU does not work here: $(why_not)"
		return
	fi
	test_expect_success "$version: CRIU saves a program without checkpoint code" '
		as alice cp /srv/egs/contrib/examples/criu-save.sh . &&
		job=$(as alice env CRIU=/run/sandbox/criu sbatch --parsable \
			--partition=gpu --gres=gpu:a100:4 \
			/srv/egs/contrib/examples/criu.sbatch \
			$jobs/begin-and-end.pl) &&
		wait_until 60 "the program counts" counts && preempt
	'
	test_expect_success "$version: CRIU restores the program where it was" '
		wait_state "$job" RUNNING && has_restored && ends_once &&
		as alice cat program.out >out && cat out &&
		printf "begins\nends\n" >want && test_cmp want out
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=4 units \
		egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd has polled slurmctld" '
		wait_policyd slurmctld up
	'
	check_saving
	[ "$version" != 22.05 ] || { check_failures; check_criu; }
	cancel_all_jobs
	cluster_down
}

each_version run_all
test_done
