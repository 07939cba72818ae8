#!/bin/bash
# 3015-site-configurations.t - unmanaged jobs run as on stock Slurm, however a site
# has configured it
# long: 190 s, a stock and an EGS cluster with slurmdbd for each Slurm
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='jobs of no team run as on stock Slurm at twenty sites'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/contrib/lib/sandbox-conf.sh" # sb_override

# ---- the sites ----

sites= # their labels, in order
first=0 # job id, so that no site uses an id of another
mkdir "$notes/site"

# site LABEL TITLE [WORD]...: a site with the lines of stdin in slurm.conf; the words
# are for run-site-jobs
site()
{
	{ cat && echo "FirstJobId=$((first += 1000))"; } >"$notes/site/$1.conf"
	echo "$2" >"$notes/site/$1.title"
	echo "${*:3}" >"$notes/site/$1.words"
	sites="$sites $1"
}

cat >"$notes/base.conf" <<'END'
DebugFlags=NO_CONF_HASH
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1,bf_continue
PartitionName=gpu Nodes=ALL Default=YES MaxTime=1-0
PartitionName=low Nodes=ALL MaxTime=INFINITE
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10
END
cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,scavenge
PollInterval=1s
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always
Team=fraud Users=alice Quota=a100:4 DefaultTier=prod
END

preempted=(taker=COMPLETED first=COMPLETED second=COMPLETED)

site plain 'KillOnBadExit, no preemption' order <<'END'
KillOnBadExit=1
END
site lln 'CR_LLN' <<'END'
SelectTypeParameters=CR_Core_Memory,CR_LLN
END
site partition-lln 'LLN=YES of a partition' <<'END'
PartitionName=gpu Nodes=ALL Default=YES MaxTime=1-0 LLN=YES
END
site cpu 'CR_CPU' <<'END'
SelectTypeParameters=CR_CPU
END
site force 'OverSubscribe=FORCE:2' <<'END'
PartitionName=gpu Nodes=ALL Default=YES MaxTime=1-0 OverSubscribe=FORCE:2
PartitionName=low Nodes=ALL MaxTime=INFINITE OverSubscribe=FORCE:2
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10 OverSubscribe=FORCE:2
END
site exclusive 'OverSubscribe=EXCLUSIVE of a partition' afternotok=PENDING <<'END'
PartitionName=low Nodes=ALL MaxTime=INFINITE OverSubscribe=EXCLUSIVE
END
site topology 'topology/tree' <<'END'
TopologyPlugin=topology/tree
END
site prio-requeue 'preempt/partition_prio, REQUEUE' order "${preempted[@]}" victim=PENDING <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
END
site prio-cancel 'preempt/partition_prio, CANCEL' "${preempted[@]}" victim=PREEMPTED <<'END'
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
END
site prio-off 'preempt/partition_prio, PreemptMode=OFF of a partition' <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL MaxTime=INFINITE PreemptMode=OFF
END
site no-requeue 'preempt/partition_prio, JobRequeue=0' \
	"${preempted[@]}" victim=PREEMPTED again=RUNNING <<'END'
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=0
END
site qos-requeue 'preempt/qos, REQUEUE' "${preempted[@]}" victim=PENDING <<'END'
PreemptType=preempt/qos
PreemptMode=REQUEUE
END
site qos-exempt 'preempt/qos, PreemptExemptTime' <<'END'
PreemptType=preempt/qos
PreemptMode=CANCEL
PreemptExemptTime=1:00:00
END
site gang 'preempt/partition_prio, SUSPEND,GANG' <<'END'
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
END
site requeue-exit 'RequeueExit=99' exit99=PENDING <<'END'
RequeueExit=99
END
site hold-exit 'RequeueExitHold=99, kill_invalid_depend' \
	exit99=SPECIAL_EXIT afterok=CANCELLED <<'END'
RequeueExitHold=99
DependencyParameters=kill_invalid_depend
END
site builtin 'sched/builtin and priority/basic' order small=PENDING <<'END'
SchedulerType=sched/builtin
PriorityType=priority/basic
END
site factors 'priority by size, QOS and partition, small jobs first' order <<'END'
PriorityWeightJobSize=10000
PriorityWeightPartition=1000
PriorityWeightQOS=1000
PriorityFavorSmall=YES
END
site limits 'enforced limits of partitions and QOS' <<'END'
AccountingStorageEnforce=associations,limits,qos,safe
EnforcePartLimits=ALL
END
site lua 'job_submit/lua and private data' <<'END'
JobSubmitPlugins=lua
PrivateData=jobs,nodes,usage
END

# ---- a site on a cluster ----

# as_installed: the lines of stdin as the manual changes them for EGS
as_installed()
{
	sed -e '/^PreemptType=/d' -e 's/^JobSubmitPlugins=/&egs,/'
}

