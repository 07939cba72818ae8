#!/bin/bash
# 6040-save-program.t - a job that cannot save itself is saved by a program
# long: 90 s, a cluster for each Slurm, and deadlines that pass
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='--ckpt=cmd:PROGRAM, run by the node as the user'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
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

# home NAME TEXT: a program of alice's
home()
{
	as alice sh -c 'printf "#!/bin/sh\n%s\n" "$2" >"$1" && chmod 755 "$1"' - "$@"
}

# What was saved, who did it, with what, and for which processes.
saver='
cp "counter.$EGS_JOB_ID.$SLURMD_NODENAME" "$EGS_CKPT_DIR/$SLURMD_NODENAME"
id >"$EGS_CKPT_DIR/id"
ls /proc/self/fd >"$EGS_CKPT_DIR/files"
ps -o ppid=,args= -p "$(echo "$EGS_PIDS" | tr " " ,)" >"$EGS_CKPT_DIR/pids"
echo "saved on $SLURMD_NODENAME"
'

# counting PROGRAM PARTITION: a job on both nodes, saved by PROGRAM
counting()
{
	job=$(submit --partition="$2" -N2 --gres=gpu:a100:4 \
		--ckpt="cmd:$1" counts.sh) &&
	wait_until 60 "job $job counts on n1" says "$job" "run 0 on n1 from 0" &&
	wait_until 60 "job $job counts on n2" says "$job" "run 0 on n2 from 0"
}

says()
{
	output "$1" 2>/dev/null | grep -q "$2"
}

# taken: somebody who owns the GPUs wants them, has them, and is gone again
taken()
{
	taker=$(submit --user=bob --partition=serve -N2 --gres=gpu:a100:4 \
		hold.sh) &&
	wait_state "$taker" RUNNING 120 &&
	as bob touch go && wait_state "$taker" COMPLETED && as bob rm go
}

# saved FILE: of the checkpoint
saved()
{
	as alice cat "egs-ckpt-$job/0/$1"
}

goes_on()
{
	wait_until 90 "job $job goes on" says "$job" "run 1 on $1 from $2"
}

ends_once()
{
	as alice touch go && wait_state "$job" COMPLETED &&
	test "$(restarts "$job")" = 1 && as alice rm go
}

saves()
{
	test_expect_success "$version: the program saves it, and it is requeued" '
		home save "$saver" && counting ./save gpu && taken
	'
	test_expect_success "$version: on each of its nodes" '
		saved n1 && saved n2 && test "$(saved n1)" -gt 0 &&
		says "$job" "^saved on n1" && says "$job" "^saved on n2"
	'
	test_expect_success "$version: as its user, with nothing of ours" '
		as alice id >mine && saved id >its && test_cmp mine its &&
		saved files >files && test "$(wc -l <files)" -le 4
	'
	test_expect_success "$version: knowing its processes" '
		saved pids >pids && cat pids && grep "sh -c" pids
	'
	test_expect_success "$version: it goes on from there, on both" '
		goes_on n1 "$(saved n1)" && goes_on n2 "$(saved n2)" && ends_once
	'
}

fails()
{
	test_expect_success "$version: a program that fails saves nothing" '
		home bad "exit 3" && counting ./bad scavenge && taken &&
		wait_why alice "$job" " late " &&
		grep "job $job: not saved: ./bad exited with status 3" \
			"$EGS_SANDBOX_DIR/$cluster"/log/egs-noded-n1.log &&
		goes_on n1 0 && ends_once
	'
	test_expect_success "$version: one that does not end is ended" '
		home slow "echo slow; sleep 4000 & sleep 4000" &&
		counting ./slow scavenge && taken &&
		wait_why alice "$job" " late " && says "$job" slow &&
		wait_until 60 "it has gone" nobody_sleeps &&
		goes_on n1 0 && ends_once
	'
	test_expect_success "$version: one that is not there is none" '
		counting ./none scavenge && taken &&
		wait_why alice "$job" " late " && goes_on n1 0 && ends_once
	'
}

nobody_sleeps()
{
	! as root pgrep -f "sleep 4000"
}

# CRIU is for root; a site lets its users call it.
may_call_criu()
{
	local helper=$EGS_SANDBOX_DIR/$cluster/run/sandbox/criu

	cc -DPROGRAM="\"$criu\"" -o "$helper" "$srcdir/t/lib/fake/as-root.c" &&
	chmod 4755 "$helper"
}

# criu_works: it saves a process of a user and brings it back; it needs much of
# a kernel for that, and of the rights of root on this machine.
criu_works()
{
	may_call_criu && as alice srun sh -c 'mkdir -p probe && cd probe || exit
		setsid sleep 4001 </dev/null >/dev/null 2>&1 &
		criu="/run/sandbox/criu" rc=1
		sleep 1
		if $criu dump --tree "$!" --images-dir . --log-file 1.log; then
			wait "$!"
			$criu restore --images-dir . --restore-detached \
				--log-file 2.log && rc=0
		fi
		pkill -KILL -f "^sleep 4001"
		exit "$rc"'
}

# why_not: its own words
why_not()
{
	as root sh -c 'cat /home/alice/probe/*.log' 2>/dev/null | grep Error |
		tail -n 1
}

counts()
{
	[ "$(as alice cat count 2>/dev/null)" -gt 0 ] 2>/dev/null
}

# has_restored: it goes on counting, and did not begin anew
has_restored()
{
	as alice rm -f count && wait_until 60 "it counts" counts &&
	as alice cat program.out >out && cat out && test "$(cat out)" = begins
}

# A program that knows nothing, where this kernel suits CRIU.
by_criu()
{
	if ! criu_works >/dev/null 2>&1; then
		say "# skip: CRIU does not work here: $(why_not)"
		return
	fi
	test_expect_success "$version: CRIU saves a program that cannot" '
		as alice cp /srv/egs/contrib/examples/criu-save.sh . &&
		job=$(as alice env CRIU=/run/sandbox/criu sbatch --parsable \
			--partition=gpu --gres=gpu:a100:4 \
			/srv/egs/contrib/examples/criu.sbatch \
			$jobs/begin-and-end.pl) &&
		wait_until 60 "it counts" counts && taken
	'
	test_expect_success "$version: and restores it where it was" '
		wait_state "$job" RUNNING && has_restored && ends_once &&
		as alice cat program.out >out && cat out &&
		printf "begins\nends\n" >want && test_cmp want out
	'
}

on_each()
{
	cluster_up slurm="$version" nodes=2 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd works" '
		wait_policyd slurmctld up
	'
	saves
	[ "$version" != 22.05 ] || { fails; by_criu; }
	cancel_all_jobs
	cluster_down
}

each_version on_each
test_done
