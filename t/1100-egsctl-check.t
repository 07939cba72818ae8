#!/bin/bash
# 1100-egsctl-check.t - egsctl check and show, and the documents of egs.conf
. "$(dirname "$0")/lib/sh/tree.sh"

# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"

example=$srcdir/etc/egs.conf.example
page=$srcdir/man/egs.conf.5

# scontrol of these tests prints what is in the directory slurm.
mkdir bin slurm
cat >bin/scontrol <<'END'
#!/bin/sh
case "$*" in
ping) [ ! -f slurm/nodes ] || echo 'Slurmctld(primary) at c1 is UP' ;;
*'show nodes') exec cat slurm/nodes ;;
*'show partitions') exec cat slurm/partitions ;;
*'show assoc_mgr flags=qos') exec cat slurm/qos ;;
esac
exit 1
END
chmod +x bin/scontrol
PATH=$PWD/bin:$PATH

cat >good.conf <<'END'
TierOrder=prod,scavenge
Tier=scavenge Loan=always Partitions=scavenge # taken first
Team=a Accounts=a Quota=8
END
run check good.conf
ends 'check of a good file exits with 0' 0
prints 'check of a good file counts its records' <<'END'
good.conf is fine: tiers 2, teams 1, phases 5, workloads 0, GPU types 1
not checked, as Slurm did not tell: GPUs, partitions
END
complains 'check of a good file has nothing on standard error' </dev/null

# A cluster: two nodes, one of them with two types and sockets, no slurmdbd.
cat >slurm/nodes <<'END'
NodeName=n1 Arch=x86_64 Gres=gpu:a100:4(S:0-1),gpu:h100:2(S:1) State=DOWN
NodeName=n2 Arch=x86_64 Gres=gpu:a100:4 OS=Linux x #1 SMP State=IDLE
NodeName=c1 Arch=x86_64 Gres=(null) State=IDLE
END
printf 'PartitionName=%s Nodes=n[1-2]\n' gpu scavenge >slurm/partitions
echo 'No QOS currently cached in Slurm.' >slurm/qos
run check good.conf
prints 'check of a good file on its cluster has nothing more to say' <<'END'
good.conf is fine: tiers 2, teams 1, phases 5, workloads 0, GPU types 1
END
cat >unfit.conf <<'END'
Partitions=gpu,scavange
Operators=root,no-such-user
TierOrder=prod,low
Tier=low Qos=low Nodes=n[1-2],c1 Spill=no
Team=a Accounts=a Quota=a100:9,h100:2
Team=b Accounts=b Quota=v100:1
Phase=infer Nodes=n[3-4] Spill=no
Phase=eval Nodes=n[2-3]
Phase=trian
END
run check unfit.conf
ends 'check of a file that does not fit its cluster exits with 1' 1
complains 'check prints what does not fit, then the warnings' <<'END'
unfit.conf: the quotas of all teams add up to 9 a100 GPUs, but the cluster has 8
unfit.conf:6: Team=b: Quota=v100:1 has the GPU type 'v100', which no node has (a100, h100)
unfit.conf:7: Phase=infer: Nodes=n[3-4] names no node of the cluster; with Spill=no its jobs would wait for ever
warning: unfit.conf:1: Partitions=gpu,scavange has 'scavange', which is not a partition; did you mean 'scavenge'? (partitions: gpu, scavenge)
warning: unfit.conf:2: Operators=root,no-such-user has 'no-such-user', which is not a user of this host
warning: unfit.conf:8: Phase=eval: Nodes=n[2-3] names nodes that the cluster does not have: n3
warning: unfit.conf:9: Phase=trian adds a phase 'trian'; did you mean 'train'?
END
sed -i -e /infer/d -e /v100/d -e s/a100:9/a100:8/ unfit.conf
printf 'QOS Records\nQOS=%s(1) UsageRaw=0\n' normal lwo >slurm/qos
run check unfit.conf
ends 'check of a file with warnings exits with 0' 0
does 'check asks slurmctld for QOS' grep -x \
	"warning: unfit.conf:4: Tier=low: Qos=low has 'low', which is not a QOS; did you mean 'lwo'? (QOSs: normal, lwo)" err