# write_site LABEL: slurm.conf, and PreemptBase of the EGS cluster
write_site()
{
	local etc=$EGS_SANDBOX_DIR/$cluster/etc/slurm lines=$notes/$cluster.lines
	local base

	[ -e "$notes/$cluster.slurm.conf" ] ||
		cp "$etc/slurm.conf" "$notes/$cluster.slurm.conf"
	cp "$notes/site/$1.conf" "$lines"
	if [ -e "$etc/egs.conf" ]; then
		as_installed <"$notes/site/$1.conf" >"$lines"
		base=$(sed -n 's/^PreemptType=/PreemptBase=/p' "$notes/site/$1.conf")
		{ cat "$notes/egs.conf" && echo "$base"; } >"$etc/egs.conf"
	fi
	sb_override "$lines" <"$notes/$cluster.slurm.conf" >"$etc/slurm.conf"
}

# Files beside slurm.conf that single sites use.
write_other_files()
{
	local etc=$EGS_SANDBOX_DIR/$cluster/etc/slurm

	printf '%s\n' 'SwitchName=a Nodes=n1,n3' 'SwitchName=b Nodes=n2' \
		'SwitchName=top Switches=a,b' >"$etc/topology.conf" &&
	cat >"$etc/job_submit.lua" <<-'END'
	function slurm_job_submit(job, parts, uid)
		if job.name == "long" then
			slurm.log_user("no such time here")
			return slurm.ERROR
		end
		job.comment = "seen"
		return slurm.SUCCESS
	end
	function slurm_job_modify(job, record, parts, uid)
		return slurm.SUCCESS
	end
	END
}

make_qos()
{
	as root sacctmgr -i add qos weak priority=1 &&
	as root sacctmgr -i add qos strong priority=10 preempt=weak &&
	as root sacctmgr -i modify qos normal set maxtresperuser=gres/gpu=4 &&
	as root sacctmgr -i modify user set qos+=weak,strong
}

# visit LABEL: run the jobs of the site; the result is kept, good or not
visit()
{
	local words

	read -ra words <"$notes/site/$1.words"
	write_site "$1" &&
	as root /srv/egs/t/lib/check/run-site-jobs "${words[@]}" \
		>"$notes/$cluster.$1" 2>"$notes/$cluster.$1.errors"
}

visit_all()
{
	local label

	make_qos >/dev/null && write_other_files || return
	for label in $sites; do
		visit "$label"
	done
}

# same_jobs LABEL: both clusters have run the jobs of the site, the same way
same_jobs()
{
	local one other

	one=$notes/$(cluster_name "stock-$version").$1
	other=$notes/$(cluster_name "egs-$version").$1
	cat "$one.errors" "$other.errors"
	[ ! -s "$one.errors" ] && [ ! -s "$other.errors" ] &&
	test_cmp "$one" "$other"
}

compare_sites()
{
	local label

	for label in $sites; do
		test_expect_success "$version, $(cat "$notes/site/$label.title"): jobs run as on stock Slurm" '
			same_jobs "$label"
		'
	done
	test_expect_success "$version: the settings of sites change what happens to jobs" '
		unlike_plain
	'
}

# outcome LABEL: what happened on the stock cluster, with ids from 0
outcome()
{
	sed -E 's/((JobId=|Dependency=[a-z]+:)[0-9]*)[0-9]{3}/\2/g' \
		"$notes/$(cluster_name "stock-$version").$1"
}

# Sites that keep the victim running, and GANG, which leaves jobs with GPUs alone.
unlike_plain()
{
	local label rc=0

	for label in $sites; do
		case $label in plain|prio-off|qos-exempt|gang) continue ;; esac
		outcome "$label" >other
		outcome plain | head -n "$(wc -l <other)" >same
		! cmp -s same other || { echo "$label has no effect"; rc=1; }
	done
	return "$rc"
}

start_clusters()
{
	cluster_up slurm="$version" name="stock-$version" stock dbd nodes=3 gpus=4 \
		conf="$notes/base.conf"
	allow_error "$invalid"
	cluster_up slurm="$version" name="egs-$version" dbd nodes=3 gpus=4 \
		conf="$notes/base.conf" egs-conf="$notes/egs.conf"
	allow_error "$invalid"
	labels="$labels stock-$version egs-$version"
}

# With kill_invalid_depend a scheduler may test a job that it has just cancelled.
invalid='^error: slurm_find_preemptable_jobs: JobId=\d+ not pending'
labels=
each_version start_clusters
test_expect_success 'the jobs run at each site on all clusters' '
	in_parallel "$labels" visit_all
'
each_version compare_sites
cluster_done
