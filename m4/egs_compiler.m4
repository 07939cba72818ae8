dnl egs_compiler.m4 - warnings, sanitizers and the flags everything shares

dnl EGS_COMPILER
dnl Sets EGS_CFLAGS for all we compile and EGS_LDFLAGS for programs.
AC_DEFUN([EGS_COMPILER], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [warnings are errors])],
	[], [enable_werror=no])
AC_ARG_ENABLE([sanitizers],
	[AS_HELP_STRING([--enable-sanitizers],
		[programs and unit tests with ASan and UBSan; no plugins])],
	[], [enable_sanitizers=no])
AC_ARG_ENABLE([fuzz],
	[AS_HELP_STRING([--enable-fuzz],
		[fuzz targets with libFuzzer, ASan and UBSan; for contrib/fuzz])],
	[], [enable_fuzz=no])
AS_IF([test "x$enable_fuzz" = xyes], [enable_sanitizers=yes])

dnl The same objects end up in programs and in plugins, hence -fPIC, and
dnl a plugin shows Slurm nothing but its API, hence hidden visibility.
EGS_CFLAGS="-std=gnu11 -fPIC -fvisibility=hidden -fno-common"
EGS_CFLAGS="$EGS_CFLAGS -Wall -Wextra -Wshadow -Wstrict-prototypes"
EGS_CFLAGS="$EGS_CFLAGS -Wmissing-prototypes -Wpointer-arith -Wvla"
EGS_CFLAGS="$EGS_CFLAGS -Wformat=2 -Wwrite-strings"
dnl A Slurm header that stops including another makes a pointer an int.
EGS_CFLAGS="$EGS_CFLAGS -Werror=implicit-function-declaration"
EGS_LDFLAGS=
AS_IF([test "x$enable_werror" = xyes], [EGS_CFLAGS="$EGS_CFLAGS -Werror"])
AS_IF([test "x$enable_sanitizers" = xyes], [
	egs_san="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
	EGS_CFLAGS="$EGS_CFLAGS $egs_san -fno-omit-frame-pointer"
	EGS_LDFLAGS="$egs_san"
])
FUZZ_LDFLAGS=
AS_IF([test "x$enable_fuzz" = xyes], [
	EGS_CFLAGS="$EGS_CFLAGS -fsanitize=fuzzer-no-link"
	FUZZ_LDFLAGS="-fsanitize=fuzzer"
	egs_ldflags=$LDFLAGS
	LDFLAGS="$LDFLAGS $FUZZ_LDFLAGS"
	AC_CACHE_CHECK([for libFuzzer], [egs_cv_fuzzer], [AC_LINK_IFELSE(
		[AC_LANG_SOURCE([[int LLVMFuzzerTestOneInput(const char *, long);
int LLVMFuzzerTestOneInput(const char *data, long size)
{ return !data || !size; }]])],
		[egs_cv_fuzzer=yes], [egs_cv_fuzzer=no])])
	LDFLAGS=$egs_ldflags
	AS_IF([test "x$egs_cv_fuzzer" != xyes], [AC_MSG_ERROR([$CC has no libFuzzer:
use CC=clang and install the package libclang-rt-dev of its version])])
])
AC_SUBST([FUZZ_LDFLAGS])
dnl A program without shared libraries, for containers.  No sanitizer can.
egs_ldflags=$LDFLAGS
LDFLAGS="$LDFLAGS -static"
AC_CACHE_CHECK([for a static C library], [egs_cv_static],
	[AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[puts("")]])],
		[egs_cv_static=yes], [egs_cv_static=no])])
LDFLAGS=$egs_ldflags
AM_CONDITIONAL([HAVE_STATIC],
	[test "x$egs_cv_static" = xyes && test "x$enable_sanitizers" != xyes])
AC_SUBST([EGS_CFLAGS])
AC_SUBST([EGS_LDFLAGS])
])
