# noded - egs-noded, on every compute node; it needs nothing of Slurm's

egs_cards_sources = \
	common/node/gpus.c \
	common/node/gpus.h \
	common/node/gpu_users.c

egs_rundir_sources = \
	common/node/as_user.c \
	common/node/as_user.h \
	common/node/rundir.c \
	common/node/rundir.h \
	common/node/rundir_remove.c

sbin_PROGRAMS += noded/egs-noded
noded_egs_noded_SOURCES = \
	$(egs_cards_sources) \
	$(egs_rundir_sources) \
	noded/egs-noded.c \
	noded/rundirs.c \
	noded/report_gpu_users.c \
	noded/noded.c \
	noded/noded.h \
	noded/nvml.c \
	noded/job_processes.c \
	noded/job_processes.h \
	noded/relay.c \
	noded/rundir_files.c \
	noded/run_saver.c \
	noded/saver.c \
	noded/saver.h \
	noded/spool.c \
	noded/spool.h \
	noded/ask_policyd.c \
	noded/long_poll.c
noded_egs_noded_LDADD = $(LDADD) $(JSONC_LIBS) $(MUNGE_LIBS)
