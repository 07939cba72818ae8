# t - tests: t/*.t by prove, t/unit/*.c as programs that print TAP
#
# A unit program is two lines here and nothing elsewhere:
#   check_PROGRAMS += t/unit/NAME
#   t_unit_NAME_SOURCES = t/unit/NAME.c
# It is linked with both libraries.

tests: $(check_PROGRAMS)
.PHONY: tests

LDADD = policyd/wire/libegs-wire.a policyd/core/libegs-core.a

check_PROGRAMS += t/unit/account
t_unit_account_SOURCES = t/unit/account.c
t_unit_account_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS)

check_PROGRAMS += t/unit/addresses
t_unit_addresses_SOURCES = t/unit/addresses.c
t_unit_addresses_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS) \
	$(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

check_PROGRAMS += t/unit/again
t_unit_again_SOURCES = t/unit/again.c plugins/spank/read_line.c

check_PROGRAMS += t/unit/cmd_options
t_unit_cmd_options_SOURCES = t/unit/cmd_options.c
t_unit_cmd_options_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/cmd_when
t_unit_cmd_when_SOURCES = t/unit/cmd_when.c
t_unit_cmd_when_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/doctor
t_unit_doctor_SOURCES = t/unit/doctor.c
t_unit_doctor_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/conf_checks
t_unit_conf_checks_SOURCES = t/unit/conf_checks.c

check_PROGRAMS += t/unit/conf_fuzz
t_unit_conf_fuzz_SOURCES = t/unit/conf_fuzz.c

check_PROGRAMS += t/unit/conf_hostile
t_unit_conf_hostile_SOURCES = t/unit/conf_hostile.c

check_PROGRAMS += t/unit/conf_keys
t_unit_conf_keys_SOURCES = t/unit/conf_keys.c

check_PROGRAMS += t/unit/conf_lines
t_unit_conf_lines_SOURCES = t/unit/conf_lines.c

check_PROGRAMS += t/unit/conf_usage
t_unit_conf_usage_SOURCES = t/unit/conf_usage.c

check_PROGRAMS += t/unit/conf_values
t_unit_conf_values_SOURCES = t/unit/conf_values.c

check_PROGRAMS += t/unit/ask
t_unit_ask_SOURCES = t/unit/ask.c plugins/job_submit/hint_sources.c \
	plugins/job_submit/comment_json.c

check_PROGRAMS += t/unit/bell
t_unit_bell_SOURCES = t/unit/bell.c

check_PROGRAMS += t/unit/cards
t_unit_cards_SOURCES = t/unit/cards.c $(egs_cards_sources)

check_PROGRAMS += t/unit/check
t_unit_check_SOURCES = t/unit/check.c plugins/job_submit/check.c \
	plugins/shared/gpu_request_text.c

check_PROGRAMS += t/unit/core_claim
t_unit_core_claim_SOURCES = t/unit/core_claim.c

check_PROGRAMS += t/unit/core_ident
t_unit_core_ident_SOURCES = t/unit/core_ident.c

check_PROGRAMS += t/unit/core_interval
t_unit_core_interval_SOURCES = t/unit/core_interval.c

check_PROGRAMS += t/unit/core_ledger
t_unit_core_ledger_SOURCES = t/unit/core_ledger.c

check_PROGRAMS += t/unit/core_managed
t_unit_core_managed_SOURCES = t/unit/core_managed.c

check_PROGRAMS += t/unit/core_past
t_unit_core_past_SOURCES = t/unit/core_past.c

check_PROGRAMS += t/unit/core_policy
t_unit_core_policy_SOURCES = t/unit/core_policy.c

check_PROGRAMS += t/unit/core_fewer
t_unit_core_fewer_SOURCES = t/unit/core_fewer.c

check_PROGRAMS += t/unit/core_protocol
t_unit_core_protocol_SOURCES = t/unit/core_protocol.c

check_PROGRAMS += t/unit/core_spare
t_unit_core_spare_SOURCES = t/unit/core_spare.c

check_PROGRAMS += t/unit/core_rank
t_unit_core_rank_SOURCES = t/unit/core_rank.c

check_PROGRAMS += t/unit/core_reload
t_unit_core_reload_SOURCES = t/unit/core_reload.c

check_PROGRAMS += t/unit/core_usage
t_unit_core_usage_SOURCES = t/unit/core_usage.c

check_PROGRAMS += t/unit/core_victims
t_unit_core_victims_SOURCES = t/unit/core_victims.c

check_PROGRAMS += t/unit/core_wastage
t_unit_core_wastage_SOURCES = t/unit/core_wastage.c

check_PROGRAMS += t/unit/core_who
t_unit_core_who_SOURCES = t/unit/core_who.c

check_PROGRAMS += t/unit/core_why
t_unit_core_why_SOURCES = t/unit/core_why.c

check_PROGRAMS += t/unit/cred
t_unit_cred_SOURCES = t/unit/cred.c
t_unit_cred_LDADD = $(LDADD) $(MUNGE_LIBS)

check_PROGRAMS += t/unit/err
t_unit_err_SOURCES = t/unit/err.c

check_PROGRAMS += t/unit/facts
t_unit_facts_SOURCES = t/unit/facts.c
t_unit_facts_LDADD = policyd/libegs-policyd.a $(LDADD)

check_PROGRAMS += t/unit/flat
t_unit_flat_SOURCES = t/unit/flat.c
t_unit_flat_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/hint
t_unit_hint_SOURCES = t/unit/hint.c

check_PROGRAMS += t/unit/hint_fuzz
t_unit_hint_fuzz_SOURCES = t/unit/hint_fuzz.c

check_PROGRAMS += t/unit/idmap
t_unit_idmap_SOURCES = t/unit/idmap.c
t_unit_idmap_LDADD = policyd/libegs-policyd.a $(LDADD)

check_PROGRAMS += t/unit/libegs
t_unit_libegs_SOURCES = t/unit/libegs.c
t_unit_libegs_LDADD = libegs/libegs.a

check_PROGRAMS += t/unit/loop
t_unit_loop_SOURCES = t/unit/loop.c

check_PROGRAMS += t/unit/msg
t_unit_msg_SOURCES = t/unit/msg.c
t_unit_msg_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/nodes
t_unit_nodes_SOURCES = t/unit/nodes.c
t_unit_nodes_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS) \
	$(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

check_PROGRAMS += t/unit/place
t_unit_place_SOURCES = t/unit/place.c
t_unit_place_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/remark
t_unit_remark_SOURCES = t/unit/remark.c

check_PROGRAMS += t/unit/rundir
t_unit_rundir_SOURCES = t/unit/rundir.c $(egs_rundir_sources) \
	noded/rundir_files.c

check_PROGRAMS += t/unit/server
t_unit_server_SOURCES = t/unit/server.c
t_unit_server_LDADD = policyd/libegs-policyd.a $(LDADD) $(JSONC_LIBS) \
	$(MUNGE_LIBS)

check_PROGRAMS += t/unit/server_tcp
t_unit_server_tcp_SOURCES = t/unit/server_tcp.c
t_unit_server_tcp_LDADD = $(t_unit_server_LDADD)

check_PROGRAMS += t/unit/slurm_conf
t_unit_slurm_conf_SOURCES = t/unit/slurm_conf.c

check_PROGRAMS += t/unit/saver
t_unit_saver_SOURCES = t/unit/saver.c noded/job_processes.c \
	noded/saver.c

check_PROGRAMS += t/unit/spool
t_unit_spool_SOURCES = t/unit/spool.c noded/spool.c
t_unit_spool_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/stamp
t_unit_stamp_SOURCES = t/unit/stamp.c

check_PROGRAMS += t/unit/store
t_unit_store_SOURCES = t/unit/store.c
t_unit_store_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS)

