#!/bin/bash
# 4000-policyd-observe.t - egs-policyd in observe mode over the work of three users
# long: 120 s, three clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='the daemon watches, explains, and survives what befalls it'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"

write_conf()
{
	cat <<-END
	Port=6830
	TierOrder=prod,research
	GpuType=a100
	Team=red Users=alice Quota=a100:$1 DefaultTier=research
	Team=blue Users=bob,carol Quota=a100:$2 DefaultTier=research
	END
}

# running_jobs: "START ID USER GPUS" of each, from Slurm alone.
running_jobs()
{
	jobs_that_are RUNNING
}

# jobs_that_are STATE: the same of those in another state.
jobs_that_are()
{
	as root scontrol -o show job -d | awk -v state="$1" '
		{
			gpus = 0
			for (i = 1; i <= NF; i++) {
				key = value = $i
				sub(/=.*/, "", key)
				sub(/[^=]*=/, "", value)
				sub(/\(.*/, "", value)
				field[key] = value
				if ($i !~ /^GRES=gpu|^TresPerNode=/ ||
				    (state == "RUNNING") != ($i ~ /^GRES/))
					continue
				sub(/.*:/, "", value)
				gpus += value
			}
			if (field["JobState"] == state)
				print field["StartTime"], field["JobId"],
					field["UserId"], gpus
		}' | sort -k1,1 -k2,2n
}

# reckon RED BLUE: the rules once more, with these quotas: what starts inside
# the quota is owned, the rest is on loan.  Writes teams and, for each job, its
# sentence as it must be.
reckon()
{
	running_jobs >running &&
	awk -v red="$1" -v blue="$2" '
		BEGIN { quota["red"] = red; quota["blue"] = blue }
		{
			id[NR] = $2
			team[NR] = $3 == "alice" ? "red" : "blue"
			gpus[NR] = $4
			t = team[NR]
			loan[NR] = owned[t] + $4 > quota[t]
			if (loan[NR])
				onloan[t] += $4
			else
				owned[t] += $4
		}
		END {
			for (i = 1; i <= NR; i++) {
				t = team[i]
				file = "why." id[i]
				if (loan[i])
					how = "on loan"
				else
					how = "within quota"
				printf "job %s: running on %d a100 %s " \
					"(%s uses %d of %d, and %d on loan)\n",
					id[i], gpus[i], how, t, owned[t],
					quota[t], onloan[t] >file
			}
			printf "red|%d|%d|%d\n", red, owned["red"], onloan["red"]
			printf "blue|%d|%d|%d\n", blue, owned["blue"], onloan["blue"]
		}' running >teams
}

# reckon_waiting QUOTA: the sentence of the one job that waits, of team red, from
# what 'reckon' has found.
reckon_waiting()
{
	{
		sed 's/^/holds /' running
		jobs_that_are PENDING | sed 's/^/waits /'
		sed -n 's/^red|/red /p' teams | tr '|' ' '
		as root scontrol -o show node |
			sed -n 's/.* Gres=gpu:a100:\([0-9]*\).*/node \1/p'
	} | awk -v quota="$1" '
		$1 == "node" { all += $2 }
		$1 == "red" { owned = $3 }
		$1 == "waits" { id = $3; gpus = $5 }
		$1 == "holds" {
			taken += $5
			if ($5 > most || ($5 == most && $3 < who)) {
				most = $5
				who = $3
			}
		}
		END {
			loan = owned + gpus > quota
			printf "job %d: waiting for %d a100 %s; %d of %d are " \
				"free, and it may not preempt the other jobs " \
				"(job %d holds %d; red uses %d of %d)\n",
				id, gpus, loan ? "on loan" : "within quota",
				all - taken, all, who, most, owned,
				quota >("why." id)
		}'
}

why_is()
{
	as "$1" egs why "$2" >got 2>&1
	grep -qF -e "$3" got
}

# why_agrees USER JOB: every number it says is the one reckoned here.
why_agrees()
{
	as "$1" egs why "$2" >all && grep -v ^start: all >got &&
	test_cmp "why.$2" got
}

# seen USER JOB WORDS: the daemon has seen the job, and says so.
seen()
{
	wait_until 60 "egs why $2: $3" why_is "$@" || {
		cat got
		return 1
	}
}

not_known()
{
	! as root egs why "$1" >/dev/null 2>&1
}

teams_are()
{
	as root egsctl show teams -nP -o team,quota,owned,onloan >got 2>&1
	test_cmp teams got
}

pings()
{
	as root egsctl ping >pong 2>&1 && grep -q "$1" pong
}

policyd_pid()
{
	as root sh -c 'cd /proc && grep -lsx egs-policyd [0-9]*/comm' |
		cut -d/ -f1
}

policyd_gone()
{
	[ -z "$(policyd_pid)" ]
}

run_policyd()
{
	as root sh -c 'exec setpriv --reuid=slurm --regid=slurm \
		--clear-groups /opt/egs/sbin/egs-policyd \
		</dev/null >>/var/log/egs-policyd.log 2>&1 &' &&
	wait_until 60 'egs-policyd answers' pings "slurmctld up"
}

policyd_log()
{
	cat "$EGS_SANDBOX_DIR/$cluster/log/egs-policyd.log"
}

it_explains()
{
	test_expect_success "$version: the daemon is up and observes" '
		wait_until 60 "egs-policyd has seen Slurm" pings "slurmctld up" &&
		grep "mode observe" pong
	'
	test_expect_success "$version: it sees the work of three users" '
		a=$(submit --user=alice --gres=gpu:a100:2 hold.sh) &&
		wait_state $a RUNNING && seen alice $a "within quota (red" &&
		b=$(submit --user=bob --gres=gpu:a100:4 hold.sh) &&
		wait_state $b RUNNING && seen bob $b "within quota (blue" &&
		c=$(submit --user=carol --gres=gpu:a100:2 hold.sh) &&
		wait_state $c RUNNING && seen carol $c "on loan" &&
		d=$(submit --user=alice --gres=gpu:a100:4 hold.sh) &&
		seen alice $d "may not preempt the other jobs"
	'
	test_expect_success "$version: its numbers are those of scontrol" '
		reckon 4 4 && reckon_waiting 4 &&
		test "$(wc -l <running)" -eq 3 &&
		wait_until 60 "the daemon has them" teams_are &&
		for job in "alice $a" "bob $b" "carol $c" "alice $d"; do
			wait_until 60 "egs why agrees" why_agrees $job || return 1
		done
	'
	test_expect_success "$version: when a job may start is what Slurm says" '
		grep "^start: " - <<-END &&
		$(as alice egs why $d)
		END
		e=$(submit --user=alice --gres=gpu:1 --begin=now+1hour hold.sh) &&
		seen alice $e "start: $(job_field $e StartTime) by Slurm" &&
		as root scancel $e &&
		wait_until 60 "it is gone" not_known $e
	'
	test_expect_success "$version: and so are those of the nodes" '
		as root egsctl show nodes -nP -o node,gpus,used >got &&
		for n in n1 n2; do
			printf "%s|4|%s\n" $n "$(node_field $n GresUsed |
				sed "s/.*:\([0-9]*\)(.*/\1/")"
		done >want &&
		test_cmp want got
	'
	test_expect_success "$version: users see their own jobs and no others" '
		as root egsctl show jobs -nP -o jobid | sort -n >got &&
		printf "%s\n" $a $b $c $d >want &&
		test_cmp want got &&
		as carol egsctl show jobs -nP -o jobid,user,loan >got &&
		echo "$c|carol|loan" >want &&
		test_cmp want got &&
		test_must_fail as carol egs why $a 2>err &&
		grep "job $a is not yours" err &&
		test_must_fail as carol egs why 4242 2>err &&
		grep "job 4242 is not known" err
	'
	test_expect_success "$version: over TCP, MUNGE and the cluster count" '
		as carol egs --socket=localhost:6830 why $c >got &&
		test_cmp why.$c got &&
		test_must_fail as carol egs --socket=localhost:6830 why $a &&
		test_must_fail as root egsctl --socket=localhost:6830 \
			-M elsewhere ping 2>err &&
		grep "meant for another daemon" err
	'
	test_expect_success "$version: only operators change anything" '
		test_must_fail as alice egsctl pause --reason=mine 2>err &&
		grep "operators" err &&
		test_must_fail as alice egsctl update job=$d tier=prod \
			--reason=mine &&
		pings "mode observe," &&
		test_must_fail as root egsctl update JobId=$d Tierr=prod \
			--reason=typo 2>err &&
		grep "unknown job attribute .tierr.; use tier=" err
	'
}

