# t - tests: t/*.t by prove, t/unit/*.c as programs that print TAP
#
# A unit program is two lines here and nothing elsewhere:
#   check_PROGRAMS += t/unit/NAME
#   t_unit_NAME_SOURCES = t/unit/NAME.c
# It is linked with the libraries of common.

tests: $(check_PROGRAMS)
.PHONY: tests

check_PROGRAMS += t/unit/abort
t_unit_abort_SOURCES = t/unit/abort.c
t_unit_abort_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/account
t_unit_account_SOURCES = t/unit/account.c
t_unit_account_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/accounting_interval
t_unit_accounting_interval_SOURCES = t/unit/accounting_interval.c
t_unit_accounting_interval_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/accounting_wastage
t_unit_accounting_wastage_SOURCES = t/unit/accounting_wastage.c
t_unit_accounting_wastage_LDADD = $(egs_policyd_libs)


check_PROGRAMS += t/unit/attribute_ended
t_unit_attribute_ended_SOURCES = t/unit/attribute_ended.c \
	noded/attribute_ended.c noded/tenures.c
t_unit_attribute_ended_LDADD = $(egs_node_libs) $(JSONC_LIBS)

check_PROGRAMS += t/unit/base
t_unit_base_SOURCES = t/unit/base.c

check_PROGRAMS += t/unit/cluster
t_unit_cluster_SOURCES = t/unit/cluster.c
t_unit_cluster_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/cluster_names
t_unit_cluster_names_SOURCES = t/unit/cluster_names.c
t_unit_cluster_names_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/cluster_nodes
t_unit_cluster_nodes_SOURCES = t/unit/cluster_nodes.c
t_unit_cluster_nodes_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/cmd_options
t_unit_cmd_options_SOURCES = t/unit/cmd_options.c
t_unit_cmd_options_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/listing
t_unit_listing_SOURCES = t/unit/listing.c
t_unit_listing_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/conf_checks
t_unit_conf_checks_SOURCES = t/unit/conf_checks.c

check_PROGRAMS += t/unit/conf_fuzz
t_unit_conf_fuzz_SOURCES = t/unit/conf_fuzz.c

check_PROGRAMS += t/unit/conf_hostile
t_unit_conf_hostile_SOURCES = t/unit/conf_hostile.c

check_PROGRAMS += t/unit/conf_keys
t_unit_conf_keys_SOURCES = t/unit/conf_keys.c

check_PROGRAMS += t/unit/conf_judge
t_unit_conf_judge_SOURCES = t/unit/conf_judge.c

check_PROGRAMS += t/unit/conf_lines
t_unit_conf_lines_SOURCES = t/unit/conf_lines.c

check_PROGRAMS += t/unit/conf_usage
t_unit_conf_usage_SOURCES = t/unit/conf_usage.c

check_PROGRAMS += t/unit/conf_values
t_unit_conf_values_SOURCES = t/unit/conf_values.c

check_PROGRAMS += t/unit/cred
t_unit_cred_SOURCES = t/unit/cred.c
t_unit_cred_LDADD = $(LDADD) $(MUNGE_LIBS)

check_PROGRAMS += t/unit/dcgm_map
t_unit_dcgm_map_SOURCES = t/unit/dcgm_map.c noded/dcgm_map.c

check_PROGRAMS += t/unit/dependency
t_unit_dependency_SOURCES = t/unit/dependency.c
t_unit_dependency_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/doctor
t_unit_doctor_SOURCES = t/unit/doctor.c
t_unit_doctor_LDADD = cmd/libegs-cmd.a $(LDADD) $(JSONC_LIBS) $(MUNGE_LIBS)

check_PROGRAMS += t/unit/doorbell
t_unit_doorbell_SOURCES = t/unit/doorbell.c

check_PROGRAMS += t/unit/err
t_unit_err_SOURCES = t/unit/err.c

check_PROGRAMS += t/unit/facts
t_unit_facts_SOURCES = t/unit/facts.c
t_unit_facts_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/fdinfo
t_unit_fdinfo_SOURCES = t/unit/fdinfo.c
t_unit_fdinfo_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/find_daemon
t_unit_find_daemon_SOURCES = t/unit/find_daemon.c
t_unit_find_daemon_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/flat_json
t_unit_flat_json_SOURCES = t/unit/flat_json.c
t_unit_flat_json_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/gpu_movers
t_unit_gpu_movers_SOURCES = t/unit/gpu_movers.c
t_unit_gpu_movers_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/gpu_locks
t_unit_gpu_locks_SOURCES = t/unit/gpu_locks.c
t_unit_gpu_locks_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/gpu_hiders
t_unit_gpu_hiders_SOURCES = t/unit/gpu_hiders.c
t_unit_gpu_hiders_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/gpu_owners
t_unit_gpu_owners_SOURCES = t/unit/gpu_owners.c
t_unit_gpu_owners_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/gpu_samples
t_unit_gpu_samples_SOURCES = t/unit/gpu_samples.c
t_unit_gpu_samples_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/notify
t_unit_notify_SOURCES = t/unit/notify.c
t_unit_notify_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/predict
t_unit_predict_SOURCES = t/unit/predict.c
t_unit_predict_LDADD = policyd/predict/libegs-predict.a $(egs_common_libs)

