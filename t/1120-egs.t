#!/bin/bash
# 1120-egs.t - the command egs in a job: its messages, output and exit codes
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
ends 'egs saved without EGS exits with 2' 2
complains 'egs saved without EGS prints why' <<END
egs: egs-policyd at $tmp/sock: No such file or directory; the message was not delivered
END
run should-yield --socket="$tmp/sock"
ends 'egs should-yield without EGS exits with 2' 2

make_rundir

run saved --path='/ckpt/$(id) "x".pt' --step=40
ends 'egs saved exits with 0' 0
received 'egs saved sends path and step' <<'END'
{"verb":"saved","job":"7","restarts":0,"step":40,"path":"/ckpt/$(id) \u0022x\u0022.pt"}
END
SLURM_RESTART_COUNT=3 run finished
received 'egs finished sends the restart count' <<<'{"verb":"finished","job":"7","restarts":3}'
run progress 0.4
received 'egs progress sends millionths' <<<'{"verb":"progress","job":"7","restarts":0,"ppm":400000}'
run yield
received 'egs yield in a batch script sends no rank' <<<'{"verb":"yield","job":"7","restarts":0}'
flag 17 1 0
SLURM_STEP_ID=0 SLURM_PROCID=5 run yield --path=p
received 'egs yield in a step sends its rank and the number of the notice' <<'END'
{"verb":"yield","job":"7","restarts":0,"path":"p","rank":5,"request":17}
END
run yield --rank=2 --gpus=1
received 'egs yield --rank sends that rank' <<'END'
{"verb":"yield","job":"7","restarts":0,"rank":2,"gpus":1,"request":17,"wait":20}
END

run should-yield
ends 'egs should-yield exits with 0 after a yield notice' 0
run wait-request
ends 'egs wait-request returns at once after a notice' 0
prints 'egs wait-request prints the notice' <<'END'
request=17
kind=yield
gpus=0
deadline=5000
END
flag 18 2 3
run should-yield
ends 'egs should-yield exits with 1 after a shrink notice' 1
flag 0 0 0
run should-yield
ends 'egs should-yield exits with 1 without a notice' 1
run wait-request --timeout=0s
ends 'egs wait-request --timeout exits with 3 without a notice' 3
does 'egs should-yield and wait-request send no message' test ! -e job/asked

echo '{"ok":true,"phase":"train"}' >job/answer
run phase
prints 'egs phase prints the present phase' <<<train
rm -f job/asked
cat >job/answer <<'END'
{"ok":true,"phase":"infer","gpus":1,"export:EGS_PHASE":"infer",
"export:CUDA_VISIBLE_DEVICES":"a'b\n$(touch evil)\u001b[31m",
"export:EVIL":"1","export:PATH":"/evil","export:LD_PRELOAD":"/evil.so",
"reexport:PATH":"/evil","export:x y; touch evil":"1","export:PATH=":"1"}
END
run phase Inference --gpus=1
ends 'egs phase PHASE exits with 0' 0
received 'egs phase sends the phase as typed' <<'END'
{"verb":"phase","job":"7","restarts":0,"gpus":1,"phase":"Inference","wait":20}
END
prints 'egs phase exports only names on its list, quoted and printable' <<'END'
export EGS_PHASE='infer'
export CUDA_VISIBLE_DEVICES='a'\''b?$(touch evil)?[31m'
END
eval "$(cat out)"
does 'the exports of egs phase run no command' test ! -e evil
does 'the exports of egs phase set EGS_PHASE' test "$EGS_PHASE" = infer
run phase infer -- sh -c 'echo "in $EGS_PHASE"; exit 7'
ends 'egs phase PHASE -- COMMAND exits as COMMAND does' 7
prints 'egs phase PHASE -- COMMAND sets the variables' <<<'in infer'

echo '{"error":"no such phase"}' >job/answer
run phase infre
ends 'egs phase exits with 1 when refused' 1
prints 'egs phase prints (exit 1) when refused' <<<'(exit 1)'
complains 'egs phase prints the refusal on stderr' <<<'egs: no such phase'
(eval "$(cat out)")
does 'eval of a refused egs phase fails' test $? = 1
run phase infre -- touch evil
ends 'egs phase PHASE -- COMMAND exits with 1 when refused' 1
does 'egs phase PHASE -- COMMAND runs no command when refused' test ! -e evil
echo '{"ok":true,"waits":true}' >job/answer
run phase train --timeout=0s
ends 'egs phase --timeout exits with 3 without GPUs' 3
prints 'egs phase --timeout prints (exit 3) without GPUs' <<<'(exit 3)'
rm -f job/asked
run phase train --no-wait
ends 'egs phase --no-wait exits with 0' 0
received 'egs phase --no-wait sends wait=no' <<'END'
{"verb":"phase","job":"7","restarts":0,"phase":"train"}
END

rm -f job/asked
while IFS='|' read -r words line; do
	eval "run $line"
	ends "egs $line exits with 1" 1
	complains "egs $line prints its mistake" <<<"egs: $words"
	does "egs $line sends no message" test ! -e job/asked
done <<'END'
no verb given: egs saved, egs why, ... (egs --help)|
'yeild' is not a verb; did you mean 'yield'? (verbs: phase, saved, yield, finished, should-yield, wait-request, progress, why, gpu, web)|yeild
'now' is one operand too many|saved now
--step=x is not a number|saved --step=x
--step=-1 is not a number|saved --step=-1
--rank= is not a number|yield --rank=
progress is a number from 0 to 1: egs progress 0.4|progress 1.5
progress is a number from 0 to 1: egs progress 0.4|progress 40%
progress is a number from 0 to 1: egs progress 0.4|progress
'8' is one operand too many|gpu 7 8
END

kill $noded
wait $noded 2>/dev/null
"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
noded=$!
does 'the stand-in for egs-policyd is up' is_there "$tmp/sock"
echo '{"ok":true}' >sock.answer
run saved --socket="$tmp/sock"
ends 'egs saved reaches egs-policyd when egs-noded is down' 0
without_id <sock.asked >got
does 'egs-policyd receives the message of egs saved' grep -qx '{"verb":"saved","job":"7","restarts":0}' got
does_print_clean()
{
	does "$1" sh -c '! LC_ALL=C grep -q "[^ -~]" out && test -s out'
}
cat >sock.answer <<'END'
{"ok":true,"why":"a\u001b]0;b\u0007","estimate":"\u009b1m","saved":"\u202e",
"columns":["T","V","U","D"],"rows":[["1\u001b[1m","2\u0007","3\u009b","4\u202ex"]]}
END
run why 7 --socket="$tmp/sock"
ends 'egs why prints an answer of egs-policyd' 0
does_print_clean 'egs why prints no control character of an answer'
echo '{"ok":true,"columns":["GPU"],"rows":[]}' >sock.answer
run gpu 7 --socket="$tmp/sock"
complains 'egs gpu names itself in the sentence about an empty table' <<<'egs: no gpus to show'
does 'no second copy of the message is left in the run directory' test -z "$(ls job/out)"

done_testing
