/* node.h - requests of egs-noded
 *
 * "node-wait" gets an answer when there is news for the node:
 *
 *	node		its name
 *	seq		of the last answer that the node got, "" for none
 *	wait		seconds that the node waits, at most 30
 *
 * The answer has 'seq', 'now', 'age' (seconds since the last poll of Slurm) and
 * a table.  The table has a row for each job that runs on the node, with the
 * job's open notice (node_columns.h).  Only root of that node may send this
 * request (node_addresses.h).
 *
 * "relay" brings a message from a run directory; only root may send it:
 *
 *	node, job, uid	a job that runs on that node, and its owner
 *	request		its message, as text (job_message.h)
 *	age		seconds since the job wrote the message
 *
 * The answer has 'answer', the success or refusal for the job, as text.  With
 * 'news' the job must wait: its node wakes the job when the column NEWS of
 * node-wait is larger.  A job that no poll has shown as running may have just
 * started.  So the node must send the message again, until a poll of Slurm has
 * begun after the message was written.
 *
 * "node-open" answers a GPU scan (EGS_NODE_COL_GPU_SCAN); only root may send
 * it:
 *
 *	node, job, look	'look' is the number of the scan
 *	table		CARD and WORDS: the number of a GPU in Slurm, and the
 *			process that has the GPU open
 *	error		instead of the table: why the node cannot tell
 *
 * "node-unclean" reports that a job starts on GPUs that other processes have
 * open; only root may send it:
 *
 *	node		as above
 *	for		the job that starts
 *	table		CARD and WORDS as above; JOB of the process, 0: none;
 *			UID of the process; STAYS: 1 if the process does not
 *			end, so the daemon fences the node
 *
 * "node-gpus" brings samples of the node's GPUs (common/ipc/gpu_sample.h); only
 * root may send it.
 *
 * "node-no-rundir" reports that a job has no run directory on a node; only root
 * may send it:
 *
 *	node, job	as above
 *	words		the reason
 *	batch		1: its batch script has none, so the daemon asks the
 *			job by a signal
 */
#ifndef EGS_REQUESTS_NODE_H
#define EGS_REQUESTS_NODE_H

#include "common/ipc/node_columns.h"
#include "common/ipc/rundir_layout.h"
#include "policyd/requests/requests.h"

/* The open notice of a job. */
struct egs_job_notice {
	uint32_t number; /* 0: no notice is open */
	enum egs_notice_kind kind;
	uint32_t gpus; /* of EGS_NOTICE_SHRINK */
	egs_time_t deadline;
	struct egs_err reason; /* for the owner of the job */
};

/* Get the open notice without the reason of a preemption.  The second function
 * gets that reason, which is on disk.
 */
void egs_nodes_get_notice(const struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *request);

void egs_nodes_get_reason(struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *notice);

/* Note that jobs started or ended, or that their notices changed.  Later
 * egs_daemon_update() calls egs_nodes_wake(), which answers the nodes of these
 * jobs.
 */
void egs_nodes_mark_changed(struct egs_daemon *d);
void egs_nodes_wake(struct egs_daemon *d);

/* The running job that has this GPU of a node; NULL: none. */
const struct egs_job *egs_nodes_find_gpu_job(struct egs_daemon *d,
					     uint32_t node, uint32_t gpu);

/* Returns the number of the node that sent a request.  With 'err' set: -1 if
 * the client is not root or the node is unknown, EGS_REPLY_RETRY if the client
 * is not on that node.
 */
int64_t egs_nodes_identify(struct egs_daemon *d, const struct egs_peer *peer,
			   const struct egs_msg *request, struct egs_err *err);

#endif
