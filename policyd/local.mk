# policyd - egs-policyd: the loop and the I/O around the core
#
# All but main() is a library, so that unit programs can link it.

noinst_LIBRARIES += policyd/libegs-policyd.a
policyd_libegs_policyd_a_SOURCES = \
	policyd/buf.c \
	policyd/buf.h \
	policyd/facts.c \
	policyd/facts.h \
	policyd/frame.c \
	policyd/frame.h \
	policyd/gres.c \
	policyd/gres.h \
	policyd/groups.c \
	policyd/groups.h \
	policyd/idmap.c \
	policyd/idmap.h \
	policyd/loop.c \
	policyd/loop.h \
	policyd/names.c \
	policyd/names.h \
	policyd/slurm_api.h \
	policyd/slurm_facts.c \
	policyd/slurm_facts.h \
	policyd/server.c \
	policyd/server.h \
	policyd/server_conn.c \
	policyd/server_conn.h \
	policyd/server_cred.c \
	policyd/server_verb.c \
	policyd/server_verb.h \
	policyd/store.c \
	policyd/store.h \
	policyd/store_rows.c \
	policyd/store_sql.h \
	policyd/users.c \
	policyd/users.h \
	policyd/world.c \
	policyd/world.h \
	policyd/world_event.c \
	policyd/world_impl.h \
	policyd/world_known.c \
	policyd/worker.c \
	policyd/worker.h \
	policyd/worker_slurm.c
