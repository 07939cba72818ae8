/* job_message.h - messages of jobs: phase, saved, yield, finished, progress
 *
 * A request has, beside its verb,
 *
 *	job		"81234" or "81234_7"
 *	restarts	of the run that sends the message; 0 if missing.  A
 *			message of an earlier run is refused
 *	id		16 hex digits, different for each message.  A message
 *			that was received before gets its first answer and has
 *			no effect
 *	at		time of sending, in seconds since the epoch; now if
 *			missing.  A message may wait in a spool for a day; an
 *			older message is refused
 *
 * and, by verb,
 *
 *	phase		phase, gpus, keep-cores, wait; without a phase the
 *			answer has the present one.  While the resize is not
 *			done, the answer has "waits", and the job sends the
 *			message again with the same id.  The daemon may hold
 *			the answer for "wait" seconds.  wait=0 cancels a resize
 *			that is not done.  Without "wait" the job does not
 *			wait, and its phase changes at once
 *	saved		path, step: a checkpoint is complete.  The job continues
 *	yield		path, request, rank: the job has checkpointed and yields
 *			its GPUs.  Only for the open notice.  With gpus, the job
 *			answers a request to shrink to this number; the answer
 *			may have "waits", as for phase
 *	finished	an exit is final, also after a preemption notice
 *	progress	ppm: finished part of the work, in millionths
 *	request		the open notice: request (0: none), kind, gpus,
 *			deadline, reason.  Needs no id
 *
 * egs-policyd holds an answer with "waits" until there is news, for at most
 * EGS_JOB_HOLD_S.  The daemon holds answers only on a connection of the job.
 * If egs-noded relays messages, egs-noded wakes the job instead (resize.h).
 *
 * An answer with "ok" is on disk together with its effect.  An answer with
 * "error" and "again" is not final: the job may send the same message again in
 * a second.  The reason is that the daemon has not polled the job's new state,
 * or that the user's jobs have sent too many messages (rate_limit.h).  Names in
 * an answer that begin with "export:" are variables for the job to set.  The
 * job sets variables with "reexport:" only if they are already set.
 *
 * The client must be the owner of the job, or an operator.
 */
#ifndef EGS_REQUESTS_JOB_MESSAGE_H
#define EGS_REQUESTS_JOB_MESSAGE_H

#include "policyd/requests/requests.h"
#include "policyd/server/rate_limit.h"
#include "policyd/store/store_messages.h"

/* Handle a message of one of these verbs for 'peer'.  For a relayed message
 * 'peer' is the owner of the job, not the sender.  Returns 0, -1 with 'err'
 * set, EGS_REPLY_RETRY or EGS_REPLY_DEFERRED.  The last means that 'answer' has
 * "waits", and that the caller may hold the answer.
 */
egs_verb_fn egs_job_message_handle;

/* Handle a message for the server, and hold the answer if possible. */
egs_verb_fn egs_verb_job_message;

/* A message while the daemon handles it.  The function of its verb reads the
 * request, fills in the answer and sets the fields below, but changes nothing.
 * One transaction then writes the report, the answer and the effect.  The
 * client gets its answer after that.
 */
struct egs_job_message {
	struct egs_daemon *d;
	const struct egs_msg *request;
	struct egs_msg *answer;
	const struct egs_job *job; /* is running */
	const char *id;		   /* NULL: none */
	egs_time_t sent_at;	   /* time of sending, in this run */
	struct egs_job_report
		report; /* as stored; the function of the verb changes it */
	struct egs_err log_text; /* for the log of the job; "": nothing */
	/* 'effect' runs in the transaction, 'undo' if it fails; may be NULL. */
	int (*effect)(struct egs_job_message *s);
	void (*undo)(struct egs_job_message *s);
	int phase, phase_before; /* rows of the configuration, -1: none */
	uint32_t notice_number;	 /* of a yield */
	uint32_t next_gpus;	 /* of the next run */
	bool is_query;		 /* store nothing */
	bool may_hold;		 /* the answer has only "waits" */
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

/* Begin or continue a resize.  Returns 1 when the resize is done, 0 if the job
 * must wait (then 'answer' has "waits"), or -1 with 'err' set.
 */
int egs_job_message_resize(struct egs_job_message *s, uint32_t gpus,
			   struct egs_err *err);

/* Take a token of the user.  Returns 0, or EGS_REPLY_RETRY with 'err' set if no
 * token is left.
 */
int egs_job_message_take(const struct egs_job_message *s,
			 enum egs_rate_kind kind, struct egs_err *err);

/* Read the path of a request, if there is one.  Returns 0, or -1 with 'err' set
 * if the path is too long or has control characters.
 */
int egs_job_message_read_path(struct egs_job_message *s, struct egs_err *err);

/* Revoke in the policy the job's yield for notice 'request' (0: its
 * "finished"), which could not be stored.
 */
void egs_job_message_revoke(struct egs_job_message *s, uint32_t request);

#endif
