# policyd - egs-policyd; each room is a library, so that unit programs link it
#
# A room may use the rooms after it in egs_policyd_rooms (HACKING.md has the
# list of what may include what).

egs_policyd_rooms = policyd/requests/libegs-requests.a \
	policyd/metrics/libegs-metrics.a \
	policyd/daemon/libegs-daemon.a policyd/server/libegs-server.a \
	policyd/report/libegs-report.a \
	policyd/accounting/libegs-accounting.a \
	policyd/cluster/libegs-cluster.a policyd/store/libegs-store.a \
	policyd/slurm/libegs-slurm.a policyd/policy/libegs-policy.a \
	policyd/health/libegs-health.a policyd/predict/libegs-predict.a
egs_policyd_libs = $(egs_policyd_rooms) $(egs_common_libs) \
	$(SQLITE_LIBS) $(JSONC_LIBS) $(MUNGE_LIBS) $(SLURM_LIBS)

noinst_LIBRARIES += policyd/policy/libegs-policy.a
policyd_policy_libegs_policy_a_SOURCES = \
	policyd/policy/wish.c \
	policyd/policy/claims.c \
	policyd/policy/deadline.c \
	policyd/policy/event.h \
	policyd/policy/find_victims.c \
	policyd/policy/idle.c \
	policyd/policy/job.c \
	policyd/policy/jobs.c \
	policyd/policy/jobs.h \
	policyd/policy/loan_book.c \
	policyd/policy/loan_book.h \
	policyd/policy/loans.c \
	policyd/policy/pending.c \
	policyd/policy/policy.c \
	policyd/policy/policy.h \
	policyd/policy/policy_internal.h \
	policyd/policy/preempt.c \
	policyd/policy/query.c \
	policyd/policy/rank.c \
	policyd/policy/reload.c \
	policyd/policy/requester.c \
	policyd/policy/restore.c \
	policyd/policy/shrink.c \
	policyd/policy/usage.c \
	policyd/policy/usage.h \
	policyd/policy/why.c \
	policyd/policy/why.h \
	policyd/policy/withdraw.c

noinst_LIBRARIES += policyd/health/libegs-health.a
policyd_health_libegs_health_a_SOURCES = \
	policyd/health/health.c \
	policyd/health/health.h \
	policyd/health/health_internal.h \
	policyd/health/health_rules.c \
	policyd/health/xid.c \
	policyd/health/xid.h

noinst_LIBRARIES += policyd/predict/libegs-predict.a
policyd_predict_libegs_predict_a_SOURCES = \
	policyd/predict/classes.c \
	policyd/predict/classes.h \
	policyd/predict/histogram.c \
	policyd/predict/histogram.h \
	policyd/predict/predict.c \
	policyd/predict/predict.h

noinst_LIBRARIES += policyd/slurm/libegs-slurm.a
policyd_slurm_libegs_slurm_a_SOURCES = \
	policyd/slurm/compat.h \
	policyd/slurm/drain_node.c \
	policyd/slurm/drain_node.h \
	policyd/slurm/facts.c \
	policyd/slurm/facts.h \
	policyd/slurm/grow_job.c \
	policyd/slurm/grow_job.h \
	policyd/slurm/hold_job.c \
	policyd/slurm/hold_job.h \
	policyd/slurm/node_filter.c \
	policyd/slurm/node_filter.h \
	policyd/slurm/read_jobs.c \
	policyd/slurm/read_jobs.h \
	policyd/slurm/release_nodes.c \
	policyd/slurm/release_nodes.h \
	policyd/slurm/resize_job.c \
	policyd/slurm/resize_job.h \
	policyd/slurm/user_cache.c \
	policyd/slurm/user_cache.h \
	policyd/slurm/worker.c \
	policyd/slurm/worker.h \
	policyd/slurm/worker_internal.h \
	policyd/slurm/worker_main.c \
	policyd/slurm/worker_queue.c \
	policyd/slurm/worker_queue.h

