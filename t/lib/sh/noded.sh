# shellcheck shell=bash disable=SC2016,SC2154 # sh -c, cluster.sh
# noded.sh - egs-noded in the current cluster, beside cluster.sh
#
# All nodes of a cluster are on one host, so a test sees all run directories.
#
#   rundir NODE JOB	the path of the job's run directory inside
#   drop_message NODE JOB NAME KEY=VALUE...	as alice: write a JSON object of
#	KEY=VALUE, with a new id, to out/NAME
#   answer_to NODE JOB NAME	wait for the answer to that message and print it
#   noded_pid NODE	the process id of egs-noded
#   noded_up NODE	wait until egs-noded runs
#   kill_noded NODE	kill egs-noded with SIGKILL and wait until it is gone
#   no_noded NODE	no egs-noded runs
#   with_driver NODE [LINE]...	restart egs-noded with the scripted driver
#	(t/lib/fake/nvml.c), as driver_does
#   start_with_driver NODE [OPTION]...	start egs-noded with that driver, and with
#	the variables of the array noded_env
#   driver_does [LINE]...	LINEs are the script of the driver
#   knows_gpu NODE JOB	egs-noded knows that JOB has a GPU of NODE; egs.conf has
#	DcgmMapDir=/run/sandbox/dcgm-%n
#   intrude NAME=VALUE... -- N FLAGS [TITLE]	as bob, outside of Slurm and with
#	this environment, N processes have GPU 1 open with FLAGS of open() until
#	let_go; TITLE is their argv[0]
#   is_open_in N	N processes have GPU 1 open
#   let_go	end the processes of intrude

noded_env=()

rundir()
{
	echo "/run/egs-node/$1/$2/dir"
}

drop_message()
{
	local dir word text

	dir=$(rundir "$1" "$2")
	text="\"id\":\"$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \n')\""
	text="$text,\"job\":\"$2\""
	for word in "${@:4}"; do
		text="$text,\"${word%%=*}\":\"${word#*=}\""
	done
	as alice sh -c 'printf "{%s}" "$1" >"$2/out/.$3" &&
		mv "$2/out/.$3" "$2/out/$3"' - "$text" "$dir" "$3"
}

answer_to()
{
	local file

	file=$(rundir "$1" "$2")/in/$3
	wait_until 90 "message $3 of job $2 is answered" as alice test -e "$file" &&
	as alice cat "$file"
}

# Its child processes have the same arguments; egs-noded is the oldest.
noded_pid()
{
	as root pgrep -o -f "^egs-noded -N $1 "
}

noded_up()
{
	wait_until 60 "egs-noded of $1 runs" noded_pid "$1"
}

# A second egs-noded, which slurmd has started, may wait for the end of the first.
kill_noded()
{
	noded_pid "$1" >/dev/null &&
	wait_until 60 "egs-noded of $1 is gone" noded_is_killed "$1"
}

noded_is_killed()
{
	local pid

	pid=$(noded_pid "$1") || return 0
	as root kill -9 "$pid"
	return 1
}

with_driver()
{
	local there=$EGS_SANDBOX_DIR/$cluster/run/sandbox

	cc -shared -fPIC -I"$srcdir" -o "$there/libnvidia-ml.so.1" \
		"$srcdir/t/lib/fake/nvml.c" &&
	driver_does "${@:2}" && kill_noded "$1" || return
	start_with_driver "$1"
}

start_with_driver()
{
	as root env "${noded_env[@]}" LD_LIBRARY_PATH=/run/sandbox \
		EGS_NVML=/run/sandbox/driver bash -c "exec -a egs-noded /opt/egs/sbin/egs-noded -N $1 ${*:2} \
		--log=/var/log/egs-noded-$1.log" >/dev/null 2>&1 </dev/null &
	noded_up "$1"
}

driver_does()
{
	as root sh -c 'printf "%s\n" "$@" >/run/sandbox/.driver &&
		mv /run/sandbox/.driver /run/sandbox/driver' - "$@"
}

knows_gpu()
{
	as root grep -qsx "$2" -r "/run/sandbox/dcgm-$1"
}

no_noded()
{
	! noded_pid "$1" >/dev/null
}

intrude()
{
	local env=()

	while [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	as bob rm -f end &&
	as bob env -i "${env[@]}" setsid perl "$jobs/intrude.pl" "$2" "$3" \
		/dev/nvidia1 /home/bob/end "${@:4}" >/dev/null 2>&1 </dev/null &&
	wait_until 90 "$2 processes have GPU 1 open" is_open_in "$2"
}

is_open_in()
{
	[ "$(as root sh -c "ls -l /proc/[0-9]*/fd 2>/dev/null |
		grep -c /dev/nvidia1\$")" -eq "$1" ]
}

let_go()
{
	as bob touch end && wait_until 60 "GPU 1 is closed" is_open_in 0
}
