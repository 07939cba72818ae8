#!/bin/bash
# 7060-device-cgroups.t - with device cgroups a step can open only its own GPUs
# long: 70 s, a cluster with control groups of its own for each Slurm with plugins
#
# slurmd runs in a control group made for it, which is the root of all it sees,
# so that nothing of this machine is touched, and it is removed at the end.
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='device cgroups follow every resize'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

group=egs-test-$$

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
PollInterval=1s
GpuType=a100
Team=fraud Users=alice Quota=a100:2 DefaultTier=research
Team=vision Users=bob Quota=a100:2 DefaultTier=research
END

cat >"$notes/cgroup.conf" <<'END'
CgroupPlugin=cgroup/v2
CgroupMountpoint=/run/cgroup
IgnoreSystemd=yes
ConstrainDevices=yes
END

# on_groups CMD...: run CMD with the cgroups v2 of the host in $groups
on_groups()
{
	local groups rc

	groups=$(mktemp -d) && mount -t cgroup2 none "$groups" || return
	export groups
	"$@"
	rc=$?
	umount "$groups" && rmdir "$groups" && return "$rc"
}

made()
{
	local v

	mkdir "$groups/$group" &&
	for v in $EGS_TEST_VERSIONS; do
		mkdir "$groups/$group/$v" || return
	done
}

removed()
{
	find "$groups/$group" -depth -type d -exec rmdir {} +
}

if ! on_groups made 2>"$notes/why"; then
	skip_all="no control groups of version 2: $(tail -n 1 "$notes/why")"
elif ! "$srcdir/t/lib/check/device-programs" >"$notes/why"; then
	on_groups removed
	skip_all=$(cat "$notes/why")
fi
[ -z "${skip_all:-}" ] || test_done

# cgroup/v2 needs its own root, a group for slurmd and one for steps.
start_slurmd()
{
	as root sh -c '
	mkdir -p /run/groups /run/cgroup && mount -t cgroup2 none /run/groups &&
	echo $$ >"/run/groups/$1/cgroup.procs" && exec unshare --cgroup sh -c "
		mount -t cgroup2 none /run/cgroup &&
		mkdir /run/cgroup/start /run/cgroup/system.slice &&
		echo \$\$ >/run/cgroup/start/cgroup.procs &&
		export LD_PRELOAD=/run/sandbox/cgroup2_preload.so && exec slurmd -N n1"
	' - "$1"
}

# The daemons read their configuration when they start.
with_groups()
{
	cc -shared -fPIC -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/cgroup2_preload.so" \
		"$srcdir/t/lib/fake/cgroup2_preload.c" &&
	as root sh -c "cat >/etc/slurm/cgroup.conf" <"$notes/cgroup.conf" &&
	as root sed -i "s,^ProctrackType=.*,ProctrackType=proctrack/cgroup,
		s,^TaskPlugin=.*,TaskPlugin=task/cgroup\nPrologFlags=Contain," \
		/etc/slurm/slurm.conf &&
	restart_daemon slurmctld slurmctld && restart_daemon slurmd-n1 true &&
	start_slurmd "$1"
}

# orphan_in SCOPE: a process of bob with an empty environment has GPU 1 open, in
# a group as Slurm 26.05 names it, and no slurmstepd is there
orphan_in()
{
	intrude -- 1 0 &&
	as root sh -c 'mkdir -p "$1/s0TEST/step_0/user" &&
		pgrep -u bob perl >"$1/s0TEST/step_0/user/cgroup.procs"' - "$1"
}

scope()
{
	as root find /run/cgroup -type d -name "*slurmstepd.scope"
}

# names_orphan JOB: a resize of JOB is refused because of its orphan
names_orphan()
{
	test_must_fail as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase infer --gpus=1 2>"$notes/why" || return
	cat "$notes/why"
	grep -qE "pid [0-9]+ \(.*\) of step $1.batch has GPU [0-3] of n1 open" \
		"$notes/why"
}

# memory_limit: of a job that kept one GPU of four, and asked for 400M.  From
# 26.05 on Slurm lowers the limit of its processes, too.
memory_limit()
{
	case $version in
	22.05 | 24.11) echo 400M ;;
	*) echo 100M ;;
	esac
}

# From 26.05 on the memory of a running job can change; here slurmd does not
# answer for a while.
check_memory_change()
{
	[ "$(memory_limit)" != 400M ] || return 0
	test_expect_success "$version: a job whose memory is being changed keeps its GPUs" '
		job=$(once_running submit --gres=gpu:a100:2 --mem=400 hold.sh) &&
		pid=$(as root cat /run/slurm/slurmd-n1.pid) &&
		as root kill -STOP "$pid" &&
		as root scontrol update JobId="$job" MinMemoryNode=300 &&
		test_must_fail as root scontrol update JobId="$job" Gres=gpu:1 2>why &&
		as root kill -CONT "$pid" && cat why &&
		grep "job $job is getting another amount of memory" why &&
		test "$(gpus "$job")" = 0-1
	'
	test_expect_success "$version: a job whose memory has changed gives back a GPU" '
		wait_state "$job" RUNNING &&
		as root scontrol update JobId="$job" Gres=gpu:1 &&
		test "$(gpus "$job")" = 0 && as root scancel "$job" &&
		wait_queue_empty
	'
}

