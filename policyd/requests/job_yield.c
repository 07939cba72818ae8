/* job_yield.c - a job answers a preemption notice or a request to shrink
 *
 * Yields without a notice have few tokens, and others than yields with one.  So
 * the daemon soon ignores a job that repeats them, and no job of the user
 * misses its deadline for want of tokens.
 */
#include <inttypes.h>
#include <string.h>

#include "policyd/requests/job_message.h"
#include "policyd/requests/node.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/resize.h"

int egs_job_message_request(struct egs_job_message *s, struct egs_err *err)
{
	struct egs_job_notice r;

	(void)err;
	egs_nodes_get_notice(s->d, s->job, &r);
	egs_nodes_get_reason(s->d, s->job, &r);
	s->is_query = true;
	egs_msg_set_int(s->answer, "request", r.number);
	if (!r.number)
		return 0;
	egs_msg_set_str(s->answer, "kind",
			r.kind == EGS_NOTICE_SHRINK ? "shrink" : "yield");
	if (r.kind == EGS_NOTICE_SHRINK)
		egs_msg_set_int(s->answer, "gpus", r.gpus);
	egs_msg_set_int(s->answer, "deadline", r.deadline);
	egs_msg_set_str(s->answer, "reason", r.reason.msg);
	return 0;
}

static int apply_yielded(struct egs_job_message *s)
{
	struct egs_event ev = { .kind = EGS_EV_YIELDED,
				.job = s->job->ident,
				.request_no = s->notice_number };

	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static void undo_yielded(struct egs_job_message *s)
{
	egs_job_message_revoke(s, s->notice_number);
}

/* The job may get Slurm's signal before the daemon polls the job. */
static bool may_be_preempted(struct egs_job_message *s)
{
	struct egs_daemon *d = s->d;
	const struct egs_identity *job = &s->job->ident;

	if (s->job->preempting ||
	    !egs_rate_limit_may_retry(d->requests->rate_limit, job->uid,
				      ~job->job_id, d->poll_count,
				      egs_daemon_now()))
		return false;
	egs_requests_read_job(d, job->uid, job->job_id);
	return true;
}

static int refuse_unrequested(struct egs_job_message *s,
			      const struct egs_err *why, struct egs_err *err)
{
	if (egs_job_message_take(s, EGS_RATE_STRAY, err) < 0)
		return egs_errf(err,
				"job %" PRIu32 ": too many 'egs yield' without "
				"a preemption notice; ignored for a while",
				s->job->ident.job_id);
	egs_errf(err, "%s", why->msg);
	return may_be_preempted(s) ? EGS_REPLY_RETRY : -1;
}

/* The yield must answer the open notice.  Two other notices are accepted too: a
 * notice whose first answer could not be stored, and a notice that was
 * withdrawn while the job checkpointed.
 */
static int check_notice(struct egs_job_message *s, struct egs_err *err)
{
	uint32_t open =
		s->job->preempting || s->job->deadline ? s->job->request_no : 0;
	struct egs_err why;
	int64_t number = open;

	egs_msg_get_int(s->request, "request", &number);
	s->notice_number = open;
	if (open && number == open)
		return 0;
	if (open)
		egs_errf(&why,
			 "job %" PRIu32 ": notice %" PRId64
			 " is not open, notice %" PRIu32 " is",
			 s->job->ident.job_id, number, open);
	else
		egs_errf(&why,
			 "job %" PRIu32 " has no preemption notice; report a "
			 "checkpoint with 'egs saved'",
			 s->job->ident.job_id);
	return refuse_unrequested(s, &why, err);
}

/* Returns 1 if all ranks that must answer have answered, else 0. */
static int count_ranks(struct egs_job_message *s, uint32_t acks, int64_t rank,
		       struct egs_err *err)
{
	struct egs_daemon *d = s->d;
	uint32_t count = 0;

	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_check_store(d,
				   egs_store_ack_add(d->store, &s->job->ident,
						     s->notice_number, rank,
						     &count, err),
				   err) < 0)
		return EGS_REPLY_RETRY;
	egs_msg_set_int(s->answer, "acks", count);
	egs_msg_set_int(s->answer, "of", acks);
	return count >= acks;
}

