#!/bin/bash
# 4200-doctor.t - egsctl doctor on a good cluster, and on a bad one
# long: 40 s, one cluster with slurmdbd
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='egsctl doctor says what to add, to change, to worry about'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >egs.conf <<-'EOF'
TierOrder=prod,research
Team=fraud Accounts=fraud* Quota=a100:2 DefaultTier=research
EOF
cluster_up dbd nodes=1 gpus=2 egs-conf="$PWD/egs.conf"
etc=$EGS_SANDBOX_DIR/$cluster/etc/slurm

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

test_expect_success 'doctor is content with a cluster as in etc/slurm.conf.snippet' '
	wait_policyd slurmctld up &&
	doctor 0 &&
	! grep -E "^(add|change)" advice &&
	advises "fine +slurmctld is .*, EGS was built for it" &&
	advises "fine +munged answers" &&
	advises "fine +egs-policyd .* is up: .*"
'
test_expect_success 'doctor names accounts in no team and limits besides quotas' '
	advises "worry +accounts in no team.*: teaching, vision" &&
	as root sacctmgr -i modify account fraud set GrpTRES=gres/gpu=1 &&
	doctor 0 &&
	advises "worry +account fraud has GrpTRES=gres/gpu=1 besides .*team fraud.*"
'
test_expect_success 'doctor worries about ports of root that users can have' '
	! grep ip_unprivileged advice &&
	as root sysctl -qw net.ipv4.ip_unprivileged_port_start=80 &&
	doctor 0 &&
	advises "worry +net.ipv4.ip_unprivileged_port_start=80 on this host: .*" &&
	as root sysctl -qw net.ipv4.ip_unprivileged_port_start=1024
'
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

test_expect_success "a user with AdminLevel=Operator in Slurm is an operator of EGS" '
	bob_is_refused &&
	as root sacctmgr -i modify user bob set adminlevel=operator &&
	wait_until 60 "bob is an operator" bob_pauses &&
	as bob egsctl unpause &&
	as root sacctmgr -i modify user bob set adminlevel=none &&
	wait_until 60 "bob is no operator" bob_is_refused
'
test_expect_success 'doctor misses a daemon that has ended' '
	stop_policyd TERM &&
	doctor 1 &&
	advises "add +egs-policyd on the host of slurmctld: .*"
'
test_expect_success 'doctor --preflight does not miss the daemon' '
	doctor 0 --preflight
'
test_expect_success 'doctor wants a required plugin and a bad egs.conf changed' '
	sed -i s/optional/required/ "$etc/plugstack.conf" &&
	allow_error "^error: egs: /etc/slurm/egs.conf:3: Team=fraud is given twice" &&
	echo "Team=fraud Qouta=3" >>"$etc/egs.conf" &&
	doctor 1 &&
	advises "change +plugstack.conf: required .*" &&
	advises "change +.*egs.conf:3: .*" &&
	sed -i s/required/optional/ "$etc/plugstack.conf" &&
	cp egs.conf "$etc/egs.conf"
'
test_expect_success 'doctor checks the values of slurmctld, not of slurm.conf' '
	cp "$etc/slurm.conf" slurm.conf &&
	sed -i s/^SlurmctldParameters=.*// "$etc/slurm.conf" &&
	policyd_up &&
	doctor 0 &&
	as root scontrol reconfigure &&
	wait_until 60 "doctor misses the line" doctor 1 &&
	advises "add +SlurmctldParameters=preempt_send_user_signal"
'
test_expect_success 'doctor is content when the line is back' '
	cat slurm.conf >"$etc/slurm.conf" &&
	as root scontrol reconfigure &&
	wait_until 60 "doctor finds the line" doctor 0
'
test_expect_success 'doctor fails without slurmctld' '
	pid=$(as root cat /run/slurm/slurmctld.pid) &&
	as root kill $pid &&
	wait_until 60 "slurmctld is gone" process_gone $pid &&
	doctor 1 &&
	advises "change +scontrol show config fails.*" &&
	wait_nodes_after as root slurmctld
'
cluster_done
