#!/bin/bash
# 1166-webd.t - egs-webd believes the proxy's header, and nobody else's
# shellcheck disable=SC2016 # perl and awk have variables of their own
. "$(dirname "$0")/lib/sh/tree.sh"

webd=$EGS_BUILD/cmd/web/egs-webd
http=$srcdir/t/lib/check/http
if [ ! -x "$webd" ]; then
	echo '1..0 # SKIP this build has no libmicrohttpd'
	exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
	echo '1..0 # SKIP only root can be several users'
	exit 0
fi
cd "$tmp" || exit 1
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT

# act_as USER COMMAND...
act_as()
{
	setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups "${@:2}"
}

# exec_as USER COMMAND...: the same, in place of this shell
exec_as()
{
	exec setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups "${@:2}"
}

# start_webd ARG...: as nobody; the proxy is the user daemon
start_webd()
{
	setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups \
		"$webd" --socket="$tmp/sock" --proxy-user=daemon "$@" 2>webd.err &
	page=$!
	pids+=("$page")
}

# see USER [HEADER]...: a user of this host reads the state; the body is in data
see()
{
	act_as "$1" "$http" -u "$tmp/run/web.sock" \
		"http://localhost/egs/data.json?what=now" GET "${@:2}" >answer 2>&1
	sed '1,/^\r*$/d' answer >data
	head -n 1 answer | grep -q ' 200 '
}

# asked_for UID: the daemon was asked for that user, "": for nobody
asked_for()
{
	cat sock.asked
	if [ -n "$1" ]; then
		grep -q "\"viewer\":$1[,}]" sock.asked
	else
		! grep -q '"viewer"' sock.asked
	fi
}

chmod 755 "$tmp"
mkdir -m 777 run
mkdir sock.d
"$srcdir/t/lib/fake/made-cluster" sock.d 4 4
"$srcdir/t/lib/fake/fake-policyd" "$tmp/sock" &
pids+=($!)
retry test -S sock
chmod 666 sock
# The fake is root's, so its answers count.
start_webd --listen="$tmp/run/web.sock" --metrics="$tmp/metrics"
does 'egs-webd opens its socket' retry test -S run/web.sock

does 'a viewer without a proxy sees sums' retry see man
does 'a viewer without a proxy is nobody' asked_for ''
does 'a header without the proxy is read' see man 'X-Forwarded-User: bin'
does 'a header without the proxy is not believed' asked_for ''
does 'the document says that nobody looks' grep -q '"viewer":""' data
: >sock.asked
does 'a header of the proxy is read' retry see daemon 'X-Forwarded-User: bin'
does 'a header of the proxy is believed' asked_for "$(id -u bin)"
does 'the document names the viewer' grep -q '"viewer":"bin"' data
# is_refused STATUS HEADER...
is_refused()
{
	see daemon "${@:2}"
	head -n 1 answer
	head -n 1 answer | grep -q " $1 "
}
does 'the proxy cannot name root' is_refused 403 'X-Forwarded-User: root'
does 'the header twice is refused' is_refused 403 'X-Forwarded-User: bin' \
	'X-Forwarded-User: sys'
does 'a name that is no name is refused' is_refused 403 'X-Forwarded-User: ../x'
does 'a name of 64 letters is refused' is_refused 403 \
	"X-Forwarded-User: $(printf 'a%.0s' $(seq 64))"
does 'an empty header is nobody' see daemon 'X-Forwarded-User:'
does 'the proxy without a header is nobody' see daemon
does 'the document of the proxy itself is that of nobody' grep -q '"viewer":""' data
unknown_user()
{
	see daemon 'X-Forwarded-User: no-such-user' && cat data &&
		grep -q "this host has no user 'no-such-user'" data
}
does 'a user whom the host does not know sees no data' retry unknown_user

# ---- paths and metrics ----

# get PATH [HEADER]...: as the proxy
get()
{
	act_as daemon "$http" -u "$tmp/run/web.sock" "http://localhost$1" GET \
		"${@:2}" >answer 2>&1
	head -n 1 answer
	head -n 1 answer | grep -q ' 200 '
}
does 'the page is served at the top' get /
does 'the page is served under any prefix' get /pun/sys/egs/
does 'scripts of the page are served under any prefix' get /pun/sys/egs/map.js
has_no_metrics()
{
	! get /metrics
}
does 'there are no metrics before egs-policyd has written them' has_no_metrics
printf '%s\n' 'egs_up 1' 'egs_gpu_job{jobid="7",user="alice"} 1' \
	'egs_waiting_jobs 2' 'egs_gpu_job{jobid="8",user="bob"} 1' '# EOF' >metrics