/* ---- shrink ---- */

static int end_shrink(struct egs_job_message *s)
{
	struct egs_event ev = { .kind = EGS_EV_SHRINK_ANSWERED,
				.job = s->job->ident };

	if (egs_op_shrink_end(s->d, s->job->ident.job_id, NULL) < 0)
		return -1;
	return egs_policy_apply(s->d->policy, &ev, egs_daemon_now());
}

static int check_shrink(struct egs_job_message *s, int64_t gpus,
			struct egs_err *err)
{
	const struct egs_shrink_notice *shrink =
		egs_op_shrink_find(s->d, s->job);
	int64_t number = shrink ? shrink->number : 0;
	struct egs_err why;

	egs_msg_get_int(s->request, "request", &number);
	if (!shrink || number != shrink->number) {
		egs_errf(&why, "job %" PRIu32 " has no request to shrink",
			 s->job->ident.job_id);
		return refuse_unrequested(s, &why, err);
	}
	if (gpus < 1 || gpus > s->job->gpus)
		return egs_errf(err,
				"gpus=%" PRId64 ": job %" PRIu32 " has %" PRIu32
				" GPUs and keeps at least one",
				gpus, s->job->ident.job_id, s->job->gpus);
	return 0;
}

/* The job has answered and waits for the resize.  Meanwhile the requester may
 * run on these GPUs, and the request may be closed.
 */
static bool has_answered(const struct egs_job_message *s, int64_t gpus)
{
	const struct egs_resize *r =
		egs_resize_find(s->d, s->job->ident.job_id);

	return r && r->request.gpus == gpus;
}

static int yield_gpus(struct egs_job_message *s, int64_t gpus,
		      struct egs_err *err)
{
	int rc = has_answered(s, gpus) ? 0 : check_shrink(s, gpus, err);

	if (rc == 0)
		rc = egs_job_message_take(s, EGS_RATE_YIELD, err);
	if (rc < 0)
		return rc;
	if (egs_job_message_read_path(s, err) < 0)
		return -1;
	s->phase = s->job->facts.phase;
	rc = egs_job_message_resize(s, (uint32_t)gpus, err);
	if (rc <= 0)
		return rc;
	egs_errf(&s->log_text, "continues with %" PRId64 " GPUs", gpus);
	s->effect = end_shrink;
	s->poll_job = true;
	return 0;
}

/* ---- yield ---- */

int egs_job_message_yield(struct egs_job_message *s, struct egs_err *err)
{
	struct egs_job_info known = { .acks = 0 };
	int64_t rank = -1, gpus;
	int all;

	if (s->d->slurmctld_down) {
		egs_errf(err, "slurmctld does not answer");
		return EGS_REPLY_RETRY;
	}
	if (egs_msg_get_int(s->request, "gpus", &gpus))
		return yield_gpus(s, gpus, err);
	if (egs_msg_get_int(s->request, "rank", &rank) && rank < 0)
		return egs_errf(err, "rank=%" PRId64 " is below 0", rank);
	all = check_notice(s, err);
	if (all == 0)
		all = egs_job_message_take(s, EGS_RATE_YIELD, err);
	if (all < 0)
		return all;
	if (egs_job_message_read_path(s, err) < 0)
		return -1;
	all = 1;
	egs_cluster_lookup(s->d->cluster, s->job->ident.job_id, &known);
	if (known.acks && rank >= 0)
		all = count_ranks(s, known.acks, rank, err);
	if (all < 0)
		return all;
	egs_msg_set_int(s->answer, "request", s->notice_number);
	if (!all)
		return 0;
	s->report.saved_at = s->sent_at;
	s->report.step = EGS_NO_STEP;
	egs_errf(&s->log_text, "yield");
	s->effect = apply_yielded;
	s->undo = undo_yielded;
	return 0;
}
