#!/bin/bash
# 3010-unhinted-jobs-unchanged.t - jobs without a hint run as on stock Slurm
# long: 80 s, two clusters side by side, three times
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='jobs without a hint run as on stock Slurm'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

# starts OPTION...: submit and wait, so that the next job finds the same nodes.
starts()
{
	local job

	job=$(submit "$@") && wait_state "$job" RUNNING
}

refused()
{
	test_must_fail as alice sbatch --wrap hostname "$@"
}

# Jobs of many shapes; their ids are the same on both clusters.
many_jobs_start()
{
	starts --gres=gpu:a100:1 hold.sh &&
	starts --user=bob -N2 --gres=gpu:a100:1 hold.sh &&
	starts --user=carol --gpus=2 -c2 hold.sh &&
	starts -n2 --gpus-per-task=1 hold.sh &&
	starts --user=bob -c3 --mem=100 hold.sh &&
	failed=$(submit --array=1-2 end.sh 3) &&
	wait_state "$failed" FAILED &&
	submit --user=carol --dependency="afterok:$failed" hold.sh &&
	ended=$(submit -N2 --comment="egs phase=train" environment.sh) &&
	wait_state "$ended" COMPLETED &&
	waiting=$(submit --user=bob -w n2 --gres=gpu:a100:4 hold.sh) &&
	cancelled=$(submit --user=carol --gres=gpu:a100:4 --hold hold.sh) &&
	as carol scancel "$cancelled" &&
	wait_state "$cancelled" CANCELLED &&
	wait_until 90 "$waiting waits for GPUs" waits "$waiting" Resources
}

waits()
{
	[ "$(job_field "$1" Reason)" = "$2" ]
}

many_jobs_are_refused()
{
	refused --gres=gpu:9 >"$1" 2>&1 &&
	refused --gres=gpu:h100:1 >>"$1" 2>&1 &&
	refused -p nowhere >>"$1" 2>&1 &&
	refused --phases=train >>"$1" 2>&1
}

all_jobs_end()
{
	local user

	for user in alice bob carol; do
		as $user touch go || return
	done
	wait_until 120 'only the job whose dependency failed is left' only_one_left
}

only_one_left()
{
	[ "$(as root squeue -h -o %r)" = DependencyNeverSatisfied ]
}

# records FILE: all job records, without the fields that differ in every run.
records()
{
	as root scontrol show job -d |
		grep -vE 'Time=|Priority=|AllocNode:Sid=|SLUID=' >"$1"
}

same_records()
{
	on stock records want && on egs records got && test_cmp want got
}

# environment FILE: the output of environment.sh, without what always differs.
environment()
{
	local job

	job=$(as root squeue -h -t COMPLETED -n environment.sh -o %A) &&
	output "$job" | sed "s/$cluster/CLUSTER/" |
		grep -vE '^[a-z]+: \w+(PID|PORT|TIME|COMM_HOST|SLUID)=' \
			>"$1" &&
	grep -q "^batch: SLURM_JOB_ID=" "$1" &&
	grep -q "^step: SLURM_JOB_ID=" "$1"
}

compare_with_stock()
{
	test_expect_success "$version: jobs of many shapes start on the stock and the EGS cluster" '
		in_parallel "stock egs" many_jobs_start
	'
	test_expect_success "$version: both clusters choose the same nodes and GPUs" '
		wait_until 60 "both have the same records" same_records &&
		grep "GRES=gpu:a100:1(IDX:" want
	'
	test_expect_success "$version: jobs see the same environment on both clusters" '
		on stock environment want && on egs environment got &&
		test_cmp want got
	'
	test_expect_success "$version: impossible jobs are refused with the same words on both clusters" '
		on stock many_jobs_are_refused want &&
		on egs many_jobs_are_refused got &&
		test_cmp want got
	'
	test_expect_success "$version: the invariants hold on both clusters" '
		on stock invariants_hold && on egs invariants_hold
	'
	test_expect_success "$version: EGS adds no error to the log of slurmctld" '
		on egs no_more_errors_than stock
	'
	test_expect_success "$version: jobs survive a reconfigure the same way on both clusters" '
		in_parallel "stock egs" wait_nodes_after as root scontrol reconfigure &&
		wait_until 60 "both have the same records" same_records
	'
	test_expect_success "$version: jobs survive a restart of slurmctld the same way on both clusters" '
		in_parallel "stock egs" restart_slurmctld &&
		on egs invariants_hold &&
		wait_until 60 "both have the same records" same_records
	'
	test_expect_success "$version: jobs end the same way on both clusters" '
		in_parallel "stock egs" all_jobs_end &&
		wait_until 60 "both have the same records" same_records
	'
}

# The edits of an administrator who removes EGS.
remove_egs()
{
	cp "$conf/slurm.conf" "$conf/plugstack.conf" . &&
	sed -i -e /^PluginDir=/d -e /^JobSubmitPlugins=/d \
		-e s,select/cons_tres_egs,select/cons_tres, "$conf/slurm.conf" &&
	sed -i 's/$/ inert/' "$conf/plugstack.conf"
}

bring_egs_back()
{
	cp slurm.conf plugstack.conf "$conf"
}

# gpus_of JOB: where it is and on which GPUs.
gpus_of()
{
	as root scontrol show job -d "$1" | grep ' GRES='
}

remove_and_reinstall()
{
	# The new slurmctld contacts nodes that still have the old slurm.conf.
	allow_error "^error: Node n. appears to have a different slurm.conf"
	test_expect_success "$version: EGS can be removed while a job runs" '
		as alice rm go &&
		job=$(submit --phase=train --gres=gpu:a100:2 hold.sh) &&
		wait_state $job RUNNING &&
		gpus_of $job >gpus &&
		stamp=$(job_field $job AdminComment) && test -n "$stamp" &&
		remove_egs && restart_daemons &&
		as root scontrol show config | grep -i "JobSubmitPlugins *= (null)"
	'
	test_expect_success "$version: the running job keeps its GPUs without EGS" '
		job_is $job RUNNING && invariants_hold &&
		gpus_of $job >got && test_cmp gpus got
	'
	test_expect_success "$version: scripts with a hint run without EGS" '
		other=$(submit infer.sh) &&
		another=$(submit --user=bob --phase=anything say.sh) &&
		wait_state $other COMPLETED &&
		output $other | grep -x phase=none &&
		wait_state $another COMPLETED &&
		output $another | grep "batch: phase=none" &&
		output $another | grep "step: phase=none" &&
		test -z "$(job_field $other AdminComment)"
	'
	test_expect_success "$version: EGS reinstalled finds the stamp of the running job" '
		bring_egs_back && restart_daemons &&
		job_is $job RUNNING &&
		test "$(job_field $job AdminComment)" = "$stamp" &&
		gpus_of $job >got && test_cmp gpus got &&
		new=$(submit infer.sh) &&
		wait_state $new COMPLETED &&
		output $new | grep -x phase=infer &&
		job_field $new AdminComment | grep "egs:1;phase=infer"
	'
	test_expect_success "$version: the job that ran through both changes completes" '
		as alice touch go &&
		wait_state $job COMPLETED
	'
}

for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" name=stock stock nodes=2 gpus=4
	cluster_up slurm="$version" name=egs nodes=2 gpus=4
	conf=$EGS_SANDBOX_DIR/$cluster/etc/slurm
	compare_with_stock
	# Without plugins in slurmctld there is only SPANK to remove.
	! has_plugins "$version" || remove_and_reinstall
	on stock cluster_down
	on egs cluster_down
done
cluster_done
