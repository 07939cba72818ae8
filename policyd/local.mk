# policyd - egs-policyd: the loop and the I/O around the core
#
# All but main() is a library, so that unit programs can link it.

noinst_LIBRARIES += policyd/libegs-policyd.a
policyd_libegs_policyd_a_SOURCES = \
	policyd/account.c \
	policyd/account.h \
	policyd/account_impl.h \
	policyd/account_write.c \
	policyd/addresses.c \
	policyd/addresses.h \
	policyd/backup.c \
	policyd/buf.c \
	policyd/buf.h \
	policyd/daemon.c \
	policyd/daemon.h \
	policyd/daemon_account.c \
	policyd/daemon_act.c \
	policyd/daemon_bell.c \
	policyd/daemon_conf.c \
	policyd/daemon_intents.c \
	policyd/daemon_keep.c \
	policyd/daemon_ledger.c \
	policyd/daemon_levels.c \
	policyd/daemon_look.c \
	policyd/daemon_operators.c \
	policyd/daemon_marks.c \
	policyd/daemon_publish.c \
	policyd/daemon_rank.c \
	policyd/daemon_state.c \
	policyd/daemon_store.c \
	policyd/facts.c \
	policyd/facts.h \
	policyd/frame.c \
	policyd/frame.h \
	policyd/groups.c \
	policyd/groups.h \
	policyd/history.c \
	policyd/history.h \
	policyd/history_sql.c \
	policyd/history_wait.c \
	policyd/idmap.c \
	policyd/idmap.h \
	policyd/import.c \
	policyd/import.h \
	policyd/names.c \
	policyd/names.h \
	policyd/nodes.c \
	policyd/nodes.h \
	policyd/nodes_open.c \
	policyd/nodes_relay.c \
	policyd/notify.c \
	policyd/notify.h \
	policyd/patience.c \
	policyd/patience.h \
	policyd/report.c \
	policyd/report.h \
	policyd/report_impl.h \
	policyd/report_deeds.c \
	policyd/report_jobs.c \
	policyd/report_sql.c \
	policyd/report_teams.c \
	policyd/report_usage.c \
	policyd/report_waits.c \
	policyd/report_wastage.c \
	policyd/report_workload.c \
	policyd/resize.c \
	policyd/resize.h \
	policyd/shrink.c \
	policyd/shrink.h \
	policyd/slurm_api.h \
	policyd/slurm_facts.c \
	policyd/slurm_facts.h \
	policyd/slurm_helper.c \
	policyd/slurm_helper.h \
	policyd/slurm_operators.c \
	policyd/slurm_operators.h \
	policyd/slurm_requeue.c \
	policyd/slurm_requeue.h \
	policyd/slurm_size.c \
	policyd/slurm_size.h \
	policyd/server.c \
	policyd/server.h \
	policyd/server_conn.c \
	policyd/server_conn.h \
	policyd/server_cred.c \
	policyd/server_verb.c \
	policyd/server_verb.h \
	policyd/store.c \
	policyd/store.h \
	policyd/store_ledger.c \
	policyd/store_rows.c \
	policyd/store_said.c \
	policyd/store_said.h \
	policyd/store_sql.h \
	policyd/users.c \
	policyd/users.h \
	policyd/verbs.c \
	policyd/verbs.h \
	policyd/verbs_conf.c \
	policyd/verbs_job.c \
	policyd/verbs_job.h \
	policyd/verbs_job_phase.c \
	policyd/verbs_job_say.c \
	policyd/verbs_job_yield.c \
	policyd/verbs_node.c \
	policyd/verbs_operate.c \
	policyd/verbs_report.c \
	policyd/verbs_preempt.c \
	policyd/verbs_resume.c \
	policyd/verbs_show.c \
	policyd/verbs_why.c \
	policyd/where.c \
	policyd/where.h \
	policyd/world.c \
	policyd/world.h \
	policyd/world_event.c \
	policyd/world_impl.h \
	policyd/world_known.c \
	policyd/worker.c \
	policyd/worker.h \
	policyd/worker_slurm.c

sbin_PROGRAMS += policyd/egs-policyd
policyd_egs_policyd_SOURCES = policyd/egs-policyd.c
policyd_egs_policyd_LDADD = policyd/libegs-policyd.a $(LDADD) \
	$(SQLITE_LIBS) $(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)
