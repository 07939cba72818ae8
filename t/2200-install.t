#!/bin/bash
# 2200-install.t - the commands of INSTALL.md on a stock cluster with jobs
# long: 200 s, a cluster for each Slurm with plugins, restarted five times
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='EGS is installed, observes, enforces and is removed while jobs run'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

# commands SECTION HOST: of INSTALL.md, for that kind of host or for every host,
# and for this release of Slurm
commands()
{
	awk -v section="$1" -v who="$2" -v version="$version" '
	/^## / { here = index($0, section) > 0 }
	/^```/ {
		block = /^```sh / && here &&
			($2 == who || ($2 == "every" && who == "controller")) &&
			($4 != "before" || version + 0 < $5 + 0) &&
			($4 != "since" || version + 0 >= $5 + 0)
		next
	}
	block' "$srcdir/INSTALL.md"
}

# walk SECTION HOST USER: run the commands of the section, stop at a failure
walk()
{
	commands "$1" "$2" >steps && test -s steps &&
	as "$3" env PATH="/run/sandbox/bin:/opt/egs/bin:/opt/egs/sbin:$PATH" \
		bash -euc "$(cat steps)"
}

# install_files: as "make install" does, on all hosts
install_files()
{
	as root mount -t tmpfs -o mode=755 opt /opt &&
	as root cp -a "/srv/egs/build/$version/inst/opt/egs" /opt/ &&
	as root install -D -m 755 /srv/egs/t/lib/fake/systemctl \
		/run/sandbox/bin/systemctl &&
	as root mkdir -p /etc/systemd/system
}

# nothing_lost: the first jobs run and wait as before, without a restart
nothing_lost()
{
	local job

	for job in $running; do
		job_is "$job" RUNNING || return
		[ "$(job_field "$job" Restarts)" = 0 ] || return
	done
	job_is "$waiting" PENDING && job_is "$dependent" PENDING
}

gone()
{
	[ -z "$(as root squeue -h -u "$1")" ]
}

# script_runs OPTION: a short script with OPTION completes
script_runs()
{
	local job

	job=$(submit --user=bob "$1" --gres=gpu:1 -p serve end.sh 0) &&
	wait_state "$job" COMPLETED
}

says_phase()
{
	as bob sh -c "printf '#!/bin/sh\n#SBATCH --phase=train\nhostname\n' \
		>train.sh"
}

# The policy of the site: dave borrows what carol's team owns and does not use.
# alice and bob are in no team.
write_policy()
{
	cat <<-'END'
	TierOrder=research
	PollInterval=1s
	GpuType=a100
	Tier=research MinRuntime=0s GraceMin=0s GraceMax=60s GraceNoAck=20s
	Team=fraud Users=carol Quota=a100:8 DefaultTier=research
	Team=vision Users=dave Quota=none DefaultTier=research
	END
}

# begin NODE GPUS OPTION...: submit a job of dave and wait until it has begun
begin()
{
	local job

	job=$(submit --user=dave -w "$1" --gres=gpu:a100:"$2" "${@:3}") &&
	wait_state "$job" RUNNING >&2 &&
	wait_until 60 "job $job has begun" output_has "$job" "run 0" >&2 &&
	echo "$job"
}

# three_observed: three jobs would make room for two
three_observed()
{
	as root egs-report observed -S now-14days -nP -o jobid >pairs &&
	[ "$(sort -u pairs | wc -l)" = 3 ]
}

recalled()
{
	[ "$(restarts "$1")" = 1 ]
}

# reported_yield JOB: the report has it with the cause "yielded"
reported_yield()
{
	as root egs-report preemptions -S now-1hour -nP -o jobid,how >said_so &&
	grep -qx "$1|yielded" said_so
}

install_and_observe()
{
	test_expect_success "$version: jobs run and wait on a stock cluster" '
		one=$(submit -w n1 --gres=gpu:a100:3 hold.sh) &&
		two=$(submit --user=bob -w "n[1-2]" --gres=gpu:a100:1 hold.sh) &&
		running="$one $two" &&
		for job in $running; do
			wait_state $job RUNNING || return
		done &&
		waiting=$(submit -w n1 --gres=gpu:a100:4 hold.sh) &&
		dependent=$(submit --user=carol -d afterok:$one hold.sh) &&
		nothing_lost && cp "$here/etc/slurm/slurm.conf" stock.conf
	'
	test_expect_success "$version: section Before: egsctl doctor finds nothing to change" '
		install_files &&
		walk "Before" controller root >said_so &&
		grep "^add .*JobSubmitPlugins=egs" said_so &&
		! grep "^change" said_so
	'
	test_expect_success "$version: section Step 1: users can set a phase, and no job is lost" '
		walk "Step 1" controller root && walk "Step 1" compute root &&
		wait_nodes_after true &&
		walk "Step 1" user alice && nothing_lost
	'
	test_expect_success "$version: section Step 2: egs-policyd observes, and no job is lost" '
		walk "Step 2" controller root >said_so &&
		cat said_so && grep "mode observe" said_so &&
		nothing_lost && wait_policyd jobs 4
	'
}