does 'metrics are served' get /egs/metrics
# has_body LINE...
has_body()
{
	cat answer
	sed '1,/^\r*$/d' answer | cmp - <(printf '%s\n' "$@")
}
does 'metrics for nobody in particular have no jobs' \
	has_body 'egs_up 1' 'egs_waiting_jobs 2' '# EOF'
does 'metrics have the type of their format' \
	grep -q '^Content-Type: text/plain; version=0.0.4' answer
does 'metrics are served to a viewer with a name' \
	get /egs/metrics 'X-Forwarded-User: bin'
does 'metrics for a viewer with a name are the whole file' \
	sh -c 'sed "1,/^\r*$/d" answer | cmp - metrics'
printf 'egs_up 0\n' >metrics.new
mv metrics.new metrics
does 'metrics of a new file are served' get /egs/metrics
does 'metrics for nobody follow the file' has_body 'egs_up 0'

# has_no_job DOCUMENT: it is refused without a question to the daemon
has_no_job()
{
	: >sock.asked
	get "/data.json?what=$1" && cat answer sock.asked &&
		grep -q 'only users who logged in see this' answer &&
		! grep -qE '"(job|name)":' sock.asked
}
does 'nobody in particular sees no job' has_no_job 'job&id=7'
does 'nobody in particular sees no workload' has_no_job 'workload&name=fraud'
does 'a viewer with a name sees a job' \
	retry get '/data.json?what=job&id=7' 'X-Forwarded-User: bin'
does 'the daemon is asked about the job' grep -q '"job":"7"' sock.asked

# ---- cost ----

# many_viewers: 40 reads make a request every two seconds, as one viewer does
many_viewers()
{
	local before asked start=$SECONDS

	before=$(grep -c '"what":"map"' sock.asked)
	for _ in $(seq 40); do
		see man || return
	done
	asked=$(($(grep -c '"what":"map"' sock.asked) - before))
	echo "$asked requests in $((SECONDS - start)) s"
	[ "$asked" -le $(((SECONDS - start) / 2 + 3)) ]
}
does 'many viewers cost the daemon no more than one of each identity' many_viewers

# ---- a viewer who wants too much ----

# see_soon ARG...: as see, within half a minute
see_soon()
{
	local end=$((SECONDS + 30))

	while [ $SECONDS -lt $end ]; do
		! see "$@" || return 0
	done
	return 1
}

# flood: for a minute, bin asks for 200 jobs, again and again
flood()
{
	exec_as daemon perl -MIO::Socket::UNIX -e '
		my $end = time + 60;

		for (my $i = 0; time < $end; $i = ($i + 1) % 200) {
			my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or next;

			print $s "GET /data.json?what=job&id=$i HTTP/1.1\r\n",
				"Host: x\r\nX-Forwarded-User: bin\r\n\r\n";
			my $line = <$s> // "";
			print $line;
			STDOUT->flush;
			select undef, undef, undef, 0.002;
		}' "$tmp/run/web.sock" >flooded 2>&1
}
flood &
flooder=$!
pids+=("$flooder")
# fills_cache: 128 others are wanted, which was all there was once
fills_cache()
{
	[ "$(wc -l <flooded)" -ge 140 ]
}
does 'a viewer asks for many jobs at a time' retry fills_cache
does 'another viewer is served beside one who asks for many jobs' \
	see_soon daemon 'X-Forwarded-User: sys'
does 'a viewer who asks for 200 jobs at a time is refused' retry grep -q ' 429 ' flooded
kill "$flooder"

# Each answer becomes as large as on a site of many nodes.
make_large()
{
	mv sock.d/show-map map
	perl -e 'print "{\"ok\":true,\"columns\":[\"A\"],\"rows\":[[\"",
		"x" x 5_000_000, "\"]]}"' >sock.d/show-map
}

# has_large_page USER: USER sees the large document
has_large_page()
{
	see daemon "X-Forwarded-User: $1" && [ "$(wc -c <data)" -gt 5000000 ]
}

is_below()
{
	awk -v limit="$1" '/^VmRSS/ { print; exit $2 > limit }' "/proc/$page/status"
}

