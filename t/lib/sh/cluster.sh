# shellcheck shell=bash disable=SC2016,SC2154 # sharness: bodies, test_*
# cluster.sh - private Slurm clusters for tests that read like a story
#
#	#!/bin/bash
#	test_description='two jobs share a node'
#	. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"
#	cluster_up nodes=1 gpus=4
#
#	test_expect_success 'each gets the GPUs it asked for' '
#		one=$(submit --gres=gpu:1 hold.sh) &&
#		two=$(submit --user=bob --gres=gpu:3 hold.sh) &&
#		wait_state $one RUNNING && wait_state $two RUNNING
#	'
#	cluster_done
#
# Words of a story:
#   has_plugins V		there is a source of V, and so all plugins were built
#   each_version CMD...	run CMD with $version set, for each of these
#   cluster_up [slurm=V] [name=LABEL] [WORD] [KEY=VALUE]...
#	contrib/sandbox up with --WORD and --KEY=VALUE; LABEL is by default the
#	Slurm version, with "-stock" after it for a stock cluster.  It becomes
#	the current cluster.
#   adopt NAME		a sandbox of 22.05 that is there already becomes the current
#	cluster
#   on LABEL CMD...	run CMD with another cluster as the current one
#   at_once "LABEL..." CMD...	run CMD on several clusters at the same time
#   as USER CMD...	run CMD inside, in the home directory of USER
#   submit [--user=alice] [OPTION]... [SCRIPT]
#	sbatch OPTION... with a script of t/jobs or --wrap; prints the job id
#   job_field JOB FIELD	a field of `scontrol show job -d`, one line per record
#   node_field NODE FIELD	the same of a node
#   output JOB		what the job has printed so far
#   wait_until SECONDS WORDS CMD...	until CMD succeeds; WORDS say for what
#   wait_state JOB STATE [SECONDS]	for every task or component of it
#   wait_all_gone [SECONDS]	until the queue is empty
#   restart_slurmctld	and wait until the nodes have reported to it
#   restart_daemons	slurmctld and every slurmd
#   settled CMD...	the same after another CMD, such as a reconfigure
#   in_order		the invariants hold at this moment
#   allow_error REGEX	the story provokes such errors in slurmctld's log
#   no_more_errors_than LABEL	in slurmctld's log than in that cluster's
#   cluster_down	the invariants hold, then the current cluster goes away
#   cluster_done	cluster_down for all that are up, then test_done
#
# Waits have generous deadlines and end as soon as they can.  Clusters are gone
# when the test is, however it ends.  After a failure the end of what the
# commands and the daemons said follows as TAP comments.

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
said=$SHARNESS_TEST_DIRECTORY/said
notes=$SHARNESS_TEST_DIRECTORY/notes # NAME.slurm, NAME.allow, ...
jobs=/srv/egs/t/jobs # the checkout as it is seen inside
mkdir "$notes" || exit 1
[ -n "$verbose" ] || exec 3>"$said" 4>&3

# What stays behind in there must not hold the descriptors on which prove and
# the harness listen.
sandbox()
{
	"$srcdir/contrib/sandbox" "$@" 3>&- 4>&- 5>&- 6<&-
}

# LABEL -> the sandbox's name, which has no dots.
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
	test_expect_success "a cluster comes up: Slurm $version ${options[*]}" '
		start_cluster "--slurm=$version" "${options[@]}"
	'
	[ -d "$EGS_SANDBOX_DIR/$cluster" ] || test_done
}

# Without a source of Slurm nothing of EGS runs inside slurmctld.
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

# note_cluster VERSION: what is to be known of the current one, which is new.
note_cluster()
{
	echo "$1" >"$notes/$cluster.slurm"
	: >"$notes/$cluster.allow"
	echo 0 >"$notes/$cluster.mark"
}

adopt()
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

at_once()
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

wait_all_gone()
{
	wait_until "${1:-90}" 'the queue is empty' queue_is_empty || {
		as root squeue
		return 1
	}
}

# An answer is needed: no answer is no empty queue.
queue_is_empty()
{
	as root squeue -h >"$notes/$cluster.queue" &&
	[ ! -s "$notes/$cluster.queue" ]
}

job_is()
{
	[ "$(job_field "$1" JobState | sort -u)" = "$2" ]
}

# Nodes report to a new slurmctld one by one; until then they answer nothing
# about their GPUs.
settled()
{
	"$@" &&
	wait_until 90 'slurmctld answers' nodes_report
}

