#!/bin/bash
# 7030-gpu-in-use.t - GPUs that a process has open are not released
# long: 80 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='a GPU is released only when no process uses it'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=research
END

# opens "GPU..." [OPTION]...: submit a job of alice with 4 GPUs that has these
# open until there is ~/close; it creates ~/opened and ~/closed
opens()
{
	local gpu open='' close='' fd=3

	for gpu in $1; do
		open="$open $fd</dev/nvidia$gpu"
		close="$close $fd<&-"
		fd=$((fd + 1))
	done
	as alice rm -f close opened closed
	submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 "${@:2}" --wrap="
		exec $open; touch opened
		until [ -e close ]; do sleep 0.2; done
		exec $close; touch closed; exec sleep 1000"
}

# hold USER GPUS [OPTION]...: submit a job that opens no GPU
hold()
{
	submit "--user=$1" "--gres=gpu:a100:$2" --cpus-per-task="$2" --mem=100 \
		"${@:3}" hold.sh
}

has_file()
{
	wait_until 60 "there is ~/$1" as alice test -e "$1"
}

# shrink JOB GPUS: run egs phase as if inside the job
shrink()
{
	as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase infer "--gpus=$2" >"$notes/exports" \
		2>"$notes/why" && return
	cat "$notes/why"
	return 1
}

check_release()
{
	test_expect_success "$version: GPUs open in the batch script are kept when the job shrinks" '
		job=$(once_running opens 3) && has_file opened &&
		shrink "$job" 2 && test "$(gpus "$job")" = 0,3 &&
		shrink "$job" 1 && test "$(gpus "$job")" = 3 &&
		invariants_hold &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: a refusal names the process that has a GPU open" '
		job=$(once_running opens "2 3") && has_file opened &&
		test_must_fail shrink "$job" 1 &&
		grep -q "job $job: not resized: job $job uses 2 GPUs of n1" \
			"$notes/why" &&
		grep -qE "pid [0-9]+ \(.*\) of step $job.batch has GPU [23] of n1 open" \
			"$notes/why" &&
		test "$(gpus "$job")" = 0-3 && invariants_hold
	'
	test_expect_success "$version: a closed GPU is released, and the next job runs on it" '
		next=$(hold bob 3) &&
		wait_until 60 "$next waits" waits_for_resources "$next" &&
		as alice touch close && has_file closed &&
		shrink "$job" 1 && wait_state "$next" RUNNING &&
		test "$(gpus "$job")" = 0 && test "$(gpus "$next")" = 1-3 &&
		invariants_hold
	'
}

