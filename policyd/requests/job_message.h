/* job_message.h - messages of jobs: phase, saved, yield, finished, progress
 *
 * A request has, beside its verb,
 *
 *	job		"81234" or "81234_7"
 *	restarts	of the run that sends it; 0 if it is missing.  A message
 *			of an earlier run is refused
 *	id		16 hex digits, another for each message.  A message that
 *			was received before gets its first answer and has no
 *			effect
 *	at		when the job sent it, in seconds since the epoch; now if
 *			it is missing.  A message may wait in a spool for a day,
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
 *	saved		path, step: a checkpoint is complete.  Only a report
 *	yield		path, request, rank: the job has checkpointed, take its
 *			GPUs.  Only for the open notice.  With gpus, for a
 *			request to shrink: the job keeps this many; the answer
 *			is as for phase, with "waits"
 *	finished	an exit is final, also after a preemption notice
 *	progress	ppm: millionths of the work that are done
 *	request		the open notice: request (0: none), kind, gpus,
 *			deadline, reason.  Needs no id
 *
 * egs-policyd holds an answer with "waits" for up to EGS_JOB_HOLD_S, until
 * there is news.  It does so on a connection of the job, not for a relay:
 * there egs-noded wakes the job (resize.h).
 *
 * An answer with "ok" is on disk together with its effect.  An answer with
 * "error" and "again" is not final: the job may send the same message again in
 * a second, because the daemon has not seen the job as it is, or too many
 * messages came at once.  Names in an answer that begin with "export:" are
 * variables for the job, those with "reexport:" only if they are set already.
 *
 * The client must be the owner of the job, or an operator.
 */
#ifndef EGS_REQUESTS_JOB_MESSAGE_H
#define EGS_REQUESTS_JOB_MESSAGE_H

#include "policyd/requests/requests.h"
#include "policyd/store/store_messages.h"

/* Handle a message of one of these verbs for 'peer'; for a relayed message that
 * is the owner of the job, not the sender.  Returns 0, -1 with 'err' set,
 * EGS_REPLY_RETRY, or EGS_REPLY_DEFERRED: 'answer' says that the job has to
 * wait, and the caller may hold it.
 */
egs_verb_fn egs_job_message_handle;

/* The same for the server, which holds what can be held. */
egs_verb_fn egs_verb_job_message;

/* A message while it is handled.  The function of its verb reads the request,
 * fills in the answer and sets what to store and to do, but changes nothing.
 * All of that goes to disk in one transaction; then the client gets its answer.
 */
struct egs_job_message {
	struct egs_daemon *d;
	const struct egs_msg *request;
	struct egs_msg *answer;
	const struct egs_job *job; /* is running */
	const char *id;		   /* NULL: none */
	egs_time_t sent_at;	   /* by the job, in this run */
	struct egs_job_report
		report; /* as stored, for the function of the verb to change */
	struct egs_err log_text; /* for the log of the job; "": nothing */
	/* Called while the transaction is open, and if it fails; may be NULL.
	 */
	int (*effect)(struct egs_job_message *s);
	void (*undo)(struct egs_job_message *s);
	int phase, phase_before; /* rows of the configuration, -1: none */
	uint32_t notice_number;	 /* of a yield */
	uint32_t next_gpus;	 /* of a run to come */
	bool is_query;		 /* store nothing */
	bool may_hold;		 /* the answer says only that the job waits */
	bool shows_progress;	 /* the message proves that the job works */
	bool poll_job;		 /* poll the job, because it has changed */
};

typedef int egs_job_message_fn(struct egs_job_message *s, struct egs_err *err);

/* job_report.c */
egs_job_message_fn egs_job_message_saved;
egs_job_message_fn egs_job_message_finished;
egs_job_message_fn egs_job_message_progress;

/* job_phase.c */
egs_job_message_fn egs_job_message_phase;

/* job_yield.c */
egs_job_message_fn egs_job_message_yield;
egs_job_message_fn egs_job_message_request;

/* Begin or continue a resize: 1 when it is done, 0 if the job has to wait,
 * which 'answer' says then, -1 with 'err' set.
 */
int egs_job_message_resize(struct egs_job_message *s, uint32_t gpus,
			   struct egs_err *err);

/* Read the path of a request, if there is one. -1 with 'err' set if it is too
 * long or has control characters.
 */
int egs_job_message_read_path(struct egs_job_message *s, struct egs_err *err);

/* The job's yield for notice 'request' (0: its "finished") is not on disk: take
 * it back from the policy.
 */
void egs_job_message_revoke(struct egs_job_message *s, uint32_t request);

#endif