# every_viewer COMMAND: for twelve users of any Debian
every_viewer()
{
	local user

	for user in bin sys games man lp mail news uucp www-data backup list irc; do
		"$@" "$user" || return
	done
}
does 'answers become large' make_large
does 'twelve viewers see large answers' every_viewer retry has_large_page
does 'egs-webd keeps no more than its limit' is_below 262144
does 'egs-webd gives memory back when nobody looks any more' retry is_below 32768
mv map sock.d/show-map

# A report is refused, as when too many run: the page asks again in seconds.
refuse_reports()
{
	mv sock.d/report-usage-every usage
	echo '{"error":"too many reports run; try again"}' >sock.d/report-usage-every
}
sees_today()
{
	act_as daemon "$http" -u "$tmp/run/web.sock" \
		"http://localhost/data.json?what=today" GET \
		'X-Forwarded-User: games' >answer 2>&1
	grep -q "$1" answer
}
does 'a report is refused' refuse_reports
does 'the page shows the refusal' retry sees_today 'too many reports run'
does 'the page is told to ask again in five seconds' grep -q '"again_s":5}' answer
mv usage sock.d/report-usage-every
allowed_at=$SECONDS
has_no_refusal()
{
	sees_today '"again_s":60}'
}
does 'the refusal is over soon after its reason' retry has_no_refusal
does 'a refusal does not stay for a minute' test $((SECONDS - allowed_at)) -lt 40

# ---- strangers on the socket of the proxy ----

# crowd: 600 connections of another user, and each that ends comes back
crowd()
{
	exec_as man perl -MIO::Socket::UNIX -e '
		my ($path, @all) = @ARGV;
		my $end = time + 60;

		while (time < $end) {
			my $in = "";

			while (@all < 600) {
				my $s = IO::Socket::UNIX->new(Peer => $path,
					Blocking => 0) or last;
				push @all, $s;
			}
			print scalar @all, "\n";
			STDOUT->flush;
			vec($in, fileno $_, 1) = 1 for @all;
			select $in, undef, undef, 0.1;
			@all = grep { !vec($in, fileno $_, 1) } @all;
		}' "$tmp/run/web.sock" >crowd 2>&1
}

# ten_looks: sets took_s, the time of ten viewers of the proxy one after the other
ten_looks()
{
	local start=$SECONDS

	for _ in 1 2 3 4 5 6 7 8 9 10; do
		get / || return
	done
	took_s=$((SECONDS - start))
}

# is_not_delayed: ten viewers need no more than alone, and some seconds
is_not_delayed()
{
	local alone_s=$took_s

	ten_looks && echo "$alone_s s alone, $took_s s beside the crowd" &&
		[ "$took_s" -le $((3 * alone_s + 10)) ]
}
does 'viewers of the proxy are served' ten_looks
crowd &
pids+=($!)
does 'a user of the host opens 200 connections' \
	retry awk '$1 >= 200 { found = 1 } END { exit !found }' crowd
does 'the proxy is served beside a crowd on its socket' is_not_delayed
kill "${pids[-1]}"

# ---- starting ----

ends_at_term()
{
	kill -TERM "$page" && wait "$page"
}
does 'SIGTERM ends egs-webd' ends_at_term
does 'egs-webd removes its socket' test ! -e run/web.sock
does 'egs-webd prints no error' sh -c '! grep . webd.err'
# refuses_start WORDS COMMAND...: it ends with these words
refuses_start()
{
	"${@:2}" >out 2>&1 && return 1
	cat out
	grep -qF -- "$1" out
}
does 'egs-webd does not run as root' refuses_start 'it does not run as root' "$webd"
does 'egs-webd listens on no other address' refuses_start \
	'it listens on loopback only' act_as nobody "$webd" --listen=0.0.0.0:80
does 'egs-webd names a proxy that does not exist' refuses_start \
	'there is no such user' act_as nobody "$webd" --proxy-user=no-such-user

# On a port there is no kernel that names the peer: no header is believed.
port_is_open()
{
	"$http" "http://127.0.0.1:$port/data.json?what=now" GET \
		'X-Forwarded-User: bin' >answer 2>&1 && grep -q '"viewer":""' answer
}
port=$((20000 + $$ % 12000))
rm -f sock.asked
start_webd --listen=$port
does 'egs-webd serves a port of loopback' retry port_is_open
does 'a header over a port is not believed' asked_for ''

done_testing