# usage_goes_on: what teams had used then, in 'usage', was not forgotten.
usage_goes_on()
{
	as root egsctl show teams -nP -o team,usage >got &&
	cat usage got &&
	awk -F'|' '
		NR == FNR { was[$1] = $2; next }
		was[$1] > 1000 && $2 >= was[$1] * 0.99 { n++ }
		END { exit n != 2 }' usage got
}

it_survives()
{
	test_expect_success "$version: what operators say is remembered" '
		as root egsctl pause --reason="NFS incident" &&
		as root egsctl mode enforce --reason="two weeks are over" &&
		as root egsctl update job=$d tier=prod --reason="release Friday"
	'
	test_expect_success "$version: a file and the daemon show the same" '
		for what in tiers config; do
			as root egsctl show $what >got &&
			as root egsctl show $what /etc/slurm/egs.conf >want &&
			test_cmp want got || return 1
		done &&
		as root egsctl show teams -nP -o team,usage >usage
	'
	test_expect_success "$version: it is killed, and no job notices" '
		as root kill -9 $(policyd_pid) &&
		wait_until 60 "it is gone" policyd_gone &&
		test_expect_code 2 as alice egs why $a &&
		for job in $a $b $c; do
			job_is $job RUNNING || return 1
		done
	'
	test_expect_success "$version: the next one goes on where it was" '
		run_policyd &&
		grep "mode enforce, paused (NFS incident)" pong &&
		seen alice $d "EGS is paused: NFS incident" &&
		grep "tier=prod by root: release Friday" got &&
		as root egsctl show jobs -nP -o jobid,tier >got &&
		grep "^$d|prod\$" got &&
		reckon 4 4 && teams_are && usage_goes_on &&
		as root egsctl unpause &&
		as root egsctl mode observe --reason="one more week" &&
		pings "mode observe, slurmctld up"
	'
	test_expect_success "$version: a second one is refused" '
		test_must_fail as root setpriv --reuid=slurm --regid=slurm \
			--clear-groups /opt/egs/sbin/egs-policyd 2>err &&
		grep "another egs-policyd is running" err
	'
	test_expect_success "$version: a bad file changes nothing" '
		echo "Team=red Qouta=9" >>"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "egs.conf:6" err &&
		policyd_log | grep "the previous configuration stays in force" &&
		teams_are
	'
	test_expect_success "$version: and so do several mistakes" '
		printf "%s\n" Mode=maybe Prot=1 >>"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "previous configuration stays in force: 3 mistakes, the first: .*egs.conf:6" err &&
		policyd_log | grep "error: .*egs.conf:8: Prot=1" &&
		teams_are
	'
	test_expect_success "$version: and quotas beyond the cluster" '
		write_conf 6 4 >"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "stays in force: .*egs.conf: the quotas of all teams add up to 10 a100 GPUs, but the cluster has 8" err &&
		teams_are
	'
	test_expect_success "$version: a good one is in force at once" '
		write_conf 2 6 >"$conf" &&
		as root kill -HUP $(policyd_pid) &&
		reckon 2 6 &&
		wait_until 60 "the new quotas are in force" teams_are
	'
	test_expect_success "$version: slurmctld comes and goes" '
		restart_slurmctld &&
		wait_until 60 "egs-policyd sees it" pings "slurmctld up" &&
		wait_until 60 "all is as before" teams_are
	'
	test_expect_success "$version: jobs that end are forgotten" '
		as root scancel $a $b $c $d &&
		wait_queue_empty &&
		: >want &&
		wait_until 60 "no job is known" no_job_is_known
	'
	test_expect_success "$version: it ends when it is told to" '
		as root kill $(policyd_pid) &&
		wait_until 60 "it is gone" policyd_gone &&
		policyd_log | tail -n 1 | grep "ends, signal 15" &&
		! policyd_log | grep -i -e error: -e sanitizer | grep -v egs.conf
	'
}

no_job_is_known()
{
	as root egsctl show jobs -nP -o jobid >got 2>&1 && test_cmp want got
}

write_conf 4 4 >egs.conf
for version in $EGS_TEST_VERSIONS; do
	cluster_up slurm="$version" nodes=2 gpus=4 egs-conf="$PWD/egs.conf"
	conf=$EGS_SANDBOX_DIR/$cluster/etc/slurm/egs.conf
	it_explains
	it_survives
	cluster_down
done
cluster_done
