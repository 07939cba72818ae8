#!/bin/bash
# 0070-sanitizers.t - no warning of gcc or clang, no report of ASan or UBSan
# long: 350 s, everything is compiled twice, and all unit tests run twice
. "$(dirname "$0")/lib/sh/tree.sh"

# make_in DIR ARG...: configure in DIR and make everything, unit tests too.
make_in()
{
	configure_in "$@" && make -s -C "$1" all tests
}

# programs DIR: the unit tests that are built there.
programs()
{
	find "$1/t/unit" -type f -perm -u+x | sort
}

does 'gcc builds EGS with sanitizers and without a warning' \
	make_in "$tmp/gcc" CC=gcc --enable-werror --enable-sanitizers
does 'clang builds EGS without a warning' \
	make_in "$tmp/clang" CC=clang --enable-werror

for program in $(programs "$tmp/gcc"); do
	does "${program##*/} passes under the sanitizers" steady "$program"
done
for program in $(programs "$tmp/clang"); do
	does "${program##*/} passes as clang built it" "$program"
done

# missing: the unit tests that were not among them.
missing()
{
	programs "$tmp/gcc" | sed 's,.*/,,' >"$tmp/built"
	find "$srcdir/t/unit" -name '*.c' | sed 's,.*/,,; s,\.c$,,' | sort |
		comm -23 - "$tmp/built"
}
holds 'every unit test was run' missing

is_ended()
{
	! steady "$1"
}

echo 'int main(int n, char **v) { int x[2] = { 0 }; return x[n + 1] + !v; }' \
	>"$tmp/bad.c"
does 'a bad program compiles' \
	gcc -fsanitize=address,undefined -o "$tmp/bad" "$tmp/bad.c"
does 'the sanitizers stop a bad program' is_ended "$tmp/bad"

done_testing
