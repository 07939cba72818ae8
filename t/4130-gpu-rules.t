#!/bin/bash
# 4130-gpu-rules.t - what rules do about GPUs that are not well
# long: 100 s, a cluster and its daemon for each Slurm with plugins
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description

test_description='rules act on unhealthy GPUs, within limits, and undo that'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/noded.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

# Two nodes: RemediateMax=5% is one node.
cat >"$notes/egs.conf" <<'END'
Mode=enforce
TierOrder=prod,research
PollInterval=1s
SampleInterval=1s
DcgmMapDir=/run/sandbox/dcgm-%n
GpuType=a100
Tier=research MinRuntime=0s
Team=fraud Users=alice Quota=a100:4 DefaultTier=research
Rule=hot On=temperature Above=85 For=2s Do=warn,move Limit=100/hour
Rule=slow On=slowdown Do=avoid
Rule=fault On=xid Do=drain Limit=100/hour
Rule=reset On=recovery Do=fence Limit=100/hour
END

cat >"$notes/slurm.conf" <<'END'
PartitionName=off Nodes=ALL MaxTime=INFINITE PreemptMode=OFF
END

# report_rows: node|gpu|rule|do|how|job, and "undone" if it is
report_rows()
{
	as root egs-report remediation -nP -o node,gpu,rule,do,how,jobid,undone |
		sed 's/|-$//; s/|[0-9T:-]*T[0-9:]*$/|undone/'
}

# has_rows N REGEX: N rows match as a whole
has_rows()
{
	test "$(report_rows | grep -cxE "$2")" -eq "$1"
}

wait_rows()
{
	wait_until 60 "$1 rows of egs-report remediation are '$2'" has_rows "$@" || {
		report_rows
		return 1
	}
}

# node_has NODE FIELD REGEX: of scontrol show node
node_has()
{
	node_field "$1" "$2" | grep -qE "$3"
}

wait_drained()
{
	wait_until 60 "$1 is drained" node_has "$1" State DRAIN
}

wait_undrained()
{
	wait_until 60 "$1 is not drained" node_has "$1" State '^(IDLE|MIXED|ALLOCATED)$'
}

# drained_nodes: how many
drained_nodes()
{
	as root scontrol show node -o | grep -c 'State=[A-Z+]*DRAIN'
}

# install_programs: Notify= and the rule "watts" write what they get to files
install_programs()
{
	as root sh -c 'printf "#!/bin/sh\ncat >>/var/lib/egs/warnings\n" \
			>/etc/slurm/warned &&
		printf "#!/bin/sh\n(id -un; cat) >/var/lib/egs/ran\n" \
			>/etc/slurm/ran &&
		chmod 755 /etc/slurm/warned /etc/slurm/ran &&
		printf "%s\n" Notify=/etc/slurm/warned "$1" \
			>>/etc/slurm/egs.conf' - \
		"Rule=watts On=power Above=600 Do=cap=80%,run=/etc/slurm/ran Limit=100/hour" &&
	egsctl reconfigure
}

# limit_is MILLIWATTS: the power limit of GPU 0, as the driver has it
limit_is()
{
	[ "$(as root cat /run/sandbox/driver.limit.0)" = "$1" ]
}

wait_limit()
{
	wait_until 60 "the power limit of GPU 0 is $1" limit_is "$1"
}

# program_got REGEX: a line of what the program of the rule got
program_got()
{
	as root grep -qE "$1" /var/lib/egs/ran
}

is_warned()
{
	as root grep -qE "$1" /var/lib/egs/warnings
}

# shows_note TABLE REGEX: egsctl show TABLE has that note
shows_note()
{
	egsctl show "$1" -n -o note | grep -qE "$2"
}

# node_is NODE STATE: of egsctl show nodes
node_is()
{
	egsctl show nodes -n -o node,state | grep -qE "^$1 +$2$"
}

