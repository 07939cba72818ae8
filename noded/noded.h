/* noded.h - egs-noded: the state that its files share
 *
 *	egs-noded.c		main()
 *	noded.c			set up, run, tear down
 *	ask_policyd.c		send a request to egs-policyd; find its address
 *	long_poll.c		get orders of egs-policyd for the jobs here
 *	rundirs.c		the run directories on this node
 *	rundir_files.c		files inside a run directory (rundir.h)
 *	relay.c			messages of jobs: run directory -> spool ->
 *				egs-policyd, and the answer back
 *	spool.h			messages on disk until they are answered
 *	report_gpu_users.c	GPU scan: processes that have GPUs open
 *	lock_gpus.c		locks of GPUs that a job is giving back
 *	clean_gpus.c		the second scan of the GPUs of a starting step
 *	nvml.c			GPU scan with NVIDIA's driver (gpu_users.h)
 *	nvml_api.h		the library of NVIDIA's driver
 *	sample_gpus.c		samples of GPUs: utilisation, memory, power
 *	gpu_sampler.h		the process that takes them
 *	nvml_session.h		how it takes them from the driver
 *	nvml_values.h		the values of one call each
 *	nvml_gpm.h		activity, counted by the GPU
 *	nvml_accounting.h	processes that have ended
 *	nvml_cap.h		power limits that rules lower
 *	attribute_ended.c	the jobs of these processes, and of XIDs
 *	tenures.h		which job had which GPU, and when
 *	map_gpus.c		which jobs have which GPUs, for dcgm-exporter
 *	dcgm_map.h		the files of that
 *	run_saver.c		save programs of jobs (saver.h)
 *	job_processes.h		the processes of a job
 *
 * egs-noded has one thread.  Every function runs from a callback of the loop
 * and waits only for the local disk.
 *
 * States of a message of a job:
 *
 *	out/NAME --spool--> in the spool --relay--> answered: in/NAME, dropped
 *	                      ^       |
 *	                      +-------+  no answer, or "again": backoff
 *
 * An answer with "news" means that the job waits for GPUs.  The spool drops
 * this message too.  The job sends the message again when rundirs.c wakes the
 * job.
 */
#ifndef EGS_NODED_NODED_H
#define EGS_NODED_NODED_H

#include <limits.h>

#include "common/base/clock.h"
#include "common/base/loop.h"
#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"
#include "common/ipc/gpu_process.h"
#include "common/node/gpu_locks.h"
#include "common/node/gpu_users.h"
#include "common/node/rundir.h"
#include "noded/dcgm_map.h"
#include "noded/gpu_sampler.h"
#include "noded/saver.h"
#include "noded/spool.h"
#include "noded/tenures.h"
#include "noded/timed_child.h"

struct egs_noded;

/* A connection for one request at a time to egs-policyd.  'done' gets the
 * answer, or NULL and the return value of egs_client_call().
 */
struct egs_policyd_call {
	struct egs_noded *noded;
	void (*done)(struct egs_noded *noded, int rc,
		     const struct egs_msg *answer, const struct egs_err *err);
	struct egs_child child;
	struct egs_watch *child_watch;
	struct egs_watch *timer;
	struct egs_endpoint endpoint;
	bool busy;
};

/* Orders of egs-policyd for a job that runs on this node. */
struct egs_job_orders {
	uint32_t job;
	uid_t uid;
	uint32_t restarts;
	struct egs_rundir_notice notice;
	struct egs_err reason;
	uint32_t gpu_scan; /* number of the requested GPU scan, 0: none */
	bool has_saver;	   /* the job has a save program (save_program.h) */
	uint64_t gpu_set; /* its GPUs here as bits, by their numbers in Slurm */
	int64_t start;	  /* of this run, as Slurm has it */
	uint64_t age_ms;  /* of this run, when the orders came */
	int64_t news;	  /* number of the last news for a job that waits */
};

