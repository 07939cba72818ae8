#!/bin/bash
# 0220-units.t - the systemd unit of egs-policyd has the least rights it needs
. "$(dirname "$0")/lib/sh/tree.sh"

if ! systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
	echo '1..0 # SKIP systemd-analyze cannot look at a unit that is not loaded'
	exit 0
fi

unit=$srcdir/etc/egs-policyd.service
most=15 # tenths

# exposed FILE: what systemd-analyze has against it
exposed()
{
	local all

	all=$(systemd-analyze security --offline=yes --threshold=$most \
		--no-pager "$1" 2>&1) || echo "$all"
	[[ $all == *'Overall exposure level'* ]]
}

holds 'the exposure of the unit is 1.5 at most' exposed "$unit"

mkdir "$tmp/open" && grep -v '^Restrict' "$unit" >"$tmp/open/egs-policyd.service"
catches 'a unit with more rights' exposed "$tmp/open/egs-policyd.service"

# strange FILE: words in it that systemd does not know
strange()
{
	systemd-analyze security --offline=yes --no-pager "$1" 2>&1 |
		grep -E 'Unknown|Failed|Invalid|ignoring'
	return 0
}

holds 'systemd knows every key of the unit' strange "$unit"
sed 's/^Protect/Pretect/' "$unit" >"$tmp/open/egs-policyd.service"
catches 'an unknown key' strange "$tmp/open/egs-policyd.service"

done_testing
