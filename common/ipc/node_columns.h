/* node_columns.h - the columns of what a node is told of its jobs
 *
 * egs-policyd writes the table in this order and egs-noded reads it so.
 */
#ifndef EGS_IPC_NODE_COLUMNS_H
#define EGS_IPC_NODE_COLUMNS_H

/* The longest that a node waits for an answer. */
#define EGS_NODE_WAIT_S 30

enum egs_node_column {
	EGS_NODE_JOB,	   /* id of the job, as Slurm has it in SLURM_JOB_ID */
	EGS_NODE_UID,	   /* of its owner */
	EGS_NODE_RESTARTS, /* of this run */
	EGS_NODE_REQUEST,  /* that is open, 0: none */
	EGS_NODE_KIND,	   /* enum egs_request_kind */
	EGS_NODE_GPUS,	   /* to shrink to */
	EGS_NODE_DEADLINE, /* seconds since the epoch */
	EGS_NODE_REASON,   /* a sentence */
	EGS_NODE_LOOK,	   /* tell who has its GPUs open; 0: nobody asks */
	EGS_NODE_PROGRAM,  /* to run when it is asked to yield, "": none */
	EGS_NODE_COLUMNS,  /* how many there are */
};

#endif
