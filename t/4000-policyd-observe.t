#!/bin/bash
# 4000-policyd-observe.t - egs-policyd in observe mode over the work of three users
# long: 120 s, three clusters one after the other
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='egs-policyd in observe mode: its numbers, commands and restarts'
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

# running_jobs: "START ID USER GPUS" of each, from scontrol.
running_jobs()
{
	jobs_that_are RUNNING
}

# jobs_that_are STATE: the same for jobs in another state.
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

# reckon RED BLUE: apply the rules with these quotas: a job that starts within
# its team's quota is owned, the rest is on loan.  Writes the file teams and,
# for each job, the sentence that egs why must print.
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

# reckon_waiting QUOTA: the same for the only pending job, of team red, with the
# files of 'reckon'.
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

# why_agrees USER JOB: egs why prints the sentence of 'reckon'.
why_agrees()
{
	as "$1" egs why "$2" >all && grep -v -e ^start: -e ^end: -e "^run time:" all >got &&
	test_cmp "why.$2" got
}

# seen USER JOB WORDS: wait until egs why prints WORDS.
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

check_explanations()
{
	test_expect_success "$version: egs-policyd is up, in observe mode" '
		wait_until 60 "egs-policyd has seen Slurm" \
			pings "slurmctld up" &&
		grep "mode observe" pong
	'
	test_expect_success "$version: egs why explains the jobs of three users" '
		a=$(submit --user=alice --gres=gpu:a100:2 hold.sh) &&
		wait_state $a RUNNING &&
		seen alice $a "within quota (red" &&
		b=$(submit --user=bob --gres=gpu:a100:4 hold.sh) &&
		wait_state $b RUNNING &&
		seen bob $b "within quota (blue" &&
		c=$(submit --user=carol --gres=gpu:a100:2 hold.sh) &&
		wait_state $c RUNNING && seen carol $c "on loan" &&
		d=$(submit --user=alice --gres=gpu:a100:4 hold.sh) &&
		seen alice $d "may not preempt the other jobs"
	'
	test_expect_success "$version: the numbers of egs why and egsctl agree with scontrol" '
		reckon 4 4 && reckon_waiting 4 &&
		test "$(wc -l <running)" -eq 3 &&
		wait_until 60 "egsctl show teams agrees" teams_are &&
		for job in "alice $a" "bob $b" "carol $c" "alice $d"; do
			wait_until 60 "egs why agrees" \
				why_agrees $job || return 1
		done
	'
	test_expect_success "$version: egs why shows the start time that Slurm expects" '
		grep "^start: " - <<-END &&
		$(as alice egs why $d)
		END
		e=$(submit --user=alice --gres=gpu:1 --begin=now+1hour hold.sh) &&
		seen alice $e "start: $(job_field $e StartTime) by Slurm" &&
		as root scancel $e &&
		wait_until 60 "job $e is removed" not_known $e
	'
	test_expect_success "$version: egs why tells how a job has ended" '
		e=$(submit --user=alice --wrap=true) &&
		seen alice $e ": COMPLETED; its last run took" &&
		grep "^job $e: ended at " got &&
		as alice egs why --json $e >got &&
		grep "\"job\": *$e\b" got &&
		test_must_fail as carol egs why $e 2>err &&
		grep "job $e is not yours" err
	'
	test_expect_success "$version: egs why names the reason of Slurm for a held job" '
		e=$(submit --user=alice --gres=gpu:1 --hold hold.sh) &&
		seen alice $e "reason: JobHeldUser" &&
		as root scancel $e &&
		wait_until 60 "job $e is removed" not_known $e
	'
	test_expect_success "$version: egsctl show nodes agrees with scontrol" '
		as root egsctl show nodes -nP -o node,gpus,used >got &&
		for n in n1 n2; do
			printf "%s|4|%s\n" $n "$(node_field $n GresUsed |
				sed "s/.*:\([0-9]*\)(.*/\1/")"
		done >want &&
		test_cmp want got
	'
	test_expect_success "$version: users see only their own jobs" '
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
	test_expect_success "$version: over TCP the MUNGE user and the cluster name decide" '
		as carol egs --socket=localhost:6830 why $c >got &&
		test_cmp why.$c got &&
		test_must_fail as carol egs --socket=localhost:6830 why $a &&
		test_must_fail as root egsctl --socket=localhost:6830 \
			-M elsewhere ping 2>err &&
		grep "meant for another daemon" err
	'
	test_expect_success "$version: only operators may pause EGS or update a job" '
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

