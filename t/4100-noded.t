#!/bin/bash
# 4100-noded.t - egs-noded: run directories, preemption notices, job messages
# long: 170 s, a cluster for each Slurm, and daemons that are killed
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='jobs and EGS exchange messages through run directories'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/noded.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=10m GraceMax=10m
Team=fraud Users=alice Quota=a100:4
Team=vision Users=bob Quota=a100:4
END

# start_job: a job of alice on both nodes; it has printed its run directories.
start_job()
{
	job=$(submit -N2 --partition=scavenge --ckpt=file --gres=gpu:a100:2 \
		rundir.sh) &&
	wait_state "$job" RUNNING &&
	wait_until 60 "job $job says where it is" says_where "$job"
}

says_where()
{
	[ "$(output "$1" | grep -c "^n[12] ")" = 2 ]
}

# phases JOB PHASE: how often the job changed to that phase
phases()
{
	ask_policyd why "job=$1" | grep -c "|phase $2|"
}

is_phase()
{
	[ "$(phases "$1" "$2")" = 1 ]
}

no_dirs()
{
	[ -z "$(as root find /run/egs-node -mindepth 2 -name "*[0-9]*")" ]
}

wants_yield()
{
	as alice grep -qs "^kind=yield" "$(rundir "$1" "$2")/request"
}

request_of()
{
	as alice sed -n "s/^request=//p" "$(rundir "$1" "$2")/request"
}

# flag NODE JOB: the number of the notice in the flag file
flag()
{
	as alice od -An -tu4 -j8 -N4 "$(rundir "$1" "$2")/flag" | tr -d ' '
}

# A job whose step says that it gets SIGTERM
says_term='srun sh -c "trap \"echo got TERM\" TERM; echo begun
	while :; do sleep 0.2; done"'

# report_no_rundir NODE JOB: as spank_egs writes it for the batch script
report_no_rundir()
{
	as root sh -c 'cd "/run/egs-node/$1" && printf "%s" "$3" >.new-test &&
		mv .new-test ".report-$2"' - "$1" "$2" \
		"{\"verb\":\"node-no-rundir\",\"node\":\"$1\",\"job\":$2,\"batch\":1,\"words\":\"no room\"}"
}

