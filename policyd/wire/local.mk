# policyd/wire - all that crosses a process boundary

noinst_LIBRARIES += policyd/wire/libegs-wire.a
policyd_wire_libegs_wire_a_SOURCES = \
	policyd/wire/aside.c \
	policyd/wire/aside.h \
	policyd/wire/client.c \
	policyd/wire/client.h \
	policyd/wire/conf.c \
	policyd/wire/conf.h \
	policyd/wire/conf_check.c \
	policyd/wire/conf_check.h \
	policyd/wire/conf_doc.c \
	policyd/wire/conf_doc.h \
	policyd/wire/conf_fill.c \
	policyd/wire/conf_fill.h \
	policyd/wire/conf_gpus.c \
	policyd/wire/conf_gpus.h \
	policyd/wire/conf_keys.c \
	policyd/wire/conf_keys.h \
	policyd/wire/conf_kind.c \
	policyd/wire/conf_kind.h \
	policyd/wire/conf_lex.c \
	policyd/wire/conf_lex.h \
	policyd/wire/conf_names.c \
	policyd/wire/conf_names.h \
	policyd/wire/conf_numbers.c \
	policyd/wire/conf_ops.h \
	policyd/wire/conf_overlap.c \
	policyd/wire/conf_overlap.h \
	policyd/wire/conf_problem.c \
	policyd/wire/conf_problem.h \
	policyd/wire/conf_show.c \
	policyd/wire/conf_show.h \
	policyd/wire/conf_slurp.c \
	policyd/wire/conf_slurp.h \
	policyd/wire/conf_value.c \
	policyd/wire/conf_value.h \
	policyd/wire/conf_words.c \
	policyd/wire/cred.c \
	policyd/wire/cred.h \
	policyd/wire/err.c \
	policyd/wire/err.h \
	policyd/wire/hint.c \
	policyd/wire/hint.h \
	policyd/wire/msg.c \
	policyd/wire/msg.h \
	policyd/wire/packet.h \
	policyd/wire/stamp.c \
	policyd/wire/stamp.h \
	policyd/wire/suggest.c \
	policyd/wire/suggest.h \
	policyd/wire/table.c \
	policyd/wire/table.h \
	policyd/wire/table_layout.h \
	policyd/wire/table_write.c \
	policyd/wire/utf8.c \
	policyd/wire/utf8.h
