#!/bin/bash
# 4200-doctor.t - egsctl doctor, check and reconfigure on good and bad clusters
# long: 140 s, three clusters with slurmdbd, one after the other
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='egsctl tells what is wrong with slurm.conf, egs.conf and the cluster'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"

cat >egs.conf <<-'EOF'
TierOrder=prod,research
Team=fraud Accounts=fraud* Quota=a100:4,h100:2 DefaultTier=research
EOF

# doctor STATUS [OPTION]...: run egsctl doctor, its output in 'advice'
doctor()
{
	test_expect_code "$1" as root egsctl doctor "${@:2}" >advice 2>&1 ||
		{ cat advice; return 1; }
}

# advises REGEX: a line of the last advice matches.
advises()
{
	grep -xE "$1" advice || { cat advice; return 1; }
}

# slurmctld gets operators from slurmdbd, a moment later.
bob_pauses()
{
	as root egsctl reconfigure && as bob egsctl pause --reason=mine
}

bob_is_refused()
{
	as root egsctl reconfigure &&
	! as bob egsctl pause --reason=mine 2>err &&
	grep "for operators" err
}

# signal_key: the line of slurm.conf that this Slurm needs for the signal
signal_key()
{
	case $version in
	22.05) echo SlurmctldParameters ;;
	*) echo PreemptParameters ;;
	esac
}

slurmctld_is_gone()
{
	! as root pgrep -x slurmctld >/dev/null
}

# The settings of slurm.conf; where plugins for slurmctld were built.
check_settings()
{
	test_expect_success "$version: doctor is content with a cluster as in etc/slurm.conf.snippet" '
		wait_policyd slurmctld up &&
		doctor 0 &&
		! grep -E "^(add|change)" advice &&
		advises "fine +slurmctld is .*, EGS was built for it" &&
		advises "fine +munged answers" &&
		advises "fine +egs-policyd .* is up: .*"
	'
	test_expect_success "$version: doctor names accounts in no team and limits besides quotas" '
		advises "worry +accounts in no team.*: teaching, vision" &&
		as root sacctmgr -i modify account fraud set GrpTRES=gres/gpu=1 &&
		doctor 0 &&
		advises "worry +account fraud has GrpTRES=gres/gpu=1 besides .*team fraud.*" &&
		as root sacctmgr -i modify account fraud set GrpTRES=gres/gpu=-1
	'
	test_expect_success "$version: doctor worries about ports of root that users can have" '
		! grep ip_unprivileged advice &&
		as root sysctl -qw net.ipv4.ip_unprivileged_port_start=80 &&
		doctor 0 &&
		advises "worry +net.ipv4.ip_unprivileged_port_start=80 on this host: .*" &&
		as root sysctl -qw net.ipv4.ip_unprivileged_port_start=1024
	'
	test_expect_success "$version: a user with AdminLevel=Operator in Slurm is an operator of EGS" '
		bob_is_refused &&
		as root sacctmgr -i modify user bob set adminlevel=operator &&
		wait_until 60 "bob is an operator" bob_pauses &&
		as bob egsctl unpause &&
		as root sacctmgr -i modify user bob set adminlevel=none &&
		wait_until 60 "bob is no operator" bob_is_refused
	'
	test_expect_success "$version: doctor misses a daemon that has ended" '
		stop_policyd TERM &&
		doctor 1 &&
		advises "add +egs-policyd on the host of slurmctld: .*"
	'
	test_expect_success "$version: doctor --preflight does not miss the daemon" '
		doctor 0 --preflight
	'
	test_expect_success "$version: doctor wants a required plugin and a bad egs.conf changed" '
		sed -i s/optional/required/ "$etc/plugstack.conf" &&
		allow_error "^error: egs: /etc/slurm/egs.conf:3: Team=fraud is given twice" &&
		echo "Team=fraud Qouta=3" >>"$etc/egs.conf" &&
		doctor 1 &&
		advises "change +plugstack.conf: required .*" &&
		advises "change +.*egs.conf:3: Team=fraud is given twice.*" &&
		advises "change +.*egs.conf:3: Team=fraud: Qouta=3 is not a key.*" &&
		sed -i s/required/optional/ "$etc/plugstack.conf" &&
		cp egs.conf "$etc/egs.conf"
	'
	test_expect_success "$version: doctor checks the values of slurmctld, not of slurm.conf" '
		cp "$etc/slurm.conf" slurm.conf &&
		sed -i "s/^$(signal_key)=.*//" "$etc/slurm.conf" &&
		policyd_up &&
		doctor 0 &&
		wait_nodes_after as root scontrol reconfigure &&
		wait_until 60 "doctor misses the line" doctor 1 &&
		advises "add +$(signal_key)=.*send_user_signal"
	'
	test_expect_success "$version: doctor is content when the line is back" '
		cat slurm.conf >"$etc/slurm.conf" &&
		wait_nodes_after as root scontrol reconfigure &&
		wait_until 60 "doctor finds the line" doctor 0
	'
}

