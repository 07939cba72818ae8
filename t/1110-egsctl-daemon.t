#!/bin/bash
# 1110-egsctl-daemon.t - requests of egsctl to the daemon, and printed answers
. "$(dirname "$0")/lib/sh/tree.sh"
# shellcheck source=t/lib/sh/egsctl.sh
. "$srcdir/t/lib/sh/egsctl.sh"

# ask ARG...: run egsctl with ARG and the daemon of this test.
ask()
{
	rm -f "$tmp/sock.asked"
	run --socket="$tmp/sock" --timeout=50 "$@"
}

# asks TITLE: the daemon got the request on stdin.
asks()
{
	cat >want
	does "$1" diff want sock.asked
}

# started: wait up to a minute for the daemon's socket.
started()
{
	for _ in $(seq 600); do
		[ ! -S "$tmp/sock" ] || return 0
		sleep 0.1
	done
	return 1
}

run ping --socket="$tmp/sock"
ends 'ping without a daemon exits with 2' 2
complains 'ping without a daemon names the socket' <<END
egsctl: egs-policyd at $tmp/sock: No such file or directory
END

"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
daemon=$!
trap 'kill $daemon; rm -rf "$tmp"' EXIT
does 'the fake daemon starts' started

echo '{"ok":true,"mode":"observe","paused":false,"jobs":7,"x":[1]}' >sock.answer
ask ping
ends 'ping of a daemon exits with 0' 0
asks 'ping sends its verb' <<<'{"verb":"ping"}'
prints 'ping prints the answer as KEY=VALUE' <<'END'
mode=observe
paused=false
jobs=7
END
ask ping --json
prints 'ping --json prints the answer unchanged' <sock.answer

cat >sock.answer <<'END'
{"ok":true,"columns":["A\u001b[1m","B\u009b"],"rows":[["1\u0007","\u202e"]]}
END
ask show jobs
does 'show prints no control character of an answer' \
	sh -c '! LC_ALL=C grep -q "[^ -~]" out && test -s out'
echo '{"ok":true,"a":"\u009b\u202e"}' >sock.answer
ask ping --json
does 'ping --json prints no control character of an answer' \
	sh -c '! LC_ALL=C grep -q "[^ -~]" out && test -s out'

ask update job=81234 tier=prod --reason='release "Friday"'
asks 'update sends its keys and values' <<'END'
{"verb":"update","reason":"release \"Friday\"","job":"81234","tier":"prod"}
END
ask update JobId=81234 TIER=prod --reason=y
asks 'update accepts keys as scontrol writes them' <<'END'
{"verb":"update","reason":"y","job":"81234","tier":"prod"}
END
ask mode enforce --reason=y
asks 'mode sends the mode and the reason' <<<'{"verb":"mode","reason":"y","mode":"enforce"}'
ask preempt 81300 --reason=maintenance
asks 'preempt sends the job and the reason' <<'END'
{"verb":"preempt","reason":"maintenance","job":"81300"}
END
ask pause --reason=NFS
asks 'pause sends the reason' <<<'{"verb":"pause","reason":"NFS"}'
ask unpause
asks 'unpause sends its verb' <<<'{"verb":"unpause"}'
ask reconfigure
asks 'reconfigure sends its verb' <<<'{"verb":"reconfigure"}'

echo '{"error":"job 81234 is not known"}' >sock.answer
ask update job=81234 tier=prod --reason=x
ends 'a refusal of the daemon exits with 1' 1
complains 'a refusal of the daemon is printed' <<<'egsctl: job 81234 is not known'

while IFS='|' read -r message line; do
	eval "ask $line"
	ends "egsctl $line exits with 1" 1
	complains "egsctl $line is refused" <<<"egsctl: $message"
	does "egsctl $line sends no request" test ! -e sock.asked
