#!/bin/bash
# 0100-purity.t - the policy and its rules have no side effects
#
# No clock, no file, no log, no state of its own: what its objects ask of
# others is on a short list, and none of them has writable data.
. "$(dirname "$0")/lib/sh/tree.sh"

# Four whole rooms, and what other rooms have that must be as predictable.
pure=("$EGS_BUILD/policyd/policy/libegs-policy.a"
	"$EGS_BUILD/policyd/health/libegs-health.a"
	"$EGS_BUILD/policyd/predict/libegs-predict.a"
	"$EGS_BUILD/common/rules/libegs-rules.a"
	"$EGS_BUILD/common/base/grow.o"
	"$EGS_BUILD/common/base/idmap.o"
	"$EGS_BUILD/common/base/list.o"
	"$EGS_BUILD/common/base/text.o"
	"$EGS_BUILD/common/base/utf8.o"
	"$EGS_BUILD/common/conf/policy_conf.o"
	"$EGS_BUILD/policyd/accounting/interval.o"
	"$EGS_BUILD/policyd/accounting/wastage.o")

# Memory, strings and sorting; snprintf() writes to memory only.  The last
# two lines are what compilers put in.
allowed='malloc calloc realloc free
memchr memcmp memcpy memmove memset
strcasecmp strchr strcmp strcpy strcspn strdup strlen strncasecmp strncmp
strndup strnlen strrchr strspn strstr snprintf vsnprintf
bsearch qsort
_GLOBAL_OFFSET_TABLE_ __stack_chk_fail __snprintf_chk __memcpy_chk
__memmove_chk __memset_chk'

# wanted ARCHIVE...: symbols that nobody inside defines and the list lacks.
wanted()
{
	nm -A "$@" >"$tmp/symbols" || return
	awk -v allowed="$allowed" '
		BEGIN { n = split(allowed, a, "[ \n]+"); while (n) ok[a[n--]] = 1 }
		NF < 3 { next }
		$(NF - 1) == "U" { asks[$NF] = $1; next }
		$(NF - 1) ~ /[A-Z]/ { ok[$NF] = 1 }
		END { for (s in asks) if (!ok[s]) print asks[s] " asks for " s }
	' "$tmp/symbols" | sort
}

# state ARCHIVE...: writable sections with something in them.  Constant tables of
# pointers are in .data.rel.ro, which is read-only once a program runs.
state()
{
	objdump -h "$@" >"$tmp/sections" || return
	awk '
		/file format/ { object = $1 }
		$2 ~ /^\.t?(data|bss)/ && $2 !~ /^\.data\.rel\.ro/ && $3 !~ /^0+$/ {
			print object " has 0x" $3 " bytes in " $2
		}' "$tmp/sections"
}

# make_archive TEXT: an archive of one object, compiled from TEXT.
make_archive()
{
	echo "$1" >"$tmp/x.c"
	rm -f "$tmp/x.a"
	"${CC:-cc}" -w -fPIC -O2 -c -o "$tmp/x.o" "$tmp/x.c" &&
		ar cr "$tmp/x.a" "$tmp/x.o"
}

plain='#include <stdlib.h>
const char *const names[] = { "a", "b" };
int more(int *p);
int more(int *p) { return *p + 1; }
int *make(void);
int *make(void) { int *p = malloc(4); return p; }'
does 'a pure object compiles' make_archive "$plain"
holds 'a pure object needs no forbidden symbol' wanted "$tmp/x.a"
holds 'a pure object has no state' state "$tmp/x.a"

while IFS='|' read -r words text; do
	make_archive "$text" || exit
	catches "$words" wanted "$tmp/x.a"
done <<'END'
a clock|long time(long *); long f(void) { return time(0); }
a file|int open(const char *, int, ...); int f(void) { return open("x", 0); }
a log|int printf(const char *, ...); int f(int x) { return printf("%d", x); }
errno, a variable|int *__errno_location(void); int f(void) { return *__errno_location(); }
chance|int rand(void); int f(void) { return rand(); }
END
while IFS='|' read -r words text; do
	make_archive "$text" || exit
	catches "$words" state "$tmp/x.a"
done <<'END'
a global variable|int x;
a static variable|int f(void) { static int n = 7; return n++; }
a variable per thread|__thread int x = 1;
END

does 'the policy and its rules are built' test -s "${pure[0]}" -a -s "${pure[1]}"
ar t "${pure[0]}" >"$tmp/objects"
does 'the policy has objects to check' grep policy.o "$tmp/objects"
holds 'policy and rules need only memory, strings and sorting' \
	wanted "${pure[@]}"
holds 'policy and rules have no state' state "${pure[@]}"

done_testing