check_jobs()
{
	# The scripted driver reports each line of XIDs once.
	old=("0 xid 31" "0 xid 31" "0 xid 31")
	test_expect_success "$version: an XID of a program is a note on its job and drains nothing" '
		with_driver n1 &&
		job=$(once_running submit -w n1 --gres=gpu:a100:1 --mem=100 hold.sh) &&
		wait_until 60 "egs gpu shows the GPU" shows_note gpus "no process" &&
		driver_does "${old[@]}" &&
		wait_rows 1 "n1\|0\|fault\|note\|done\|$job" &&
		as alice /opt/egs/bin/egs why "$job" >"$notes/why" &&
		cat "$notes/why" &&
		grep "rule fault.*GPU 0 of n1: XID 31, invalid address in the program" "$notes/why" &&
		has_rows 0 ".*drain.*" && node_has n1 State "^MIXED$"
	'
	test_expect_success "$version: a hot GPU is a warning to Notify=, and a job that cannot save stays" '
		driver_does "${old[@]}" "0 temp 91" &&
		wait_rows 1 "n1\|0\|hot\|warn\|done\|$job" &&
		wait_rows 1 "n1\|0\|hot\|move\|refused\|$job" &&
		wait_until 60 "Notify= got the warning" is_warned \
			"\"kind\":\"rule\".*\"gpu\":0.*temperature 91 C, more than 85 for 2s" &&
		driver_does "${old[@]}" "0 temp 40" &&
		wait_rows 1 "n1\|0\|hot\|warn\|done\|$job\|undone" &&
		node_has n1 State "^MIXED$" && job_is "$job" RUNNING
	'
	test_expect_success "$version: the program of a rule runs as SlurmUser and gets the reason" '
		driver_does "${old[@]}" "0 power 650000" &&
		wait_rows 1 "n1\|0\|watts\|run\|done\|$job" &&
		program_got "^slurm$" &&
		program_got "\"job\":\"$job\".*\"gpu\":0,\"rule\":\"watts\".*power 650 W, more than 600" &&
		driver_does "${old[@]}" &&
		wait_rows 1 "n1\|0\|watts\|run\|done\|$job\|undone"
	'
	test_expect_success "$version: a rule lowers the power limit of a GPU until egs-noded ends" '
		driver_does "${old[@]}" "0 power 650000" && wait_limit 560000 &&
		wait_rows 1 "n1\|0\|watts\|cap\|done\|$job" &&
		wait_until 60 "egsctl show gpus has a note" \
			shows_note gpus "rule watts: power 650 W, its power is capped" &&
		pid=$(noded_pid n1) && as root kill -TERM "$pid" &&
		wait_until 60 "egs-noded of n1 has ended" process_gone "$pid" &&
		limit_is 700000
	'
	test_expect_success "$version: a GPU has its power limit back after a crash and when the reason is gone" '
		{ no_noded n1 || kill_noded n1; } && start_with_driver n1 &&
		wait_limit 560000 && kill_noded n1 && limit_is 560000 &&
		driver_does "${old[@]}" && start_with_driver n1 &&
		wait_limit 700000 &&
		wait_rows 0 "n1\|0\|watts\|cap\|[a-z]*\|$job"
	'
	test_expect_success "$version: PreemptMode=OFF of a partition keeps a job on a hot GPU" '
		kept=$(once_running submit -w n1 -p off --gres=gpu:a100:1 --mem=100 \
			--signal=B:USR1@60 victim.sh /opt/egs/bin/egs yield) &&
		wait_until 60 "job $kept has begun" output_has "$kept" "run 0" &&
		test "$(gpus "$kept")" = 1 &&
		wait_until 60 "egs-noded knows job $kept" knows_gpu n1 "$kept" &&
		driver_does "${old[@]}" "1 temp 91" &&
		wait_rows 1 "n1\|1\|hot\|move\|refused\|$kept" &&
		job_is "$kept" RUNNING &&
		driver_does "${old[@]}" &&
		wait_rows 1 "n1\|1\|hot\|move\|refused\|$kept\|undone" &&
		wait_until 60 "n1 is up" node_is n1 up &&
		as root scancel "$kept" &&
		wait_until 60 "job $kept has ended" has_ended "$kept"
	'
	test_expect_success "$version: an XID while egs-policyd is away is noted on its job, not on the next" '
		first=$(once_running submit -w n1 --gres=gpu:a100:1 --mem=100 hold.sh) &&
		test "$(gpus "$first")" = 1 &&
		wait_until 60 "egs-noded knows job $first" knows_gpu n1 "$first" &&
		stop_policyd KILL &&
		old+=("1 xid 43") && driver_does "${old[@]}" &&
		as root scancel "$first" &&
		wait_until 60 "job $first has ended" has_ended "$first" &&
		policyd_up &&
		wait_rows 1 "n1\|1\|fault\|note\|done\|$first" &&
		next=$(once_running submit -w n1 --gres=gpu:a100:1 --mem=100 hold.sh) &&
		test "$(gpus "$next")" = 1 &&
		wait_until 60 "egs-noded knows job $next" knows_gpu n1 "$next" &&
		driver_does "${old[@]}" "1 temp 91" &&
		wait_rows 1 "n1\|1\|hot\|warn\|done\|$next" &&
		has_rows 0 "n1\|1\|fault\|.*\|$next.*" &&
		driver_does "${old[@]}" &&
		wait_rows 1 "n1\|1\|hot\|warn\|done\|$next\|undone" &&
		as root scancel "$next" &&
		wait_until 60 "job $next has ended" has_ended "$next"
	'
	test_expect_success "$version: a job on a hot GPU checkpoints and continues on another node" '
		as root scontrol update nodename=n2 state=drain reason=test &&
		moved=$(once_running submit --gres=gpu:a100:1 --mem=100 \
			--signal=B:USR1@60 victim.sh /opt/egs/bin/egs yield) &&
		as root scontrol update nodename=n2 state=resume &&
		wait_until 60 "job $moved has begun" output_has "$moved" "run 0" &&
		driver_does "${old[@]}" "1 temp 91" &&
		wait_rows 1 "n1\|1\|hot\|move\|done\|$moved" &&
		wait_until 60 "n1 is avoided" node_is n1 avoided &&
		wait_until 90 "job $moved runs again" output_has "$moved" "run 1" &&
		test "$(job_field "$moved" NodeList)" = n2 &&
		as alice /opt/egs/bin/egs why "$moved" >"$notes/why" && cat "$notes/why" &&
		grep "rule hot.*GPU 1 of n1: temperature 91 C" "$notes/why"
	'
	test_expect_success "$version: no managed job starts on an avoided node until its GPUs are well" '
		waits=$(submit -w n1 --gres=gpu:a100:1 --mem=100 hold.sh) &&
		wait_why alice "$waits" "whose GPUs are not well: n1" &&
		wait_scheduling_cycles 3 && job_is "$waits" PENDING &&
		driver_does "${old[@]}" &&
		wait_until 60 "n1 is up" node_is n1 up &&
		wait_state "$waits" RUNNING &&
		driver_does "${old[@]}" "3 reasons 64" &&
		wait_until 60 "n1 is avoided" node_is n1 avoided &&
		stop_policyd KILL && policyd_up && node_is n1 avoided &&
		driver_does "${old[@]}" &&
		wait_until 60 "n1 is up" node_is n1 up &&
		as root scancel "$waits" "$moved" &&
		wait_until 60 "job $waits has ended" has_ended "$waits"
	'
}

