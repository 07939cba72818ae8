/* defer.c - a job beyond a limit of its team waits outside of the queue */
#include "plugins/job_submit/defer.h"

#include "plugins/shared/decisions.h"

enum {
	DEFER_S = EGS_DEFER_S,
	DEFER_ALL_PERIOD_S = 3, /* all of them, no more often */
};

static struct {
	time_t all;
} self;

/* One that is not to begin before then anyway stays as it is. */
static int defer_if_over_limit(void *item, void *arg)
{
	job_record_t *job = item;
	time_t now = *(time_t *)arg;
	struct egs_table_job row;

	if (!IS_JOB_PENDING(job) || !job->details ||
	    job->details->begin_time >= now + DEFER_S ||
	    !egs_decision_get(job, &row) ||
	    !(row.fate_and_flags & EGS_TABLE_DEFERRED))
		return 0;
	job->details->begin_time = now + DEFER_S;
	last_job_update = now;
	if (!job->priority)
		return 0; /* it is held, and its reason stays */
	job->state_reason = WAIT_TIME;
	xfree(job->state_desc);
	return 0;
}

void egs_defer_job(job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_table_job row;

	if (!egs_decision_get(job, &row) ||
	    !(row.fate_and_flags & EGS_TABLE_DEFERRED))
		return;
	defer_if_over_limit(job, &now);
	if (now >= self.all && now < self.all + DEFER_ALL_PERIOD_S)
		return;
	self.all = now;
	list_for_each(job_list, defer_if_over_limit, &now);
}