# write_conf LINE...: egs.conf with these lines more
write_conf()
{
	{ cat egs.conf && printf "%s\n" "$@"; } >"$etc/egs.conf"
}

# all_refuse REGEX: check, doctor and reconfigure refuse the file with it.
all_refuse()
{
	test_must_fail as root egsctl check 2>err &&
	grep "$1" err &&
	doctor 1 --preflight && grep "^change .*$1" advice &&
	test_must_fail as root egsctl reconfigure 2>err &&
	grep "stays in force: /etc/slurm/egs.conf.*$1" err
}

# all_warn REGEX: they accept the file with a warning.
all_warn()
{
	as root egsctl check 2>err &&
	grep "^warning: .*$1" err &&
	{ as root egsctl doctor --preflight >advice 2>&1 || :; } &&
	grep "^worry .*$1" advice &&
	as root egsctl reconfigure >out &&
	grep -x "egs.conf is in force" out &&
	grep "^warning_[0-9]*=.*$1" out
}

qos_is_known()
{
	as root egsctl reconfigure >out && ! grep QOS out
}

check_judgement()
{
	test_expect_success "$version: check and reconfigure accept a file that fits the cluster" '
		wait_policyd slurmctld up &&
		write_conf "Operators=alice" "Partitions=gpu,serve,scavenge" \
			"Tier=research Qos=normal Nodes=n[1-2]" &&
		as root egsctl check >out 2>err &&
		test_must_be_empty err &&
		test "$(wc -l <out)" = 1 &&
		as root egsctl reconfigure >out &&
		echo "egs.conf is in force" >want &&
		test_cmp want out
	'
	test_expect_success "$version: quotas of each GPU type are compared with the GPUs of that type" '
		write_conf "Team=b Accounts=b Quota=h100:1" &&
		all_refuse "the quotas of all teams add up to 3 h100 GPUs, but the cluster has 2" &&
		write_conf "Team=b Accounts=b Quota=a100:3" &&
		all_refuse "the quotas of all teams add up to 7 a100 GPUs, but the cluster has 6" &&
		write_conf "Team=b Accounts=b Quota=a100:2" &&
		as root egsctl reconfigure &&
		as root egsctl show teams -nP -o team,type,quota,quota_now >out &&
		printf "%s\n" "fraud|a100|4|4" "fraud|h100|2|2" "b|a100|2|2" >want &&
		test_cmp want out
	'
	test_expect_success "$version: a quota of a GPU type that no node has is refused" '
		write_conf "Team=b Accounts=b Quota=v100:1" &&
		all_refuse "Quota=v100:1 has the GPU type .v100., which no node has (a100, h100)"
	'
	test_expect_success "$version: nodes that do not exist are refused with Spill=no" '
		write_conf "Phase=infer Nodes=gpu[1-4] Spill=no" &&
		all_refuse "names no node of the cluster; with Spill=no its jobs would wait for ever" &&
		write_conf "Phase=infer Nodes=gpu[1-4]" &&
		all_warn "names no node of the cluster; its jobs use all nodes"
	'
	test_expect_success "$version: unknown partitions, QOS, operators and phases are warnings" '
		write_conf "Partitions=gpu,server" "Operators=hpcadmin" \
			"Tier=research Qos=nromal" "Phase=trian" &&
		all_warn "which is not a partition; did you mean .serve.?" &&
		all_warn "which is not a user of this host" &&
		all_warn "which is not a QOS; did you mean .normal.?" &&
		all_warn "did you mean .train.?"
	'
	test_expect_success "$version: a QOS is known as soon as slurmctld has it" '
		as root sacctmgr -i add qos nromal &&
		wait_until 60 "the QOS is no mistake" qos_is_known &&
		as root sacctmgr -i delete qos nromal
	'
	test_expect_success "$version: an empty file is refused while egs-policyd enforces" '
		as root egsctl mode enforce --reason=test &&
		: >"$etc/egs.conf" &&
		all_refuse "TierOrder= is missing, so no job would be managed in enforce mode" &&
		as root egsctl mode file --reason=test &&
		all_warn "TierOrder= is missing, so no job is managed"
	'
}

# Nodes= with Spill=no hold a job only if select/egs applies them, once
# egs-policyd knows the job.
check_why()
{
	test_expect_success "$version: egs why names the nodes to which Spill=no binds a job" '
		write_conf Mode=enforce "Phase=infer Nodes=n1 Spill=no" &&
		as root egsctl reconfigure &&
		first=$(submit --account=fraud --phase=infer --gres=gpu:a100:4 hold.sh) &&
		wait_state "$first" RUNNING &&
		second=$(submit -H --account=fraud --phase=infer --gres=gpu:a100:1 hold.sh) &&
		wait_until 60 "egs-policyd knows job $second" lists alice "$second" &&
		as alice scontrol release "$second" &&
		wait_why alice "$second" "waiting for 1 a100 on loan; phase infer runs only on n1 (Spill=no), where 0 of 4 are free" &&
		expect_pending_after_scheduling "$second" &&
		as root scancel "$first" "$second" && wait_queue_empty
	'
	test_expect_success "$version: egs why counts the GPUs of one type on a node with two" '
		write_conf Mode=enforce &&
		as root egsctl reconfigure &&
		first=$(submit --account=fraud --gres=gpu:h100:2 hold.sh) &&
		wait_state "$first" RUNNING &&
		wait_why alice "$first" "running on 2 h100 within quota (fraud uses 2 of 2, " &&
		second=$(submit --account=fraud --gres=gpu:h100:1 hold.sh) &&
		wait_why alice "$second" "waiting for 1 h100 on loan; 0 of 2 are free, and it may not preempt the other jobs" &&
		as root scancel "$first" "$second" && wait_queue_empty
	'
}

