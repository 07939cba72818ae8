# policyd - egs-policyd: the loop and the I/O around the core
#
# All but main() is a library, so that unit programs can link it.

noinst_LIBRARIES += policyd/libegs-policyd.a
policyd_libegs_policyd_a_SOURCES = \
	policyd/buf.c \
	policyd/buf.h \
	policyd/facts.c \
	policyd/facts.h \
	policyd/gres.c \
	policyd/gres.h \
	policyd/loop.c \
	policyd/loop.h
