# shellcheck shell=bash disable=SC2154
# sandbox-conf.sh - slurm.conf and the files beside it
#
# Each slurm_* function prints lines; sb_override drops those that --conf also
# sets, because Slurm refuses some keys that are set twice.

# sb_since VERSION: the Slurm of this sandbox is VERSION or newer.
sb_since()
{
	[ "$(printf '%s\n' "$1" "$sb_version" | sort -V | head -n 1)" = "$1" ]
}

# has_egs FILE: the sandbox has EGS, and this plugin was built
has_egs()
{
	[ -n "$sb_egs" ] && [ -e "$sb_egs/lib/slurm/$1" ]
}

slurm_basics()
{
	cat <<-END
	ClusterName=$o_name
	SlurmctldHost=$o_name(127.0.0.1)
	SlurmUser=slurm
	AuthType=auth/munge
	StateSaveLocation=/var/lib/slurm
	SlurmdSpoolDir=/var/spool/slurmd/%n
	SlurmctldPidFile=/run/slurm/slurmctld.pid
	SlurmdPidFile=/run/slurm/slurmd-%n.pid
	SlurmctldLogFile=/var/log/slurmctld.log
	SlurmdLogFile=/var/log/slurmd-%n.log
	SlurmctldDebug=info
	SlurmdDebug=info
	MailProg=/bin/true
	MpiDefault=none
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	SlurmdParameters=config_overrides
	PropagateResourceLimits=NONE
	ReturnToService=2
	MessageTimeout=60
	SlurmdTimeout=300
	KillWait=5
	MinJobAge=3600
	END
}

# slurm_scheduling: the select plugin of EGS is used only if it was built
slurm_scheduling()
{
	local select=select/cons_tres
	local soon=batch_sched_delay=0	# else a batch job may wait for 3 s
	local order=""

	! has_egs select_cons_tres_egs.so || select=select/cons_tres_egs
	! decides || sb_since 23.02 ||
		order=,preempt_strict_order,preempt_reorder_count=4
	cat <<-END
	SchedulerType=sched/backfill
	SchedulerParameters=$soon,sched_interval=5,bf_interval=2,bf_continue$order
	SelectType=$select
	SelectTypeParameters=CR_Core_Memory
	PriorityType=priority/multifactor
	END
	slurm_preemption
}

# decides: the plugins that apply the daemon's decisions were built
decides()
{
	[ -n "$o_egs_conf" ] && has_egs preempt_egs.so
}

# slurm_preemption: as in etc/slurm.conf.snippet
slurm_preemption()
{
	decides || { echo PreemptType=preempt/none; return; }
	cat <<-END
	PreemptType=preempt/egs
	PreemptMode=REQUEUE
	PrioritySiteFactorPlugin=site_factor/egs
	END
	if sb_since 23.02; then
		echo PreemptParameters=strict_order,reorder_count=4,send_user_signal
		echo MaxBatchRequeue=1000000
	else
		echo SlurmctldParameters=preempt_send_user_signal
	fi
}

slurm_accounting()
{
	[ "$o_dbd" -eq 1 ] || return 0
	cat <<-END
	AccountingStorageType=accounting_storage/slurmdbd
	AccountingStorageHost=localhost
	END
	[ "$o_gpus" -eq 0 ] || echo AccountingStorageTRES=gres/gpu
}

# slurm_egs: a line for each plugin that was built and installed
slurm_egs()
{
	local dirs=""

	! has_egs select/select_cons_tres.so ||
		dirs=/opt/egs/lib/slurm/select:
	[ -z "$sb_egs" ] || dirs+=/opt/egs/lib/slurm:
	echo "PluginDir=$dirs$sb_plugins"
	! has_egs job_submit_egs.so || echo JobSubmitPlugins=egs
	echo PlugStackConfig=/etc/slurm/plugstack.conf
}