check_PROGRAMS += t/unit/predictor
t_unit_predictor_SOURCES = t/unit/predictor.c
t_unit_predictor_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/program
t_unit_program_SOURCES = t/unit/program.c

# The scripted driver is in the program itself.
scripted_driver = t/lib/fake/nvml.c \
	noded/nvml_accounting.c \
	noded/nvml_api.c \
	noded/nvml_cap.c \
	noded/nvml_gpm.c \
	noded/nvml_session.c \
	noded/nvml_values.c

check_PROGRAMS += t/unit/nvml_cap
t_unit_nvml_cap_SOURCES = t/unit/nvml_cap.c $(scripted_driver)
t_unit_nvml_cap_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_unit_nvml_cap_LDADD = $(egs_node_libs) $(JSONC_LIBS)

check_PROGRAMS += t/unit/gpu_sampler
t_unit_gpu_sampler_SOURCES = t/unit/gpu_sampler.c noded/gpu_sampler.c \
	$(scripted_driver)
t_unit_gpu_sampler_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_unit_gpu_sampler_LDADD = $(egs_node_libs) $(JSONC_LIBS)

check_PROGRAMS += t/unit/gpu_sums
t_unit_gpu_sums_SOURCES = t/unit/gpu_sums.c
t_unit_gpu_sums_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/gpu_use
t_unit_gpu_use_SOURCES = t/unit/gpu_use.c
t_unit_gpu_use_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/tenures
t_unit_tenures_SOURCES = t/unit/tenures.c noded/tenures.c

check_PROGRAMS += t/unit/nvml_session
t_unit_nvml_session_SOURCES = t/unit/nvml_session.c $(scripted_driver)
t_unit_nvml_session_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_unit_nvml_session_LDADD = $(egs_node_libs) $(JSONC_LIBS)

check_PROGRAMS += t/unit/gpu_users
t_unit_gpu_users_SOURCES = t/unit/gpu_users.c
t_unit_gpu_users_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/gpus
t_unit_gpus_SOURCES = t/unit/gpus.c
t_unit_gpus_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/health
t_unit_health_SOURCES = t/unit/health.c
t_unit_health_LDADD = policyd/health/libegs-health.a $(egs_common_libs)

check_PROGRAMS += t/unit/hint
t_unit_hint_SOURCES = t/unit/hint.c

check_PROGRAMS += t/unit/hint_fuzz
t_unit_hint_fuzz_SOURCES = t/unit/hint_fuzz.c

check_PROGRAMS += t/unit/hint_sources
t_unit_hint_sources_SOURCES = t/unit/hint_sources.c plugins/job_submit/hint_sources.c

check_PROGRAMS += t/unit/idle_levels
t_unit_idle_levels_SOURCES = t/unit/idle_levels.c
t_unit_idle_levels_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/hostlist
t_unit_hostlist_SOURCES = t/unit/hostlist.c

check_PROGRAMS += t/unit/idmap
t_unit_idmap_SOURCES = t/unit/idmap.c
t_unit_idmap_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/job_message
t_unit_job_message_SOURCES = t/unit/job_message.c
t_unit_job_message_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/libegs
t_unit_libegs_SOURCES = t/unit/libegs.c
t_unit_libegs_LDADD = libegs/libegs.a

check_PROGRAMS += t/unit/lock_gpus
t_unit_lock_gpus_SOURCES = t/unit/lock_gpus.c noded/lock_gpus.c
t_unit_lock_gpus_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/loop
t_unit_loop_SOURCES = t/unit/loop.c

