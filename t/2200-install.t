#!/bin/bash
# 2200-install.t - INSTALL.md, command by command, on a stock cluster at work
# long: 60 s, one cluster, restarted five times
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='EGS goes in and out of a cluster, and no job notices'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cluster_up stock nodes=2 gpus=4
here=$EGS_SANDBOX_DIR/$cluster
# Until slurmd has read the new file, too; and in step 1 there is no policy yet.
allow_error 'Node n[12] appears to have a different slurm.conf'
allow_error '/etc/slurm/egs.conf cannot be read: No such file'

# commands SECTION WHO: those of INSTALL.md for that host, or for every host
commands()
{
	awk -v section="$1" -v who="$2" '
	/^## / { here = index($0, section) > 0 }
	/^```/ {
		block = /^```sh / && here &&
			($2 == who || ($2 == "every" && who == "controller"))
		next
	}
	block' "$srcdir/INSTALL.md"
}

# walk SECTION WHO USER: do what the page says, and stop where it fails
walk()
{
	commands "$1" "$2" >steps && test -s steps &&
	as "$3" env PATH="/run/sandbox/bin:/opt/egs/bin:/opt/egs/sbin:$PATH" \
		bash -euc "$(cat steps)"
}

# "make install", on all hosts at once
install_files()
{
	as root mount -t tmpfs -o mode=755 opt /opt &&
	as root cp -a /srv/egs/build/22.05/inst/opt/egs /opt/ &&
	as root install -D -m 755 /srv/egs/t/lib/fake/systemctl \
		/run/sandbox/bin/systemctl &&
	as root mkdir -p /etc/systemd/system
}

# nothing_lost: the jobs of before run and wait as they did, in their first run
nothing_lost()
{
	local job

	for job in $running; do
		job_is "$job" RUNNING || return
		[ "$(job_field "$job" Restarts)" = 0 ] || return
	done
	job_is "$waiting" PENDING && job_is "$dependent" PENDING
}

# A script as users have it; it ends at once.
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

test_expect_success 'a stock cluster is at work' '
	one=$(submit --gres=gpu:a100:3 hold.sh) &&
	two=$(submit --user=bob -N2 --gres=gpu:a100:1 hold.sh) &&
	running="$one $two" &&
	for job in $running; do
		wait_state $job RUNNING || return
	done &&
	waiting=$(submit --gres=gpu:a100:4 hold.sh) &&
	dependent=$(submit --user=carol -d afterok:$one hold.sh) &&
	nothing_lost && cp "$here/etc/slurm/slurm.conf" stock.conf
'
test_expect_success 'before: nothing is in the way' '
	install_files &&
	walk "Before" controller root >said_so &&
	grep "^add .*JobSubmitPlugins=egs" said_so &&
	! grep "^change" said_so
'
test_expect_success 'step 1: users say what a job does' '
	walk "Step 1" controller root && walk "Step 1" compute root &&
	wait_nodes_after true &&
	walk "Step 1" user alice && nothing_lost
'
test_expect_success 'step 2: the daemon watches' '
	walk "Step 2" controller root >said_so &&
	cat said_so && grep "mode observe" said_so &&
	nothing_lost && wait_policyd jobs 4
'
test_expect_success 'step 3: slurmctld follows, and the doctor has no wish left' '
	walk "Step 3" controller root >said_so &&
	wait_nodes_after true &&
	! grep -E "^(add|change)" said_so &&
	as root scontrol show config | grep "PreemptType .*= preempt/egs" &&
	wait_policyd mode enforce && wait_policyd slurmctld up &&
	nothing_lost
'
test_expect_success 'scripts with and without a phase run' '
	says_phase &&
	script_runs --phase=infer && script_runs --comment=none &&
	job=$(as bob sbatch --parsable -p serve --gres=gpu:1 train.sh) &&
	wait_state $job COMPLETED &&
	job_field $job AdminComment | grep phase=train
'
test_expect_success 'the way back' '
	walk "The way back" controller root &&
	walk "The way back" compute root &&
	wait_nodes_after true &&
	no_policyd && cmp stock.conf "$here/etc/slurm/slurm.conf" &&
	as root scontrol show config | grep "PreemptType .*= preempt/none" &&
	nothing_lost
'
test_expect_success 'every script still submits' '
	script_runs --phase=infer && script_runs --comment=none &&
	job=$(as bob sbatch --parsable -p serve --gres=gpu:1 train.sh) &&
	wait_state $job COMPLETED
'
test_expect_success 'and what ran and waited comes to its end' '
	for user in alice bob carol; do
		as $user touch go || return
	done &&
	for job in $running $waiting $dependent; do
		wait_state $job COMPLETED || return
	done
'
cluster_done