check_directories()
{
	test_expect_success "$version: each slurmd starts an egs-noded" '
		noded_up n1 && noded_up n2
	'
	test_expect_success "$version: a job has a run directory on each node" '
		start_job &&
		output "$job" >where &&
		grep -x "batch $(rundir n1 "$job")" where &&
		grep -x "n1 $(rundir n1 "$job")" where &&
		grep -x "n2 $(rundir n2 "$job")" where
	'
	test_expect_success "$version: the run directory is the user's, below directories of root" '
		test "$(as root stat -c %U:%a "$(rundir n2 "$job")")" = alice:700 &&
		test "$(as root stat -c %U:%a /run/egs-node/n2)" = root:755 &&
		test_must_fail as bob ls "$(rundir n2 "$job")" &&
		test_must_fail as alice touch /run/egs-node/n2/x &&
		test "$(as root stat -c %U:%a /var/spool/egs)" = root:700
	'
	test_expect_success "$version: a run directory has a limit of its own" '
		as alice sh -c "head -c 64M /dev/zero >$(rundir n2 "$job")/big" \
			2>err; grep "No space left" err &&
		other=$(submit --user=bob -w n2 --wrap "test -d \$EGS_RUNDIR &&
			touch \$EGS_RUNDIR/out/x") &&
		wait_state "$other" COMPLETED &&
		as alice rm "$(rundir n2 "$job")/big"
	'
	test_expect_success "$version: a job without a run directory is told why" '
		as root sh -c "cd /run/egs-node && mount --bind n2 n2 &&
			mount -o remount,bind,ro n2" &&
		other=$(submit --user=bob -w n2 \
			--wrap "echo rundir=\$EGS_RUNDIR.") &&
		wait_state "$other" COMPLETED &&
		as root umount -l /run/egs-node/n2 &&
		output "$other" >out && cat out && grep "^rundir=\.$" out &&
		grep "^egs: .*no run directory: Read-only" out &&
		as root grep "egs: .*no run directory: Read-only" \
			/var/log/slurmd-n2.log
	'
	test_expect_success "$version: egs why tells that a job has no run directory" '
		other=$(submit -w n1 --partition=scavenge --ckpt=file \
			--gres=gpu:a100:1 --wrap "$says_term") &&
		wait_until 60 "job $other has begun" \
			output_has "$other" begun &&
		report_no_rundir n1 "$other" &&
		wait_why alice "$other" "no rundir"
	'
	test_expect_success "$version: a job without a run directory gets SIGTERM when it is preempted" '
		egsctl preempt "$other" --reason=test &&
		wait_until 60 "job $other gets SIGTERM" \
			output_has "$other" "got TERM" &&
		as root scancel "$other" &&
		wait_until 60 "job $other ends" has_ended "$other"
	'
	test_expect_success "$version: messages from both nodes reach egs-policyd" '
		drop_message n1 "$job" one verb=phase phase=train &&
		answer_to n1 "$job" one >answer && grep "\"ok\":true" answer &&
		drop_message n2 "$job" two verb=phase phase=eval &&
		answer_to n2 "$job" two >answer && grep "\"ok\":true" answer &&
		test "$(phases "$job" train)" = 1 &&
		test "$(phases "$job" eval)" = 1
	'
	test_expect_success "$version: a wrong message is answered with an error" '
		drop_message n1 "$job" three verb=phase phase=lunch &&
		answer_to n1 "$job" three >answer &&
		grep "\"error\":.*lunch" answer &&
		as alice sh -c "echo {x >$(rundir n1 "$job")/out/four" &&
		answer_to n1 "$job" four >answer && grep "\"error\":" answer
	'
	test_expect_success "$version: egs-noded follows no symbolic link of a user" '
		as alice sh -c "cd $(rundir n1 "$job") &&
			ln -s /etc/shadow out/link && rm -r in && ln -s /etc in" &&
		drop_message n1 "$job" trap verb=phase phase=prep &&
		wait_until 60 "job $job is in phase prep" \
			is_phase "$job" prep &&
		as alice sh -c "cd $(rundir n1 "$job") && rm in && mkdir in" &&
		drop_message n1 "$job" next verb=phase phase=eval &&
		answer_to n1 "$job" next &&
		as root test ! -e /etc/trap &&
		as alice test -L "$(rundir n1 "$job")/out/link"
	'
}

# address NODE ADDRESS: change the NodeAddr of NODE
address()
{
	as root scontrol update "NodeName=$1" "NodeAddr=$2"
}

# wrong_address_logged NODE ADDRESS: egs-policyd got a report from elsewhere
wrong_address_logged()
{
	grep -q "node $1: .* which is not its NodeAddr=$2" \
		"$(policyd_log_file)"
}

# noded_says NODE TEXT: the last line in the log of its egs-noded has TEXT
noded_says()
{
	as root tail -n 1 "/var/log/egs-noded-$1.log" | grep -q "$2"
}

# noded_logs NODE TEXT: a line in the log of its egs-noded has TEXT
noded_logs()
{
	as root grep -q "$2" "/var/log/egs-noded-$1.log"
}

check_addresses()
{
	test_expect_success "$version: egs-policyd refuses a node's report from another address" '
		allow_error "n2" &&
		address n2 192.0.2.7 &&
		wait_until 90 "reports of n2 are refused" \
			wrong_address_logged n2 192.0.2.7 &&
		wait_until 90 "egs-noded of n2 logs the refusal" \
			noded_says n2 "not its NodeAddr"
	'
	test_expect_success "$version: egs-policyd accepts the node's report from its own address" '
		address n2 127.0.0.1 &&
		wait_until 90 "egs-noded of n2 logs the recovery" \
			noded_says n2 "reachable again" &&
		test_must_fail noded_says n1 "NodeAddr" &&
		wait_until 90 "the node is up" nodes_report
	'
}

# A program that listens on the port of egs-policyd and never answers.
mute='
	$0 = "mute";
	my $door = IO::Socket::INET->new(LocalPort => 6827, Listen => 64,
		ReuseAddr => 1) or die;
	sleep 1 while 1;
'

# start_mute: let a mute program take the port of egs-policyd, until stop_mute
start_mute()
{
	{ as root perl -MIO::Socket::INET -e "$mute" & } &&
	mute_pid=$! &&
	wait_until 60 "the port is taken" port_is_taken
}

stop_mute()
{
	as root pkill -x mute && { wait "$mute_pid" || :; }
}

check_notices()
{
	test_expect_success "$version: a preemption notice reaches every node of the job" '
		as alice mkdir "$(rundir n2 "$job")/request" &&
		wants=$(submit --user=bob --partition=serve --gres=gpu:a100:4 \
			--nodes=1 hold.sh) &&
		wait_until 90 "n1 has a notice" wants_yield n1 "$job" &&
		wait_until 90 "egs-noded of n2 cannot write the notice" \
			noded_logs n2 "job $job: notice .* not written" &&
		as alice rmdir "$(rundir n2 "$job")/request" &&
		wait_until 90 "n2 has a notice" wants_yield n2 "$job" &&
		number=$(request_of n1 "$job") &&
		test "$number" -gt 0 &&
		test "$(flag n1 "$job")" = "$number" &&
		test "$(flag n2 "$job")" = "$number"
	'
	test_expect_success "$version: a yield from one node requeues the job" '
		drop_message n2 "$job" go verb=yield request="$number" \
			path=/ckpt/9 &&
		wait_until 90 "job $job is requeued" has_yielded "$job" &&
		wait_state "$wants" RUNNING
	'
	test_expect_success "$version: the job restarts with its checkpoint path while egs-policyd is gone" '
		wait_until 90 "job $job waits for GPUs" \
			waits_for_resources "$job" &&
		stop_policyd KILL && start_mute &&
		as root scancel "$wants" &&
		wait_state "$job" RUNNING 200 &&
		wait_until 60 "job $job says so" \
			says "$job" "^run 1 resume=1 last=/ckpt/9$" &&
		says "$job" "^egs: preempted at .* job $wants of team vision"
	'
	test_expect_success "$version: the next run has no preemption notice" '
		wait_until 60 "the flag has no notice" flag_is n1 "$job" 0 &&
		as alice test ! -e "$(rundir n1 "$job")/request" &&
		as alice test ! -e "$(rundir n1 "$job")/in/one"
	'
	test_expect_success "$version: a job starts while neither egs-noded nor egs-policyd answers" '
		kill_noded n1 && as root scontrol requeue "$job" &&
		wait_until 120 "job $job runs again" starts_now "$job" &&
		wait_until 60 "job $job says so" \
			says "$job" "^run 2 resume=1 last=$" &&
		stop_mute && policyd_up
	'
	test_expect_success "$version: run directories are removed when the job ends" '
		as alice touch go && wait_state "$job" COMPLETED &&
		wait_until 120 "the directories are gone" no_dirs &&
		as alice rm go
	'
}

# starts_now JOB: shortens the two minutes that Slurm delays a requeued job
starts_now()
{
	local eligible

	job_is "$1" RUNNING && [ "$(restarts "$1")" = 2 ] && return
	eligible=$(date -d "$(job_field "$1" EligibleTime)" +%s)
	[ "${eligible:-0}" -lt "$(($(date +%s) + 10))" ] ||
		as root scontrol update "JobId=$1" StartTime=now+2seconds
	return 1
}

says()
{
	output "$1" | grep -q "$2"
}

has_yielded()
{
	[ "$(restarts "$1")" -gt 0 ]
}

flag_is()
{
	[ "$(flag "$1" "$2")" = "$3" ]
}

spooled()
{
	as root ls /var/spool/egs/n1 | grep -q "^[0-9]"
}

check_failures()
{
	test_expect_success "$version: the next step restarts a killed egs-noded" '
		start_job &&
		kill_noded n1 &&
		drop_message n1 "$job" five verb=phase phase=infer &&
		as alice srun --jobid="$job" --overlap -w n1 -N1 -n1 true &&
		answer_to n1 "$job" five >answer && grep "\"ok\":true" answer &&
		test "$(phases "$job" infer)" = 1
	'
	test_expect_success "$version: jobs start and end while egs-policyd is down" '
		stop_policyd KILL &&
		drop_message n1 "$job" six verb=phase phase=retrain &&
		wait_until 60 "the message is in the spool" spooled &&
		other=$(submit --wrap "test -d \$EGS_RUNDIR") &&
		wait_state "$other" COMPLETED
	'
	test_expect_success "$version: jobs start and end while a mute program has the port of egs-policyd" '
		start_mute &&
		other=$(submit --wrap "test -d \$EGS_RUNDIR") &&
		wait_state "$other" COMPLETED &&
		stop_mute
	'
	test_expect_success "$version: the spool on disk survives a restart of the node" '
		kill_noded n1 &&
		as root sh -c "umount -l /run/egs-node/n1/[0-9]*/dir &&
			rm -rf /run/egs-node/n1/[0-9]*" &&
		restart_daemon slurmd-n1 slurmd -N n1 &&
		noded_up n1 &&
		spooled
	'
	test_expect_success "$version: a restarted egs-policyd gets the spooled message once" '
		policyd_up &&
		wait_until 90 "the spool is empty" not spooled &&
		test "$(phases "$job" retrain)" = 1
	'
	test_expect_success "$version: egs-noded ends and starts with slurmd" '
		pid=$(as root cat /run/slurm/slurmd-n2.pid) &&
		as root kill "$pid" &&
		wait_until 60 "slurmd ends" process_gone "$pid" &&
		wait_until 60 "egs-noded of n2 ends" no_noded n2 &&
		as root slurmd -N n2 &&
		noded_up n2 &&
		wait_until 90 "the node is back" nodes_report
	'
	test_expect_success "$version: the job has run through all failures" '
		job_is "$job" RUNNING && test "$(restarts "$job")" = 0 &&
		as alice touch go && wait_state "$job" COMPLETED &&
		as alice rm go
	'
}

not()
{
	! "$@"
}

for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" nodes=2 gpus=4 cores=8 \
		egs-conf="$notes/egs.conf"
	check_directories
	[ "$version" != 22.05 ] || { check_notices; check_failures; }
	cancel_all_jobs
	check_addresses
	cluster_down
done
test_done
