/* rundir_layout.h - the directory in which a node and a job talk, and its files
 *
 * EGS_RUNDIR=<NodeDir>/<node>/<job id> belongs to the user of the job, its
 * parents to root.  What is in it needs neither a network nor munge, so it is
 * the road of jobs in containers:
 *
 *	flag		struct egs_rundir_flag: is a request open?  Mapped and
 *looked at in every step of a training.
 *	request		the same in words, while one is open
 *	out/NAME	a message of the job: one JSON object of at most
 *			EGS_RUNDIR_MESSAGE_MAX bytes.  Written as out/.NAME,
 *			then renamed.
 *	in/NAME		its answer, written in the same way by egs-noded once
 *			egs-policyd has answered
 *
 * This header needs nothing: egs-noded, libegs and the tests share it.
 */
#ifndef EGS_IPC_RUNDIR_LAYOUT_H
#define EGS_IPC_RUNDIR_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define EGS_RUNDIR_ENV	       "EGS_RUNDIR"
#define EGS_RUNDIR_FLAG_FILE   "flag"
#define EGS_RUNDIR_NOTICE_FILE "request"
#define EGS_RUNDIR_OUT_DIR     "out"
#define EGS_RUNDIR_IN_DIR      "in"

#define EGS_RUNDIR_MESSAGE_MAX 4096 /* bytes in out/NAME */
#define EGS_RUNDIR_ANSWER_MAX  (64U << 10)
#define EGS_RUNDIR_NAME_MAX    64 /* bytes in NAME: letters, digits, - and _ */

#define EGS_RUNDIR_FLAG_MAGIC "egsflag1"
#define EGS_RUNDIR_FLAG_SIZE  64

enum egs_notice_kind {
	EGS_NOTICE_NONE,
	EGS_NOTICE_YIELD,  /* save, and let all GPUs go */
	EGS_NOTICE_SHRINK, /* go on with 'gpus' of them */
};

/* The file 'flag', in the order of bytes of its node.  It is changed in place
 * and never gets another inode; 'request' is written last, and first when a
 * request is over.
 */
struct egs_rundir_flag {
	char magic[8];
	uint32_t notice;  /* its number, 0: none is open */
	uint32_t kind;	  /* enum egs_notice_kind */
	int64_t deadline; /* seconds since the epoch */
	uint32_t gpus;	  /* to shrink to */
	uint32_t reserved[9];
};

_Static_assert(sizeof(struct egs_rundir_flag) == EGS_RUNDIR_FLAG_SIZE,
	       "the flag is mapped");

/* The lines of 'request', each NAME=VALUE: request, kind (yield or shrink),
 * gpus (of shrink), deadline (epoch), reason (one sentence, printable).
 */

#endif
