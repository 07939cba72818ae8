# shellcheck shell=bash
# sandbox-state.sh - the state of a sandbox, seen from outside, and its removal
#
# A sandbox is the directory $sb_dir/NAME and one process, the init of its
# namespaces; when that process ends the kernel kills all others inside.
#   init      "PID START BOOT" of the init: an id is valid only together with its
#             start time in this boot, because ids are reused
#   up        the same for the script that is starting it
#   info      "VERSION NODES"
#   settings  of sandbox-init.sh and sandbox-boot.sh, as shell assignments
#   etc/slurm home log run var   seen inside as /etc/slurm, ..., /var/log, ...
#   root      the mount point of its file tree, empty seen from outside
# $sb_dir/NAME~ is a sandbox that is being removed.  A removal renames the
# directory first, and an init that finds its directory renamed after it wrote
# its record gives up: so no sandbox escapes, whenever a script is killed.

sb_dir=$(realpath -m "${EGS_SANDBOX_DIR:-/var/tmp/egs-sandbox}") || exit 1

# sb_check_name NAME: refuse an invalid name.
sb_check_name()
{
	[[ $1 =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]] ||
		egs_die "'$1' is no name for a sandbox, which has up to 40" \
			"of a-z, 0-9 and -"
}

# sb_proc_start PID: the start time of a process; fails for a zombie.
sb_proc_start()
{
	local stat fields

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	read -ra fields <<<"${stat##*) }"
	[[ ${fields[0]} != [ZX] ]] && echo "${fields[19]}"
}

# sb_record PID: a unique record of a running process.
sb_record()
{
	local start boot

	start=$(sb_proc_start "$1") || return 1
	read -r boot </proc/sys/kernel/random/boot_id
	echo "$1 $start $boot"
}

# sb_pid DIR WHICH: the process id in a record, if that process still runs.
sb_pid()
{
	local record pid

	{ read -r record <"$1/$2"; } 2>/dev/null || return 1
	pid=${record%% *}
	[ "$(sb_record "$pid")" = "$record" ] && echo "$pid"
}

# sb_state NAME: up, starting or dead; a partly removed sandbox is dead.
sb_state()
{
	if ! sb_pid "$sb_dir/$1" init >/dev/null; then
		sb_pid "$sb_dir/$1" up >/dev/null && echo starting || echo dead
	elif [ -e "$sb_dir/$1/run/sandbox/ready" ]; then
		echo up
	else
		echo starting
	fi
}

# sb_names: all sandboxes, also those whose removal did not finish.
sb_names()
{
	local d

	for d in "$sb_dir"/*/; do
		d=$(basename "$d")
		[ ! -d "$sb_dir/$d" ] || echo "${d%\~}"
	done | sort -u
}

# sb_kill DIR: kill the init in DIR and with it all processes inside.
sb_kill()
{
	local pid i

	pid=$(sb_pid "$1" init) || return 0
	kill -KILL "$pid" 2>/dev/null
	for ((i = 0; i < 300; i++)); do
		sb_pid "$1" init >/dev/null || return 0
		sleep 0.1
	done
	egs_die "process $pid does not end 30 s after SIGKILL; its sandbox" \
		"stays in $1"
}

# sb_remove_files DIR: retry, because an init that gives up may still write there.
sb_remove_files()
{
	rm -rf --one-file-system "$1" 2>/dev/null ||
		{ sleep 1; rm -rf --one-file-system "$1"; }
}

# sb_remove NAME: remove the sandbox; status 1 if there was none, 2 if a part of
# it stays.
sb_remove()
{
	local dir=$sb_dir/$1 gone=$sb_dir/$1~ found=1 i

	for ((i = 0; i < 2; i++)); do
		if [ -d "$gone" ]; then
			sb_kill "$gone"
			# Only in a bare chroot, see sandbox-init.sh.
			umount -l "$gone/root" 2>/dev/null
			sb_remove_files "$gone" || return 2
			found=0
		fi
		mv -T "$dir" "$gone" 2>/dev/null || break
	done
	rmdir "$sb_dir" 2>/dev/null
	return "$found"
}
