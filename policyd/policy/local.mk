# policyd/core - the policy: pure C, no I/O, no clock, no log, no globals

noinst_LIBRARIES += policyd/core/libegs-core.a
policyd_core_libegs_core_a_SOURCES = \
	common/base/array.h \
	common/rules/claim.c \
	common/rules/claim.h \
	common/conf/policy_conf.c \
	common/conf/policy_conf.h \
	policyd/policy/event.h \
	policyd/policy/identity.c \
	policyd/policy/identity.h \
	policyd/accounting/interval.c \
	policyd/accounting/interval.h \
	policyd/policy/jobs.c \
	policyd/policy/jobs.h \
	policyd/policy/loan_book.c \
	policyd/policy/loan_book.h \
	common/rules/standing.c \
	common/rules/standing.h \
	policyd/policy/policy.c \
	policyd/policy/policy.h \
	policyd/policy/preempt.c \
	policyd/policy/deadline.c \
	policyd/policy/withdraw.c \
	policyd/policy/claims.c \
	policyd/policy/reload.c \
	policyd/policy/shrink.c \
	policyd/policy/policy_internal.h \
	policyd/policy/job.c \
	policyd/policy/loans.c \
	policyd/policy/restore.c \
	policyd/policy/rank.c \
	policyd/policy/pending.c \
	policyd/policy/find_victims.c \
	policyd/policy/query.c \
	policyd/policy/usage.c \
	policyd/policy/usage.h \
	common/rules/victims.c \
	common/rules/victims.h \
	common/rules/victims_node.c \
	common/rules/victims_node.h \
	policyd/accounting/wastage.c \
	policyd/accounting/wastage.h \
	common/rules/take_rule.c \
	common/rules/take_rule.h \
	policyd/policy/why.c \
	policyd/policy/why.h

# bench-core: the cost of a full pass and of one arrival, beside a sort
EXTRA_PROGRAMS = t/bench/core
t_bench_core_SOURCES = t/bench/core.c
CLEANFILES += t/bench/core$(EXEEXT)

bench-core: t/bench/core$(EXEEXT)
	t/bench/core$(EXEEXT)
.PHONY: bench-core
