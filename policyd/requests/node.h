/* node.h - requests of egs-noded
 *
 * "node-wait" gets an answer when there is news for the node:
 *
 *	node		its name
 *	seq		of the answer it has, "" for none
 *	wait		how many seconds the node waits, 30 at most
 *
 * The answer has 'seq', 'age' (seconds since the last poll of Slurm) and a
 * table with a row for each job that runs there (egs_node_columns[]) and its
 * open notice.  Only root of that node may ask (node_addresses.h).
 *
 * "relay" brings a message from a run directory, also from root:
 *
 *	node, job, uid	a job that runs on that node, and its owner
 *	request		its message, as text (job_message.h)
 *	age		how many seconds ago the job wrote it
 *
 * The answer has 'answer', a message for the job as text, good or bad.  With
 * 'news' the job has to wait: its node wakes the job when the column NEWS of
 * node-wait is larger.  A job that the daemon does not see running may have
 * started a moment ago, so its node is asked to send the message again, until
 * a poll of Slurm has begun after the message was written.
 *
 * "node-open" answers a GPU scan (EGS_NODE_COL_GPU_SCAN), also from root:
 *
 *	node, job, look	the scan
 *	table		CARD and WORDS: a GPU by its number in Slurm, and which
 *			process has it open
 *
 * "node-unclean": a job is to start on a GPU that another process has open:
 *
 *	node, card, words	as above
 *	job		the job of that process, 0: none
 *	for		the job that starts
 *	stays		the process does not end when told: the node is fenced
 */
#ifndef EGS_REQUESTS_NODE_H
#define EGS_REQUESTS_NODE_H

#include "common/ipc/node_columns.h"
#include "common/ipc/rundir_layout.h"
#include "policyd/requests/requests.h"

/* The notice of a job that is open now. */
struct egs_job_notice {
	uint32_t number; /* 0: no notice is open */
	enum egs_notice_kind kind;
	uint32_t gpus; /* of EGS_NOTICE_SHRINK */
	egs_time_t deadline;
	struct egs_err reason; /* for its owner */
};

/* Everything but the reason of a preemption; and that, which is on disk. */
void egs_nodes_get_notice(const struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *request);

void egs_nodes_get_reason(const struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *notice);

/* Jobs started or ended, or their notices changed. egs_daemon_update() calls
 * egs_nodes_wake(), which answers their nodes.
 */
void egs_nodes_mark_changed(struct egs_daemon *d);
void egs_nodes_wake(struct egs_daemon *d);

/* The number of the node that sent a request.  With 'err' set: -1 if the client
 * is not root, EGS_REPLY_RETRY if it is not root of that node.
 */
int64_t egs_nodes_identify(struct egs_daemon *d, const struct egs_peer *peer,
			   const struct egs_msg *request, struct egs_err *err);

#endif
