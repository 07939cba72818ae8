# t/slurm - programs that run a plugin in place of slurmctld
#
# Only t/0110-calls.t and bench-select need them; "make all" does not build them.

if BUILD_PLUGINS
if HAVE_SLURM_SRC

egs_inside_cppflags = $(AM_CPPFLAGS) $(SLURM_SRC_CPPFLAGS) \
	-UEGS_SYSCONFDIR -DEGS_SYSCONFDIR='"."' \
	-DEGS_SLURM_PLUGINDIR='"."'
egs_inside_libs = $(egs_common_libs) $(SLURM_PLUGINDIR)/libslurmfull.so
# Functions of slurmctld that the programs never call may be undefined.
egs_inside_link = $(AM_LDFLAGS) -Wl,-rpath,$(SLURM_PLUGINDIR) \
	-Wl,--unresolved-symbols=ignore-in-object-files

EXTRA_PROGRAMS += t/slurm/preempt t/slurm/select t/slurm/select_nodes \
	t/slurm/update
CLEANFILES += t/slurm/preempt$(EXEEXT) t/slurm/select$(EXEEXT) \
	t/slurm/select_nodes$(EXEEXT) t/slurm/update$(EXEEXT)

t_slurm_preempt_SOURCES = t/slurm/preempt.c t/slurm/records.h \
	$(plugins_preempt_preempt_egs_so_SOURCES)
t_slurm_preempt_CPPFLAGS = $(egs_inside_cppflags)
t_slurm_preempt_LDFLAGS = $(egs_inside_link)
t_slurm_preempt_LDADD = $(egs_inside_libs)

t_slurm_select_SOURCES = t/slurm/select.c t/slurm/select_cluster.h \
	t/slurm/records.h \
	$(egs_select_sources)
t_slurm_select_CPPFLAGS = $(egs_inside_cppflags)
t_slurm_select_LDFLAGS = $(egs_inside_link)
t_slurm_select_LDADD = $(egs_inside_libs)

t_slurm_select_nodes_SOURCES = t/slurm/select_nodes.c \
	t/slurm/select_cluster.h t/slurm/records.h \
	$(egs_select_sources)
t_slurm_select_nodes_CPPFLAGS = $(egs_inside_cppflags)
t_slurm_select_nodes_LDFLAGS = $(egs_inside_link)
t_slurm_select_nodes_LDADD = $(egs_inside_libs)

t_slurm_update_SOURCES = t/slurm/update.c t/slurm/records.h \
	plugins/job_submit/daemon_update.c plugins/job_submit/resize_acctg.c \
	plugins/job_submit/resize_checks.c plugins/shared/db_index.c \
	$(egs_decision_sources)
t_slurm_update_CPPFLAGS = $(egs_inside_cppflags)
t_slurm_update_LDFLAGS = $(egs_inside_link)
t_slurm_update_LDADD = $(egs_inside_libs)

endif
endif
