# plugins - thin translators between Slurm and common
#
# Slurm's plugins are shared objects without a soname or a version, loaded by
# path, so each is a "program" that is linked with -shared.  spank needs only
# Slurm's public headers, the others a source tree.

egs_plugindir = $(libdir)/slurm
egs_plugin_PROGRAMS =
egs_shadowdir = $(egs_plugindir)/select
egs_shadow_PROGRAMS =

# nodelete: Slurm unloads plugins, but a thread and a signal handler stay.
egs_plugin_link = -shared -Wl,--exclude-libs,ALL -Wl,-z,nodelete

EXTRA_DIST += plugins/compat/compat.h plugins/compat/dbd.h \
	plugins/compat/gres.h

if BUILD_PLUGINS

egs_plugin_PROGRAMS += plugins/spank/spank_egs.so
plugins_spank_spank_egs_so_SOURCES = \
	plugins/spank/client.c \
	plugins/spank/kill_leftovers.c \
	plugins/spank/node.c \
	plugins/spank/options.c \
	plugins/spank/read_line.c \
	plugins/spank/read_line.h \
	plugins/spank/resume.c \
	plugins/spank/spank_egs.c \
	plugins/spank/spank_egs.h \
	plugins/spank/step_env.c
plugins_spank_spank_egs_so_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
plugins_spank_spank_egs_so_LDFLAGS = $(egs_plugin_link)
plugins_spank_spank_egs_so_LDADD = $(egs_node_libs)

if HAVE_SLURM_SRC

egs_decision_sources = \
	plugins/shared/decisions.c \
	plugins/shared/decisions.h \
	plugins/shared/layout.c \
	plugins/shared/layout.h \
	plugins/shared/ring.c \
	plugins/shared/ring.h \
	plugins/shared/settings.c \
	plugins/shared/settings.h

# For plugins that change the size of a job or restore it.
egs_size_sources = \
	plugins/shared/db_index.c \
	plugins/shared/db_index.h \
	plugins/shared/gpu_request.c \
	plugins/shared/gpu_request.h \
	plugins/shared/gpu_request_text.c \
	plugins/shared/gpu_request_text.h \
	plugins/shared/job_stamp.c \
	plugins/shared/job_stamp.h

egs_plugin_PROGRAMS += plugins/job_submit/job_submit_egs.so
plugins_job_submit_job_submit_egs_so_SOURCES = \
	plugins/job_submit/check.c \
	plugins/job_submit/check.h \
	plugins/job_submit/conf_cache.c \
	plugins/job_submit/conf_cache.h \
	plugins/job_submit/daemon_update.c \
	plugins/job_submit/daemon_update.h \
	plugins/job_submit/hint_sources.c \
	plugins/job_submit/hint_sources.h \
	plugins/job_submit/job_desc.c \
	plugins/job_submit/job_desc.h \
	plugins/job_submit/job_submit_egs.c \
	plugins/job_submit/resize.c \
	plugins/job_submit/resize.h \
	plugins/job_submit/resize_acctg.c \
	plugins/job_submit/resize_acctg.h \
	plugins/job_submit/resize_checks.c \
	plugins/job_submit/resize_checks.h \
	plugins/job_submit/resize_cores.c \
	plugins/job_submit/resize_cores.h \
	plugins/job_submit/resize_records.c \
	plugins/job_submit/resize_records.h \
	plugins/job_submit/resize_request.c \
	plugins/job_submit/resize_request.h \
	$(egs_size_sources) \
	$(egs_decision_sources)
plugins_job_submit_job_submit_egs_so_CPPFLAGS = \
	$(AM_CPPFLAGS) $(SLURM_SRC_CPPFLAGS)
plugins_job_submit_job_submit_egs_so_LDFLAGS = $(egs_plugin_link)
plugins_job_submit_job_submit_egs_so_LDADD = $(egs_common_libs)

