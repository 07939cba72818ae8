#!/bin/bash
# 8010-stock-and-egs.t - the same jobs on stock Slurm and with EGS, both reported
# long: 40 s, two clusters at once
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='the Wastage Ratio of stock Slurm and of EGS, side by side'
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

# The stock cluster has nothing of EGS but a daemon that looks, as a site has
# it in its first week.
{
	sed 's/enforce/observe/' "$notes/egs.conf"
	echo 'StateDir=/run/sandbox/egs/state'
	echo 'RunDir=/run/sandbox/egs/run'
} >"$notes/watch.conf"

built=/srv/egs/build/22.05
cluster_up name=stock stock nodes=2 gpus=4
cluster_up name=egs nodes=2 gpus=4 egs-conf="$notes/egs.conf"

watch_stock()
{
	cp "$notes/watch.conf" "$EGS_SANDBOX_DIR/$cluster/run/sandbox/egs.conf" &&
	as root mkdir -p /run/sandbox/egs/state /run/sandbox/egs/run &&
	as root chown -R slurm: /run/sandbox/egs || return
	sandbox exec "$cluster" -- setpriv --reuid=slurm --regid=slurm \
		--clear-groups -- "$built/policyd/egs-policyd" \
		-f /run/sandbox/egs.conf >>"$(policyd_log_file)" 2>&1 \
		</dev/null &
	wait_until 90 'the daemon has looked at Slurm' looked
}

# reported_by ARGUMENT...: from the daemon of the current cluster
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
	reported_by wastage >"$notes/looked" 2>&1 && grep -q '^gpu|' "$notes/looked"
}

# guest NODE FILE: two GPUs of NODE until bob has FILE
guest()
{
	submit --user=bob -p scavenge -w "$1" --gres=gpu:a100:2 \
		--wrap="until [ -e \$HOME/$2 ]; do sleep 0.2; done"
}

# play: four guests fill two nodes, one on each goes, and an owner comes who
# needs a whole node; his job is printed
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

# wasted: seconds in which GPUs stood idle beside a blocked job
wasted()
{
	reported_by wastage -t seconds -o scope,wasted | sed -n 's/^gpu|//p'
}

# more_than SECONDS: so much was wasted, and more
more_than()
{
	[ "$(wasted)" -gt "$1" ]
}

test_expect_success 'both are watched' '
	on stock watch_stock &&
	on egs wait_until 90 "egs-policyd has looked" looked
'

test_expect_success 'the same jobs on both' '
	owner_egs=$(on egs play) &&
	owner_stock=$(on stock play)
'

test_expect_success 'with EGS the owner gets his node, a guest goes back' '
	on egs wait_state "$owner_egs" RUNNING
'

test_expect_success 'on stock he waits beside idle GPUs' '
	least=$(on egs wasted) &&
	on stock wait_until 120 "more is wasted than with EGS" \
		more_than "$least" &&
	on stock job_is "$owner_stock" PENDING
'

test_expect_success 'which the report calls fragmentation' '
	on stock reported_by wastage -t seconds -o scope,wasted,fragmentation >got &&
	grep "^gpu|" got | awk -F"|" "{ exit !(\$3 > 0 && \$3 <= \$2) }"
'

test_expect_success 'both have their ratios, and causes that add up' '
	for each in stock egs; do
		on $each reported_by wastage -t seconds >$each.out &&
		awk -F"|" "
			{ n = 0; for (i = 9; i <= NF; i++) n += \$i }
			n != \$8 || \$2 > 1 || \$3 > \$2 { print; bad++ }
			END { exit bad || !NR }" $each.out || return
	done
'

for each in stock egs; do
	on $each reported_by wastage -o scope,wr,wrfit,wrgpu |
		sed -n "s/^gpu|/# $each: WR, WR-fit, WR-gpu /p"
done

test_expect_success 'all of it ends' '
	for each in stock egs; do
		on $each as root scancel -u alice &&
		on $each as root scancel -u bob &&
		on $each wait_queue_empty || return
	done &&
	on stock as root pkill -x egs-policyd &&
	on stock wait_until 60 "egs-policyd is gone" no_policyd
'

cluster_done