# lists USER JOB: the user may abort the job, as slurmctld knows by slurmdbd
lists()
{
	as root egsctl reconfigure && as "$1" egsctl abort job="$2" --dry-run 2>err
}

is_refused()
{
	as root egsctl reconfigure &&
	! as "$1" egsctl abort job="$2" --dry-run 2>err &&
	grep "job $2 is not yours" err
}

# cannot_release JOB: egs-policyd knows that an operator holds it.
cannot_release()
{
	as root egsctl reconfigure &&
	! as carol egsctl release job="$1" --reason=go --dry-run 2>err &&
	grep "is held by an operator" err
}

check_leads()
{
	test_expect_success "$version: a coordinator of the job's account in a team may abort a job, and no other user" '
		as root sacctmgr -i add coordinator account=fraud names=carol &&
		as root sacctmgr -i add coordinator account=vision names=dave &&
		job=$(submit --account=fraud --gres=gpu:a100:1 hold.sh) &&
		wait_state "$job" RUNNING &&
		wait_why alice "$job" "within quota" &&
		wait_until 60 "carol leads fraud" lists carol "$job" &&
		is_refused dave "$job" && is_refused bob "$job" &&
		other=$(submit --user=bob --account=vision hold.sh) &&
		wait_state "$other" RUNNING &&
		wait_until 60 "root may abort job $other" lists root "$other" &&
		is_refused dave "$other" && is_refused carol "$other" &&
		as carol egsctl update job="$job" tier=prod --reason=demo &&
		test_must_fail as dave egsctl preempt "$job" --reason=mine 2>err &&
		grep "job $job: that is for operators, and for coordinators" err &&
		as carol egsctl abort job="$job" --checkpoint=skip --reason="wrong data" &&
		wait_state "$job" CANCELLED && job_is "$other" RUNNING
	'
	test_expect_success "$version: a coordinator holds and releases jobs of the account, but no job that an operator holds" '
		job=$(submit --account=fraud --begin=now+1hour --gres=gpu:a100:1 hold.sh) &&
		wait_until 60 "carol sees job $job" lists carol "$job" &&
		as carol egsctl hold job="$job" --reason=wait &&
		wait_until 60 "job $job is held" has_reason "$job" JobHeldUser &&
		as root scontrol hold "$job" &&
		wait_until 60 "job $job is held by an operator" has_reason "$job" JobHeldAdmin &&
		wait_until 60 "carol cannot release job $job" cannot_release "$job" &&
		test_must_fail as carol egsctl release job="$job" --reason=go 2>err &&
		grep "is held by an operator" err &&
		as root scancel "$job" "$other" && wait_queue_empty
	'
	test_expect_success "$version: a user who coordinates no account any more is no lead" '
		as root sacctmgr -i delete coordinator account=fraud names=carol &&
		job=$(submit --account=fraud --gres=gpu:a100:1 hold.sh) &&
		wait_state "$job" RUNNING &&
		wait_until 60 "root may abort job $job" lists root "$job" &&
		wait_until 60 "carol is refused" is_refused carol "$job" &&
		as root scancel "$job" && wait_queue_empty
	'
}

has_reason()
{
	[ "$(job_field "$1" Reason)" = "$2" ]
}

check_without_slurmctld()
{
	test_expect_success "$version: without slurmctld doctor fails, and check tells what it did not ask" '
		write_conf "Tier=research Qos=nromal" &&
		as root kill $(as root cat /run/slurm/slurmctld.pid) &&
		wait_until 60 "slurmctld is gone" slurmctld_is_gone &&
		doctor 1 &&
		advises "change +scontrol show config fails.*" &&
		as root egsctl check >out &&
		grep -x "not checked, as Slurm did not tell: GPUs, QOS" out &&
		wait_nodes_after as root slurmctld
	'
}

for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" dbd nodes=2 gpus=4 type=a100,a100+h100 \
		egs-conf="$PWD/egs.conf"
	etc=$EGS_SANDBOX_DIR/$cluster/etc/slurm
	! has_plugins "$version" || check_settings
	check_judgement
	! has_plugins "$version" || check_why
	! has_plugins "$version" || check_leads
	check_without_slurmctld
	cluster_down
done
cluster_done