: >empty.conf
run check empty.conf
complains 'check warns of an empty file' <<<'warning: empty.conf: TierOrder= is missing, so no job is managed'
echo Mode=enforce >empty.conf
run check empty.conf
ends 'check refuses a file without tiers in enforce mode' 1
rm slurm/*

cat >bad.conf <<'END'
Mode=enforced
Tier=prod
Prot=6827
END
run check bad.conf
ends 'check of a bad file exits with 1' 1
prints 'check of a bad file has nothing on standard output' </dev/null
sed -i 's/ (keys: .*//' err
complains 'check prints each mistake on a line, in the order of the file' <<'END'
bad.conf:1: Mode=enforced is not a value; did you mean 'enforce'? (values: observe, enforce)
bad.conf:2: Tier=prod needs TierOrder=, which is missing; it lists all tiers, strongest first
bad.conf:3: Prot=6827 is not a key; did you mean 'Port'?
END

for i in $(seq 60); do echo "Port=$i"; done >many.conf
run check many.conf
does 'check counts the mistakes beyond its limit' grep -x 'and 9 more' err

mkdir dir && mkfifo fifo && echo 'Include loop.conf' >loop.conf
run check dir
complains 'check refuses a directory' <<<'dir is a directory, not a file'
run check fifo
complains 'check refuses a pipe without waiting' <<<'fifo is not a regular file'
run check /dev/zero
complains 'check refuses a device' <<<'/dev/zero is not a regular file'
run check loop.conf
complains 'check refuses a file that includes itself' <<<'loop.conf:1: Include loop.conf: the file includes itself'
run check missing.conf
complains 'check names a missing file' <<<'missing.conf cannot be read: No such file or directory'
ends 'check of a missing file exits with 1' 1

run show tiers good.conf
prints 'show tiers prints which jobs take GPUs from which' <<'END'
TIER     GPUS  TAKES_FROM              EQUALS KEEPS RECALL
prod     owned scavenge/loan,prod/loan -      15m   -
prod     loan  scavenge/loan           -      15m   0s
scavenge loan  -                       -      15m   0s
END
run show tiers -nP good.conf
prints 'show tiers -nP prints lines for a script' <<'END'
prod|owned|scavenge/loan,prod/loan|-|15m|-
prod|loan|scavenge/loan|-|15m|0s
scavenge|loan|-|-|15m|0s
END
run --json show tiers good.conf
prints 'show tiers --json prints JSON' <<'END'
{"tiers": [
  {"tier": "prod", "gpus": "owned", "takes_from": "scavenge/loan,prod/loan", "equals": "-", "keeps": "15m", "recall": "-"},
  {"tier": "prod", "gpus": "loan", "takes_from": "scavenge/loan", "equals": "-", "keeps": "15m", "recall": "0s"},
  {"tier": "scavenge", "gpus": "loan", "takes_from": "-", "equals": "-", "keeps": "15m", "recall": "0s"}
]}
END
run show config good.conf
does 'show config prints a value and its line' \
	grep -xE 'Team=a +Quota +8 +good.conf:3' out
does 'show config prints default values' \
	grep -xE 'Team=a +Borrow +all +default' out
run show config bad.conf
ends 'show config of a bad file exits with 1' 1

run
complains 'egsctl without a verb is refused' <<<'egsctl: missing verb; see egsctl --help'
run chekc good.conf
complains 'an unknown verb is refused with a suggestion' <<'END'
egsctl: 'chekc' is not a verb; did you mean 'check'? (verbs: check, doctor, show, top, metrics, update, mode, preempt, shrink, abort, hold, release, pause, unpause, reconfigure, ping)
END
run abort --reason=x
complains 'abort without a job or a workload is refused' <<<'egsctl: abort needs job=ID or workload=NAME'
run hold 81234 --reason=x
complains 'hold with a bare job id is refused' <<<"egsctl: '81234' is not KEY=VALUE"
run release workload=fraud
complains 'release without a reason is refused' <<<'egsctl: release needs a reason: --reason=TEXT'
run abort job=81234 --reason=x --socket=/nowhere
ends 'abort without a daemon exits with 2' 2
does 'abort without a daemon names the command of Slurm' \
	grep -x 'egsctl: without egs-policyd, and without a checkpoint: scancel 81234' err
