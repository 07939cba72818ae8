/* verbs_job.h - what a job may say: phase, saved, yield, finished, progress
 *
 * A request has, beside its verb,
 *
 *	job		"81234" or "81234_7"
 *	restarts	of the attempt that speaks; 0 if it is missing.  A
 *			message of an earlier one is refused
 *	id		16 hex digits, another for each message.  One that was
 *			heard before gets its first answer and has no effect
 *	at		when it was said, in seconds since the epoch; now if it
 *			is missing.  A message may wait in a spool for a day,
 *			after which it is refused
 *
 * and, by verb,
 *
 *	phase		phase, gpus; without both the present one is told
 *	saved		path, step: a checkpoint is complete.  A report, and
 *			nothing else
 *	yield		path, request, rank, gpus: take me now.  Only for the
 *			request that is open
 *	finished	an exit is the end, also after a request
 *	progress	ppm: millionths of the work that are done
 *	request		what is open: request (0: nothing), kind, gpus,
 *			deadline, reason.  Needs no id
 *
 * An answer with "ok" is on disk together with its effect.  One with "error"
 * and "later" is not final: the same message may be sent again in a second, for
 * Slurm has not shown us the job as it is, or too many came at once.  Names of
 * an answer that begin with "export:" are variables for the job.
 *
 * Who asks must be the owner of the job, or an operator.
 */
#ifndef EGS_POLICYD_VERBS_JOB_H
#define EGS_POLICYD_VERBS_JOB_H

#include "policyd/verbs.h"

/* The verb in 'request', if it is one of the above or "why", for 'peer', who
 * need not be the one that sent it: for messages that a node relays.  0, -1
 * with 'err' set, or EGS_VERB_LATER.
 */
egs_verb_fn egs_verb_of_job;

#endif
