/* noded.h - egs-noded: what its parts share
 *
 *	egs-noded.c	main()
 *	noded.c		setting up, the end
 *	ask_policyd.c		a question to egs-policyd, and where that is
 *	long_poll.c		what egs-policyd tells of the jobs of this node
 *	jobs.c		the run directories that are here
 *	report_gpu_users.c		who has GPUs open
 *	run_saver.c		programs that save a job (saver.h)
 *	relay.c		what jobs say: from their directories to the spool, from
 *			there to egs-policyd, and the answer back
 *	rundir.h, spool.h, as_user.h	files
 *	job_processes.h		the processes of a job
 *
 * One thread: every function runs from a callback of the loop, and none of them
 * waits, but for the local disk.
 */
#ifndef EGS_NODED_NODED_H
#define EGS_NODED_NODED_H

#include <limits.h>

#include "common/base/loop.h"
#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"
#include "common/node/rundir.h"
#include "noded/saver.h"
#include "noded/spool.h"

struct egs_noded;

/* One question at a time; 'done' gets the answer, or NULL and what
 * egs_client_call() returns.
 */
struct egs_talk {
	struct egs_noded *noded;
	void (*done)(struct egs_noded *noded, int rc,
		     const struct egs_msg *answer, const struct egs_err *err);
	struct egs_aside aside;
	struct egs_watch *news;	    /* of the aside */
	struct egs_watch *deadline; /* a timer */
	struct egs_where where;
	bool busy;
};

/* What egs-policyd said of a job that runs here. */
struct egs_told {
	uint32_t job;
	uid_t uid;
	uint32_t restarts;
	struct egs_rundir_request request;
	struct egs_err reason;
	uint32_t look; /* who has its GPUs open?  0: nobody asks */
	char program[EGS_SAVER_PROGRAM]; /* that saves it, "": none */
};

/* A run directory that is here. */
struct egs_here {
	uint32_t job;
	struct egs_rundir dir;
	int out;			/* its watch, -1: none */
	struct egs_rundir_request told; /* that is in it; no reason */
	uint32_t saved;			/* request for which its program ran */
	bool seen;			/* in this scan */
	bool complains;			/* of it: that was said */
};

struct egs_saving;

struct egs_noded {
	const char *conf_path;
	const char *node;
	bool with_slurmd; /* end when slurmd has ended */

	/* As egs.conf and slurm.conf have it. */
	char node_dir[1100], spool_dir[1100];
	uint32_t port;
	struct egs_slurm_conf slurm;
	unsigned host; /* the one that is asked */
	char at[EGS_SLURM_HOST_MAX + 16];
	char audience[EGS_CRED_AUDIENCE_MAX];

	struct egs_loop *loop;
	int dirs; /* <NodeDir>/<node> */
	int lock;
	int inotify;
	struct egs_watch *changes, *scan, *slurmd;
	bool soon;	      /* a scan will be */
	unsigned slurmd_gone; /* looks in a row without it */

	struct egs_here *here;
	size_t nhere, here_room;
	struct egs_aside removal; /* of one directory */
	struct egs_watch *removed;
	char removing[NAME_MAX + 1];

	/* What was told last, when it was asked for, and how old it was. */
	struct egs_talk wait;
	struct egs_watch *ask_again;
	char seq[32];
	bool is_told;
	int64_t asked_s, told_at_s;
	struct egs_told *told;
	size_t ntold;
	bool leftovers; /* directories that may have to go soon */
	bool away;	/* egs-policyd is, and that was said */
	uint32_t failures;

	/* A look at the GPUs of a job, aside, and its answer. */
	struct egs_aside looking;
	struct egs_watch *looked;
	uint32_t look, look_done;
	struct egs_talk open;
	char unclean[NAME_MAX + 1]; /* a report that is under way */

	struct egs_saving *savings; /* programs that run, a list */
	struct egs_spool spool;
	struct egs_talk relay;
	struct egs_watch *relay_again;
	struct egs_spooled *relaying;
};

/* Set up everything and go on until a signal, or the end of slurmd, says
 * otherwise.  Returns 0, also if another one is there already, or -1 with 'err'
 * set.
 */
int egs_noded_run(const char *conf_path, const char *node, bool with_slurmd,
		  struct egs_err *err);

/* Milliseconds by the steady clock; and seconds since the epoch. */
uint64_t egs_noded_now_ms(void);
int64_t egs_noded_now_s(void);

/* ---- ask_policyd.c ---- */

int egs_talk_open(struct egs_talk *talk, struct egs_noded *noded,
		  struct egs_err *err);
void egs_talk_close(struct egs_talk *talk);

/* Ask; 'done' is called in any case, and not from here.  'timeout_ms' is for
 * all of it.
 */
void egs_talk_ask(struct egs_talk *talk, const struct egs_msg *request,
		  int timeout_ms);

/* Read where egs-policyd may be; and try another host from now on. */
void egs_noded_find_hosts(struct egs_noded *noded);
void egs_noded_next_host(struct egs_noded *noded);

/* How long to wait after so many failures in a row, with some chance in it so
 * that not all nodes come at once.
 */
uint64_t egs_noded_backoff_ms(uint32_t failures);

/* ---- long_poll.c ---- */

void egs_noded_wait(struct egs_noded *noded);
void egs_noded_waited(struct egs_noded *noded, int rc,
		      const struct egs_msg *answer, const struct egs_err *err);

/* ---- jobs.c ---- */

/* Callbacks of the loop: look at all directories, for new ones, for those that
 * are gone, and for messages; and files have changed, so that will be soon.
 */
void egs_noded_look(void *arg, uint32_t events);
void egs_noded_changes(void *arg, uint32_t events);

/* Let the directories follow what was told. */
void egs_noded_follow(struct egs_noded *noded);

struct egs_here *egs_noded_find(struct egs_noded *noded, uint32_t job);
void egs_noded_forget_all(struct egs_noded *noded);

/* ---- report_gpu_users.c ---- */

/* Tell who has GPUs open, as far as that was asked and is not done. */
void egs_noded_look_open(struct egs_noded *noded);
void egs_noded_said_open(struct egs_noded *noded, int rc,
			 const struct egs_msg *answer,
			 const struct egs_err *err);

/* A report of spank_egs is there: tell it. */
void egs_noded_unclean(struct egs_noded *noded, const char *name);
/* ---- run_saver.c ---- */

/* A job with a program is asked to yield: run that.  Its end is seen to. */
void egs_noded_save(struct egs_noded *noded, const struct egs_told *told);

/* End those that run. */
void egs_noded_save_end(struct egs_noded *noded);

/* ---- relay.c ---- */

/* Take what the job has said into the spool. */
void egs_noded_pick(struct egs_noded *noded, struct egs_here *here);

/* Send what is in the spool, as far as it is time. */
void egs_noded_relay(struct egs_noded *noded);
void egs_noded_relayed(struct egs_noded *noded, int rc,
		       const struct egs_msg *answer, const struct egs_err *err);

#endif
