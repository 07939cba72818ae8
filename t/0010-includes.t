#!/bin/bash
# 0010-includes.t - includes go one way: core <- wire <- policyd, plugins, cmd
#
# libegs, which is for the programs of users, has what it needs from wire.
# Only plugins/compat sees Slurm's private headers.  It and its counterpart for
# libslurm, policyd/slurm/compat.h, are where Slurm's version is asked for.
. "$(dirname "$0")/lib/tree.sh"

# wrong_includes TOP: each include that goes the wrong way.  A header is looked
# for beside the file and from the top; what is in neither place is not ours.
wrong_includes()
{
	(
		cd "$1" || exit
		find common policyd noded plugins cmd libegs -name '*.[ch]' -exec \
			grep -HnE '^[ \t]*#[ \t]*include' {} + | sort |
			tr '<>' '""' | while IFS=: read -r file line text; do
			header=${text#*\"}
			header=${header%%\"*}
			may_include "$file" "$header" || echo "$file:$line: $header"
		done
	)
}

# may_include FILE HEADER: fails if FILE must not include HEADER.
may_include()
{
	local from to path=$2

	from=$(layer "$1")
	[ ! -f "$(dirname "$1")/$2" ] ||
		path=$(realpath -m --relative-to=. "$(dirname "$1")/$2")
	case $path in
	src/*) to=slurm ;;
	policyd/* | plugins/* | libegs/* | t/*) to=$(layer "$path") ;;
	*) return 0 ;;
	esac
	case $from:$to in
	core:core | wire:core | wire:wire) ;;
	daemon:core | daemon:wire | daemon:daemon) ;;
	cmd:core | cmd:wire | cmd:cmd) ;;
	lib:wire | lib:lib) ;;
	compat:core | compat:wire | compat:compat | compat:slurm) ;;
	plugin:core | plugin:wire | plugin:compat | plugin:plugin) ;;
	*) return 1 ;;
	esac
}

layer()
{
	case $1 in
	policyd/core/*) echo core ;;
	policyd/wire/*) echo wire ;;
	policyd/cmd/*) echo cmd ;;
	policyd/*) echo daemon ;;
	plugins/compat/*) echo compat ;;
	plugins/*) echo plugin ;;
	libegs/*) echo lib ;;
	*) echo other ;;
	esac
}

# version_asked TOP: who asks which Slurm this is, outside of compat.
version_asked()
{
	(
		cd "$1" || exit
		grep -rnE --include='*.[ch]' 'SLURM_VERSION_NUM|SLURM_PROTOCOL_VERSION' \
			policyd plugins |
			grep -vE '^(plugins/compat/|policyd/slurm_api\.h:)'
		[ "${PIPESTATUS[0]}" -le 1 ]
	)
}

# plant FILE LINE: a tree in $tmp/bad with only this line in only this file,
# beside a header for each layer.
plant()
{
	local h

	rm -rf "$tmp/bad"
	for h in policyd/core/c policyd/wire/w policyd/d policyd/cmd/m \
		libegs/l plugins/compat/v plugins/spank/s t/lib/t "${1%.*}"; do
		mkdir -p "$tmp/bad/$(dirname "$h")"
		echo '/* a header */' >"$tmp/bad/$h.h"
	done
	echo "$2" >"$tmp/bad/$1"
}

holds 'includes go one way' wrong_includes "$srcdir"
holds 'only compat asks for the version of Slurm' version_asked "$srcdir"

while read -r file header; do
	plant "$file" "#include \"$header\""
	catches "$file with $header" wrong_includes "$tmp/bad"
done <<'END'
policyd/core/x.c policyd/wire/w.h
policyd/core/x.h ../wire/w.h
policyd/wire/x.c policyd/d.h
policyd/wire/x.c plugins/compat/v.h
policyd/x.c plugins/spank/s.h
policyd/x.c policyd/cmd/m.h
policyd/cmd/x.c ../d.h
plugins/spank/x.c policyd/d.h
plugins/spank/x.c src/common/slurm_xlator.h
plugins/compat/x.c plugins/spank/s.h
policyd/wire/x.c t/lib/t.h
policyd/wire/x.c libegs/l.h
libegs/x.c policyd/d.h
END
while read -r file header; do
	plant "$file" "#include <$header>"
	holds "$file may have $header" wrong_includes "$tmp/bad"
done <<'END'
policyd/core/x.c policyd/core/c.h
policyd/wire/x.c ../core/c.h
policyd/x.c policyd/wire/w.h
plugins/spank/x.c plugins/compat/v.h
plugins/compat/x.c src/common/slurm_xlator.h
policyd/core/x.c string.h
libegs/x.c policyd/wire/w.h
END
plant plugins/spank/x.c '#if SLURM_VERSION_NUMBER > 1'
catches 'a plugin that asks for the version' version_asked "$tmp/bad"
plant policyd/x.c '#if SLURM_VERSION_NUMBER > 1'
catches 'a daemon that asks for the version' version_asked "$tmp/bad"

done_testing
