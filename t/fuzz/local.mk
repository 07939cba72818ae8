# t/fuzz - a parser each, for libFuzzer; contrib/fuzz builds and runs them
#
# A target is a file here, four lines below, and a few inputs in
# t/fuzz/corpus/NAME.

# The rooms that reports and imports need.
fuzz_store_libs = policyd/report/libegs-report.a \
	policyd/accounting/libegs-accounting.a policyd/store/libegs-store.a \
	policyd/slurm/libegs-slurm.a policyd/policy/libegs-policy.a \
	policyd/predict/libegs-predict.a \
	$(egs_common_libs) $(SQLITE_LIBS) $(JSONC_LIBS) $(MUNGE_LIBS) \
	$(SLURM_LIBS)

fuzz_programs =
EXTRA_PROGRAMS += $(fuzz_programs)

fuzz-programs: $(fuzz_programs)
.PHONY: fuzz-programs

EXTRA_DIST += t/fuzz/fuzz.h $(wildcard $(top_srcdir)/t/fuzz/corpus/*/*)

fuzz_programs += t/fuzz/ckpt
t_fuzz_ckpt_SOURCES = t/fuzz/ckpt.c
t_fuzz_ckpt_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/comment_json
t_fuzz_comment_json_SOURCES = t/fuzz/comment_json.c
t_fuzz_comment_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/conf
t_fuzz_conf_SOURCES = t/fuzz/conf.c
t_fuzz_conf_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/cred
t_fuzz_cred_SOURCES = t/fuzz/cred.c
t_fuzz_cred_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/doorbell
t_fuzz_doorbell_SOURCES = t/fuzz/doorbell.c
t_fuzz_doorbell_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/flat_json
t_fuzz_flat_json_SOURCES = t/fuzz/flat_json.c
t_fuzz_flat_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/gpu_request
t_fuzz_gpu_request_SOURCES = t/fuzz/gpu_request.c \
	plugins/shared/gpu_request_text.c
t_fuzz_gpu_request_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/hint
t_fuzz_hint_SOURCES = t/fuzz/hint.c
t_fuzz_hint_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/msg
t_fuzz_msg_SOURCES = t/fuzz/msg.c
t_fuzz_msg_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
t_fuzz_msg_LDADD = $(LDADD) $(JSONC_LIBS)

fuzz_programs += t/fuzz/parse_time
t_fuzz_parse_time_SOURCES = t/fuzz/parse_time.c
t_fuzz_parse_time_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
t_fuzz_parse_time_LDADD = cmd/libegs-cmd.a $(LDADD)

fuzz_programs += t/fuzz/report
t_fuzz_report_SOURCES = t/fuzz/report.c
t_fuzz_report_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
t_fuzz_report_LDADD = $(fuzz_store_libs)

fuzz_programs += t/fuzz/resume_info
t_fuzz_resume_info_SOURCES = t/fuzz/resume_info.c
t_fuzz_resume_info_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/rundir
t_fuzz_rundir_SOURCES = t/fuzz/rundir.c
t_fuzz_rundir_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/sacct
t_fuzz_sacct_SOURCES = t/fuzz/sacct.c
t_fuzz_sacct_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
t_fuzz_sacct_LDADD = $(fuzz_store_libs)

fuzz_programs += t/fuzz/slurm_conf
t_fuzz_slurm_conf_SOURCES = t/fuzz/slurm_conf.c
t_fuzz_slurm_conf_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/stamp
t_fuzz_stamp_SOURCES = t/fuzz/stamp.c
t_fuzz_stamp_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

fuzz_programs += t/fuzz/table
t_fuzz_table_SOURCES = t/fuzz/table.c
t_fuzz_table_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

if HAVE_MICROHTTPD
fuzz_programs += t/fuzz/web
t_fuzz_web_SOURCES = t/fuzz/web.c cmd/web/headers.c cmd/web/identify.c \
	cmd/web/serve.c cmd/web/document.c
t_fuzz_web_CPPFLAGS = $(cmd_libegs_web_a_CPPFLAGS)
t_fuzz_web_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
t_fuzz_web_LDADD = cmd/libegs-page.a $(cmd_egsctl_egsctl_LDADD) \
	$(MICROHTTPD_LIBS)
endif
