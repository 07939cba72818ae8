#!/bin/bash
# 4120-gpu-samples.t - what users and operators see of their GPUs
# long: 60 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='egs gpu shows what the driver measures on the GPUs of a job'
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
SampleInterval=1s
DcgmMapDir=/run/sandbox/dcgm-%n
GpuType=a100
Tier=research Revenue=yes
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
Team=vision Users=bob Quota=a100:4 DefaultTier=research
END

# gpu_lines USER JOB: egs gpu, without header and advice, a blank between columns
gpu_lines()
{
	as "$1" /opt/egs/bin/egs gpu "$2" | sed '1d; /^note: /d; s/  */ /g; s/ $//'
}

# has_no_gpus USER JOB: egs gpu refuses; its words are in $notes/why
has_no_gpus()
{
	! as "$1" /opt/egs/bin/egs gpu "$2" >/dev/null 2>"$notes/why"
}

# advises USER JOB REGEX: the last line of egs gpu
advises()
{
	as "$1" /opt/egs/bin/egs gpu "$2" | tail -n 1 | grep -qxE "note: $3"
}

# gpu_is USER JOB REGEX: a line of gpu_lines matches as a whole
gpu_is()
{
	gpu_lines "$1" "$2" | grep -qxE "$3"
}

# wait_gpu USER JOB REGEX: wait until gpu_is
wait_gpu()
{
	wait_until 60 "egs gpu $2 shows '$3'" gpu_is "$@" || {
		gpu_lines "$1" "$2"
		return 1
	}
}

# shows_gpu REGEX: a line of egsctl show gpus matches
shows_gpu()
{
	egsctl show gpus -nP -o node,gpu,jobid,user,sm,temp,age,driver,note |
		grep -qxE "$1"
}

wait_shown()
{
	wait_until 60 "egsctl show gpus has '$1'" shows_gpu "$1" || {
		egsctl show gpus
		return 1
	}
}

# noded_log NODE
noded_log()
{
	as root cat "/var/log/egs-noded-$1.log"
}

# json_is_right JOB: egs gpu --json has a busy GPU and an empty one
json_is_right()
{
	as alice /opt/egs/bin/egs gpu --json "$1" | perl -MJSON::PP -0777 -ne '
		my ($busy, $empty) = @{decode_json($_)->{gpus}};
		exit 1 unless $busy->{sm} eq 91 && $busy->{processes} eq 1 &&
			$busy->{empty} eq 0 && $busy->{source} eq "nvml" &&
			$busy->{driver} eq "555.42" &&
			$empty->{sm} eq 0 && $empty->{xid} eq "-"'
}

# doctor_says REGEX
doctor_says()
{
	as root egsctl doctor | grep -qxE "$1"
}

# hangs: how often egs-noded of n1 has logged a driver that hangs
hangs()
{
	noded_log n1 | grep -c 'has not answered'
}

# job_report JOB: what egs-report knows of the GPUs of JOB
job_report()
{
	as root egs-report jobs -n -P -o jobid,sm,maxmem,energy,idle,empty |
		sed -n "s/^$1|//p"
}

# reports JOB REGEX: job_report matches as a whole
reports()
{
	job_report "$1" | grep -qxE "$2"
}

wait_report()
{
	wait_until 90 "egs-report jobs has '$2' of job $1" reports "$@" || {
		job_report "$1"
		return 1
	}
}

# dcgm_map: "GPU=JOB ..." of n1 as dcgm-exporter reads it
dcgm_map()
{
	as root sh -c 'cd /run/sandbox/dcgm-n1 && for gpu in *; do
		[ ! -e "$gpu" ] || echo "$gpu=$(cat "$gpu")"; done' | paste -sd " "
}

map_is()
{
	test "$(dcgm_map)" = "$1"
}

# wait_map TEXT: wait until map_is
wait_map()
{
	wait_until 60 "dcgm-exporter sees '$1'" map_is "$1" || {
		dcgm_map
		return 1
	}
}

# is_held: egs-report wastage has GPU time that was held and not used, less than
# there was in all
is_held()
{
	as root egs-report wastage -n -P -t seconds -o scope,wrheld,held,capacity |
		awk -F'|' '$1 == "gpu" && $2 > 0 && $3 > 0 && $3 < $4 { n++ }
			END { exit !n }'
}