/* A run directory on this node. */
struct egs_local_rundir {
	uint32_t job;
	struct egs_rundir dir;
	int out_watch; /* inotify watch of out/, -1: none */
	struct egs_rundir_notice
		notice;	       /* last notice written, without reason */
	uint32_t saved_number; /* notice for which the save program ran */
	/* The message of a job that waits for GPUs ("": none), and the number
	 * of the last news in its answer.
	 */
	char waiting_name[EGS_RUNDIR_NAME_MAX + 1];
	int64_t waiting_news;
	bool seen;	    /* the current scan has found it */
	bool warned;	    /* a warning about this directory is logged */
	bool notice_failed; /* likewise, about the notice */
};

/* A GPU scan in a child, and then its report.  A user has one at a time, so
 * that scans of another user's jobs wait for none of this user's.
 */
#define EGS_GPU_SCANS_MAX 16
struct egs_gpu_scan {
	uint32_t number; /* that egs-policyd gave it, 0: none */
	uint32_t job;
	uid_t uid;
	struct egs_noded *noded;
	uint64_t gpu_set; /* as in the orders */
	struct egs_timed_child child;
	struct egs_msg *report; /* NULL: the child has not ended */
};

/* GPUs of a job that may be locked (gpu_locks.h), as bits. */
struct egs_job_lock {
	uint32_t job;
	uint64_t locked; /* by a scan of this egs-noded */
	uint64_t
		unsure; /* also by an earlier one: unlock them with the job's */
};

struct egs_running_saver;

struct egs_noded {
	const char *conf_path;
	const char *node;
	bool with_slurmd; /* end when slurmd has ended */

	/* From egs.conf and slurm.conf. */
	char node_dir[1100], spool_dir[1100];
	uint32_t port;
	uint32_t sample_interval_s; /* 0: GPUs are not sampled */
	char dcgm_map_dir[1100];    /* DcgmMapDir, "": none */
	struct egs_slurm_conf slurm;
	unsigned host_index; /* of egs-policyd, in slurm.host */
	char policyd_addr[EGS_SLURM_HOST_MAX + 16];
	char audience[EGS_CRED_AUDIENCE_MAX];
	uid_t policyd_uid; /* of its last answer */
	bool is_forged;	   /* the last answer was not of egs-policyd */
	bool forged_logged;
	char trusted[EGS_SLURM_HOST_MAX + 48]; /* address and uid, as logged */

	struct egs_loop *loop;
	int rundirs_fd; /* <NodeDir>/<node> */
	int lock_fd;
	int inotify_fd;
	unsigned slurmd_misses; /* successive checks without slurmd */
	struct egs_watch *inotify_watch, *scan_timer, *slurmd_timer;

	struct egs_local_rundir *rundirs;
	size_t nrundirs, rundirs_room;
	struct egs_child remove_child; /* removes retired directories */
	struct egs_watch *remove_watch;
	bool scan_scheduled;
	bool removal_due;    /* the current scan has found one */
	bool removal_failed; /* the failure is logged */
	uint64_t next_removal_ms;

	/* The last orders.  'polled_s' is the time of the request;
	 * 'orders_as_of_s' is the time of egs-policyd's poll of Slurm.
	 */
	struct egs_policyd_call poll_call;
	struct egs_watch *poll_timer;
	char seq[32];
	int64_t polled_s, orders_as_of_s;
	uint64_t orders_ms; /* when they came, by the steady clock */
	struct egs_job_orders *orders;
	size_t norders;
	bool has_orders;
	bool removal_pending;  /* a directory may become removable soon */
	bool policyd_down;     /* the failure is logged */
	bool samples_rejected; /* likewise, of sample_call */
	uint32_t poll_failures;
	int poll_rc;	       /* the last failure */
	unsigned hosts_failed; /* in this round */

	struct egs_gpu_scan gpu_scans[EGS_GPU_SCANS_MAX];
	const struct egs_gpu_scan *reported_scan; /* in report_call */
	uint32_t *scans_done; /* numbers that are still ordered */
	size_t nscans_done, scans_done_room;
	struct egs_policyd_call report_call;
	char report_name[NAME_MAX + 1]; /* file of spank_egs in report_call */

