#!/bin/bash
# 0230-nvml.t - egs-noded and NVIDIA agree on libnvidia-ml.so.1
. "$(dirname "$0")/lib/sh/tree.sh"

chmod 755 "$tmp"
nvml=${EGS_CACHE:-/var/cache/egs}/nvml
mapfile -t headers < <(compgen -G "$nvml/*/usr/include/nvml.h")
mapfile -t libraries < <(find "$nvml" -name libnvidia-ml.so.1 2>/dev/null)

if [ "${#headers[@]}" -eq 0 ] || [ "${#libraries[@]}" -eq 0 ]; then
	echo '1..0 # SKIP no nvml.h and library: contrib/deps --tools could not fetch them'
	exit
fi

# differences HEADER TOP: what noded/nvml_api.h of TOP declares otherwise
differences()
{
	cc -std=gnu11 -fsyntax-only -I"$2" -I"$srcdir" -I"${1%/*}" \
		"$srcdir/t/lib/check/nvml-header.c" 2>&1
	return 0
}

# The library makes device files if it may.
as_nobody()
{
	if [ "$EUID" -eq 0 ]; then
		setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"
	else
		"$@"
	fi
}

# missing_functions LIBRARY: what egs-noded asks for and the library lacks
missing_functions()
{
	as_nobody "$tmp/nvml-library" "$1" 2>/dev/null
}

# other_words LIBRARY: what egs-noded says of the driver, unless it is expected
other_words()
{
	as_nobody "$tmp/nvml-library" "$1" 2>&1 >/dev/null |
		grep -vxE "NVIDIA's driver is not loaded|the driver answers"
	return 0
}

# plant EXPRESSION: a tree whose nvml_api.h has a fault
plant()
{
	rm -rf "$tmp/planted" && mkdir -p "$tmp/planted/noded" &&
		sed "$1" "$srcdir/noded/nvml_api.h" >"$tmp/planted/noded/nvml_api.h"
}

for header in "${headers[@]}"; do
	suite=${header#"$nvml"/}
	holds "nvml_api.h agrees with nvml.h of ${suite%%/*}" \
		differences "$header" "$srcdir"
done
plant 's/EGS_NVML_GPU_IS_LOST = 15/EGS_NVML_GPU_IS_LOST = 16/'
catches 'a code of NVML that is wrong' differences "${headers[0]}" "$tmp/planted"
plant 's/unsigned long long total, reserved, free/unsigned long long total, free/'
catches 'a struct of NVML that lacks a field' \
	differences "${headers[0]}" "$tmp/planted"

libs=("$EGS_BUILD"/common/node/libegs-node.a "$EGS_BUILD"/common/ipc/libegs-ipc.a
	"$EGS_BUILD"/common/base/libegs-base.a)
does 'a program opens the library as egs-noded does' \
	cc -std=gnu11 -I"$srcdir" -I"$EGS_BUILD" -o "$tmp/nvml-library" \
	"$srcdir/t/lib/check/nvml-library.c" \
	"$srcdir"/noded/nvml_{accounting,api,gpm,session,values}.c "${libs[@]}" -ljson-c
for library in "${libraries[@]}"; do
	suite=${library#"$nvml"/}
	holds "libnvidia-ml.so.1 of ${suite%%/*} has every function that egs-noded calls" \
		missing_functions "$library"
	holds "the library of ${suite%%/*} without a driver says that none is loaded" \
		other_words "$library"
done
catches 'a library that is not NVML' missing_functions libm.so.6
done_testing
