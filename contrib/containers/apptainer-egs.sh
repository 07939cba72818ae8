# shellcheck shell=sh
# apptainer-egs.sh - let an Apptainer container in a job send messages to EGS
#
# Source it in a job, before "apptainer exec", or let every login shell do so:
# install it in /etc/profile.d.  Containers then have the run directory of the
# job, the static command egs as /usr/local/bin/egs, and egs.py in
# /usr/local/lib/egs.  This line in a job script is the minimum:
#
#	export APPTAINER_BIND="$EGS_RUNDIR"
if [ -d "${EGS_RUNDIR-}" ]; then
	egs_tools=${EGS_TOOLS:-/opt/egs/libexec/egs}
	APPTAINER_BIND=${APPTAINER_BIND:+$APPTAINER_BIND,}$EGS_RUNDIR
	[ ! -x "$egs_tools/egs-static" ] ||
		APPTAINER_BIND=$APPTAINER_BIND,$egs_tools/egs-static:/usr/local/bin/egs:ro
	[ ! -f "$egs_tools/egs.py" ] ||
		APPTAINER_BIND=$APPTAINER_BIND,$egs_tools:/usr/local/lib/egs:ro
	export APPTAINER_BIND
	unset egs_tools
fi