nodes_report()
{
	local answer=$notes/$cluster.settled

	as root scontrol show node -d >"$answer" 2>/dev/null &&
	grep -q ^NodeName= "$answer" &&
	! grep -qE ' State=[A-Z+_]*(\*|DOWN|UNK|NOT_RESP)' "$answer" &&
	! grep GresUsed= "$answer" | grep -qv IDX
}

restart_slurmctld()
{
	settled cycle slurmctld slurmctld
}

restart_daemons()
{
	settled cycle_all
}

cycle_all()
{
	local node nodes

	nodes=$(as root sinfo -h -N -o %N | sort -u) &&
	cycle slurmctld slurmctld || return
	for node in $nodes; do
		cycle "slurmd-$node" slurmd -N "$node" || return
	done
}

# cycle DAEMON CMD...: stop it, start it with CMD.  slurmctld saves its state on
# the way out, so wait for the process itself.
cycle()
{
	local pid

	pid=$(as root cat "/run/slurm/$1.pid") &&
	as root kill "$pid" &&
	wait_until 60 "$1 is gone" gone "$pid" &&
	as root "${@:2}"
}

# gone PID: no such process inside, or only its zombie.
gone()
{
	! as root grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

allow_error()
{
	echo "--allow=$1" >>"$notes/$cluster.allow"
}

# Jobs, nodes, jobs again: the nodes' answer belongs to the jobs' only if no
# job moved meanwhile.
snapshot()
{
	local at=$notes/$cluster

	as root scontrol show job -d >"$at.jobs" &&
	as root scontrol show node -d >"$at.nodes" &&
	as root scontrol show job -d >"$at.again" &&
	[ "$(allocations "$at.jobs")" = "$(allocations "$at.again")" ]
}

allocations()
{
	grep -E '^JobId=|JobState=| CPU_IDs=' "$1"
}

# look [OPTION]...: one snapshot and the checker's status on it.
look()
{
	snapshot || return 1
	"$srcdir/t/lib/check/invariants" --jobs="$notes/$cluster.jobs" \
		--nodes="$notes/$cluster.nodes" "$@" >"$notes/$cluster.verdict"
}

# Some things may be under way: ask again for a while, unless it is something
# that must not be so at any instant (status 2).
in_order()
{
	local rc end=$((SECONDS + 30))

	while look "$@"; rc=$?; [ "$rc" -eq 1 ] && [ "$SECONDS" -lt "$end" ]; do
		sleep 0.5
	done
	[ "$rc" -eq 0 ] || cat "$notes/$cluster.verdict"
	return "$rc"
}

# in_order, and what only the end can show: processes and the log.
in_order_at_last()
{
	local options

	mapfile -t options <"$notes/$cluster.allow"
	wait_until 30 'no process is left over' look_at_processes || {
		cat "$notes/$cluster.verdict"
		return 1
	}
	in_order_and_log "${options[@]}"
}

no_more_errors_than()
{
	in_order_and_log --stock-log="$(log_of "$(cluster_name "$1")")"
}

in_order_and_log()
{
	in_order --log="$(log_of "$cluster")" \
		--known="$srcdir/t/lib/check/known-errors" \
		--slurm="$(cat "$notes/$cluster.slurm")" "$@"
}

log_of()
{
	echo "$EGS_SANDBOX_DIR/$1/log/slurmctld.log"
}

look_at_processes()
{
	as root sh -c 'grep -sE "^(Name|State|Uid):" /proc/[0-9]*/status' \
		>"$notes/$cluster.processes"
	look --processes="$notes/$cluster.processes"
}

cluster_down()
{
	test_expect_success "$cluster: at the end all is in order" '
		in_order_at_last
	'
	test_expect_success "$cluster: and it goes away" '
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

# The end of what was said, for whoever reads the report of a failure.
tell()
{
	local name

	[ ! -f "$said" ] || tail -n 30 "$said" | sed 's/^/# /'
	for name in $clusters; do
		tail -v -n 15 "$EGS_SANDBOX_DIR/$name"/log/slurm*.log 2>&1 |
			sed 's/^/# /'
	done
}

# As sharness has it, and then some words.
test_failure_()
{
	test_failure=$((test_failure + 1))
	say_color error "not ok $test_count - $1"
	shift
	printf '%s\n' "$@" | sed -e 's/^/#	/'
	tell
	[ -z "$immediate" ] || { EXIT_OK=t; exit 1; }
}

# However the test ends, its clusters end too.
at_exit()
{
	local code=$? name

	trap - EXIT
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
