# shellcheck shell=bash
# deps-services.sh - install packages without starting their services, for
# contrib/deps
#
#   hold_services       packages that are installed from now on start nothing
#   disable_services    nothing of them starts when the machine boots, either
#   release_services    as it was before

policy=/usr/sbin/policy-rc.d
packages_before=()

installed_packages()
{
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
		sed -n 's/^installed //p' | sort -u
}

# hold_services: a policy of the site that starts nothing stays, another one is
# moved away; release_services restores it, also after a killed run.
hold_services()
{
	release_services
	mapfile -t packages_before < <(installed_packages)
	if [ -x "$policy" ]; then
		"$policy" munge start >/dev/null 2>&1
		[ "$?" -ne 101 ] || return 0
	fi
	[ ! -e "$policy" ] || mv "$policy" "$policy.before-egs" || return
	printf '#!/bin/sh\n# egs: contrib/deps is at work\nexit 101\n' \
		>"$policy" && chmod 755 "$policy"
}

release_services()
{
	if grep -qs '^# egs: contrib/deps is at work' "$policy"; then
		rm -f "$policy"
	fi
	[ ! -e "$policy.before-egs" ] || mv "$policy.before-egs" "$policy"
}

# disable_services: Debian enables what it installs: Prometheus would listen on
# all addresses after the next boot.  Packages of the site are left alone.
# deb-systemd-helper refuses to work outside of a package's script.
disable_services()
{
	local package unit rc=0

	command -v deb-systemd-helper >/dev/null || return 0
	while read -r package; do
		while read -r unit; do
			DPKG_MAINTSCRIPT_PACKAGE=$package \
				deb-systemd-helper disable "$unit" || rc=1
		done < <(dpkg -L "$package" |
			sed -n 's,^\(/usr\)\?/lib/systemd/system/\([^/]*\.service\)$,\2,p')
	done < <(comm -13 <(printf '%s\n' "${packages_before[@]}" | sort) \
		<(installed_packages))
	return "$rc"
}
