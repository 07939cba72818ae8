#!/bin/bash
# 2010-sandbox.t - contrib/sandbox, with stock Slurm

# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description
test_description='private clusters start, are isolated, and are removed'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"

one=$(cluster_name one)
two=$(cluster_name two)
mid=$(cluster_name mid)
clusters=" $one $two $mid" # taken down however the test ends
export EGS_NO_BUILD=1

inside()
{
	sandbox exec "$one" "$@"
}

# refused REGEX ARG...: up ARG... fails, prints REGEX and leaves nothing behind.
refused()
{
	local sentence=$1

	shift
	! sandbox up "$mid" --stock "$@" >up.out 2>&1 || return
	grep -e "$sentence" up.out || { cat up.out; return 1; }
	nothing_left "$mid"
}

# nothing_left NAME: no file, mount or process of the sandbox; each process is
# found by its mounts, and may take a moment to disappear.
nothing_left()
{
	[ ! -e "$EGS_SANDBOX_DIR/$1" ] && [ ! -e "$EGS_SANDBOX_DIR/$1~" ] &&
	wait_until 30 "no process of $1" no_process "$1"
}

no_process()
{
	! grep -lsE "/${EGS_SANDBOX_DIR##*/}/$1~?/" /proc/[0-9]*/mountinfo
}

state_of()
{
	sandbox list "$1" | awk 'NR == 2 { print $4 }'
}

init_of()
{
	cut -d' ' -f1 "$EGS_SANDBOX_DIR/$1/init"
}

cat >extra.conf <<'END'
KillWait=17
PartitionName=serve Nodes=n1 MaxTime=60
END

test_expect_success 'two clusters start at the same time' '
	sandbox down "$one" "$two" "$mid" || true
	sandbox up "$one" --stock --nodes=2 --gpus=2 --type=a100,h100 \
		--conf=extra.conf >one.out 2>&1 &
	first=$! &&
	sandbox up "$two" --stock --nodes=1 --gpus=0 --cores=3 &&
	wait $first
'
[ "$(state_of "$one")$(state_of "$two")" = upup ] || { cat one.out; test_done; }

test_expect_success 'each cluster has the requested nodes' '
	inside -- sinfo -h -N -p gpu -o "%N %t %c %G" >got &&
	printf "%s\n" "n1 idle 8 gpu:a100:2" "n2 idle 8 gpu:h100:2" >want &&
	test_cmp want got &&
	sandbox exec "$two" -- sinfo -h -N -p gpu -o "%N %t %c %G" >got &&
	echo "n1 idle 3 (null)" >want &&
	test_cmp want got
'

test_expect_success 'lines of --conf replace lines of the sandbox' '
	inside -- scontrol show config | grep -E "^KillWait += 17 sec" &&
	inside -- sinfo -h -p serve -o "%D %l" >got &&
	echo "1 1:00:00" >want &&
	test_cmp want got
'

test_expect_success 'a job of alice runs as alice and has its GPUs' '
	inside --user=alice -- srun --gres=gpu:2 \
		sh -c "id -un; pwd; echo \$CUDA_VISIBLE_DEVICES" >got &&
	printf "%s\n" alice /home/alice 0,1 >want &&
	test_cmp want got
'

test_expect_success 'slurmctld runs as slurm' '
	echo slurm >want &&
	inside -- ps -o user= -C slurmctld >got &&
	test_cmp want got
'

test_expect_success 'exec passes input and groups, and no variable of the caller' '
	export LEAK=1 &&
	echo hello | inside --user=carol -- sh -c "cat; id -Gn; env" >got &&
	head -n 2 got >head &&
	printf "%s\n" hello "carol vision" >want &&
	test_cmp want head &&
	! grep LEAK got
'

test_expect_success 'exec exits as its command does' '
	test_expect_code 7 inside -- sh -c "exit 7" &&
	test_expect_code 7 inside --user=bob -- sh -c "exit 7"
'

test_expect_success 'exec refuses unknown users and sandboxes' '
	! inside --user=zoe -- true 2>err &&
	grep "no user .zoe." err &&
	! inside 2>err &&
	grep "needs a command" err &&
	! sandbox exec "$mid" -- true 2>err &&
	grep "no sandbox .$mid." err
'

test_expect_success 'a stock cluster has no EGS' '
	! inside --user=alice -- srun --phase=train true 2>err &&
	grep "unrecognized option" err &&
	inside -- test ! -e /opt/egs
'

test_expect_success 'a sandbox can write to its own directories only' '
	inside -- touch /tmp/x /var/tmp/x /home/alice/x /etc/x &&
	! inside -- touch /usr/x /srv/egs/x &&
	test ! -e /etc/x
'

test_expect_success 'logs prints each log with its name' '
	sandbox logs "$one" --lines=5 >got &&
	grep "==> .*/$one/log/slurmctld.log <==" got &&
	grep "==> .*/$one/log/slurmd-n2.log <==" got
