# shellcheck shell=bash disable=SC2154
# sandbox-up.sh - the verb up: check the options, find Slurm and EGS, start, wait
#
# The variables o_* are the options.  All refusals come before the directory of
# the sandbox is created.  After that, an error or ^C removes the sandbox.  The
# init does all work that takes time: if this script is killed, no child of it
# keeps writing.

sb_start_s=300	# when to give up; each step inside has its own deadline

# sb_options ARG...: set o_* and refuse unknown options.
sb_options()
{
	local arg

	o_name="" o_slurm=$(egs_native) o_prefix="" o_nodes=4 o_gpus=4
	o_type=a100 o_cores=8 o_stock=0 o_dbd=0 o_units=0 o_conf="" o_egs_conf=""
	# shellcheck disable=SC2034 # sandbox-boot.sh uses all of them
	for arg; do
		case $arg in
		--slurm=*) o_slurm=${arg#*=} ;;
		--slurm-prefix=*) o_prefix=${arg#*=}; o_slurm= ;;
		--nodes=*) o_nodes=${arg#*=} ;;
		--gpus=*) o_gpus=${arg#*=} ;;
		--type=*) o_type=${arg#*=} ;;
		--cores=*) o_cores=${arg#*=} ;;
		--stock) o_stock=1 ;;
		--dbd) o_dbd=1 ;;
		--units) o_units=1 ;;
		--conf=*) o_conf=${arg#*=} ;;
		--egs-conf=*) o_egs_conf=${arg#*=} ;;
		-*) egs_bad_option "$arg" ;;
		*) [ -z "$o_name" ] || egs_bad_option "$arg"
		   o_name=$arg
		   sb_check_name "$o_name" ;;
		esac
	done
	o_name=${o_name:-egs}
}

# sb_check_number OPTION VALUE MIN MAX
sb_check_number()
{
	{
		[[ $2 =~ ^(0|[1-9][0-9]{0,3})$ ]] && (($2 >= $3 && $2 <= $4))
	} || egs_die "$1=$2 is not a number from $3 to $4"
}

# sb_check_file OPTION FILE
sb_check_file()
{
	[ -z "$2" ] || { [ -f "$2" ] && [ -r "$2" ]; } ||
		egs_die "$1=$2 is not a file that can be read"
}

# sb_check_options: refuse impossible values and combinations.
sb_check_options()
{
	local word='[a-z][a-z0-9_]{0,31}'

	sb_check_number --nodes "$o_nodes" 1 64
	sb_check_number --gpus "$o_gpus" 0 16
	sb_check_number --cores "$o_cores" 1 256
	[[ $o_type =~ ^$word([,+]$word)*$ ]] ||
		egs_die "--type=$o_type is no list of types such as a100,h100"
	sb_check_file --conf "$o_conf"
	sb_check_file --egs-conf "$o_egs_conf"
	[ -z "$o_conf" ] || o_conf=$(realpath "$o_conf")
	[ -z "$o_egs_conf" ] || o_egs_conf=$(realpath "$o_egs_conf")
	[ "$o_stock" -eq 0 ] || [ -z "$o_egs_conf" ] ||
		egs_die "--egs-conf is for EGS, and --stock is without it"
	if [ -n "$o_prefix" ]; then
		o_prefix=$(realpath -m "$o_prefix")
		sb_check_prefix
	else
		egs_check_version "$o_slurm"
	fi
	sb_refuse_taken
}

# sb_check_prefix: all programs must be there, or those of the machine would run.
sb_check_prefix()
{
	local f

	[[ $o_prefix != *[[:space:]]* ]] ||
		egs_die "--slurm-prefix=$o_prefix has a blank in it, which" \
			"slurm.conf cannot hold"
	for f in sbin/slurmctld sbin/slurmd bin/scontrol bin/sinfo; do
		[ -x "$o_prefix/$f" ] ||
			egs_die "--slurm-prefix=$o_prefix has no $f"
	done
}

