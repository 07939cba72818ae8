# cmd - the commands: a line in bin_PROGRAMS or sbin_PROGRAMS each

noinst_LIBRARIES += cmd/libegs-cmd.a
cmd_libegs_cmd_a_SOURCES = \
	cmd/egsctl/ask_cluster.c \
	cmd/egsctl/ask_cluster.h \
	cmd/egsctl/doctor.c \
	cmd/egsctl/doctor.h \
	cmd/egsctl/doctor_accounts.c \
	cmd/egsctl/doctor_conf.c \
	cmd/egsctl/doctor_daemon.c \
	cmd/egsctl/doctor_gpus.c \
	cmd/egsctl/canvas.c \
	cmd/egsctl/canvas.h \
	cmd/egsctl/top_draw.c \
	cmd/egsctl/top_draw.h \
	cmd/egsctl/top_map.c \
	cmd/egsctl/top_rows.c \
	cmd/egsctl/top_rows.h \
	cmd/lib/listing.c \
	cmd/lib/listing.h \
	cmd/lib/options.c \
	cmd/lib/options.h \
	cmd/lib/print_clean.c \
	cmd/lib/print_clean.h \
	cmd/lib/print_table.c \
	cmd/lib/print_table.h \
	cmd/lib/read_command.c \
	cmd/lib/read_command.h \
	cmd/lib/find_daemon.c \
	cmd/lib/find_daemon.h \
	cmd/egs-report/parse_time.c \
	cmd/egs-report/parse_time.h

sbin_PROGRAMS += cmd/egsctl/egsctl
cmd_egsctl_egsctl_SOURCES = \
	cmd/egsctl/call.c \
	cmd/egsctl/call.h \
	cmd/egsctl/terminal.c \
	cmd/egsctl/terminal.h \
	cmd/egsctl/top.c \
	cmd/egsctl/top.h \
	cmd/egsctl/verbs.c \
	cmd/egsctl/verbs.h \
	cmd/egsctl/egsctl.c \
	cmd/egsctl/egsctl.h
cmd_egsctl_egsctl_LDADD = cmd/libegs-cmd.a \
	$(egs_common_libs) $(JSONC_LIBS) $(MUNGE_LIBS)

bin_PROGRAMS += cmd/egs-report/egs-report
cmd_egs_report_egs_report_SOURCES = \
	cmd/egs-report/egs-report.c \
	cmd/egs-report/query.c \
	cmd/egs-report/query.h \
	cmd/egs-report/html.c \
	cmd/egs-report/html.h \
	cmd/egs-report/text.c \
	cmd/egs-report/text.h \
	cmd/egs-report/backup_import.c \
	cmd/egs-report/backup_import.h
cmd_egs_report_egs_report_LDADD = cmd/libegs-page.a $(cmd_egsctl_egsctl_LDADD)

# The page: its files become bytes in C, by programs that every build has.
egs_page_files = \
	$(srcdir)/cmd/web/page.html \
	$(srcdir)/cmd/web/page.css \
	$(srcdir)/cmd/web/base.js \
	$(srcdir)/cmd/web/chart.js \
	$(srcdir)/cmd/web/map.js \
	$(srcdir)/cmd/web/panels.js \
	$(srcdir)/cmd/web/details.js \
	$(srcdir)/cmd/web/report.js \
	$(srcdir)/cmd/web/page.js
EXTRA_DIST += $(egs_page_files) cmd/web/embed.sh
BUILT_SOURCES += cmd/web/page_bytes.h
CLEANFILES += cmd/web/page_bytes.h

cmd/web/page_bytes.h: $(egs_page_files) $(srcdir)/cmd/web/embed.sh
	$(AM_V_GEN)mkdir -p cmd/web && \
		$(SHELL) $(srcdir)/cmd/web/embed.sh $(egs_page_files) >$@.new && \
		mv $@.new $@

noinst_LIBRARIES += cmd/libegs-page.a
cmd_libegs_page_a_SOURCES = \
	cmd/web/page.c \
	cmd/web/page.h
