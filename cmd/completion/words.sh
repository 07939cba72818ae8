# shellcheck shell=bash
# words.sh - the words that complete egs, egsctl and egs-report
#
# The completions of bash and of zsh begin with this file.  Verbs, subjects and
# options are read from --help, so a new one needs no change here.  Phases and
# tiers are those of the daemon, if it answers in a second.
#
# Words come from the cluster and from the command line: they are compared and
# printed, and never become a part of a command, a pattern or a script.

# _egs_usage COMMAND: the lines of its usage, without the command
_egs_usage()
{
	"$1" --help 2>/dev/null |
		sed -n 's/^\(usage:\|      \) egs[a-z-]* //p'
}

# _egs_usage_of COMMAND VERB: what follows the verb in its usage
_egs_usage_of()
{
	local first rest

	_egs_usage "$1" | while read -r first rest; do
		[ "$first" != "$2" ] || printf '%s\n' "$rest"
	done
}

# _egs_names SUBJECT: the first column of egsctl show SUBJECT
_egs_names()
{
	egsctl show "$1" -n -P -t 1 2>/dev/null | cut -d '|' -f 1
}

# _egs_values COMMAND VERB KEY: the values of an option or of KEY=
_egs_values()
{
	local line

	case $3 in
	phase) _egs_names phases ;;
	tier) _egs_names tiers ;;
	fenced) printf 'yes\nno\n' ;;
	--every) printf 'hour\nday\n' ;;
	--time) printf 'seconds\nminutes\nhours\npercent\n' ;;
	--by) printf 'team\nuser\nphase\ntier\ntype\nworkload\n' ;;
	*)	_egs_usage_of "$1" "$2" | while read -r line; do
			case $line in
			*"[$3="*)
				line=${line#*"[$3="}
				printf '%s\n' "${line%%]*}"
				;;
			esac
		done | grep '^[a-z|]*$' | tr '|' '\n' ;;
	esac
}

# _egs_operands COMMAND VERB: what may follow a verb
_egs_operands()
{
	case "$1 $2" in
	'egs phase') _egs_names phases ;;
	'egsctl update') printf 'job=\nnode=\ntier=\nphase=\nfenced=\n' ;;
	*)	_egs_usage_of "$1" "$2" |
			sed -n 's/^\([a-z]*\(|[a-z]*\)\{1,\}\)\( .*\|\)$/\1/p' |
			tr '|' '\n' ;;
	esac
}

_egs_options()
{
	"$1" --help 2>/dev/null |
		sed -n 's/^  \(-., \|    \)\(--[a-z0-9-]*=\{0,1\}\).*/\2/p'
}

# _egs_words COMMAND VERB KEY CURRENT: one a line.  The shell inserts them into
# the command line, so a word that it would have to quote is not among them.
_egs_words()
{
	case $1 in
	egs | egsctl | egs-report) ;;
	*)	return ;;
	esac
	if [ -n "$3" ]; then
		_egs_values "$@"
	elif [ "${4#-}" != "$4" ]; then
		_egs_options "$1"
	elif [ -z "$2" ]; then
		_egs_usage "$1" | sed -n 's/^\([a-z][a-z-]*\).*/\1/p'
	else
		_egs_operands "$@"
	fi | LC_ALL=C grep '^[A-Za-z0-9_.:/@%+,=-]\{1,\}$' | sort -u
}
