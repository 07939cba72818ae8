# shellcheck shell=bash
# common.sh - names, paths and versions for all scripts in contrib/
#
# Source it; it runs no command by itself:
#
#	. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
#
# Sets, for the scripts that source it:
#   egs_top    the checkout, absolute, without symbolic links
#   egs_cache  chroots, Slurm sources and logs, made once (EGS_CACHE, by default
#              /var/cache/egs)
#
# A function that fails by a mistake of the user prints one sentence and ends
# the script.  All other functions return their status.

egs_top=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) || exit 1
egs_cache=$(realpath -m "${EGS_CACHE:-/var/cache/egs}") || exit 1
egs_me=${0##*/}

# egs_say MSG: print a line of progress.
egs_say()
{
	printf '%s: %s\n' "$egs_me" "$*"
}

# egs_die MSG: print why the script failed and exit with 1.
egs_die()
{
	printf '%s: %s\n' "$egs_me" "$*" >&2
	exit 1
}

# egs_usage: print the opening comment of the script, for --help.
egs_usage()
{
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

# egs_refuse MSG: print a mistake in the arguments and exit with 2.
egs_refuse()
{
	printf '%s: %s\n' "$egs_me" "$*" >&2
	exit 2
}

# egs_bad_option OPTION: refuse an unknown option.
egs_bad_option()
{
	egs_refuse "unknown option or argument '$1' (try $egs_me --help)"
}

# egs_versions: the Slurm releases that EGS is built for and tested with.
egs_versions()
{
	echo 22.05 24.11 26.05
}

# egs_native: the release in Debian 12, which needs no chroot.
egs_native()
{
	echo 22.05
}

# egs_check_version V: refuse a release that is not in the list.
egs_check_version()
{
	local v

	for v in $(egs_versions); do
		[ "$v" != "$1" ] || return 0
	done
	egs_refuse "unknown Slurm release '$1'; releases: $(egs_versions)"
}

# egs_root V: the chroot of V; empty for the native release.
egs_root()
{
	[ "$1" = "$(egs_native)" ] || echo "$egs_cache/root-$1"
}

# egs_src V, egs_src_build V: the source tree of exactly the installed Slurm,
# and its build directory (config.h and slurm/slurm_version.h).  They are missing if
# Debian has no source of that release; see egs_has_src.
egs_src()
{
	echo "$egs_cache/slurm-$1/src"
}

egs_src_build()
{
	echo "$egs_cache/slurm-$1/build"
}

egs_has_src()
{
	[ -f "$(egs_src_build "$1")/slurm/slurm_version.h" ]
}

# egs_as_root CMD...: run CMD as root, with sudo if needed.
egs_as_root()
{
	if [ "$EUID" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -E -- "$@"
	else
		egs_die "needs root, and sudo is not installed"
	fi
}

# egs_in V CMD...: run CMD directly for the native release, else in the chroot
# of V as the calling user, with the checkout, the cache, /dev, /proc and /sys at
# their usual paths.  The mounts are in a private namespace and end with CMD.
# CMD starts in the current directory if that is in the checkout or the cache,
# else in the checkout.
egs_in()
{
	local root

	root=$(egs_root "$1")
	if [ -z "$root" ]; then
		"${@:2}"
		return
	fi
	[ -d "$root" ] ||
		egs_die "Slurm $1 is not installed yet: contrib/deps --slurm=$1"
	# With the default propagation unshare fails in a bare chroot, where
	# / is not a mount point; enter-root sets the propagation instead.
	egs_as_root unshare -m --propagation unchanged -- \
		"$egs_top/contrib/lib/enter-root" "$root" "$UID:$(id -g)" \
		"$egs_top" "$egs_cache" "${@:2}"
}

# egs_locked FILE CMD...: run CMD, a function or command, under a lock on FILE.
# Programs that CMD starts do not inherit the lock, so that a daemon cannot hold
# it.
egs_locked()
{
	local file=$1

	mkdir -p "$(dirname "$file")" || return
	(
		if ! flock -n 9; then
			egs_say "waiting for another $egs_me to finish"
			flock 9 || exit
		fi
		"${@:2}" 9>&-
	) 9>>"$file"
}

# egs_logged FILE CMD...: run CMD with its output in FILE.  If CMD fails, print
# the end and the name of FILE on stderr and return the status of CMD.
egs_logged()
{
	local file=$1 rc=0

	mkdir -p "$(dirname "$file")" || return
	"${@:2}" >"$file" 2>&1 </dev/null || rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 15 "$file" >&2
		printf '%s: the full output is in %s\n' \
			"$egs_me" "$file" >&2
	fi
	return "$rc"
}
