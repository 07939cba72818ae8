/* node_columns.h - the columns of what a node is told of its jobs
 *
 * egs-policyd writes the table in this order and egs-noded reads it so.
 */
#ifndef EGS_IPC_NODE_COLUMNS_H
#define EGS_IPC_NODE_COLUMNS_H

/* The longest that a node waits for an answer. */
#define EGS_NODE_LONG_POLL_S 30

enum egs_node_column {
	EGS_NODE_COL_JOB, /* id of the job, as Slurm has it in SLURM_JOB_ID */
	EGS_NODE_COL_UID, /* of its owner */
	EGS_NODE_COL_RESTARTS, /* of this run */
	EGS_NODE_COL_NOTICE,   /* that is open, 0: none */
	EGS_NODE_COL_KIND,     /* enum egs_notice_kind */
	EGS_NODE_COL_GPUS,     /* to shrink to */
	EGS_NODE_COL_DEADLINE, /* seconds since the epoch */
	EGS_NODE_COL_REASON,   /* a sentence */
	EGS_NODE_COL_GPU_SCAN, /* tell who has its GPUs open; 0: nobody asks */
	EGS_NODE_COL_PROGRAM,  /* to run when it is asked to yield, "": none */
	EGS_NODE_COL_COUNT,    /* how many there are */
};

#endif
