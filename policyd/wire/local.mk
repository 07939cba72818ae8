# policyd/wire - all that crosses a process boundary

noinst_LIBRARIES += policyd/wire/libegs-wire.a
policyd_wire_libegs_wire_a_SOURCES = \
	policyd/wire/err.c \
	policyd/wire/err.h \
	policyd/wire/hint.c \
	policyd/wire/hint.h \
	policyd/wire/stamp.c \
	policyd/wire/stamp.h \
	policyd/wire/suggest.c \
	policyd/wire/suggest.h \
	policyd/wire/table.c \
	policyd/wire/table.h \
	policyd/wire/table_layout.h \
	policyd/wire/table_write.c
