#!/bin/bash
# 5060-idle-reclaim.t - GPUs that a job does not use go to a job that waits
# long: 120 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='idle GPUs of a job go to a job that waits for them'
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
GpuType=a100
Tier=research MinRuntime=0s GraceMin=5s GraceNoAck=90s
Team=fraud Users=alice DefaultTier=research
Team=vision Users=bob DefaultTier=research
Phase=train IdleWarn=2s IdleYield=4s
Phase=eval StallAfter=3s
END

# notify_by_program: Notify= gets each warning from now on, in was_notified
notify_by_program()
{
	as root sh -c 'printf "#!/bin/sh\ncat >>/run/egs/notified\n" >/etc/notify &&
		chmod 755 /etc/notify &&
		echo Notify=/etc/notify >>/etc/slurm/egs.conf' &&
	egsctl reconfigure
}

# was_notified KIND JOB: a warning of this kind about JOB has reached the program
was_notified()
{
	as root grep -q "^{\"kind\":\"$1\",.*\"job\":\"$2\",\"user\":\"alice\"" \
		/run/egs/notified
}

# has_reason JOB REGEX: the notice of JOB has this reason
has_reason()
{
	has_notice "$1" "reason=.*" && grep -qE "^reason=$2\$" "$notes/request"
}

# has_observed VICTIM REQUESTER HOW: egs-report observed has that pair
has_observed()
{
	as root egs-report observed -n -P -o jobid,byjob,how | grep -qx "$1|$2|$3"
}

check_shrink()
{
	test_expect_success "$version: a job whose GPUs are busy keeps them though another one waits" '
		with_driver n1 "0 busy" "1 busy" "2 sm 1" "3 busy" &&
		job=$(once_running job_of alice 4 --phase=train --egs=shrink-to=1) && next=$(job_of bob 2) &&
		expect_pending_after_scheduling "$next" && has_no_notice "$job" &&
		! why_says alice "$job" warning:
	'
	test_expect_success "$version: a job with idle GPUs is warned, then asked to shrink to its busy ones" '
		driver_does "0 busy" "1 busy" &&
		wait_until 60 "job $job has a notice" has_notice "$job" kind=shrink &&
		has_notice "$job" gpus=2 &&
		has_reason "$job" "2 of your 4 GPUs were idle for [0-9]+ (s|min) and job $next waits for 2" &&
		wait_why alice "$job" "idle by policy: 2 of your 4 GPUs were idle for [0-9]* [a-z]* and job $next waits for 2; if they" &&
		wait_until 60 "the program got the warning" was_notified idle "$job"
	'
	test_expect_success "$version: a job that gives back idle GPUs runs beside the one that waited" '
		egs_in_job "$job" yield --gpus=2 >/dev/null &&
		wait_state "$next" RUNNING && job_is "$job" RUNNING &&
		test "$(restarts "$job")" = 0 && invariants_hold &&
		cancel_all_jobs
	'
}

check_yield()
{
	test_expect_success "$version: a job that cannot shrink is asked to yield its idle GPUs" '
		job=$(once_running job_of alice 4 --phase=train) && next=$(job_of bob 4) && driver_does &&
		wait_until 60 "job $job has a notice" has_notice "$job" kind=yield &&
		has_reason "$job" "4 of your 4 GPUs were idle for [0-9]+ (s|min) and job $next waits for 4"
	'
	test_expect_success "$version: a restarted egs-policyd has the same notice with its reason" '
		stop_policyd KILL && policyd_up &&
		wait_until 60 "job $job has a notice" has_notice "$job" kind=yield &&
		has_reason "$job" "4 of your 4 GPUs were idle for [0-9]+ (s|min) and job $next waits for 4"
	'
	test_expect_success "$version: a job that yields its idle GPUs is requeued, and the other one starts" '
		egs_in_job "$job" yield &&
		wait_until 50 "job $next runs" job_is "$next" RUNNING &&
		job_is "$job" PENDING && test "$(restarts "$job")" = 1 &&
		invariants_hold && cancel_all_jobs
	'
}

check_exempt()
{
	test_expect_success "$version: idle-ok and the comment of NVIDIA exempt jobs, the next one is asked" '
		hint=$(once_running job_of alice 1 --phase=train --egs=idle-ok=60m:loading) &&
		comment=$(once_running job_of alice 1 --phase=train --comment="{\"OccupiedIdleGPUsJobReaper\":{\"exemptIdleTimeMins\":\"60\",\"reason\":\"x\"}}") &&
		job=$(once_running job_of alice 2 --phase=train) && next=$(job_of bob 1) &&
		wait_until 60 "job $job has a notice" has_notice "$job" kind=yield &&
		has_no_notice "$hint" && has_no_notice "$comment" &&
		! why_says alice "$hint" warning: && ! why_says alice "$comment" warning: &&
		cancel_all_jobs
	'
	test_expect_success "$version: GPUs of which the driver tells nothing are not taken" '
		driver_does "0 sm -" "1 lost" &&
		first=$(once_running job_of alice 2 --phase=train) && job=$(once_running job_of alice 2 --phase=train) &&
		next=$(job_of bob 1) &&
		wait_until 60 "job $job has a notice" has_notice "$job" kind=yield &&
		has_no_notice "$first" && cancel_all_jobs
	'
}

check_others()
{
	test_expect_success "$version: a stalled job is told, and runs on" '
		driver_does &&
		job=$(once_running submit --gres=gpu:a100:1 --mem=100 --phase=eval hold.sh) &&
		wait_why alice "$job" "the job is stalled" &&
		wait_until 60 "the program got the warning" was_notified stalled "$job" &&
		egs_in_job "$job" progress 0.5 && job_is "$job" RUNNING &&
		test "$(restarts "$job")" = 0 && cancel_all_jobs
	'
	test_expect_success "$version: EGS that observes records what it would have done" '
		egsctl mode observe --reason=test &&
		job=$(once_running job_of alice 4 --phase=train) && next=$(job_of bob 2) &&
		wait_until 60 "job $job is in the report" has_observed "$job" "$next" requeue &&
		has_no_notice "$job" && job_is "$job" RUNNING &&
		wait_why alice "$job" "would preempt" && cancel_all_jobs
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=1 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: the daemons are up, with a program for warnings" '
		wait_policyd slurmctld up && noded_up n1 && notify_by_program
	'
	check_shrink
	check_yield
	check_exempt
	check_others
	cluster_down
}

each_version run_all
test_done