	/* What jobs may not open, and the child that unlocks. */
	struct egs_gpu_locks gpu_locks;
	struct egs_job_lock *job_locks;
	size_t njob_locks, job_locks_room;
	struct egs_timed_child unlock_child;
	struct egs_gpu_lock *unlocks; /* what it does */
	size_t nunlocks;
	bool unlock_polls; /* the next poll waits for it */
	uint32_t unlock_failures;
	bool locks_read;   /* the locks of an earlier egs-noded are known */
	bool locks_warned; /* the failure is logged */

	/* A second scan of the GPUs of a starting step, and its report. */
	struct egs_timed_child clean_child;
	struct egs_policyd_call clean_call;
	char clean_name[NAME_MAX + 1]; /* file of spank_egs, "": none */
	ino_t clean_inode;

	struct egs_gpu_sampler *sampler; /* NULL: GPUs are not sampled */
	char caps_path[1400];		 /* file of its power limits */
	struct egs_policyd_call sample_call;

	/* Processes that have ended, for egs-policyd. */
	struct egs_tenures tenures;
	struct egs_gpu_process ended[EGS_GPU_PROCESSES_MAX];
	uint32_t nended, ended_sent;

	/* Which jobs have which GPUs, for dcgm-exporter. */
	struct egs_dcgm_map dcgm_map;
	char gpu_device[EGS_GPU_SAMPLES_MAX][EGS_GPU_DEVICE_SIZE];
	bool map_failed; /* the failure is logged */

	struct egs_running_saver *savers; /* list of running save programs */
	struct egs_spool spool;
	struct egs_policyd_call relay_call;
	struct egs_watch *relay_timer;
	struct egs_spool_message *relay_message;
};

/* Set up everything and run until a signal or, with 'with_slurmd', until slurmd
 * has ended.  Returns 0, or -1 with 'err' set.  Returns 0 also if another
 * egs-noded of this node is running.
 */
int egs_noded_run(const char *conf_path, const char *node, bool with_slurmd,
		  struct egs_err *err);

/* ---- ask_policyd.c ---- */

int egs_policyd_call_open(struct egs_policyd_call *call,
			  struct egs_noded *noded, struct egs_err *err);
void egs_policyd_call_close(struct egs_policyd_call *call);

/* Send a request.  'done' is always called, from the loop and never from inside
 * this function.  'timeout_ms' covers the connection and the answer.
 */
void egs_policyd_call_start(struct egs_policyd_call *call,
			    const struct egs_msg *request, int timeout_ms);

/* Read the hosts of egs-policyd from slurm.conf; switch to the next host. */
void egs_noded_read_hosts(struct egs_noded *noded);
void egs_noded_switch_host(struct egs_noded *noded);

/* Returns the pause after this number of successive failures, 'max_ms' to twice
 * that at most.  The pause is random within a factor of two, so that not all
 * nodes connect at once.
 */
#define EGS_BACKOFF_MAX_MS 16000
uint64_t egs_noded_backoff_ms(uint32_t failures, uint64_t max_ms);

/* ---- long_poll.c ---- */

void egs_noded_poll_orders(struct egs_noded *noded);
void egs_noded_on_poll_answer(struct egs_noded *noded, int rc,
			      const struct egs_msg *answer,
			      const struct egs_err *err);

/* ---- rundirs.c ---- */

/* Callback of the loop: find new and removed run directories, and messages. */
void egs_noded_scan_rundirs(void *arg, uint32_t events);

/* Callback of the loop: files have changed, so schedule a scan. */
void egs_noded_on_inotify(void *arg, uint32_t events);

/* Write preemption notices, start save programs, wake jobs that wait and retire
 * directories, by the orders of egs-policyd.
 */
void egs_noded_apply_orders(struct egs_noded *noded);

struct egs_local_rundir *egs_noded_find_rundir(struct egs_noded *noded,
					       uint32_t job);
void egs_noded_close_rundirs(struct egs_noded *noded);

/* ---- report_gpu_users.c ---- */

