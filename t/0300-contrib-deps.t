#!/bin/bash
# shellcheck disable=SC2016,SC2034 # sharness evaluates what is quoted
# 0300-contrib-deps.t - deps says what it wants, and nothing when all is there

test_description='contrib/deps and what the scripts of contrib/ share'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"
# shellcheck source=contrib/lib/common.sh
. "$srcdir/contrib/lib/common.sh"

deps=$srcdir/contrib/deps

test_expect_success 'contrib/deps --help prints its purpose' '
	"$deps" --help >out &&
	grep "^Usage: contrib/deps" out
'

test_expect_success 'contrib/deps refuses an unknown option with one sentence' '
	test_expect_code 2 "$deps" --fast 2>err &&
	echo "deps: unknown option or argument '\''--fast'\'' (try deps --help)" \
		>want &&
	test_cmp want err
'

test_expect_success 'contrib/deps refuses an unknown release of Slurm' '
	test_expect_code 2 "$deps" --slurm=19.05 2>err &&
	grep "unknown Slurm release .19.05.; releases: 22.05 24.11 26.05" err
'

test_expect_success 'contrib/deps with nothing to do is silent and calls no apt' '
	"$deps" >/dev/null &&
	mkdir bin &&
	printf "#!/bin/sh\necho called >>%s/called\n" "$PWD" >bin/apt-get &&
	chmod 755 bin/apt-get &&
	PATH=$PWD/bin:$PATH "$deps" >out 2>&1 &&
	test_must_be_empty out &&
	test ! -e called
'

# make_fake NAME TEXT: a program in fake/ that prints TEXT or runs it
make_fake()
{
	printf "#!/bin/sh\n%s\n" "$2" >"fake/$1" && chmod 755 "fake/$1"
}

# with_fakes COMMAND...: as contrib/deps, with fake programs of Debian
with_fakes()
{
	(
		PATH=$PWD/fake:$PATH &&
		. "$srcdir/contrib/lib/deps-services.sh" &&
		policy=$PWD/policy-rc.d &&
		"$@"
	)
}

install_prometheus()
{
	hold_services && test -x policy-rc.d && touch more &&
	disable_services && release_services
}

test_expect_success 'a service that contrib/deps installs is off after the next boot' '
	mkdir fake &&
	make_fake dpkg-query "echo installed site-server; test ! -e more || echo installed prometheus" &&
	make_fake dpkg "echo /lib/systemd/system/\$2.service; echo /usr/bin/\$2" &&
	make_fake deb-systemd-helper \
		"echo \${DPKG_MAINTSCRIPT_PACKAGE:?} \$* >>helped" &&
	with_fakes install_prometheus &&
	echo "prometheus disable prometheus.service" >want &&
	test_cmp want helped &&
	test ! -e policy-rc.d
'

test_expect_success 'contrib/deps restores a policy of the site' '
	rm -f more helped &&
	printf "#!/bin/sh\nexit 0\n" >policy-rc.d && chmod 755 policy-rc.d &&
	cp policy-rc.d site &&
	with_fakes install_prometheus &&
	test_cmp site policy-rc.d
'

test_expect_success 'egs_in runs a command of the native release without a chroot' '
	test_expect_code 7 egs_in "$(egs_native)" sh -c "exit 7"
'

test_expect_success 'egs_in without the chroot says how to make it' '
	(
		egs_cache=$PWD/none &&
		egs_in 24.11 true
	) 2>err
	test "$?" -eq 1 &&
	grep "is not installed yet: contrib/deps --slurm=24.11" err
'

# twice: count to two in a file, in a way that two at once would spoil
twice()
{
	echo begin >>count && sleep 0.2 && echo end >>count
}

test_expect_success 'egs_locked lets two callers with the same lock take turns' '
	printf "%s\n" begin end begin end >want &&
	{ egs_locked lock twice >/dev/null & } &&
	egs_locked lock twice >/dev/null &&
	wait &&
	test_cmp want count
'

test_expect_success 'egs_logged shows the end of the log of a failure' '
	test_expect_code 3 egs_logged log sh -c "echo why; exit 3" 2>err &&
	grep "^why" err &&
	grep "the full output is in log" err
'

test_done
