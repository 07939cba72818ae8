#!/bin/bash
# 0020-man.t - every command and file has a man page with the right options
. "$(dirname "$0")/lib/sh/tree.sh"

man=$srcdir/man

# programs: what is installed in bin and sbin, by the paths in EGS_BUILD.
programs()
{
	# shellcheck disable=SC2016 # make's
	printf 'include Makefile\nprint:\n\t@printf "%%s\\n" %s %s\n' \
		'$(bin_PROGRAMS)' '$(sbin_PROGRAMS)' |
		make -s --no-print-directory -C "$EGS_BUILD" -f - print |
		grep .
}

# page_of NAME SECTION...: the page of NAME in one of these sections.
page_of()
{
	local s

	for s in "${@:2}"; do
		[ ! -f "$man/$1.$s" ] || { echo "$man/$1.$s" && return; }
	done
	return 1
}

without_page()
{
	local name

	for name in $(programs); do
		page_of "$(basename "$name")" 1 8 >"$tmp/page" ||
			echo "$name has no page in man/"
	done
	for name in "$srcdir"/etc/egs*.conf*; do
		name=$(basename "${name%.example}")
		[ "$name" = 'egs*.conf*' ] || page_of "$name" 5 >"$tmp/page" ||
			echo "$name has no page in man/"
	done
}

headings()
{
	sed -nE 's/^\.S[Hh] +"?([^"]*)"?$/\1/p' "$1"
}

# misplaced PAGE: headings out of the order of the house, or missing.
misplaced()
{
	local needed='NAME SYNOPSIS DESCRIPTION EXAMPLES' order h

	order='NAME|SYNOPSIS|DESCRIPTION|OPTIONS|EXAMPLES'
	order="$order|EXIT STATUS|FILES|SEE ALSO"
	case $1 in
	*.[18]) needed="$needed OPTIONS" ;;
	esac
	headings "$1" | awk -v order="$order" -v page="${1##*/}" '
		BEGIN { n = split(order, o, "|"); while (n) at[o[n]] = n-- }
		at[$0] && at[$0] < last { print page ": " $0 " is too late" }
		at[$0] { last = at[$0] }'
	for h in $needed; do
		headings "$1" | grep -qx "$h" || echo "${1##*/}: no $h"
	done
	headings "$1" | grep -qx 'SEE ALSO' || echo "${1##*/}: no SEE ALSO"
}

plain()
{
	mandoc -T ascii "$1" | sed $'s/.\b//g'
}

options_in()
{
	grep -oE -- '(^|[][ ,|(])(--[a-z][a-z-]+|-[A-Za-z]\b)' "$1" |
		sed 's/^[^-]*//' | sort -u
}

# options_differ NAME PAGE HELP: options that only one of the two has.
options_differ()
{
	plain "$2" >"$tmp/plain" || return
	options_in "$3" >"$tmp/told"
	options_in "$tmp/plain" >"$tmp/documented"
	comm -23 "$tmp/told" "$tmp/documented" | sed "s/^/$1: no word on /"
	sed -n '/^OPTIONS/,/^[A-Z]/p' "$tmp/plain" >"$tmp/section"
	options_in "$tmp/section" | grep '^--' |
		comm -23 - "$tmp/told" | sed "s/^/$1: --help has no /"
}

all_options_differ()
{
	local name page

	for name in $(programs); do
		page=$(page_of "$(basename "$name")" 1 8) || continue
		"$EGS_BUILD/$name" --help >"$tmp/help" 2>&1 ||
			echo "$name --help fails"
		options_differ "$(basename "$name")" "$page" "$tmp/help"
	done
}

# verbs_of HELP: the verbs that the usage in HELP has.
verbs_of()
{
	sed -nE '/^$/q; s/^(usage:| {6}) [a-z-]+ ([a-z-]+).*/\2/p' "$1" | sort -u |
		grep -v '^-'
}

# first_sentence HELP: what the help of a verb says first, without blanks.
first_sentence()
{
	awk '/^$/ { part++ } part == 1' "$1" | grep -v '^ ' | tr -d ' \n' |
		sed 's/\([^.]\)\.\([A-Z].*\)*$/\1/'
}

# verb_differs PAGE HELP: what the help of a verb lacks, or the page.
verb_differs()
{
	grep -q '^usage: ' "$2" || echo "no usage"
	grep -q '^example:' "$2" || echo "no example"
	plain "$1" | tr -d ' \n' | sed 's/([1-8])//g' >"$tmp/squeezed"
	grep -qF -e "$(first_sentence "$2")" "$tmp/squeezed" ||
		echo "${1##*/} does not say: $(first_sentence "$2")"
}

