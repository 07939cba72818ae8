#!/bin/bash
# 1120-egs.t - the command egs in a job: what it says, on which road, and exits
# shellcheck disable=SC2016 # what is in single quotes is for others
. "$(dirname "$0")/lib/sh/tree.sh"
# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"
# shellcheck source=t/lib/sh/job_messages.sh
. "$srcdir/t/lib/sh/job_messages.sh"

egsctl=$EGS_BUILD/cmd/egs/egs
export SLURM_JOB_ID=7
unset SLURM_STEP_ID SLURM_PROCID SLURM_RESTART_COUNT EGS_RUNDIR

# flag REQUEST KIND GPUS: what is asked.
flag()
{
	perl -e 'print "egsflag1", pack "LLqL", @ARGV[0, 1], 5000, $ARGV[2];
		print "\0" x 36' "$@" >job/flag
}

# is_there PATH: within a minute.
is_there()
{
	for _ in $(seq 600); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

run saved --socket="$tmp/sock"
ends 'no EGS anywhere: 2' 2
complains 'and that is said' <<END
egs: egs-policyd at $tmp/sock: No such file or directory; the message was not delivered
END
run should-yield --socket="$tmp/sock"
ends 'nobody knows whether to yield: 2' 2

make_rundir

run saved --path='/ckpt/$(id) "x".pt' --step=40
ends 'saved: 0' 0
received 'with path and step' <<'END'
{"verb":"saved","job":"7","restarts":0,"step":40,"path":"/ckpt/$(id) \u0022x\u0022.pt"}
END
SLURM_RESTART_COUNT=3 run finished
received 'finished, in the fourth run' <<<'{"verb":"finished","job":"7","restarts":3}'
run progress 0.4
received 'progress' <<<'{"verb":"progress","job":"7","restarts":0,"ppm":400000}'
run yield
received 'yield of a batch script' <<<'{"verb":"yield","job":"7","restarts":0}'
flag 17 1 0
SLURM_STEP_ID=0 SLURM_PROCID=5 run yield --path=p
received 'of a rank, for the request it has seen' <<'END'
{"verb":"yield","job":"7","restarts":0,"path":"p","rank":5,"request":17}
END
run yield --rank=2 --gpus=1
received 'or of the rank it says' <<'END'
{"verb":"yield","job":"7","restarts":0,"rank":2,"gpus":1,"request":17,"wait":20}
END

run should-yield
ends 'asked to yield: 0' 0
run wait-request
ends 'and nothing to wait for' 0
prints 'what is asked' <<'END'
request=17
kind=yield
gpus=0
deadline=5000
END
flag 18 2 3
run should-yield
ends 'asked to shrink: 1' 1
flag 0 0 0
run should-yield
ends 'not asked: 1' 1
run wait-request --timeout=0s
ends 'nothing came: 3' 3
does 'and nobody was bothered' test ! -e job/asked

echo '{"ok":true,"phase":"train"}' >job/answer
run phase
prints 'the present phase' <<<train
rm -f job/asked
cat >job/answer <<'END'
{"ok":true,"phase":"infer","gpus":1,"export:EGS_PHASE":"infer",
"export:EVIL":"a'b\n$(touch evil)","export:x y; touch evil":"1","export:PATH=":"1"}
END
run phase Inference --gpus=1
ends 'phase: 0' 0
received 'as it was typed' <<'END'
{"verb":"phase","job":"7","restarts":0,"gpus":1,"phase":"Inference","wait":20}
END
prints 'for the shell, and nothing but variables' <<'END'
export EGS_PHASE='infer'
export EVIL='a'\''b
$(touch evil)'
END
eval "$(cat out)"
does 'which evaluates nothing' test ! -e evil
does 'and has the phase' test "$EGS_PHASE" = infer
run phase infer -- sh -c 'echo "in $EGS_PHASE"; exit 7'
ends 'a command is run in its place' 7
prints 'with the variables' <<<'in infer'

echo '{"error":"no such phase"}' >job/answer
run phase infre
ends 'a refusal: 1' 1
prints 'in words of the shell' <<<'(exit 1)'
complains 'and in ours on stderr' <<<'egs: no such phase'
(eval "$(cat out)")
does 'so eval fails' test $? = 1
run phase infre -- touch evil
ends 'no command is run then' 1
does 'none' test ! -e evil
echo '{"ok":true,"waits":true}' >job/answer
run phase train --timeout=0s
ends 'no GPUs in time: 3' 3
prints 'for eval too' <<<'(exit 3)'
rm -f job/asked
run phase train --no-wait
ends 'or one need not wait' 0
received 'which is said' <<'END'
{"verb":"phase","job":"7","restarts":0,"phase":"train"}
END

rm -f job/asked
while IFS='|' read -r words line; do
	eval "run $line"
	ends "egs $line: 1" 1
	complains "with $words" <<<"egs: $words"
	does 'and nobody is asked' test ! -e job/asked
done <<'END'
no verb given: egs saved, egs why, ... (egs --help)|
'yeild' is not a verb; did you mean 'yield'? (verbs: phase, saved, yield, finished, should-yield, wait-request, progress, why)|yeild
'now' is one operand too many|saved now
--step=x is not a number|saved --step=x
--step=-1 is not a number|saved --step=-1
--rank= is not a number|yield --rank=
progress is a number from 0 to 1: egs progress 0.4|progress 1.5
progress is a number from 0 to 1: egs progress 0.4|progress 40%
progress is a number from 0 to 1: egs progress 0.4|progress
END

kill $noded
wait $noded 2>/dev/null
"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
noded=$!
does 'a daemon is there' is_there "$tmp/sock"
echo '{"ok":true}' >sock.answer
run saved --socket="$tmp/sock"
ends 'where egs-noded is away, the daemon is called' 0
without_id <sock.asked >got
does 'and told the same' grep -qx '{"verb":"saved","job":"7","restarts":0}' got
does 'once' test -z "$(ls job/out)"

done_testing
