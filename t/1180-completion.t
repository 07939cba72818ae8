#!/bin/bash
# 1180-completion.t - bash completes egs, egsctl and egs-report
. "$(dirname "$0")/lib/sh/tree.sh"

mkdir "$tmp/bin"
ln -s "$EGS_BUILD"/cmd/egs/egs "$EGS_BUILD"/cmd/egs-report/egs-report "$tmp/bin"

# egsctl of these tests knows phases and tiers without a daemon.
cat >"$tmp/bin/egsctl" <<END
#!/bin/sh
case "\$1 \$2" in
'show phases') printf '%s\n' 'train|any' 'infer|1' ;;
'show tiers') printf '%s\n' 'prod|1' 'scavenge|2' ;;
*) exec '$EGS_BUILD/cmd/egsctl/egsctl' "\$@" ;;
esac
END
chmod +x "$tmp/bin/egsctl"

# complete_words WORD...: what bash offers for the last WORD, sorted, on a line.
# bash itself makes words of "a=b".
complete_words()
{
	PATH=$tmp/bin:$PATH bash --norc -c '
		. "$1" && shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_egs "$1"
		printf "%s\n" "${COMPREPLY[@]}"' - \
		"$srcdir/cmd/completion/$1" "$@" | sort | paste -sd ' '
}

# offers TITLE WANT WORD...: bash offers exactly the words of WANT.
offers()
{
	local got

	got=$(complete_words "${@:3}")
	does "$1" test "$got" = "$2" || echo "# $got"
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
	does "$1" has_word "$2" "$(complete_words "${@:3}")"
}

offers 'a verb of egsctl is completed' 'preempt' egsctl pre
offers 'a verb of egs is completed' 'should-yield' egs sh
offers 'a report of egs-report is completed' 'wastage' egs-report was
includes 'all verbs of egsctl are offered' reconfigure egsctl ''
offers 'a subject of egsctl show is completed' 'teams tiers' egsctl show t
offers 'a mode is completed' 'observe' egsctl mode o
offers 'an option is completed, with its =' '--timeout=' egsctl ping --tim
offers 'an option after a report is completed' '--starttime=' egs-report usage --st
offers 'values of an option of the usage are completed' 'gpus' egsctl top --sort = g
offers 'values of an option are offered after the =' 'gpus team wait' egsctl top --sort =
offers 'phases of the site are completed' 'infer' egs phase in
offers 'tiers of the site are completed in an update' 'prod scavenge' egsctl update job = 7 tier =
offers 'keys of an update are completed' 'tier=' egsctl update job = 7 ti
offers 'an unknown verb offers nothing' '' egsctl xyz ''
done_testing