# node_gpus NODE: "TYPE FIRST COUNT" of the GPUs of a node, a line for each type.
# The types of a100+h100 share them, and the last has the rest.
node_gpus()
{
	local types kinds share i

	IFS=, read -ra types <<<"$o_type"
	IFS=+ read -ra kinds <<<"${types[($1 - 1) % ${#types[@]}]}"
	share=$((o_gpus / ${#kinds[@]}))
	for ((i = 0; i < ${#kinds[@]} - 1; i++)); do
		[ "$share" -eq 0 ] || echo "${kinds[i]} $((i * share)) $share"
	done
	echo "${kinds[i]} $((i * share)) $((o_gpus - i * share))"
}

slurm_nodes()
{
	local i gres="" type

	[ "$o_gpus" -eq 0 ] || echo GresTypes=gpu
	for ((i = 1; i <= o_nodes; i++)); do
		type=$(node_gpus "$i" | awk '{ print $1 }' | paste -sd,)
		[ "$o_gpus" -eq 0 ] || gres=" Gres=$(node_gpus "$i" |
			awk '{ print "gpu:" $1 ":" $3 }' | paste -sd,)"
		echo "NodeName=n$i NodeHostname=$o_name NodeAddr=127.0.0.1" \
			"Port=$((17000 + i)) CPUs=$o_cores Sockets=1" \
			"CoresPerSocket=$o_cores ThreadsPerCore=1" \
			"RealMemory=$((o_cores * 2000)) Feature=$type$gres"
	done
	echo DefMemPerCPU=1000
	echo "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE"
	echo "PartitionName=serve Nodes=ALL MaxTime=INFINITE"
	echo "PartitionName=scavenge Nodes=ALL MaxTime=INFINITE"
}

gres_conf()
{
	local i type first count

	[ "$o_gpus" -gt 0 ] || return 0
	for ((i = 1; i <= o_nodes; i++)); do
		while read -r type first count; do
			echo "NodeName=n$i Name=gpu Type=$type" \
				"File=/dev/nvidia[$first-$((first + count - 1))]"
		done < <(node_gpus "$i")
	done
}

plugstack_conf()
{
	! has_egs spank_egs.so ||
		echo "optional /opt/egs/lib/slurm/spank_egs.so"
}

# cgroup_conf: no cgroups.  Before 24.05 they cannot be disabled; there v1 is
# named, which nothing uses, because the automatic detection would fail.
cgroup_conf()
{
	if sb_since 24.05; then
		echo CgroupPlugin=disabled
	else
		echo CgroupPlugin=cgroup/v1
	fi
}

# sb_override FILE: print stdin without the keys that FILE sets, then FILE
sb_override()
{
	[ -n "$1" ] || { cat; return; }
	awk '
	function key(line, k) {
		sub(/^[ \t]+/, "", line)
		k = line
		sub(/[ \t]*=.*/, "", k)
		k = tolower(k)
		if (k ~ /^(nodename|partitionname)$/) {
			sub(/[ \t].*/, "", line)
			k = k line
		}
		return k
	}
	FNR == NR { if (!more) set[key($0)] = 1; more = /\\$/; next }
	!(key($0) in set)' "$1" -
	echo
	cat "$1"
}

sb_write_conf()
{
	local dir=$sb_here/etc/slurm

	{
		slurm_basics
		slurm_scheduling
		slurm_accounting
		slurm_egs
		slurm_nodes
	} | sb_override "$o_conf" >"$dir/slurm.conf"
	gres_conf >"$dir/gres.conf"
	cgroup_conf >"$dir/cgroup.conf"
	plugstack_conf >"$dir/plugstack.conf"
	[ -z "$o_egs_conf" ] || cp "$o_egs_conf" "$dir/egs.conf"
	chmod 644 "$dir"/*
	[ "$o_dbd" -eq 0 ] || sb_write_dbd "$dir"
}

# sb_write_dbd DIR: slurmdbd.conf, readable only for its user
sb_write_dbd()
{
	cat >"$1/slurmdbd.conf" <<-END
	AuthType=auth/munge
	DbdHost=localhost
	SlurmUser=slurm
	LogFile=/var/log/slurmdbd.log
	PidFile=/run/slurm/slurmdbd.pid
	StorageType=accounting_storage/mysql
	StorageHost=localhost
	StorageUser=slurm
	StorageLoc=slurm_acct_db
	END
	chmod 600 "$1/slurmdbd.conf"
	chown --reference="$sb_here/var/lib/slurm" "$1/slurmdbd.conf"
}
