# policyd/cmd - the commands: a line in bin_PROGRAMS or sbin_PROGRAMS each

noinst_LIBRARIES += policyd/cmd/libegs-cmd.a
policyd_cmd_libegs_cmd_a_SOURCES = \
	policyd/cmd/doctor.c \
	policyd/cmd/doctor.h \
	policyd/cmd/doctor_accounts.c \
	policyd/cmd/doctor_lines.c \
	policyd/cmd/listing.c \
	policyd/cmd/listing.h \
	policyd/cmd/options.c \
	policyd/cmd/options.h \
	policyd/cmd/place.c \
	policyd/cmd/place.h \
	policyd/cmd/when.c \
	policyd/cmd/when.h

sbin_PROGRAMS += policyd/cmd/egsctl
policyd_cmd_egsctl_SOURCES = \
	policyd/cmd/ctl_call.c \
	policyd/cmd/ctl_call.h \
	policyd/cmd/ctl_doctor.c \
	policyd/cmd/ctl_doctor.h \
	policyd/cmd/ctl_verb.c \
	policyd/cmd/ctl_verb.h \
	policyd/cmd/egsctl.c \
	policyd/cmd/egsctl.h
policyd_cmd_egsctl_LDADD = policyd/cmd/libegs-cmd.a \
	policyd/wire/libegs-wire.a policyd/core/libegs-core.a \
	$(JSONC_LIBS) $(MUNGE_LIBS)

bin_PROGRAMS += policyd/cmd/egs-report
policyd_cmd_egs_report_SOURCES = \
	policyd/cmd/egs-report.c \
	policyd/cmd/report_ask.c \
	policyd/cmd/report_ask.h \
	policyd/cmd/plot.c \
	policyd/cmd/plot.h \
	policyd/cmd/report_html.c \
	policyd/cmd/report_html.h \
	policyd/cmd/report_print.c \
	policyd/cmd/report_print.h \
	policyd/cmd/report_tools.c \
	policyd/cmd/report_tools.h
policyd_cmd_egs_report_LDADD = $(policyd_cmd_egsctl_LDADD)

egs_cli_sources = \
	policyd/cmd/egs.h \
	policyd/cmd/egs_cli.c \
	policyd/cmd/egs_phase.c

bin_PROGRAMS += policyd/cmd/egs
policyd_cmd_egs_SOURCES = policyd/cmd/egs.c $(egs_cli_sources)
policyd_cmd_egs_LDADD = policyd/cmd/libegs-cmd.a $(LDADD) \
	$(JSONC_LIBS) $(MUNGE_LIBS)

egs_libexec_PROGRAMS = policyd/cmd/egs-resume
policyd_cmd_egs_resume_SOURCES = policyd/cmd/egs_resume.c
policyd_cmd_egs_resume_LDADD = $(policyd_cmd_egs_LDADD)

# The one for containers, which have none of our libraries.
if HAVE_STATIC
egs_libexec_PROGRAMS += policyd/cmd/egs-static
policyd_cmd_egs_static_SOURCES = policyd/cmd/egs_static.c $(egs_cli_sources)
policyd_cmd_egs_static_LDFLAGS = $(AM_LDFLAGS) -static
policyd_cmd_egs_static_LDADD = policyd/cmd/libegs-cmd.a $(LDADD)
endif
