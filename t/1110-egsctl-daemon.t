#!/bin/bash
# 1110-egsctl-daemon.t - what egsctl asks of the daemon, and how it prints that
. "$(dirname "$0")/lib/sh/tree.sh"
# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"

# ask ARG...: egsctl with ARG at the daemon of this test.
ask()
{
	rm -f "$tmp/sock.asked"
	run --socket="$tmp/sock" --timeout=50 "$@"
}

# asks WORDS: the daemon was asked for what is on stdin.
asks()
{
	cat >want
	does "$1" diff want sock.asked
}

# started: the daemon is there, within a minute.
started()
{
	for _ in $(seq 600); do
		[ ! -S "$tmp/sock" ] || return 0
		sleep 0.1
	done
	return 1
}

run ping --socket="$tmp/sock"
ends 'nobody is there: 2' 2
complains 'and that is said' <<END
egsctl: egs-policyd at $tmp/sock: No such file or directory
END

"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
daemon=$!
trap 'kill $daemon; rm -rf "$tmp"' EXIT
does 'a daemon is there' started

echo '{"ok":true,"mode":"observe","paused":false,"jobs":7,"x":[1]}' >sock.answer
ask ping
ends 'it answers: 0' 0
asks 'what was asked' <<<'{"verb":"ping"}'
prints 'and all it said is printed' <<'END'
mode=observe
paused=false
jobs=7
END
ask ping --json
prints 'or as it said it' <sock.answer

ask update job=81234 tier=prod --reason='release "Friday"'
asks 'update asks for what was typed' <<'END'
{"verb":"update","reason":"release \"Friday\"","job":"81234","tier":"prod"}
END
ask update JobId=81234 TIER=prod --reason=y
asks 'and may be typed as for scontrol' <<'END'
{"verb":"update","reason":"y","job":"81234","tier":"prod"}
END
ask mode enforce --reason=y
asks 'and so does mode' <<<'{"verb":"mode","reason":"y","mode":"enforce"}'
ask preempt 81300 --reason=maintenance
asks 'and preempt' <<'END'
{"verb":"preempt","reason":"maintenance","job":"81300"}
END
ask pause --reason=NFS
asks 'and pause' <<<'{"verb":"pause","reason":"NFS"}'
ask unpause
asks 'and unpause' <<<'{"verb":"unpause"}'
ask reconfigure
asks 'and reconfigure' <<<'{"verb":"reconfigure"}'

echo '{"error":"job 81234 is not known"}' >sock.answer
ask update job=81234 tier=prod --reason=x
ends 'a refusal: 1' 1
complains 'with the sentence of the daemon' <<<'egsctl: job 81234 is not known'

while IFS='|' read -r words line; do
	eval "ask $line"
	ends "egsctl $line: 1" 1
	complains "with $words" <<<"egsctl: $words"
	does 'and the daemon is not asked' test ! -e sock.asked
done <<'END'
pause needs a reason: --reason=TEXT|pause
preempt needs a reason: --reason=TEXT|preempt 7
which job? Say its number|preempt --reason=x
update needs a reason: --reason=TEXT|update job=7 tier=prod
update of what? Say job=ID or node=NAME|update tier=prod --reason=x
'prod' is not KEY=VALUE|update job=7 prod --reason=x
'job' is there twice|update job=7 job=8 --reason=x
'verb' is there twice|update job=7 verb=pause --reason=x
which mode? Say observe, enforce or file|mode
mode needs a reason: --reason=TEXT|mode enforce
'now' is one operand too many|ping now
--timeout=0 is not from 1 to 3600|ping --timeout=0
END

cat >sock.answer <<'END'
{"ok":true,"columns":["JOBID","TEAM","GPUS"],"rows":[["81_4","nlp",8],["9","vïsion\u001b[2J",16]]}
END
ask show jobs
ends 'a table: 0' 0
asks 'is asked for by its name' <<<'{"verb":"show","what":"jobs"}'
prints 'in columns, without what a terminal would obey' <<'END'
JOBID TEAM       GPUS
81_4  nlp        8
9     vïsion?[2J 16
END
ask show jobs -nP -o gpus,JobID
prints '-o has the columns and their order' <<'END'
8|81_4
16|9
END
ask show jobs -o team%3,gpus%6,jobid
prints 'and their widths' <<'END'
TEA   GPUS JOBID
nlp      8 81_4
vïs     16 9
END
ask show jobs -o jobid,team%-5,gpus%-6
prints 'or at the left side, below zero' <<'END'
JOBID TEAM  GPUS
81_4  nlp   8
9     vïsio 16
END
ask show jobs --json --format=jobid,gpus
prints '--json knows numbers' <<'END'
{"jobs": [
  {"jobid": "81_4", "gpus": 8},
  {"jobid": "9", "gpus": 16}
]}
END
ask show jobs -o gpu
ends 'a field that is none: 1' 1
complains 'has a sentence' <<'END'
egsctl: 'gpu' is not a field; did you mean 'GPUS'? (fields: JOBID, TEAM, GPUS)
END
ask show jobs -o gpus%x
complains 'and so has a width' <<<"egsctl: 'gpus%x' has no width from 1 to 1000"
for width in 0 -1001 1001 -99999999999999999999; do
	ask show jobs -o gpus%$width
	complains "also $width" <<<"egsctl: 'gpus%$width' has no width from 1 to 1000"
done
for subject in teams tiers phases workloads nodes config intents; do
	ask show $subject
	asks "show $subject asks" <<<'{"verb":"show","what":"'$subject'"}'
done
echo '{"ok":true,"columns":["JOBID"],"rows":[]}' >sock.answer
ask show jobs
prints 'a table may be empty' <<<JOBID

echo '{"ok":maybe}' >sock.answer
ask ping
ends 'what is no answer: 2' 2
complains 'has a sentence' <<END
egsctl: egs-policyd at $tmp/sock: the message is not JSON
END
kill -STOP $daemon
run ping --socket="$tmp/sock" -t 1
ends 'a daemon that is stuck: 2' 2
complains 'is not waited for' <<END
egsctl: egs-policyd at $tmp/sock: no answer within 1.000 s
END
kill -CONT $daemon

done_testing
