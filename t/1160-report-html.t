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

# is_whole: each element that was opened is closed, in the right order
is_whole()
{
	perl -0777 -ne 's/<!DOCTYPE html>//; while (/<(\/?)(\w+)[^>]*?(\/?)>/g) {
		next if $3 || $2 eq "meta";
		if (!$1) { push @open, $2; next; }
		$got = pop @open; die "$got is closed by $2\n" if $got ne $2; }
		die "@open are open\n" if @open' page.html
}
does 'every element of the page is closed' is_whole
does 'the page has a plot of GPU time' grep -q '>GPU time used, in hours<' page.html
does 'the page has a plot of the Wastage Ratio' grep -q '>Wastage Ratio of all GPUs<' page.html
does 'the page has a plot of the causes of waste' grep -q '>GPU time wasted by cause, in hours<' page.html
does 'the page escapes the name of an account' grep -q 'vis&lt;b&gt;&amp;ion' page.html

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
	does 'the page shows four plots' grep -q '"plots":4' opened
	ask usage --by=team,account --json >1.json
	ask usage --by=team,account --every=day --json >2.json
	ask teams --json >3.json
	ask waits --by=team,account --json >4.json
	ask wastage --json >5.json
	ask wastage --every=day --json >6.json
	does 'the page has the numbers of --json' \
		"$srcdir/t/lib/check/compare-page" opened [1-6].json
else
	tap_line yes "Chromium opens the page # skip $reason"
fi

done_testing