# adds_up: of alice and of bob, no more is measured than they had, and no more
# is idle or empty than is measured; energy is known
adds_up()
{
	awk -F'|' '{ n++ }
		$3 <= 0 || $3 > $2 || $4 > $3 || $5 > $3 || $6 !~ /^[0-9]/ { bad++ }
		END { exit bad || n != 2 }'
}

busy='n1 0 a100 91 62464 81920 640 66 [0-9]'
idle='0 512 81920 72 34 [0-9]'

check_seen()
{
	test_expect_success "$version: egs gpu shows a busy GPU and a GPU that is held and empty" '
		with_driver n1 "0 busy" "0 4711" "3 hot" &&
		job=$(once_running submit -w n1 --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_gpu alice "$job" "$busy" &&
		wait_gpu alice "$job" "n1 1 a100 $idle no process for [0-9]+ s; --gres=gpu:1 would have done" &&
		test "$(gpu_lines alice "$job" | wc -l)" -eq 2
	'
	test_expect_success "$version: dcgm-exporter sees the job on its GPUs, by the numbers of the driver" '
		wait_map "2=$job 3=$job"
	'
	test_expect_success "$version: egs gpu and egs why advise the owner of a job with an idle GPU" '
		idle_words="1 of 2 GPUs has been idle for [0-9]+ (s|min); --gres=gpu:1 would have done" &&
		wait_until 60 "egs gpu has advice" advises alice "$job" "$idle_words" &&
		as alice /opt/egs/bin/egs why "$job" >"$notes/why" &&
		grep -qxE "$idle_words" "$notes/why"
	'
	test_expect_success "$version: egs gpu --json has numbers, the source and the driver" '
		wait_until 60 "egs gpu --json has the values" json_is_right "$job"
	'
	test_expect_success "$version: egs gpu without an argument shows the GPUs of its own job" '
		other=$(submit -w n1 --gres=gpu:a100:1 --mem=100 --wrap "
			until /opt/egs/bin/egs gpu | grep -q 512; do sleep 0.5; done
			/opt/egs/bin/egs gpu >gpus; echo done") &&
		wait_state "$other" COMPLETED &&
		as alice grep -qE "^n1 +2 +a100 +0 +512 " gpus
	'
	test_expect_success "$version: a user sees no GPU of another user" '
		test_must_fail as bob /opt/egs/bin/egs gpu "$job" 2>"$notes/why" &&
		grep -q "job $job is not yours" "$notes/why" &&
		as bob /opt/egs/sbin/egsctl show gpus -n >"$notes/gpus" &&
		test_must_be_empty "$notes/gpus" &&
		as alice /opt/egs/sbin/egsctl show gpus -n >"$notes/gpus" &&
		test "$(wc -l <"$notes/gpus")" -eq 2
	'
	test_expect_success "$version: a job that opens and closes a GPU in a loop makes none look busy" '
		loop=$(once_running submit --user=bob -w n1 --gres=gpu:a100:1 --mem=100 \
			open-loop.sh /dev/nvidia2 /dev/nvidia0) &&
		wait_until 60 "job $loop has opened GPUs" output_has "$loop" opened &&
		wait_gpu bob "$loop" "n1 2 a100 $idle no process for [1-9][0-9]* s.*" &&
		wait_gpu alice "$job" "n1 1 a100 $idle no process for .*" &&
		as root scancel "$loop" &&
		wait_until 60 "job $loop has ended" has_ended "$loop"
	'
	test_expect_success "$version: an operator sees all GPUs, also those that no job has" '
		wait_shown "n1\|3\|-\|-\|97\|97\|[0-9]\|555.42\|slowed down by heat" &&
		wait_shown "n1\|0\|$job\|alice\|91\|66\|[0-9]\|555.42\|" &&
		test "$(egsctl show gpus -n | wc -l)" -eq 8
	'
	test_expect_success "$version: a GPU that is held and not used while a job waits is reported beside WR" '
		waiting=$(submit --user=bob -w n1 --gres=gpu:a100:4 --mem=100 hold.sh) &&
		wait_until 90 "the report has GPU time that is held" is_held &&
		as root scancel "$waiting" &&
		wait_state "$waiting" CANCELLED
	'
	test_expect_success "$version: a node without a driver says so once and shows no values" '
		wait_shown "n2\|0\|-\|-\|-\|-\|-\|-\|not sampled: libnvidia-ml.so.1: .*" &&
		test "$(noded_log n2 | grep -c "are not sampled")" -eq 1
	'
	test_expect_success "$version: doctor tells which nodes measure their GPUs, and with which driver" '
		wait_until 60 "doctor names the driver" doctor_says \
			"fine +1 of 2 nodes measure their GPUs, with driver 555.42" &&
		doctor_says "worry +n2 does not measure its GPUs: not sampled: .*"
	'
}

# sample_rarely NODE: restart its egs-noded with the driver and samples every 5 s
sample_rarely()
{
	as root sh -c "sed s/SampleInterval=1s/SampleInterval=5s/ \
		/etc/slurm/egs.conf >/run/sandbox/rare.conf" &&
	kill_noded "$1" && start_with_driver "$1" -f /run/sandbox/rare.conf
}

# The script is for both nodes.
check_short_jobs()
{
	test_expect_success "$version: a job that is too short to be sampled has the numbers of its processes" '
		driver_does "0 sm 80" "0 mem 3000" && sample_rarely n2 &&
		wait_shown "n2\|0\|-\|-\|80\|34\|[0-9]\|555.42\|" &&
		as alice rm -f end &&
		short=$(once_running submit -w n2 --gres=gpu:a100:1 --mem=100 \
			--wrap "until [ -e end ]; do sleep 0.1; done") &&
		wait_until 60 "egs-noded knows job $short" knows_gpu n2 "$short" &&
		driver_does "0 sm 80" "0 mem 3000" "0 ended 4711:80:3000:900:$(date +%s)" &&
		as alice touch end &&
		wait_state "$short" COMPLETED &&
		wait_report "$short" "80\|3000\|.*"
	'
}

check_trouble()
{
	test_expect_success "$version: a lost GPU and an XID are told in words, and other GPUs still measured" '
		driver_does "0 busy" "0 4711" "0 xid 31" "1 lost" &&
		wait_gpu alice "$job" "$busy XID 31" &&
		wait_gpu alice "$job" "n1 1 a100 - - - - - [0-9] the driver has lost this GPU"
	'
	test_expect_success "$version: values that the driver does not provide, or that are absurd, are not shown" '
		driver_does "0 sm -" "0 power 4000000000" "1 temp 9999" "1 sm 5" &&
		wait_gpu alice "$job" "n1 0 a100 - 512 81920 - 34 [0-9].*" &&
		wait_gpu alice "$job" "n1 1 a100 5 512 81920 72 - [0-9].*"
	'
	test_expect_success "$version: egs-noded works while the driver hangs, and shows no values" '
		pid=$(noded_pid n1) && before=$(hangs; true) && driver_does "1 hung" &&
		wait_gpu alice "$job" "n1 0 a100 - - - - - [0-9]+ not sampled: NVIDIA.s driver has not answered for 5 s" &&
		test "$(hangs)" -eq "$((before + 1))" &&
		egs_in_job "$job" phase infer --gpus=1 >/dev/null &&
		test "$(noded_pid n1)" = "$pid"
	'
	test_expect_success "$version: after a live resize each GPU is shown for the job that has it" '
		driver_does "0 busy" "0 4711" "1 sm 17" &&
		wait_gpu alice "$job" "$busy" &&
		test "$(gpu_lines alice "$job" | wc -l)" -eq 1 &&
		next=$(once_running submit --user=bob -w n1 --gres=gpu:a100:3 --mem=100 hold.sh) &&
		wait_gpu bob "$next" "n1 1 a100 17 .*" &&
		test "$(gpu_lines bob "$next" | wc -l)" -eq 3 &&
		wait_gpu alice "$job" "$busy" &&
		test "$(gpu_lines alice "$job" | wc -l)" -eq 1
	'
	test_expect_success "$version: after a live resize dcgm-exporter sees who has each GPU" '
		wait_map "0=$next 1=$next 2=$next 3=$job"
	'
	test_expect_success "$version: a driver that crashes and is gone ends neither egs-noded nor a job" '
		driver_does "0 dies" &&
		wait_gpu alice "$job" ".* not sampled: the sampler process has died .*" &&
		driver_does "all unloaded" &&
		wait_gpu alice "$job" ".* not sampled: NVIDIA.s driver is not loaded" &&
		test "$(noded_pid n1)" = "$pid" && job_is "$job" RUNNING &&
		job_is "$next" RUNNING
	'
}

check_daemons()
{
	test_expect_success "$version: files of a killed egs-noded are replaced by those of the next one" '
		as root sh -c "echo 1 >/run/sandbox/dcgm-n1/9" &&
		with_driver n1 "0 busy" "0 4711" &&
		wait_map "0=$next 1=$next 2=$next 3=$job"
	'
	test_expect_success "$version: a clock that is set on a node changes no sample and no job" '
		cc -shared -fPIC -o "$EGS_SANDBOX_DIR/$cluster/run/sandbox/clock.so" \
			"$srcdir/t/lib/fake/clock.c" &&
		noded_env=(LD_PRELOAD=/run/sandbox/clock.so CLOCK=/run/sandbox/clock) &&
		with_driver n1 "0 busy" "0 4711" && noded_env=() &&
		wait_gpu alice "$job" "$busy" &&
		for step in 86400 -86400; do
			as root sh -c "echo $step >/run/sandbox/clock" &&
			driver_does "0 busy" "0 4711" "1 sm 17" &&
			wait_gpu bob "$next" "n1 1 a100 17 .*" &&
			driver_does "0 busy" "0 4711" &&
			wait_gpu bob "$next" "n1 1 a100 $idle no process for ([0-9]+ s|1?[0-9] min).*" &&
			wait_map "0=$next 1=$next 2=$next 3=$job" || return 1
		done &&
		as root test -d "$(rundir n1 "$job")" && job_is "$job" RUNNING &&
		as root rm /run/sandbox/clock
	'
	test_expect_success "$version: samples come back after egs-policyd was killed" '
		wait_gpu alice "$job" "$busy" &&
		stop_policyd KILL && policyd_up &&
		wait_gpu alice "$job" "$busy"
	'
	test_expect_success "$version: egs-report jobs knows what the GPUs of a job did, also after a restart" '
		wait_report "$job" "[1-9][0-9]*\|62464\|[0-9]+\|[0-9]+\|[0-9]+" &&
		wait_report "$next" "[0-9]+\|512\|[0-9]+\|[1-9][0-9]*\|[1-9][0-9]*" &&
		stop_policyd KILL && policyd_up &&
		wait_report "$job" "[1-9][0-9]*\|62464\|.*"
	'
	test_expect_success "$version: GPUs that a job gets while it runs are its own for dcgm-exporter" '
		as root scancel "$next" && wait_map "3=$job" &&
		egs_in_job "$job" phase train --gpus=2 >/dev/null &&
		wait_map "2=$job 3=$job"
	'
	test_expect_success "$version: no second is counted twice after live resizes both ways and restarts" '
		wait_gpu alice "$job" "n1 1 a100 $idle no process for .*" &&
		stop_policyd TERM && policyd_up &&
		as root egs-report efficiency -t seconds -n -P \
			-o user,gputime,measured,idle,empty,energy >"$notes/used" &&
		adds_up <"$notes/used" || { cat "$notes/used"; false; }
	'
	test_expect_success "$version: egs-report idle tells who held GPUs without using them" '
		as root egs-report idle --by=user -n -P -t seconds >"$notes/idle" &&
		grep -qxE "bob\|[1-9][0-9]*\|[1-9][0-9]*\|[1-9][0-9]*\|[1-9][0-9]*" "$notes/idle"
	'
	test_expect_success "$version: values of a node whose egs-noded was killed are not shown for long" '
		wait_gpu alice "$job" "$busy" &&
		sampler=$(as root pgrep -P "$(noded_pid n1)" -x egs-gpu-sampler) &&
		kill_noded n1 &&
		wait_until 60 "the sampler process ends" process_gone "$sampler" &&
		wait_gpu alice "$job" "n1 0 a100 - - - - - [0-9]+ (egs-noded has not reported for|not sampled:) .*"
	'
	test_expect_success "$version: a job that has ended has no GPUs" '
		as root scancel "$job" && wait_queue_empty &&
		wait_until 60 "egs gpu does not show job $job" has_no_gpus alice "$job" &&
		grep -q "job $job " "$notes/why"
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=4 units egs-conf="$notes/egs.conf"
	test_expect_success "$version: the daemons are up" '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2
	'
	check_seen
	check_short_jobs
	check_trouble
	check_daemons
	cluster_down
}

each_version run_all
test_done
