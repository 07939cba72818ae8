#!/bin/bash
# 4200-doctor.t - egsctl doctor on a cluster with EGS, and on one that ails
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

# doctor STATUS [OPTION]...: what it says, in 'said_so'
doctor()
{
	test_expect_code "$1" as root egsctl doctor "${@:2}" >said_so 2>&1 ||
		{ cat said_so; return 1; }
}

says()
{
	grep -xE "$1" said_so || { cat said_so; return 1; }
}

test_expect_success 'a cluster as the snippet has it is well' '
	wait_policyd slurmctld up &&
	doctor 0 &&
	! grep -E "^(add|change)" said_so &&
	says "fine +slurmctld is .*, and so is EGS" &&
	says "fine +munged answers" &&
	says "fine +egs-policyd .* is up: .*"
'
test_expect_success 'accounts in no team are named, limits beside quotas too' '
	says "worry +accounts in no team.*: teaching, vision" &&
	as root sacctmgr -i modify account fraud set GrpTRES=gres/gpu=1 &&
	doctor 0 &&
	says "worry +account fraud has GrpTRES=gres/gpu=1 beside .*team fraud.*"
'
# What slurmctld has of them it has from slurmdbd, a moment later.
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

test_expect_success "Slurm's operators are operators, as long as they are" '
	bob_is_refused &&
	as root sacctmgr -i modify user bob set adminlevel=operator &&
	wait_until 60 "bob is an operator" bob_pauses &&
	as bob egsctl unpause &&
	as root sacctmgr -i modify user bob set adminlevel=none &&
	wait_until 60 "bob is none any more" bob_is_refused
'
test_expect_success 'a daemon that is away is missed' '
	stop_policyd TERM &&
	doctor 1 &&
	says "add +egs-policyd on the host of slurmctld: .*"
'
test_expect_success 'not before EGS is in' '
	doctor 0 --preflight
'
test_expect_success 'a required plugin and a bad egs.conf are to be changed' '
	sed -i s/optional/required/ "$etc/plugstack.conf" &&
	echo "Team=fraud Qouta=3" >>"$etc/egs.conf" &&
	doctor 1 &&
	says "change +plugstack.conf: required .*" &&
	says "change +.*egs.conf:3: .*" &&
	sed -i s/required/optional/ "$etc/plugstack.conf" &&
	cp egs.conf "$etc/egs.conf"
'
test_expect_success 'what slurmctld has in force counts, not what a file says' '
	cp "$etc/slurm.conf" slurm.conf &&
	sed -i s/^RequeueExit=.*// "$etc/slurm.conf" &&
	policyd_up &&
	doctor 0 &&
	as root scontrol reconfigure &&
	wait_until 60 "the line is missed" doctor 1 &&
	says "add +RequeueExit=99"
'
test_expect_success 'and all is well again' '
	cat slurm.conf >"$etc/slurm.conf" &&
	as root scontrol reconfigure &&
	wait_until 60 "the line is there" doctor 0
'
test_expect_success 'without slurmctld there is nothing to look at' '
	pid=$(as root cat /run/slurm/slurmctld.pid) &&
	as root kill $pid &&
	wait_until 60 "slurmctld is gone" process_gone $pid &&
	doctor 1 &&
	says "change +scontrol show config has no answer.*" &&
	wait_nodes_after as root slurmctld
'
cluster_done
