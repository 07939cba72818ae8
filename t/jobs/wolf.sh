#!/bin/bash
# wolf.sh - says a hundred times that it yields, unasked, and then runs on
#
# ~/refused is how often that was refused.  Asked to leave it does nothing.
trap '' USR1
refused=0
for _ in $(seq 100); do
	/opt/egs/bin/egs yield || refused=$((refused + 1))
done
echo "$refused" >"$HOME/refused"
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
