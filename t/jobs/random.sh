#!/bin/sh
# random.sh - a job of t/lib/check/random-jobs: random.sh SECONDS EXIT KIND
#
# ~/random.log has a line when it begins, and one when it has come to its end.
# KIND says what it does when it is asked to go: "plain" knows nothing of it,
# "saver" says that it has saved and waits, "leaver" exits, and "stubborn" does
# not even hear a TERM.  EXIT 99 is once, at the first end: please again.
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