noinst_LIBRARIES += policyd/store/libegs-store.a
policyd_store_libegs_store_a_SOURCES = \
	policyd/store/backup.c \
	policyd/store/backup.h \
	policyd/store/ended_jobs.c \
	policyd/store/ended_jobs.h \
	policyd/store/gpu_use.c \
	policyd/store/gpu_use.h \
	policyd/store/history.c \
	policyd/store/history.h \
	policyd/store/remediation.c \
	policyd/store/remediation.h \
	policyd/store/store.c \
	policyd/store/store.h \
	policyd/store/store_messages.c \
	policyd/store/store_messages.h \
	policyd/store/store_observed.c \
	policyd/store/store_preemptions.c \
	policyd/store/store_rows.c \
	policyd/store/store_sql.c \
	policyd/store/store_sql.h \
	policyd/store/store_tables.c \
	policyd/store/wait_classes.c \
	policyd/store/wait_classes.h

noinst_LIBRARIES += policyd/cluster/libegs-cluster.a
policyd_cluster_libegs_cluster_a_SOURCES = \
	policyd/cluster/cluster.c \
	policyd/cluster/cluster.h \
	policyd/cluster/cluster_internal.h \
	policyd/cluster/dependency.c \
	policyd/cluster/dependency.h \
	policyd/cluster/job_event.c \
	policyd/cluster/query.c

noinst_LIBRARIES += policyd/accounting/libegs-accounting.a
policyd_accounting_libegs_accounting_a_SOURCES = \
	policyd/accounting/account.c \
	policyd/accounting/account.h \
	policyd/accounting/account_internal.h \
	policyd/accounting/account_names.c \
	policyd/accounting/account_write.c \
	policyd/accounting/import_sacct.c \
	policyd/accounting/import_sacct.h \
	policyd/accounting/interval.c \
	policyd/accounting/interval.h \
	policyd/accounting/wastage.c \
	policyd/accounting/wastage.h

noinst_LIBRARIES += policyd/report/libegs-report.a
policyd_report_libegs_report_a_SOURCES = \
	policyd/report/efficiency.c \
	policyd/report/estimates.c \
	policyd/report/idle.c \
	policyd/report/jobs.c \
	policyd/report/life.c \
	policyd/report/observed.c \
	policyd/report/preemptions.c \
	policyd/report/remediation.c \
	policyd/report/report.c \
	policyd/report/report.h \
	policyd/report/report_internal.h \
	policyd/report/samples.c \
	policyd/report/sql.c \
	policyd/report/teams.c \
	policyd/report/usage.c \
	policyd/report/waits.c \
	policyd/report/wastage.c \
	policyd/report/workload.c

noinst_LIBRARIES += policyd/metrics/libegs-metrics.a
policyd_metrics_libegs_metrics_a_SOURCES = \
	policyd/metrics/metrics.c \
	policyd/metrics/metrics.h \
	policyd/metrics/metrics_internal.h \
	policyd/metrics/metrics_text.c

noinst_LIBRARIES += policyd/server/libegs-server.a
policyd_server_libegs_server_a_SOURCES = \
	policyd/server/authenticate.c \
	policyd/server/connection.c \
	policyd/server/connection.h \
	policyd/server/dispatch.c \
	policyd/server/dispatch.h \
	policyd/server/munge_helper.c \
	policyd/server/munge_helper.h \
	policyd/server/rate_limit.c \
	policyd/server/rate_limit.h \
	policyd/server/seal_answer.c \
	policyd/server/server.c \
	policyd/server/server.h \
	policyd/server/share.c \
	policyd/server/share.h

