# t - tests: t/*.t by prove, t/unit/*.c as programs that print TAP
#
# A unit program is two lines here and nothing elsewhere:
#   check_PROGRAMS += t/unit/NAME
#   t_unit_NAME_SOURCES = t/unit/NAME.c
# It is linked with both libraries.

tests: $(check_PROGRAMS)
.PHONY: tests

LDADD = policyd/core/libegs-core.a policyd/wire/libegs-wire.a

EXTRA_DIST += $(wildcard $(top_srcdir)/t/*.t) \
	$(wildcard $(top_srcdir)/t/lib/*) \
	$(wildcard $(top_srcdir)/t/model/*)
