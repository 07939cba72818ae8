/* node.h - the conversation with egs-noded on each node
 *
 * egs-noded asks "node-wait" and gets the answer when there is one:
 *
 *	node		its name
 *	seq		of the answer it has, "" for none
 *	wait		how many seconds it would wait, 30 at most
 *
 * The answer has 'seq', 'age' (the seconds since we looked at Slurm) and a
 * table, a row for each job that runs there (egs_node_columns[]), with the
 * request that is open.  Only root of that node may ask (node_addresses.h).
 *
 * What a job wrote into its run directory comes as "relay", from root too:
 *
 *	node, job, uid	who says so: a job that runs on that node
 *	request		its message, as text (job_message.h)
 *	age		how many seconds ago the job said it
 *
 * The answer has 'answer', a message for the job as text, good or bad.  With
 * 'news' the job has to wait: its node wakes the job when the column NEWS of
 * node-wait is larger.  A job
 * that we do not see running may have just begun, so its node is told to ask
 * again; until we have looked at Slurm after it spoke.
 *
 * Asked to look at a job (EGS_NODE_COL_GPU_SCAN) it says "node-open", also as
 *root:
 *
 *	node, job, look	what it was asked
 *	table		CARD and WORDS: a GPU by its number in Slurm, and which
 *			process has it open
 *
 * And "node-unclean", when a job is to start on a GPU that another has open:
 *
 *	node, card, words	as above
 *	job		whose process that is, 0: nobody's
 *	for		the job that starts
 *	stays		it was told to end and does not: the node is fenced
 */
#ifndef EGS_REQUESTS_NODE_H
#define EGS_REQUESTS_NODE_H

#include "common/ipc/node_columns.h"
#include "common/ipc/rundir_layout.h"
#include "policyd/requests/requests.h"

/* What a job is asked for now. */
struct egs_job_notice {
	uint32_t number; /* its number, 0: nothing is asked */
	enum egs_notice_kind kind;
	uint32_t gpus; /* of EGS_NOTICE_SHRINK */
	egs_time_t deadline;
	struct egs_err reason; /* a sentence for its owner */
};
/* All but the reason of a preemption, which is read from the disk. */
void egs_nodes_get_notice(const struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *request);

void egs_nodes_get_reason(const struct egs_daemon *d, const struct egs_job *job,
			  struct egs_job_notice *notice);

/* Jobs started, ended or are asked for something else: egs_nodes_wake(), which
 * egs_daemon_update() calls, answers their nodes.
 */
void egs_nodes_mark_changed(struct egs_daemon *d);
void egs_nodes_wake(struct egs_daemon *d);

/* The number of the node that asks; with 'err' set -1 if it is not root who
 * does, or EGS_REPLY_RETRY if it is not root of that node.
 */
int64_t egs_nodes_identify(struct egs_daemon *d, const struct egs_peer *peer,
			   const struct egs_msg *request, struct egs_err *err);

#endif
