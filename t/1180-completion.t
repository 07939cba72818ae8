#!/bin/bash
# 1180-completion.t - bash and zsh complete egs, egsctl and egs-report
. "$(dirname "$0")/lib/sh/tree.sh"

share=$EGS_BUILD/inst/opt/egs/share
mkdir "$tmp/bin"
ln -s "$EGS_BUILD"/cmd/egs/egs "$EGS_BUILD"/cmd/egs-report/egs-report "$tmp/bin"

# egsctl of these tests knows phases and tiers without a daemon.  Some names of
# tiers are attacks.
cat >"$tmp/bin/egsctl" <<END
#!/bin/sh
case "\$1 \$2" in
'show phases') printf '%s\n' 'train|any' 'infer|1' ;;
'show tiers') printf '%s\n' 'prod|1' 'scavenge|2'
	printf '%s\n' 'p\$(touch $tmp/ran)|3' 'p\`touch $tmp/ran\`|4' \
		'p;touch $tmp/ran|5' 'p\$HOME|6' 'p*|7' 'p x|8' ;;
*) exec '$EGS_BUILD/cmd/egsctl/egsctl' "\$@" ;;
esac
END
chmod +x "$tmp/bin/egsctl"
export PATH="$tmp/bin:$PATH"

# ask_bash WORD...: what bash offers for the last WORD, sorted, on a line.
# bash itself makes words of "a=b".
ask_bash()
{
	bash --norc -c '
		. "$1" && shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_egs "$1"
		printf "%s\n" "${COMPREPLY[@]}"' - \
		"$share/bash-completion/completions/${1##*/}" "$@" |
		sort | paste -sd ' '
}

# ask_zsh WORD...: the same of zsh, which makes no words at "="
ask_zsh()
{
	local line

	line=$(printf '%s ' "$@")
	line=${line% }
	timeout 60 "$srcdir/t/lib/check/complete-zsh" "$share/zsh/site-functions" \
		"${line// = /=}" | sed '/^line /d' | sort | paste -sd ' '
}

# offers TITLE WANT WORD...: each shell offers exactly the words of WANT.
offers()
{
	local shell got

	for shell in "${shells[@]}"; do
		got=$("ask_$shell" "${@:3}")
		does "$shell: $1" test "$got" = "$2"
		[ "$got" = "$2" ] || echo "# $got"
	done
}

has_word()
{
	case " $2 " in
	*" $1 "*) ;;
	*)	echo "$2" && return 1 ;;
	esac
}

# includes TITLE WANT WORD...: WANT is among the words.
includes()
{
	local shell

	for shell in "${shells[@]}"; do
		does "$shell: $1" has_word "$2" "$("ask_$shell" "${@:3}")"
	done
}

# zsh_makes LINE WANT: the command line after Tab
zsh_makes()
{
	timeout 60 "$srcdir/t/lib/check/complete-zsh" "$share/zsh/site-functions" \
		"$1" >"$tmp/made"
	cat "$tmp/made"
	[ "$(tail -n 1 "$tmp/made")" = "line $2" ]
}

shells=(bash)
if command -v zsh >/dev/null; then
	shells+=(zsh)
	does 'zsh reads the completion without an error' \
		zsh -n "$share/zsh/site-functions/_egs"
	does 'zsh puts a verb and a space into the line' \
		zsh_makes 'egsctl pree' 'egsctl preempt '
	does 'zsh puts no space behind the = of an option' \
		zsh_makes 'egsctl ping --tim' 'egsctl ping --timeout='
	does 'zsh keeps the key before a value' \
		zsh_makes 'egsctl update job=7 tier=sc' 'egsctl update job=7 tier=scavenge '
else
	tap_line yes 'zsh completes # skip zsh is not installed'
fi

offers 'a verb of egsctl is completed' 'preempt' egsctl pre
offers 'a verb of egs is completed' 'should-yield' egs sh
offers 'a report of egs-report is completed' 'wastage' egs-report was
includes 'all verbs of egsctl are offered' reconfigure egsctl ''
offers 'a subject of egsctl show is completed' 'teams tiers' egsctl show t
offers 'a mode is completed' 'observe' egsctl mode o
offers 'an option is completed, with its =' '--timeout=' egsctl ping --tim
offers 'an option after a report is completed' '--starttime=' egs-report usage --st
offers 'values of an option of the usage are completed' 'gpus' egsctl top --sort = g
offers 'phases of the site are completed' 'infer' egs phase in
offers 'keys of an update are completed' 'tier=' egsctl update job = 7 ti
offers 'an unknown verb offers nothing' '' egsctl xyz ''
offers 'a name that the shell would evaluate is not offered' 'prod' \
	egsctl update job = 7 tier = p
shells=(bash)
offers 'values of an option are offered after the =' 'gpus team wait' egsctl top --sort =
offers 'tiers of the site are offered in an update' 'prod scavenge' egsctl update job = 7 tier =
offers 'a program of the same name elsewhere does not run' 'preempt' "$tmp/egsctl" pre
offers 'a verb is no part of a script' '' egsctl "x/;e touch $tmp/ran;#" --sort = ''
offers 'a key is no part of a script' '' egsctl top "x/;e touch $tmp/ran;#" = ''
does 'no name and no word of the line has run as a command' test ! -e "$tmp/ran"

done_testing
