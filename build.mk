# build.mk - targets for developers: format, lint, prove

C_DIRS = $(addprefix $(top_srcdir)/,common policyd noded plugins cmd libegs t)
c_files = $(shell find $(C_DIRS) -name '*.[ch]' | sort)
c_sources = $(filter %.c,$(c_files))
# The sources that see Slurm's private headers.
slurm_sources = $(filter %.c,$(shell find $(top_srcdir)/plugins \
	$(top_srcdir)/t/slurm -name '*.c' -not -path '*/spank/*' | sort))
plain_sources = $(filter-out $(slurm_sources),$(c_sources))
shell_files = $(shell cd $(top_srcdir) && \
	grep -lE '^\#!.*[ /](ba)?sh\b' -r autogen.sh contrib t \
		--include='*' | sort) \
	$(shell cd $(top_srcdir) && find contrib/lib t/lib -name '*.sh' | sort) \
	cmd/completion/words.sh cmd/completion/complete.bash
man_pages = $(wildcard $(top_srcdir)/man/*.[1-9])

TIDY_FLAGS = -std=gnu11 -I$(top_builddir) $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)

format:
	clang-format -i $(c_files)

lint: lint-format lint-tidy lint-cppcheck lint-shell lint-man

lint-format:
	clang-format --dry-run -Werror $(c_files)

lint-tidy:
	printf '%s\n' $(plain_sources) | xargs -r -P 2 -I{} \
		clang-tidy --quiet {} -- $(TIDY_FLAGS)
if HAVE_SLURM_SRC
	printf '%s\n' $(slurm_sources) | xargs -r -P 2 -I{} \
		clang-tidy --quiet {} -- $(TIDY_FLAGS) $(SLURM_SRC_CPPFLAGS) \
		-DEGS_SLURM_PLUGINDIR='"$(SLURM_PLUGINDIR)"'
endif

# It does not see through ok() in the tests; ASan finds leaks there.
lint-cppcheck:
	mkdir -p cppcheck.cache
	cppcheck --quiet --error-exitcode=1 --std=c11 -j 2 \
		--cppcheck-build-dir=cppcheck.cache \
		--enable=warning,performance,portability --inline-suppr \
		--suppress=missingInclude --suppress=missingIncludeSystem \
		--suppress='memleak:*/t/unit/*' \
		-I$(top_srcdir) $(c_sources)

lint-shell:
	cd $(top_srcdir) && shellcheck -x $(sort $(shell_files))

lint-man:
	test -z "$(man_pages)" || mandoc -T lint -W warning $(man_pages)

clean-local:
	rm -rf cppcheck.cache

prove: all $(check_PROGRAMS)
	cd $(top_srcdir) && EGS_BUILD=$(abs_top_builddir) \
		prove --exec '' $(PROVEFLAGS) t/*.t \
		$(addprefix $(abs_top_builddir)/,$(check_PROGRAMS))

# bench-policyd: the daemon beside slurmctld, and a look into its table
EXTRA_PROGRAMS += t/bench/table
t_bench_table_SOURCES = t/bench/table.c
CLEANFILES += t/bench/table$(EXEEXT)

bench-policyd: t/bench/table$(EXEEXT)
	t/bench/table$(EXEEXT)
	$(top_srcdir)/contrib/bench/policyd

# bench-libegs: what a program pays that asks in every step
EXTRA_PROGRAMS += t/bench/libegs
t_bench_libegs_SOURCES = t/bench/libegs.c
t_bench_libegs_LDADD = libegs/libegs.a
CLEANFILES += t/bench/libegs$(EXEEXT)

bench-libegs: t/bench/libegs$(EXEEXT)
	t/bench/libegs$(EXEEXT)

# bench-eyes: what samples of GPUs cost a node, and 8,000 GPUs the daemon
EXTRA_PROGRAMS += t/bench/eyes t/bench/nodes
t_bench_eyes_SOURCES = t/bench/eyes.c t/bench/gpu_batch.h
t_bench_eyes_LDADD = $(egs_policyd_libs)
t_bench_nodes_SOURCES = t/bench/nodes.c t/bench/gpu_batch.h
t_bench_nodes_LDADD = $(egs_common_libs) $(JSONC_LIBS) $(MUNGE_LIBS)
CLEANFILES += t/bench/eyes$(EXEEXT) t/bench/nodes$(EXEEXT)

bench-eyes: t/bench/eyes$(EXEEXT) t/bench/nodes$(EXEEXT)
	t/bench/eyes$(EXEEXT)
	EGS_BUILD=$(abs_top_builddir) $(top_srcdir)/contrib/bench/eyes

# bench-submit: a submission with EGS, without it and with job_submit/lua
bench-submit:
	$(top_srcdir)/contrib/bench/submit

# bench-start: from srun to its program, and a batch job that runs again
bench-start:
	$(top_srcdir)/contrib/bench/start

# bench-handover: from submitting a strong job to its start, stock and EGS
bench-handover:
	$(top_srcdir)/contrib/bench/handover

# bench-select: the backfill scheduler with EGS and without it, and our part
bench-select: t/slurm/preempt$(EXEEXT) t/slurm/select$(EXEEXT)
	EGS_BUILD=$(abs_top_builddir) $(top_srcdir)/contrib/bench/select

# bench-resize: GPUs that a running job gives back, until they are in use
bench-resize:
	$(top_srcdir)/contrib/bench/resize

# bench-hostile: everything that one user can do to the daemon, at once
bench-hostile:
	$(top_srcdir)/contrib/bench/hostile

# bench-report: reports over a long history, beside a COUNT(*)
bench-report: all
	EGS_BUILD=$(abs_top_builddir) $(top_srcdir)/contrib/bench/report

# bench-web: what viewers of the page cost egs-policyd
bench-web: all
	EGS_BUILD=$(abs_top_builddir) $(top_srcdir)/contrib/bench/web

# fuzz: each parser for FUZZ_SECONDS, with what libFuzzer makes of t/fuzz/corpus
FUZZ_SECONDS = 60
fuzz:
	EGS_BUILD=$(abs_top_builddir) $(top_srcdir)/contrib/fuzz \
		--seconds=$(FUZZ_SECONDS)

# slurm-tests: what passes on stock Slurm passes with EGS, by Slurm's own tests
slurm-tests:
	$(top_srcdir)/contrib/slurm-tests

.PHONY: bench-eyes bench-handover bench-hostile bench-libegs bench-policyd bench-report bench-resize \
	bench-select bench-start \
	bench-submit bench-web \
	format fuzz lint lint-format lint-tidy lint-cppcheck \
	lint-shell lint-man prove slurm-tests

EXTRA_DIST += t/bench/submit.c .ci .clang-format .clang-tidy .gitignore \
	.shellcheckrc
