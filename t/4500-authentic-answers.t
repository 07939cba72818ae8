#!/bin/bash
# 4500-authentic-answers.t - a user listens on the port of egs-policyd and lies
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='nodes and commands believe egs-policyd and nobody else'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
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
END

# noded_logs NODE: the log of its egs-noded
noded_logs()
{
	as root cat "/var/log/egs-noded-$1.log"
}

noded_logged()
{
	noded_logs "$1" | grep -qE "$2"
}

# both_logged REGEX: egs-noded of both nodes has logged this
both_logged()
{
	noded_logged n1 "$1" && noded_logged n2 "$1"
}

start_job()
{
	job=$(submit -N2 --partition=scavenge --ckpt=cmd:./save \
		--gres=gpu:a100:2 rundir.sh) &&
	wait_state "$job" RUNNING &&
	wait_until 60 "job $job has run on both nodes" says_where "$job"
}

says_where()
{
	[ "$(output "$1" | grep -c "^n[12] ")" = 2 ]
}

# start_liar: bob takes the port, until stop_liar
start_liar()
{
	as bob sh -c 'printf "#!/bin/sh\nid >/tmp/pwned\n" >pwn.sh &&
		chmod 755 pwn.sh && rm -f asked' &&
	{ as bob /srv/egs/t/lib/fake/hostile-policyd 6827 \
		"egs-policyd:$(cluster_id)" asked "$job" \
		"$(as alice id -u)" /home/bob/pwn.sh & } &&
	liar_pid=$! &&
	wait_until 60 "bob has the port" port_is_taken
}

stop_liar()
{
	as root pkill -x hostile && { wait "$liar_pid" || :; }
}

cluster_id()
{
	as root scontrol show config |
		sed -n 's/^ClusterName *= *//p' | tr '[:upper:]' '[:lower:]'
}

# lied VERB COUNT: each kind of lie was told so often
lied()
{
	local how

	for how in plain refusal munge; do
		[ "$(as bob grep -c "^$1 $how" asked)" -ge "$2" ] || return 1
	done
}

# rundirs_of_job: the files in the run directories of the job
rundirs_of_job()
{
	as root find "$(rundir n1 "$job")" "$(rundir n2 "$job")" -type f \
		-printf '%p %s %T@\n' | sort
}

check_nodes()
{
	test_expect_success "$version: each node logs which daemon it trusts and why" '
		start_job &&
		wait_until 60 "both nodes trust the daemon" both_logged \
			"egs-policyd at .*:6827: trusted, .* of uid $(as root \
			id -u slurm) \(SlurmUser slurm\)"
	'
	test_expect_success "$version: nodes ask the liar while the daemon is away" '
		stop_policyd KILL && rundirs_of_job >before && start_liar &&
		wait_until 120 "bob has lied to nodes in every way" \
			lied node-wait 2
	'
	test_expect_success "$version: no lie changes a run directory or runs a program" '
		rundirs_of_job >after && test_cmp before after &&
		as root test ! -e /tmp/pwned &&
		test "$(job_field "$job" JobState)" = RUNNING
	'
	test_expect_success "$version: each node logs once that the answer is not authentic" '
		wait_until 60 "both nodes have logged it" \
			both_logged "not authentic" &&
		for node in n1 n2; do
			noded_logs "$node" >log &&
			test "$(grep -c "not authentic" log)" = 1 ||
				return 1
		done &&
		test_must_fail grep -P "[^\t\n\x20-\x7e]" log
	'
}

# run_in_job WORD...: egs in the name of the job, from the port
run_in_job()
{
	as alice env SLURM_JOB_ID="$job" SLURM_RESTART_COUNT=0 \
		/opt/egs/bin/egs --socket=127.0.0.1:6827 "$@"
}

check_commands()
{
	test_expect_success "$version: egs phase exports nothing that a liar says" '
		for i in 1 2 3; do
			test_expect_code 2 run_in_job phase infer >out 2>err &&
			echo "(exit 2)" >want && test_cmp want out &&
			grep "not authentic" err || return 1
		done &&
		as bob grep "^phase munge" asked
	'
	test_expect_success "$version: egs why and egsctl print no control character of a liar" '
		for i in 1 2 3; do
			test_expect_code 2 run_in_job why "$job" >out 2>&1 &&
			test_must_fail grep -P "[^\t\n\x20-\x7e]" out &&
			test_expect_code 2 as alice egsctl ping \
				--socket=127.0.0.1:6827 >out 2>&1 &&
			test_must_fail grep -P "[^\t\n\x20-\x7e]" out &&
			grep "not authentic" out || return 1
		done
	'
	test_expect_success "$version: egsctl doctor names the port that is not the daemon'\''s" '
		test_expect_code 1 as root egsctl doctor >advice 2>&1 &&
		grep -E "^change +egs-policyd at .*:6827: .*not authentic" advice &&
		grep -E "^add +egs-policyd serves no node on port 6827" advice
	'
}

check_return()
{
	test_expect_success "$version: egs-policyd refuses to start without its port" '
		mark_policyd_log &&
		launch_policyd &&
		wait_policyd_log "port 6827: Address already in use" &&
		wait_until 60 "egs-policyd has ended" no_policyd
	'
	test_expect_success "$version: nodes return to the daemon when it has its port" '
		stop_liar && policyd_up &&
		wait_until 90 "both nodes are back" both_logged \
			"egs-policyd at .*: reachable again" &&
		test "$(job_field "$job" JobState)" = RUNNING
	'
	test_expect_success "$version: egsctl ping and doctor see the port of the daemon" '
		policyd_is port 6827 &&
		test_might_fail as root egsctl doctor >advice 2>&1 &&
		grep -E "^fine +egs-policyd at .*:6827: the answer is authentic" \
			advice &&
		as alice egsctl ping --socket=127.0.0.1:6827 | grep "port=6827"
	'
	test_expect_success "$version: the job ends as it would have" '
		as alice touch go && wait_state "$job" COMPLETED
	'
}

check_release()
{
	cluster_up slurm="$version" nodes=2 gpus=4 egs-conf="$notes/egs.conf"
	test_expect_success "$version: egs-policyd is up" '
		wait_policyd slurmctld up
	'
	check_nodes
	check_commands
	check_return
	cluster_down
}

each_version check_release
cluster_done
