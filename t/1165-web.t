#!/bin/bash
# 1165-web.t - egs web serves the page to its user, and to nobody else
# long: 60 s, installs Chromium where it is missing
. "$(dirname "$0")/lib/sh/tree.sh"

web=$EGS_BUILD/cmd/web/egs-web
check=$srcdir/t/lib/check
if [ ! -x "$web" ]; then
	echo '1..0 # SKIP this build has no libmicrohttpd'
	exit 0
fi
cd "$tmp" || exit 1
pids=()
touch fakes
trap 'kill "${pids[@]}" $(cat fakes) 2>/dev/null; rm -rf "$tmp"' EXIT

start_fake()
{
	rm -f sock
	"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
	policyd=$!
	echo "$policyd" >>fakes
	retry test -S sock
}

# start_page: sets url, and page, the process
start_page()
{
	"$web" --socket="$tmp/sock" >address 2>page.err &
	page=$!
	pids+=("$page")
	retry grep -q '^http' address && url=$(head -n 1 address)
}

# fetch PATH [METHOD [HEADER]...]
fetch()
{
	"$check/http" "$url$1" "${@:2}" >answer 2>&1
}

# answers STATUS PATH [METHOD [HEADER]...]
answers()
{
	fetch "${@:2}"
	head -n 1 answer
	head -n 1 answer | grep -q "^HTTP/1.1 $1 "
}

# reads WHAT: the document is there; it is in data then
reads()
{
	fetch "data.json?what=$1" && sed '1,/^\r*$/d' answer >data &&
		head -n 1 answer | grep -q ' 200 '
}

mkdir sock.d
"$srcdir/t/lib/fake/made-cluster" sock.d 4 4
does 'the fake daemon starts' start_fake
does 'egs web prints its address' start_page
does 'egs web prints how to reach it from elsewhere' \
	grep -qE 'ssh -N -L ([0-9]+):127.0.0.1:\1 ' address
does 'the address has a token of 40 digits' \
	grep -qE '^http://127.0.0.1:[0-9]+/[0-9a-f]{40}/$' address
does 'the page is served' answers 200 ''
does 'the page may load nothing from elsewhere' \
	grep -q "^Content-Security-Policy: default-src 'none'; script-src 'self'" answer
does 'the page tells its address to nobody' grep -q '^Referrer-Policy: no-referrer' answer
does 'a script of the page is served' answers 200 map.js
does 'HEAD is served without a body' answers 200 '' HEAD
does 'the answer to HEAD ends after its headers' \
	sh -c '! sed "1,/^\r*$/d" answer | grep .'
for method in POST PUT DELETE OPTIONS TRACE CONNECT; do
	does "$method is refused" answers 405 '' "$method"
done
does 'an unknown file is not found' answers 404 ../../etc/passwd
does 'an unknown document is refused' answers 400 'data.json?what=passwords'
does 'a document of a job needs its id' answers 400 'data.json?what=job'
does 'egs web serves no metrics' answers 404 metrics
does 'the state of the cluster is read' retry reads now
# has_answers: the answers of the daemon are in the document, unchanged
has_answers()
{
	perl -MJSON::PP -e '
		sub slurp { open my $in, "<", $_[0] or die; local $/; <$in> }
		my $d = decode_json(slurp("data"));
		my $j = JSON::PP->new->canonical;
		for my $name (qw(teams map waiting preemptions)) {
			my $want = decode_json(slurp("sock.d/show-$name"));
			die "$name\n" if $j->encode($want) ne $j->encode($d->{$name});
		}'
}
does 'the document has the answers of the daemon' has_answers
does 'the reports of the day are read' retry reads today
does 'the document of a job is read' retry reads 'job&id=81003'
does 'the request about a job has its id' grep -q '"verb":"why","job":"81003"' sock.asked

# ---- who may look ----