/* Start the GPU scans that egs-policyd requests, one for each user. */
void egs_noded_start_gpu_scans(struct egs_noded *noded);
void egs_noded_stop_gpu_scans(struct egs_noded *noded);
void egs_noded_on_report_answer(struct egs_noded *noded, int rc,
				const struct egs_msg *answer,
				const struct egs_err *err);

/* Send a report that spank_egs wrote to the file 'name'. */
void egs_noded_send_report(struct egs_noded *noded, const char *name);

/* ---- lock_gpus.c ---- */

/* A scan begins that may lock these GPUs of the job.  Returns 0, or -1 with
 * 'err' set: then it must not begin.
 */
int egs_noded_expect_lock(struct egs_noded *noded,
			  const struct egs_job_orders *orders,
			  struct egs_err *err);

/* In the scan, while the processes are stopped: lock what none has open. */
egs_gpu_users_fn egs_noded_lock_unopened;

/* In a child: the locks end with egs-noded, even if the child hangs. */
void egs_noded_close_link(const struct egs_noded *noded);

/* Unlock by the last orders what jobs have.  Returns whether all is unlocked
 * already; otherwise the poll timer is started when that is so, or to try
 * again.
 */
bool egs_noded_follow_locks(struct egs_noded *noded);

/* Likewise when the child of a scan has ended, without the poll timer. */
void egs_noded_unlock_after_scan(struct egs_noded *noded);

/* Does a child unlock?  No scan starts meanwhile. */
bool egs_noded_is_unlocking(const struct egs_noded *noded);
void egs_noded_stop_locks(struct egs_noded *noded);

/* ---- clean_gpus.c ---- */

/* Fulfil the request that spank_egs wrote to the file 'name', unless another
 * one is being fulfilled.
 */
void egs_noded_start_cleaning(struct egs_noded *noded, const char *name);
void egs_noded_on_clean_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err);

/* ---- sample_gpus.c ---- */

/* Start to sample the GPUs, if the node has any and egs.conf does not forbid
 * it. Returns 0, or -1 with 'err' set.
 */
int egs_noded_start_sampling(struct egs_noded *noded, struct egs_err *err);
void egs_noded_on_sample_answer(struct egs_noded *noded, int rc,
				const struct egs_msg *answer,
				const struct egs_err *err);

/* ---- attribute_ended.c ---- */

/* Learn from the last orders which job has which GPU. */
void egs_noded_update_tenures(struct egs_noded *noded);

/* Find the jobs of the ended processes in a batch.  The batch then has these
 * and the earlier ones that egs-policyd has not taken yet.
 */
void egs_noded_attribute_ended(struct egs_noded *noded, struct egs_msg *batch);

/* Find the jobs that had the GPUs when the XIDs in a batch came. */
void egs_noded_attribute_xids(const struct egs_noded *noded,
			      struct egs_msg *batch);

/* egs-policyd has taken the first 'sent' processes. */
void egs_noded_forget_ended(struct egs_noded *noded, uint32_t sent);

/* ---- map_gpus.c ---- */

/* Open the directory of DcgmMapDir, and remove what an earlier egs-noded has
 * left there.  A failure is logged.
 */
void egs_noded_open_map(struct egs_noded *noded);

/* Write which jobs have which GPUs by the last orders. */
void egs_noded_update_map(struct egs_noded *noded);

/* Learn the driver's numbers of the GPUs from a batch of samples. */
void egs_noded_learn_devices(struct egs_noded *noded,
			     const struct egs_msg *batch);

/* ---- run_saver.c ---- */

/* Start the save program of a preempted job.  When the program has succeeded,
 * egs-noded yields for the job.
 */
void egs_noded_start_saver(struct egs_noded *noded,
			   const struct egs_job_orders *orders);

/* End all running save programs. */
void egs_noded_stop_savers(struct egs_noded *noded);

/* ---- relay.c ---- */

/* Move new messages from a run directory to the spool. */
void egs_noded_spool_messages(struct egs_noded *noded,
			      struct egs_local_rundir *rundir);

/* Send the oldest message of the spool that is due. */
void egs_noded_relay_next(struct egs_noded *noded);
void egs_noded_on_relay_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err);

#endif
