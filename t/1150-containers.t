#!/bin/bash
# 1150-containers.t - an empty container can send messages to EGS
#
# A root directory with what the hook of enroot, or the line for Apptainer, puts
# into it, and nothing else: no library, no shell, no slurm.conf.
. "$(dirname "$0")/lib/sh/tree.sh"
# shellcheck source=t/lib/sh/job_messages.sh
. "$srcdir/t/lib/sh/job_messages.sh"

static=$EGS_BUILD/cmd/egs/egs-static
if [ ! -x "$static" ]; then
	echo '1..0 # SKIP this build has no egs-static'
	exit
fi
if ! unshare -rm true 2>/dev/null; then
	echo '1..0 # SKIP no namespaces here'
	exit
fi

make_rundir
mkdir tools
cp "$static" tools/egs-static
cp "$srcdir/libegs/egs.py" tools
echo '{"ok":true,"phase":"infer","export:EGS_PHASE":"infer"}' >job/answer
export EGS_TOOLS=$tmp/tools EGS_LAST_CKPT='/c/a b.pt'
export SLURM_RESTART_COUNT=2 SECRET=1

# container ROOT BINDS ENVIRONMENT CMD...: CMD in ROOT with the binds, a line
# "FROM TO" each, and these variables alone.
container()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare -rm sh -c '
		root=$1 binds=$2 environment=$3
		shift 3
		while read -r from to; do
			if [ -d "$from" ]; then
				mkdir -p "$root$to"
			else
				mkdir -p "$(dirname "$root$to")"
				: >"$root$to"
			fi
			mount --bind "$from" "$root$to" || exit
		done <"$binds"
		set -- "$(command -v chroot)" "$root" "$@"
		while IFS= read -r line; do
			set -- "$line" "$@"
		done <"$environment"
		exec env -i "$@"' - "$@"
}

# check_container ROOT BINDS ENVIRONMENT: run the verbs of a job in it.
check_container()
{
	does "${1##*/}: egs saved works in the container" container "$1" "$2" "$3" /usr/local/bin/egs saved \
		--path=/c
	received "${1##*/}: egs saved sends its message from the container" <<'END'
{"verb":"saved","job":"7","restarts":2,"path":"/c"}
END
	container "$1" "$2" "$3" /usr/local/bin/egs should-yield
	does "${1##*/}: egs should-yield works in the container" test $? = 1
	container "$1" "$2" "$3" /usr/local/bin/egs phase infer >got
	echo "export EGS_PHASE='infer'" >want
	does "${1##*/}: egs phase works in the container" diff want got
	rm -f job/asked
	container "$1" "$2" "$3" /usr/local/bin/egs-of-the-host 2>/dev/null
	does "${1##*/}: the container has no other program" test $? = 127
}

: >environ
ENROOT_MOUNTS=$tmp/mounts ENROOT_ENVIRON=$tmp/environ \
	"$srcdir/contrib/containers/enroot-egs.sh"
does 'the enroot hook succeeds' test $? = 0
does 'the enroot hook passes EGS variables' grep -qx 'EGS_LAST_CKPT=/c/a b.pt' environ
does 'the enroot hook passes no other variable' test -z "$(grep SECRET environ)"
awk 'NF != 4 || $3 != "none" || $4 !~ /^x-create=(dir|file),bind,/' mounts >odd
does 'the enroot hook writes lines of fstab' test ! -s odd
awk '{ print $1, $2 }' mounts >binds
check_container "$tmp/enroot" binds environ
does 'the enroot hook binds egs.py' grep -q " /usr/local/lib/egs$" binds

APPTAINER_BIND=/data:/data
# shellcheck source=contrib/containers/apptainer-egs.sh
. "$srcdir/contrib/containers/apptainer-egs.sh"
does 'the Apptainer script keeps APPTAINER_BIND' \
	test "${APPTAINER_BIND%%,*}" = /data:/data
tr , '\n' <<<"$APPTAINER_BIND" | tail -n +2 |
	awk -F: '{ print $1, (NF > 1 ? $2 : $1) }' >binds
check_container "$tmp/apptainer" binds environ

unset EGS_RUNDIR APPTAINER_BIND
ENROOT_MOUNTS=$tmp/none ENROOT_ENVIRON=$tmp/none \
	"$srcdir/contrib/containers/enroot-egs.sh"
does 'the enroot hook succeeds without a run directory' test $? = 0
does 'the enroot hook writes nothing without a run directory' test ! -e none
. "$srcdir/contrib/containers/apptainer-egs.sh"
does 'the Apptainer script sets no bind without a run directory' test -z "${APPTAINER_BIND-}"

done_testing
