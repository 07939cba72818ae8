#!/bin/bash
# 0210-configure.t - configure accepts the right Slurm and refuses any other
. "$(dirname "$0")/lib/sh/tree.sh"

installed=$(/usr/sbin/slurmctld -V | sed 's/.* //')

# A source tree as far as configure looks at it.
# make_tree DIR VERSION BUILD-NUMBER
make_tree()
{
	mkdir -p "$1/slurm" &&
		echo "#define SLURM_VERSION_STRING \"$2-0pre1\"" >"$1/config.h" &&
		printf '  Name:\tslurm\n  Version:\t%s\n' "$2" >"$1/META" &&
		echo "#define SLURM_VERSION_NUMBER $3" >"$1/slurm/slurm_version.h"
}

# says WORDS ARG...: configure with ARG ends with a line that has WORDS.
# What it finds out about the compiler it finds out once.
says()
{
	local words=$1

	(
		mkdir -p "$tmp/build" && cd "$tmp/build" &&
			"$srcdir/configure" --cache-file="$tmp/cache" "${@:2}" 2>&1
	) >"$tmp/output"
	tail -n 1 "$tmp/output"
	tail -n 1 "$tmp/output" | grep -qF -e "$words"
}

make_tree "$tmp/other" 99.05.1 0x630501
make_tree "$tmp/early-src" "$installed" \
	"$(sed -n 's/^#define SLURM_VERSION_NUMBER //p' /usr/include/slurm/slurm_version.h)"
make_tree "$tmp/stale" "$installed" 0x630501
make_tree "$tmp/unconfigured" "$installed" 0x630501
rm "$tmp/unconfigured/config.h"
mkdir "$tmp/empty"

# A Slurm that was built from its repository between two releases.
mkdir -p "$tmp/early/sbin" "$tmp/early/include" &&
	cp -r /usr/include/slurm "$tmp/early/include/" &&
	echo '#define SLURM_VERSION_NUMBER 0x630501' \
		>"$tmp/early/include/slurm/slurm_version.h" &&
	printf '#!/bin/sh\necho slurm 99.05.1-0pre1\n' \
		>"$tmp/early/sbin/slurmctld" &&
	chmod +x "$tmp/early/sbin/slurmctld"

does 'configure without a source tree lists the missing plugins' \
	says "only the spank plugin: those of slurmctld need --with-slurm-src=DIR, a source tree of Slurm $installed"
does 'configure with sanitizers says that it builds no plugins' \
	says 'no plugins: --enable-sanitizers' --enable-sanitizers
does 'configure refuses the source of another version and names both' \
	says "the Slurm source in $tmp/other is 99.05.1 but the installed Slurm is $installed" \
	--with-slurm-src="$tmp/other"
does 'configure refuses a directory that is no source tree' \
	says "$tmp/empty is not a Slurm source tree" --with-slurm-src="$tmp/empty"
does 'configure refuses source that is not configured' \
	says "$tmp/unconfigured has no config.h" \
	--with-slurm-src="$tmp/unconfigured"
does 'configure refuses a build directory of another version' \
	says "$tmp/other was configured for Slurm 99.05.1 but the installed Slurm is $installed" \
	--with-slurm-src="$tmp/stale" --with-slurm-build="$tmp/other"
does 'configure refuses the source from before a release of the same number' \
	says "$tmp/early-src was configured for Slurm $installed-0pre1 but the installed Slurm is $installed" \
	--with-slurm-src="$tmp/early-src"
does 'configure refuses a build directory without a source' \
	says '--with-slurm-build needs --with-slurm-src' \
	--with-slurm-build="$tmp/other"
does 'configure refuses a prefix without a Slurm' \
	says "no Slurm in $tmp/empty" --with-slurm-prefix="$tmp/empty"
does 'configure ignores what follows the number of a version' \
	says 'a source tree of Slurm 99.05.1' --with-slurm-prefix="$tmp/early" \
	ac_cv_path_SLURMCTLD="$tmp/early/sbin/slurmctld"

done_testing
