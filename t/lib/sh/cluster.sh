# shellcheck shell=bash disable=SC2016,SC2154 # sharness: bodies, test_*
# cluster.sh - private Slurm clusters for tests
#
#	#!/bin/bash
#	test_description='two jobs share a node'
#	. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"
#	cluster_up nodes=1 gpus=4
#
#	test_expect_success 'two jobs on one node get the GPUs they requested' '
#		small=$(submit --gres=gpu:1 hold.sh) &&
#		large=$(submit --user=bob --gres=gpu:3 hold.sh) &&
#		wait_state $small RUNNING && wait_state $large RUNNING
#	'
#	cluster_done
#
# The words:
#   has_plugins V	the source of Slurm V is here, so all plugins were built
#   each_version CMD...	run CMD with $version set, for each such version
#   pick_version V	set $version to V or, if V is not among those to test,
#	to the first such version; for a long test that needs only one
#   cluster_up [slurm=V] [name=LABEL] [WORD] [KEY=VALUE]...
#	contrib/sandbox up with --WORD and --KEY=VALUE; LABEL is by default the
#	Slurm version, with "-stock" after it for a stock cluster.  It becomes
#	the current cluster.
#   use_cluster NAME	make a running sandbox of 22.05 the current cluster
#   on LABEL CMD...	run CMD with another cluster as the current one
#   in_parallel "LABEL..." CMD...	run CMD on several clusters at the same time
#   as USER CMD...	run CMD inside, in the home directory of USER
#   submit [--user=alice] [OPTION]... [SCRIPT]
#	sbatch OPTION... with a script of t/jobs or --wrap; prints the job id
#   job_field JOB FIELD	a field of `scontrol show job -d`, one line per record
#   node_field NODE FIELD	a field of `scontrol show node -d`
#   output JOB		print what the job has printed so far
#   output_has JOB REGEX	a line of the job's output matches as a whole
#   wait_until SECONDS STATE CMD...	wait until CMD succeeds; STATE says for what
#   wait_state JOB STATE [SECONDS]	every task or component of JOB is in STATE
#   wait_queue_empty [SECONDS]	wait until no job is in the queue
#   job_is JOB STATE	every task or component of JOB is in STATE now
#   restart_slurmctld	restart it and wait until the nodes have registered
#   restart_daemons	the same for slurmctld and every slurmd
#   wait_nodes_after CMD...	run CMD and wait until the nodes have registered
#   process_gone PID	no such process inside, or only its zombie
#   invariants_hold	no GPU in two jobs, sums add up, no node down
#   allow_error REGEX	the test provokes such errors in slurmctld's log
#   no_more_errors_than LABEL	slurmctld's log has no kind of error that the
#	log of that cluster does not have
#   cluster_down	check the invariants, the log and leftover processes, then
#	remove the current cluster
#   cluster_done	cluster_down for all clusters that are up, then test_done
#
# Waits have generous deadlines and end as soon as they can.  The clusters are
# removed however the test ends.  After a failure, the end of the output of the
# commands and of the daemons' logs follows as TAP comments.