check_orphans()
{
	test_expect_success "$version: an orphan without environment belongs to the slurmstepd of its group" '
		as alice rm -f opened &&
		job=$(submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 --wrap="
			(env -i setsid sh -c \"exec 3</dev/nvidia0 4</dev/nvidia1
			touch opened; exec sleep 1000\" &)
			exec sleep 1000") &&
		wait_until 60 "the GPUs are open" as alice test -e opened &&
		names_orphan "$job" && test "$(gpus "$job")" = 0-3 &&
		as root scancel "$job" && wait_queue_empty
	'
	test_expect_success "$version: an orphan in a group with a SLUID is killed before the next job" '
		orphan_in "$(scope)" && is_open_in 1 &&
		next=$(once_running submit --gres=gpu:a100:4 --mem=400 hold.sh) &&
		wait_until 60 "the orphan is gone" is_open_in 0 &&
		as root scancel "$next" && wait_queue_empty
	'
}

# keeps_moved JOB: a resize of JOB to one GPU is refused, or leaves it GPU 3
keeps_moved()
{
	if as alice env SLURM_JOB_ID="$1" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs phase infer --gpus=1 2>"$notes/why" >/dev/null
	then
		test "$(gpus "$1")" = 3
	else
		cat "$notes/why" &&
		grep -q "(move-gpu) has files in flight in a socket" \
			"$notes/why" && test "$(gpus "$1")" = 0-3
	fi
}

moves()
{
	as alice test -s moved
}

check_moves()
{
	test_expect_success "$version: a GPU that a job moves between two sockets is not released" '
		cc -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/move-gpu" \
			"$srcdir/t/lib/check/move-gpu.c" &&
		as alice rm -f moved &&
		job=$(submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 \
			--wrap="exec /run/sandbox/move-gpu /dev/nvidia3 moved") &&
		wait_until 60 "the GPU moves" moves &&
		keeps_moved "$job" && keeps_moved "$job" &&
		keeps_moved "$job" && invariants_hold
	'
	test_expect_success "$version: a job whose processes a scan has stopped continues" '
		as alice cp /dev/null moved &&
		wait_until 60 "the GPU moves again" moves &&
		job_is "$job" RUNNING &&
		as root scancel "$job" && wait_queue_empty
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 units egs-conf="$notes/egs.conf"
	test_expect_success "$version: slurmd runs in its own cgroup" '
		make_gpus_openable &&
		wait_nodes_after with_groups "$group/$version" &&
		wait_policyd slurmctld up && noded_up n1
	'
	test_expect_success "$version: a step can open its own GPUs only" '
		as alice rm -f more stop &&
		job=$(submit --gres=gpu:a100:4 --cpus-per-task=4 --mem=400 \
			--phase=train devices.sh) &&
		wait_output "$job" "four: 0 1 2 3" &&
		wait_output "$job" "two: 0 1"
	'
	test_expect_success "$version: a refused resize leaves the batch script its GPUs" '
		wait_output "$job" "refused: 0 1 2 3"
	'
	test_expect_success "$version: the batch script cannot open released GPUs before the next step" '
		wait_output "$job" "early: 0"
	'
	test_expect_success "$version: a new step cannot open released GPUs" '
		wait_output "$job" "one: 0" && test "$(gpus "$job")" = 0 &&
		invariants_hold
	'
	test_expect_success "$version: the memory of released GPUs is free" '
		test "$(node_field n1 AllocMem)" = 100 &&
		test "$(job_field "$job" MinMemoryNode)" = "$(memory_limit)"
	'
	test_expect_success "$version: the batch script cannot open released GPUs" '
		wait_output "$job" "batch: 0"
	'
	test_expect_success "$version: the next job can open its own GPUs only" '
		next=$(submit --user=bob --gres=gpu:a100:3 --cpus-per-task=3 \
			--mem=100 --wrap="for i in 0 1 2 3; do
			(exec 3</dev/nvidia\$i) 2>/dev/null && echo \"can \$i\"
			done; true") &&
		wait_state "$next" COMPLETED && wait_output "$next" "can 1" &&
		wait_output "$next" "can 2" && wait_output "$next" "can 3" &&
		! output_has "$next" "can 0"
	'
	test_expect_success "$version: a step of the grown job can open all GPUs" '
		as alice touch more && wait_output "$job" "again: 0 1 2 3"
	'
	test_expect_success "$version: the batch script of the grown job can open all GPUs" '
		wait_output "$job" "grown: 0 1 2 3" &&
		as alice touch stop && wait_state "$job" COMPLETED &&
		invariants_hold
	'
	check_memory_change
	check_orphans
	check_moves
	cluster_down
}

each_version run_all
on_groups removed
test_done
