#!/bin/bash
# 2030-sandbox-dbd.t - a cluster with MariaDB and slurmdbd

# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description
test_description='a sandbox with --dbd has accounts and accounts for jobs'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"
cluster_up stock dbd nodes=2 gpus=4

# accounted JOB: slurmctld sends its records to slurmdbd with a delay
accounted()
{
	as root sacct -n -P -X -j "$1" -o user,account,state,alloctres >got &&
	grep -q COMPLETED got
}

test_expect_success 'users have the accounts of their groups' '
	as root sacctmgr -n -P show assoc format=user,account \
		where user=alice,dave | sort >got &&
	printf "%s\n" "alice|fraud" "alice|fraud-prod" "dave|teaching" >want &&
	test_cmp want got
'

test_expect_success 'sacct shows the GPUs of a job' '
	job=$(submit -A fraud-prod --gres=gpu:3 --wrap=true) &&
	wait_until 90 "job $job is accounted for" accounted "$job" &&
	grep -E "^alice\|fraud-prod\|COMPLETED\|.*gres/gpu=3" got
'

test_expect_success 'a user without -A has the default account' '
	job=$(submit --user=dave --gres=gpu:1 --wrap=true) &&
	wait_until 90 "job $job is accounted for" accounted "$job" &&
	grep -E "^dave\|teaching\|COMPLETED\|.*gres/gpu=1" got
'

cluster_done
