#!/bin/bash
# 0220-units.t - the systemd units have the least rights that the daemons need
. "$(dirname "$0")/lib/sh/tree.sh"

if ! systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
	echo '1..0 # SKIP systemd-analyze cannot look at a unit that is not loaded'
	exit 0
fi

# exposed FILE MOST: what systemd-analyze has against it; MOST in tenths
exposed()
{
	local all

	all=$(systemd-analyze security --offline=yes "--threshold=$2" \
		--no-pager "$1" 2>&1) || echo "$all"
	[[ $all == *'Overall exposure level'* ]]
}

# strange FILE: words in it that systemd does not know
strange()
{
	systemd-analyze security --offline=yes --no-pager "$1" 2>&1 |
		grep -E 'Unknown|Failed|Invalid|ignoring'
	return 0
}

# check_unit NAME MOST
check_unit()
{
	local unit=$srcdir/etc/$1.service open=$tmp/open/$1.service

	holds "the exposure of $1.service is $2 tenths at most" exposed "$unit" "$2"
	grep -v '^Restrict' "$unit" >"$open"
	catches "$1.service with more rights" exposed "$open" "$2"
	holds "systemd knows every key of $1.service" strange "$unit"
	sed 's/^Protect/Pretect/' "$unit" >"$open"
	catches "an unknown key in $1.service" strange "$open"
}

mkdir "$tmp/open"
check_unit egs-policyd 15
check_unit egs-noded 40
check_unit egs-webd 12

# lacking UNIT: capabilities without which egs-noded fails a task of its man page
lacking()
{
	local name

	for name in $(sed -n '/^\.SS Rights/,/^\.PP/s/^CAP_/CAP_/p' \
		"$srcdir/man/egs-noded.8" | tr -d ','); do
		grep -q "^CapabilityBoundingSet=.*\<$name\>" "$1" || echo "$name"
	done
}

holds 'egs-noded.service has the rights of the man page' lacking \
	"$srcdir/etc/egs-noded.service"
sed 's/CAP_SYS_PTRACE//' "$srcdir/etc/egs-noded.service" >"$tmp/open/less"
catches 'a unit without CAP_SYS_PTRACE' lacking "$tmp/open/less"

done_testing