# has_no_token: no process shows the token to others
has_no_token()
{
	local token=${url%/}

	token=${token##*/}
	! grep -qa "$token" "/proc/$page/cmdline" "/proc/$page/environ"
}
does 'the token is not in the process list' has_no_token
# without_token PATH: the same server, with another path
without_token()
{
	url=${url%/*/}/ answers 404 "$1"
}
does 'no page is there without the token' without_token ''
does 'no data is there without the token' without_token 'data.json?what=now'
does 'a wrong token is not found' without_token "$(printf '%040d' 7)/"
does 'the beginning of the token is not enough' without_token "${url: -41:8}/"
does 'nothing tells a wrong token from a wrong path' \
	sh -c '! grep -qi token answer'
listens_on_loopback_only()
{
	local port=${url#http://127.0.0.1:}

	printf -v port ':%04X' "${port%%/*}"
	awk -v port="$port" '$4 == "0A" && index($2, port) { print $2 }' \
		/proc/net/tcp /proc/net/tcp6 >listening
	cat listening
	[ "$(cat listening)" = "0100007F$port" ]
}
does 'egs web listens on the loopback address only' listens_on_loopback_only
# as_another: another user of the host knows the port, but not the token
as_another()
{
	[ "$(id -u)" -eq 0 ] || return 1
	setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@"
}
finds_no_token()
{
	local token=${url%/}

	! as_another grep -qasr "${token##*/}" "/proc/$page" 2>/dev/null
}
does 'another user of the host finds no token in /proc' finds_no_token
is_closed_to_another()
{
	as_another "$check/http" "${url%/*/}/data.json?what=now" GET \
		'X-Forwarded-User: root' 'Cookie: token=1' >answer 2>&1
	cat answer
	! grep -q ' 200 \|columns' answer
}
does 'a browser of another user of the host gets no data' is_closed_to_another

# ---- many, slow and broken clients ----

asked()
{
	grep -c '"what":"map"' sock.asked
}

# many_viewers: 40 reads make a request every two seconds, as one viewer does
many_viewers()
{
	local before after start=$SECONDS

	before=$(asked)
	for _ in $(seq 40); do
		reads now || return
	done
	after=$(asked)
	echo "$((after - before)) requests in $((SECONDS - start)) s"
	[ $((after - before)) -le $(((SECONDS - start) / 2 + 3)) ]
}
does 'many viewers cost the daemon no more than one' many_viewers

# is_unharmed: the page is served after an attack
is_unharmed()
{
	(ulimit -n 6000 && perl "$check/attack-http" "$1" "${url#http://}") &&
		retry answers 200 ''
}
for attack in endless-header huge-line garbage slow-reader silent-crowd trickle \
	nul-bytes bad-chunks half-request; do
	does "the page is served after an attack: $attack" is_unharmed $attack
done
# is_small: it has not grown beyond 64 MB by all this
is_small()
{
	awk '/^VmRSS/ { print; exit $2 > 65536 }' "/proc/$page/status"
}
does 'egs web stays small' is_small

# ---- in a browser ----

# hostile names: HTML, escapes, 64 bytes of UTF-8
evil='<img src=x onerror=alert(1)>'
long=$(printf '\303\244%.0s' $(seq 32))
# open_at HASH: steps that open the page there
open_at()
{
	printf 'print=(location.hash = "%s", "%s")\n' "$1" "$1"
	printf 'wait=EGS.page.detail && EGS.page.detail.hash === "%s" && %s\n' "$1" \
		'document.querySelector(".detail h1")'
}
# Steps, a line each; what they print is in the file details.
browse_details()
{
	local steps

	mapfile -t steps <<END
$(open_at '#/job/81003')
print=document.querySelectorAll('.life .area').length
print=[...document.querySelectorAll('.life tbody tr')].map(r => r.cells[4].textContent).join()
print=document.querySelector('.losses .sentence').textContent
view=390x900,dark
wait=document.documentElement.dataset.theme === 'dark'
print=document.documentElement.scrollWidth + ' wide'
axe=$axe
print=(document.querySelector('.life details').open = false, EGS.was = EGS.page.detail.body.made)
wait=EGS.page.detail && EGS.page.detail.body.made !== EGS.was
print='left open: ' + document.querySelector('.life details').open
print=Math.round(EGS.page.ageOf({ made: EGS.now_s() - 5, answers: { ping: { poll_age_s: 40 } } })) + ' s old'
print=EGS.ratio('-') + EGS.ratio('0.3141')
print=document.querySelectorAll('.life .moment').length + ' moments'
$(open_at '#/workload/vision%2Fdetect')
print=document.querySelector('.life .legend').textContent
$(open_at '#/command/teams')
print=document.querySelector('h1').textContent + ' ' + (document.querySelector('.printed tbody').rows.length === EGS.page.now.teams.length)
print=document.documentElement.scrollWidth + ' wide for a command'
$(open_at "#/command/workload/a'%3B%20reboot")
print=document.querySelector('h1').textContent
$(open_at '#/command/constructor')
END
	unset 'steps[-1]'
	browse_page 'print=[...document.querySelectorAll(".tile .value a")].map(a => a.hash).join()' \
		"${steps[@]}" 'print=EGS.page.route()' && mv browsed details
}
# tells VALUE: a step has printed it
tells()
{
	cat details
	grep -qFx -- "$1" details
}
evil_cluster()
{
	perl -CSA -MJSON::PP -e '
		my ($evil, $long) = @ARGV;
		my $j = JSON::PP->new->utf8;
		sub put { my ($f, %a) = @_; open my $o, ">", "sock.d/$f" or die;
			print $o $j->encode({ ok => JSON::PP::true, %a }) }
		put("show-map", columns => [qw(NODE TYPE GPUS COUNT STATE TEAM TIER
			PHASE LOAN JOBID USER SM LEFT)], rows => [["n1", $evil, "0-1", 2,
			"busy", $evil, "prod", "train", "owned", "7", $long, 91, "-"],
			["n1", $evil, "2-3", 2, "free", ("-") x 8]]);
		put("show-teams", columns => [qw(TEAM TYPE QUOTA QUOTA_NOW OWNED ONLOAN
			LENT UNUSED UNMANAGED MAXGPUS USAGE)], rows => [[$evil, "a100", 4,
			4, 2, 0, 0, 2, 0, "-", 0]]);
		put("show-waiting", columns => [qw(JOBID USER TEAM TIER PHASE JOBS GPUS
			SINCE WAITED UNTIL WHY)], rows => [["8", $long, $evil, "prod",
			"eval", 1, 2, "2026-11-18T10:00:00", 60, "-",
			"job 8: \x1b[31m</script><script>alert(2)</script>"]]);
	' "$evil" "$long"
}
ready='wait=EGS.page.now && EGS.page.today && document.querySelector(".tile") && 1'
shown='print=({ map: EGS.page.now.map, teams: [...document.querySelectorAll(".team")].map(e => e.dataset.team), waits: [...document.querySelectorAll(".wait")].map(e => e.textContent), images: document.images.length, scripts: document.scripts.length, route: (location.hash = "#/job/%", EGS.page.route()) })'

# browse_page STEP...
browse_page()
{
	"$check/browse" "$url" "$ready" "$@" >browsed 2>&1 || { cat browsed; false; }
}
# shows_hostile_names: as text, and nothing of them runs
shows_hostile_names()
{
	browse_page "$shown" || return
	perl -MJSON::PP -e '
		my ($evil, $long) = @ARGV;
		open my $in, "<", "browsed" or die;
		my $d = decode_json(<$in>);
		utf8::decode($long);
		die "team\n" if $d->{teams}[0] ne $evil;
		die "user\n" if index($d->{waits}[0], $long) < 0;
		die "why\n" if index($d->{waits}[0], "</script>") < 0;
		die "route\n" if defined $d->{route};
		die "elements\n" if $d->{images} || $d->{scripts} != 7;' \
		"$evil" "$long"
}
reads_evil()
{
	reads now && grep -q onerror data
}
# finds_nothing FILE...: axe has no violation, light, dark and narrow
finds_nothing()
{
	browse_page "axe=$axe" view=390x900,dark \
		'wait=document.documentElement.dataset.theme === "dark"' "axe=$axe" \
		'print=document.documentElement.scrollWidth' || return
	cat browsed
	[ "$(tr '\n' ' ' <browsed)" = '[] [] 390 ' ]
}
# shows_absence: the daemon ends and starts again under the open page
shows_absence()
{
	kill "$policyd"
	rm sock
	: >browsed
	(retry grep -q 'No such file' browsed && start_fake &&
		wait) &
	pids+=($!)
	browse_page 'wait=!document.getElementById("notice").hidden' \
		'print=document.getElementById("notice").textContent' \
		'print=document.querySelectorAll(".team").length' \
		'wait=document.getElementById("notice").hidden' \
		'print=document.getElementById("age").className' || return
	cat browsed
	printf '1\n"age"\n' | cmp - <(tail -n 2 browsed)
}
axe=${EGS_CACHE:-/var/cache/egs}/axe/package/axe.min.js
if reason=$("$srcdir/contrib/deps" --browser 2>&1 | tail -n 1; exit "${PIPESTATUS[0]}"); then
	does 'axe finds no violation on the page, light, dark and narrow' finds_nothing
	does 'pages of a job, a workload and commands open' browse_details
	does 'every number of the headline is a link to its command' \
		tells '"#/command/map,#/command/map,#/command/waiting,#/command/preemptions,#/command/wastage"'
	does 'the page of a job shows its GPUs over time, by phase' tells 3
	does 'the page of a job shows each change of its GPUs' tells '"8,2,8,8,2,8"'
	does 'the page of a job tells what it lost' \
		tells '"288 GPU-seconds in 1 preemption: lost work 0 s, held 14 s, restart 22 s."'
	does 'new data leaves the page of a job as its viewer left it' \
		tells '"left open: false"'
	does 'the page of a job fits a phone' tells '"390 wide"'
	does 'the page of a command fits a phone' tells '"390 wide for a command"'
	does 'axe finds no violation on the page of a job' tells '[]'
	does 'the page of a job marks its checkpoint and its notice' tells '"2 moments"'
	does 'the age of the data counts from the poll of slurmctld' tells '"45 s old"'
	does 'a ratio that was not measured is not 0 %' tells '"–31.4 %"'
	does 'the page of a workload shows its life' tells '"traininferretrain"'
	does 'a command has a page with what it prints' \
		tells '"egsctl show teams true"'
	does 'a name in a command is quoted for the shell' \
		tells "\"egs-report workload 'a'\\\\''; reboot'\""
	does 'an unknown command has no page' tells null
	does 'hostile names are made' evil_cluster
	does 'hostile names are read' retry reads_evil
	does 'hostile names are text on the page' shows_hostile_names
	does 'the page tells that the daemon is away, keeps its data, and goes on' \
		shows_absence
else
	tap_line yes "Chromium opens the page # skip $reason"
fi

ends_with_signal()
{
	kill -INT "$page" && wait "$page"
}
does 'Ctrl-C ends egs web' ends_with_signal
does 'egs web prints no error' sh -c '! grep . page.err'

done_testing
