#!/bin/sh
# signals.sh - a job whose script and step print the signals they get
if [ -z "$1" ]; then
	set -- batch
	srun -n1 /srv/egs/t/jobs/signals.sh step &
fi
for name in CONT TERM USR1 USR2; do
	# shellcheck disable=SC2064 # of now
	trap "echo $1 $name" "$name"
done
echo "$1 ready"
while :; do
	sleep 0.2
done
