dnl egs_slurm.m4 - which Slurm this is, and how much of it we can see

dnl EGS_SLURM
dnl Finds slurmctld and its version, the public headers and, if named, a
dnl source tree of exactly that version.  Sets SLURM_VERSION,
dnl SLURM_CPPFLAGS (public headers), SLURM_LIBS, SLURM_SRC_CPPFLAGS (private),
dnl SLURM_PLUGINDIR and the conditionals HAVE_SLURM_SRC, SELECT_SHADOW
dnl and BUILD_PLUGINS.
AC_DEFUN([EGS_SLURM], [
AC_ARG_WITH([slurm-prefix],
	[AS_HELP_STRING([--with-slurm-prefix=DIR],
		[Slurm is installed under DIR])],
	[], [with_slurm_prefix=])
AC_ARG_WITH([slurm-plugindir],
	[AS_HELP_STRING([--with-slurm-plugindir=DIR],
		[Slurm's own plugins (default: what slurmctld links with)])],
	[], [with_slurm_plugindir=])
AC_ARG_WITH([slurm-src],
	[AS_HELP_STRING([--with-slurm-src=DIR],
		[source tree of the installed Slurm])],
	[], [with_slurm_src=])
AC_ARG_WITH([slurm-build],
	[AS_HELP_STRING([--with-slurm-build=DIR],
		[where that tree was configured (default: in the tree)])],
	[], [with_slurm_build=])

egs_slurm_path="/usr/sbin:/sbin:$PATH"
SLURM_CPPFLAGS=
SLURM_LIBS=-lslurm
AS_IF([test -n "$with_slurm_prefix"], [
	egs_slurm_path="$with_slurm_prefix/sbin:$with_slurm_prefix/bin"
	SLURM_CPPFLAGS="-isystem $with_slurm_prefix/include"
	SLURM_LIBS="-L$with_slurm_prefix/lib -Wl,-rpath,$with_slurm_prefix/lib -lslurm"
	AS_IF([test ! -x "$with_slurm_prefix/sbin/slurmctld" ||
	       test ! -f "$with_slurm_prefix/include/slurm/spank.h"],
		[AC_MSG_ERROR([no Slurm in $with_slurm_prefix: it has no sbin/slurmctld or no include/slurm/spank.h])])
])
_EGS_SLURM_HEADERS
_EGS_SLURM_VERSION
_EGS_SLURM_PLUGINDIR
_EGS_SLURM_SRC
AC_SUBST([SLURM_CPPFLAGS])
AC_SUBST([SLURM_LIBS])
AC_SUBST([SLURM_SRC_CPPFLAGS])
AC_SUBST([SLURM_PLUGINDIR])
AC_SUBST([SLURM_VERSION])
dnl What distcheck's own configure is told.
EGS_SLURM_ARGS="--with-slurm-prefix=$with_slurm_prefix --with-slurm-plugindir=$SLURM_PLUGINDIR --with-slurm-src=$with_slurm_src --with-slurm-build=$with_slurm_build"
AC_SUBST([EGS_SLURM_ARGS])

dnl Instrumented objects cannot be loaded into a slurmctld that is not.
AM_CONDITIONAL([BUILD_PLUGINS], [test "x$enable_sanitizers" != xyes])
AM_CONDITIONAL([HAVE_SLURM_SRC], [test -n "$SLURM_SRC_CPPFLAGS"])
AS_VERSION_COMPARE([$SLURM_VERSION], [25.05],
	[egs_select_shadow=yes], [egs_select_shadow=no],
	[egs_select_shadow=no])
dnl Up to 24.11 a second select plugin is fatal for every command, so ours
dnl takes the name of cons_tres; from 25.05 it has one of its own.
AM_CONDITIONAL([SELECT_SHADOW], [test "$egs_select_shadow" = yes])
])

dnl The version in a public or private slurm_version.h, as 22.05.8.
AC_DEFUN([_EGS_SLURM_VERSION_H], [
egs_num=`sed -n 's/^#define SLURM_VERSION_NUMBER 0x\(......\).*/\1/p' "$2"`
egs_major=`echo "$egs_num" | cut -c1-2`
egs_minor=`echo "$egs_num" | cut -c3-4`
egs_micro=`echo "$egs_num" | cut -c5-6`
$1=`printf '%d.%02d.%d' "0x$egs_major" "0x$egs_minor" "0x$egs_micro"`
])

AC_DEFUN([_EGS_SLURM_HEADERS], [
egs_save_CPPFLAGS="$CPPFLAGS"
CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
AC_CHECK_HEADERS([slurm/slurm.h slurm/spank.h], [],
	[AC_MSG_ERROR([Slurm's public headers are missing (Debian has them in libslurm-dev); --with-slurm-prefix=DIR says where else to look])])
AC_MSG_CHECKING([for the version of Slurm's headers])
dnl The preprocessor names the file it found.
egs_header=`echo '#include <slurm/slurm_version.h>' |
	$CC -E $CPPFLAGS - 2>/dev/null |
	sed -n 's/^# 1 "\(.*slurm_version\.h\)".*/\1/p' | sed 1q`
AS_IF([test -z "$egs_header"],
	[AC_MSG_ERROR([slurm/slurm_version.h is missing beside slurm/slurm.h])])
_EGS_SLURM_VERSION_H([egs_header_version], [$egs_header])
AC_MSG_RESULT([$egs_header_version])
CPPFLAGS="$egs_save_CPPFLAGS"
])

AC_DEFUN([_EGS_SLURM_VERSION], [
AC_PATH_PROG([SLURMCTLD], [slurmctld], [], [$egs_slurm_path])
AS_IF([test -n "$SLURMCTLD"], [
	AC_MSG_CHECKING([for the version of slurmctld])
	dnl Headers have the number alone, and 26.05.4-0pre1 has that of 26.05.4.
	egs_full_version=`"$SLURMCTLD" -V | sed 's/.* //'`
	SLURM_VERSION=`echo "$egs_full_version" | sed 's/-.*//'`
	AC_MSG_RESULT([$egs_full_version])
	AS_IF([test "$SLURM_VERSION" != "$egs_header_version"],
		[AC_MSG_ERROR([$SLURMCTLD is Slurm $SLURM_VERSION but the headers in $egs_header are $egs_header_version])])
], [
	SLURM_VERSION=$egs_header_version
])
])

AC_DEFUN([_EGS_SLURM_PLUGINDIR], [
SLURM_PLUGINDIR="$with_slurm_plugindir"
AS_IF([test -z "$SLURM_PLUGINDIR" && test -n "$SLURMCTLD"], [
	AC_MSG_CHECKING([for Slurm's plugins])
	SLURM_PLUGINDIR=`readelf -d "$SLURMCTLD" |
		sed -n 's/.*R.*PATH.*\@<:@\(.*\)\@:>@.*/\1/p' | sed 's/:.*//'`
	AC_MSG_RESULT([${SLURM_PLUGINDIR:-not found}])
])
])

AC_DEFUN([_EGS_SLURM_SRC], [
SLURM_SRC_CPPFLAGS=
AS_IF([test -n "$with_slurm_src"], [
	: "${with_slurm_build:=$with_slurm_src}"
	AC_MSG_CHECKING([for the version of Slurm's source])
	egs_src_version=`sed -n 's/^ *Version:@<:@^0-9@:>@*//p' "$with_slurm_src/META" 2>/dev/null`
	AC_MSG_RESULT([${egs_src_version:-none}])
	AS_IF([test -z "$egs_src_version"],
		[AC_MSG_ERROR([$with_slurm_src is not a Slurm source tree: it has no META])])
	AS_IF([test "$egs_src_version" != "$SLURM_VERSION"],
		[AC_MSG_ERROR([the Slurm source in $with_slurm_src is $egs_src_version but the installed Slurm is $SLURM_VERSION])])
	AS_IF([test ! -f "$with_slurm_build/config.h"],
		[AC_MSG_ERROR([$with_slurm_build has no config.h: run Slurm's configure there])])
	_EGS_SLURM_VERSION_H([egs_build_version],
		["$with_slurm_build/slurm/slurm_version.h"])
	AS_IF([test "$egs_build_version" != "$SLURM_VERSION"],
		[AC_MSG_ERROR([$with_slurm_build was configured for Slurm $egs_build_version but the installed Slurm is $SLURM_VERSION])])
	dnl Records differ between 26.05.4-0pre1 and 26.05.4.
	egs_build_full=`sed -n 's/^#define SLURM_VERSION_STRING "\(.*\)".*/\1/p' "$with_slurm_build/config.h"`
	AS_IF([test -n "$egs_full_version" &&
	       test "$egs_build_full" != "$egs_full_version"],
		[AC_MSG_ERROR([$with_slurm_build was configured for Slurm ${egs_build_full:-of no version} but the installed Slurm is $egs_full_version])])
	AS_IF([test ! -f "$SLURM_PLUGINDIR/select_cons_tres.so"],
		[AC_MSG_ERROR([select_cons_tres.so is not in '$SLURM_PLUGINDIR'; --with-slurm-plugindir=DIR says where Slurm's plugins are])])
	SLURM_SRC_CPPFLAGS="-isystem $with_slurm_build -isystem $with_slurm_src"
])
AS_IF([test -z "$with_slurm_src" && test -n "$with_slurm_build"],
	[AC_MSG_ERROR([--with-slurm-build needs --with-slurm-src])])
])

dnl EGS_SLURM_SUMMARY
dnl The last words of configure: what is built, what is not, and why.
AC_DEFUN([EGS_SLURM_SUMMARY], [
AC_MSG_NOTICE([Slurm $SLURM_VERSION, headers $egs_header])
AS_IF([test "x$enable_sanitizers" = xyes], [
	AC_MSG_NOTICE([no plugins: --enable-sanitizers builds only programs and tests])
], [test -n "$SLURM_SRC_CPPFLAGS"], [
	AC_MSG_NOTICE([all plugins: spank, job_submit, preempt, site_factor, select])
], [
	AC_MSG_NOTICE([only the spank plugin: those of slurmctld need --with-slurm-src=DIR, a source tree of Slurm $SLURM_VERSION])
])
])
