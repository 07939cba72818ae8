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
struct egs_policyd_call {
	struct egs_noded *noded;
	void (*done)(struct egs_noded *noded, int rc,
		     const struct egs_msg *answer, const struct egs_err *err);
	struct egs_child child;
	struct egs_watch *child_watch; /* of the aside */
	struct egs_watch *timer;       /* a timer */
	struct egs_endpoint endpoint;
	bool busy;
};

/* What egs-policyd said of a job that runs here. */
struct egs_job_orders {
	uint32_t job;
	uid_t uid;
	uint32_t restarts;
	struct egs_rundir_notice notice;
	struct egs_err reason;
	uint32_t gpu_scan; /* who has its GPUs open?  0: nobody asks */
	char save_program[EGS_SAVER_PROGRAM_SIZE]; /* that saves it, "": none */
};

/* A run directory that is here. */
struct egs_local_rundir {
	uint32_t job;
	struct egs_rundir dir;
	int out_watch;			 /* its watch, -1: none */
	struct egs_rundir_notice notice; /* that is in it; no reason */
	uint32_t saved_number;		 /* request for which its program ran */
	bool seen;			 /* in this scan */
	bool warned;			 /* of it: that was said */
};

struct egs_running_saver;

struct egs_noded {
	const char *conf_path;
	const char *node;
	bool with_slurmd; /* end when slurmd has ended */

	/* As egs.conf and slurm.conf have it. */
	char node_dir[1100], spool_dir[1100];
	uint32_t port;
	struct egs_slurm_conf slurm;
	unsigned host_index; /* the one that is asked */
	char policyd_addr[EGS_SLURM_HOST_MAX + 16];
	char audience[EGS_CRED_AUDIENCE_MAX];

	struct egs_loop *loop;
	int rundirs_fd; /* <NodeDir>/<node> */
	int lock_fd;
	int inotify_fd;
	struct egs_watch *inotify_watch, *scan_timer, *slurmd_timer;
	bool scan_scheduled;	/* a scan will be */
	unsigned slurmd_misses; /* looks in a row without it */

	struct egs_local_rundir *rundirs;
	size_t nrundirs, rundirs_room;
	struct egs_child remove_child; /* of one directory */
	struct egs_watch *remove_watch;
	char remove_name[NAME_MAX + 1];

	/* What was told last, when it was asked for, and how old it was. */
	struct egs_policyd_call poll_call;
	struct egs_watch *poll_timer;
	char seq[32];
	bool has_orders;
	int64_t polled_s, orders_as_of_s;
	struct egs_job_orders *orders;
	size_t norders;
	bool removal_pending; /* directories that may have to go soon */
	bool policyd_down;    /* egs-policyd is, and that was said */
	uint32_t poll_failures;

	/* A look at the GPUs of a job, aside, and its answer. */
	struct egs_child gpu_scan_child;
	struct egs_watch *gpu_scan_watch;
	uint32_t gpu_scan, gpu_scan_done;
	struct egs_policyd_call report_call;
	char report_name[NAME_MAX + 1]; /* a report that is under way */

	struct egs_running_saver *savers; /* programs that run, a list */
	struct egs_spool spool;
	struct egs_policyd_call relay_call;
	struct egs_watch *relay_timer;
	struct egs_spool_message *relay_message;
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

int egs_policyd_call_open(struct egs_policyd_call *talk,
			  struct egs_noded *noded, struct egs_err *err);
void egs_policyd_call_close(struct egs_policyd_call *talk);

/* Ask; 'done' is called in any case, and not from here.  'timeout_ms' is for
 * all of it.
 */
void egs_policyd_call_start(struct egs_policyd_call *talk,
			    const struct egs_msg *request, int timeout_ms);

/* Read where egs-policyd may be; and try another host from now on. */
void egs_noded_read_hosts(struct egs_noded *noded);
void egs_noded_switch_host(struct egs_noded *noded);

/* How long to wait after so many failures in a row, with some chance in it so
 * that not all nodes come at once.
 */
uint64_t egs_noded_backoff_ms(uint32_t failures);

/* ---- long_poll.c ---- */

void egs_noded_poll_orders(struct egs_noded *noded);
void egs_noded_on_poll_answer(struct egs_noded *noded, int rc,
			      const struct egs_msg *answer,
			      const struct egs_err *err);

/* ---- jobs.c ---- */

/* Callbacks of the loop: look at all directories, for new ones, for those that
 * are gone, and for messages; and files have changed, so that will be soon.
 */
void egs_noded_scan_rundirs(void *arg, uint32_t events);
void egs_noded_on_inotify(void *arg, uint32_t events);

/* Let the directories follow what was told. */
void egs_noded_apply_orders(struct egs_noded *noded);

struct egs_local_rundir *egs_noded_find_rundir(struct egs_noded *noded,
					       uint32_t job);
void egs_noded_close_rundirs(struct egs_noded *noded);

/* ---- report_gpu_users.c ---- */

/* Tell who has GPUs open, as far as that was asked and is not done. */
void egs_noded_start_gpu_scan(struct egs_noded *noded);
void egs_noded_on_report_answer(struct egs_noded *noded, int rc,
				const struct egs_msg *answer,
				const struct egs_err *err);

/* A report of spank_egs is there: tell it. */
void egs_noded_send_gpu_report(struct egs_noded *noded, const char *name);
/* ---- run_saver.c ---- */

/* A job with a program is asked to yield: run that.  Its end is seen to. */
void egs_noded_start_saver(struct egs_noded *noded,
			   const struct egs_job_orders *told);

/* End those that run. */
void egs_noded_stop_savers(struct egs_noded *noded);

/* ---- relay.c ---- */

/* Take what the job has said into the spool. */
void egs_noded_spool_messages(struct egs_noded *noded,
			      struct egs_local_rundir *here);

/* Send what is in the spool, as far as it is time. */
void egs_noded_relay_next(struct egs_noded *noded);
void egs_noded_on_relay_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err);

#endif