srcdir=$(cd -P "${srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
EGS_SANDBOX_DIR=${EGS_SANDBOX_DIR:-/var/tmp/egs-sandbox}
EGS_TEST_VERSIONS=${EGS_TEST_VERSIONS:-22.05 24.11 26.05}
SHARNESS_TEST_DIRECTORY=$(mktemp -d) || exit 1
SHARNESS_TEST_SRCDIR=$srcdir/t
export srcdir EGS_SANDBOX_DIR SHARNESS_TEST_DIRECTORY SHARNESS_TEST_SRCDIR

# shellcheck source=/dev/null
. /usr/share/sharness/sharness.sh

cluster=  # name of the current cluster
clusters= # names of all that are up
transcript=$SHARNESS_TEST_DIRECTORY/transcript # output of the commands
notes=$SHARNESS_TEST_DIRECTORY/notes # NAME.slurm, NAME.allow, ...
jobs=/srv/egs/t/jobs # the checkout as it is seen inside
mkdir "$notes" || exit 1
[ -n "$verbose" ] || exec 3>"$transcript" 4>&3

# Processes that stay in the sandbox must not hold the descriptors that prove
# and the harness read.
sandbox()
{
	"$srcdir/contrib/sandbox" "$@" 3>&- 4>&- 5>&- 6<&-
}

# cluster_name LABEL: the name of its sandbox, which has no dots.
cluster_name()
{
	local number=${0##*/}

	echo "t${number%%-*}-${1//./-}"
}

cluster_up()
{
	local word version=22.05 label='' stock='' options=()

	for word in "$@"; do
		case $word in
		name=*) label=${word#*=} ;;
		slurm=*) version=${word#*=} ;;
		*) options+=("--$word") ;;
		esac
		[ "$word" != stock ] || stock=-stock
	done
	cluster=$(cluster_name "${label:-$version$stock}")
	clusters="$clusters $cluster"
	note_cluster "$version"
	test_expect_success "a cluster starts: Slurm $version ${options[*]}" '
		start_cluster "--slurm=$version" "${options[@]}"
	'
	[ -d "$EGS_SANDBOX_DIR/$cluster" ] || test_done
}

# The plugins for slurmctld are built only against the source of Slurm.
has_plugins()
{
	(. "$srcdir/contrib/lib/common.sh" && egs_has_src "$1")
}

each_version()
{
	for version in $EGS_TEST_VERSIONS; do
		! has_plugins "$version" || "$@"
	done
}

pick_version()
{
	local versions=$EGS_TEST_VERSIONS

	[[ " $versions " != *" $1 "* ]] || versions="$1 $versions"
	for version in $versions; do
		! has_plugins "$version" || return 0
	done
	# shellcheck disable=SC2034 # of sharness
	skip_all="the plugins of EGS were not built for Slurm $EGS_TEST_VERSIONS"
	test_done
}

# note_cluster VERSION: create the notes about the current, new cluster.
note_cluster()
{
	echo "$1" >"$notes/$cluster.slurm"
	: >"$notes/$cluster.allow"
	echo 0 >"$notes/$cluster.mark"
}

use_cluster()
{
	cluster=$1
	note_cluster 22.05
}

start_cluster()
{
	sandbox down "$cluster" >/dev/null 2>&1
	sandbox up "$cluster" "$@"
}

on()
{
	local cluster

	cluster=$(cluster_name "$1")
	shift
	"$@"
}

in_parallel()
{
	local label pids=() rc=0

	for label in $1; do
		on "$label" "${@:2}" &
		pids+=($!)
	done
	for label in "${pids[@]}"; do
		wait "$label" || rc=1
	done
	return "$rc"
}

as()
{
	local user=$1

	shift
	sandbox exec "$cluster" --user="$user" -- "$@"
}

submit()
{
	local user=alice word options=()

	for word in "$@"; do
		case $word in
		--user=*) user=${word#*=} ;;
		*.sh) options+=("$jobs/$word") ;;
		*) options+=("$word") ;;
		esac
	done
	as "$user" sbatch --parsable "${options[@]}"
}

job_field()
{
	as root scontrol show job -d "$1" | "$srcdir/t/lib/check/job-field" "$2"
}

node_field()
{
	as root scontrol show node -d "$1" | "$srcdir/t/lib/check/job-field" "$2"
}

output()
{
	as root cat "$(job_field "$1" StdOut)"
}

output_has()
{
	output "$1" 2>/dev/null | grep -qx "$2"
}

wait_until()
{
	local seconds=$1 words=$2 end=$((SECONDS + $1))

	shift 2
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "after $seconds s still not: $words"
			return 1
		fi
		sleep 0.2
	done
}

wait_state()
{
	wait_until "${3:-90}" "job $1 is $2" job_is "$1" "$2" || {
		as root scontrol show job -d "$1"
		return 1
	}
}

wait_queue_empty()
{
	wait_until "${1:-90}" 'the queue is empty' queue_is_empty || {
		as root squeue
		return 1
	}
}

# squeue must succeed: without an answer the queue is not known to be empty.
queue_is_empty()
{
	as root squeue -h >"$notes/$cluster.queue" &&
	[ ! -s "$notes/$cluster.queue" ]
}

job_is()
{
	[ "$(job_field "$1" JobState | sort -u)" = "$2" ]
}

# Nodes register with a new slurmctld one by one; until then slurmctld does not
# show the use of their GPUs.
wait_nodes_after()
{
	"$@" &&
	wait_until 90 'slurmctld answers and all nodes are up' nodes_report
}

nodes_report()
{
	local answer=$notes/$cluster.shown

	as root scontrol show node -d >"$answer" 2>/dev/null &&
	grep -q ^NodeName= "$answer" &&
	! grep -qE ' State=[A-Z+_]*(\*|DOWN|UNK|NOT_RESP)' "$answer" &&
	! grep GresUsed= "$answer" | grep -qv IDX
}

restart_slurmctld()
{
	wait_nodes_after restart_daemon slurmctld slurmctld
}

restart_daemons()
{
	wait_nodes_after restart_all_daemons
}

restart_all_daemons()
{
	local node nodes

	nodes=$(as root sinfo -h -N -o %N | sort -u) &&
	restart_daemon slurmctld slurmctld || return
	for node in $nodes; do
		restart_daemon "slurmd-$node" slurmd -N "$node" || return
	done
}

