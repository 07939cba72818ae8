# shellcheck shell=sh
# apptainer-egs.sh - for Apptainer: a container in a job can speak to EGS
#
# Source it in a job, before "apptainer exec", or let every login shell do so:
# install it in /etc/profile.d.  Containers then have the run directory of the
# job, the command egs without libraries as /usr/local/bin/egs, and egs.py in
# /usr/local/lib/egs.  The one line of it, for a job script:
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
