# shellcheck shell=bash disable=SC2154 # of contrib/deps
# deps-nvml.sh - NVIDIA's nvml.h and libnvidia-ml.so.1, for contrib/deps
#
# t/0230-nvml.t compares what egs-noded declares with packages of two ages.  They
# are unpacked, not installed.

nvml_suites='bookworm trixie'

nvml_is_there()
{
	[ -z "$tools" ] || [ "$(cat "$egs_cache/nvml/egs-stamp" 2>/dev/null)" = \
		"$nvml_suites" ]
}

# fetch_nvml SUITE DIR: unpack the packages of SUITE into DIR/SUITE
fetch_nvml()
{
	local line deb

	line=$(apt_lines deb "$1" | head -n 1 | sed 's/ main$/ non-free/') &&
		mkdir -p "$2/$1" "$2/got" && cd "$2/got" &&
		private_apt "$line" "$2/apt-$1" update &&
		private_apt "$line" "$2/apt-$1" download libnvidia-ml-dev \
			libnvidia-ml1 || return
	for deb in *.deb; do
		dpkg -x "$deb" "$2/$1" && rm "$deb" || return
	done
}

# A mirror without non-free is no failure: a test is skipped.
make_nvml()
{
	local dir suite

	nvml_is_there && return
	dir=$(mktemp -d "$egs_cache/tmp.XXXXXX") || return
	for suite in $nvml_suites; do
		(egs_logged "$egs_cache/log/nvml-$suite.log" \
			fetch_nvml "$suite" "$dir") 2>/dev/null || {
			rm -rf "${dir:?}/$suite"
			egs_say "cannot obtain libnvidia-ml1 of $suite; t/0230-nvml.t skips it"
		}
	done
	discard "$dir/got" "$dir"/apt-* "$egs_cache/nvml" &&
		echo "$nvml_suites" >"$dir/egs-stamp" && chmod 755 "$dir" &&
		mv -T "$dir" "$egs_cache/nvml"
}
