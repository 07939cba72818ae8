/* resize_refusal.c - why a job was not resized */
#include <inttypes.h>

#include "common/base/log.h"
#include "policyd/requests/requests.h"
#include "policyd/requests/resize_refusal.h"
#include "policyd/server/rate_limit.h"

/* The owner of the job finds the reason in 'egs why'. */
static void log_refusal(struct egs_daemon *d, uint32_t job_id,
			const char *reason)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);
	struct egs_err err;

	if (!j || !egs_rate_limit_take(d->requests->rate_limit, j->ident.uid,
				       EGS_RATE_REFUSAL, 1, egs_daemon_now()))
		return;
	if (egs_daemon_log_event(d, &j->ident, "update refused", "slurmctld",
				 reason, &err) < 0 ||
	    egs_daemon_commit(d, &err) < 0)
		egs_log_warn("job %" PRIu32 ": %s", job_id, err.msg);
}

void egs_resize_refusal_record(struct egs_daemon *d, uint32_t job_id,
			       const char *reason)
{
	struct egs_resize *r = egs_resize_find(d, job_id);

	if (r)
		egs_errf(&r->submit_refusal, "%s", reason);
	else
		log_refusal(d, job_id, reason);
}

struct egs_err egs_resize_refusal_format(const struct egs_resize *r)
{
	struct egs_err why;

	if (*r->submit_refusal.msg)
		egs_errf(&why, "job %" PRIu32 ": not resized: %s",
			 r->request.job_id, r->submit_refusal.msg);
	else
		egs_errf(&why, "%s", r->text ? r->text : "");
	if (*r->live_refusal.msg)
		egs_errf(&why, "%s; %s", r->live_refusal.msg, why.msg);
	if (*r->gpu_user.msg)
		egs_errf(&why, "%s; %s", why.msg, r->gpu_user.msg);
	return why;
}