all_verbs_differ()
{
	local name verb

	for name in egs egsctl egs-report; do
		name=$EGS_BUILD/cmd/$name/$name
		"$name" --help >"$tmp/help"
		verbs_of "$tmp/help" >"$tmp/verbs"
		[ "$(wc -l <"$tmp/verbs")" -gt 7 ] || echo "$name has few verbs"
		while read -r verb; do
			"$name" "$verb" --help >"$tmp/verb.help"
			verb_differs "$man/${name##*/}.1" "$tmp/verb.help" |
				sed "s/^/${name##*/} $verb: /"
		done <"$tmp/verbs"
	done
}

# columns_in FILE...: names of columns: strings of capitals, but no SQL.
columns_in()
{
	grep -ohE '"[A-Z][A-Z0-9_,]+"' "$@" | tr -d '"' | tr , '\n' | grep . |
		grep -vx WHERE | sort -u
}

# unexplained_columns: columns that the page of the command does not have.
unexplained_columns()
{
	plain "$man/egs-report.1" >"$tmp/plain"
	columns_in "$srcdir"/policyd/report/*.c >"$tmp/columns"
	[ "$(wc -l <"$tmp/columns")" -gt 50 ] || echo "few columns"
	while read -r word; do
		grep -qw -e "$word" "$tmp/plain" || echo "egs-report(1): no $word"
	done <"$tmp/columns"
	plain "$man/egsctl.1" >"$tmp/plain"
	columns_in "$srcdir/policyd/requests/show.c" \
		"$srcdir/common/ipc/conf_msg.c" >"$tmp/columns"
	[ "$(wc -l <"$tmp/columns")" -gt 40 ] || echo "few columns"
	while read -r word; do
		grep -qw -e "$word" "$tmp/plain" || echo "egsctl(1): no $word"
	done <"$tmp/columns"
}

# undocumented: words and keys of the hint grammar that egs(7) does not have.
undocumented()
{
	plain "$man/egs.7" >"$tmp/plain" || return
	sed -n '/phase_names\[.*\] =/,/^};/p; /keys\[\] =/,/^};/p' \
		"$srcdir/common/conf/names.c" "$srcdir/common/hint/hint.c" |
		grep -o '"[a-z-]*"' | tr -d '"' | sort -u >"$tmp/words"
	for word in retraining finetune quiet; do
		grep -qx $word "$tmp/words" || echo "the sources show no $word"
	done
	while read -r word; do
		grep -qw -e "$word" "$tmp/plain" || echo "egs(7): no $word"
	done <"$tmp/words"
}

cat >"$tmp/bad.1" <<'END'
.TH BAD 1 2026-11-16
.SH NAME
bad \- out of order
.SH SYNOPSIS
.B bad
.SH OPTIONS
.TP
.B \-\-known
is known
.TP
.B \-\-gone
is gone
.SH DESCRIPTION
It is bad.
END
echo ' -h, --help, --known' >"$tmp/bad.help"
catches 'headings in the wrong order' misplaced "$tmp/bad.1"
catches 'a difference in options' \
	options_differ bad "$tmp/bad.1" "$tmp/bad.help"
cp "$tmp/found" "$tmp/differences"
does 'the difference names an option that the page lacks' grep -- 'on --help' "$tmp/differences"
does 'the difference names an option that the program lacks' grep -- 'no --gone' "$tmp/differences"
printf 'usage: bad x\n\nDoes what the page\nlacks.  And more.\n' >"$tmp/bad.help"
catches 'a verb whose help has no example and differs from the page' \
	verb_differs "$tmp/bad.1" "$tmp/bad.help"
cp "$tmp/found" "$tmp/differences"
does 'the difference is the first sentence of the help' \
	grep 'bad.1 does not say: Doeswhatthepagelacks$' "$tmp/differences"
does 'man pages exist' test -f "$man/egs.7"

holds 'every command and file has a page' without_page
for page in "$man"/*.[1-9]; do
	holds "${page##*/} is clean" mandoc -T lint -W warning "$page"
	holds "${page##*/} has its headings in order" misplaced "$page"
done
holds 'pages and --help have the same options' all_options_differ
holds 'every verb has a help with an example, as its page says' all_verbs_differ
holds 'the pages explain every column' unexplained_columns
holds 'egs(7) has every word of the hint grammar' undocumented

done_testing