# There are no device cgroups here, so a job can open the GPUs of another one.
check_other_job()
{
	test_expect_success "$version: a GPU that another job of the user has open is not released" '
		as root scancel "$next" "$job" && wait_queue_empty &&
		job=$(once_running hold alice 2) && as alice rm -f opened &&
		next=$(submit --gres=gpu:a100:1 --mem=100 --wrap="
			exec 3</dev/nvidia0 4</dev/nvidia1
			touch opened; exec sleep 1000") &&
		has_file opened && test_must_fail shrink "$job" 1 &&
		grep -qE "pid [0-9]+ \(.*\) of step $next.batch has GPU [01] of n1 open" \
			"$notes/why" &&
		test "$(gpus "$job")" = 0-1 && invariants_hold
	'
}

# A process that uses a GPU without an open file.
check_driver()
{
	test_expect_success "$version: GPUs that the driver reports in use are kept" '
		as root scancel "$next" "$job" && wait_queue_empty &&
		as alice rm -f opened pid && with_driver n1 &&
		job=$(submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 \
			--wrap="echo \$\$ >pid; touch opened; exec sleep 1000") &&
		has_file opened &&
		pid=$(as root cat /home/alice/pid) &&
		driver_does "3 $pid" "2 $pid" &&
		test_must_fail shrink "$job" 1 &&
		grep -qE "pid $pid \(.*\) of step $job.batch has GPU [23] of n1 open" \
			"$notes/why" &&
		test "$(gpus "$job")" = 0-3 &&
		shrink "$job" 2 && test "$(gpus "$job")" = 2-3 &&
		invariants_hold
	'
	test_expect_success "$version: no GPU is released if the driver does not answer" '
		as root sh -c "rm /run/sandbox/driver && mkfifo /run/sandbox/driver" &&
		test_must_fail shrink "$job" 1 &&
		grep -q "egs-noded of n1 cannot find open GPUs: the child process did not end in 8 s" \
			"$notes/why" &&
		test "$(gpus "$job")" = 2-3 && invariants_hold
	'
	test_expect_success "$version: GPUs are scanned again when the driver answers" '
		as root sh -c "rm /run/sandbox/driver && : >/run/sandbox/driver" &&
		shrink "$job" 1 && test "$(gpus "$job")" = 2 &&
		invariants_hold &&
		next=$(once_running hold bob 2)
	'
}

leftover()
{
	as root pgrep -f "^sleep 4321\$"
}

no_leftover()
{
	! leftover
}

check_start()
{
	test_expect_success "$version: egs why names a GPU of another job that a job has open" '
		as root scancel "$next" &&
		wait_until 60 "job $next ends" has_ended "$next" &&
		as root scancel "$job" && wait_queue_empty &&
		as alice rm -f opened &&
		job=$(submit --gres=gpu:a100:1 --mem=100 \
			--wrap="exec 3</dev/nvidia1; touch opened; exec sleep 1000") &&
		has_file opened &&
		next=$(once_running hold bob 1) &&
		wait_why alice "$job" "has GPU 1 open, which belongs to job $next" &&
		job_is "$job" RUNNING && job_is "$next" RUNNING &&
		as root scancel "$job" "$next" && wait_queue_empty
	'
	test_expect_success "$version: a process left by an ended job is killed before the next job" '
		job=$(submit --gres=gpu:a100:1 --mem=100 --wrap="
			setsid sh -c \"exec 3</dev/nvidia0; exec sleep 4321\" &
			until pgrep -f \"^sleep 4321\\$\"; do sleep 0.1; done") &&
		wait_state "$job" COMPLETED && wait_queue_empty && leftover &&
		next=$(once_running hold bob 4) &&
		wait_until 60 "the leftover process is killed" no_leftover &&
		as root scancel "$next" && wait_queue_empty
	'
}

node_is()
{
	egsctl show nodes -n -o node,state | grep -qx "n1 *$1"
}

# start_leftover: a job of alice ends and leaves a process that has GPU 0 open
start_leftover()
{
	job=$(submit --gres=gpu:a100:1 --mem=100 --wrap="
		setsid sh -c \"exec 3</dev/nvidia0; exec sleep 4321\" &
		until pgrep -f \"^sleep 4321\\$\"; do sleep 0.1; done") &&
	wait_state "$job" COMPLETED && wait_queue_empty && leftover
}

# with_rights CAPS: restart egs-noded of n1 with these rights of root only
with_rights()
{
	kill_noded n1 || return
	as root setpriv --bounding-set="-all,$1" --inh-caps=-all --no-new-privs \
		bash -c "exec -a egs-noded /opt/egs/sbin/egs-noded -N n1 \
		--log=/var/log/egs-noded-n1.log" >/dev/null 2>&1 </dev/null &
	noded_up n1
}

rights=+dac_override,+fowner,+setuid,+setgid

# request_cleaning JOB GPUS: as spank_egs requests a second scan; GPUS in hex
request_cleaning()
{
	as root sh -c 'cd /run/egs-node/n1 &&
		printf "{\"job\":%s,\"uid\":1,\"gpus\":\"%s\"}" "$1" "$2" \
		>.new-test && mv .new-test ".clean-$1"' - "$1" "$2"
}

request_is_done()
{
	! as root test -e "/run/egs-node/n1/.clean-$1"
}

# A step kills what is left over; an egs-noded that may not kill stands for a
# process that does not end.
check_fence()
{
	test_expect_success "$version: a process that two scans find and no signal ends fences its node" '
		start_leftover && with_rights "$rights,+sys_ptrace" &&
		next=$(once_running submit --user=bob --mem=100 hold.sh) &&
		request_cleaning "$next" 1 &&
		wait_until 60 "n1 is fenced" node_is fenced && leftover &&
		as root pkill -KILL -f "^sleep 4321\$" &&
		as root scancel "$next" && wait_queue_empty
	'
	test_expect_success "$version: no managed job starts on a fenced node, also with -w and without the daemon" '
		as root pkill -STOP -x egs-policyd &&
		next=$(hold bob 1) && named=$(hold bob 1 -w n1) &&
		expect_pending_after_scheduling "$next" &&
		expect_pending_after_scheduling "$named" &&
		as root pkill -CONT -x egs-policyd &&
		wait_why bob "$next" "0 are up" &&
		wait_why bob "$named" "fenced: n1" &&
		expect_pending_after_scheduling "$named" &&
		egsctl update node=n1 fenced=no --reason=repaired &&
		wait_until 60 "n1 is not fenced" node_is up &&
		wait_state "$next" RUNNING && wait_state "$named" RUNNING &&
		as root scancel "$next" "$named" && wait_queue_empty
	'
}

# Without CAP_SYS_PTRACE no link of /proc/PID/fd can be read.
check_cannot_look()
{
	test_expect_success "$version: no GPU is released if egs-noded may not look" '
		with_rights "$rights,+kill" && job=$(once_running opens 3) &&
		has_file opened && test_must_fail shrink "$job" 1 &&
		grep -q "egs-noded of n1 cannot find open GPUs: cannot read /proc/" \
			"$notes/why" &&
		test "$(gpus "$job")" = 0-3 && invariants_hold
	'
	test_expect_success "$version: no node is fenced if egs-noded may not look" '
		request_cleaning "$job" f &&
		wait_until 60 "the request is done" request_is_done "$job" &&
		as root grep -q "of a starting step were not scanned: cannot read" \
			/var/log/egs-noded-n1.log &&
		node_is up
	'
	test_expect_success "$version: a GPU is released when egs-noded may look again" '
		with_rights "$rights,+kill,+sys_ptrace" &&
		shrink "$job" 1 && test "$(gpus "$job")" = 3 &&
		as root scancel "$job" && wait_queue_empty
	'
}

no_report()
{
	! egs_why_of alice "$1" | grep -q "belongs to job"
}

egs_why_of()
{
	as "$1" /opt/egs/bin/egs why "$2"
}

check_hostile()
{
	test_expect_success "$version: a process that calls itself slurmstepd blames and blocks nobody" '
		job=$(once_running hold alice 2) &&
		intrude -- 1 0 "slurmstepd: [$job.0]" &&
		shrink "$job" 1 && test "$(gpus "$job")" = 0 && invariants_hold &&
		let_go && as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: variables of a user do not make other GPUs those of the step" '
		as alice rm -f opened &&
		job=$(submit --gres=gpu:a100:1 --mem=100 --wrap="exec 3</dev/nvidia0
			touch opened; exec sleep 1000") && has_file opened &&
		as bob env SLURM_JOB_GPUS=0,1 SLURM_STEP_GPUS=0,1 \
			srun -p serve --mem=100 true &&
		as bob env SLURM_JOB_GPUS=0 SLURM_STEP_GPUS=0 \
			sbatch --wait -p serve --mem=100 --wrap true &&
		other=$(once_running hold bob 1) &&
		as root test ! -e "/run/egs-node/n1/.clean-$other" &&
		no_report "$job" && job_is "$job" RUNNING &&
		as root scancel "$job" "$other" && wait_queue_empty
	'
	test_expect_success "$version: files opened with O_PATH keep no GPU and fence no node" '
		intrude SLURM_JOB_ID=1 SLURMD_NODENAME=n1 -- 80 010000000 &&
		next=$(once_running hold alice 4) && is_open_in 80 &&
		as root scancel "$next" && wait_queue_empty &&
		node_is up && let_go
	'
	test_expect_success "$version: 300 leftovers are all killed and fence no node" '
		intrude SLURM_JOB_ID=1 SLURMD_NODENAME=n1 -- 300 0 &&
		next=$(once_running hold alice 4) &&
		wait_until 60 "no file is open" is_open_in 0 &&
		as root scancel "$next" && wait_queue_empty && node_is up
	'
}

check_noded_down()
{
	test_expect_success "$version: no GPU is released while egs-noded is down" '
		job=$(once_running hold alice 4) && kill_noded n1 &&
		test_must_fail shrink "$job" 1 &&
		grep -q "egs-noded of n1 does not answer" "$notes/why" &&
		test "$(gpus "$job")" = 0-3 &&
		as root scancel "$job" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 units egs-conf="$notes/egs.conf"
	test_expect_success "$version: the GPUs of n1 can be opened, and egs-noded is up" '
		wait_policyd slurmctld up && make_gpus_openable && noded_up n1
	'
	check_release
	check_other_job
	check_driver
	check_start
	check_hostile
	check_cannot_look
	check_fence
	check_noded_down
	cluster_down
}

each_version run_all
test_done
