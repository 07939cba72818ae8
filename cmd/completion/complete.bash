# shellcheck shell=bash
# complete.bash - complete egs, egsctl and egs-report in bash
#
# The installed file "egs" is words.sh and this.

# bash has made words of --name=value at the "=".
_egs()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev='' key='' verb='' i

	[ "$COMP_CWORD" -lt 1 ] || prev=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$cur" = = ]; then
		key=$prev cur=
	elif [ "$prev" = = ]; then
		key=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-* | =) ;;
		*)	verb=${COMP_WORDS[i]} && break ;;
		esac
	done
	COMPREPLY=()
	while read -r i; do
		[[ $i != "$cur"* ]] || COMPREPLY+=("$i")
	done < <(_egs_words "${1##*/}" "$verb" "$key" "$cur")
	if [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}

complete -o default -F _egs egs egsctl egs-report
