/* job_yield.c - a job is asked to go, and answers
 *
 * An answer without a question costs patience: a job that yields for nothing is
 * not listened to for long.
 */
#include <inttypes.h>
#include <string.h>

#include "policyd/requests/job_message.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/resize.h"
#include "policyd/server/rate_limit.h"

/* So many times what another message costs, and so many if it may be that Slurm
 * has asked and we have not seen it.
 */
#define UNASKED_COST 50
#define UNSEEN_COST  10

int egs_speech_request(struct egs_speech *s, struct egs_err *err)
{
	struct egs_request r;

	(void)err;
	egs_nodes_request(s->d, s->job, &r);
	s->only_asks = true;
	egs_msg_set_int(s->answer, "request", r.request);
	if (!r.request)
		return 0;
	egs_msg_set_str(s->answer, "kind",
			r.kind == EGS_REQUEST_SHRINK ? "shrink" : "yield");
	if (r.kind == EGS_REQUEST_SHRINK)
		egs_msg_set_int(s->answer, "gpus", r.gpus);
	egs_msg_set_int(s->answer, "deadline", r.deadline);
	egs_msg_set_str(s->answer, "reason", r.reason.msg);
	return 0;
}

static int tell_yielded(struct egs_speech *s)
{
	struct egs_event ev = { .kind = EGS_EV_YIELDED,
				.job = s->job->ident,
				.request = s->request_number };

	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static void untell_yielded(struct egs_speech *s)
{
	egs_speech_unsay(s, s->request_number);
}

/* The signal that Slurm sends may be faster than our look at the job. */
static bool may_be_asked(struct egs_speech *s)
{
	struct egs_daemon *d = s->d;
	uint32_t id = s->job->ident.job_id;

	if (s->job->asked || !egs_patience_waits(d->patience, ~id, d->looks) ||
	    !egs_patience_spend(d->patience, id, UNSEEN_COST, egs_daemon_now()))
		return false;
	egs_worker_look(d->worker, id);
	return true;
}

static int unasked(struct egs_speech *s, const struct egs_err *why,
		   struct egs_err *err)
{
	egs_errf(err, "%s", why->msg);
	if (may_be_asked(s))
		return EGS_VERB_AGAIN;
	if (egs_patience_spend(s->d->patience, s->job->ident.job_id,
			       UNASKED_COST, egs_daemon_now()))
		return -1;
	return egs_errf(err,
			"job %" PRIu32 " yields again and again and was not "
			"asked to",
			s->job->ident.job_id);
}

/* The request it answers must be the one that is open.  One we could not write
 * down the first time is open no longer, and no less an answer, and so is one
 * that was taken back while the job was saving.
 */
static int check_request(struct egs_speech *s, struct egs_err *err)
{
	uint32_t open = s->job->asked || s->job->deadline ? s->job->request : 0;
	struct egs_err why;
	int64_t seen = open;

	egs_msg_int(s->request, "request", &seen);
	s->request_number = open;
	if (open && seen == open)
		return 0;
	if (open)
		egs_errf(&why,
			 "job %" PRIu32 ": request %" PRId64
			 " is not open, request %" PRIu32 " is",
			 s->job->ident.job_id, seen, open);
	else
		egs_errf(&why,
			 "job %" PRIu32 " was not asked to yield; report a "
			 "checkpoint with 'egs saved'",
			 s->job->ident.job_id);
	return unasked(s, &why, err);
}

/* 1: all ranks that must have answered; 0: some have not. */
static int count_ranks(struct egs_speech *s, uint32_t acks, int64_t rank,
		       struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	uint32_t count = 0;

	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_stored(d,
			      egs_store_ack(d->store, &s->job->ident,
					    s->request_number, rank, &count,
					    err),
			      err) < 0)
		return EGS_VERB_AGAIN;
	egs_msg_set_int(s->answer, "acks", count);
	egs_msg_set_int(s->answer, "of", acks);
	return count >= acks;
}

/* ---- fewer GPUs ---- */

static int end_shrink(struct egs_speech *s)
{
	struct egs_event ev = { .kind = EGS_EV_SHRUNK, .job = s->job->ident };

	if (egs_shrink_end(s->d, s->job->ident.job_id, NULL) < 0)
		return -1;
	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static int check_shrink(struct egs_speech *s, int64_t gpus, struct egs_err *err)
{
	const struct egs_shrink *shrink = egs_shrink_find(s->d, s->job);
	int64_t seen = shrink ? shrink->request : 0;
	struct egs_err why;

	egs_msg_int(s->request, "request", &seen);
	if (!shrink || seen != shrink->request) {
		egs_errf(&why,
			 "job %" PRIu32 " was not asked to go on with fewer "
			 "GPUs",
			 s->job->ident.job_id);
		return unasked(s, &why, err);
	}
	if (gpus < 1 || gpus > s->job->gpus)
		return egs_errf(err,
				"gpus=%" PRId64 ": job %" PRIu32 " has %" PRIu32
				" GPUs and keeps at least one",
				gpus, s->job->ident.job_id, s->job->gpus);
	return 0;
}

/* It has answered and waits for what comes of it.  By then the job it was asked
 * for may run on these GPUs, and the request be over.
 */
static bool has_answered(const struct egs_speech *s, int64_t gpus)
{
	const struct egs_resize *r =
		egs_resize_find(s->d, s->job->ident.job_id);

	return r && r->ask.gpus == gpus;
}

static int yield_some(struct egs_speech *s, int64_t gpus, struct egs_err *err)
{
	int rc = has_answered(s, gpus) ? 0 : check_shrink(s, gpus, err);

	if (rc < 0)
		return rc;
	if (egs_speech_path(s, err) < 0)
		return -1;
	s->phase = s->job->facts.phase;
	rc = egs_speech_move(s, (uint32_t)gpus, err);
	if (rc <= 0)
		return rc;
	egs_errf(&s->what, "goes on with %" PRId64 " GPUs", gpus);
	s->effect = end_shrink;
	s->look = true;
	return 0;
}

/* ---- all of it ---- */

int egs_speech_yield(struct egs_speech *s, struct egs_err *err)
{
	struct egs_known known = { .acks = 0 };
	int64_t rank = -1, gpus;
	int all;

	if (s->d->frozen) {
		egs_errf(err, "slurmctld does not answer");
		return EGS_VERB_AGAIN;
	}
	if (egs_msg_int(s->request, "gpus", &gpus))
		return yield_some(s, gpus, err);
	if (egs_msg_int(s->request, "rank", &rank) && rank < 0)
		return egs_errf(err, "rank=%" PRId64 " is below 0", rank);
	all = check_request(s, err);
	if (all < 0)
		return all;
	if (egs_speech_path(s, err) < 0)
		return -1;
	all = 1;
	egs_world_known(s->d->world, s->job->ident.job_id, &known);
	if (known.acks && rank >= 0)
		all = count_ranks(s, known.acks, rank, err);
	if (all < 0)
		return all;
	egs_msg_set_int(s->answer, "request", s->request_number);
	if (!all)
		return 0;
	s->said.saved_at = s->at;
	egs_errf(&s->what, "yield");
	s->effect = tell_yielded;
	s->undo = untell_yielded;
	return 0;
}
