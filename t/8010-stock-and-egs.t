#!/bin/bash
# 8010-stock-and-egs.t - wastage of the same jobs on stock Slurm and with EGS
# long: 40 s, two clusters at once
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='the wastage of stock Slurm and of EGS for the same jobs'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"

cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
GpuType=a100
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	GraceMin=0s GraceMax=0s
Team=fraud Users=alice Quota=a100:8 DefaultTier=prod
Team=guests Users=bob Quota=none DefaultTier=scavenge
END

# The stock cluster has only a daemon in observe mode, as a site that evaluates
# EGS.
{
	sed 's/enforce/observe/' "$notes/egs.conf"
	echo 'StateDir=/run/sandbox/egs/state'
	echo 'RunDir=/run/sandbox/egs/run'
} >"$notes/watch.conf"

pick_version 22.05
built=/srv/egs/build/$version
cluster_up slurm="$version" name=stock stock nodes=2 gpus=4
cluster_up slurm="$version" name=egs nodes=2 gpus=4 egs-conf="$notes/egs.conf"

watch_stock()
{
	cp "$notes/watch.conf" "$EGS_SANDBOX_DIR/$cluster/run/sandbox/egs.conf" &&
	as root mkdir -p /run/sandbox/egs/state /run/sandbox/egs/run &&
	as root chown -R slurm: /run/sandbox/egs || return
	sandbox exec "$cluster" -- setpriv --reuid=slurm --regid=slurm \
		--clear-groups -- "$built/policyd/egs-policyd" \
		-f /run/sandbox/egs.conf >>"$(policyd_log_file)" 2>&1 \
		</dev/null &
	wait_until 90 'egs-policyd has polled Slurm' looked
}

# reported_by ARGUMENT...: egs-report from the daemon of the current cluster
reported_by()
{
	case $cluster in
	*-stock) as root "$built/cmd/egs-report/egs-report" "$@" -n -P \
		--socket=/run/sandbox/egs/run/policyd.sock ;;
	*)	as root egs-report "$@" -n -P ;;
	esac
}

looked()
{
	reported_by wastage >"$notes/looked" 2>&1 &&
	grep -q '^gpu|' "$notes/looked"
}

# guest NODE FILE: submit a job of bob with two GPUs of NODE, until there is ~/FILE
guest()
{
	submit --user=bob -p scavenge -w "$1" --gres=gpu:a100:2 \
		--wrap="until [ -e \$HOME/$2 ]; do sleep 0.2; done"
}

# play: four guests fill two nodes, one on each ends, and a job of alice needs a
# whole node; print its id
play()
{
	local job jobs='' file

	for file in leaves stays; do
		jobs="$jobs $(guest n1 "$file") $(guest n2 "$file")" || return
	done
	for job in $jobs; do
		wait_state "$job" RUNNING >&2 || return
	done
	as bob touch leaves &&
	for job in ${jobs% * *}; do
		wait_state "$job" COMPLETED >&2 || return
	done
	submit --user=alice -p serve -N1 --gres=gpu:a100:4 \
		--wrap="until [ -e \$HOME/done ]; do sleep 0.2; done"
}

# wasted: seconds in which GPUs were idle beside a blocked job
wasted()
{
	reported_by wastage -t seconds -o scope,wasted | sed -n 's/^gpu|//p'
}

# more_than SECONDS: more than SECONDS were wasted
more_than()
{
	[ "$(wasted)" -gt "$1" ]
}

test_expect_success 'egs-policyd reports on both clusters' '
	on stock watch_stock &&
	on egs wait_until 90 "egs-policyd has polled Slurm" looked
'

test_expect_success 'with EGS a guest is preempted and the owner gets a whole node' '
	owner_egs=$(on egs play) &&
	owner_stock=$(on stock play) &&
	on egs wait_state "$owner_egs" RUNNING &&
	test "$(on egs job_field "$owner_egs" NumNodes)" = 1
'

test_expect_success 'on stock Slurm the owner waits and more GPU time is wasted' '
	least=$(on egs wasted) &&
	on stock wait_until 120 "more is wasted than with EGS" \
		more_than "$least" &&
	on stock job_is "$owner_stock" PENDING
'

test_expect_success 'the report counts the wastage of stock Slurm as fragmentation' '
	on stock reported_by wastage -t seconds -o scope,wasted,fragmentation >got &&
	grep "^gpu|" got | awk -F"|" "{ exit !(\$3 > 0 && \$3 <= \$2) }"
'

test_expect_success 'ratios and causes of wastage add up on both clusters' '
	for each in stock egs; do
		on $each reported_by wastage -t seconds >$each.out &&
		awk -F"|" "
			{ n = 0; for (i = 11; i <= NF; i++) n += \$i }
			n != \$9 || \$2 > 1 || \$3 > \$2 { print; bad++ }
			END { exit bad || !NR }" $each.out || return
	done
'

for each in stock egs; do
	on $each reported_by wastage -o scope,wr,wrfit,wrgpu |
		sed -n "s/^gpu|/# $each: WR, WR-fit, WR-gpu /p"
done

test_expect_success 'all jobs end and the extra egs-policyd stops' '
	for each in stock egs; do
		on $each as root scancel -u alice &&
		on $each as root scancel -u bob &&
		on $each wait_queue_empty || return
	done &&
	on stock as root pkill -x egs-policyd &&
	on stock wait_until 60 "egs-policyd is gone" no_policyd
'

cluster_done
