# common - what several processes link; each room is a library
#
# A room may use the rooms after it in egs_common_libs (HACKING.md has the list
# of what may include what).

egs_common_libs = common/ipc/libegs-ipc.a common/rules/libegs-rules.a \
	common/hint/libegs-hint.a common/conf/libegs-conf.a \
	common/base/libegs-base.a
egs_node_libs = common/node/libegs-node.a $(egs_common_libs)
LDADD = $(egs_common_libs)

noinst_LIBRARIES += common/base/libegs-base.a
common_base_libegs_base_a_SOURCES = \
	common/base/array.h \
	common/base/buf.c \
	common/base/buf.h \
	common/base/child.c \
	common/base/child.h \
	common/base/clock.c \
	common/base/clock.h \
	common/base/err.c \
	common/base/err.h \
	common/base/fd.c \
	common/base/fd.h \
	common/base/grow.c \
	common/base/grow.h \
	common/base/hash.h \
	common/base/hostlist.c \
	common/base/hostlist.h \
	common/base/idmap.c \
	common/base/idmap.h \
	common/base/intern.c \
	common/base/intern.h \
	common/base/list.c \
	common/base/list.h \
	common/base/log.c \
	common/base/log.h \
	common/base/loop.c \
	common/base/loop.h \
	common/base/program.c \
	common/base/program.h \
	common/base/read_file.c \
	common/base/read_file.h \
	common/base/suggest.c \
	common/base/suggest.h \
	common/base/text.c \
	common/base/text.h \
	common/base/utf8.c \
	common/base/utf8.h

noinst_LIBRARIES += common/conf/libegs-conf.a
common_conf_libegs_conf_a_SOURCES = \
	common/conf/apply.c \
	common/conf/check.c \
	common/conf/conf.c \
	common/conf/conf.h \
	common/conf/document.c \
	common/conf/internal.h \
	common/conf/judge.c \
	common/conf/judge.h \
	common/conf/keys.c \
	common/conf/keys.h \
	common/conf/kinds.c \
	common/conf/lex.c \
	common/conf/names.c \
	common/conf/names.h \
	common/conf/policy_conf.c \
	common/conf/policy_conf.h \
	common/conf/remedies.c \
	common/conf/remedies.h \
	common/conf/slurm_conf.c \
	common/conf/slurm_conf.h \
	common/conf/values.c \
	common/conf/values.h

noinst_LIBRARIES += common/hint/libegs-hint.a
common_hint_libegs_hint_a_SOURCES = \
	common/hint/comment_json.c \
	common/hint/comment_json.h \
	common/hint/gpu_count.c \
	common/hint/gpu_count.h \
	common/hint/hint.c \
	common/hint/hint.h \
	common/hint/hint_values.c \
	common/hint/hint_values.h \
	common/hint/resume_info.c \
	common/hint/resume_info.h \
	common/hint/save_signal.c \
	common/hint/save_signal.h \
	common/hint/stamp.c \
	common/hint/stamp.h

noinst_LIBRARIES += common/rules/libegs-rules.a
common_rules_libegs_rules_a_SOURCES = \
	common/rules/claim.c \
	common/rules/claim.h \
	common/rules/identity.c \
	common/rules/identity.h \
	common/rules/standing.c \
	common/rules/standing.h \
	common/rules/take_rule.c \
	common/rules/take_rule.h \
	common/rules/victims.c \
	common/rules/victims.h \
	common/rules/victims_node.c \
	common/rules/victims_node.h

noinst_LIBRARIES += common/ipc/libegs-ipc.a
common_ipc_libegs_ipc_a_SOURCES = \
	common/ipc/client.c \
	common/ipc/client.h \
	common/ipc/conf_msg.c \
	common/ipc/conf_msg.h \
	common/ipc/connect.c \
	common/ipc/connect.h \
	common/ipc/cred.c \
	common/ipc/cred.h \
	common/ipc/cred_seen.c \
	common/ipc/cred_seen.h \
	common/ipc/doorbell.c \
	common/ipc/doorbell.h \
	common/ipc/flat_json.c \
	common/ipc/flat_json.h \
	common/ipc/gpu_cap.c \
	common/ipc/gpu_cap.h \
	common/ipc/gpu_process.c \
	common/ipc/gpu_process.h \
	common/ipc/gpu_sample.c \
	common/ipc/gpu_sample.h \
	common/ipc/job_request.c \
	common/ipc/job_request.h \
	common/ipc/msg.c \
	common/ipc/msg.h \
	common/ipc/munge_call.c \
	common/ipc/munge_call.h \
	common/ipc/node_columns.h \
	common/ipc/packet.h \
	common/ipc/rundir_client.c \
	common/ipc/rundir_client.h \
	common/ipc/rundir_layout.h \
	common/ipc/sealed.c \
	common/ipc/sealed.h \
	common/ipc/table.c \
	common/ipc/table.h \
	common/ipc/table_guard.c \
	common/ipc/table_guard.h \
	common/ipc/table_layout.h \
	common/ipc/table_write.c \
	common/ipc/trust.c \
	common/ipc/trust.h

noinst_LIBRARIES += common/node/libegs-node.a
common_node_libegs_node_a_SOURCES = \
	common/node/fdinfo.c \
	common/node/fdinfo.h \
	common/node/device_groups.c \
	common/node/device_groups.h \
	common/node/gpu_locks.c \
	common/node/gpu_locks.h \
	common/node/gpu_search.c \
	common/node/gpu_search.h \
	common/node/gpu_users.c \
	common/node/gpu_users.h \
	common/node/gpu_users_scan.c \
	common/node/gpus.c \
	common/node/gpus.h \
	common/node/leftovers.c \
	common/node/leftovers.h \
	common/node/proc.c \
	common/node/proc.h \
	common/node/rundir.c \
	common/node/rundir.h \
	common/node/rundir_mount.c \
	common/node/rundir_remove.c \
	common/node/save_program.c \
	common/node/save_program.h \
	common/node/stepds.c \
	common/node/stepds.h \
	common/node/stops.c \
	common/node/stops.h \
	common/node/sub_uids.c \
	common/node/sub_uids.h