noinst_LIBRARIES += policyd/daemon/libegs-daemon.a
policyd_daemon_libegs_daemon_a_SOURCES = \
	policyd/daemon/account_jobs.c \
	policyd/daemon/act.c \
	policyd/daemon/act_record.c \
	policyd/daemon/act_recover.c \
	policyd/daemon/conf.c \
	policyd/daemon/daemon.c \
	policyd/daemon/daemon.h \
	policyd/daemon/doorbell.c \
	policyd/daemon/fence.c \
	policyd/daemon/idle_levels.c \
	policyd/daemon/notify.c \
	policyd/daemon/notify.h \
	policyd/daemon/observe.c \
	policyd/daemon/observe.h \
	policyd/daemon/open_state.c \
	policyd/daemon/operators.c \
	policyd/daemon/operators.h \
	policyd/daemon/part.c \
	policyd/daemon/part.h \
	policyd/daemon/poll.c \
	policyd/daemon/publish_jobs.c \
	policyd/daemon/publish_nodes.c \
	policyd/daemon/reload.c \
	policyd/daemon/resume_info.c \
	policyd/daemon/save_jobs.c \
	policyd/daemon/sd_notify.c \
	policyd/daemon/sd_notify.h \
	policyd/daemon/touch_jobs.c \
	policyd/daemon/transaction.c

noinst_LIBRARIES += policyd/requests/libegs-requests.a
policyd_requests_libegs_requests_a_SOURCES = \
	policyd/requests/abort_targets.c \
	policyd/requests/abort_targets.h \
	policyd/requests/gpu_advice.c \
	policyd/requests/gpu_advice.h \
	policyd/requests/gpu_samples.c \
	policyd/requests/gpu_samples.h \
	policyd/requests/gpu_sums.c \
	policyd/requests/job_message.c \
	policyd/requests/job_message.h \
	policyd/requests/job_phase.c \
	policyd/requests/job_report.c \
	policyd/requests/job_resume.c \
	policyd/requests/job_yield.c \
	policyd/requests/metrics_count.c \
	policyd/requests/metrics_file.c \
	policyd/requests/metrics_file.h \
	policyd/requests/metrics_now.c \
	policyd/requests/metrics_reason.c \
	policyd/requests/metrics_table.c \
	policyd/requests/node.c \
	policyd/requests/node.h \
	policyd/requests/node_addresses.c \
	policyd/requests/node_addresses.h \
	policyd/requests/node_gpu_users.c \
	policyd/requests/node_relay.c \
	policyd/requests/node_rundir.c \
	policyd/requests/op_abort.c \
	policyd/requests/op_fence.c \
	policyd/requests/op_preempt.c \
	policyd/requests/op_shrink.c \
	policyd/requests/op_shrink.h \
	policyd/requests/op_update.c \
	policyd/requests/parts.c \
	policyd/requests/predict_start.c \
	policyd/requests/predictor.c \
	policyd/requests/predictor.h \
	policyd/requests/private_data.c \
	policyd/requests/private_data.h \
	policyd/requests/reclaim.c \
	policyd/requests/remediate.c \
	policyd/requests/remediate.h \
	policyd/requests/remediate_cap.c \
	policyd/requests/remediate_drain.c \
	policyd/requests/remediate_rows.c \
	policyd/requests/remediate_run.c \
	policyd/requests/remediate_text.c \
	policyd/requests/report.c \
	policyd/requests/requests.c \
	policyd/requests/requests.h \
	policyd/requests/resize.c \
	policyd/requests/resize_locks.c \
	policyd/requests/resize_locks.h \
	policyd/requests/resize_refusal.c \
	policyd/requests/resize_refusal.h \
	policyd/requests/resize_unlock.c \
	policyd/requests/resize_unlock.h \
	policyd/requests/resize.h \
	policyd/requests/show.c \
	policyd/requests/show_conf.c \
	policyd/requests/show_gpus.c \
	policyd/requests/show_list.c \
	policyd/requests/show_map.c \
	policyd/requests/show_waiting.c \
	policyd/requests/why.c

sbin_PROGRAMS += policyd/egs-policyd
policyd_egs_policyd_SOURCES = policyd/egs-policyd.c
policyd_egs_policyd_LDADD = $(egs_policyd_libs)

# bench-core: the cost of a full pass and of one arrival, beside a sort
EXTRA_PROGRAMS = t/bench/core
t_bench_core_SOURCES = t/bench/core.c
t_bench_core_LDADD = $(egs_policyd_libs)
CLEANFILES += t/bench/core$(EXEEXT)

bench-core: t/bench/core$(EXEEXT)
	t/bench/core$(EXEEXT)
.PHONY: bench-core
