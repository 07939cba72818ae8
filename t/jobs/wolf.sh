#!/bin/bash
# wolf.sh - a job that yields a hundred times without a notice and then runs
#
# ~/refused has the number of refusals.  It ignores a preemption notice.
trap '' USR1
refused=0
for _ in $(seq 100); do
	/opt/egs/bin/egs yield || refused=$((refused + 1))
done
echo "$refused" >"$HOME/refused"
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
