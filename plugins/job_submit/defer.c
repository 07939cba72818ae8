/* defer.c - a job beyond a limit of its team waits outside of the queue */
#include "plugins/job_submit/defer.h"

#include "plugins/shared/decisions.h"

enum {
	LATER_S = EGS_BARRED_S,
	ALL_S = 3, /* all of them, no more often */
};

static struct {
	time_t all;
} self;

/* One that is not to begin before then anyway stays as it is. */
static int bar(void *item, void *arg)
{
	job_record_t *job = item;
	time_t now = *(time_t *)arg;
	struct egs_table_job row;

	if (!IS_JOB_PENDING(job) || !job->details ||
	    job->details->begin_time >= now + LATER_S ||
	    !egs_decided(job, &row) || !(row.mode & EGS_TABLE_BARRED))
		return 0;
	job->details->begin_time = now + LATER_S;
	last_job_update = now;
	if (!job->priority)
		return 0; /* it is held, and its reason stays */
	job->state_reason = WAIT_TIME;
	xfree(job->state_desc);
	return 0;
}

void egs_bar_follow(job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_table_job row;

	if (!egs_decided(job, &row) || !(row.mode & EGS_TABLE_BARRED))
		return;
	bar(job, &now);
	if (now >= self.all && now < self.all + ALL_S)
		return;
	self.all = now;
	list_for_each(job_list, bar, &now);
}
