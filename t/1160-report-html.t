#!/bin/bash
# 1160-report-html.t - egs-report --html writes a page that a browser can open
# long: 60 s, installs Chromium where it is missing
. "$(dirname "$0")/lib/sh/tree.sh"

cd "$tmp" || exit 1
export TZ=UTC
report=$EGS_BUILD/cmd/egs-report/egs-report
period=(-S 2026-11-01 -E 2026-11-10)
mkdir state
cat >egs.conf <<END
StateDir=$PWD/state
Currency=EUR
TierOrder=prod,research
GpuType=a100 Rating=1.0 Price=1.80
Team=fraud Accounts=fraud Quota=a100:4 DefaultTier=research
Team=vision Accounts=vision Quota=a100:12 DefaultTier=research
END
cat >sacct <<'END'
JobIDRaw|User|Account|Partition|QOS|JobName|State|Submit|Eligible|Start|End|Suspended|AllocTRES|AllocCPUS|NNodes
1|alice|fraud|gpu|normal|a|COMPLETED|2026-11-02T09:59:50|2026-11-02T09:59:50|2026-11-02T10:00:00|2026-11-02T11:30:00|00:00:00|cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1|8|1
2|bob|vision|gpu|normal|b|FAILED|2026-11-02T10:00:00|2026-11-02T10:00:00|2026-11-02T10:01:00|2026-11-05T10:31:00|00:00:00|cpu=2,gres/gpu:a100=2,gres/gpu=2,node=1|2|1
3|bob|vis<b>&ion|gpu|normal|c|FAILED|2026-11-02T10:00:00|2026-11-02T10:00:00|2026-11-02T10:01:00|2026-11-02T10:31:00|00:00:00|cpu=2,gres/gpu:a100=2,gres/gpu=2,node=1|2|1
END

# ask REPORT ARGUMENT...
ask()
{
	"$report" "$@" -f egs.conf --file state "${period[@]}"
}

# Each day has six hours of waste, for two causes.
make_state()
{
	"$report" import -f egs.conf sacct &&
	cc -o sql "$srcdir/t/lib/data/sql.c" -lsqlite3 &&
	./sql state/state "WITH d (at) AS (SELECT 20758 UNION ALL SELECT at + 1
		FROM d WHERE at < 20766), m (metric, amount) AS (VALUES
		('seen', 86400), ('wr', 21600), ('fit', 3600),
		('capacity', 691200), ('idle', 200000), ('gang', 100000),
		('quota', 72800)) INSERT INTO tally
		SELECT 86400, at * 86400, 'gpu', metric, amount FROM d, m"
}
does 'a history is made' make_state
does '--html writes a page of all reports' ask --html page.html --by=team,account

does 'the page allows its own scripts only' \
	grep -qE "script-src( 'sha256-[A-Za-z0-9+/]{43}='){7}\"" page.html
does 'no name in the data can end its element' \
	grep -q 'vis.u003cb>&ion' page.html

# has_browser: or print why none can be installed
has_browser()
{
	"$srcdir/contrib/deps" --browser >deps.out 2>&1 && return
	tail -n 1 deps.out
	return 1
}
# open_page: try twice, since Chromium may fail on a busy machine
open_page()
{
	"$srcdir/t/lib/check/open-page" page.html "$axe" >opened ||
		"$srcdir/t/lib/check/open-page" page.html "$axe" >opened
}

axe=${EGS_CACHE:-/var/cache/egs}/axe/package/axe.min.js
if reason=$(has_browser); then
	does 'Chromium opens the page' open_page
	does 'the page makes no request' grep -q '"requests":\[\]' opened
	does 'axe finds no violation in the page' grep -q '"violations":\[\]' opened
	does 'the page shows plots of usage, teams, waste and efficiency' grep -qF \
		'"plots":["GPU time used, in hours","USED","Wastage Ratio of all GPUs","GPU time wasted by cause, in hours","GPUTIME"]' opened
	ask usage --by=team,account --json >1.json
	ask usage --by=team,account --every=day --json >2.json
	ask teams --json >3.json
	ask waits --by=team,account --json >4.json
	ask wastage --json >5.json
	ask wastage --every=day --json >6.json
	ask efficiency --by=team,account --json >7.json
	does 'the page has the numbers of --json' \
		"$srcdir/t/lib/check/compare-page" opened [1-7].json
else
	tap_line yes "Chromium opens the page # skip $reason"
fi

done_testing
