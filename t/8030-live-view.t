#!/bin/bash
# 8030-live-view.t - Prometheus and egsctl top see a cluster at work
# long: 50 s, a cluster of one Slurm, with Prometheus
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='Prometheus and egsctl top see jobs that start, resize, are preempted and end'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"
. "$srcdir/t/lib/sh/prometheus.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,research
PollInterval=1s
SampleInterval=1s
MetricsInterval=1s
GpuType=a100
Tier=research GraceMin=1s GraceMax=10s GraceNoAck=1s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
Team=vision Users=bob Quota=a100:4 DefaultTier=research
END

# metric NAME: its value in egsctl metrics
metric()
{
	egsctl metrics | sed -n "s/^$1 //p"
}

is_measured()
{
	egsctl metrics | grep -q "^egs_daemon_slurmctld_up 1"
}

# top SIZE STEP... [-- OPTION...]: egsctl top of alice in a terminal, in $notes/top
top()
{
	local steps=("$1")

	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		steps+=("$1") && shift
	done
	"$srcdir/t/lib/check/in-terminal" "${steps[@]}" -- \
		"$srcdir/contrib/sandbox" exec "$cluster" --user=alice -- \
		/opt/egs/sbin/egsctl top "${@:2}" >"$notes/top" 2>&1
	cat "$notes/top"
	! grep -qE '^(lost|does not fit|no line matches)' "$notes/top"
}

check_metrics()
{
	test_expect_success "$version: promtool finds no fault in the metrics" '
		wait_until 60 "metrics are measured" is_measured &&
		egsctl metrics >"$notes/metrics" &&
		promtool check metrics <"$notes/metrics" >"$notes/faults" 2>&1 &&
		test_must_be_empty "$notes/faults" &&
		test "$(tail -n 1 "$notes/metrics")" = "# EOF"
	'
	test_expect_success "$version: Prometheus sees a job start, with its team and its GPUs" '
		with_driver n1 "0 busy" "0 4711" &&
		prometheus_up &&
		job=$(once_running submit -w n1 --gres=gpu:a100:2 --mem=100 hold.sh) &&
		wait_prometheus "count(egs_gpu_job{jobid=\"$job\",user=\"alice\",team=\"fraud\"})" 2 &&
		wait_prometheus "egs_team_gpus{team=\"fraud\",state=\"owned\"}" 2 &&
		wait_prometheus "sum(egs_held_idle_gpus{team=\"fraud\"})" 1
	'
	test_expect_success "$version: Prometheus sees GPUs on loan, and their owner recall them" '
		loan=$(once_running submit -w n2 --gres=gpu:a100:4 --mem=100 hold.sh) &&
		wait_prometheus "egs_team_gpus{team=\"fraud\",state=\"onloan\"}" 4 &&
		wait_prometheus "egs_team_gpus{team=\"vision\",state=\"lent\"}" 2 &&
		owner=$(submit --user=bob -w n2 --gres=gpu:a100:4 --mem=100 hold.sh) &&
		wait_state "$owner" RUNNING &&
		wait_prometheus "sum(egs_preemptions_total)" 1 &&
		wait_prometheus "egs_handover_seconds_count{tier=\"research\"}" 1 &&
		wait_prometheus "sum(egs_blocked_jobs{team=\"fraud\"})" 1
	'
	test_expect_success "$version: Prometheus sees a live resize" '
		egs_in_job "$job" phase infer --gpus=1 >/dev/null &&
		wait_prometheus "count(egs_gpu_job{jobid=\"$job\",phase=\"infer\"})" 1 &&
		wait_prometheus "egs_gpu_utilization_ratio * on (node, gpu) group_left egs_gpu_job{jobid=\"$job\"}" 0.91
	'
	test_expect_success "$version: Prometheus has data for every panel of the dashboard" '
		idle=$(once_running submit -w n1 --gres=gpu:a100:1 --mem=100 hold.sh) &&
		wait_until 90 "every panel has data" as root \
			/srv/egs/t/lib/check/dashboard-panels \
			/srv/egs/contrib/grafana/egs.json 9109 || {
			as root /srv/egs/t/lib/check/dashboard-panels \
				/srv/egs/contrib/grafana/egs.json 9109
			false
		}
	'
	test_expect_success "$version: no counter falls when egs-policyd is killed" '
		before=$(metric egs_daemon_polls_total) &&
		stop_policyd KILL && policyd_up &&
		wait_prometheus "egs_daemon_polls_total > bool $before" 1 &&
		wait_prometheus "sum(resets(egs_gpu_seconds_total[5m])) + sum(resets(egs_preemptions_total[5m])) + sum(resets(egs_wait_seconds_count[5m])) + sum(resets(egs_daemon_polls_total[5m]))" 0
	'
	test_expect_success "$version: Prometheus sees a job end, and its GPU-seconds stay" '
		as root scancel "$job" "$idle" && wait_state "$job" CANCELLED &&
		wait_prometheus "absent(egs_gpu_job{jobid=\"$job\"})" 1 &&
		wait_prometheus "egs_gpu_seconds_total{team=\"fraud\",phase=\"infer\"} > bool 0" 1
	'
}