check_PROGRAMS += t/unit/metrics
t_unit_metrics_SOURCES = t/unit/metrics.c
t_unit_metrics_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/metrics_file
t_unit_metrics_file_SOURCES = t/unit/metrics_file.c
t_unit_metrics_file_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/top
t_unit_top_SOURCES = t/unit/top.c
t_unit_top_LDADD = cmd/libegs-cmd.a $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/msg
t_unit_msg_SOURCES = t/unit/msg.c
t_unit_msg_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/node_addresses
t_unit_node_addresses_SOURCES = t/unit/node_addresses.c
t_unit_node_addresses_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/node_filter
t_unit_node_filter_SOURCES = t/unit/node_filter.c
t_unit_node_filter_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/node_requests
t_unit_node_requests_SOURCES = t/unit/node_requests.c
t_unit_node_requests_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/parse_time
t_unit_parse_time_SOURCES = t/unit/parse_time.c
t_unit_parse_time_LDADD = cmd/libegs-cmd.a $(LDADD)

check_PROGRAMS += t/unit/policy
t_unit_policy_SOURCES = t/unit/policy.c
t_unit_policy_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_deadline
t_unit_policy_deadline_SOURCES = t/unit/policy_deadline.c
t_unit_policy_deadline_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_limits
t_unit_policy_limits_SOURCES = t/unit/policy_limits.c
t_unit_policy_limits_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_idle
t_unit_policy_idle_SOURCES = t/unit/policy_idle.c
t_unit_policy_idle_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_loan_book
t_unit_policy_loan_book_SOURCES = t/unit/policy_loan_book.c
t_unit_policy_loan_book_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_preempt
t_unit_policy_preempt_SOURCES = t/unit/policy_preempt.c
t_unit_policy_preempt_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_rank
t_unit_policy_rank_SOURCES = t/unit/policy_rank.c
t_unit_policy_rank_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_reload
t_unit_policy_reload_SOURCES = t/unit/policy_reload.c
t_unit_policy_reload_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_restore
t_unit_policy_restore_SOURCES = t/unit/policy_restore.c
t_unit_policy_restore_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_shrink
t_unit_policy_shrink_SOURCES = t/unit/policy_shrink.c
t_unit_policy_shrink_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_usage
t_unit_policy_usage_SOURCES = t/unit/policy_usage.c
t_unit_policy_usage_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_victims
t_unit_policy_victims_SOURCES = t/unit/policy_victims.c
t_unit_policy_victims_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_why
t_unit_policy_why_SOURCES = t/unit/policy_why.c
t_unit_policy_why_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_wish
t_unit_policy_wish_SOURCES = t/unit/policy_wish.c
t_unit_policy_wish_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/policy_withdraw
t_unit_policy_withdraw_SOURCES = t/unit/policy_withdraw.c
t_unit_policy_withdraw_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rate_limit
t_unit_rate_limit_SOURCES = t/unit/rate_limit.c
t_unit_rate_limit_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/report_readers
t_unit_report_readers_SOURCES = t/unit/report_readers.c
t_unit_report_readers_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/reclaim
t_unit_reclaim_SOURCES = t/unit/reclaim.c
t_unit_reclaim_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/remediate
t_unit_remediate_SOURCES = t/unit/remediate.c
t_unit_remediate_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/report_gpu_users
t_unit_report_gpu_users_SOURCES = t/unit/report_gpu_users.c \
	noded/lock_gpus.c noded/report_gpu_users.c noded/timed_child.c \
	noded/user_memory.c
t_unit_report_gpu_users_LDADD = $(egs_node_libs) $(JSONC_LIBS)

check_PROGRAMS += t/unit/resize_locks
t_unit_resize_locks_SOURCES = t/unit/resize_locks.c \
	policyd/requests/resize_locks.c

check_PROGRAMS += t/unit/resume_info
t_unit_resume_info_SOURCES = t/unit/resume_info.c plugins/spank/read_line.c

check_PROGRAMS += t/unit/rules_claim
t_unit_rules_claim_SOURCES = t/unit/rules_claim.c
t_unit_rules_claim_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rules_identity
t_unit_rules_identity_SOURCES = t/unit/rules_identity.c
t_unit_rules_identity_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rules_standing
t_unit_rules_standing_SOURCES = t/unit/rules_standing.c
t_unit_rules_standing_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rules_take
t_unit_rules_take_SOURCES = t/unit/rules_take.c
t_unit_rules_take_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rules_victims
t_unit_rules_victims_SOURCES = t/unit/rules_victims.c
t_unit_rules_victims_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/rundir
t_unit_rundir_SOURCES = t/unit/rundir.c noded/rundir_files.c
t_unit_rundir_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/rundir_owner
t_unit_rundir_owner_SOURCES = t/unit/rundir_owner.c
t_unit_rundir_owner_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/save_program
t_unit_save_program_SOURCES = t/unit/save_program.c
t_unit_save_program_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/saver
t_unit_saver_SOURCES = t/unit/saver.c noded/follow_process.c \
	noded/job_processes.c \
	noded/saver.c
