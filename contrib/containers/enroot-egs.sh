#!/bin/bash
# enroot-egs.sh - enroot hook: let a container in a job send messages to EGS
#
# Install it as /etc/enroot/hooks.d/60-egs.sh, executable.  It gives containers
# the run directory of the job, the static command egs as /usr/local/bin/egs,
# egs.py in /usr/local/lib/egs, and the variables of EGS.  It does nothing for a
# job without a run directory.
set -euo pipefail

tools=${EGS_TOOLS:-/opt/egs/libexec/egs} # where EGS is installed

# bind FROM TO KIND OPTIONS: write a line in the format of fstab.
bind()
{
	printf '%s %s none x-create=%s,bind,nosuid,nodev,private,%s\n' "$@" \
		>>"$ENROOT_MOUNTS"
}

[ -d "${EGS_RUNDIR-}" ] || exit 0
bind "$EGS_RUNDIR" "$EGS_RUNDIR" dir rw,noexec
[ ! -x "$tools/egs-static" ] ||
	bind "$tools/egs-static" /usr/local/bin/egs file ro
[ ! -f "$tools/egs.py" ] || bind "$tools" /usr/local/lib/egs dir ro
for name in $(compgen -e | grep -E '^(EGS_|SLURM_(JOB_ID|RESTART_COUNT)$)'); do
	printf '%s=%s\n' "$name" "${!name}" >>"$ENROOT_ENVIRON"
done
