#!/bin/bash
# 0080-package.t - a deb and an rpm have what is installed, for one Slurm only
. "$(dirname "$0")/lib/sh/tree.sh"

version=$(basename "$EGS_BUILD")
root=$tmp/root
slurm=$(sed -n 's/^#define SLURM_VERSION_NUMBER //p' \
	/usr/include/slurm/slurm_version.h)
slurm=$(printf '%02d.%02d.%d' $((slurm >> 16)) $((slurm >> 8 & 255)) \
	$((slurm & 255)))

package()
{
	EGS_NO_BUILD=1 "$srcdir/contrib/package" "$@"
}

makes()
{
	package "$1" --slurm="$version" --out="$tmp" >"$tmp/$1" &&
		test -f "$(cat "$tmp/$1")"
}

# rejects WORD ARG...: the script's status is 2, and it says WORD.
rejects()
{
	local rc=0

	package "${@:2}" 2>"$tmp/said" || rc=$?
	cat "$tmp/said"
	[ "$rc" -eq 2 ] && grep -q -- "$1" "$tmp/said"
}

in_deb()
{
	dpkg-deb --fsys-tarfile "$(cat "$tmp/deb")" | tar t |
		sed -n 's,^\.\(/.*[^/]\)$,\1,p' | sort
}

# Units for systemd are where it looks; the rest is as `make install` has it.
lost()
{
	(cd "$EGS_BUILD/inst" && find . ! -type d) | sed 's/^\.//' |
		sed 's,^/opt/egs/share/doc/egs/\(.*\.service\)$,/usr/lib/systemd/system/\1,' |
		sort >"$tmp/installed"
	in_deb | comm -13 - "$tmp/installed"
}

outside()
{
	in_deb | grep -Ev '^/(opt/egs|usr/(s?bin|share/(man/man.|bash-completion/completions|zsh/(site-functions|vendor-completions))|lib/systemd/system))/'
	in_deb | grep -q .
}

differs()
{
	rpm -qpl "$(cat "$tmp/rpm")" | sort >"$tmp/in_rpm" &&
		in_deb | comm -3 - "$tmp/in_rpm"
}

# machine SLURM: an empty one, on which dpkg believes to have SLURM.
machine()
{
	local needed

	rm -rf "$root"
	mkdir -p "$root"/var/lib/dpkg/{info,updates} &&
		: >"$root/var/lib/dpkg/available" || return
	for needed in $(dpkg-deb -f "$(cat "$tmp/deb")" Depends |
		sed 's/([^)]*)//g; s/,/ /g' | tr ' ' '\n' | sort -u); do
		cat <<-END
		Package: $needed
		Status: install ok installed
		Maintainer: test
		Architecture: $(dpkg --print-architecture)
		Version: $1
		Description: test

		END
	done >"$root/var/lib/dpkg/status"
}

installs()
{
	machine "$1" && dpkg --root="$root" --log=/dev/null -i "$(cat "$tmp/deb")"
}

does_not_install()
{
	! installs "$1" 2>"$tmp/said" && grep "slurm-wlm-basic-plugins" "$tmp/said"
}

runs()
{
	"$root/usr/bin/egs" --version && "$root/usr/sbin/egsctl" --version &&
		test -f "$root/usr/share/man/man7/egs.7" &&
		test -f "$root/usr/share/bash-completion/completions/egsctl" &&
		test -f "$root/usr/share/bash-completion/completions/egs" &&
		test -f "$root/usr/share/zsh/vendor-completions/_egs" &&
		test -f "$root/opt/egs/lib/slurm/spank_egs.so"
}

leaves_nothing()
{
	dpkg --root="$root" --log=/dev/null -P egs-slurm >"$tmp/said" 2>&1 &&
		find "$root" -path "$root/var/lib/dpkg" -prune -o ! -type d -print
}

needs_slurm()
{
	rpm -qpR "$(cat "$tmp/rpm")" >"$tmp/needs" &&
		grep -x "slurm >= $slurm" "$tmp/needs" &&
		grep -x "slurm < ${slurm%.*}.$((${slurm##*.} + 1))" "$tmp/needs"
}

does 'contrib/package without a kind is refused' rejects 'deb or rpm'
does 'contrib/package refuses an unknown kind' rejects "'tgz'" tgz
does 'contrib/package refuses an unknown Slurm' rejects '21.08' deb --slurm=21.08
does 'a deb is made' makes deb
does 'an rpm is made' makes rpm
holds 'the deb has all installed files' lost
holds 'the deb has no file outside of its directories' outside
holds 'the rpm has the files of the deb' differs
does 'the packages need exactly this Slurm' needs_slurm
does 'the deb installs beside its Slurm' installs "$slurm-4"
does 'the commands of the installed deb run' runs
holds 'a removed deb leaves no file' leaves_nothing
does 'the deb does not install beside the next Slurm' does_not_install \
	"${slurm%.*}.$((${slurm##*.} + 1))-1"

done_testing
