#!/bin/bash
# 0040-style.t - the house style, as far as a program can check it
. "$(dirname "$0")/lib/sh/tree.sh"

longest_file=600
longest_function=70

# sources TOP: the files people write by hand, without licence, binaries and
# inputs of the fuzz targets.
sources()
{
	tree_files "$1" | grep -vxE 'COPYING|t/fuzz/corpus/.*|.*\.(png|gz|json|jsonl|csv)'
}

# code TOP: those of them that are programs.
code()
{
	sources "$1" | grep -E -e '\.([ch]|sh|t|py|pl|pm|awk|m4|ac|am|mk)$' \
		-e '^contrib/[^.]*$' -e '^t/lib/[^.]*$'
}

# in_each LIST TOP COMMAND...: run COMMAND once with all files of LIST.
in_each()
{
	(cd "$2" && "$1" . | xargs -r -d '\n' "${@:3}")
}

# The words are written so that this file does not find itself.
left_over()
{
	in_each sources "$1" grep -nHwE 'TOD[O]|FIXM[E]|XX[X]|HAC[K]' || :
}

trailing()
{
	in_each sources "$1" grep -nHE '[[:space:]]+$' || :
}

long_files()
{
	in_each code "$1" awk -v max=$longest_file '
		FNR == max + 1 { print FILENAME " is longer than " max " lines" }'
}

# A function is what lies between a "{" and a "}" at the left margin, under a
# line that is not a table or a type.
long_functions()
{
	in_each code "$1" awk -v max=$longest_function '
		FILENAME !~ /\.[ch]$/ { next }
		/^\{/ { start = FNR }
		/^}/ {
			if (start && FNR - start + 1 > max)
				printf "%s:%d: %d lines\n", FILENAME, start,
					FNR - start + 1
			start = 0
		}'
}

# The first line, or the one after #!, an interpreter line for shellcheck or
# the name of a macro, starts a comment that has words in it.
unexplained()
{
	# shellcheck disable=SC2016 # awk's
	in_each code "$1" awk '
		FNR == 1 { seen = 0 }
		seen || /^#!/ || /^# shellcheck/ { next }
		{
			seen = 1
			if ($0 !~ /^(\/\*|#|dnl) [A-Za-z0-9_.\/-]+ - ./)
				print FILENAME ":" FNR ": does not say what it is for"
		}'
}

not_executable()
{
	(cd "$1" && find t -maxdepth 1 -name '*.t' -not -perm -u+x)
}

mkdir -p "$tmp/bad/t"
: >"$tmp/bad/.gitignore"
bad=$tmp/bad/x.c
for check in left_over trailing long_files long_functions unexplained \
	not_executable; do
	printf '/* x.c - nothing wrong */\n\nint x(void)\n{\n\treturn 0;\n}\n' >"$bad"
	holds "$check finds nothing in a good file" $check "$tmp/bad"
done
echo '/* TOD''O: later */' >>"$bad"
catches 'a marker of unfinished work' left_over "$tmp/bad"
echo 'int a; ' >>"$bad"
catches 'white space at the end of a line' trailing "$tmp/bad"
{
	printf 'int y(void)\n{\n'
	yes 'x();' | head -n 69
	printf '}\n'
} >>"$bad"
catches 'a function beyond the limit' long_functions "$tmp/bad"
yes 'int z;' | head -n 600 >>"$bad"
catches 'a file beyond the limit' long_files "$tmp/bad"
echo 'int x;' >"$bad"
catches 'a file without its purpose in the first lines' unexplained "$tmp/bad"
echo '#!/bin/sh' >"$tmp/bad/t/x.t"
catches 'a test that is not executable' not_executable "$tmp/bad"

code "$srcdir" >"$tmp/code"
does 'the tree has files to check' grep -x t/0040-style.t "$tmp/code"
holds 'no marker of unfinished work is in the tree' left_over "$srcdir"
holds 'no line ends in white space' trailing "$srcdir"
holds "no file is longer than $longest_file lines" long_files "$srcdir"
holds "no function is longer than $longest_function lines" \
	long_functions "$srcdir"
holds 'every file opens with its purpose' unexplained "$srcdir"
holds 'every test is executable' not_executable "$srcdir"

done_testing