'

test_expect_success 'up refuses a name in use' '
	! sandbox up "$one" --stock 2>err &&
	grep "sandbox .$one. is there already (up)" err &&
	test "$(state_of "$one")" = up
'

test_expect_success 'up refuses impossible options with the reason' '
	refused "--nodes=0 is not a number from 1 to 64" --nodes=0 &&
	refused "--nodes=65 is not a number from 1 to 64" --nodes=65 &&
	refused "--gpus=x is not a number from 0 to 16" --gpus=x &&
	refused "--cores=999 is not a number from 1 to 256" --cores=999 &&
	refused "--type=A is no list of types" --type=A &&
	refused "--conf=/no/file is not a file" --conf=/no/file &&
	refused "unknown Slurm release .19.05." --slurm=19.05 &&
	refused "--slurm-prefix=/nowhere has no" --slurm-prefix=/nowhere &&
	refused "a blank" --slurm-prefix="$PWD" &&
	refused "--egs-conf is for EGS" --egs-conf=extra.conf &&
	refused "unknown option or argument .--gpu=1." --gpu=1 &&
	! sandbox up "No_Name" --stock 2>err &&
	grep "is no name for a sandbox" err
'

test_expect_success 'up shows why Slurm refuses a slurm.conf' '
	echo "NoSuchKey=1" >bad.conf &&
	refused NoSuchKey --conf=bad.conf &&
	echo "SelectType=select/none_such" >bad.conf &&
	refused none_such --conf=bad.conf
'

# With a drained node up waits for a minute: time to interrupt it.
echo "NodeName=n1 NodeHostname=$mid NodeAddr=127.0.0.1 Port=17001 State=DRAIN" \
	>drain.conf

# started NAME: the record of its init exists
started()
{
	[ -s "$EGS_SANDBOX_DIR/$1/init" ]
}

start_drained()
{
	exec "$srcdir/contrib/sandbox" up "$mid" --stock --nodes=1 --gpus=0 \
		--conf=drain.conf >up.out 2>&1
}

test_expect_success 'down cleans up after a killed up' '
	start_drained &
	pid=$! &&
	wait_until 60 "the init is there" started "$mid" &&
	test "$(state_of "$mid")" = starting &&
	kill -KILL $pid &&
	sandbox down "$mid" &&
	nothing_left "$mid"
'

test_expect_success 'up cleans up when it is interrupted' '
	start_drained &
	pid=$! &&
	wait_until 60 "the init is there" started "$mid" &&
	kill -TERM $pid &&
	! wait $pid &&
	nothing_left "$mid"
'

test_expect_success 'down removes a cluster whose processes were killed' '
	sandbox exec "$two" -- sh -c "kill -KILL \$(cat /run/slurm/slurmctld.pid)" &&
	test "$(state_of "$two")" = up &&
	pid=$(init_of "$two") &&
	kill -KILL "$pid" &&
	wait_until 30 "it is known to be dead" \
		eval "[ \$(state_of $two) = dead ]" &&
	! sandbox exec "$two" -- true 2>err &&
	grep "is dead" err &&
	sandbox down "$two" &&
	nothing_left "$two"
'

test_expect_success 'down does not kill a process that only has the same id' '
	sleep 1000 &
	pid=$! &&
	mkdir "$EGS_SANDBOX_DIR/$two" &&
	echo "$pid 1 $(cat /proc/sys/kernel/random/boot_id)" \
		>"$EGS_SANDBOX_DIR/$two/init" &&
	test "$(state_of "$two")" = dead &&
	sandbox down "$two" &&
	kill $pid
'

test_expect_success 'up works with another installation of Slurm' '
	prefix=$SHARNESS_TEST_DIRECTORY/prefix &&
	mkdir -p "$prefix/bin" "$prefix/sbin" "$prefix/lib" &&
	ln -s /usr/bin/s* "$prefix/bin" &&
	ln -s /usr/sbin/slurm* "$prefix/sbin" &&
	ln -s "$(dirname "$(ls /usr/lib/*/slurm*/auth_munge.so)")" \
		"$prefix/lib/slurm" &&
	sandbox up "$two" --stock --nodes=1 --slurm-prefix="$prefix" &&
	sandbox exec "$two" -- sh -c "command -v sinfo" >got &&
	echo "$prefix/bin/sinfo" >want &&
	test_cmp want got &&
	! sandbox up "$mid" --slurm-prefix="$prefix" 2>err &&
	grep "no EGS in build/ is for Slurm" err &&
	nothing_left "$mid"
'

for name in "$one" "$two"; do
	use_cluster "$name"
	cluster_down
done

test_expect_success 'down leaves no process, mount or file' '
	nothing_left "$one" &&
	nothing_left "$two"
'

test_expect_success 'down reports a sandbox that does not exist' '
	test_expect_code 1 sandbox down "$one" 2>err &&
	grep "no sandbox .$one." err
'

test_done
