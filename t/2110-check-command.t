#!/bin/bash
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description
# 2110-check-command.t - contrib/check refuses mistakes and selects tests
test_description='contrib/check refuses mistakes and selects tests'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"

check=$srcdir/contrib/check

# refused SENTENCE ARG...: check prints exactly this line and exits with 2.
refused()
{
	echo "check: $1" >expect &&
	shift &&
	test_expect_code 2 "$check" "$@" >output 2>error &&
	test_must_be_empty output &&
	test_cmp expect error
}

test_expect_success 'an unknown option is refused' '
	refused "unknown option or argument '\''--slow'\'' (try check --help)" \
		--slow
'

test_expect_success 'a test that does not exist is refused' '
	refused "there is no test '\''t/9999-none.t'\''" t/9999-none.t
'

test_expect_success 'a file that is not a test is refused' '
	refused "'\''COPYING'\'' is not a test; tests are t/*.t and t/unit/*.c" COPYING
'

test_expect_success 'one mistake among good arguments is refused' '
	refused "there is no test '\''t/9999-none.t'\''" \
		--fast t/2110-check-command.t t/9999-none.t
'

test_expect_success '--list has every test once' '
	"$check" --list >all &&
	sort all >all.sorted &&
	{
		cd "$srcdir" && ls t/*.t && ls t/unit/*.c |
			sed "s:\(.*\)\.c:build/22.05/\1:" && cd - >/dev/null
	} | grep / | sort >expect &&
	test_cmp expect all.sorted
'

test_expect_success 'long tests are first, and --fast leaves them out' '
	(cd "$srcdir" && grep -l "^# long: [0-9]* s" t/*.t) | sort >long &&
	"$check" --list --fast >fast &&
	head -n "$(wc -l <long)" all | sort >first &&
	test_cmp long first &&
	cat long fast | sort >both &&
	test_cmp all.sorted both
'

test_expect_success 'a named test is selected alone, from any directory' '
	echo t/2110-check-command.t >expect &&
	"$check" --list t/2110-check-command.t >output &&
	test_cmp expect output &&
	(cd "$srcdir/t" && ../contrib/check --list 2110-check-command.t) \
		>output &&
	test_cmp expect output &&
	echo build/22.05/t/unit/hint >expect &&
	"$check" --list t/unit/hint.c >output &&
	test_cmp expect output
'

test_expect_success 'every long test names its seconds' '
	! grep "^# long:" "$srcdir"/t/*.t | grep -vE ":# long: [0-9]+ s\>"
'

test_expect_success 'continuous integration runs contrib/check and nothing else' '
	sed "/^#/d" "$srcdir/.ci/run" >run &&
	cat >expect <<-\EOS &&
	exec "$(dirname "$0")/../contrib/check"
	EOS
	test_cmp expect run
'

test_done