check_drain()
{
	test_expect_success "$version: an XID of the hardware drains the node, also in a flood of others" '
		mapfile -t flood < <(yes "0 xid 45" | head -n 1500) &&
		driver_does "${old[@]}" "${flood[@]}" "3 xid 79" && wait_drained n1 &&
		wait_rows 2 "n1\|0\|fault\|note\|done\|$job" &&
		node_has n1 Reason "^egs: GPU 3 XID 79 " &&
		wait_rows 1 "n1\|3\|fault\|drain\|done\|-" &&
		job_is "$job" RUNNING &&
		shows_note nodes "rule fault: GPU 3 XID 79, drained" &&
		shows_note gpus "rule fault: XID 79, drained"
	'
	test_expect_success "$version: a new egs-policyd does nothing twice" '
		stop_policyd KILL && policyd_up &&
		driver_does "${old[@]}" "3 xid 79" "0 temp 91" &&
		wait_rows 2 "n1\|0\|hot\|warn\|done\|$job(\|undone)?" &&
		has_rows 1 "n1\|3\|fault\|drain\|.*" &&
		node_has n1 Reason "^egs: GPU 3 XID 79 "
	'
	test_expect_success "$version: the node is undrained after a reset of the GPU" '
		with_driver n1 && wait_undrained n1 &&
		wait_rows 1 "n1\|3\|fault\|drain\|done\|-\|undone"
	'
	test_expect_success "$version: a drain that an operator has changed is not undone" '
		driver_does "2 xid 79" && wait_drained n1 &&
		wait_rows 1 "n1\|2\|fault\|drain\|done\|-" &&
		as root scontrol update nodename=n1 state=drain reason=mine &&
		with_driver n1 &&
		wait_rows 1 "n1\|2\|fault\|drain\|done\|-\|undone" &&
		node_has n1 Reason "^mine" && node_has n1 State DRAIN &&
		as root scontrol update nodename=n1 state=resume && wait_undrained n1
	'
}