# restart_daemon DAEMON CMD...: stop DAEMON, start it with CMD.  slurmctld saves
# its state while it ends, so wait for the process itself.
restart_daemon()
{
	local pid

	pid=$(as root cat "/run/slurm/$1.pid") &&
	as root kill "$pid" &&
	wait_until 60 "$1 is gone" process_gone "$pid" &&
	as root "${@:2}"
}

process_gone()
{
	! as root grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

allow_error()
{
	echo "--allow=$1" >>"$notes/$cluster.allow"
}

# Read jobs, nodes and jobs again: the answers belong together only if no job
# changed in between.
snapshot()
{
	local at=$notes/$cluster

	as root scontrol show job -d >"$at.jobs" &&
	as root scontrol show node -d >"$at.nodes" &&
	as root scontrol show job -d >"$at.jobs2" &&
	[ "$(allocations "$at.jobs")" = "$(allocations "$at.jobs2")" ]
}

allocations()
{
	grep -E '^JobId=|JobState=| CPU_IDs=' "$1"
}

# check_invariants [OPTION]...: take one snapshot and check it once.
check_invariants()
{
	snapshot || return 1
	"$srcdir/t/lib/check/invariants" --jobs="$notes/$cluster.jobs" \
		--nodes="$notes/$cluster.nodes" "$@" >"$notes/$cluster.verdict"
}

# A change may be under way: retry for a while, except after a violation that
# must not exist at any instant (status 2).
invariants_hold()
{
	local rc end=$((SECONDS + 30))

	while check_invariants "$@"; rc=$?
		[ "$rc" -eq 1 ] && [ "$SECONDS" -lt "$end" ]; do
		sleep 0.5
	done
	[ "$rc" -eq 0 ] || cat "$notes/$cluster.verdict"
	return "$rc"
}

# invariants_hold, and checks that need the end of the test: leftover processes
# and the log.
invariants_hold_at_end()
{
	local options

	mapfile -t options <"$notes/$cluster.allow"
	wait_until 30 'no process is left over' no_processes_left || {
		cat "$notes/$cluster.verdict"
		return 1
	}
	invariants_and_log_hold "${options[@]}"
}

no_more_errors_than()
{
	invariants_and_log_hold --stock-log="$(log_of "$(cluster_name "$1")")"
}

invariants_and_log_hold()
{
	invariants_hold --log="$(log_of "$cluster")" \
		--known="$srcdir/t/lib/check/known-errors" \
		--slurm="$(cat "$notes/$cluster.slurm")" "$@"
}

log_of()
{
	echo "$EGS_SANDBOX_DIR/$1/log/slurmctld.log"
}

no_processes_left()
{
	as root sh -c 'grep -sE "^(Name|State|Uid):" /proc/[0-9]*/status' \
		>"$notes/$cluster.processes"
	check_invariants --processes="$notes/$cluster.processes"
}

cluster_down()
{
	test_expect_success "$cluster: the invariants hold at the end" '
		invariants_hold_at_end
	'
	test_expect_success "$cluster: the cluster is removed" '
		sandbox down "$cluster"
	'
	clusters=${clusters/ $cluster/}
}

cluster_done()
{
	local name

	for name in $clusters; do
		cluster=$name
		cluster_down
	done
	test_done
}

# Print the end of the transcript and of the daemons' logs as TAP comments.
show_logs()
{
	local name

	[ ! -f "$transcript" ] || tail -n 30 "$transcript" | sed 's/^/# /'
	for name in $clusters; do
		tail -v -n 15 "$EGS_SANDBOX_DIR/$name"/log/slurm*.log 2>&1 |
			sed 's/^/# /'
	done
}

# sharness's own function, with the logs after it.
test_failure_()
{
	test_failure=$((test_failure + 1))
	say_color error "not ok $test_count - $1"
	shift
	printf '%s\n' "$@" | sed -e 's/^/#	/'
	show_logs
	[ -z "$immediate" ] || { EXIT_OK=t; exit 1; }
}

# Remove the clusters however the test ends.  A child process that gets a signal
# before its program runs still has this trap, and only ends itself.
at_exit()
{
	local code=$? name

	trap - EXIT
	[ "$BASHPID" = "$$" ] || return "$code"
	for name in $clusters; do
		sandbox down "$name" >/dev/null 2>&1 </dev/null
	done
	cd / && rm -rf "$SHARNESS_TEST_DIRECTORY"
	[ -n "$EXIT_OK" ] || echo "FATAL: ended early, status $code" >&5
	[ -n "$EXIT_OK" ] || exit 1
	exit "$code"
}
trap at_exit EXIT
trap 'exit 130' INT TERM HUP