# usage_is_kept: no team has used less than the file 'usage' says.
usage_is_kept()
{
	as root egsctl show teams -nP -o team,usage >got &&
	cat usage got &&
	awk -F'|' '
		NR == FNR { was[$1] = $2; next }
		was[$1] > 1000 && $2 >= was[$1] * 0.99 { n++ }
		END { exit n != 2 }' usage got
}

check_restarts()
{
	test_expect_success "$version: operators pause EGS, change the mode and update a job" '
		as root egsctl pause --reason="NFS incident" &&
		as root egsctl mode enforce --reason="two weeks are over" &&
		as root egsctl update job=$d tier=prod --reason="release Friday"
	'
	test_expect_success "$version: egsctl shows the same from the daemon and from egs.conf" '
		for what in tiers config; do
			as root egsctl show $what >got &&
			as root egsctl show $what /etc/slurm/egs.conf >want &&
			test_cmp want got || return 1
		done &&
		as root egsctl show teams -nP -o team,usage >usage
	'
	test_expect_success "$version: no job ends when egs-policyd is killed" '
		as root kill -9 $(policyd_pid) &&
		wait_until 60 "egs-policyd is gone" policyd_gone &&
		test_expect_code 2 as alice egs why $a &&
		for job in $a $b $c; do
			job_is $job RUNNING || return 1
		done
	'
	test_expect_success "$version: a restarted egs-policyd has the same mode, pause, tiers and usage" '
		run_policyd &&
		grep "mode enforce, paused (NFS incident)" pong &&
		seen alice $d "EGS is paused: NFS incident" &&
		grep "tier=prod by root: release Friday" got &&
		as root egsctl show jobs -nP -o jobid,tier >got &&
		grep "^$d|prod\$" got &&
		reckon 4 4 && teams_are && usage_is_kept &&
		as root egsctl unpause &&
		as root egsctl mode observe --reason="one more week" &&
		pings "mode observe, slurmctld up"
	'
	test_expect_success "$version: a second egs-policyd refuses to start" '
		test_must_fail as root setpriv --reuid=slurm --regid=slurm \
			--clear-groups /opt/egs/sbin/egs-policyd 2>err &&
		grep "another egs-policyd is running" err
	'
	test_expect_success "$version: a mistake in egs.conf keeps the old file in force" '
		allow_error "^error: egs: /etc/slurm/egs.conf:6: Team=red is given twice" &&
		echo "Team=red Qouta=9" >>"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "egs.conf:6" err &&
		policyd_log | grep "the previous configuration stays in force" &&
		teams_are
	'
	test_expect_success "$version: several mistakes in egs.conf are counted, and all are logged" '
		printf "%s\n" Mode=maybe Prot=1 >>"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "previous configuration stays in force: 4 mistakes, the first: .*egs.conf:6" err &&
		policyd_log | grep "error: .*egs.conf:8: Prot=1" &&
		teams_are
	'
	test_expect_success "$version: quotas beyond the GPUs of the cluster are refused" '
		write_conf 6 4 >"$conf" &&
		test_must_fail as root egsctl reconfigure 2>err &&
		grep "stays in force: .*egs.conf: the quotas of all teams add up to 10 a100 GPUs, but the cluster has 8" err &&
		teams_are
	'
	test_expect_success "$version: a corrected egs.conf is in force after SIGHUP" '
		write_conf 2 6 >"$conf" &&
		as root kill -HUP $(policyd_pid) &&
		reckon 2 6 &&
		wait_until 60 "the new quotas are in force" teams_are
	'
	test_expect_success "$version: egs-policyd reconnects to a restarted slurmctld" '
		restart_slurmctld &&
		wait_until 60 "egs-policyd has polled slurmctld" \
			pings "slurmctld up" &&
		wait_until 60 "the teams have their old numbers" teams_are
	'
	test_expect_success "$version: egs-policyd removes ended jobs" '
		as root scancel $a $b $c $d &&
		wait_queue_empty &&
		: >want &&
		wait_until 60 "no job is known" no_job_is_known
	'
	test_expect_success "$version: egs-policyd ends on SIGTERM without an error in its log" '
		as root kill $(policyd_pid) &&
		wait_until 60 "egs-policyd is gone" policyd_gone &&
		policyd_log | tail -n 1 | grep "stops, signal 15" &&
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
	check_explanations
	check_restarts
	cluster_down
done
cluster_done
