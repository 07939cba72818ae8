#!/bin/bash
# 0050-lint.t - the linters find no fault, and do find a planted one
# long: 440 s, clang-tidy reads every source
. "$(dirname "$0")/lib/sh/tree.sh"

# lint TARGET [VARIABLE=VALUE...]: one of the targets behind "make lint".
lint()
{
	make -s --no-print-directory -C "$EGS_BUILD" "lint-$1" "${@:2}"
}

# fails COMMAND...: COMMAND says no, by itself and not for want of a program.
fails()
{
	local rc=0

	"$@" || rc=$?
	[ "$rc" -ne 0 ] && [ "$rc" -lt 126 ]
}

for tool in clang-format clang-tidy cppcheck shellcheck mandoc; do
	does "$tool is installed" command -v "$tool"
done

mkdir "$tmp/bad" && cp "$srcdir/.clang-tidy" "$tmp/bad"
cat >"$tmp/bad/bad.c" <<'END'
int bad(int n);
int bad(int n) { int x[2]; int *p = 0; if (n) p = x;
	return *p + x[n > 5 ? 7 : 1]; }
END
# shellcheck disable=SC2016 # the fault that is to be found
printf '#!/bin/sh\nrm $1\n' >"$tmp/bad/bad.sh"
printf '.TH X 1\n.SH NAME\nx\n.XX\n' >"$tmp/bad/bad.1"
only_bad=("C_DIRS=$tmp/bad" slurm_sources= "shell_files=$tmp/bad/bad.sh"
	"man_pages=$tmp/bad/bad.1")

for target in format tidy cppcheck shell man; do
	does "lint-$target finds a planted fault" fails lint $target "${only_bad[@]}"
	does "lint-$target finds no fault in the tree" lint $target
done

done_testing
