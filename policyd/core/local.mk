# policyd/core - the policy: pure C, no I/O, no clock, no log, no globals

noinst_LIBRARIES += policyd/core/libegs-core.a
policyd_core_libegs_core_a_SOURCES = \
	common/base/array.h \
	policyd/core/claim.c \
	policyd/core/claim.h \
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
	policyd/core/managed.c \
	policyd/core/managed.h \
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
	policyd/core/victims.c \
	policyd/core/victims.h \
	policyd/core/victims_node.c \
	policyd/core/victims_node.h \
	policyd/core/wastage.c \
	policyd/core/wastage.h \
	policyd/core/who.c \
	policyd/core/who.h \
	policyd/core/why.c \
	policyd/core/why.h

# bench-core: the cost of a full pass and of one arrival, beside a sort
EXTRA_PROGRAMS = t/bench/core
t_bench_core_SOURCES = t/bench/core.c
CLEANFILES += t/bench/core$(EXEEXT)

bench-core: t/bench/core$(EXEEXT)
	t/bench/core$(EXEEXT)
.PHONY: bench-core
