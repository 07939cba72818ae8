/* rundir_layout.h - the files of a run directory
 *
 * The job's user owns EGS_RUNDIR=<NodeDir>/<node>/<job id>, root its parents.
 * The run directory needs neither a network nor munge, so jobs in containers
 * can use it:
 *
 *	flag		struct egs_rundir_flag: is there a preemption notice?
 *			Programs map it and read it in every training step.
 *	request		the notice as text, while there is one
 *	out/NAME	a message of the job: one JSON object of at most
 *			EGS_RUNDIR_MESSAGE_MAX bytes.  The job writes out/.NAME
 *			and renames it.
 *	in/NAME		the answer.  egs-noded writes it in the same way, once
 *			egs-policyd has answered.  A job that has to wait gets
 *			more than one.
 *
 * egs-noded, libegs and the tests include this header, so it includes no other
 * header of EGS.
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
	EGS_NOTICE_YIELD,  /* checkpoint and give up all GPUs */
	EGS_NOTICE_SHRINK, /* continue with 'gpus' of them */
};

/* The file 'flag', in the byte order of its node.  egs-noded changes it in
 * place, so it never gets another inode.  'notice' is written last, and is
 * cleared first when a notice is withdrawn.
 *
 *	            egs-policyd preempts            the job yields, ends
 *	notice = 0 ----------------------> notice = N ------------------> gone
 *	           <----------------------
 *	             preemption withdrawn
 */
struct egs_rundir_flag {
	char magic[8];
	uint32_t notice;  /* number of the preemption notice, 0: none */
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