report_what_would_be()
{
	test_expect_success "$version: jobs of each kind run on loan while EGS observes" '
		write_policy >"$here/etc/slurm/egs.conf" &&
		as root egsctl reconfigure && walk "Step 1" compute root &&
		wait_nodes_after true &&
		signal=$(begin n3 2 --ckpt=signal:B:USR1@60 victim.sh exit 99) &&
		file=$(begin n3 2 --ckpt=file --wrap "echo run \${SLURM_RESTART_COUNT:-0}
			egs wait-request && egs yield; exec sleep 900") &&
		plain=$(begin n4 4 victim.sh) &&
		owner1=$(submit --user=carol -w n3 --gres=gpu:a100:4 hold.sh) &&
		owner2=$(submit --user=carol -w n4 --gres=gpu:a100:4 hold.sh) &&
		wait_why carol "$owner1" "must be preempted for it; EGS only observes"
	'
	test_expect_success "$version: egs-report observed shows who would make room for whom" '
		wait_until 60 "three jobs are recorded" three_observed &&
		as root egs-report observed -S now-14days >said_so && cat said_so &&
		grep "3 jobs would have been preempted" said_so &&
		for job in $signal $file $plain; do
			job_is "$job" RUNNING || return
		done && nothing_lost
	'
}

enforce()
{
	test_expect_success "$version: section Step 3: slurmctld uses EGS, and egsctl doctor is satisfied" '
		walk "Step 3" controller root >said_so &&
		wait_nodes_after true &&
		! grep -E "^(add|change)" said_so &&
		as root scontrol show config | grep "PreemptType .*= preempt/egs" &&
		wait_policyd mode enforce && wait_policyd slurmctld up &&
		nothing_lost
	'
	test_expect_success "$version: jobs submitted while EGS observed are recalled, each in its own way" '
		wait_until 120 "job $signal got its signal and left" recalled "$signal" &&
		wait_until 120 "job $file was told and yielded" recalled "$file" &&
		wait_until 120 "job $plain made room" recalled "$plain" &&
		wait_state "$owner1" RUNNING && wait_state "$owner2" RUNNING &&
		wait_until 60 "the report has job $file" reported_yield "$file" &&
		nothing_lost
	'
	test_expect_success "$version: a recalled job appends to its output" '
		as root scancel "$owner1" "$owner2" &&
		wait_until 180 "job $signal runs again" output_has "$signal" "run 1" &&
		output_has "$signal" "run 0" && output_has "$signal" asked &&
		as root scancel -u dave && as root scancel "$owner1" "$owner2" &&
		wait_until 90 "the jobs have ended" gone dave
	'
}

go_back()
{
	test_expect_success "$version: scripts with and without a phase run" '
		says_phase &&
		script_runs --phase=infer && script_runs --comment=none &&
		job=$(as bob sbatch --parsable -p serve --gres=gpu:1 train.sh) &&
		wait_state $job COMPLETED &&
		job_field $job AdminComment | grep phase=train
	'
	test_expect_success "$version: section The way back: EGS is removed, and no job is lost" '
		walk "The way back" controller root &&
		walk "The way back" compute root &&
		wait_nodes_after true &&
		no_policyd && cmp stock.conf "$here/etc/slurm/slurm.conf" &&
		as root scontrol show config | grep -E "PreemptType .*= (preempt/none|\(null\))" &&
		nothing_lost
	'
	test_expect_success "$version: scripts with a phase run without EGS" '
		script_runs --phase=infer && script_runs --comment=none &&
		job=$(as bob sbatch --parsable -p serve --gres=gpu:1 train.sh) &&
		wait_state $job COMPLETED
	'
	test_expect_success "$version: jobs from before the installation complete" '
		for user in alice bob carol; do
			as $user touch go || return
		done &&
		for job in $running $waiting $dependent; do
			wait_state $job COMPLETED || return
		done
	'
}

run_all()
{
	cluster_up slurm="$version" stock nodes=4 gpus=4
	here=$EGS_SANDBOX_DIR/$cluster
	# slurmd reads the new file later than slurmctld; step 1 has no egs.conf.
	allow_error 'Node n[1-4] appears to have a different slurm.conf'
	allow_error '/etc/slurm/egs.conf cannot be read: No such file'
	install_and_observe
	report_what_would_be
	enforce
	go_back
	cluster_down
}

each_version run_all
cluster_done
