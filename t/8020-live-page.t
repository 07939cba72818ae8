#!/bin/bash
# 8020-live-page.t - the page shows what happens in a cluster, as it happens
# long: 60 s, a cluster, and Chromium
# shellcheck disable=SC2016,SC2034,SC2154 # sharness: bodies, test_description

test_description='egs web shows jobs, a preemption and a live resize as they happen'
. "${srcdir:-$(dirname "$0")/..}/t/lib/sh/cluster.sh"
. "$srcdir/t/lib/sh/policyd.sh"
. "$srcdir/t/lib/sh/preempt.sh"
. "$srcdir/t/lib/sh/resize.sh"

# Chromium and the library are packages of this machine, not of the chroots.
version=22.05
if ! has_plugins $version || [[ " $EGS_TEST_VERSIONS " != *" $version "* ]] ||
	[ ! -x "$srcdir/build/$version/cmd/web/egs-web" ]; then
	skip_all='the page was not built for Slurm 22.05'
	test_done
fi
if ! "$srcdir/contrib/deps" --browser >"$notes/deps" 2>&1; then
	skip_all=$(tail -n 1 "$notes/deps")
	test_done
fi

cat >"$notes/egs.conf" <<'END'
Mode=enforce
LiveResize=yes
TierOrder=prod,scavenge
PollInterval=1s
WebUser=dave
GpuType=a100
Tier=prod Partitions=serve
Tier=scavenge Partitions=scavenge Loan=always MinRuntime=0s \
	MaxPreemptions=none GraceMin=1s GraceMax=120s GraceNoAck=120s
Team=fraud Users=alice Quota=none DefaultTier=scavenge
Team=vision Users=bob Quota=a100:4 DefaultTier=prod
END

# serve_page USER: start egs web; its address is in $notes/USER.url then
serve_page()
{
	as "$1" sh -c 'egs web >page.url 2>&1 </dev/null & echo $! >page.pid' &&
	wait_until 60 "egs web of $1 prints its address" has_address "$1"
}

has_address()
{
	as "$1" head -n 1 page.url >"$notes/$1.url" && grep -q ^http: "$notes/$1.url"
}

# look USER STEP...: open the page of USER, where that page is
look()
{
	as root /srv/egs/t/lib/check/browse "$(cat "$notes/$1.url")" \
		'wait=EGS.page.now && document.querySelector(".tile") && 1' "${@:2}"
}

# shown NAME FIELDS: rows of egsctl show NAME, a line each
shown()
{
	as root egsctl show "$1" -nP -o "$2"
}

# on_page NAME FIELDS: a step that prints the same rows as the page has them
on_page()
{
	printf "print=EGS.page.now.%s.map(r => '%s'.split(',').map(k => r[k])%s" \
		"$1" "$2" ".join('|')).join(String.fromCharCode(10))"
}

same_as_commands()
{
	local map=node,type,gpus,count,state,team,tier,phase,loan,jobid,user
	local teams=team,type,quota,quota_now,owned,onloan,lent,unused

	shown map $map >before && shown teams $teams >>before &&
	look root "$(on_page map $map)" "$(on_page teams $teams)" >page &&
	perl -MJSON::PP -ne 'print JSON::PP->new->allow_nonref->decode($_), "\n"' \
		page >got &&
	shown map $map >after && shown teams $teams >>after &&
	cmp -s before after && test_cmp after got
}

# waits_for USER JOB: show waiting has the job
waits_for()
{
	as "$1" egsctl show waiting -nP -o jobid | grep -qx "$2"
}

carol_sees()
{
	as carol egsctl show map -nP -o team | grep -q "$1"
}

cluster_up slurm=$version nodes=1 gpus=4 egs-conf="$notes/egs.conf"

test_expect_success 'egs web prints an address for each of three users' '
	serve_page root && serve_page alice && serve_page carol
'

test_expect_success 'the page has the values of egsctl show at the same moment' '
	victim=$(once_running submit --partition=scavenge --phase=train \
		--signal=B:USR1@60 --gres=gpu:a100:4 asked.sh exit 99) &&
	wait_until 90 "page and commands agree" same_as_commands &&
	grep "^n1|a100|0-3|4|busy|fraud|scavenge|train|loan|$victim|alice$" got
'

test_expect_success 'the page of another user has no name of the job' '
	look carol "wait=EGS.page.now.map.some(r => r.state === \"busy\")" \
		"print=document.body.textContent + JSON.stringify(EGS.page.now)" \
		"print=EGS.page.now.map.map(r => [r.team, r.jobid, r.user].join())" \
		>page &&
	grep -Fx "[\"fraud,-,-\"]" page && ! grep alice page
'

test_expect_success 'the page of the owner explains the job' '
	as root /srv/egs/t/lib/check/browse "$(cat "$notes/alice.url")#/job/$victim" \
		"wait=document.querySelector(\".why .sentence\")" \
		"print=document.querySelector(\".why .sentence\").textContent" >page &&
	grep "job $victim: running on 4 a100 on loan" page
'

# webd_shows USER TEXT [HEADER]: egs-webd shows TEXT to a local user
webd_shows()
{
	as "$1" /srv/egs/t/lib/check/http -u /tmp/web.sock \
		"http://localhost/data.json?what=now" GET "${@:3}" >data 2>&1
	grep -q -- "$2" data
}

test_expect_success 'egs-webd shows a viewer whom the proxy names his own job' '
	as dave sh -c "/opt/egs/sbin/egs-webd --listen=/tmp/web.sock \
		--proxy-user=carol >webd.log 2>&1 </dev/null & echo \$! >page.pid" &&
	wait_until 60 "the data of alice" webd_shows carol "\"$victim\",\"alice\"" \
		"X-Forwarded-User: alice"
