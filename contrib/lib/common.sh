# shellcheck shell=bash
# common.sh - what every script in contrib/ needs: names, places, versions
#
# Source it, it runs nothing by itself:
#
#	. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
#
# Sets, for the scripts that source it:
#   egs_top    the checkout, absolute, without symbolic links
#   egs_cache  what is obtained once and kept: chroots, Slurm sources, logs
#              (EGS_CACHE, by default /var/cache/egs)
#
# A function that fails because of its caller's user prints one sentence and
# ends the script; everything else passes its status up.

egs_top=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) || exit 1
egs_cache=$(realpath -m "${EGS_CACHE:-/var/cache/egs}") || exit 1
egs_me=${0##*/}

# egs_say MSG: one line for the person who watches.
egs_say()
{
	printf '%s: %s\n' "$egs_me" "$*"
}

# egs_die MSG: the one sentence of a failure; the script ends with status 1.
egs_die()
{
	printf '%s: %s\n' "$egs_me" "$*" >&2
	exit 1
}

# egs_usage: the text for --help, which is the comment that opens the script.
egs_usage()
{
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

# egs_refuse MSG: the one sentence about a mistake in the arguments; status 2.
egs_refuse()
{
	printf '%s: %s\n' "$egs_me" "$*" >&2
	exit 2
}

# egs_bad_option OPTION: refuse what the script does not know.
egs_bad_option()
{
	egs_refuse "unknown option or argument '$1' (try $egs_me --help)"
}

# egs_versions: the Slurm releases EGS is built for and tested with.
egs_versions()
{
	echo 22.05 24.11 26.05
}

# egs_native: the release that Debian 12 itself carries; it needs no chroot.
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
	egs_refuse "no Slurm '$1' here, there is: $(egs_versions)"
}

# egs_root V: the chroot in which V is installed; empty for the native one.
egs_root()
{
	[ "$1" = "$(egs_native)" ] || echo "$egs_cache/root-$1"
}

# egs_src V, egs_src_build V: where Slurm's source tree of exactly the
# installed version is, and where it is configured (config.h and
# slurm/slurm_version.h).  The directories are missing where Debian has no
# source of that release; see egs_has_src.
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

# egs_as_root CMD...: run CMD as root, through sudo for an ordinary user.
egs_as_root()
{
	if [ "$EUID" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -E -- "$@"
	else
		egs_die "needs root, and there is no sudo here"
	fi
}

# egs_in V CMD...: run CMD where V is installed: right here for the native
# release, else in its chroot as the calling user, with the checkout, the
# cache, /dev, /proc and /sys at their usual paths.  The mounts live in a
# namespace of their own and are gone when CMD is.  CMD starts in the current
# directory if it is in the checkout or the cache, else in the checkout.
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
	# / is no mount point; enter-root takes care of it instead.
	egs_as_root unshare -m --propagation unchanged -- \
		"$egs_top/contrib/lib/enter-root" "$root" "$UID:$(id -g)" \
		"$egs_top" "$egs_cache" "${@:2}"
}

# egs_locked FILE CMD...: run CMD, a function or a command, while no other
# caller with the same FILE does; the others wait.  No program that CMD starts
# inherits the lock, so that a daemon it leaves behind cannot hold it.
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

# egs_logged FILE CMD...: run CMD with its output in FILE.  When it fails, the
# end of FILE and its name go to stderr and CMD's status is returned.
egs_logged()
{
	local file=$1 rc=0

	mkdir -p "$(dirname "$file")" || return
	"${@:2}" >"$file" 2>&1 </dev/null || rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 15 "$file" >&2
		printf '%s: all of the output is in %s\n' \
			"$egs_me" "$file" >&2
	fi
	return "$rc"
}