t_unit_saver_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/sealed
t_unit_sealed_SOURCES = t/unit/sealed.c
t_unit_sealed_LDADD = $(LDADD) $(MUNGE_LIBS)

check_PROGRAMS += t/unit/server
t_unit_server_SOURCES = t/unit/server.c
t_unit_server_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/asks_for
t_unit_asks_for_SOURCES = t/unit/asks_for.c
t_unit_asks_for_LDADD = $(t_unit_server_LDADD)

check_PROGRAMS += t/unit/munge_helper
t_unit_munge_helper_SOURCES = t/unit/munge_helper.c
t_unit_munge_helper_LDADD = $(t_unit_server_LDADD)

check_PROGRAMS += t/unit/server_tcp
t_unit_server_tcp_SOURCES = t/unit/server_tcp.c
t_unit_server_tcp_LDADD = $(t_unit_server_LDADD)

check_PROGRAMS += t/unit/share
t_unit_share_SOURCES = t/unit/share.c
t_unit_share_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/slurm_conf
t_unit_slurm_conf_SOURCES = t/unit/slurm_conf.c

check_PROGRAMS += t/unit/spool
t_unit_spool_SOURCES = t/unit/spool.c noded/spool.c
t_unit_spool_LDADD = $(LDADD) $(JSONC_LIBS)

check_PROGRAMS += t/unit/stale_polls
t_unit_stale_polls_SOURCES = t/unit/stale_polls.c
t_unit_stale_polls_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/stamp
t_unit_stamp_SOURCES = t/unit/stamp.c

check_PROGRAMS += t/unit/stops
t_unit_stops_SOURCES = t/unit/stops.c
t_unit_stops_LDADD = $(egs_node_libs)

check_PROGRAMS += t/unit/store
t_unit_store_SOURCES = t/unit/store.c
t_unit_store_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/store_observed
t_unit_store_observed_SOURCES = t/unit/store_observed.c
t_unit_store_observed_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/store_preemptions
t_unit_store_preemptions_SOURCES = t/unit/store_preemptions.c
t_unit_store_preemptions_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/submit_check
t_unit_submit_check_SOURCES = t/unit/submit_check.c plugins/job_submit/check.c \
	plugins/shared/gpu_request_text.c

check_PROGRAMS += t/unit/submit_limits
t_unit_submit_limits_SOURCES = t/unit/submit_limits.c plugins/job_submit/check.c \
	plugins/shared/gpu_request_text.c

check_PROGRAMS += t/unit/submit_fuzz
t_unit_submit_fuzz_SOURCES = t/unit/submit_fuzz.c plugins/job_submit/hint_sources.c \
	plugins/job_submit/check.c \
	plugins/shared/gpu_request_text.c

check_PROGRAMS += t/unit/table
t_unit_table_SOURCES = t/unit/table.c

check_PROGRAMS += t/unit/publish_jobs
t_unit_publish_jobs_SOURCES = t/unit/publish_jobs.c
t_unit_publish_jobs_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/timed_child
t_unit_timed_child_SOURCES = t/unit/timed_child.c noded/timed_child.c

check_PROGRAMS += t/unit/touch_jobs
t_unit_touch_jobs_SOURCES = t/unit/touch_jobs.c
t_unit_touch_jobs_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/user_memory
t_unit_user_memory_SOURCES = t/unit/user_memory.c noded/user_memory.c

if HAVE_MICROHTTPD
check_PROGRAMS += t/unit/web_cache
t_unit_web_cache_SOURCES = t/unit/web_cache.c
t_unit_web_cache_CPPFLAGS = $(cmd_libegs_web_a_CPPFLAGS)
t_unit_web_cache_LDADD = $(cmd_web_egs_web_LDADD)
endif

check_PROGRAMS += t/unit/worker
t_unit_worker_SOURCES = t/unit/worker.c
t_unit_worker_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/worker_queue
t_unit_worker_queue_SOURCES = t/unit/worker_queue.c
t_unit_worker_queue_LDADD = $(egs_policyd_libs)

check_PROGRAMS += t/unit/worker_main
t_unit_worker_main_SOURCES = t/unit/worker_main.c
t_unit_worker_main_LDADD = $(egs_policyd_libs)

EXTRA_DIST += t/.clang-tidy t/README.md $(wildcard $(top_srcdir)/t/*.t) \
	$(wildcard $(top_srcdir)/t/lib/*/*) \
	$(wildcard $(top_srcdir)/t/jobs/*) \
	$(wildcard $(top_srcdir)/t/model/*)