'

test_expect_success 'egs-webd shows others sums without names' '
	wait_until 60 "the data of nobody" webd_shows bob fraud \
		"X-Forwarded-User: alice" &&
	! grep alice data &&
	wait_until 60 "the data of another" webd_shows carol fraud \
		"X-Forwarded-User: bob" &&
	! grep alice data
'

# watch_restart: print when the page says that the daemon is away, and is back
watch_restart()
{
	look carol 'print="open"' \
		'wait=!document.getElementById("notice").hidden' \
		'print="away " + document.getElementById("notice").textContent' \
		'wait=document.getElementById("notice").hidden' \
		'print="back " + EGS.page.now.map.length' >restarted 2>&1
}

# write_private LINE: slurm.conf of the daemon, with this line
write_private()
{
	printf "%s\n" "Include /etc/slurm/slurm.conf" "$1" |
		as root sh -c "cat >/run/sandbox/private.conf"
}

test_expect_success 'the page says that egs-policyd is away, and goes on after its restart' '
	{ watch_restart & watcher=$!; } &&
	wait_until 90 "the page is open" grep -q open restarted &&
	write_private "PrivateData=jobs" &&
	stop_policyd TERM &&
	wait_until 90 "the page says so" grep -q away restarted &&
	policyd_up SLURM_CONF=/run/sandbox/private.conf &&
	wait $watcher && grep "away .*egs-policyd" restarted && grep "back 1" restarted
'

test_expect_success 'with PrivateData=jobs the page of another user has no team of the job' '
	look carol "wait=EGS.page.now.map.some(r => r.state === \"busy\")" \
		"print=EGS.page.now.map.map(r => [r.state, r.team, r.jobid, r.user].join())" \
		"print=JSON.stringify([EGS.page.now.map, EGS.page.now.waiting, EGS.page.now.preemptions])" \
		>page &&
	grep -Fx "[\"busy,-,-,-\"]" page && ! grep -E "fraud|alice" page
'

test_expect_success 'with PrivateData=jobs the commands show another user no team of a job' '
	other=$(submit --partition=scavenge --phase=train --gres=gpu:a100:4 hold.sh) &&
	wait_until 60 "the job waits" waits_for alice "$other" &&
	as carol egsctl show waiting -nP -o jobid,user,team >got &&
	as carol egsctl show map -nP -o jobid,user,team >>got &&
	printf "%s\n" "-|-|-" "-|-|-" >want && test_cmp want got &&
	as root scancel "$other"
'

test_expect_success 'a change of PrivateData holds without a restart' '
	write_private "# nothing is private" &&
	wait_until 60 "the team is shown again" carol_sees fraud
'

# watch_page: print what happens until the GPUs have changed hands
watch_page()
{
	look root 'print="open"' \
		'wait=document.querySelector(".leave .count") && document.querySelector(".leave .count").textContent' \
		'print="asked " + document.querySelector(".leave").textContent' \
		'wait=document.querySelector(".wait") && 1' \
		'print="waits " + document.querySelector(".wait").textContent' \
		'wait=EGS.page.now.map.some(r => r.team === "vision" && r.count === 4)' \
		'print="gone " + document.getElementById("tile-leaving").textContent' \
		>seen 2>&1
}

test_expect_success 'the page shows a preemption from its notice to its end' '
	{ watch_page & watcher=$!; } &&
	wait_until 90 "the page is open" grep -q open seen &&
	requester=$(submit --user=bob --partition=serve --gres=gpu:a100:4 hold.sh) &&
	wait_until 90 "the page shows the notice" grep -q waits seen &&
	as alice touch leave && wait $watcher &&
	grep "asked .*Job $victim.*leaves 4 GPUs for job $requester of vision" seen &&
	grep "waits Job $requester.*4 GPUs" seen &&
	grep "gone Being preempted0" seen
'

watch_resize()
{
	look root 'print="open"' \
		'wait=EGS.page.now.map.some(r => r.phase === "infer" && r.count === 1) && EGS.page.now.map.some(r => r.state === "free" && r.count === 3)' \
		'print=EGS.page.now.map.map(r => [r.count, r.state, r.phase])' \
		'print=document.getElementById("tile-used").textContent' >seen 2>&1
}

test_expect_success 'the page shows a live resize' '
	as bob touch go && wait_state "$requester" COMPLETED &&
	as alice touch go && wait_state "$victim" COMPLETED &&
	as alice rm -f go leave && rm seen &&
	job=$(once_running submit --partition=scavenge --phase=train \
		--gres=gpu:a100:4 hold.sh) &&
	{ watch_resize & watcher=$!; } &&
	wait_until 90 "the page is open" grep -q open seen &&
	egs_in_job "$job" phase infer --gpus=1 && wait $watcher && cat seen &&
	grep -F "[[1,\"busy\",\"infer\"],[3,\"free\",\"-\"]]" seen &&
	grep "25 %1 of 4" seen &&
	as alice touch go && wait_state "$job" COMPLETED
'

# end_page USER
end_page()
{
	as "$1" sh -c 'kill -INT $(cat page.pid)' &&
	wait_until 60 "egs web of $1 has ended" as "$1" \
		sh -c '! kill -0 $(cat page.pid) 2>/dev/null'
}

test_expect_success 'egs web and egs-webd end with their signal' '
	end_page root && end_page alice && end_page carol && end_page dave
'

cluster_done