nodist_cmd_libegs_page_a_SOURCES = cmd/web/page_bytes.h
cmd/web/page.$(OBJEXT): cmd/web/page_bytes.h

egs_cli_sources = \
	cmd/egs/egs.h \
	cmd/egs/verbs.c \
	cmd/egs/phase.c

bin_PROGRAMS += cmd/egs/egs
cmd_egs_egs_SOURCES = cmd/egs/egs.c $(egs_cli_sources)
cmd_egs_egs_LDADD = cmd/libegs-cmd.a $(LDADD) \
	$(JSONC_LIBS) $(MUNGE_LIBS)

egs_libexec_PROGRAMS = cmd/egs/egs-resume
cmd_egs_egs_resume_SOURCES = cmd/egs/egs-resume.c
cmd_egs_egs_resume_LDADD = $(cmd_egs_egs_LDADD)

# The servers of the page.
if HAVE_MICROHTTPD
noinst_LIBRARIES += cmd/libegs-web.a
cmd_libegs_web_a_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
cmd_libegs_web_a_SOURCES = \
	cmd/web/cache.c \
	cmd/web/cache.h \
	cmd/web/cache_entries.c \
	cmd/web/cache_entries.h \
	cmd/web/document.c \
	cmd/web/document.h \
	cmd/web/headers.c \
	cmd/web/headers.h \
	cmd/web/identify.c \
	cmd/web/identify.h \
	cmd/web/serve.c \
	cmd/web/serve.h

sbin_PROGRAMS += cmd/web/egs-webd
cmd_web_egs_webd_SOURCES = cmd/web/egs-webd.c
cmd_web_egs_webd_CPPFLAGS = $(cmd_libegs_web_a_CPPFLAGS)
cmd_web_egs_webd_LDADD = $(cmd_web_egs_web_LDADD)

egs_libexec_PROGRAMS += cmd/web/egs-web
cmd_web_egs_web_SOURCES = cmd/web/egs-web.c
cmd_web_egs_web_CPPFLAGS = $(cmd_libegs_web_a_CPPFLAGS)
cmd_web_egs_web_LDADD = cmd/libegs-web.a cmd/libegs-page.a \
	$(cmd_egsctl_egsctl_LDADD) $(MICROHTTPD_LIBS)
endif

# The one for containers, which have none of our libraries.
if HAVE_STATIC
egs_libexec_PROGRAMS += cmd/egs/egs-static
cmd_egs_egs_static_SOURCES = cmd/egs/egs-static.c $(egs_cli_sources)
cmd_egs_egs_static_LDFLAGS = $(AM_LDFLAGS) -static
cmd_egs_egs_static_LDADD = cmd/libegs-cmd.a $(LDADD)
endif

# bash and zsh find the completion of a command by its name.
egs_completion = $(srcdir)/cmd/completion
EXTRA_DIST += cmd/completion/words.sh cmd/completion/complete.bash \
	cmd/completion/complete.zsh
CLEANFILES += cmd/completion/egs cmd/completion/_egs
bashcompdir = $(datadir)/bash-completion/completions
bashcomp_DATA = cmd/completion/egs
dist_bashcomp_DATA = cmd/completion/egsctl cmd/completion/egs-report
zshcompdir = $(datadir)/zsh/site-functions
zshcomp_DATA = cmd/completion/_egs

cmd/completion/egs: $(egs_completion)/words.sh $(egs_completion)/complete.bash
	$(AM_V_GEN)mkdir -p cmd/completion && \
		cat $(egs_completion)/words.sh \
			$(egs_completion)/complete.bash >$@.new && mv $@.new $@

cmd/completion/_egs: $(egs_completion)/words.sh $(egs_completion)/complete.zsh
	$(AM_V_GEN)mkdir -p cmd/completion && \
		{ echo '#compdef egs egsctl egs-report' && \
			cat $(egs_completion)/words.sh \
			$(egs_completion)/complete.zsh; } >$@.new && mv $@.new $@