egs_plugin_PROGRAMS += plugins/preempt/preempt_egs.so
plugins_preempt_preempt_egs_so_SOURCES = \
	plugins/preempt/base.c \
	plugins/preempt/base.h \
	plugins/preempt/preempt_egs.c \
	plugins/shared/make_ready.c \
	plugins/shared/make_ready.h \
	$(egs_decision_sources)
plugins_preempt_preempt_egs_so_CPPFLAGS = $(AM_CPPFLAGS) \
	$(SLURM_SRC_CPPFLAGS) -DEGS_SLURM_PLUGINDIR='"$(SLURM_PLUGINDIR)"'
plugins_preempt_preempt_egs_so_LDFLAGS = $(egs_plugin_link)
plugins_preempt_preempt_egs_so_LDADD = $(egs_common_libs)

egs_plugin_PROGRAMS += plugins/site_factor/site_factor_egs.so
plugins_site_factor_site_factor_egs_so_SOURCES = \
	plugins/site_factor/site_factor_egs.c \
	$(egs_decision_sources)
plugins_site_factor_site_factor_egs_so_CPPFLAGS = \
	$(AM_CPPFLAGS) $(SLURM_SRC_CPPFLAGS)
plugins_site_factor_site_factor_egs_so_LDFLAGS = $(egs_plugin_link)
plugins_site_factor_site_factor_egs_so_LDADD = $(egs_common_libs)

# The plugin is linked with the real one, whose functions it passes on
# (select_egs.c).  The soname is different, so that the loader loads both.
egs_select_link = $(egs_plugin_link) -Wl,-soname,egs_select.so \
	-Wl,-rpath,$(SLURM_PLUGINDIR) -Wl,--no-as-needed
egs_select_real = $(SLURM_PLUGINDIR)/select_cons_tres.so
egs_select_sources = \
	plugins/select/candidates.c \
	plugins/select/candidates.h \
	plugins/select/claim_owners.c \
	plugins/select/claim_owners.h \
	plugins/select/claims.c \
	plugins/select/claims.h \
	plugins/select/free_gpus.c \
	plugins/select/free_gpus.h \
	plugins/select/job_exit.c \
	plugins/select/job_exit.h \
	plugins/shared/make_ready.c \
	plugins/shared/make_ready.h \
	plugins/select/minimal_victims.c \
	plugins/select/minimal_victims.h \
	plugins/select/node_choice.c \
	plugins/select/node_choice.h \
	plugins/select/select_egs.c \
	plugins/select/slurm_records.c \
	plugins/select/slurm_records.h \
	plugins/select/team_use.c \
	plugins/select/team_use.h \
	plugins/select/trial.c \
	plugins/select/trial.h \
	$(egs_size_sources) \
	$(egs_decision_sources)

if SELECT_SHADOW
egs_shadow_PROGRAMS += plugins/select/select_cons_tres.so
plugins_select_select_cons_tres_so_SOURCES = $(egs_select_sources)
plugins_select_select_cons_tres_so_CPPFLAGS = \
	$(AM_CPPFLAGS) $(SLURM_SRC_CPPFLAGS)
plugins_select_select_cons_tres_so_LDFLAGS = $(egs_select_link)
plugins_select_select_cons_tres_so_LDADD = \
	$(egs_common_libs) $(egs_select_real)
else
egs_plugin_PROGRAMS += plugins/select/select_cons_tres_egs.so
plugins_select_select_cons_tres_egs_so_SOURCES = $(egs_select_sources)
plugins_select_select_cons_tres_egs_so_CPPFLAGS = \
	$(AM_CPPFLAGS) $(SLURM_SRC_CPPFLAGS)
plugins_select_select_cons_tres_egs_so_LDFLAGS = $(egs_select_link)
plugins_select_select_cons_tres_egs_so_LDADD = \
	$(egs_common_libs) $(egs_select_real)
endif

endif
endif
