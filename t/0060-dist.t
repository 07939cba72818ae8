#!/bin/bash
# 0060-dist.t - the tarball is complete and passes make distcheck
# long: 60 s, it is built from scratch
. "$(dirname "$0")/lib/sh/tree.sh"

distcheck()
{
	(cd "$tmp/build" && make -s distcheck)
}

# missing: the files of the project that are not in the tarball.
missing()
{
	tar tzf "$tmp"/build/egs-*.tar.gz >"$tmp/tarball" || return
	cut -d/ -f2- "$tmp/tarball" | sort >"$tmp/packed"
	tree_files "$srcdir" | comm -23 - "$tmp/packed"
}

does 'the checkout is configured in a directory of its own' \
	configure_in "$tmp/build"
does 'make distcheck passes' distcheck
holds 'every file of the project is in the tarball' missing

done_testing
