#!/bin/sh
# random.sh - a job of t/lib/check/random-jobs: random.sh SECONDS EXIT KIND
#
# Writes a line to ~/random.log at its start and at its end.  KIND is what it does
# when it is preempted: "plain" nothing, "saver" saves and waits, "leaver" exits,
# "stubborn" ignores even SIGTERM.  EXIT is the code of its first run if it is 99.
run=${SLURM_RESTART_COUNT:-0}

echo "$SLURM_JOB_ID $run begin" >>"$HOME/random.log"
case $3 in
saver) trap 'kill "$sleep"; /opt/egs/bin/egs yield; exec sleep 100' USR1 ;;
leaver) trap 'kill "$sleep"; exit 0' USR1 ;;
stubborn) trap '' TERM ;;
esac
sleep "$1" &
sleep=$!
wait "$sleep"
echo "$SLURM_JOB_ID $run end" >>"$HOME/random.log"
[ "$2" != 99 ] || [ "$run" = 0 ] || exit 0
exit "$2"
