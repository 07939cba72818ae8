/* job_message.h - what a job may say: phase, saved, yield, finished, progress
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
 *	phase		phase, gpus, keep-cores, wait; without a phase the
 *			answer has the present one.  An answer has "waits"
 *			while GPUs are on their way: the job sends the message
 *			again, with the same id.  "wait" is how many seconds the
 *			answer may be held.  wait=0 ends the wait: what is not
 *			done is cancelled.  Without "wait" the job does not
 *			wait, and its phase changes at once
 *	saved		path, step: a checkpoint is complete.  A report, and
 *			nothing else
 *	yield		path, request, rank: take me now.  Only for the
 *			request that is open.  With gpus, of one to shrink: so
 *			many stay; the answer is that of phase, with "waits"
 *	finished	an exit is the end, also after a request
 *	progress	ppm: millionths of the work that are done
 *	request		what is open: request (0: nothing), kind, gpus,
 *			deadline, reason.  Needs no id
 *
 * egs-policyd holds an answer with "waits" for up to EGS_JOB_HOLD_S, until
 * there is news.  It does so on a connection of the job, not for a relay:
 * there egs-noded wakes the job (resize.h).
 *
 * An answer with "ok" is on disk together with its effect.  One with "error"
 * and "again" is not final: the same message may be sent again in a second, for
 * Slurm has not shown us the job as it is, or too many came at once.  Names of
 * an answer that begin with "export:" are variables for the job, those with
 * "reexport:" only where they are set already.
 *
 * Who asks must be the owner of the job, or an operator.
 */
#ifndef EGS_REQUESTS_JOB_MESSAGE_H
#define EGS_REQUESTS_JOB_MESSAGE_H

#include "policyd/requests/requests.h"
#include "policyd/store/store_messages.h"

/* The verb in 'request', if it is one of the above or "why", for 'peer', who
 * need not be the one that sent it: for messages that a node relays.  0, -1
 * with 'err' set, EGS_REPLY_RETRY, or EGS_REPLY_DEFERRED: 'answer' says that
 * the job has to wait, and the caller may hold it.
 */
egs_verb_fn egs_job_message_handle;

/* The same for the server, which holds what can be held. */
egs_verb_fn egs_verb_job_message;

/* A message that is being heard.  Its function reads the request, fills in the
 * answer and says what is to be kept and done; it changes nothing itself.  All
 * of that goes to disk in one transaction, and then the client has its answer.
 */
struct egs_job_message {
	struct egs_daemon *d;
	const struct egs_msg *request;
	struct egs_msg *answer;
	const struct egs_job *job;    /* it runs */
	const char *id;		      /* NULL: none */
	egs_time_t sent_at;	      /* when it was said, in this attempt */
	struct egs_job_report report; /* as it was, to be changed */
	struct egs_err log_text; /* for the history of the job, "": nothing */
	/* Done while the transaction is open; undone if that fails.  NULL:
	 * nothing.
	 */
	int (*effect)(struct egs_job_message *speech);
	void (*undo)(struct egs_job_message *speech);
	int phase, phase_before; /* rows of the configuration, -1: none */
	uint32_t notice_number;	 /* of a yield */
	uint32_t next_gpus;	 /* of a run to come */
	bool is_query;		 /* nothing is to be kept */
	bool may_hold;		 /* the answer says only that the job waits */
	bool shows_progress;	 /* it shows that the job does its work */
	bool poll_job;		 /* at the job again: its facts changed */
};

typedef int egs_job_message_fn(struct egs_job_message *speech,
			       struct egs_err *err);

/* job_report.c */
egs_job_message_fn egs_job_message_saved;
egs_job_message_fn egs_job_message_finished;
egs_job_message_fn egs_job_message_progress;

/* job_phase.c */
egs_job_message_fn egs_job_message_phase;

/* job_yield.c */
egs_job_message_fn egs_job_message_yield;
egs_job_message_fn egs_job_message_request;

/* Go on with the GPUs: 1 when there is nothing to wait for, 0 if there is,
 * which is in the answer then, -1 with 'err' set.
 */
int egs_job_message_resize(struct egs_job_message *speech, uint32_t gpus,
			   struct egs_err *err);

/* The path of a request into 'said', if there is one; -1 with 'err' set if it
 * is too long or has what a terminal would obey.
 */
int egs_job_message_read_path(struct egs_job_message *speech,
			      struct egs_err *err);

/* The job's yield for 'request', or with 0 that its work is done, could not be
 * kept: the policy has not heard it.
 */
void egs_job_message_revoke(struct egs_job_message *speech, uint32_t request);

#endif
