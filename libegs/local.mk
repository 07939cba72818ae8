# libegs - for programs in a job: a library, its header, and egs.py beside it
#
# It depends on nothing but the C library.  Its objects are those of common, so
# a message is written in one place.

egs_libexecdir = $(libexecdir)/egs
dist_egs_libexec_DATA = libegs/egs.py
include_HEADERS = libegs/egs.h

libegs_sources = \
	libegs/egs.c \
	libegs/egs.h \
	common/base/clock.c \
	common/base/err.c \
	common/base/fd.c \
	common/base/text.c \
	common/base/utf8.c \
	common/ipc/flat_json.c \
	common/ipc/job_request.c \
	common/ipc/rundir_client.c

lib_LIBRARIES = libegs/libegs.a
libegs_libegs_a_SOURCES = $(libegs_sources)

# Linked like a plugin, without libtool; but others link with it by its soname.
egs_solibdir = $(libdir)
egs_solib_PROGRAMS = libegs/libegs.so.0
libegs_libegs_so_0_SOURCES = $(libegs_sources)
libegs_libegs_so_0_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libegs.so.0
libegs_libegs_so_0_LDADD =

install-exec-hook:
	cd $(DESTDIR)$(egs_solibdir) && ln -sf libegs.so.0 libegs.so

uninstall-hook:
	rm -f $(DESTDIR)$(egs_solibdir)/libegs.so