run show tiets good.conf
complains 'an unknown subject is refused with a suggestion' <<'END'
egsctl: 'tiets' is not a subject; did you mean 'tiers'? (subjects: config, tiers, jobs, teams, phases, workloads, nodes, gpus, intents, preemptions, map, waiting)
END
run check --jsno good.conf
complains 'an unknown option is refused with a suggestion' <<'END'
egsctl: --jsno is not an option; did you mean 'json'? (options: noheader, parsable, json, format, long, preflight, once, delay, sort, gpus, checkpoint, requeue, dependents, dry-run, yes, reason, socket, cluster, timeout, help, version)
END
run check good.conf bad.conf
complains 'check refuses a second file' <<<"egsctl: 'bad.conf' is one operand too many"
ends 'check with a second file exits with 1' 1
run --version
does '--version prints egsctl and a number' grep -xE 'egsctl [0-9.]+' out
run --help
does '--help begins with the usage' grep -x 'usage: egsctl check \[FILE\]' out
run shrink --help
prints 'shrink --help prints usage, two lines, options and an example' <<'END'
usage: egsctl shrink JOB --gpus=N --reason=TEXT

Asks a managed job that runs to continue with N of its GPUs.
egs.conf needs LiveResize=yes.
      --gpus=N           GPUs that the job keeps

example:
  egsctl shrink 81300 --gpus=2 --reason="demo at noon"
END

# A file with one of each record and nothing set, and its keys.
printf '%s\n' TierOrder=x,prod,y GpuType=h100 Tier=prod \
	'Team=NAME Accounts=a' Phase=train 'Workload=w Team=NAME' 'Rule=r On=recovery' >bare.conf
run show config -nP bare.conf
grep -E '^(-|(GpuType|Tier|Team|Phase|Workload|Rule)=(h100|prod|NAME|train|w|r))\|' \
	out | cut -d'|' -f1-3 | sed 's/=[^|]*//; s/|On|.*/|On|WORD/' >keys
does 'egs.conf has more than 50 keys' test "$(wc -l <keys)" -gt 50

# example_keys: print the keys of the example as record|key|value.
example_keys()
{
	awk '/^# (GpuType|Tier|Team|Phase|Workload|Rule)=NAME:/ {
			record = substr($2, 1, index($2, "=") - 1)
		}
		/^#(   )?[A-Z][A-Za-z]+=/ {
			line = $0
			sub(/^# */, "", line)
			sub(/ .*/, "", line)
			print (record ? record : "-") "|" \
				substr(line, 1, index(line, "=") - 1) "|" \
				substr(line, index(line, "=") + 1)
		}' "$example"
	echo '-|TierOrder|x,prod,y'
}

# page_keys: print the keys of egs.conf(5) as record|key|value.
page_keys()
{
	awk '/^\.SS .*=NAME$/ { record = substr($2, 1, index($2, "=") - 1) }
		/^\.SH EXAMPLES/ { over = 1 }
		!over && was == ".TP" && /^\.BR [A-Z]/ {
			value = $0
			sub(/^\.BR [A-Za-z]+( " \()?/, "", value)
			sub(/\)"$/, "", value)
			print (record ? record : "-") "|" $2 "|" value
		}
		{ was = $0 }' "$page"
}

# differ FILE: compare FILE with the keys that egsctl shows.
differ()
{
	sed -e 's/|60s$/|1m/' -e 's/Accounts|none$/Accounts|a/' \
		-e 's/|TierOrder|none$/|TierOrder|x,prod,y/' \
		-e 's/^Workload|Team|$/Workload|Team|NAME/' "$1" | sort |
		diff keys -
}

sort -o keys keys
example_keys >example
does 'the example has every key with its default, and no other' differ example
does 'the example explains every key' test "$(
	grep -cE '^(#|TierOrder)( {3})?[A-Za-z]*=[^ ]+ +# .' "$example")" = \
	"$(wc -l <keys)"
run check "$example"
ends 'check of the example exits with 0' 0
page_keys >page
does 'egs.conf(5) has every key with its default, and no other' differ page

done_testing
