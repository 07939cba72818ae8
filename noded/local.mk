# noded - egs-noded, on every compute node; links no library of Slurm

sbin_PROGRAMS += noded/egs-noded
noded_egs_noded_SOURCES = \
	noded/ask_policyd.c \
	noded/attribute_ended.c \
	noded/clean_gpus.c \
	noded/dcgm_map.c \
	noded/dcgm_map.h \
	noded/egs-noded.c \
	noded/follow_process.c \
	noded/follow_process.h \
	noded/gpu_sampler.c \
	noded/gpu_sampler.h \
	noded/job_processes.c \
	noded/job_processes.h \
	noded/lock_gpus.c \
	noded/long_poll.c \
	noded/map_gpus.c \
	noded/noded.c \
	noded/noded.h \
	noded/nvml.c \
	noded/nvml_accounting.c \
	noded/nvml_accounting.h \
	noded/nvml_api.c \
	noded/nvml_api.h \
	noded/nvml_cap.c \
	noded/nvml_cap.h \
	noded/nvml_gpm.c \
	noded/nvml_gpm.h \
	noded/nvml_session.c \
	noded/nvml_session.h \
	noded/nvml_values.c \
	noded/nvml_values.h \
	noded/relay.c \
	noded/report_gpu_users.c \
	noded/run_saver.c \
	noded/rundir_files.c \
	noded/rundirs.c \
	noded/sample_gpus.c \
	noded/saver.c \
	noded/saver.h \
	noded/spool.c \
	noded/spool.h \
	noded/tenures.c \
	noded/tenures.h \
	noded/timed_child.c \
	noded/timed_child.h \
	noded/user_memory.c \
	noded/user_memory.h
noded_egs_noded_LDADD = $(egs_node_libs) $(JSONC_LIBS) $(MUNGE_LIBS)