check_top()
{
	test_expect_success "$version: egsctl top fits a terminal of 80x24 and gives it back" '
		top 80x24 "see=WAITING" "see=^n1 " print key=q &&
		grep -q "^exit 0" "$notes/top" &&
		grep -qE "8 GPUs: 4 busy 0 idle 4 free" "$notes/top" &&
		grep -qE "^B vision +a100 +4/4 " "$notes/top" &&
		grep -qE "^$loan +alice +fraud +research +4 " "$notes/top" &&
		grep -qE "^n1   \.\.\.\.  n2   BBBB" "$notes/top"
	'
	test_expect_success "$version: egsctl top follows the size of the terminal and its keys" '
		top 80x24 "see=sort wait" size=200x60 key=g "see=sort gpus" \
			key=t "see=sort team" print key=q &&
		test "$(sed -n "/^--/,/^exit/p" "$notes/top" | wc -l)" -eq 62
	'
	test_expect_success "$version: egsctl top gives the terminal back when it is interrupted" '
		top 80x24 "see=WAITING" signal=2 && grep -q "^exit -\?[1-9]" "$notes/top"
	'
	test_expect_success "$version: egsctl top --once prints one picture without codes" '
		as alice /opt/egs/sbin/egsctl top --once >"$notes/top" &&
		grep -q "^WAITING" "$notes/top" &&
		! grep -q "$(printf "\033")" "$notes/top" &&
		! grep -qE "^.{81}" "$notes/top" &&
		test_must_fail as alice /opt/egs/sbin/egsctl top 2>"$notes/why" &&
		grep -q "top needs a terminal; use --once" "$notes/why"
	'
	test_expect_success "$version: egsctl top shows another user no names" '
		as carol /opt/egs/sbin/egsctl top --once >"$notes/top" &&
		grep -q "more jobs" "$notes/top" &&
		! grep -qE "alice|bob|^$loan " "$notes/top"
	'
	test_expect_success "$version: egsctl top keeps its picture and says that the daemon is away" '
		top 80x24 "see=^WAITING" "run=$srcdir/contrib/sandbox exec $cluster \
			-- pkill -x egs-policyd" "see=^cannot|^no |refused|socket" \
			"see=^WAITING" "see=^n1 " print key=q &&
		grep -q "^exit 0" "$notes/top" &&
		wait_until 60 "egs-policyd is gone" no_policyd &&
		test_must_fail as alice /opt/egs/sbin/egsctl top --once 2>"$notes/why" &&
		grep -q "^egsctl: " "$notes/why" &&
		top 80x24 "see=no data" key=q && grep -q "^exit 0" "$notes/top" &&
		test "$(as root cat /run/egs/metrics | sed -n "s/^egs_daemon_up //p")" = 0 &&
		policyd_up
	'
}

pick_version 22.05
cluster_up slurm="$version" nodes=2 gpus=4 units egs-conf="$notes/egs.conf"
if as root sh -c 'command -v prometheus' >/dev/null 2>&1; then
	test_expect_success "$version: the daemons are up" '
		wait_policyd slurmctld up && noded_up n1 && noded_up n2
	'
	check_metrics
	check_top
	test_expect_success "$version: Prometheus ends" prometheus_down
fi
cluster_done
