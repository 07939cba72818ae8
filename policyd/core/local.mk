# policyd/core - the policy: pure C, no I/O, no clock, no log, no globals

noinst_LIBRARIES += policyd/core/libegs-core.a
policyd_core_libegs_core_a_SOURCES = \
	common/base/array.h \
	common/rules/claim.c \
	common/rules/claim.h \
	common/conf/policy_conf.c \
	common/conf/policy_conf.h \
	policyd/core/event.h \
	policyd/core/ident.c \
	policyd/core/ident.h \
	policyd/core/interval.c \
	policyd/core/interval.h \
	policyd/core/jobs.c \
	policyd/core/jobs.h \
	policyd/core/ledger.c \
	policyd/core/ledger.h \
	common/rules/standing.c \
	common/rules/standing.h \
	policyd/core/policy.c \
	policyd/core/policy.h \
	policyd/core/policy_ask.c \
	policyd/core/policy_late.c \
	policyd/core/policy_spare.c \
	policyd/core/policy_claim.c \
	policyd/core/policy_conf.c \
	policyd/core/policy_fewer.c \
	policyd/core/policy_impl.h \
	policyd/core/policy_job.c \
	policyd/core/policy_loan.c \
	policyd/core/policy_past.c \
	policyd/core/policy_rank.c \
	policyd/core/policy_reckon.c \
	policyd/core/policy_take.c \
	policyd/core/policy_view.c \
	policyd/core/usage.c \
	policyd/core/usage.h \
	common/rules/victims.c \
	common/rules/victims.h \
	common/rules/victims_node.c \
	common/rules/victims_node.h \
	policyd/core/wastage.c \
	policyd/core/wastage.h \
	common/rules/take_rule.c \
	common/rules/take_rule.h \
	policyd/core/why.c \
	policyd/core/why.h

# bench-core: the cost of a full pass and of one arrival, beside a sort
EXTRA_PROGRAMS = t/bench/core
t_bench_core_SOURCES = t/bench/core.c
CLEANFILES += t/bench/core$(EXEEXT)

bench-core: t/bench/core$(EXEEXT)
	t/bench/core$(EXEEXT)
.PHONY: bench-core
