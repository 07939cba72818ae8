/* node_columns.h - the columns of the orders for a node, a row for each job
 *
 * egs-policyd writes the table in this order, egs-noded reads it.
 */
#ifndef EGS_IPC_NODE_COLUMNS_H
#define EGS_IPC_NODE_COLUMNS_H

/* egs-policyd holds the request of a node for this long at most. */
#define EGS_NODE_LONG_POLL_S 30

enum egs_node_column {
	EGS_NODE_COL_JOB,      /* id of the job, as in SLURM_JOB_ID */
	EGS_NODE_COL_UID,      /* of its owner */
	EGS_NODE_COL_RESTARTS, /* of this run */
	EGS_NODE_COL_NOTICE,   /* number of the preemption notice, 0: none */
	EGS_NODE_COL_KIND,     /* enum egs_notice_kind */
	EGS_NODE_COL_GPUS,     /* to shrink to */
	EGS_NODE_COL_DEADLINE, /* seconds since the epoch */
	EGS_NODE_COL_REASON,   /* a sentence */
	EGS_NODE_COL_GPU_SCAN, /* number of the GPU scan wanted, 0: none */
	EGS_NODE_COL_SAVER,    /* 1: the job has a save program */
	EGS_NODE_COL_NEWS,    /* number of the last news for a job that waits */
	EGS_NODE_COL_GPU_SET, /* its GPUs on the node as bits, in hex */
	EGS_NODE_COL_START,   /* of this run, seconds since the epoch */
	EGS_NODE_COL_COUNT,
};

#endif
