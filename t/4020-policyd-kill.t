#!/bin/bash
# 4020-policyd-kill.t - kill -9 of egs-policyd at any point, while users work
# long: 60 s, some hundred starts of the daemon
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='egs-policyd is killed at any point and loses nothing'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >egs.conf <<-'EOF'
TierOrder=prod,research,scavenge
PollInterval=1s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
Team=vision Users=bob,carol Quota=a100:4 DefaultTier=research
EOF
pick_version 24.11
cluster_up slurm="$version" nodes=2 gpus=8 cores=64 egs-conf="$PWD/egs.conf"
here=$EGS_SANDBOX_DIR/$cluster
# The killed daemon may be in the middle of a request to slurmctld.
allow_error '^error: slurm_receive_msg \[[0-9.:]*\]: Zero Bytes'

# kill_policyd ARGUMENT...: t/lib/check/kill-policyd inside, with its library
kill_policyd()
{
	cc -shared -fPIC -o "$here/run/sandbox/kill-at-write.so" \
		"$srcdir/t/lib/fake/kill-at-write.c" &&
	as root /srv/egs/t/lib/check/kill-policyd "$@"
}

# intend JOB WHAT: store an intent, as of a daemon that was killed before it
# acted, or before it knew that it had.
intend()
{
	local nonce

	nonce=$(job_field "$1" AdminComment | sed -n 's/.*;id=/0x/p') &&
	run_sql "INSERT INTO intent (at, nonce, job_id, restarts, action, reason)
		VALUES ($(date +%s), $nonce, $1, 0, '$2', 'a test')"
}

# Users work until there is ~/enough: some jobs run, others are cancelled, others
# are requeued.  ~/asked has the wanted "JOB STATE RESTARTS" of each.
work='
	run() { sbatch --parsable --gres=gpu:1 --wrap "exec sleep 1000"; }
	requeued() {
		for try in $(seq 300); do
			! scontrol requeuehold "$1" 2>/dev/null || return 0
			sleep 0.2
		done
		return 1
	}
	for i in 1 2 3; do
		echo "$(run) RUNNING 0" >>asked
	done
	until [ -e enough ]; do
		job=$(run) && scancel "$job" && echo "$job CANCELLED 0" >>asked
		job=$(run) && requeued "$job" && echo "$job PENDING 1" >>asked
		sleep 0.5
	done
'

users_begin()
{
	as alice sh -c "$work" &
	alice=$!
	as bob sh -c "$work" &
	bob=$!
}

users_end()
{
	as alice touch enough && as bob touch enough &&
	wait "$alice" && wait "$bob" &&
	cat first "$here"/home/*/asked | sort >asked &&
	grep " PENDING 1" asked
}

# slurm_has FILE: "JOB STATE RESTARTS" of all jobs, as Slurm has them
slurm_has()
{
	as root scontrol -o show job | sed -E \
		's/^JobId=([0-9]+).* JobState=(\w+).* Restarts=([0-9]+).*/\1 \2 \3/' |
		sort >"$1"
}

as_asked()
{
	slurm_has got && cmp asked got
}

# views_agree: Slurm and egs-policyd show the same pending and running jobs.
views_agree()
{
	as root squeue -h -t PENDING,RUNNING -o '%A|%u|%T|%b' |
		sed 's,|gres[:/]gpu:,|,' | sort >want &&
	ask_policyd show what=jobs | grep '|' |
		awk -F'|' -v OFS='|' '{ print $1, $2, $7, $8 }' | sort >got &&
	cmp want got
}

# started USER...: start a job of each, wait until it runs, print the ids
started()
{
	local user job

	for user in "$@"; do
		job=$(submit --user="$user" --gres=gpu:1 \
			--wrap "exec sleep 1000") &&
		wait_state "$job" RUNNING >&2 &&
		echo "$job RUNNING 0" >>first &&
		echo "$job" || return
	done
}

test_expect_success 'egs-policyd is killed 220 times while clients and users work' '
	started alice bob carol >jobs &&
	users_begin &&
	stop_policyd KILL &&
	kill_policyd requests 200 20 $(cat jobs) >said &&
	grep "^killed 220" said &&
	grep ^acknowledged said && grep ^unanswered said
'
test_expect_success 'every acknowledged request is in the history exactly once' '
	run_sql "SELECT reason FROM log WHERE actor = \"root\" AND reason <> \"\"" |
		sort >deeds &&
	test -z "$(uniq -d deeds)" &&
	sed -n "s/^acknowledged //p" said | sort >acknowledged &&
	sed -nE "s/^(acknowledged|unanswered) //p" said | sort >sent &&
	test -z "$(comm -23 acknowledged deeds)" &&
	test -z "$(comm -13 sent deeds)"
'
test_expect_success 'all jobs are as the users wanted them' '
	users_end &&
	wait_until 60 "jobs are as the users want them" as_asked
'
test_expect_success 'a new egs-policyd and Slurm agree about all jobs' '
	policyd_up &&
	wait_until 60 "egs-policyd and Slurm agree" views_agree
'
test_expect_success 'intents of a killed egs-policyd are carried out exactly once' '
	read -d "" -r done_already not_yet cancelled <jobs;
	ask_policyd mode mode=enforce reason=test &&
	{ policyd_is paused 0 || ask_policyd unpause; } &&
	stop_policyd KILL &&
	as alice scontrol requeuehold $done_already &&
	for job in $done_already $not_yet; do
		intend $job requeue || return
	done &&
	intend $cancelled cancel &&
	kill_policyd intents &&
	test -z "$(run_sql "SELECT id FROM intent WHERE length(outcome) = 0")" &&
	test "$(job_field $done_already Restarts)" = 1 &&
	test "$(job_field $not_yet Restarts)" = 1 &&
	wait_state $cancelled CANCELLED
'
test_expect_success 'egs-policyd and Slurm agree after the intents' '
	policyd_up &&
	wait_until 60 "egs-policyd and Slurm agree" views_agree
'
test_expect_success 'the queue is empty at the end' '
	as root scancel -p gpu &&
	wait_queue_empty
'
cluster_done
