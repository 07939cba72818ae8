#!/bin/bash
# 0010-includes.t - rooms include only what the list in HACKING.md allows
#
# The list is the block under "Rooms and what they may include": a line for each
# room and the rooms it may use, besides itself.  Only plugins/compat includes
# Slurm's private headers.  Only it and policyd/slurm/compat.h ask for Slurm's
# version.
. "$(dirname "$0")/lib/sh/tree.sh"

tops='common policyd noded plugins cmd libegs'

# allowed_edges FILE: "ROOM USED" for each pair that the list in FILE allows.
allowed_edges()
{
	awk '
		/^```rooms$/ { inside = 1; next }
		/^```$/ { inside = 0 }
		inside {
			sub(/:/, " ")
			print $1, $1
			for (i = 2; i <= NF; i++)
				print $1, $i
		}' "$1"
}

# included_rooms TOP: "ROOM USED FILE:LINE HEADER" for each include of ours.  A
# header is given from the top; one in quotes that is not there lies beside the
# file.
included_rooms()
{
	(
		cd "$1" || exit
		# shellcheck disable=SC2086 # several folders
		find $tops -name '*.[ch]' -exec grep -HnE \
			'^[ \t]*#[ \t]*include' {} + 2>/dev/null | sort |
			awk -F: '
			function folder(path) {
				sub("/[^/]*$", "", path)
				return path
			}
			# policyd/egs-policyd.c is a room of its own.
			function room(path) {
				return path ~ "^policyd/[^/]*$" ? path : folder(path)
			}
			{
				split($3, part, /["<>]/)
				header = part[2]
				path = header
				if (header !~ "/" && $3 ~ /"/ && header != "egs_config.h")
					path = folder($1) "/" header
				while (path ~ "^[.][.]/")
					path = folder(folder($1)) "/" substr(path, 4)
				if (path !~ "^(common|policyd|noded|plugins|cmd|libegs|t|src)/")
					next
				used = room(path)
				if (path ~ "^(src|t)/")
					used = substr(path, 1, index(path, "/") - 1)
				print room($1), used, $1 ":" $2, header
			}'
	)
}

# wrong_includes TOP LIST: each include that LIST does not allow.
wrong_includes()
{
	included_rooms "$1" >"$tmp/included" || return
	allowed_edges "$2" >"$tmp/edges" || return
	awk '
		NR == FNR { allowed[$1, $2] = 1; next }
		!(($1, $2) in allowed) { print $3 ": " $1 " includes " $4 }
	' "$tmp/edges" "$tmp/included"
}

# unused_edges TOP LIST: what LIST allows and nobody uses, or does not exist.
unused_edges()
{
	included_rooms "$1" >"$tmp/included" || return
	allowed_edges "$2" >"$tmp/edges" || return
	awk '
		NR == FNR { used[$1, $2] = 1; next }
		$1 != $2 && !(($1, $2) in used) {
			print "nothing in " $1 " includes " $2
		}' "$tmp/included" "$tmp/edges"
}

# cycles LIST: rooms that LIST allows to include each other.
cycles()
{
	allowed_edges "$1" | awk '$1 != $2' >"$tmp/pairs"
	tsort <"$tmp/pairs" 2>&1 >/dev/null || :
}

# version_checks TOP: each place that asks for Slurm's version but the two.
version_checks()
{
	(
		cd "$1" || exit
		# shellcheck disable=SC2086 # several folders
		grep -rnE --include='*.[ch]' 'SLURM_VERSION_NUM|SLURM_PROTOCOL_VERSION' \
			$tops 2>/dev/null |
			grep -vE '^(plugins/compat/|policyd/slurm/compat\.h:)'
		[ "${PIPESTATUS[0]}" -le 2 ]
	)
}

# plant FILE LINE: a tree in $tmp/bad with only this line in only this file.
plant()
{
	rm -rf "$tmp/bad"
	mkdir -p "$tmp/bad/$(dirname "$1")"
	echo "$2" >"$tmp/bad/$1"
}

list=$srcdir/HACKING.md
allowed_edges "$list" >"$tmp/all"
does 'HACKING.md has a list of rooms' grep -qx 'common/base common/base' "$tmp/all"
holds 'every include is allowed by the list of rooms' \
	wrong_includes "$srcdir" "$list"
holds 'every line of the list of rooms is needed' unused_edges "$srcdir" "$list"
holds 'the list of rooms has no cycle' cycles "$list"
holds 'only the two compat headers ask for the version of Slurm' \
	version_checks "$srcdir"

while read -r file header; do
	plant "$file" "#include \"$header\""
	catches "$file with $header" wrong_includes "$tmp/bad" "$list"
done <<'END'
common/base/x.c common/conf/conf.h
common/base/x.h ../conf/conf.h
common/rules/x.c policyd/policy/policy.h
common/ipc/x.c plugins/compat/compat.h
common/ipc/x.c libegs/egs.h
common/ipc/x.c t/lib/unit/tap.h
policyd/policy/x.c policyd/store/store.h
policyd/store/x.c policyd/daemon/daemon.h
policyd/report/x.c policyd/daemon/daemon.h
policyd/daemon/x.c policyd/requests/requests.h
policyd/daemon/x.c plugins/spank/spank_egs.h
noded/x.c policyd/slurm/facts.h
plugins/spank/x.c policyd/policy/policy.h
plugins/spank/x.c src/common/slurm_xlator.h
plugins/compat/x.c plugins/spank/spank_egs.h
cmd/egs/x.c cmd/egsctl/doctor.h
libegs/x.c common/conf/conf.h
END
while read -r file header; do
	plant "$file" "#include <$header>"
	holds "$file may include $header" wrong_includes "$tmp/bad" "$list"
done <<'END'
common/base/x.c common/base/err.h
common/conf/x.c common/base/err.h
policyd/policy/x.c common/rules/victims.h
policyd/requests/x.c policyd/daemon/daemon.h
plugins/compat/x.c src/common/slurm_xlator.h
plugins/spank/x.c slurm/spank.h
libegs/x.c common/ipc/rundir_client.h
END
plant plugins/spank/x.c '#if SLURM_VERSION_NUMBER > 1'
catches 'a plugin that asks for the version' version_checks "$tmp/bad"
plant policyd/daemon/x.c '#if SLURM_VERSION_NUMBER > 1'
catches 'a daemon that asks for the version' version_checks "$tmp/bad"
# shellcheck disable=SC2016 # a fence of Markdown
printf '```rooms\na: b\nb: c\nc: a\n```\n' >"$tmp/list"
catches 'rooms that include each other in a circle' cycles "$tmp/list"
# shellcheck disable=SC2016 # a fence of Markdown
printf '```rooms\ncommon/base: common/conf\n```\n' >"$tmp/list"
catches 'a line of the list that no file needs' unused_edges "$srcdir" "$tmp/list"

done_testing