check_fence()
{
	test_expect_success "$version: a GPU that needs a reset fences its node until it is well" '
		driver_does "3 recovery 1" &&
		wait_until 60 "n1 is fenced" node_is n1 fenced &&
		wait_rows 1 "n1\|3\|reset\|fence\|done\|-" &&
		driver_does "3 recovery 0" &&
		wait_until 60 "n1 is not fenced" node_is n1 up &&
		wait_rows 1 "n1\|3\|reset\|fence\|done\|-\|undone"
	'
	test_expect_success "$version: a fence of an operator is not undone" '
		egsctl update node=n1 fenced=yes --reason=mine &&
		driver_does "2 recovery 1" "3 recovery 1" &&
		wait_rows 2 "n1\|[23]\|reset\|fence\|operator\|-" &&
		driver_does "2 recovery 0" "3 recovery 0" &&
		wait_rows 2 "n1\|[23]\|reset\|fence\|operator\|-\|undone" &&
		node_is n1 fenced &&
		egsctl update node=n1 fenced=no --reason=mine
	'
}

check_limits()
{
	test_expect_success "$version: RemediateMax= holds when all nodes are unhealthy" '
		with_driver n2 && driver_does "0 xid 79" "1 xid 79" &&
		wait_rows 2 "n[12]\|[01]\|fault\|drain\|held\|[0-9-]*" &&
		wait_rows 2 "n[12]\|[01]\|fault\|drain\|done\|[0-9-]*" &&
		test "$(drained_nodes)" -eq 1
	'
	test_expect_success "$version: all nodes are up after their GPUs were reset" '
		with_driver n1 && with_driver n2 &&
		wait_undrained n1 && wait_undrained n2 &&
		wait_rows 0 ".*\|(drain|fence)\|[a-z]*\|[0-9-]*"
	'
	test_expect_success "$version: rules only record what they would do in observe mode" '
		egsctl mode observe --reason=try && as root rm /var/lib/egs/ran &&
		driver_does "0 xid 79" "0 temp 91" "0 power 650000" &&
		wait_rows 2 "n[12]\|0\|fault\|drain\|(would|held)\|[0-9-]*" &&
		wait_rows 2 "n[12]\|0\|watts\|run\|would\|[0-9-]*" &&
		test_must_fail program_got . &&
		wait_rows 2 "n[12]\|0\|hot\|warn\|would\|[0-9-]*" &&
		test "$(drained_nodes)" -eq 0
	'
}

run_all()
{
	cluster_up slurm="$version" nodes=2 gpus=4 units \
		conf="$notes/slurm.conf" egs-conf="$notes/egs.conf"
	test_expect_success "$version: the daemons are up" '
		wait_policyd slurmctld up && install_programs &&
		noded_up n1 && noded_up n2
	'
	check_jobs
	check_drain
	check_fence
	check_limits
	cluster_down
}

each_version run_all
test_done
