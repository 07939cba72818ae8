#!/bin/bash
# 0045-words.t - names and sentences, as far as a program can check them
#
# A title must stand alone in a failure report, a name must say what a function
# does, a struct must be defined once, and a sentence needs a subject.
. "$(dirname "$0")/lib/sh/tree.sh"

tops='common|policyd|noded|plugins|cmd|libegs'

# Static functions that may be called by one word.
short_names='main|init|fini|usage'

# files_of TOP REGEX COMMAND...: run COMMAND with all files that match REGEX.
files_of()
{
	(cd "$1" && tree_files . | grep -E "$2" | xargs -r -d '\n' "${@:3}")
}

# shellcheck disable=SC2016 # perl's
leaning='
	my $first = qr/^(?:and|it|who|what|nor|once|the same|but|so|then)\b/i;
	sub title {
		my ($line, $words) = @_;
		print "$ARGV:$line: $words\n" if $words =~ $first;
	}
'

# leaning_steps TOP: titles of t/*.t that need the title before them.  The label
# of a release and a colon may come first.
leaning_steps()
{
	# shellcheck disable=SC2016 # perl's
	files_of "$1" '^t/[^/]*\.t$' perl -ne "$leaning"'
		title($., $2) if /^\s*(test_expect_success|does|holds|ends|
			prints|complains|received)\s+["\x27](?:\$\w+:\s)?
			([^"\x27]*)/x;
		close ARGV if eof'
}

# leaning_units TOP: the same of t/unit/*.c, where the title is the last string
# of an assertion.
leaning_units()
{
	# shellcheck disable=SC2016 # perl's
	files_of "$1" '^t/unit/[^/]*\.c$' perl -0777 -ne "$leaning"'
		while (/\b(?:ok|is_\w+)\s*\(((?:"(?:\\.|[^"\\])*"|[^";])*)\);/g) {
			my ($line, $call) = (1 + (substr($_, 0, $-[0]) =~ tr/\n//),
				$1);
			my ($words) = $call =~ /.*"((?:\\.|[^"\\])*)"/s or next;
			title($line, $words);
		}'
}

# bare_names TOP: static functions that are called by one word.
bare_names()
{
	# shellcheck disable=SC2016 # perl's
	files_of "$1" "^($tops)/.*\\.[ch]\$" perl -0777 -ne '
		my %short = map { $_ => 1 } split /\|/, "'"$short_names"'";
		while (/^static\b[^;={}()]*?\b([a-z]+)\([^;{}]*\)\s*\{/mg) {
			print "$ARGV: $1()\n" if !$short{$1};
		}'
}

# twin_structs TOP: struct tags that are defined in two places.
twin_structs()
{
	# shellcheck disable=SC2016 # awk's
	files_of "$1" "^($tops)/.*\\.[ch]\$" grep -HE '^struct [a-z_0-9]+ \{' |
		awk -F '[: ]' '
			seen[$3]++ { print $3 ": " where[$3] " and " $1 }
			{ where[$3] = $1 }'
}

# headless TOP: sentences in comments of C, and lines of manuals, whose subject
# is Who, Whoever or Nobody.
headless()
{
	# shellcheck disable=SC2016 # perl's
	files_of "$1" "^($tops|t/unit|t/lib)/.*\\.[ch]\$" perl -0777 -ne '
		while (m{/\*(.*?)\*/}sg) {
			my ($line, $text) = (1 + (substr($_, 0, $-[0]) =~ tr/\n//),
				$1);
			$text =~ s/\s*\n\s*\*?\s*/ /g;
			print "$ARGV:$line: $1\n"
				while $text =~ /(?:^\s*|[.:;!?]\s+)((?:Who|Whoever|
					Nobody)\b[^.]{0,40})/xg;
		}'
	files_of "$1" '^man/.*\.[0-9]$|\.md$' \
		grep -nHE '^(Who|Whoever|Nobody)\b' || :
}

# unlabelled TOP: blocks "```sh HOST" of *.md whose paragraph before does not name
# the host.  A reader of the rendered page does not see the word in the fence.
unlabelled()
{
	# shellcheck disable=SC2016 # awk's
	files_of "$1" '\.md$' awk '
		/^```sh ./ {
			host = substr($0, 7)
			sub(/ (since|before) [0-9.]+$/, "", host)
			if (index(tolower(last), host) == 0)
				print FILENAME ":" FNR ": for which host?"
		}
		/^```/ { inside = !inside; next }
		inside { next }
		/^$/ { ended = 1; next }
		{ last = ended ? $0 : last " " $0; ended = 0 }'
}

mkdir -p "$tmp/bad/t/unit" "$tmp/bad/common" "$tmp/bad/man"
: >"$tmp/bad/.gitignore"
cat >"$tmp/bad/common/x.c" <<'END'
/* x.c - nothing wrong.  The caller frees what it returns. */

struct egs_x {
	int y;
};

static int read_x(void)
{
	return 0;
}
END
printf '%s\n' "test_expect_success 'a job runs' '" >"$tmp/bad/t/x.t"
# shellcheck disable=SC2016 # of the test
printf '%s\n' 'test_expect_success "$version: itself a job" true' \
	>>"$tmp/bad/t/x.t"
printf '\tok(x("and"),\n\t   "a job runs");\n' >"$tmp/bad/t/unit/x.c"
echo 'The daemon starts.' >"$tmp/bad/man/x.8"
# shellcheck disable=SC2016 # a fence
printf 'On every\nhost:\n\n```sh every host\n```\n' >"$tmp/bad/x.md"
for check in leaning_steps leaning_units bare_names twin_structs headless \
	unlabelled; do
	holds "$check finds nothing in a good tree" $check "$tmp/bad"
done
# shellcheck disable=SC2016 # of the test
printf '%s\n' 'test_expect_success "$version: and it ends" true' \
	>>"$tmp/bad/t/x.t"
catches 'a step whose title begins with and' leaning_steps "$tmp/bad"
printf '\tis_int(x("a"), 1,\n\t   "once");\n' >>"$tmp/bad/t/unit/x.c"
catches 'an assertion whose title begins with once' leaning_units "$tmp/bad"
printf 'static int take(struct egs_x *x,\n\t\tint y)\n{\n}\n' \
	>"$tmp/bad/common/y.c"
catches 'a static function that is called take' bare_names "$tmp/bad"
printf 'struct egs_x {\n};\n' >"$tmp/bad/common/y.c"
catches 'a struct that is defined twice' twin_structs "$tmp/bad"
printf '/* Read it.\n * Whoever asks waits. */\n' >"$tmp/bad/common/y.c"
catches 'a comment without a subject' headless "$tmp/bad"
: >"$tmp/bad/common/y.c"
echo 'Nobody waits.' >>"$tmp/bad/man/x.8"
catches 'a line of a manual without a subject' headless "$tmp/bad"
# shellcheck disable=SC2016 # a fence
printf 'Then:\n\n```sh controller\n```\n' >>"$tmp/bad/x.md"
catches 'a block that does not say in words for which host it is' \
	unlabelled "$tmp/bad"

holds 'titles of steps stand alone' leaning_steps "$srcdir"
holds 'titles of unit tests stand alone' leaning_units "$srcdir"
holds 'static functions are called by a verb and an object' \
	bare_names "$srcdir"
holds 'no struct is defined twice' twin_structs "$srcdir"
holds 'sentences have a subject' headless "$srcdir"
holds 'blocks of commands say in words for which host they are' \
	unlabelled "$srcdir"

done_testing
