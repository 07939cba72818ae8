#!/bin/bash
# 0071-fuzz.t - no parser fails on what libFuzzer makes of its corpus
# long: 180 s, everything is compiled with clang and its sanitizers
. "$(dirname "$0")/lib/sh/tree.sh"

# As many as three minutes of processor time allow, with the build; the same each
# time.  make fuzz runs each target for a minute.
runs=150000

# The targets are built once, beside a configuration of this checkout.
mkdir "$tmp/build"
cp "$EGS_BUILD/config.status" "$tmp/build"
EGS_BUILD=$tmp/build
export EGS_BUILD

fuzz()
{
	"$srcdir/contrib/fuzz" --runs="$runs" "$@"
}

does 'the fuzz targets are built' fuzz --runs=1 hint
for file in "$srcdir"/t/fuzz/*.c; do
	name=$(basename "$file" .c)
	does "$name fails on no input that libFuzzer makes of its corpus" fuzz "$name"
done

# without_corpus TOP: targets that start from nothing
without_corpus()
{
	local file name

	for file in "$1"/t/fuzz/*.c; do
		name=$(basename "$file" .c)
		[ -n "$(ls -A "$1/t/fuzz/corpus/$name")" ] || echo "$name"
	done
}
holds 'every fuzz target has a corpus' without_corpus "$srcdir"
mkdir -p "$tmp/planted/t/fuzz/corpus/bare"
touch "$tmp/planted/t/fuzz/bare.c"
catches 'a target without a corpus' without_corpus "$tmp/planted"

# A parser that reads one byte too many of "egs:", compiled as the targets are.
mkdir -p "$tmp/bad.corpus"
printf 'egs' >"$tmp/bad.corpus/start"
cat >"$tmp/bad.c" <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile char found;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + !size);

	memcpy(text, data, size);
	if (size > 3 && memcmp(text, "egs:", 4) == 0)
		found = text[size];
	free(text);
	return 0;
}
END
does 'a parser that reads one byte too many compiles' \
	clang -O1 -g -fsanitize=fuzzer,address,undefined -o "$tmp/bad" "$tmp/bad.c"
# findings: what libFuzzer and ASan say of the bad parser
findings()
{
	(cd "$tmp" && steady ./bad -runs=200000 -seed=1 bad.corpus 2>&1 |
		grep 'heap-buffer-overflow')
	return 0
}
catches 'a parser that reads one byte too many' findings

done_testing
