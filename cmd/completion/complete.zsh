# complete.zsh - complete egs, egsctl and egs-report in zsh
#
# The installed file "_egs" is a line "#compdef", words.sh and this.  zsh runs it
# as a function for each completion.

_egs_complete()
{
	local verb='' key='' word
	local -a found

	for word in "${(@)words[2,CURRENT-1]}"; do
		[[ $word == -* ]] || { verb=$word; break }
	done
	if [[ $PREFIX == *=* ]]; then
		key=${PREFIX%%=*}
		compset -P 1 '*='
	fi
	found=("${(@f)$(_egs_words "${words[1]:t}" "$verb" "$key" "$PREFIX")}")
	found=("${(@)found:#}")
	(( $#found )) || { _files; return }
	compadd -S '' -- "${(@M)found:#*=}"
	compadd -- "${(@)found:#*=}"
}

_egs_complete "$@"