done <<'END'
pause needs a reason: --reason=TEXT|pause
preempt needs a reason: --reason=TEXT|preempt 7
preempt needs a job id|preempt --reason=x
update needs a reason: --reason=TEXT|update job=7 tier=prod
update needs job=ID or node=NAME|update tier=prod --reason=x
'prod' is not KEY=VALUE|update job=7 prod --reason=x
'job' is given twice|update job=7 job=8 --reason=x
'verb' is given twice|update job=7 verb=pause --reason=x
mode needs observe, enforce or file|mode
shrink needs the number of GPUs that the job keeps: --gpus=N|shrink 123 --reason=x
mode needs a reason: --reason=TEXT|mode enforce
'now' is one operand too many|ping now
--timeout=0 is not a number from 1 to 3600|ping --timeout=0
END

cat >sock.answer <<'END'
{"ok":true,"columns":["JOBID","TEAM","GPUS"],"rows":[["81_4","nlp",8],["9","vïsion\u001b[2J",16]]}
END
ask show jobs
ends 'show jobs exits with 0' 0
asks 'show jobs sends its subject' <<<'{"verb":"show","what":"jobs"}'
prints 'show jobs prints columns without control characters' <<'END'
JOBID TEAM       GPUS
81_4  nlp           8
9     vïsion?[2J   16
END
ask show jobs -nP -o gpus,JobID
prints '-o selects columns and their order' <<'END'
8|81_4
16|9
END
ask show jobs -o team%3,gpus%6,jobid
prints '-o FIELD%WIDTH aligns right' <<'END'
TEA   GPUS JOBID
nlp      8 81_4
vïs     16 9
END
ask show jobs -o jobid,team%-5,gpus%-6
prints '-o FIELD%-WIDTH aligns left' <<'END'
JOBID TEAM  GPUS
81_4  nlp   8
9     vïsio 16
END
ask show jobs --json --format=jobid,gpus
prints '--json prints numbers without quotes' <<'END'
{"jobs": [
  {"jobid": "81_4", "gpus": 8},
  {"jobid": "9", "gpus": 16}
]}
END
ask show jobs -o gpu
ends '-o with an unknown field exits with 1' 1
complains '-o with an unknown field suggests one' <<'END'
egsctl: 'gpu' is not a field; did you mean 'GPUS'? (fields: JOBID, TEAM, GPUS)
END
ask show jobs -o gpus%x
complains '-o with a width that is not a number is refused' <<<"egsctl: 'gpus%x' has no width from 1 to 1000"
for width in 0 -1001 1001 -99999999999999999999; do
	ask show jobs -o gpus%$width
	complains "-o with the width $width is refused" <<<"egsctl: 'gpus%$width' has no width from 1 to 1000"
done
for subject in teams tiers phases workloads nodes config intents preemptions; do
	ask show $subject
	asks "show $subject sends its subject" <<<'{"verb":"show","what":"'$subject'"}'
done
echo '{"ok":true,"columns":["JOBID"],"rows":[]}' >sock.answer
ask show jobs
prints 'show jobs prints no header of an empty table' </dev/null
complains 'show jobs says that a table is empty' <<<'egsctl: no jobs to show'
ask show jobs -P
prints 'show jobs -P prints the header of an empty table' <<<JOBID
ask show jobs -o jobs
complains 'a column of an empty table is checked, too' <<'END'
egsctl: 'jobs' is not a field; did you mean 'JOBID'? (fields: JOBID)
END
long=$(printf 'x%.0s' {1..200})
cat >sock.answer <<END
{"ok":true,"columns":["NODE","MEM","NOTE","STATE"],"shown":"NODE,MEM,NOTE","units":"MEM=MB","rows":[["n1",64000,"$long","up"],["n2","-","","up"]]}
END
ask show nodes
does 'a table has 120 columns at most' test "$(wc -L <out)" -eq 120
does 'a cut text ends with a plus' grep -q 'x+$' out
does 'the header has the units, and no column that --long adds' \
	grep -xE 'NODE MEM\(MB\) NOTE *' out
does 'a column of numbers and - is aligned right' grep -xE 'n2         - *' out
ask show nodes --long
does '--long prints all columns, and no text cut' \
	grep -xE "n1     64000 $long up" out
ask show nodes -P -o mem,state
prints 'a header for a script has no unit' <<'END'
MEM|STATE
64000|up
-|up
END
ask show nodes --json -o node,mem
prints '--json has no unit in its keys' <<'END'
{"nodes": [
  {"node": "n1", "mem": 64000},
  {"node": "n2", "mem": "-"}
]}
END

echo '{"ok":maybe}' >sock.answer
ask ping
ends 'an invalid answer exits with 2' 2
complains 'an invalid answer is reported' <<END
egsctl: egs-policyd at $tmp/sock: the message is not JSON
END
kill -STOP $daemon
run ping --socket="$tmp/sock" -t 1
ends 'a daemon that does not answer exits with 2' 2
complains 'a daemon that does not answer is reported' <<END
egsctl: egs-policyd at $tmp/sock: no answer within 1.000 s
END
kill -CONT $daemon

# ---- egsctl top ----

# in_terminal SIZE STEP... -- COMMAND...: prints what in-terminal prints
in_terminal()
{
	"$srcdir/t/lib/check/in-terminal" "$@" >screen 2>&1
	cat screen
	! grep -qE '^(lost|does not fit|no line matches)' screen
}
# top_in SIZE STEP...: egsctl top in a terminal, until q
top_in()
{
	in_terminal "$1" "${@:2}" key=q -- "$egsctl" top --socket="$tmp/sock" &&
		grep -qx 'exit 0' screen
}
mkdir sock.d
"$srcdir/t/lib/fake/made-cluster" sock.d 1000
does 'top shows 1,000 nodes in 80x24, and scrolls to the last' top_in 80x24 \
	see='^8000 GPUs:' see='49 jobs wait for [0-9]+ GPUs' see=^gpu0001 \
	key=jjjj see=^gpu0017 print
for size in 20x6 40x10 300x100; do
	does "top fits a terminal of $size" top_in $size see='egs top' print
done
does 'top refuses a dumb terminal' in_terminal 80x24 see='TERM is dumb; use --once' \
	-- env TERM=dumb "$egsctl" top --socket="$tmp/sock"
does 'top in a dumb terminal exits with 1' grep -qx 'exit 1' screen
# is_plain: valid UTF-8 in 80 columns, without a control character
is_plain()
{
	perl -CSD -MEncode -ne '
		BEGIN { binmode STDIN, ":raw" }
		chomp; my $line = decode("UTF-8", $_, Encode::FB_CROAK);
		die "control: $line\n" if $line =~ /[\x00-\x1f\x7f-\x9f\x{202e}]/;
		die "wide: $line\n" if length $line > 80;' <out
}
perl -MJSON::PP -e '
	my $name = "\xe2\x82\xac" x 21;
	my $evil = "\e[2J\a<b>";
	my ($dir) = @ARGV;
	for my $file (map { "$dir/show-$_" } qw(map teams waiting preemptions)) {
		open my $in, "<", $file or die;
		my $d = decode_json(do { local $/; <$in> });
		utf8::decode($name);
		for my $row (@{ $d->{rows} }) {
			for my $i (0 .. $#{ $d->{columns} }) {
				$row->[$i] = $name if $d->{columns}[$i] =~ /USER|TEAM/;
				$row->[$i] = $evil if $d->{columns}[$i] =~ /TIER|WHY/;
			}
		}
		open my $out, ">", $file or die;
		print $out encode_json($d);
	}' sock.d
run top --once --socket="$tmp/sock"
ends 'top shows hostile names' 0
does 'top cuts names of UTF-8 at characters, and prints no control character' is_plain
# A euro sign has three bytes and one column.
euros=$(printf '\342\202\254%.0s' $(seq 10))
does 'top aligns names of UTF-8' grep -q "^90210      $euros $euros " out

done_testing