check_PROGRAMS += t/unit/store_ledger
t_unit_store_ledger_SOURCES = t/unit/store_ledger.c
t_unit_store_ledger_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS)

check_PROGRAMS += t/unit/submit_fuzz
t_unit_submit_fuzz_SOURCES = t/unit/submit_fuzz.c plugins/job_submit/hint_sources.c \
	plugins/job_submit/check.c plugins/job_submit/comment_json.c \
	plugins/shared/gpu_request_text.c

check_PROGRAMS += t/unit/table
t_unit_table_SOURCES = t/unit/table.c

check_PROGRAMS += t/unit/daemon_rank
t_unit_daemon_rank_SOURCES = t/unit/daemon_rank.c
t_unit_daemon_rank_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS) \
	$(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

check_PROGRAMS += t/unit/levels
t_unit_levels_SOURCES = t/unit/levels.c
t_unit_levels_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS) \
	$(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

check_PROGRAMS += t/unit/verbs_job
t_unit_verbs_job_SOURCES = t/unit/verbs_job.c
t_unit_verbs_job_LDADD = policyd/libegs-policyd.a $(LDADD) $(SQLITE_LIBS) \
	$(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

check_PROGRAMS += t/unit/where
t_unit_where_SOURCES = t/unit/where.c
t_unit_where_LDADD = policyd/libegs-policyd.a $(LDADD) $(SLURM_LIBS)

check_PROGRAMS += t/unit/world
t_unit_world_SOURCES = t/unit/world.c
t_unit_world_LDADD = policyd/libegs-policyd.a $(LDADD)

check_PROGRAMS += t/unit/worker
t_unit_worker_SOURCES = t/unit/worker.c
t_unit_worker_LDADD = policyd/libegs-policyd.a $(LDADD)

check_PROGRAMS += t/unit/worker_slurm
t_unit_worker_slurm_SOURCES = t/unit/worker_slurm.c
t_unit_worker_slurm_LDADD = policyd/libegs-policyd.a $(LDADD) $(SLURM_LIBS)

EXTRA_DIST += t/.clang-tidy $(wildcard $(top_srcdir)/t/*.t) \
	$(wildcard $(top_srcdir)/t/lib/*) \
	$(wildcard $(top_srcdir)/t/jobs/*) \
	$(wildcard $(top_srcdir)/t/model/*)