# sb_refuse_taken: refuse a name in use.
sb_refuse_taken()
{
	[ ! -e "$sb_dir/$o_name" ] ||
		egs_die "sandbox '$o_name' is there already" \
			"($(sb_state "$o_name")); take it down first:" \
			"contrib/sandbox down $o_name"
}

# sb_prepare: install the requested Slurm and build EGS for it.
sb_prepare()
{
	[ "${EGS_NO_BUILD:-0}" != 1 ] && [ -n "$o_slurm" ] || return 0
	if [ "$o_stock" -eq 1 ]; then
		"$egs_top/contrib/deps" --slurm="$o_slurm"
	else
		"$egs_top/contrib/build" --slurm="$o_slurm"
	fi || egs_die "sandbox '$o_name' is not started"
}

# sb_find_slurm: set sb_base (the tree that becomes /), sb_sbin, sb_path,
# sb_prefix and sb_plugins (Slurm's own, as seen inside) and sb_version.
sb_find_slurm()
{
	local dirs said

	sb_base=/ sb_prefix=$o_prefix
	[ -z "$o_slurm" ] || sb_base=$(egs_root "$o_slurm")
	sb_base=${sb_base:-/}
	[ -d "$sb_base" ] ||
		egs_die "Slurm $o_slurm is not installed yet:" \
			"contrib/deps --slurm=$o_slurm"
	sb_sbin=${sb_prefix:-/usr}/sbin
	sb_path=${sb_prefix:+$sb_prefix/bin:$sb_prefix/sbin:}
	sb_path+=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	said=$(chroot "$sb_base" "$sb_sbin/slurmctld" -V 2>&1) ||
		egs_die "cannot run Slurm ${o_slurm:-of $o_prefix}: $said"
	sb_version=${said##* }
	[[ -z $o_slurm || $sb_version == "$o_slurm".* ]] ||
		egs_die "Slurm here is $sb_version, not $o_slurm"
	dirs=("${sb_base%/}${sb_prefix:-/usr}"/lib*/{,*/}slurm*/auth_munge.so)
	for said in "${dirs[@]}"; do
		[ ! -e "$said" ] || sb_plugins=$(dirname "$said")
	done
	[ -n "${sb_plugins-}" ] ||
		egs_die "no auth_munge.so of Slurm in ${sb_base%/}$sb_prefix"
	sb_plugins=/${sb_plugins#"${sb_base%/}"/}
}

# sb_build_of VERSION PLUGINDIR: a build directory for exactly that Slurm.
sb_build_of()
{
	local d

	for d in "$egs_top"/build/*/; do
		grep -qsxF "S[\"SLURM_VERSION\"]=\"$1\"" "$d/config.status" &&
			grep -qsxF "S[\"SLURM_PLUGINDIR\"]=\"$2\"" \
				"$d/config.status" && echo "${d%/}" && return
	done
	return 1
}

# sb_find_egs: set sb_egs, the installation that becomes /opt/egs.
sb_find_egs()
{
	local build=$egs_top/build/$o_slurm

	sb_egs=
	[ "$o_stock" -eq 0 ] || return 0
	if [ -z "$o_slurm" ]; then
		build=$(sb_build_of "$sb_version" "$sb_plugins") ||
			egs_die "no EGS in build/ is for Slurm $sb_version" \
				"of $o_prefix; --stock does without"
	fi
	sb_egs=$build/inst/opt/egs
	[ -d "$sb_egs" ] ||
		egs_die "EGS is not built in $build; run contrib/build" \
			"--slurm=${o_slurm:-$sb_version}, or say --stock"
}

# sb_check_dbd: refuse --dbd if its programs are missing.
sb_check_dbd()
{
	local f

	[ "$o_dbd" -eq 1 ] || return 0
	for f in /usr/sbin/mariadbd /usr/bin/mariadb-install-db \
		"$sb_sbin/slurmdbd" \
		"$sb_plugins/accounting_storage_mysql.so"; do
		[ -e "${sb_base%/}$f" ] || [ -L "${sb_base%/}$f" ] ||
			egs_die "--dbd needs $f, which ${sb_base} has not"
	done
}

# sb_claim: create the directory; from here on this script must clean up.
sb_claim()
{
	local stop=0

	umask 022
	trap stop=1 INT TERM HUP
	trap sb_undo EXIT
	# The removal of the last sandbox removes $sb_dir, maybe in between.
	until mkdir "$sb_dir/$o_name" 2>/dev/null; do
		sb_refuse_taken
		mkdir -p "$sb_dir" || egs_die "cannot make $sb_dir"
	done
	sb_here=$sb_dir/$o_name
	sb_record $$ >"$sb_here/up"
	echo "$sb_version $o_nodes" >"$sb_here/info"
	trap 'exit 130' INT TERM HUP
	[ "$stop" -eq 0 ] || exit 130
}

# sb_undo: clean up after a failed start; the name may belong to another sandbox
# by now.
sb_undo()
{
	trap '' INT TERM HUP
	[ "$(sb_pid "$sb_dir/$o_name" up)" != $$ ] || sb_remove "$o_name"
}

# sb_write_settings: for sandbox-init.sh and sandbox-boot.sh.
sb_write_settings()
{
	local name

	mkdir "$sb_here/log" "$sb_here/root" || egs_die "cannot use $sb_here"
	for name in "${!o_@}" "${!sb_@}"; do
		printf '%s=%q\n' "$name" "${!name}"
	done >"$sb_here/settings" || egs_die "cannot write $sb_here/settings"
}

# sb_init: become the init, without open files of the caller: a reader of our
# output would otherwise wait for the daemons.  Changing the propagation of /
# fails in a bare chroot; sandbox-init.sh does it.
sb_init()
{
	local fd

	for fd in /proc/"$BASHPID"/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || eval "exec $fd>&-"
	done
	exec setsid unshare --mount --propagation unchanged --uts --ipc --net \
		--pid --fork --kill-child \
		/bin/bash "$egs_top/contrib/lib/sandbox-init.sh" "$sb_here"
}

sb_launch()
{
	sb_init </dev/null >"$sb_here/log/init.log" 2>&1 &
	sb_unshare=$!
}

# sb_failed WHAT LOG: print what did not start, with the end of its log or, if
# there is none, of its output.
sb_failed()
{
	local log=$sb_here/log/$2

	[ -s "$log" ] || log=${log%.log}.out
	[ ! -s "$log" ] || tail -n 12 "$log" | sed 's/^/    /' >&2
	egs_die "sandbox '$o_name': $1"
}

# sb_wait: until sandbox-boot.sh is ready or has failed.
sb_wait()
{
	local what log end=$((SECONDS + sb_start_s))

	while [ ! -e "$sb_here/run/sandbox/ready" ]; do
		if [ -s "$sb_here/run/sandbox/failed" ]; then
			read -r log what <"$sb_here/run/sandbox/failed"
			sb_failed "$what" "$log"
		fi
		[ -d "$sb_here" ] ||
			egs_die "sandbox '$o_name' was taken down"
		sb_proc_start "$sb_unshare" >/dev/null ||
			sb_failed "its first process ended" init.log
		((SECONDS < end)) ||
			sb_failed "not ready after $sb_start_s s" init.log
		sleep 0.1
	done
}

# sb_summary: print the cluster and how to use it.
sb_summary()
{
	local with="with EGS"

	[ "$o_stock" -eq 0 ] || with="without EGS"
	echo "sandbox $o_name: Slurm $sb_version $with," \
		"$o_nodes x $o_gpus GPUs ($o_type), up in $SECONDS s"
	echo "  contrib/sandbox exec $o_name --user=alice -- sinfo"
	echo "  logs: $sb_here/log"
}

sb_up()
{
	sb_options "$@"
	sb_check_options
	sb_prepare
	sb_find_slurm
	sb_find_egs
	sb_check_dbd
	SECONDS=0
	sb_claim
	sb_write_settings
	sb_launch
	sb_wait
	trap - EXIT
	sb_summary
}
